/* SPDX-License-Identifier: BSD-2-Clause
 *
 * UTF-8, a character at a time.
 */
#pragma once

#include <stddef.h>

/* The length of the well-formed UTF-8 character at DATA, with LEN bytes there; 0 if there is none. */
size_t js_utf8_len(const char *data, size_t len);

/* The same for a character that a terminal shows as it is: 0 also for control characters, and for invisible ones that
 * change the order of the text around them or break its line. */
size_t js_utf8_shown(const char *data, size_t len);

/* Replaces each byte of TEXT that is not part of such a character by a ?, so that TEXT is one line. */
void js_utf8_clean(char *text);

/* The columns of a terminal that the well-formed character at DATA, N bytes long, takes: 2 if it is wide, 0 if it
 * combines with the one before it, else 1. */
unsigned js_utf8_columns(const char *data, size_t n);

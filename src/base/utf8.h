/* SPDX-License-Identifier: BSD-2-Clause
 *
 * UTF-8, a character at a time.
 */
#pragma once

#include <stddef.h>

/* The length of the well-formed UTF-8 character at DATA, with LEN bytes there; 0 if there is none. */
size_t js_utf8_len(const char *data, size_t len);

/* The same of a character that a terminal shows as what it is: 0 for control characters too, and for those that nobody
 * sees but that turn the order of what stands around them, or break its line. */
size_t js_utf8_shown(const char *data, size_t len);

/* Puts a ? in the place of each byte of TEXT that is not of such a character: it is one line then. */
void js_utf8_clean(char *text);

/* The columns of a terminal that the well-formed character at DATA, N bytes long, takes: 2 if it is wide, 0 if it
 * stands on the one before it, else 1. */
unsigned js_utf8_columns(const char *data, size_t n);

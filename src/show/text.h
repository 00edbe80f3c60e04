/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names and messages as text: for people, for a terminal, for a shell.  A name may be any bytes but NUL.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/* Appends DATA for people: control characters, the backslash and what is not UTF-8 become \xHH, so that it is one line,
 * and no terminal takes it for a command. */
void show_safe(struct js_buf *out, const void *data, size_t len);

/* The same for text of several lines: each begins with BEFORE, and ends with a newline. */
void show_safe_lines(struct js_buf *out, const char *before, const char *data, size_t len);

/* Appends a message that may quote what a user gave.  It is escaped in the same way, but a backslash stays.  Of a very
 * long value, in double quotes or not, only the ends are kept. */
void show_safe_words(struct js_buf *out, const char *words);

/* Appends DATA as one word of a shell, for people to read and copy: without quotes if possible, and with $'\ooo' (bash,
 * zsh, ksh) for bytes that a terminal can't show. */
void show_quote_line(struct js_buf *out, const void *data, size_t len);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names and messages as text: for people, for a terminal, for a shell.  A name may be any bytes but NUL.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/* Appends DATA for people: control characters, the backslash and what is not UTF-8 become \xHH, so that it is one line
 * which no terminal takes for a command. */
void view_safe(struct js_buf *out, const void *data, size_t len);

/* Appends WORDS of a message, in which there may be what a user gave: it is one line, the same way (but a backslash
 * stays), and of a very long value, in double quotes or not, only the ends are left. */
void view_safe_words(struct js_buf *out, const char *words);

/* Appends DATA as one word of any POSIX shell, in single quotes. */
void view_quote(struct js_buf *out, const void *data, size_t len);

/* The same to be read, and typed again: no quotes where none are needed, and $'\ooo' (bash, zsh, ksh) for what a
 * terminal can't show. */
void view_quote_line(struct js_buf *out, const void *data, size_t len);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a terminal gets and a file or a pipe doesn't: colour, lines cut to its width.
 */
#pragma once

#include "base/buf.h"

#include <stdio.h>

/* The columns of the terminal that TO is (the user's $COLUMNS wins); 0 if it is none: then nothing is cut. */
unsigned view_columns(FILE *to);

/* May colour go to TO?  A terminal that is not dumb, and no NO_COLOR in the environment (https://no-color.org). */
int view_colours(FILE *to);

enum view_colour { VIEW_PLAIN, VIEW_BOLD, VIEW_RED, VIEW_GREEN, VIEW_YELLOW, VIEW_FAINT };

/* Appends TEXT in a colour, if ON. */
void view_paint(struct js_buf *out, int on, enum view_colour colour, const char *text);

/* Is $TERM one that can't go back over what it has written? */
int view_is_dumb(void);

/* The columns that TEXT takes; a colour of view_paint takes none. */
unsigned view_width(const char *text, size_t len);

/* Appends TEXT cut to COLUMNS (0: not cut), with a ~ for what is missing; so each line of TEXT, which all end with a
 * newline then. */
void view_cut(struct js_buf *out, const char *text, unsigned columns);
void view_cut_bytes(struct js_buf *out, const char *text, size_t len, unsigned columns);
void view_fit(struct js_buf *out, const char *text, unsigned columns);

/* Appends TEXT with its lines broken at blanks, where they are wider than COLUMNS (0: as they are). */
void view_wrap(struct js_buf *out, const char *text, unsigned columns);

/* Appends a bar of WIDTH columns, brackets included, filled by SHARE (0 to 1). */
void view_bar(struct js_buf *out, unsigned width, double share);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Output for a terminal: colour, and lines cut to its width.  Files and pipes get neither.
 */
#pragma once

#include "base/buf.h"

#include <stdio.h>

/* Returns the width of the terminal TO ($COLUMNS overrides it); 0 if TO is not a terminal: then nothing is cut. */
unsigned show_columns(FILE *to);

/* Returns whether TO may get colour: it is a terminal that is not dumb, and there is no NO_COLOR in the environment
 * (https://no-color.org). */
int show_colours(FILE *to);

enum show_colour { SHOW_PLAIN, SHOW_BOLD, SHOW_RED, SHOW_GREEN, SHOW_YELLOW };

/* Appends TEXT in a colour, if ON. */
void show_paint(struct js_buf *out, int on, enum show_colour colour, const char *text);

/* Returns whether $TERM is a terminal that can't overwrite what it has shown. */
int show_is_dumb(void);

/* Returns how many columns TEXT takes; a colour of show_paint takes none. */
unsigned show_width(const char *text, size_t len);

/* Appends TEXT cut to COLUMNS (0: not cut), with a ~ in place of the rest.  show_fit does so with each line, and ends
 * each with a newline. */
void show_cut_bytes(struct js_buf *out, const char *text, size_t len, unsigned columns);
/* The same with the ~ in place of the beginning (of a message, the cause remains) or of the MIDDLE (of a path, the
 * start of the directory and the file remain). */
void show_cut_inside(struct js_buf *out, const char *text, size_t len, unsigned columns, int middle);
void show_fit(struct js_buf *out, const char *text, unsigned columns);

/* Appends TEXT with its lines broken at blanks, where they are wider than COLUMNS (0: as they are). */
void show_wrap(struct js_buf *out, const char *text, unsigned columns);

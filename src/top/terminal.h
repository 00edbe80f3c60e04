/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The terminal, by ncurses.
 */
#pragma once

#include <curses.h>

/* Takes over the terminal of standard input and output.  -1: ncurses does not know $TERM.  It is restored by endwin,
 * while the process is stopped, and when a signal such as SIGSEGV ends it. */
int terminal_begin(void);

/* Waits up to a quarter of a second for a key; ERR: none came.  *GONE: the terminal does not exist any more. */
int terminal_key(int *gone);

/* Draws a line: the text, in which only show_paint's colours are control sequences, cut to the width.  What the locale
 * can't show becomes a question mark.  With LOOK not 0, the whole line looks so, without colours. */
void terminal_print(int row, chtype look, const char *format, ...) __attribute__((format(printf, 3, 4)));

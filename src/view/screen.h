/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A screen that is redrawn in place.
 */
#pragma once

#include <stdint.h>

/* Takes over the terminal of standard output: it switches to the alternate screen, and reads keys without Enter from
 * standard input, if that is a terminal.  The terminal is restored by view_screen_end, when the process exits, and when
 * it is stopped or killed by a signal other than SIGKILL.  The caller's handlers of SIGINT, SIGTERM and SIGHUP set
 * *STOP. */
void view_screen_begin(const volatile int *stop);

/* The size of the window; 0 columns: unknown. */
void view_screen_size(unsigned *columns, unsigned *rows);

/* Draws TEXT from the top over what is shown: as many lines as fit, each cut to the width.  If they are more, the last
 * one says how many.  Erases the rest.  Returns -1 if the terminal is gone. */
int view_screen_draw(const char *text);

enum view_screen_event {
	VIEW_SCREEN_TIME,  /* the time is over */
	VIEW_SCREEN_LEAVE, /* q was typed, or a signal has set *STOP */
	VIEW_SCREEN_DRAW   /* the window has another size, or the process continues after a stop */
};

/* Waits until the moment UNTIL, or until something happens. */
enum view_screen_event view_screen_wait(int64_t until_us);

/* Restores the terminal.  May be called again. */
void view_screen_end(void);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A terminal that is drawn over again and again.
 */
#pragma once

#include <stdint.h>

/* Takes the terminal that standard output is: a screen of its own, and keys without Enter from the terminal that
 * standard input is (if it is none, there are no keys).  It is given back by view_screen_end, when the process exits,
 * and when it is stopped or dies by a signal; SIGKILL aside.  *STOP is what the
 * caller's handlers of SIGINT, SIGTERM and SIGHUP set. */
void view_screen_begin(const volatile int *stop);

/* Draws TEXT from the top, as many lines as fit, each as far as it fits, over what is there, and takes away what was
 * beyond it. */
void view_screen_draw(const char *text);

enum view_screen_event {
	VIEW_SCREEN_TIME,  /* the time is over */
	VIEW_SCREEN_LEAVE, /* q was typed, or a signal has set *STOP */
	VIEW_SCREEN_DRAW   /* the window has another size, or the process was stopped and goes on */
};

/* Waits until the moment UNTIL, or until something happens. */
enum view_screen_event view_screen_wait(int64_t until_us);

/* Gives the terminal back.  Harmless again. */
void view_screen_end(void);

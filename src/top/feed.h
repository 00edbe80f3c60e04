/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What top shows, read by a thread of its own.  So a key is answered at once, even if the database is slow or away.
 */
#pragma once

#include "base/timeline.h"
#include "figures/snapshot.h"

/* What is to be read: all stacks, one stack, one entry of it. */
enum feed_view { FEED_STACKS, FEED_STACK, FEED_ENTRY, FEED_VIEWS };
struct feed_want {
	enum feed_view view;
	char stack[JOBSTACK_STACK_MAX + 1];
	uint64_t entry, number; /* the number tells one want from another */
};

/* What was read.  Free it with feed_free. */
struct feed_picture {
	struct feed_want of;
	struct figures_snapshot shot; /* of all stacks, or of one */
	struct js_timeline ended;     /* of one: when some of its entries ended */
	double each;		      /* how many entries each of those stands for */
	struct js_buf text; /* of an entry: what `jobstack show` and `jobstack logs` print, with a ? for control
			     * characters */
};
void feed_free(struct feed_picture *picture);

/* Starts reading WANT.  The environment names the option file.  0, or an errno. */
int feed_begin(const struct feed_want *want);

/* Reads WANT at once, and then every two seconds; more rarely if the server takes long. */
void feed_want(const struct feed_want *want);

/* The latest picture, which is the caller's from now on, or NULL if there is no new one.  TROUBLE: why nothing can be
 * read at the moment.  SILENT_US: for how long the database has not answered; 0: it answers. */
struct feed_picture *feed_take(struct jobstack_error *trouble, int64_t *silent_us);

/* Runs `jobstack WORDS --stack=STACK` until STOP.  WORDS end with a NULL.  What it prints is appended to OUT, or goes
 * to the terminal if OUT is NULL.  Returns its exit status, or a negative code with ERROR filled. */
int feed_command(const char *stack, const char *const words[], struct js_buf *out, const volatile int *stop,
		 struct jobstack_error *error);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a person sees of the work: one or two lines that are drawn anew, each file that has failed for good, and the
 * summary.  Whoever counts only counts; the speaker's thread draws, by the clock.
 */
#pragma once

#include "worker/config.h"
#include "worker/mailbox.h"
#include "worker/speaker.h"

/* Where names and last words are remembered for the summary. */
#define DISPLAY_FAILURES 5

struct display {
	const struct config *config;
	struct mailbox *box;
	int on, terminal;
	/* with the mailbox's lock: */
	struct js_buf failures; /* the first files that failed, one on each line */
	unsigned failures_n;
	/* the speaker's: of the rate, what was counted when two spans of time began */
	int64_t from_us[2];
	uint64_t from[2];
};

/* Decides whether anything is shown. */
void display_begin(struct display *display, const struct config *config, struct mailbox *box);

/* A speaker_draw_fn. */
int display_draw(void *display, unsigned columns, struct js_buf *text);

/* Says how much there is to do, when the ledger has first seen the stack. */
void display_announce(struct display *display);

/* Shows that an attempt failed, and the entry is DEAD, or will be tried again.  With the mailbox's lock held. */
void display_failed(struct display *display, const struct jobstack_entry *entry, const struct jobstack_outcome *outcome,
		    int dead);

/* Says what follows from Ctrl-C; AGAIN: the worker was ending already. */
void display_interrupted(const struct display *display, int again);

/* Says the last lines: the counts, with WHY the worker leaves ("": nothing to say), and what failed. */
void display_summary(struct display *display, int64_t took_us, const char *why);

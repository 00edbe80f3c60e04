/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the ledger sees of the rest of its stack, and what it decides by that: how long to wait after an empty claim,
 * whether other workers are dead, when to leave.  Only the ledger's thread calls this.
 */
#pragma once

#include "death/death.h"
#include "worker/display.h"
#include "worker/keeper.h"
#include "worker/neighbours.h"

struct survey {
	/* given */
	struct database *db;
	struct neighbours *neighbours;
	struct display *display;
	const struct keeper *keeper;
	struct js_observer_options watch_options;
	/* its own */
	struct js_observer *watch; /* watches other workers */
	uint64_t jitter;	   /* the state of its random numbers */
	int64_t began_us;
	struct {
		struct jobstack_idle idle;
		int64_t at_us;	  /* when it was read; 0: it is not valid */
		uint64_t claimed; /* this worker had claimed so many entries then */
	} look;			  /* the last look at the stack */
	struct {
		int64_t until_us; /* no claim before this moment; 0: there was something to claim */
		int64_t wait_us;  /* how long the last wait was */
		int by_rate;	  /* max_starts is why */
	} empty;		  /* after a claim that brought nothing */
	struct {
		struct js_observer_result seen;
		int64_t at_us;	 /* when that was; 0: nobody was seen */
		int64_t next_us; /* when to look again */
	} others;		 /* the last look at other workers */
	int64_t idle_since_us;	 /* since when there is nothing to run or to claim; 0: busy */
	int64_t told_us;	 /* the idle_since_us for which it has said whom it waits for */
	uint64_t done, dead;	 /* entries that this worker's steps have closed */
};

/* Begins, with the given members set.  Returns 0 or a negative code. */
int survey_begin(struct survey *s, struct jobstack_error *error);
void survey_end(struct survey *s);

/* Notes that a claim brought entries or (EMPTY) nothing: then the next one waits, longer each time, with a random part.
 * START_US: as in struct jobstack_step_report; if it is not negative, the next claim waits for that time. */
void survey_note_claim(struct survey *s, int empty, int64_t start_us);

/* With the mailbox's lock held: returns the moment at which the display needs a look at the stack, even if no step is
 * due.  It needs one while names are being pushed, and while entries that failed here may wait for a retry.  INT64_MAX:
 * no need. */
int64_t survey_next_us(const struct survey *s);

/* Reads the state of the whole stack, for the size of claims and the decision to stay; this worker has claimed CLAIMED
 * entries.  Returns 0, also if the database is away, or an error in db->error. */
int survey_look(struct survey *s, uint64_t claimed);

/* Must be called after each step.  NOW_US is when the step began; DUE: there are entries whose retry is due.  Looks at
 * the stack and at other workers, now and then or if there is nothing to do, and decides whether to leave.  Returns as
 * survey_look does. */
int survey_after_step(struct survey *s, int64_t now_us, uint64_t claimed, int due);

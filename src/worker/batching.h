/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How many entries a worker claims, and when it writes outcomes.  Computes, and does nothing else: the worker and the
 * benchmark of fleets (scripts/bench) ask it the same question with what they see.
 *
 * Commands of less than a second: enough entries for a second are claimed ahead.  Longer commands: an entry is claimed
 * when a slot is free for it, except where a step may take so long that the slot would wait for it noticeably.  There,
 * as many entries are claimed ahead as commands will end before the step after the next returns, even if it is late, at
 * most one per slot; and outcomes are gathered, so that fewer steps wait for each other.
 */
#pragma once

#include "jobstack/jobstack.h"

/* How long steps take: a running mean, and the running mean of how far they are from it (Jacobson, "Congestion
 * avoidance and control", 1988, which does this for round-trip times).  Begins as {0}. */
struct batching_step {
	double mean_us, off_us;
};

/* Updates STEP with one that took TOOK_US. */
void batching_note_step(struct batching_step *step, int64_t took_us);

/* What the plan depends on.  Durations in microseconds, moments as jobstack_now_us. */
struct batching {
	int64_t now_us;
	const struct jobstack_running *slot; /* what runs in each slot; entry 0: nothing */
	size_t slots, running, queued;	     /* queued: claimed, not started */
	double mean_us;			     /* how long a command takes: a running mean; 0: not known */
	struct batching_step step;	     /* how long a step takes */
	uint64_t finished;		     /* commands that have ended */
	uint64_t ready, workers;	     /* of the stack, as last seen; workers 0: not known */
	size_t most;			     /* to claim at once */
	int limited;			     /* the stack has max_running or max_starts */
	int no_ahead; /* of commands over a second nothing is to be claimed ahead: one loss makes an entry dead */
	int held;     /* a claim of fresh entries found none, and no command has ended since */
};

struct batching_plan {
	size_t claim;	   /* so many entries, with the next step */
	int fresh;	   /* none of them can start now: claim none that was lost before */
	int due;	   /* that step should be now */
	int64_t gather_us; /* how long an outcome may wait for others */
	int64_t look_us;   /* when to ask again, if nothing happens before; INT64_MAX: no need */
};

struct batching_plan batching_plan(const struct batching *b);

/* Returns the time between two looks at the stack (jobstack_worker_idle).  At the last look it had READY ready entries
 * and WORKERS workers.  Since then this worker has claimed CLAIMED entries, and the others are assumed to have claimed
 * as many each.  A look reads the rows of all workers, so the time grows with WORKERS.  It is shorter when few entries
 * are left. */
int64_t batching_look_us(uint64_t ready, uint64_t workers, uint64_t claimed, size_t slots, double mean_us);

/* Which part of the slots' time they wait for steps: a mean of the last half minute.  Begins as {0}. */
struct batching_wait {
	int64_t at_us;	    /* the end of the last step */
	int64_t claimed_us; /* of the last one that claimed; 0: none yet */
	int was_short;	    /* that one brought less: slots then wait for entries, not for steps */
	double over_us, share;
};

/* A step that has ended.  It was to claim CLAIM entries and brought GOT.  At its end QUEUED entries still waited for
 * their start; a SLOT with entry 0 is free since its started_us. */
struct batching_waited {
	const struct jobstack_running *slot;
	size_t slots, queued, claim, got;
	int64_t sent_us, now_us;
};
void batching_note_wait(struct batching_wait *wait, const struct batching_waited *step);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A step of the ledger: when it is due, what it carries, and what follows from it.
 */
#pragma once

#include "worker/ledger_state.h"

/* What one step carries, taken from the mailbox, and what came of it. */
struct step {
	struct result *results;
	struct jobstack_outcome *outcomes; /* what the results say */
	size_t n, k;			   /* of outcomes, and of entries to claim */
	int fresh; /* claim nothing that was lost before; 2: nor what is near, and only its farthest entry is to start
		    */
	struct jobstack_running running[SLOTS_MAX];
	size_t running_n;
	int beat, nudged;
	uint64_t leaps; /* the leaps of the wall clock that it follows */
	int after_leap; /* it is the first step after a leap */
	/* once it has succeeded */
	struct jobstack_step_report report;
	struct jobstack_batch batch; /* what was claimed */
	int64_t sent_us, answered_us;
	uint64_t finished; /* the mailbox's count then */
};

/* Returns, with the mailbox's lock held, whether a step is due, and what it is to claim; otherwise sets *UNTIL_US to
 * the moment at which to ask again. */
int step_is_due(struct ledger *l, struct step *s, int64_t *until_us);

/* With the mailbox's lock held: moves outcomes out of the mailbox into S, the oldest first.  After an outage there may
 * be more than one step can carry.  Returns -1 without memory: then they stay there. */
int step_take(struct ledger *l, struct step *s);

/* Does the step, again and again until its outcome is known or the lease is over, and what follows from it.  Returns 0,
 * 1 (fenced: others have this worker's entries), or a negative code with the error in l->db.error. */
int step_do(struct ledger *l, struct step *s);

/* Ends the worker's row with the outcomes in S: as that of a worker that leaves or, if its keeper was killed, as that
 * of one that was killed.  As step_do. */
int step_end_row(struct ledger *l, struct step *s);

void step_free(struct step *s);

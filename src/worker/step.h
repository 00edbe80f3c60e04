/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A step of the ledger: when it is due, what it carries, and what follows from it.
 */
#pragma once

#include "worker/ledger_state.h"

/* One step: what it carries, taken from the mailbox, and what came of it.  It lives on the ledger thread's stack. */
struct step {
	struct result *results;
	struct jobstack_outcome *outcomes; /* what the results say */
	size_t n, k;			   /* of outcomes, and of entries to claim */
	int fresh; /* 1: only entries that were never lost, as in struct jobstack_step; 2: and of these only the one
		      that is farthest behind starts */
	struct jobstack_running running[SLOTS_MAX];
	size_t running_n;
	int64_t start_us; /* as in struct jobstack_step */
	/* a heartbeat is due, whatever else the step does; it is only a heartbeat, to read requests to kill */
	int beat, nudged;
	uint64_t leaps; /* how many leaps of the wall clock there had been when it was planned */
	int after_leap; /* it is the first step after a leap */
	/* once it has succeeded */
	struct jobstack_step_report report;
	struct jobstack_batch batch; /* what was claimed */
	int64_t sent_us, answered_us;
	uint64_t finished; /* the mailbox's count of ended commands, after the step */
};

/* With the mailbox's lock held: returns 1 if a step is due.  S then says what it is to claim.  Otherwise returns 0, and
 * *UNTIL_US is the moment at which to ask again. */
int step_is_due(struct ledger *l, struct step *s, int64_t *until_us);

/* With the mailbox's lock held: moves outcomes out of the mailbox into S, the oldest first.  After an outage there may
 * be more than one step can carry.  Returns -1 without memory: then they stay there. */
int step_take(struct ledger *l, struct step *s);

/* Does the step, again and again until its outcome is known or the lease is over, and what follows from it.  Returns 0,
 * 1 (fenced: others have this worker's entries), or a negative code with the error in l->db.error. */
int step_do(struct ledger *l, struct step *s);

/* Ends the worker's row, and records the outcomes in S.  If the keeper was killed, the row ends as that of a killed
 * worker: what it still holds counts as lost.  Returns as step_do does. */
int step_end_row(struct ledger *l, struct step *s);

void step_free(struct step *s);

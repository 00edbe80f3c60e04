/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor: starts commands, collects them, reads signals, keeps time.  It never waits for the database.
 */
#ifndef JS_WORKER_SUPERVISOR_H
#define JS_WORKER_SUPERVISOR_H

#include "worker/slot.h"

struct supervisor {
	const struct config *config;
	struct mailbox *box;
	struct slots all;
	struct slot *slots;
	int signals; /* signalfd */
	int draining;	     /* a signal asked us to go */
	int64_t drain_at_us; /* running commands get TERM then */
	int64_t lease_end_us; /* the last moment at which a command may run */
	int64_t hinted_us;   /* when a signal was last waited for after a command fell to one */
	int64_t later_us;    /* the machine was short of something: no start before */
	unsigned failures_first; /* of the first outcomes, until one is not a failure */
	int breaker_off;
	int trip; /* the breaker: the stack is to be paused */
};

/* Blocks the signals that the supervisor reads by a descriptor; before any thread is started. */
int supervisor_signals(void);

/* Runs until the ledger has ended and no command is left.  Returns 0, or a negative code with ERROR. */
int supervisor_run(struct supervisor *s, struct jobstack_error *error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor: starts commands, collects them, reads signals, keeps time.  It never waits for the database.
 */
#pragma once

#include "worker/keeper.h"
#include "worker/orphans.h"
#include "worker/relay.h"

struct supervisor {
	const struct config *config;
	struct mailbox *box;
	struct slots all;
	struct slot *slots;
	struct orphans orphans;
	int signals; /* signalfd */
	const struct keeper *keeper;
	int life;		/* reads as closed when the keeper is gone; -1: known */
	int leap;		/* js_clock_leap_open */
	int draining;		/* a signal asked us to go */
	int64_t interrupted_us; /* the first SIGINT */
	int64_t drain_at_us;	/* running commands get TERM then */
	int64_t kill_by_us;	/* and KILL then at the latest, because Slurm will kill us; 0: no such moment */
	int64_t kill_wait_us;	/* between Slurm's TERM and its KILL; 0: we are not under Slurm */
	int64_t lease_end_us;	/* the last moment at which a command may run */
	int64_t hinted_us;	/* when a signal was last waited for after a command fell to one */
	int64_t later_us;	/* the machine was short of something: no start before */
	int64_t starved_us;	/* since then it was, with nothing running; 0: it is not */
	int told_starved;
	int64_t trim_at_us;	 /* the output of running commands is looked at then */
	unsigned failures_first; /* of the first outcomes, until one is not a failure */
	int breaker_off;
	int trip;	     /* the breaker: the stack is to be paused */
	struct relay relay;  /* the loop's threads */
	const char *log_dir; /* of the packed log, for people */
	int told_hang;	     /* that a call hangs */
	unsigned rounds;     /* of the loop, whichever thread ran them: tells one that hung that others went on */
	int told_unasked;    /* that a persistent command answers what nobody asked */
};

/* Blocks the signals that the supervisor reads by a descriptor; before any thread is started. */
int supervisor_signals(void);

/* For worker/converse.h.  Starts entries in SLOT while it is free (one, as a rule); 0: none may be started now.  Makes
 * the outcome of the entry in SLOT and posts it; the same after looking at what an end of its process may mean. */
int supervisor_fill(struct supervisor *s, struct slot *slot);
void supervisor_conclude(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped);
void supervisor_finish(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped);

/* For worker/aside.h: the entry in SLOT has this outcome, and runs no more. */
void supervisor_post(struct supervisor *s, struct slot *slot, const struct jobstack_outcome *outcome);

/* Runs until the ledger has ended and no command is left.  A call that hangs is not waited for for ever: then
 * supervisor_hangs, and nothing that the supervisor knows may be freed, as a thread is still at it. */
void supervisor_run(struct supervisor *s);
int supervisor_hangs(const struct supervisor *s);

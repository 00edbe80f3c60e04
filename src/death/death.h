/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decides which workers are dead, and recovers the entries that they hold.  Promise: nothing is taken from a worker
 * whose death is not proven.
 *
 * The proofs:
 *
 * (a) Process: the worker ran on this host since it was booted, its process is gone, and so are its commands.  What is
 *     left of these in its session is killed, if that is allowed.
 * (b) Slurm: its job is over, or its step is, and the slurmd of its node says that it does not have it.
 * (c) Silence: its seq did not change for a whole lease of its own while we watched, by our CLOCK_BOOTTIME, and none of
 *     its commands runs in the process table that we see.
 *
 * Whatever the proof, the recovery is a compare-and-set on the seq that was read before the proof was sought: a
 * heartbeat that comes meanwhile wins.
 *
 * Two functions seek them:
 *
 * js_observer_look      One query, and the recovery from workers that were silent for long enough, after a look at the
 *                       process table.  It never forks, never asks Slurm, and waits only for the database.  It is for
 *                       the thread that sends heartbeats.
 * js_observer_confirm   One round with the proofs (a) and (b).  It reads all of /proc, forks, and waits for Slurm: up
 *                       to a minute if Slurm does not answer.  It is for a process of its own, or a command.
 *
 * Both work with any handle, in the thread that may use it.  Neither prints.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>

/* Outside of a Slurm job a worker sends heartbeats as often as with a lease of this length at most, so that others soon
 * know whether it is alive.  In a job its connection tells them. */
#define JS_OBSERVER_BEATS_US INT64_C(60000000)

enum js_observer_verdict {
	JS_OBSERVER_TAKEN,   /* dead, and its entries were recovered */
	JS_OBSERVER_WOULD,   /* dead; in a dry run its entries would be recovered */
	JS_OBSERVER_SUSPECT, /* not proven dead: silent for over half its lease (a script's pop: all of it), or HINT
			     says more */
};

/* What was found out about one worker; valid during the callback. */
struct js_observer_case {
	enum js_observer_verdict verdict;
	uint64_t worker;
	uint64_t entries;	     /* that were recovered, or that it holds */
	int64_t silent_us, lease_us; /* by the server's clock */
	int by_script;
	int runs_here; /* of a suspect: its command still runs on this host, where nothing is recovered until that has
			  ended */
	int killable;  /* of a suspect in a dry run: otherwise js_observer_confirm would kill that command, and recover
			*/
	const char *node;   /* or host, or "?" */
	const char *reason; /* the proof in words, as it is recorded; NULL: there is no proof */
	const char *hint;   /* of a suspect: what is known besides its silence ("its node n3 is DOWN"); or NULL */
	enum jobstack_cause cause; /* of its death */
};
typedef void js_observer_case_fn(void *ctx, const struct js_observer_case *found);

/* Begins as {0}.  It is read during each call.  js_observer_new keeps a copy of the struct, but not of what it points
 * to. */
struct js_observer_options {
	uint64_t self;		     /* the caller's own worker, which is never a suspect; 0: it has none */
	js_observer_case_fn *report; /* called for each worker that is dead or suspect; NULL: not wanted */
	void *report_ctx;
	jobstack_log_fn *log; /* gets warnings of what could not be found out (Slurm is down); NULL: not wanted */
	void *log_ctx;
	const volatile int *stop; /* not 0: stop with JOBSTACK_ESTOPPED before the next worker; NULL: never */
	const char *module_dir; /* confirm: where the Slurm plugin is ($JOBSTACK_MODULE_DIR); NULL: see slurm/query.h */
	const char *cluster;	/* confirm: the Slurm cluster we are in ($SLURM_CLUSTER_NAME); NULL: Slurm is asked */
	/* confirm: 0: a person wants to know, so Slurm is asked at once; else only if a worker is missed, and as
	 * death/budget.h says, not again in this time */
	int64_t ask_every_us;
	int64_t slurm_limit_us; /* confirm: how long one answer of Slurm's may take; 0: 15 s */
	int all;		/* confirm: ask Slurm also about workers with a heartbeat in the last two seconds */
	int dry_run;		/* changes nothing */
};

/* What one round did and found. */
struct js_observer_result {
	uint64_t entries;  /* recovered, or in a dry run those that would be */
	uint64_t workers;  /* that were dead */
	uint64_t suspects; /* workers that are left and suspect */
	uint64_t others;   /* workers that are left, except the caller's own */
	int failed; /* the error of the last recovery of this stack that failed; the others were done all the same,
		     * and the call returns this error */
	/* Only of js_observer_look.  1: this worker should make a confirming round now.  The rounds are planned so that
	 * the workers of a stack together make about one in three seconds, and each worker at least one in five minutes
	 * while any other is missed: silent for two seconds without a connection, or for half its lease. */
	int confirm;
	int64_t next_us;   /* when the next look is due */
	int64_t latest_us; /* a later look begins the watch of some worker again */
	int64_t still_us;  /* since when a worker that holds entries has sent no heartbeat (scripts don't count);
			      INT64_MAX:  no worker holds any */
	int elder;	   /* an older worker has sent a heartbeat lately: it will see what the caller sees */
	int64_t over_us;  /* when the entries of the last worker will be recovered that is silent for longer than a live
			     one would be; 0: there is none */
	char silent[400]; /* about it, as of js_observer_words */
};

/* ----------------------------------------------------------------------------------------- with the heartbeats */

/* The memory of one observer. */
struct js_observer;

/* Makes an observer of STACK in *WATCH.  Free it with js_observer_free.  HANDLE is used by js_observer_look only, and
 * must live as long. */
int js_observer_new(struct js_observer **watch, struct jobstack *handle, const char *stack,
		    const struct js_observer_options *options, struct jobstack_error *error);

/* Looks at all workers of the stack that have not ended, with or without entries, and recovers entries of those proven
 * dead by (c).  A script's pop sends no heartbeats: its lease is over when the server's clock says so, twice within two
 * seconds.  If the last look was more than a third of a worker's lease ago, its watch begins again.  RESULT (may be
 * NULL) is filled at every return.  Returns 0 or a JOBSTACK_E code; after an error all watches begin again, unless only
 * the recovery of some worker failed. */
int js_observer_look(struct js_observer *watch, struct js_observer_result *result, struct jobstack_error *error);

/* Begins all watches again: to be called when the caller's own heartbeat has failed. */
void js_observer_gap(struct js_observer *watch);

void js_observer_free(struct js_observer *watch);

/* ------------------------------------------------------------------------------------ in a process that may wait */

/* One round: looks at all workers of STACK, and at once recovers entries of those proven dead by (a) or (b).  Slurm is
 * asked only about workers without a heartbeat for two seconds, unless ALL says otherwise.  With ASK_EVERY_US a
 * question is about all stacks of the user; RESULT and REPORT are about STACK only.  What Slurm says without
 * proving a death ("node failed") is stored with the worker, as the beginning of the reason if (c) proves the death
 * later.  If Slurm can't be asked, this is logged, and the rest is done.  RESULT as above.  Returns 0 or a JOBSTACK_E
 * code. */
int js_observer_confirm(struct jobstack *handle, const char *stack, const struct js_observer_options *options,
			struct js_observer_result *result, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------------ in words */

/* Writes the case as a sentence, cut at SIZE: "worker 7 on n3: its process on n3 is gone: 2 entries requeued". */
void js_observer_words(const struct js_observer_case *found, char *text, size_t size);

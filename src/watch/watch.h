/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is dead, and the taking back of what they hold.  Promise: nothing is taken from a worker whose death is not
 * proven.
 *
 * Proofs.  (a) Process: it ran on this host in this boot, its process is gone, and so are its commands; what of these
 * is left in its session is ended, if we may.  (b) Slurm: its job is over, or its step is, and the slurmd of its node
 * says that it does not have it.  (c) Silence: its seq did not change for a whole lease of its own while we watched, by
 * our CLOCK_BOOTTIME, and none of its commands runs in the process table that we see.  Whatever the proof, it is taken
 * back by a compare-and-set on the seq that was read before the proof was sought: a heartbeat that comes meanwhile
 * wins.
 *
 * What may be called where:
 *
 *   js_watch_look     one query, and the taking back of those that were silent for long enough.  Never forks, never
 *                     asks Slurm, never waits but for the database: for the thread that sends heartbeats.  A look at
 * all processes precedes each taking back. js_watch_confirm  one round with the proofs (a) and (b).  Reads all of
 * /proc, forks, and waits for Slurm: up to a minute where Slurm does not answer.  For a process of its own, or a
 * command.
 *
 * Both work with any handle, in the thread that may use it.  Neither prints, both keep quiet unless they are given a
 * callback. */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>

enum js_watch_verdict {
	JS_WATCH_TAKEN,	  /* dead, and taken back */
	JS_WATCH_WOULD,	  /* dead; in a dry run it would be taken back */
	JS_WATCH_SUSPECT, /* not proven: silent for over half its lease (a script's pop: all), or HINT says more */
};

/* What was found of one worker; valid during the callback. */
struct js_watch_case {
	enum js_watch_verdict verdict;
	uint64_t worker;
	uint64_t entries;	     /* that were taken back, or that it holds */
	int64_t silent_us, lease_us; /* by the server's clock */
	int by_script;
	int runs_here; /* of a suspect: its command still runs on this host, where nothing is taken back until that has
			  ended */
	const char *node;   /* or host, or "?" */
	const char *reason; /* the proof in words, as it is on record; NULL if there is none */
	const char *hint;   /* of a suspect: what is known beside its silence ("its node n3 is DOWN"); or NULL */
};
typedef void js_watch_case_fn(void *ctx, const struct js_watch_case *found);

/* Start it as {0}.  Read during each call; js_watch_new keeps a copy of the struct, but not of what it points to. */
struct js_watch_options {
	uint64_t self;		/* the caller's own worker, who is no suspect; 0: none */
	js_watch_case_fn *tell; /* called for each worker that was taken back or is suspect; NULL: nobody is told */
	void *tell_ctx;
	jobstack_log_fn *log; /* what could not be found out (Slurm is down), as a warning; NULL: nobody is told */
	void *log_ctx;
	const volatile int *stop; /* not 0: ends with JOBSTACK_ESTOPPED before the next worker; NULL: none */
	const char *module_dir; /* confirm: where the Slurm module is ($JOBSTACK_MODULE_DIR); NULL: see slurm/query.h */
	const char *cluster;	/* confirm: the Slurm cluster we are in ($SLURM_CLUSTER_NAME); NULL: Slurm is asked */
	int64_t slurm_limit_us; /* confirm: how long one answer of Slurm's may take; 0: 15 s */
	int all;		/* confirm: Slurm is asked also about those who showed life in the last two seconds */
	int dry_run;		/* changes nothing */
};

/* What one round did and saw. */
struct js_watch_result {
	uint64_t entries;  /* taken back, or in a dry run those that would be */
	uint64_t workers;  /* that were dead */
	uint64_t suspects; /* workers that are left, and suspect as above */
	uint64_t others;   /* workers that are left, without the caller's own */
	/* Only of js_watch_look.  1: a confirming round by this worker is wanted now.  They are planned so that the
	 * workers of a stack confirm about once in three seconds, all together;
	 * each worker once in five minutes at least, if anybody else is silent. */
	int confirm;
	int64_t next_us;   /* the moment at which the next look is wanted */
	int64_t latest_us; /* a look later than this starts somebody's watch afresh */
	int64_t still_us;  /* since then somebody who holds entries, no script, has shown no life; INT64_MAX: nobody */
};

/* ----------------------------------------------------------------------------------------- with the heartbeats */

/* The memory of one observer. */
struct js_watch;

/* Makes an observer of STACK in *WATCH, with all watches still to begin.  Free it with js_watch_free.  HANDLE is used
 * by js_watch_look only, and must live as long. */
int js_watch_new(struct js_watch **watch, struct jobstack *handle, const char *stack,
		 const struct js_watch_options *options, struct jobstack_error *error);

/* Looks at all workers of the stack that have not ended, with or without entries, and takes back from those proven dead
 * by (c).  A script's pop is silent by nature: it is over when the server's clock says so, twice in two seconds.  A
 * worker whose last look was more than a third of its lease ago is watched afresh.  RESULT (may be NULL) is true at
 * every return.  Returns 0 or a JOBSTACK_E code; after an error all watches begin afresh. */
int js_watch_look(struct js_watch *watch, struct js_watch_result *result, struct jobstack_error *error);

/* Forgets all silences: to be called when the caller's own beat has failed. */
void js_watch_gap(struct js_watch *watch);

void js_watch_free(struct js_watch *watch);

/* ------------------------------------------------------------------------------------ in a process that may wait */

/* One round: looks at all workers of STACK, and takes back from those proven dead by (a) or (b), at once.  Slurm is
 * asked only about those that were silent for over two seconds, unless ALL says otherwise.  What it can't prove but
 * Slurm says ("node failed") is left in the ledger, as the beginning of the reason, should (c) prove the death later.
 * Where Slurm can't be asked, it logs so, and does the rest.  RESULT as above.  Returns 0 or a JOBSTACK_E code. */
int js_watch_confirm(struct jobstack *handle, const char *stack, const struct js_watch_options *options,
		     struct js_watch_result *result, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------------ in words */

/* Writes the case as a sentence, cut at SIZE: "worker 7 on n3: its process on n3 is gone: 2 entries requeued". */
void js_watch_words(const struct js_watch_case *found, char *text, size_t size);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The keeper: the process that was started, while its child is the worker proper.  It is small, has one thread, and
 * never waits for anything but its child, so that there is somebody left to tidy up:
 *
 *   the worker is killed        the keeper is the parent and hears of it at once; it is also the subreaper below which
 * all orphans end up, so it kills every process the worker has left, and then what the worker held can be recovered,
 * because it is known to be dead; the worker hangs            (SIGSTOP) past the end of its lease: the keeper kills its
 * commands; the keeper is killed        the worker sees the pipe close, kills its commands and gives back what it held.
 *
 * Signals that ask to go are passed on.  The worker is a session of its own, so that it does not get those of a
 * terminal twice.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* What the two share: a page of memory. */
struct keeper_page {
	_Atomic uint64_t worker;     /* its number in the ledger; 0: it holds nothing there (yet, or any more) */
	unsigned char token[16];     /* beside the number; written before it */
	_Atomic int64_t lease_us;    /* its length; written before the number */
	_Atomic int64_t deadline_us; /* the moment after which no command of it may run; INT64_MAX: no such moment */
	_Atomic int killing;	     /* the keeper is about to kill commands for that, or at it */
	_Atomic int64_t killed_us;   /* the moment when it last had done so; 0: never */
	_Atomic int64_t left_us;     /* when it had done its part, and only its process has to end; 0: it has not */
	_Atomic int status;	     /* its exit status then */
	_Atomic int spools;	     /* outcomes wait in the file SPOOL */
	char spool[4600];
};

struct keeper {
	struct keeper_page *page;
	int life;  /* in the worker: reads as closed when the keeper is gone */
	int event; /* the worker's wish for a look at the others (keeper_ask) */
	pid_t pid; /* in the keeper: the worker; in the worker: 0 */
	int (*look)(
		const void *ctx); /* runs in a short-lived child of the keeper; its value is that child's exit status */
	const void *look_ctx;
};

/* How the worker ended. */
struct keeper_end {
	int exit_code; /* -1: it was killed */
	int signal;    /* by this; 0: it exited */
	int oom;       /* in all likelihood for want of memory */
	int hangs;     /* it has done its part, but its process can't end: a file system does not answer */
	size_t left;   /* processes below it that could not be killed */
};

/* Makes two of this process, which must have one thread.  Returns 0 in both (KEEPER->pid tells them apart), or a
 * negative code and there is still one. */
int keeper_split(struct keeper *keeper, struct jobstack_error *error);

/* In the keeper: keeps, until the worker has ended and nothing it started is left. */
void keeper_watch(struct keeper *keeper, struct keeper_end *end);

/* Fills SET (a sigset_t) with the signals that ask a worker to go: those that the keeper passes on. */
void keeper_signals(void *set);

/* In the worker: asks for a look, which comes soon unless one is under way. */
void keeper_ask(const struct keeper *keeper);

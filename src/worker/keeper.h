/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The keeper: the process that was started, while its child is the worker proper.  It is small, has one thread, and
 * waits only for its child, so that somebody is left to tidy up:
 *
 *   the worker is killed    The keeper is its parent and notices at once.  All orphans become the keeper's children, so
 *                           it kills every process that the worker has left.  Then the worker is known to be dead, and
 *                           its entries can be recovered.
 *   the worker hangs        (SIGSTOP) past the end of its lease: the keeper kills its commands.
 *   the keeper is killed    The worker sees a pipe close, returns what it has not started, and kills its commands,
 *                           whose entries count as lost.
 *
 * Signals that ask the worker to end are passed on.  The worker is a session of its own, so that it does not get those
 * of a terminal twice.
 *
 * A process may have children before it becomes jobstack-worker: `sleep 1000 & exec jobstack-worker ...` in a batch
 * script.  They are not the worker's, nor is what they start.  The keeper could not tell them from orphans of commands.
 * So where there are such children, this process only starts the keeper, passes signals on to it, and ends as it does;
 * everything below the keeper is the worker's.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stdatomic.h>
#include <sys/types.h>

#define KEEPER_ASKED (-1)

/* What keeper and worker share: a page of memory. */
struct keeper_page {
	_Atomic uint64_t worker;     /* the worker's number; 0: it holds no entries (yet, or any more) */
	unsigned char token[16];     /* written before the number */
	_Atomic int64_t lease_us;    /* its length; written before the number */
	_Atomic int64_t deadline_us; /* the lease's end, after which no command of it may run; INT64_MAX: no lease yet,
					no command left, or commands may finish without one (--on-lease-loss finish) */
	_Atomic int killing;	     /* the keeper is just killing commands because the lease has ended */
	_Atomic int64_t killed_us;   /* when it had last killed some; 0: never */
	_Atomic int64_t left_us;     /* when the worker had finished, and only its process had to end; 0: not yet */
	_Atomic int status;	     /* its exit status then */
	_Atomic int64_t job_end_us;  /* the answer of a look: when the Slurm job ends; KEEPER_ASKED: the look is to find
					it out; 0: it is not known */
	_Atomic int spools;	     /* outcomes wait in the file SPOOL */
	char spool[4600];
};

struct keeper {
	struct keeper_page *page;
	int life;		      /* in the worker: can be read when the keeper is gone */
	int event;		      /* the worker's request (keeper_ask) */
	pid_t pid;		      /* in the keeper: the worker; in the worker: 0 */
	int (*look)(const void *ctx); /* runs in a child of the keeper, and returns its exit status; NULL: none */
	const void *look_ctx;
};

/* How the worker ended. */
struct keeper_end {
	int exit_code; /* -1: it was killed */
	int signal;    /* by this; 0: it exited */
	int oom;       /* probably because memory ran out */
	int hangs;     /* it has finished, but its process can't end: a file system does not answer */
	size_t left;   /* processes below it that could not be killed */
};

/* Makes keeper and worker out of this process, which must have one thread.  Returns 0 in both (KEEPER->pid tells them
 * apart).  Returns 1 in a process that has other children, after the keeper has ended: *STATUS is the exit status.
 * Negative: there is still one process, and ERROR says why. */
int keeper_split(struct keeper *keeper, int *status, struct jobstack_error *error);

/* In the keeper: waits until the worker has ended and no process of it is left. */
void keeper_watch(struct keeper *keeper, struct keeper_end *end);

/* Fills SET (a sigset_t) with the signals that ask a worker to end: those that the keeper passes on. */
void keeper_signals(void *set);

/* In the worker: asks for keeper->look, which runs soon unless it is running. */
void keeper_ask(const struct keeper *keeper);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The mailbox: all that the worker's two threads share.  The ledger puts entries in and takes outcomes out, the
 * supervisor the other way round; each is woken when there is something for it.  Everything below is read and written
 * with the lock.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "worker/guard.h"
#include "worker/suspicion.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <stdint.h>

#define REASON_MAX 256
#define DEFERRED "deferred: " /* how the reason of one begins that asked to be tried later */
/* After so many losses an entry runs with the other slots empty, so that no other entry is lost with it. */
#define ALONE_LOSSES 2

/* A batch on its way through the slots.  It is freed when all of its entries have an outcome. */
struct parcel {
	STAILQ_ENTRY(parcel) next;
	struct jobstack_batch batch;
	/* how many of its entries have been started or returned, from the first on; how many have no outcome yet */
	size_t started, left;
	int far;		     /* only one entry is left, from far behind (worker/suspicion.h) */
	char (*refused)[REASON_MAX]; /* one per entry, why it must not run, or ""; NULL: all may run */
};

/* An outcome with the memory of its texts. */
struct result {
	struct jobstack_outcome outcome;
	char reason[REASON_MAX];
	int is_dead; /* the mailbox counts it as dead */
	char *texts; /* where its other texts lie, or NULL */
};

/* Why the worker leaves; the first reason stays. */
enum leaving {
	STAY,
	LEAVE_FINISHED,
	LEAVE_HALTED, /* `jobstack run`: the stack is paused because of its max-failures */
	LEAVE_IDLE,
	LEAVE_ENOUGH,
	LEAVE_TIME,
	LEAVE_SIGNAL,
	LEAVE_COMMAND,
	LEAVE_OUTPUT,
	LEAVE_PAUSING, /* and pauses the stack for all */
	LEAVE_NODE,    /* it is bad */
	LEAVE_ELSEWHERE,
	LEAVE_MACHINE,
	LEAVE_KEEPER,
	LEAVE_FENCED,
	LEAVE_DATABASE
};

/* The whole stack, as the ledger last saw it. */
struct sight {
	int64_t at_us; /* 0: not yet */
	struct jobstack_idle idle;
	uint64_t done, dead; /* those of this worker that idle.done and idle.dead count */
	uint64_t all;	     /* entries: ended, running, or left */
};

struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t wake;	       /* the ledger's, by the monotonic clock */
	int event;		       /* the supervisor's eventfd */
	STAILQ_HEAD(, parcel) parcels; /* in the order of claims; a parcel stays until its last outcome */
	size_t queued, running;
	int starved;		/* there was no process for the last start */
	int alone;		/* the entry that runs must be the only one */
	struct result *results; /* outcomes that wait to be written */
	size_t results_n, results_room;
	int64_t oldest_us;		/* the moment of the first of them */
	struct jobstack_running *slots; /* what runs, one per slot; entry 0: nothing, since started_us */
	size_t slots_n;
	enum leaving leaving;
	char why[1000];
	unsigned why_number;	       /* of an error, as of js_error_why; or 0 */
	int64_t deadline_us;	       /* the lease's end */
	int64_t progress_us;	       /* the last start or end of a command */
	uint64_t leaps, leaps_settled; /* of the wall clock; how many a step has followed: nothing starts before that */
	int ended;		       /* the ledger thread has finished */
	char *kills;		       /* jobstack_step_report's; NULL: there are no requests */
	int nudged;		       /* somebody wants the ledger to read such requests now */
	/* without the lock: */
	_Atomic int64_t round_us; /* when the supervisor's loop last began a round */
	_Atomic int round_asked;  /* the ledger waits for a round */
	/* for the batch size, the display and the summary; attempts that failed, and entries that are dead */
	uint64_t finished, done, failed, dead, interrupted;
	uint64_t max_attempts, max_losses; /* of the stack */
	struct sight sight;
	struct guard guard;
	double mean_us; /* how long a command takes: a running mean; 0: not known yet */
	struct suspicion suspicion;
	int64_t start_us;      /* with max_starts: how long a claim may take until its command starts */
	int64_t slow_until_us; /* nothing is claimed before, since entries fail here in a row; 0: they don't */
};

int mailbox_begin(struct mailbox *box, size_t slots, struct jobstack_error *error);
void mailbox_end(struct mailbox *box);

/* With the lock held: */
void mailbox_wake_ledger(struct mailbox *box);
void mailbox_wake_supervisor(struct mailbox *box);
/* Sets the reason to leave, with words (may be ""), and wakes both. */
void mailbox_leave(struct mailbox *box, enum leaving leaving, const char *why);
/* Returns whether an entry may start now: there is one, the worker stays, and nothing runs that must be alone. */
int mailbox_may_start(const struct mailbox *box);
/* With max_starts: returns whether the entry of PARCEL may still start.  If not, gives it back, and the next claim may
 * take twice as long, since this machine or the database is slow just now; with each start in time, a little less. */
int mailbox_is_in_time(struct mailbox *box, struct parcel *parcel, const struct jobstack_entry *entry);
/* Notes that a command has started or ended: the time that a slow worker must wait is counted from now. */
void mailbox_slow_down(struct mailbox *box);
/* Returns the next entry to start, which counts as running from now on, or NULL. */
const struct jobstack_entry *mailbox_take(struct mailbox *box, struct parcel **parcel);
/* Notes that the command in SLOT (from 0) has ended. */
void mailbox_free_slot(struct mailbox *box, size_t slot);
/* Returns whether ENTRY is dead after this outcome. */
int mailbox_is_dead(const struct mailbox *box, const struct jobstack_entry *entry,
		    const struct jobstack_outcome *outcome);
/* Puts an entry back at the head of those that wait.  If the entries after it were returned meanwhile, or the worker
 * leaves, returns this one, too. */
void mailbox_untake(struct mailbox *box, struct parcel *parcel, const struct jobstack_entry *entry);
/* Posts the outcome of an entry of PARCEL, which may be freed by it.  Its texts are copied.  -1 without memory. */
int mailbox_post(struct mailbox *box, struct parcel *parcel, const struct jobstack_outcome *outcome);
/* Returns all entries of PARCEL but the one that is farthest from those that failed. */
void mailbox_keep_farthest(struct mailbox *box, struct parcel *parcel);
/* Returns everything that has not been started: posts it as JOBSTACK_UNSTARTED. */
void mailbox_give_back(struct mailbox *box);

/* Returns why ENTRY of PARCEL must not run, or NULL. */
const char *mailbox_refusal(const struct parcel *parcel, const struct jobstack_entry *entry);

/* Without the lock: leaves, and returns everything that has not been started.  NUMBER: of an error, or 0. */
void mailbox_stop(struct mailbox *box, enum leaving leaving, const char *why, unsigned number);

/* Without the lock: notes that the supervisor's loop begins a round, so somebody looks after the commands. */
void mailbox_note_round(struct mailbox *box);

/* With the lock held: returns whether a round began within the last LONGEST_US.  If not, the supervisor is woken, and
 * the next round wakes the ledger. */
int mailbox_had_round(struct mailbox *box, int64_t longest_us);

void result_free(struct result *results, size_t n);

/* Makes RESULT of OUTCOME, with its own copies of the texts.  Without memory the texts are left out. */
void result_copy(struct result *result, const struct jobstack_outcome *outcome);

/* Returns RESULT's outcome.  The texts are valid as long as the result stays where it is. */
struct jobstack_outcome result_outcome(const struct result *result);

/* With the lock held: puts N results back before those that wait, and takes over their memory. */
void mailbox_put_back(struct mailbox *box, struct result *results, size_t n);

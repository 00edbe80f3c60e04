/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The outbox: outcomes that the database has not taken wait in a local file too (run/spool.h), so that nothing that may
 * happen to this process loses them.  A thread of its own writes them while the ledger waits for the database: those
 * that are under way in the ledger's step, then those in the mailbox, always in this order.
 */
#pragma once

#include "run/spool.h"
#include "worker/keeper.h"
#include "worker/mailbox.h"

#define OUTBOX_PLACES 3

struct outbox {
	/* given, before outbox_begin */
	struct mailbox *box;
	struct keeper_page *page; /* the keeper is told where the spool lies */
	struct js_spool_head head;
	char path[OUTBOX_PLACES][4600]; /* where the spool may lie, the best place first; "" for none */
	/* its own */
	pthread_t thread;
	/* taken before the mailbox's; never held while a file is touched, since a file system may hang */
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	int begun, stop, dozing, ended;
	int stuck;    /* the thread hangs in a file system: it stays, and nothing of this may be freed */
	int busy;     /* the thread writes what waited when it began */
	size_t taken; /* meanwhile the database has taken so many of the first of these */
	int tidy;     /* what the file says of deliveries is to be brought up to date */
	const struct jobstack_outcome *asked; /* under way; the ledger's */
	size_t asked_n;
	int64_t since_us;	     /* the database has been asked something; 0: it has not */
	struct js_spool_file *file;  /* or NULL; the thread's alone until it has ended */
	size_t spooled;		     /* so many of the first that wait are in the file */
	uint64_t written, delivered; /* in that file */
	int64_t retry_us;	     /* nothing could be written: not again before */
	int told;
};

/* Fills the paths: NAME.spool in DIR; then in TMP (may be NULL) and in /tmp. */
void outbox_places(struct outbox *outbox, const char *dir, const char *name, const char *tmp);

/* Starts the thread; after the signals were blocked. */
int outbox_begin(struct outbox *outbox, struct jobstack_error *error);

/* The ledger says: the database is asked now, with N OUTCOMES that must stay as they are; it has answered, and taken
 * the first N; it can't be asked any more, and what was not taken is in the mailbox again. */
void outbox_ask(struct outbox *outbox, const struct jobstack_outcome *outcomes, size_t n);
void outbox_answered(struct outbox *outbox, size_t n);
void outbox_gave_up(struct outbox *outbox);

/* Stops the thread, when no command is left and the ledger has ended.  What is still in the mailbox goes into the
 * spool, which says then that the worker has left.  Gives how many outcomes wait; without any there is no spool.  If
 * the thread hangs in a file system it is left alone (outbox->stuck). */
size_t outbox_end(struct outbox *outbox);

/* Where they wait, or NULL: there is no spool. */
const char *outbox_path(const struct outbox *outbox);

/* After outbox_end, of a worker whose lease is gone: delivers what the database still takes, and removes the spool.
 * Gives how many outcomes came too late.  Negative: the database did not answer, and the spool stays. */
int outbox_settle(struct outbox *outbox, struct jobstack *handle, size_t *late, struct jobstack_error *error);

void outbox_free(struct outbox *outbox);

/* In the keeper, when the worker was killed and nothing of it is left: delivers the spool PATH and removes it; what the
 * worker held beyond that is lost for REASON.  *N (may be NULL): outcomes that were delivered.  Returns 0; 1 if some
 * came too late; or a negative code, and then the spool is still there. */
int outbox_deliver(struct jobstack *handle, const char *path, const char *reason, uint64_t *n,
		   struct jobstack_error *error);

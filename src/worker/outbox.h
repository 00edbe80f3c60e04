/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The outbox: outcomes that the database has not taken wait in a local file too (exec/spool.h), so that nothing that
 * may happen to this process loses them.  A thread of its own writes them while the ledger waits for the database:
 * those that are under way in the ledger's step, then those in the mailbox, always in this order.
 */
#pragma once

#include "exec/spool.h"
#include "worker/keeper.h"
#include "worker/mailbox.h"

#define OUTBOX_PLACES 3

struct outbox {
	/* given, before outbox_begin */
	struct mailbox *box;
	struct keeper_page *page; /* where the keeper finds the spool's path */
	struct js_spool_head head;
	char path[OUTBOX_PLACES][4600]; /* places for the spool, the best first; "": no such place */
	/* its own */
	pthread_t thread;
	/* taken before the mailbox's; not held during file operations, since a file system may hang */
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	int begun, stop, dozing, ended;
	int stuck;			      /* the thread hangs in a file system, so nothing of this may be freed */
	int busy;			      /* the thread is writing, without the lock */
	size_t taken;			      /* while it writes: how many outcomes the database has taken meanwhile */
	int tidy;			      /* the file does not record the last deliveries yet */
	const struct jobstack_outcome *asked; /* outcomes of the ledger's step that is under way */
	size_t asked_n;
	int64_t since_us;	     /* since when the database has been asked; 0: no question is open */
	struct js_spool_file *file;  /* or NULL; only the thread uses it until it has ended */
	size_t spooled;		     /* how many of the outcomes that wait, from the first on, are in the file */
	uint64_t written, delivered; /* how many the file has in all, and how many of these the database has taken */
	int64_t retry_us;	     /* after nothing could be written: when to try again */
	int told;		     /* that nothing could be written, once */
};

/* Fills the paths: NAME.spool in DIR; then in TMP (may be NULL) and in /tmp. */
void outbox_places(struct outbox *outbox, const char *dir, const char *name, const char *tmp);

/* Starts the thread; after the signals were blocked. */
int outbox_begin(struct outbox *outbox, struct jobstack_error *error);

/* For the ledger, around each call that may wait for the database: if it waits long, outcomes are written to the spool.
 * outbox_ask: the call begins; it carries N OUTCOMES, which must stay as they are until the answer. outbox_answered:
 * the database has answered, and taken the first N of what waits.  outbox_gave_up: the database can't be asked any
 * more, and what it has not taken is in the mailbox again. */
void outbox_ask(struct outbox *outbox, const struct jobstack_outcome *outcomes, size_t n);
void outbox_answered(struct outbox *outbox, size_t n);
void outbox_gave_up(struct outbox *outbox);

/* Stops the thread, when no command is left and the ledger has ended.  What is still in the mailbox goes into the
 * spool, which then says that the worker has left.  Returns how many outcomes wait; if there are none, there is no
 * spool.  If the thread hangs in a file system, it is left alone (outbox->stuck). */
size_t outbox_end(struct outbox *outbox);

/* Returns the path of the spool; NULL: there is no spool. */
const char *outbox_path(const struct outbox *outbox);

/* After outbox_end, if the worker's lease was lost: delivers what the database still takes, and removes the spool.
 * *LATE: how many outcomes came too late.  Negative: the database did not answer, and the spool stays. */
int outbox_settle(struct outbox *outbox, struct jobstack *handle, size_t *late, struct jobstack_error *error);

void outbox_free(struct outbox *outbox);

/* In the keeper, when the worker was killed and no process of it is left: delivers the spool PATH and removes it.  What
 * else the worker held is lost for REASON.  *N grows by the outcomes that were delivered.  Returns 0; 1
 * if some came too late; or a negative code, and then the spool is still there. */
int outbox_deliver(struct jobstack *handle, const char *path, enum jobstack_cause cause, const char *reason,
		   uint64_t *n, struct jobstack_error *error);

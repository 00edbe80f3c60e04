/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The database, as the ledger's thread reaches it: what each call needs, and for how long a call is repeated while the
 * database is away.  Only the ledger's thread uses it.
 */
#pragma once

#include "worker/config.h"
#include "worker/mailbox.h"
#include "worker/outbox.h"

struct database {
	const struct config *config;
	struct mailbox *box;
	struct outbox *outbox;
	struct jobstack *handle;
	struct jobstack_worker *worker;
	struct jobstack_error error; /* of the last call that failed for good */
};

/* Registers the worker in db->worker, with db->config and db->handle set.  Waits for the database, or, with
 * --wait-for-stack, for the stack.  Returns 0, an error, or 1 if a signal (the descriptor SIGNALS) has ended the wait
 * for the stack. */
int database_begin(struct database *db, const struct jobstack_worker_options *options, int signals,
		   struct jobstack_error *error);

/* Returns 1 if a call that returned STATUS must be repeated: the database is away, and the first try, at SINCE_US, was
 * not too long ago.  Before it returns 1, it waits a moment and clears db->error.  Otherwise returns 0. */
int database_repeats(struct database *db, int status, int64_t since_us);

/* Has the worker leave, for the reason WHY (mailbox_leave).  No command starts then.  Entries that were claimed but not
 * started are not returned here. */
void database_leave(struct database *db, enum leaving leaving, const char *why);

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

/* Must stand before and after each call that may wait and is no step: outcomes that wait longer go to the spool. */
void database_ask(struct database *db);
void database_answered(struct database *db);

/* Returns whether a call that gave STATUS is to be repeated, because the database is away and was asked first at
 * SINCE_US.  Then it has waited a moment, and db->error is empty. */
int database_repeats(struct database *db, int status, int64_t since_us);

/* Has the worker leave, for the reason WHY.  It still starts what it has claimed. */
void database_leave(struct database *db, enum leaving leaving, const char *why);

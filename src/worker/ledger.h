/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger thread: all of the worker that talks to the database.  It never waits for a command.
 */
#pragma once

#include "worker/config.h"
#include "worker/keeper.h"
#include "watch/watch.h"
#include "worker/mailbox.h"
#include "worker/outbox.h"

struct ledger {
	const struct config *config;
	struct mailbox *box;
	struct outbox *outbox;
	struct jobstack *handle;
	struct jobstack_worker *worker;
	const struct keeper *keeper;
	const char *cwd; /* the directory that the commands run in */
	struct js_watch_options watch_options;
	struct jobstack_error error;
	/* its own */
	uint64_t claimed;     /* entries taken so far */
	int64_t last_us;      /* the last step that succeeded */
	int64_t dry_until_us; /* no claim before: there was nothing */
	int64_t dry_wait_us;
	int64_t idle_since_us; /* nothing to run and nothing to claim; 0: busy */
	int64_t looked_us;     /* idle information */
	struct jobstack_idle idle;
	struct js_watch *watch; /* who else is dead */
	int64_t watch_us;	/* the next look at that */
	int64_t still_us;	/* as the last look told */
	char same_cwd[4096];	/* another name of that, as was found out; "" at first */
	int limited;		/* the stack has max_running */
	int rested;		/* the connection was let go since the last step */
	int yielded;		/* it was seen since then whether others need it */
	uint64_t jitter;
	unsigned beat_jitter; /* of the next beat, below 256 */
};

/* The thread's function; takes a struct ledger, which is its own until it has ended.  At its end the worker's row is
 * ended too, if the database could be told. */
void *ledger_main(void *ledger);

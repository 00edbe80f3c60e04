/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the ledger thread knows.  Shared by its own files (ledger.c, lookout.c).
 */
#pragma once

#include "worker/batching.h"
#include "worker/config.h"
#include "worker/display.h"
#include "worker/events.h"
#include "worker/facts.h"
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
	struct facts facts;
	struct events *events; /* or NULL */
	struct display *display;
	const char *node; /* Slurm's name of it, or the host's */
	const char *cwd;  /* the directory that the commands run in */
	struct js_watch_options watch_options;
	struct jobstack_error error;
	/* its own */
	uint64_t claimed;	 /* entries claimed so far */
	uint64_t looked_claimed; /* `claimed` at the last look at the stack */
	int64_t began_us;
	int64_t last_us;	   /* the last step that succeeded */
	struct batching_step step; /* how long steps take */
	struct batching_wait wait;
	uint64_t held;	      /* nothing is claimed ahead until more commands than that have ended */
	int64_t dry_until_us; /* no claim before this moment: there was nothing to claim */
	int64_t dry_wait_us;
	int64_t idle_since_us; /* since when there is nothing to run or to claim; 0: busy */
	int64_t looked_us;     /* when IDLE was read; 0: it is not valid */
	struct jobstack_idle idle;
	uint64_t sent_done, sent_dead; /* of the mailbox's counts, what the last step had */
	struct js_watch *watch;	       /* watches other workers */
	int64_t watch_us;	       /* when they are looked at next */
	struct js_watch_result others; /* what the last look found, */
	int64_t others_us;	       /* which was then */
	int64_t told_us;	       /* `idle_since_us` when the worker last printed for whom it stays */
	char same_cwd[4096];	       /* another name of that directory; "": not known yet */
	char failure[200];	       /* how the last command failed, in words */
	int limited;		       /* the stack has max_running */
	int in_job;		       /* of Slurm */
	int rested;		       /* disconnected since the last step */
	int stays;		       /* the connection stays open, and is looked at then: */
	int64_t stay_check_us;
	unsigned checks; /* of connections that stay */
	int64_t stay_since_us;
	unsigned cut;	      /* connections that were to stay, and were ended soon */
	int beat_now;	      /* a heartbeat is due */
	int64_t stay_from_us; /* none is to stay before this moment */
	int yielded;	      /* checked since then whether others need the connection */
	uint64_t jitter;
	unsigned beat_jitter; /* of the next heartbeat, below 256 */
};

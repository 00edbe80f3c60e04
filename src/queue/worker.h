/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker's row, and what the worker holds, as this process knows it; shared by the worker's own steps, by scripts
 * that close what they popped, and by recovery.
 */
#pragma once

#include "queue/claim.h"

#define JS_KILLS_MAX 4000 /* of the column `kills` */

/* The user lock by which a worker shows that it is connected, by its row's token. */
#define JS_WORKER_LOCK(token) "CONCAT('jobstack.worker.',HEX(" token "))"

struct jobstack_worker {
	struct jobstack *handle;
	struct js_stack stack;
	uint64_t id, seq;
	int64_t born_us; /* the row's `started`; -1: not known */
	unsigned char token[16];
	unsigned char next[16];	      /* the token behind the end, or behind a script's step: shows whose it was */
	char kills[JS_KILLS_MAX + 1]; /* the column, as last read */
	uint64_t kills_len;	      /* how long it was when the worker was loaded */
	size_t closed_len;	      /* how long the column `closed` is, if nobody has emptied it */
	int script;		      /* it is a script's pop */
	int reopened;		      /* it had ended, and left a claim (jobstack_recover_left): its slots are 0 */
	uint64_t shown;		      /* the connection that holds the worker's user lock; 0: none does */
	int64_t lease_us;	      /* how long others wait for a heartbeat */
	int64_t deadline_us;	      /* when the lease ends, by jobstack_now_us, counted from when a step was sent */
	struct js_claim *claims;
	/* of the stack's policy, as it was read last: */
	int64_t policy_us;    /* when that was */
	uint32_t workers;     /* how many workers of the stack had not ended; counted up to CROWD + 1 (step.c) */
	int64_t took_us;      /* how long that step's commit took */
	int64_t commit_us;    /* a running mean of that; 0: not known */
	int can_shard;	      /* the server has a binary log, and the stack's order need not be exact */
	unsigned shards;      /* pops go to so many shards; 0: in order */
	uint64_t seed;	      /* of the numbers that draw one (js_num_jitter); 0: not set yet */
	int failing;	      /* the stack had as many dead entries as its max_failures */
	int unsettled;	      /* whether the last step was committed is not known: only the same step may follow */
	int64_t unsettled_us; /* when its first try was sent */
	size_t unsettled_n, unsettled_k; /* how many outcomes it has, and how many entries it claims */
	uint64_t unsettled_reused;	 /* the claim whose row that step's pop uses; 0: none */
};

/* Adds the INSERT of a worker row.  Nothing is inserted if the stack is being dropped or gone; the drop waits for one
 * that came before it.  js_stack_mark_sql comes first, but not for a script's pop: on a cluster it changes a span. */
void js_worker_insert_sql(struct js_sql *sql, const struct js_stack *stack, const unsigned char token[16], int script,
			  const struct jobstack_worker_options *options);

/* Makes sure that an INSERT of a worker row whose reply was lost can't take effect later.  It was sent again, and that
 * went through as worker ID; but the first packet may still reach the server, and would add a second row.  The unique
 * key refuses it only while some row has the same TOKEN, and a worker's token changes when it ends, or at a script's
 * step.  So the worker's row gets a new token (also in TOKEN), and an ended row keeps the old one for ever.  ID 0: no
 * try has left a row.  Then the ended row alone is inserted; only a packet that arrived just before it has had an
 * effect. */
int js_worker_void_lost_insert(struct jobstack *handle, const struct js_stack *stack, uint64_t id,
			       unsigned char token[16], int script, const struct jobstack_worker_options *options,
			       struct jobstack_error *error);

/* Reads worker ID with all its claims from the database, if it has not ended: 0; 1 if it has or is not there.  What was
 * read is true for its seq: any change of it changes the seq. */
int js_worker_load(struct jobstack *handle, const struct js_stack *stack, uint64_t id, struct jobstack_worker **worker,
		   struct jobstack_error *error);

/* Reads claim NO of the worker and appends it to its claims; 1 if there is none.  CLAIM is it. */
int js_worker_read_claim(struct jobstack_worker *worker, uint64_t no, struct js_claim **claim,
			 struct jobstack_error *error);

/* Fills ERROR for a claim that can't be read.  Returns its code. */
int js_worker_refuse_claim(const struct jobstack_worker *worker, struct jobstack_error *error);

/* For a transaction of WORKER with these outcomes that a key refused, which only a damaged ledger makes possible: marks
 * those JS_SKIPPED that have an outcome already (the first outcome of an attempt counts), or that a recovery
 * (RECOVERING) need not put back, and logs it.  Returns JS_DB_DUPLICATE: try again without them, or an error.  With
 * REFUSED 0 it is no error if there are none. */
int js_worker_skip(struct jobstack_worker *worker, const struct jobstack_outcome *outcomes, size_t n, int recovering,
		   int refused, struct jobstack_error *error);

/* Returns whether KILLS asks for an entry that is open in LIST. */
int js_kill_is_open(const char *kills, struct js_claim *list);

/* Marks the entries that are open in LIST, and that KILLS asks for, and writes to OUTCOMES that they are dead.  KILLS
 * is changed, and holds the reasons.  Returns how many. */
size_t js_kill_close(char *kills, struct js_claim *list, struct jobstack_outcome *outcomes, struct js_claim_sums *sums);

/* Does what jobstack_step does, with structs as this library knows them.  STEP is not NULL; its size does not matter.
 */
int js_worker_step(struct jobstack_worker *worker, const struct jobstack_step *step, struct jobstack_batch *batch,
		   struct jobstack_step_report *report, struct jobstack_error *error);

/* After a guard has stopped a step of W, or with ENDING its end: finds out whether an earlier try had been committed.
 * LOST: the reply to one was lost.  Returns 0 if it had; 1 if W is fenced, because others have declared it dead;
 * JOBSTACK_ECONFLICT if the database was set back, or the stack is gone; or another error. */
int js_worker_settle(struct jobstack_worker *w, int lost, int ending, struct jobstack_error *error);

/* Repeats a heartbeat of W whose reply was lost, so that another step, or the end, may follow. */
int js_worker_settle_heartbeat(struct jobstack_worker *w, struct jobstack_error *error);

/* How a worker ends, or is ended by others. */
struct js_worker_end {
	const struct jobstack_outcome *outcomes;
	size_t n;
	enum jobstack_cause cause;
	const char *reason;
	const char *lost; /* not NULL: it is recovered, and its open entries are lost for this reason */
	int damaged;	  /* it had ended before: js_worker_skip comes first */
	uint64_t *closed; /* gets how many entries were closed; NULL: not wanted */
};
int js_worker_finish(struct jobstack_worker *worker, const struct js_worker_end *end, struct jobstack_error *error);

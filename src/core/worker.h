/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker row and what it holds, as this process knows it; shared by the worker's own steps, by scripts that close
 * what they popped, and by recovery.
 */
#ifndef JS_CORE_WORKER_H
#define JS_CORE_WORKER_H

#include "core/claim.h"

struct jobstack_worker {
	struct jobstack *handle;
	struct js_stack stack;
	uint64_t id, seq;
	int64_t born_us; /* the row's `started`; -1: not known */
	unsigned char token[16];
	unsigned char next[16]; /* the token behind the end, or behind a script's step: tells whose it was */
	int script;		/* it is a script's pop */
	int64_t lease_us, deadline_us;
	struct js_claim *claims;
	int64_t policy_us;    /* when the stack's policy was last read */
	int crowd;	      /* the stack then had many workers */
	int failing;	      /* and so many dead entries that it is to be paused */
	int unsettled;	      /* the last step's fate is not known: only the same step may follow */
	int64_t unsettled_us; /* when its first try was sent */
	size_t unsettled_n, unsettled_k;
};

/* Adds the INSERT of a worker row.  KEPT: of none, if the stack is being dropped or gone; a pop, whose row goes with
 * the span that it does not find, needs no such look, which would have it wait for pushes. */
void js_worker_insert_sql(struct js_sql *sql, const struct js_stack *stack, const unsigned char token[16], int script,
			  int kept, const struct jobstack_worker_options *options);

/* The first try of an INSERT of worker ID lost its reply, and a later one went through: the first may still be on its
 * way.  While the row keeps its TOKEN, the key refuses it; but the token goes when the worker ends, or a script steps.
 * So the row gets a new one (TOKEN takes it), and an ended row keeps the old one for ever.  With ID 0 no try has left a
 * row: then the ended row keeps the first from ever doing so, unless it has just done it. */
int js_worker_bar(struct jobstack *handle, const struct js_stack *stack, uint64_t id, unsigned char token[16],
		  int script, const struct jobstack_worker_options *options, struct jobstack_error *error);

/* A guard stopped a step, or with ENDING the end, of W; LOST: a reply to an earlier try was lost.  Was it that try,
 * which had arrived (0), or is W fenced (1)?  The guard's UPDATE has waited for it, so what is read now is final.
 * JOBSTACK_ECONFLICT: the database was set back, or the stack is gone. */
int js_worker_settle(struct jobstack_worker *w, int lost, int ending, struct jobstack_error *error);

/* Reads worker ID with all its claims from the database, if it has not ended: 0; 1 if it has or is not there.  What was
 * read is true for its seq: any change of it changes the seq. */
int js_worker_load(struct jobstack *handle, const struct js_stack *stack, uint64_t id, struct jobstack_worker **worker,
		   struct jobstack_error *error);

/* Reads claim NO of the worker and appends it to its claims; 1 if there is none.  CLAIM is it. */
int js_worker_read_claim(struct jobstack_worker *worker, uint64_t no, struct js_claim **claim,
			 struct jobstack_error *error);

/* Makes the batch of a claim: reads the datapaths. */
int js_worker_read_batch(struct jobstack *handle, const struct js_stack *stack, uint64_t worker,
			 const struct js_claim *claim, struct jobstack_batch *batch, struct jobstack_error *error);

/* How a worker ends. */
struct js_worker_end {
	const struct jobstack_outcome *outcomes;
	size_t n;
	const char *reason;
	const char *lost; /* not NULL: it is recovered, what is open is lost for this reason */
};
int js_worker_finish(struct jobstack_worker *worker, const struct js_worker_end *end, struct jobstack_error *error);

#endif

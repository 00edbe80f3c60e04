/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker's row, and what the worker holds, as this process knows it; shared by the worker's own steps, by scripts
 * that close what they popped, and by recovery.
 */
#pragma once

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
	int unsettled;	      /* whether the last step was committed is not known: only the same step may follow */
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

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans and claims as a check reads them.
 */
#pragma once

#include "core/checked.h"
#include "core/span.h"

/* Who has a claim. */
enum js_keeper { JS_ALIVE, JS_ENDED, JS_MISSING, JS_FOREIGN };

/* A span or a claim, without its entries. */
struct js_holder {
	unsigned class;
	int64_t rank, pos;
	uint32_t attempt, fails, losses;
	/* the rest is of claims */
	uint64_t worker, no, first;
	uint64_t open, seen; /* entries without an outcome: what it says; what was found */
	enum js_keeper keeper;
};

struct js_holders {
	struct js_holder *list; /* in the memory */
	size_t n;
	struct js_buf memory;
};

/* A window of entry numbers.  FN is called for each entry of a span or a claim that lies in it; INDEX is the holder's
 * place in the list. */
struct js_held_window {
	uint64_t low, high;
	void (*fn)(void *ctx, size_t index, uint64_t entry);
	void *ctx;
};

/* With WINDOW NULL, reads all spans: counts their entries in the report, and tells what is wrong with each by itself.
 * Else reads the spans that hold entries of the window into HOLDERS (those that are there go). */
int js_check_spans(struct js_checked *c, const struct js_held_window *window, struct js_holders *holders,
		   struct jobstack_error *error);

/* The same for claims; but HOLDERS are all of them, in the order of their key, as the call without a window makes
 * them. */
int js_check_claims(struct js_checked *c, const struct js_held_window *window, struct js_holders *holders,
		    struct jobstack_error *error);

/* Tells which tables have rows of stacks that are not there, in the view. */
int js_check_orphans(struct js_checked *c, struct jobstack_error *error);

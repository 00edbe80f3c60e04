/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans and claims as a check reads them.
 */
#ifndef JS_CORE_PLACES_H
#define JS_CORE_PLACES_H

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
	struct js_holder *list;
	size_t n, room;
	int failed;
};

/* Called for each entry of a span or a claim that lies in the window; INDEX is the holder's place in the list. */
typedef void js_held_fn(void *ctx, size_t index, uint64_t entry);

/* Reads all spans: counts their entries in the report, and tells what is wrong with each by itself. */
int js_check_spans(struct js_checked *c, struct jobstack_error *error);

/* Reads the spans that hold entries from LOW to HIGH into HOLDERS (those that are there go), and calls FN for those
 * entries. */
int js_check_spans_of(struct js_checked *c, uint64_t low, uint64_t high, struct js_holders *holders, js_held_fn *fn,
		      void *ctx, struct jobstack_error *error);

/* The same for claims; HOLDERS are all of them, in the order of their key, and stay as the first of these calls made
 * them. */
int js_check_claims(struct js_checked *c, struct js_holders *holders, struct jobstack_error *error);
int js_check_claims_of(struct js_checked *c, uint64_t low, uint64_t high, struct js_holders *holders, js_held_fn *fn,
		       void *ctx, struct jobstack_error *error);

#endif

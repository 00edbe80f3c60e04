/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The state of entries at one moment: queued, or held by a worker; for a window of entry numbers at a time.
 */
#pragma once

#include "queue/queue.h"

#define JS_WHERE_WINDOW 262144 /* numbers in a window */

/* An entry of an open claim.  Those of it that have been closed are here too: their attempt is on record. */
struct js_in_hand {
	uint64_t entry; /* the first member: js_num_order sorts by it */
	uint64_t worker;
	int64_t started_us; /* -1: not yet, it is next in the worker's line */
	uint32_t attempt;
};

struct js_where {
	uint64_t low, high;
	unsigned char *state;  /* JOBSTACK_IS_READY, WAITING, HELD, RUNNING; 0: none of these */
	uint32_t *attempt;     /* which it has now, or would have next */
	struct js_buf in_hand; /* N struct js_in_hand, by their entries */
	size_t n;
};

/* Reads where the entries from LOW to HIGH, at most JS_WHERE_WINDOW, stand, all as of one moment.  WHERE starts as {0};
 * free it with js_where_free. */
int js_where_read(struct js_where *where, struct jobstack *handle, const struct js_stack *stack, uint64_t low,
		  uint64_t high, struct jobstack_error *error);
void js_where_free(struct js_where *where);

/* Returns what is known of ENTRY as one of a claim; NULL if it is in none. */
const struct js_in_hand *js_where_in_hand(const struct js_where *where, uint64_t entry);

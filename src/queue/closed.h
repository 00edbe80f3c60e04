/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which attempts were closed: a worker lists them in the transaction that records them.  The list is in the column
 * `closed` of the worker's row, which is written anyway.  When the column is full, or the worker ends, the list moves
 * to a row of the table `closed`.  A reader that wants each attempt exactly once reads these lists (history/stream.h).
 */
#pragma once

#include "queue/queue.h"

/* Bytes of worker.closed at most.  A binary log gets the column twice with each step, as it was and as it is, so that a
 * row of `closed` for every six attempts or so takes fewer bytes than a long column. */
#define JS_CLOSED_COLUMN 64

struct js_attempt_id {
	uint64_t entry, attempt;
};

/* Later than any real time (seconds since 1970): in `oldest` it means that there is no attempt. */
#define JS_CLOSED_FAR UINT32_MAX

/* Returns US, microseconds since 1970, in seconds: at least 0, and at most JS_CLOSED_FAR. */
uint64_t js_closed_second(int64_t us);

/* A list of attempts: "7:1,9-12:2,".  None of them ended before the second OLDEST (since 1970) or after NEWEST. */
struct js_closed_list {
	struct js_buf text;
	uint64_t oldest, newest;
};

/* Writes the list of the attempts of OUTCOMES.  Entries that were not started have no attempt. */
void js_closed_write(struct js_buf *text, const struct jobstack_outcome *outcomes, size_t n);

/* For a change of the worker's row that moves the list in it to the table `closed`: adds a statement before it, which
 * locks the row and remembers the list.  The change itself sets the column to NULL, and js_closed_store_sql follows. */
void js_closed_take_sql(struct js_sql *sql, uint64_t worker);

/* Adds the statement that stores LIST in the table `closed`, for the step with which WORKER gets this seq.  It must
 * follow the step's fence.  With OLDER, behind the list that js_closed_take_sql has remembered. */
void js_closed_store_sql(struct js_sql *sql, const struct js_stack *stack, struct jobstack_seen worker,
			 const struct js_closed_list *list, int older);

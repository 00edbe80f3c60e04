/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream of a stack's attempts: numbered blocks, each a list of attempts.
 *
 * A worker lists the attempts that it records in the same transaction.  The list is in the column `closed` of the
 * worker's row, which is written anyway.  When the column is full, or the worker ends, the list moves to a row of the
 * table `closed`.  A reader of the stream moves these lists into the next block.  So workers need no sequence number
 * that they would have to wait for, and no block becomes visible before one with a lower number.
 */
#pragma once

#include "core/core.h"

/* Bytes of worker.closed at most.  A binary log gets the column twice with each step, as it was and as it is, so that a
 * row of `closed` for every six attempts or so takes fewer bytes than a long column. */
#define JS_STREAM_COLUMN 64

struct js_attempt_id {
	uint64_t entry, attempt;
};

/* Later than any real time (seconds since 1970): in `oldest` it means that there is no attempt. */
#define JS_STREAM_FAR UINT32_MAX

/* The second of a moment, at most JS_STREAM_FAR. */
uint64_t js_stream_second(int64_t us);

/* A list of attempts: "7:1,9-12:2,".  None of them ended before the second OLDEST (since 1970) or after NEWEST. */
struct js_stream_list {
	struct js_buf text;
	uint64_t oldest, newest;
};

/* Writes the list of the attempts of OUTCOMES.  Entries that were not started have no attempt. */
void js_stream_write(struct js_buf *text, const struct jobstack_outcome *outcomes, size_t n);

/* An item of a list: the same attempt of these entries. */
struct js_stream_range {
	uint64_t first, last, attempt;
};

/* Reads the next item of a list, and moves *TEXT behind it.  0: it can't be read. */
int js_stream_next(const char **text, struct js_stream_range *range);

/* For a change of the worker's row that moves the list in it to the table `closed`: adds a statement before it, which
 * locks the row and remembers the list.  The change itself sets the column to NULL, and js_stream_store_sql follows. */
void js_stream_take_sql(struct js_sql *sql, uint64_t worker);

/* Adds the statement that stores LIST in the table `closed`, for the step of WORKER whose seq becomes SEQ.  It must
 * follow the step's fence.  With OLDER, behind the list that js_stream_take_sql has remembered. */
void js_stream_store_sql(struct js_sql *sql, uint64_t stack_id, uint64_t worker, uint64_t seq,
			 const struct js_stream_list *list, int older);

/* A block of the stream.  Start it with zeros; free LIST. */
struct js_stream_block {
	uint64_t no;
	uint64_t newest;	    /* set only by js_stream_prune */
	struct js_attempt_id *list; /* ordered by entry and attempt */
	size_t n, room;
	int failed;  /* out of memory */
	int damaged; /* the list can't be read */
};

/* Reads block NO, or the next one that exists.  JOBSTACK_NOTHING if there is none. */
int js_stream_read(struct jobstack *handle, uint64_t stack_id, uint64_t no, struct js_stream_block *block,
		   struct jobstack_error *error);

/* Makes a block of attempts that are in no block yet.  JOBSTACK_NOTHING: all attempts that were recorded before the
 * call are in blocks up to *LAST. */
int js_stream_gather(struct jobstack *handle, uint64_t stack_id, uint64_t *last, struct jobstack_error *error);

/* Removes blocks none of whose attempts exists any more, if all of them ended before BEFORE_US; but never the last one,
 * since numbers follow from it. */
int js_stream_prune(struct jobstack *handle, uint64_t stack_id, int64_t before_us, struct jobstack_error *error);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream of a stack's attempts: numbered blocks, each a list of attempts.
 *
 * A reader of the stream moves the lists that workers have written (queue/closed.h) into the next block.  So workers
 * need no sequence number that they would have to wait for, and no block becomes visible before one with a lower
 * number.
 */
#pragma once

#include "queue/closed.h"

/* An item of a list: the same attempt of these entries. */
struct js_stream_range {
	uint64_t first, last, attempt;
};

/* Reads the next item of a list, and moves *TEXT behind it.  0: it can't be read. */
int js_stream_next(const char **text, struct js_stream_range *range);

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

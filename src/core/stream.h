/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream of a stack's attempts: numbered blocks, each a list of attempts.
 *
 * Whoever records attempts names them in the same transaction: in the column `closed` of the worker's row, which is
 * written anyway, or, when that is full, or the worker ends, in a row of the table `closed`.  Whoever reads the stream
 * moves these names into the next block.  So workers need no number that they would have to wait for, and a block with
 * a higher number never comes before one with a lower.
 */
#pragma once

#include "core/core.h"

#define JS_STREAM_COLUMN 400 /* bytes of worker.closed */

struct js_attempt_id {
	uint64_t entry, attempt;
};

/* Writes the attempts that OUTCOMES are of to TEXT: "7:1,9-12:2,".  Entries that were not started have none. */
void js_stream_write(struct js_buf *text, const struct jobstack_outcome *outcomes, size_t n);

/* Adds, behind the fence of a step of WORKER whose seq becomes SEQ, the statement that stores TEXT, of LEN bytes.  With
 * OLDER, what is in the worker's row is moved there, too. */
void js_stream_store_sql(struct js_sql *sql, uint64_t stack_id, uint64_t worker, uint64_t seq,
			 const struct js_buf *text, int older);

/* A block of the stream.  Start it with zeros; free LIST. */
struct js_stream_block {
	uint64_t no;
	struct js_attempt_id *list; /* by entry and attempt */
	size_t n, room;
	int failed; /* out of memory; damaged */
	int damaged;
};

/* Reads block NO, or the first one behind it: 0; JOBSTACK_NOTHING if there is none. */
int js_stream_read(struct jobstack *handle, uint64_t stack_id, uint64_t no, struct js_stream_block *block,
		   struct jobstack_error *error);

/* Makes a block of attempts that are in none yet: 0.  JOBSTACK_NOTHING: all that were recorded before the call are in
 * blocks up to *LAST. */
int js_stream_gather(struct jobstack *handle, uint64_t stack_id, uint64_t *last, struct jobstack_error *error);

/* Removes blocks none of whose attempts exists any more, but never the last one, since numbers follow from it. */
int js_stream_prune(struct jobstack *handle, uint64_t stack_id, struct jobstack_error *error);

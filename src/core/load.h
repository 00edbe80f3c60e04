/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Workers and claims out of the database.
 */
#pragma once

#include "core/worker.h"

/* Reads worker ID with all its claims from the database, if it has not ended: 0; 1 if it has or is not there.  What was
 * read is true for its seq: any change of it changes the seq. */
int js_worker_load(struct jobstack *handle, const struct js_stack *stack, uint64_t id, struct jobstack_worker **worker,
		   struct jobstack_error *error);

/* Reads claim NO of the worker and appends it to its claims; 1 if there is none.  CLAIM is it. */
int js_worker_read_claim(struct jobstack_worker *worker, uint64_t no, struct js_claim **claim,
			 struct jobstack_error *error);

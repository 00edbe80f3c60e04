/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A batch: what a claim brings to whoever runs it.
 */
#pragma once

#include "queue/claim.h"

/* Returns an empty batch of WORKER. */
struct jobstack_batch js_batch_of(uint64_t worker);

/* Reserves memory in BATCH for N entries of WORKER.  0, or -1 without memory.  Free it with jobstack_batch_free. */
int js_batch_begin(struct jobstack_batch *batch, uint64_t worker, size_t n);

/* Adds an entry of CLAIM: its number as text, and its datapath. */
void js_batch_add(struct jobstack_batch *batch, const struct js_claim *claim, const char *entry, const char *datapath,
		  size_t len);

/* Call it when all were added: it sets the pointers.  0, or -1 if memory ran out. */
int js_batch_end(struct jobstack_batch *batch);

/* Makes the batch of a whole claim of WORKER: reads the datapaths. */
int js_batch_read(struct jobstack *handle, const struct js_stack *stack, uint64_t worker, const struct js_claim *claim,
		  struct jobstack_batch *batch, struct jobstack_error *error);

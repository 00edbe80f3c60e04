/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader of jobstack_export, for others of this layer.
 */
#pragma once

#include "queue/queue.h"

struct js_export;

/* Makes a reader that calls FN for each item.  Free it with js_export_free.  NULL without memory. */
struct js_export *js_export_new(struct jobstack *handle, jobstack_item_fn *fn, void *ctx);
void js_export_free(struct js_export *x);

/* Reads the attempts of the entries LOW to HIGH of STACK that have ended, as jobstack_export gives them, with the ends
 * of their stderr.  Returns JOBSTACK_ESTOPPED, without a text, if FN returned something else than 0. */
int js_export_range(struct js_export *x, const struct js_stack *stack, uint64_t low, uint64_t high,
		    struct jobstack_error *error);

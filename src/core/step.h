/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker's steps, and its end, which is the last one.
 */
#pragma once

#include "core/worker.h"

/* What jobstack_step does, with structs as this library knows them.  STEP is not NULL; its size does not matter. */
int js_worker_step(struct jobstack_worker *worker, const struct jobstack_step *step, struct jobstack_batch *batch,
		   struct jobstack_step_report *report, struct jobstack_error *error);

/* How a worker ends. */
struct js_worker_end {
	const struct jobstack_outcome *outcomes;
	size_t n;
	const char *reason;
	const char *lost; /* not NULL: it is recovered, what is open is lost for this reason */
};
int js_worker_finish(struct jobstack_worker *worker, const struct js_worker_end *end, struct jobstack_error *error);

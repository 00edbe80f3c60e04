/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of a worker, which is its last step.
 */
#pragma once

#include "core/worker.h"

/* How a worker ends. */
struct js_worker_end {
	const struct jobstack_outcome *outcomes;
	size_t n;
	const char *reason;
	const char *lost; /* not NULL: it is recovered, what is open is lost for this reason */
};
int js_worker_finish(struct jobstack_worker *worker, const struct js_worker_end *end, struct jobstack_error *error);

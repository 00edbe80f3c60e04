/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pruning what was recorded of usage, beside the work itself: Python packages, and the platforms of workers.
 */
#pragma once

#include "core/core.h"

/* Deletes those of workers that ended before BEFORE_US (the server's clock) from STACK, or only counts them (DRY_RUN).
 * What live workers have told stays.  RESULT is filled on errors, too. */
int js_usage_prune(struct jobstack *handle, const struct js_stack *stack, int64_t before_us, int dry_run,
		   struct jobstack_prune_result *result, struct jobstack_error *error);

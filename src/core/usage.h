/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pruning what was recorded of usage, beside the work itself: Python packages, and the platforms of workers.
 */
#pragma once

#include "core/core.h"

/* Deletes from STACK what workers recorded that ended before BEFORE_US (the server's clock), or only counts it
 * (DRY_RUN).  The records of live workers stay.  RESULT is filled on errors, too. */
int js_usage_prune(struct jobstack *handle, const struct js_stack *stack, int64_t before_us, int dry_run,
		   struct jobstack_prune_result *result, struct jobstack_error *error);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of workers and pushes of a stack that nothing refers to any more, after their entries have been pruned.
 */
#pragma once

#include "queue/queue.h"

struct js_unreferenced;

/* Notes the workers of a stack that ended, as did all their attempts, before BEFORE_US, and more than an hour before
 * NOW_US (both the server's time).  Free it with js_unreferenced_free. */
int js_unreferenced_new(struct js_unreferenced **unreferenced, struct jobstack *handle, uint64_t stack_id,
			int64_t before_us, int64_t now_us, struct jobstack_error *error);

/* Excludes the workers that attempts of the entries above LOW, up to HIGH, name.  With PRUNED_US not negative, entries
 * that were done, and ended before it, count as gone already. */
int js_unreferenced_exclude(struct js_unreferenced *unreferenced, uint64_t low, uint64_t high, int64_t pruned_us,
			    struct jobstack_error *error);

/* When all attempts that ended before BEFORE_US were looked at: removes the workers that are left, and pushes that
 * ended before then.  PRUNED_US not negative: only counts, as above.  Adds to RESULT. */
int js_unreferenced_remove(struct js_unreferenced *unreferenced, int64_t pruned_us,
			   struct jobstack_prune_result *result, struct jobstack_error *error);

void js_unreferenced_free(struct js_unreferenced *unreferenced);

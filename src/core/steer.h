/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What steering a stack has in common with pushes and workers.
 */
#pragma once

#include "core/stack.h"

/* Of "stack s": so many are dead that it is to be paused, if it is not NULL. */
#define JS_STACK_FAILING                                                                                               \
	"s.dead+(SELECT COALESCE(SUM(w.dead),0) FROM worker w WHERE w.stack_id=s.stack_id AND w.ended IS "             \
	"NULL)>=s.max_failures"

/* Adds the statements that change the stack's policy, for a transaction.  0, or JOBSTACK_EUSAGE. */
int js_stack_policy_sql(struct js_sql *sql, uint64_t stack_id, const struct jobstack_policy *policy,
			struct jobstack_error *error);

/* Pauses an open stack that has max_failures and so many dead entries. */
int js_stack_halt(struct jobstack *handle, const struct js_stack *stack, struct jobstack_error *error);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack as it was read: its jobstack_status, with copies of its texts.
 */
#pragma once

#include "base/bar.h"
#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stdint.h>

struct insight_stack {
	struct jobstack_status s; /* its texts are NULL; see below */
	char name[JOBSTACK_STACK_MAX + 1];
	struct js_buf cwd, note; /* of length 0: the stack has none */
};

/* Copies S; returns -1 without memory.  Free it with insight_stack_free. */
int insight_stack_copy(struct insight_stack *stack, const struct jobstack_status *s);
void insight_stack_free(struct insight_stack *stack);

/* Reads the stack NAME into the empty STACK: 0, or a JOBSTACK_E code with ERROR filled. */
int insight_stack_read(struct jobstack *handle, const char *name, struct insight_stack *stack,
		       struct jobstack_error *error);

/* How many entries have not ended. */
uint64_t insight_stack_left(const struct jobstack_status *s);

/* Is nothing left, and no push running? */
int insight_stack_is_over(const struct jobstack_status *s);

/* How much of the stack is done, 0 to 1; entries that moved to another stack do not count. */
double insight_stack_share(const struct jobstack_status *s);

/* The same for a progress bar, with what runs and what is dead. */
struct js_bar insight_stack_bar(const struct jobstack_status *s);

/* How many entries workers hold ahead: they have not started yet. */
uint64_t insight_stack_claimed(const struct jobstack_status *s);

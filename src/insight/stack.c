/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack as it was read.
 */
#include "insight/stack.h"

#include "base/error.h"

#include <stdio.h>

int insight_stack_copy(struct insight_stack *stack, const struct jobstack_status *s)
{
	*stack = (struct insight_stack){.s = *s};
	(void)snprintf(stack->name, sizeof(stack->name), "%s", s->stack);
	if (s->cwd != NULL)
		js_buf_str(&stack->cwd, s->cwd);
	if (s->note != NULL)
		js_buf_str(&stack->note, s->note);
	stack->s.stack = stack->s.cwd = stack->s.note = NULL;
	return stack->cwd.failed || stack->note.failed ? -1 : 0;
}

void insight_stack_free(struct insight_stack *stack)
{
	js_buf_free(&stack->cwd);
	js_buf_free(&stack->note);
}

static int copy_status_row(void *ctx, const struct jobstack_status *s)
{
	struct insight_stack *stack = ctx;

	insight_stack_free(stack);
	return insight_stack_copy(stack, s) != 0;
}

int insight_stack_read(struct jobstack *handle, const char *name, struct insight_stack *stack,
		       struct jobstack_error *error)
{
	int status = jobstack_status(handle, name, copy_status_row, stack, error);

	if (!stack->cwd.failed && !stack->note.failed)
		return status;
	js_error_clear(error);
	return js_error_memory(error);
}

uint64_t insight_stack_left(const struct jobstack_status *s)
{
	return s->ready + s->waiting + s->held + s->running;
}

int insight_stack_is_over(const struct jobstack_status *s)
{
	return insight_stack_left(s) == 0 && s->pushers == 0;
}

double insight_stack_share(const struct jobstack_status *s)
{
	uint64_t all = s->pushed - s->moved;

	return all == 0 ? 0 : (double)(s->done + s->pruned) / (double)all;
}

struct js_bar insight_stack_bar(const struct jobstack_status *s)
{
	return (struct js_bar){s->pushed - s->moved, s->done + s->pruned, s->busy, s->dead};
}

uint64_t insight_stack_claimed(const struct jobstack_status *s)
{
	return s->running > s->busy ? s->running - s->busy : 0;
}

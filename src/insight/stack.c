/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stacks as the commands hold them.
 */
#include "insight/stack.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

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

struct taking {
	struct insight_stack *stack;
	int memory;
};

static int take(void *ctx, const struct jobstack_status *s)
{
	struct taking *t = ctx;

	insight_stack_free(t->stack);
	t->memory = insight_stack_copy(t->stack, s) != 0;
	return 0;
}

int cli_stack(struct cli *cli, struct insight_stack *stack)
{
	struct taking t = {stack, 0};
	int status = jobstack_status(cli->handle, cli->stack, take, &t, &cli->error);

	return status == 0 && t.memory ? js_error_memory(&cli->error) : status;
}

const char *view_stack_word(enum jobstack_stack_state state)
{
	static const char *const word[] = {[JOBSTACK_OPEN] = "open",
					   [JOBSTACK_PAUSED] = "paused",
					   [JOBSTACK_CANCELLED] = "cancelled",
					   [JOBSTACK_DROPPING] = "dropping"};

	return (size_t)state < sizeof(word) / sizeof(word[0]) ? word[state] : "?";
}

uint64_t insight_stack_left(const struct jobstack_status *s)
{
	return s->ready + s->waiting + s->held + s->running;
}

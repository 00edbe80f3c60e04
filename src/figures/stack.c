/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack as it was read.
 */
#include "figures/stack.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int figures_stack_copy(struct figures_stack *stack, const struct jobstack_status *s)
{
	*stack = (struct figures_stack){.s = *s};
	(void)snprintf(stack->name, sizeof(stack->name), "%s", s->stack);
	if (s->cwd != NULL)
		js_buf_str(&stack->cwd, s->cwd);
	if (s->note != NULL)
		js_buf_str(&stack->note, s->note);
	stack->s.stack = stack->s.cwd = stack->s.note = NULL;
	return stack->cwd.failed || stack->note.failed ? -1 : 0;
}

void figures_stack_free(struct figures_stack *stack)
{
	js_buf_free(&stack->cwd);
	js_buf_free(&stack->note);
}

/* A row that comes once more, because the connection was lost, replaces the first one. */
static int copy_status_row(void *ctx, const struct jobstack_status *s)
{
	struct figures_stack *stack = ctx;

	figures_stack_free(stack);
	return figures_stack_copy(stack, s) != 0;
}

int figures_stack_read(struct jobstack *handle, const char *name, struct figures_stack *stack,
		       struct jobstack_error *error)
{
	int status = jobstack_status(handle, name, copy_status_row, stack, error);

	if (!stack->cwd.failed && !stack->note.failed)
		return status;
	js_error_clear(error);
	return js_error_memory(error);
}

/* The newest start that was seen, and the newest that this user may repeat; INT64_MAX: none yet. */
struct starts {
	struct figures_idle *idle;
	int64_t newest_us, own_us;
};

/* Keeps the newest start, and how this user may start workers again.  Starts come in no order. */
static void copy_last(void *ctx, const struct jobstack_last *last)
{
	struct starts *s = ctx;
	struct figures_idle *to = s->idle;

	if (last->words.len > 0 && last->user == geteuid() && last->way <= JOBSTACK_BY_SUBMIT &&
	    last->job_us < s->own_us) {
		to->last_way = (int)last->way;
		s->own_us = last->job_us;
	}
	if (last->job_us >= s->newest_us)
		return;
	s->newest_us = last->job_us;
	to->last = *last;
	if (last->way != JOBSTACK_REJECTED && last->job == 0) { /* none that Slurm can be asked for */
		to->last.job_us = -1;
		to->last.came = 0;
	}
	(void)snprintf(to->node, sizeof(to->node), "%s", last->node != NULL ? last->node : "-");
	(void)snprintf(to->reason, sizeof(to->reason), "%s", last->reason != NULL ? last->reason : "");
	(void)snprintf(to->cluster, sizeof(to->cluster), "%s", last->cluster != NULL ? last->cluster : "");
	(void)snprintf(to->log, sizeof(to->log), "%s", last->log != NULL ? last->log : "");
}

int figures_idle_read(struct jobstack *handle, const char *name, const struct jobstack_status *s,
		      struct figures_idle *idle, struct jobstack_error *error)
{
	struct starts starts = {idle, INT64_MAX, INT64_MAX};

	*idle = (struct figures_idle){.live = -1, .last_way = -1, .last = {.ended_us = -1, .job_us = -1}};
	idle->paused = s->state == JOBSTACK_PAUSED;
	idle->alone =
		(s->state == JOBSTACK_OPEN || idle->paused) && s->workers == s->silent && figures_stack_left(s) > 0;
	return idle->alone ? jobstack_last(handle, name, copy_last, &starts, error) : 0;
}

/* What was started last decides: a job without a worker, if Slurm says that it has ended and nobody has cancelled it;
 * else the last worker, by the cause of its end. */
int figures_idle_useless(const struct figures_idle *i)
{
	const struct jobstack_last *l = &i->last;

	if (!i->alone || l->ended_us < 0 || (l->job > 0 && !l->came))
		return i->alone && l->job > 0 && i->live == 0 && strncmp(i->state, "CANCELLED", 9) != 0;
	switch (l->cause) {
	case JOBSTACK_CAUSE_NONE:
	case JOBSTACK_CAUSE_WALL_TIME:
	case JOBSTACK_CAUSE_STOPPED:
	case JOBSTACK_CAUSE_PAUSED: return 0;
	case JOBSTACK_CAUSE_START: return 1;
	default: return l->closed == 0;
	}
}

uint64_t figures_stack_left(const struct jobstack_status *s)
{
	return s->ready + s->waiting + s->held + s->running;
}

int figures_stack_is_over(const struct jobstack_status *s)
{
	return figures_stack_left(s) == 0 && s->pushers == 0;
}

double figures_stack_share(const struct jobstack_status *s)
{
	uint64_t all = s->pushed - s->moved;

	return all == 0 ? 0 : (double)(s->done + s->pruned) / (double)all;
}

struct js_bar figures_stack_bar(const struct jobstack_status *s)
{
	return (struct js_bar){s->pushed - s->moved, s->done + s->pruned, s->busy, s->dead};
}

uint64_t figures_stack_claimed(const struct jobstack_status *s)
{
	return s->running > s->busy ? s->running - s->busy : 0;
}

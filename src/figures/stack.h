/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack as it was read: its jobstack_status, with copies of its texts.
 */
#pragma once

#include "base/bar.h"
#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stdint.h>

struct figures_stack {
	struct jobstack_status s; /* its texts are NULL; see below */
	char name[JOBSTACK_STACK_MAX + 1];
	struct js_buf cwd, note; /* of length 0: the stack has none */
};

/* Why nobody works on a stack. */
struct figures_idle {
	int alone;		   /* entries are left, and no worker is alive; else nothing else is filled */
	int paused;		   /* the stack is */
	struct jobstack_last last; /* and the newest job, whoever submitted it; its texts are below */
	int last_way;		   /* how this user started workers last (enum jobstack_way); -1: no way is known */
	char node[128], reason[256], cluster[128], log[4200];
	/* What Slurm says, if it was asked: how many jobs of the stack wait or run (-1: not known), in words; and the
	 * state in which the newest has ended, or "". */
	int64_t live;
	char queued[250], state[64];
	int lost; /* the directory of its log is not there */
};

/* Fills IDLE for the stack NAME, which is at S.  0, or a JOBSTACK_E code with ERROR filled. */
int figures_idle_read(struct jobstack *handle, const char *name, const struct jobstack_status *s,
		      struct figures_idle *idle, struct jobstack_error *error);

/* Returns whether the last start did so little that the same call would end in the same way: its job ended before a
 * worker began, its command could not be started, or its worker ended by itself without closing an entry. */
int figures_idle_useless(const struct figures_idle *idle);

/* Copies S; returns -1 without memory.  Free it with figures_stack_free. */
int figures_stack_copy(struct figures_stack *stack, const struct jobstack_status *s);
void figures_stack_free(struct figures_stack *stack);

/* Reads the stack NAME into the empty STACK: 0, or a JOBSTACK_E code with ERROR filled. */
int figures_stack_read(struct jobstack *handle, const char *name, struct figures_stack *stack,
		       struct jobstack_error *error);

/* Returns how many entries have not ended. */
uint64_t figures_stack_left(const struct jobstack_status *s);

/* Returns whether nothing is left, and no push is running. */
int figures_stack_is_over(const struct jobstack_status *s);

/* Returns how much of the stack is done, 0 to 1; entries that moved to another stack do not count. */
double figures_stack_share(const struct jobstack_status *s);

/* The same for a progress bar, with what runs and what is dead. */
struct js_bar figures_stack_bar(const struct jobstack_status *s);

/* Returns how many entries workers have claimed ahead and not started yet. */
uint64_t figures_stack_claimed(const struct jobstack_status *s);

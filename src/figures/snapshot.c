/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stacks at one moment.  Promise: a few queries, none of which takes longer for a stack with more entries.
 */
#include "figures/snapshot.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_RECENT 10
#define RECENT_US (86400 * JS_SECOND_US)
#define OLD_US (INT64_MAX / 4) /* more than any age */
#define MISSING_US (10 * JS_SECOND_US)
#define LONG_US (2 * JS_SECOND_US) /* no command that takes less is worth a word */

/* Copies a stack.  One with nothing left ends now, and not at an unknown time. */
static int copy_stack_row(void *ctx, const struct jobstack_status *s)
{
	struct figures_snapshot *shot = ctx;
	struct figures_seen *seen;

	if (js_array_grow(&shot->seen, &shot->capacity, shot->n + 1, sizeof(*seen)) != 0)
		return shot->memory = 1;
	seen = &shot->seen[shot->n++];
	shot->memory |= figures_stack_copy(&seen->stack, s) != 0;
	seen->pace = (struct jobstack_pace)JOBSTACK_PACE_INIT;
	if (figures_stack_left(s) == 0)
		seen->pace.eta_us = seen->pace.low_us = seen->pace.high_us = 0;
	shot->alarming |= s->dead > 0 || figures_stack_left(s) > 0;
	return 0;
}

/* --------------------------------------------------------------------------------------------------- the workers */

/* The texts of a row, as pointers to its members: one list for copying and for freeing them. */
#define WORKER_TEXTS 11
static void list_worker_texts(struct jobstack_worker_row *w, const char **text[WORKER_TEXTS])
{
	const char **const all[WORKER_TEXTS] = {&w->node,    &w->host, &w->boot,      &w->user,
						&w->cluster, &w->job,  &w->array_job, &w->array_task,
						&w->step,    &w->log,  &w->suspicion};

	memcpy(text, all, sizeof(all));
}

const char *figures_worker_place(const struct jobstack_worker_row *w)
{
	return w->node != NULL ? w->node : w->host != NULL ? w->host : "-";
}

/* One worker that is connected, or that may be alive without a connection (a script's pop, one outside of Slurm), is
 * enough to see that others are dead. */
int64_t figures_missing_us(const struct figures_snapshot *shot)
{
	int64_t us = -1;

	for (size_t i = 0; i < shot->worker_n; i++) {
		const struct jobstack_worker_row *w = &shot->worker[i];

		if (w->job == NULL || w->connected != 0 || w->by_script || w->silent_us < MISSING_US)
			return -1;
		us = us < 0 || w->silent_us < us ? w->silent_us : us;
	}
	return us;
}

/* Inserts the worker's longest entry among those that have run longest, the longest first. */
static void insert_longest(struct figures_snapshot *shot, const struct jobstack_worker_row *w)
{
	struct figures_longest one = {.entry = w->longest, .worker = w->worker, .us = w->longest_us};
	size_t at = shot->longest_n < FIGURES_LONGEST ? shot->longest_n : FIGURES_LONGEST - 1;

	if (w->longest == 0 || (shot->longest_n == FIGURES_LONGEST && shot->longest[at].us >= one.us))
		return;
	(void)snprintf(one.node, sizeof(one.node), "%s", figures_worker_place(w));
	for (; at > 0 && shot->longest[at - 1].us < one.us; at--)
		shot->longest[at] = shot->longest[at - 1];
	shot->longest[at] = one;
	shot->longest_n += shot->longest_n < FIGURES_LONGEST;
}

static int copy_worker_row(void *ctx, const struct jobstack_worker_row *w)
{
	struct figures_snapshot *shot = ctx;
	struct jobstack_worker_row *to;
	const char **text[WORKER_TEXTS];

	if (js_array_grow(&shot->worker, &shot->worker_capacity, shot->worker_n + 1, sizeof(*to)) != 0)
		return shot->memory = 1;
	to = &shot->worker[shot->worker_n++];
	*to = *w;
	to->stack = NULL; /* the caller's */
	list_worker_texts(to, text);
	for (size_t i = 0; i < WORKER_TEXTS; i++)
		if (*text[i] != NULL && (*text[i] = strdup(*text[i])) == NULL)
			shot->memory = 1;
	insert_longest(shot, w);
	return shot->memory;
}

static int copy_longest_datapath(void *ctx, const struct jobstack_item *item)
{
	struct figures_snapshot *shot = ctx;

	for (size_t i = 0; i < shot->longest_n; i++)
		if (shot->longest[i].entry == item->entry && shot->longest[i].datapath.len == 0) {
			js_buf_add(&shot->longest[i].datapath, item->datapath.data, item->datapath.len);
			shot->memory |= shot->longest[i].datapath.failed;
		}
	return shot->memory;
}

/* Datapaths are read for the longest entries alone, by number, in order, as the library wants them. */
static int read_workers(struct jobstack *handle, const char *name, struct figures_snapshot *shot,
			struct jobstack_error *error)
{
	uint64_t entries[FIGURES_LONGEST];
	int status = jobstack_workers(handle, name, copy_worker_row, shot, error);

	for (size_t i = 0; i < shot->longest_n; i++)
		entries[i] = shot->longest[i].entry;
	qsort(entries, shot->longest_n, sizeof(entries[0]), js_num_order);
	if (status == 0 && shot->longest_n > 0)
		status = jobstack_datapaths(handle, name, entries, shot->longest_n, copy_longest_datapath, shot, error);
	return status;
}

/* ---------------------------------------------------------------------------------------------------- what fails */

static int copy_bad_node(void *ctx, const struct jobstack_bad_node *b)
{
	struct figures_snapshot *shot = ctx;
	struct figures_bad_node *to = &shot->bad[shot->bad_n++];

	to->b = *b;
	(void)snprintf(to->node, sizeof(to->node), "%s", b->node);
	return shot->bad_n == FIGURES_BAD_NODES;
}

/* Reads what fails, and on which nodes.  While nothing is dead, entries that failed and will be retried are what a
 * person wants to know of. */
static int read_stack_failures(struct jobstack *handle, const char *name, struct figures_snapshot *shot,
			       struct jobstack_error *error)
{
	struct jobstack_failures_options options = JOBSTACK_FAILURES_OPTIONS_INIT;
	const struct jobstack_status *s = &shot->seen[0].stack.s;
	int status;

	if (s->dead == 0 && s->waiting == 0)
		return 0; /* nothing has failed */
	options.all = shot->failures_all = s->dead == 0;
	options.look_at = FIGURES_FAILURE_ROWS;
	JS_TRY(figures_failures_read(handle, name, &options, &shot->failures, error));
	status = jobstack_bad_nodes(handle, name, 2 * FIGURES_FAILURE_ROWS, copy_bad_node, shot, NULL, error);
	return figures_enough(status, shot->bad_n == FIGURES_BAD_NODES, error);
}

static int read_pace(struct jobstack *handle, struct figures_seen *seen, struct jobstack_error *error)
{
	int status = jobstack_pace(handle, seen->stack.name, &seen->pace, error);

	if (status != JOBSTACK_EMISSING)
		return status;
	js_error_clear(error); /* it was dropped meanwhile */
	return 0;
}

int figures_snapshot_add(struct jobstack *handle, const char *name, struct figures_snapshot *shot,
			 struct jobstack_error *error)
{
	size_t first = shot->n;
	int status = jobstack_status(handle, name, copy_stack_row, shot, error);

	for (size_t i = first; i < shot->n && status == 0; i++)
		if (shot->seen[i].stack.s.busy > 0)
			status = read_pace(handle, &shot->seen[i], error);
	return shot->memory ? js_error_memory(error) : status;
}

/* Forgets the predicted end if what is left runs already, and takes longer than the others did: how long it will take
 * can't be told from those. */
static void forget_end(struct figures_snapshot *shot)
{
	const struct jobstack_status *s = &shot->seen[0].stack.s;
	struct jobstack_pace *p = &shot->seen[0].pace;

	if (shot->longest_n > 0 && figures_stack_left(s) == s->busy + s->waiting &&
	    shot->longest[0].us > 2 * p->each_us && shot->longest[0].us > LONG_US)
		p->eta_us = p->low_us = p->high_us = -1;
}

/* Details are read only of one stack that is there: of all stacks they would be many queries. */
int figures_snapshot_read(struct jobstack *handle, const char *name, struct figures_snapshot *shot,
			  struct jobstack_error *error)
{
	int status = figures_snapshot_add(handle, name, shot, error);

	if (name != NULL && shot->n == 1) {
		JS_THEN(status, read_workers(handle, name, shot, error));
		JS_THEN(status, read_stack_failures(handle, name, shot, error));
		JS_THEN(status, figures_idle_read(handle, name, &shot->seen[0].stack.s, &shot->idle, error));
		forget_end(shot);
	}
	return shot->memory ? js_error_memory(error) : status;
}

/* Returns how long ago something happened in a stack; much more if it has been finished for long. */
static int64_t sort_key(const struct figures_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;

	return s->idle_us + (s->idle_us > RECENT_US && figures_stack_is_over(s) ? OLD_US : 0);
}

static int compare_recent(const void *one, const void *other)
{
	const struct figures_seen *a = one, *b = other;
	const int64_t by = sort_key(a) - sort_key(b);

	return by != 0 ? (by > 0) - (by < 0) : strcmp(a->stack.name, b->stack.name);
}

void figures_snapshot_sort(struct figures_snapshot *shot)
{
	size_t n = 0;

	if (shot->n > 0)
		qsort(shot->seen, shot->n, sizeof(shot->seen[0]), compare_recent);
	while (n < shot->n && (n < LEAST_RECENT || sort_key(&shot->seen[n]) < OLD_US))
		n++;
	shot->recent = n;
}

int figures_snapshot_steps(struct jobstack *handle, struct figures_snapshot *shot, struct jobstack_error *error)
{
	int status = JOBSTACK_NOTHING;

	if (shot->n == 1 && shot->seen[0].stack.s.state == JOBSTACK_OPEN && shot->seen[0].stack.s.ready > 0)
		status = figures_steps_read(handle, shot->worker, shot->worker_n, &shot->steps, error);
	shot->held_back = status == 0;
	return status < 0 ? status : 0;
}

void figures_snapshot_free(struct figures_snapshot *shot)
{
	const char **text[WORKER_TEXTS];

	for (size_t i = 0; i < shot->n; i++)
		figures_stack_free(&shot->seen[i].stack);
	for (size_t i = 0; i < shot->worker_n; i++) {
		list_worker_texts(&shot->worker[i], text);
		for (size_t k = 0; k < WORKER_TEXTS; k++)
			free((char *)(uintptr_t)*text[k]);
	}
	for (size_t i = 0; i < shot->longest_n; i++)
		js_buf_free(&shot->longest[i].datapath);
	figures_server_free(&shot->steps.server);
	free(shot->seen);
	free(shot->worker);
	*shot = (struct figures_snapshot){.n = 0};
}

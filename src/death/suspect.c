/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The workers of one round, as the ledger has them.
 */
#include "death/suspect.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "slurm/query.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void copy_row_text(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from == NULL ? "" : from);
}

/* Numbers as the environment had them; UNSET if the text is not a number. */
static uint32_t parse_row_number(const char *text, uint32_t unset)
{
	uint64_t n;

	return text != NULL && js_num_u64(text, 0, UINT32_MAX, &n) == 0 ? (uint32_t)n : unset;
}

/* Copies the row, whose texts are valid during the callback only. */
static void fill_suspect(const struct js_suspects *s, struct js_suspect *to, const struct jobstack_worker_row *w)
{
	memset(to, 0, sizeof(*to));
	copy_row_text(to->stack, sizeof(to->stack), w->stack);
	to->worker = w->worker;
	to->seq = w->seq;
	to->running = w->running;
	to->pid = w->pid;
	to->pid_start = w->pid_start;
	to->job_start_us = w->job_start_us;
	to->silent_us = w->silent_us;
	to->lease_us = w->lease_us;
	to->age_us = w->age_us;
	to->by_script = w->by_script;
	to->connected = (int)w->connected;
	to->ours = w->user != NULL && strcmp(w->user, s->user) == 0;
	to->job = parse_row_number(w->job, 0);
	to->step = parse_row_number(w->step, JS_SLURM_BATCH);
	copy_row_text(to->host, sizeof(to->host), w->host);
	copy_row_text(to->boot, sizeof(to->boot), w->boot);
	copy_row_text(to->node, sizeof(to->node), w->node != NULL ? w->node : w->host != NULL ? w->host : "?");
	copy_row_text(to->cluster, sizeof(to->cluster), w->cluster);
	copy_row_text(to->noted, sizeof(to->noted), w->suspicion);
	to->noted_cause = w->cause;
}

/* A jobstack_worker_fn.  When the other stacks are read, those of the round's own stack are there already. */
static int add_suspect(void *ctx, const struct jobstack_worker_row *w)
{
	struct js_suspects *s = ctx;

	if (w->worker == s->self || (s->others && strcmp(w->stack, s->stack) == 0))
		return 0;
	if (js_array_grow(&s->at, &s->room, s->n + 1, sizeof(*s->at)) != 0) {
		s->memory = 1;
		return 1;
	}
	fill_suspect(s, &s->at[s->n], w);
	s->n++;
	return 0;
}

/* The ages of workers are of the moment when the rows were read; READ_US is noted before that. */
static int read_suspects(const struct js_round *round, struct js_suspects *s)
{
	int status;

	if (!s->others)
		s->read_us = js_clock_wall_us();
	status = s->others ? jobstack_job_workers(round->handle, s->user, add_suspect, s, round->error)
			   : jobstack_workers(round->handle, round->stack, add_suspect, s, round->error);
	if (!s->memory)
		return status;
	js_error_clear(round->error);
	return js_error_memory(round->error);
}

int js_suspects_read(const struct js_round *round, struct js_suspects *s)
{
	const struct passwd *me = getpwuid(geteuid());
	int status;

	memset(s, 0, sizeof(*s));
	s->stack = round->stack;
	s->self = round->options->self;
	copy_row_text(s->user, sizeof(s->user), me != NULL ? me->pw_name : "?");
	status = read_suspects(round, s);
	if (status != 0)
		js_suspects_free(s);
	return status;
}

int js_suspects_add_others(const struct js_round *round, struct js_suspects *s)
{
	size_t own = s->n;
	int status;

	s->others = 1;
	status = read_suspects(round, s);
	if (status != 0)
		s->n = own;
	return status;
}

void js_suspects_free(struct js_suspects *s)
{
	free(s->at);
	s->at = NULL;
	s->n = s->room = 0;
}

/* An unknown connection (-1) counts as none: the silence decides. */
int js_suspect_is_missed(const struct js_suspect *s)
{
	return !s->by_script && ((s->silent_us > JS_OBSERVER_SILENT_US && s->connected != 1) || js_suspect_is(s));
}

int js_suspect_is(const struct js_suspect *s)
{
	/* a live worker sends a heartbeat within a third of its lease; a script's pop sends none */
	return s->silent_us > (s->by_script ? s->lease_us : s->lease_us / 2);
}

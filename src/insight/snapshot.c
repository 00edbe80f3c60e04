/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One look at the stacks.  Promise: a few questions, each of which is flat in the depth of the stack.
 */
#define _GNU_SOURCE
#include "insight/snapshot.h"

#include "base/array.h"
#include "base/error.h"
#include "base/num.h"
#include "cli/item.h"
#include "view/json.h"
#include "view/pace.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *view_stack_state(const struct jobstack_status *s)
{
	return s->state == JOBSTACK_OPEN && insight_stack_left(s) == 0 && s->pushers == 0 ? "finished"
											  : view_stack_word(s->state);
}

static int take_stack(void *ctx, const struct jobstack_status *s)
{
	struct insight_snapshot *l = ctx;

<<<<<<< HEAD
	if (js_array_grow(&l->seen, &l->room, l->n + 1, sizeof(*l->seen)) != 0) {
		l->memory = 1;
		return 1;
=======
	if (l->n == l->room) {
		size_t room = l->room == 0 ? 16 : 2 * l->room;
		struct insight_seen *grown = realloc(l->seen, room * sizeof(*grown));

		if (grown == NULL) {
			l->memory = 1;
			return 1;
		}
		l->seen = grown;
		l->room = room;
>>>>>>> 00ce60b (What moved is named after its layer: view_ and insight_)
	}
	l->memory |= insight_stack_copy(&l->seen[l->n].stack, s) != 0;
	l->seen[l->n].pace = (struct jobstack_pace){0, -1, -1, -1, -1};
	l->alarming |= s->dead > 0 || insight_stack_left(s) > 0;
	l->n++;
	return 0;
}

void insight_snapshot_free(struct insight_snapshot *l)
{
	for (size_t i = 0; i < l->n; i++)
		insight_stack_free(&l->seen[i].stack);
	for (size_t i = 0; i < l->longest_n; i++)
		js_buf_free(&l->longest[i].datapath);
	free(l->seen);
	json_decref(l->live);
	view_table_free(&l->workers);
	*l = (struct insight_snapshot){.cli = l->cli};
}

/* --------------------------------------------------------------------------------------------------- the workers */

static const struct view_column worker_columns[] = {{"WORKER", 1, 4, 0},  {"NODE", 0, 0, 8},  {"PID", 1, 2, 0},
						    {"JOB", 0, 5, 10},	  {"SLOTS", 1, 6, 0}, {"BUSY", 1, 9, 0},
						    {"DONE", 1, 8, 0},	  {"DEAD", 1, 7, 0},  {"AGE", 1, 3, 0},
						    {"SILENT", 1, 10, 0}, {"OF", 1, 1, 0},    {"", 0, 11, 0}};

/* The Slurm job of a worker for people: "120_3.0", "-" outside of Slurm. */
static void job_text(const struct jobstack_worker_row *w, char text[128])
{
	int array = w->array_job != NULL && w->array_task != NULL;

	if (w->job == NULL)
		(void)snprintf(text, 128, "-");
	else
		(void)snprintf(text, 128, "%.30s%s%.30s%s%.30s", array ? w->array_job : w->job, array ? "_" : "",
			       array ? w->array_task : "", w->step != NULL ? "." : "", w->step != NULL ? w->step : "");
}

static const char *place(const struct jobstack_worker_row *w)
{
	return w->node != NULL ? w->node : w->host != NULL ? w->host : "-";
}

static void safe_text(const char *from, char *to, size_t size)
{
	struct js_buf safe = {0};

	view_safe(&safe, from, strlen(from));
	(void)snprintf(to, size, "%s", safe.data != NULL ? safe.data : "");
	js_buf_free(&safe);
}

static void add_worker(struct insight_snapshot *l, const struct jobstack_worker_row *w)
{
	uint64_t busy = w->running < w->slots ? w->running : w->slots;
	int over = w->silent_us > w->lease_us;
	char node[256], job[128], job_safe[256], text[64];
	struct view_table *t = &l->workers;

	safe_text(place(w), node, sizeof(node));
	job_text(w, job);
	safe_text(job, job_safe, sizeof(job_safe));
	view_table_printf(t, VIEW_PLAIN, "%" PRIu64, w->worker);
	view_table_cell(t, VIEW_PLAIN, node);
	view_table_printf(t, VIEW_PLAIN, "%" PRIu64, w->pid);
	view_table_cell(t, VIEW_PLAIN, job_safe);
	view_table_printf(t, VIEW_PLAIN, "%" PRIu64, w->slots);
	view_table_printf(t, VIEW_PLAIN, "%" PRIu64, busy);
	view_table_printf(t, VIEW_PLAIN, "%" PRIu64, w->done);
	view_table_printf(t, w->dead > 0 ? VIEW_RED : VIEW_PLAIN, "%" PRIu64, w->dead);
	js_num_duration_text(w->age_us < 0 ? 0 : w->age_us, text, sizeof(text));
	view_table_cell(t, VIEW_PLAIN, text);
	js_num_duration_text(w->silent_us < 0 ? 0 : w->silent_us, text, sizeof(text));
	view_table_cell(t, over ? VIEW_YELLOW : VIEW_PLAIN, text);
	js_num_duration_text(w->lease_us, text, sizeof(text));
	view_table_printf(t, VIEW_PLAIN, "of %s", text);
	view_table_printf(t, VIEW_YELLOW, "%s%s%s", over ? "over" : "", over && w->by_script ? ", " : "",
			  w->by_script ? "a script's pop" : "");
}

static void add_live(struct insight_snapshot *l, const struct jobstack_worker_row *w)
{
	json_t *o = json_object();
	int bad = 0;

	bad |= view_json_count(o, "worker", w->worker);
	bad |= view_json_text(o, "node", w->node != NULL ? w->node : w->host);
	bad |= view_json_text(o, "host", w->host);
	bad |= view_json_text(o, "user", w->user);
	bad |= view_json_count(o, "pid", w->pid);
	bad |= view_json_text(o, "job", w->job);
	bad |= view_json_text(o, "array_job", w->array_job);
	bad |= view_json_text(o, "array_task", w->array_task);
	bad |= view_json_text(o, "step", w->step);
	bad |= view_json_count(o, "slots", w->slots);
	bad |= view_json_count(o, "running", w->running);
	bad |= view_json_count(o, "done", w->done);
	bad |= view_json_count(o, "dead", w->dead);
	bad |= view_json_seconds(o, "age_seconds", w->age_us);
	bad |= view_json_seconds(o, "silent_seconds", w->silent_us < 0 ? 0 : w->silent_us);
	bad |= view_json_seconds(o, "lease_seconds", w->lease_us);
	bad |= json_object_set_new(o, "by_script", json_boolean(w->by_script));
	bad |= view_json_text(o, "suspicion", w->suspicion);
	bad |= json_array_append_new(l->live, o);
	l->memory |= bad != 0;
}

/* Keeps the longest ones, longest first. */
static void keep_longest(struct insight_snapshot *l, const struct jobstack_worker_row *w)
{
	struct insight_longest one = {.entry = w->longest, .worker = w->worker, .us = w->longest_us};
	size_t at = l->longest_n < INSIGHT_LONGEST ? l->longest_n : INSIGHT_LONGEST - 1;

	if (w->longest == 0 || (l->longest_n == INSIGHT_LONGEST && l->longest[at].us >= one.us))
		return;
	(void)snprintf(one.node, sizeof(one.node), "%s", place(w));
	for (; at > 0 && l->longest[at - 1].us < one.us; at--)
		l->longest[at] = l->longest[at - 1];
	l->longest[at] = one;
	l->longest_n += l->longest_n < INSIGHT_LONGEST;
}

static int take_worker(void *ctx, const struct jobstack_worker_row *w)
{
	struct insight_snapshot *l = ctx;

	keep_longest(l, w);
	if (w->suspicion != NULL && l->suspicion[0] == '\0') {
		char node[128], why[160];

		safe_text(place(w), node, sizeof(node));
		safe_text(w->suspicion, why, sizeof(why));
		(void)snprintf(l->suspicion, sizeof(l->suspicion), "worker %" PRIu64 " on %.100s: %s", w->worker, node,
			       why);
	}
	if (l->live != NULL)
		add_live(l, w);
	else
		add_worker(l, w);
	return l->memory;
}

static int take_path(void *ctx, const struct jobstack_item *item)
{
	struct insight_snapshot *l = ctx;

	for (size_t i = 0; i < l->longest_n; i++)
		if (l->longest[i].entry == item->entry && l->longest[i].datapath.len == 0) {
			js_buf_add(&l->longest[i].datapath, item->datapath.data, item->datapath.len);
			l->memory |= l->longest[i].datapath.failed;
		}
	return l->memory;
}

static int look_at_workers(struct insight_snapshot *l)
{
	struct cli *cli = l->cli;
	uint64_t entries[INSIGHT_LONGEST];
	int status;

	l->workers.column = worker_columns;
	l->workers.n = sizeof(worker_columns) / sizeof(worker_columns[0]);
	if (cli->json && (l->live = json_array()) == NULL)
		return js_error_memory(&cli->error);
	status = jobstack_workers(cli->handle, cli->stack, take_worker, l, &cli->error);
	for (size_t i = 0; i < l->longest_n; i++)
		entries[i] = l->longest[i].entry;
	qsort(entries, l->longest_n, sizeof(entries[0]), js_num_order);
	if (status == 0 && l->longest_n > 0)
		status = jobstack_datapaths(cli->handle, cli->stack, entries, l->longest_n, take_path, l, &cli->error);
	return status;
}

/* ---------------------------------------------------------------------------------------------------- what fails */

void view_failure_how(const struct jobstack_failure *f, char text[32])
{
	struct jobstack_item item = {.outcome = f->outcome, .exit_code = f->exit_code, .signal = f->signal};

	view_item_how(&item, text);
}

static int take_failure(void *ctx, const struct jobstack_failure *f)
{
	struct insight_snapshot *l = ctx;
	struct insight_failure *to = &l->failing[l->failing_n++];

	to->f = *f;
	(void)snprintf(to->reason, sizeof(to->reason), "%s", f->reason != NULL ? f->reason : "");
	(void)snprintf(to->pattern, sizeof(to->pattern), "%s", f->pattern != NULL ? f->pattern : "");
	(void)snprintf(to->example, sizeof(to->example), "%s", f->example != NULL ? f->example : "");
	(void)snprintf(to->node, sizeof(to->node), "%s", f->node != NULL ? f->node : "");
	return l->failing_n == INSIGHT_FAILURES;
}

static int take_bad(void *ctx, const struct jobstack_bad_node *b)
{
	struct insight_snapshot *l = ctx;
	struct insight_bad_node *to = &l->bad[l->bad_n++];

	to->b = *b;
	(void)snprintf(to->node, sizeof(to->node), "%s", b->node);
	return l->bad_n == INSIGHT_BAD_NODES;
}

/* An error but "that is enough". */
static int enough(int status, struct insight_snapshot *l)
{
	if (status == JOBSTACK_ESTOPPED && cli_stop == 0) {
		js_error_clear(&l->cli->error);
		return 0;
	}
	return status;
}

static int look_at_failures(struct insight_snapshot *l)
{
	struct jobstack_failures_options options = JOBSTACK_FAILURES_OPTIONS_INIT;
	const struct jobstack_status *s = &l->seen[0].stack.s;
	struct cli *cli = l->cli;
	int status;

	if (s->dead == 0 && s->waiting == 0)
		return 0; /* nothing has failed for good, nor just now */
	options.all = l->failures_all = s->dead == 0;
	options.look_at = INSIGHT_FAILURE_ROWS;
	status = enough(
		jobstack_failures(cli->handle, cli->stack, &options, take_failure, l, &l->failures, &cli->error), l);
	if (status == 0)
		status = enough(jobstack_bad_nodes(cli->handle, cli->stack, 2 * INSIGHT_FAILURE_ROWS, take_bad, l, NULL,
						   &cli->error),
				l);
	return status;
}

int insight_snapshot_read(struct insight_snapshot *l, int one)
{
	struct cli *cli = l->cli;
	int status = jobstack_status(cli->handle, one ? cli->stack : NULL, take_stack, l, &cli->error);

	for (size_t i = 0; i < l->n && status == 0; i++)
		status = jobstack_pace(cli->handle, &l->seen[i].stack.s, &l->seen[i].pace, &cli->error);
	if (status == 0 && one && l->n == 1)
		status = look_at_workers(l);
	if (status == 0 && one && l->n == 1)
		status = look_at_failures(l);
	if (l->memory || l->workers.text.failed || l->workers.cells.failed)
		return js_error_memory(&cli->error);
	return status;
}

/* ---------------------------------------------------------------------------------------------------------- JSON */

static int failures_json(const struct insight_snapshot *l, json_t *o)
{
	json_t *list = json_array(), *nodes = json_array();
	int bad = 0;

	for (size_t i = 0; i < l->failing_n; i++) {
		const struct insight_failure *one = &l->failing[i];
		json_t *f = json_object();

		bad |= view_json_count(f, "count", one->f.count);
		bad |= view_json_text(f, "outcome", view_outcome_word(one->f.outcome));
		bad |= view_json_int(f, "exit_code", one->f.exit_code, one->f.exit_code >= 0);
		bad |= view_json_int(f, "signal", one->f.signal, one->f.signal > 0);
		bad |= view_json_text(f, "reason", one->f.reason == NULL ? NULL : one->reason);
		bad |= view_json_text(f, "pattern", one->f.pattern == NULL ? NULL : one->pattern);
		bad |= view_json_text(f, "example", one->f.example == NULL ? NULL : one->example);
		bad |= view_json_text(f, "node", one->f.node == NULL ? NULL : one->node);
		bad |= view_json_count(f, "entry", one->f.entry);
		bad |= view_json_count(f, "attempt", one->f.attempt);
		bad |= json_object_set_new(f, "various", json_boolean(one->f.various));
		bad |= json_array_append_new(list, f);
	}
	for (size_t i = 0; i < l->bad_n; i++) {
		json_t *n = json_object();

		bad |= view_json_text(n, "node", l->bad[i].node);
		bad |= view_json_count(n, "failed", l->bad[i].b.failed);
		bad |= view_json_count(n, "attempts", l->bad[i].b.attempts);
		bad |= view_json_count(n, "failed_elsewhere", l->bad[i].b.failed_elsewhere);
		bad |= view_json_count(n, "attempts_elsewhere", l->bad[i].b.attempts_elsewhere);
		bad |= json_array_append_new(nodes, n);
	}
	bad |= json_object_set_new(o, "failures", list);
	bad |= view_json_text(o, "failures_of", l->failures_all ? "attempts" : "dead");
	bad |= view_json_count(o, "failures_looked_at", l->failures.looked);
	return bad | json_object_set_new(o, "bad_nodes", nodes);
}

static int longest_json(const struct insight_snapshot *l, json_t *o)
{
	json_t *list = json_array();
	int bad = 0;

	for (size_t i = 0; i < l->longest_n; i++) {
		const struct insight_longest *one = &l->longest[i];
		json_t *e = json_object();

		bad |= view_json_count(e, "entry", one->entry);
		bad |= view_json_bytes(e, "datapath", one->datapath.data, one->datapath.len);
		bad |= view_json_seconds(e, "seconds", one->us);
		bad |= view_json_count(e, "worker", one->worker);
		bad |= view_json_text(e, "node", one->node);
		bad |= json_array_append_new(list, e);
	}
	return bad | json_object_set_new(o, "longest", list);
}

json_t *view_status_json(const struct insight_snapshot *l, const struct insight_seen *seen, int one)
{
	const struct jobstack_status *s = &seen->stack.s;
	const struct jobstack_pace *p = &seen->pace;
	json_t *o = json_object();
	int bad = 0;

	bad |= view_json_text(o, "stack", seen->stack.name);
	bad |= view_json_text(o, "state", view_stack_word(s->state));
	bad |= view_json_bytes(o, "note", seen->stack.note.data, seen->stack.note.len);
	bad |= view_json_count(o, "pushed", s->pushed);
	bad |= view_json_count(o, "ready", s->ready);
	bad |= view_json_count(o, "waiting", s->waiting);
	bad |= view_json_count(o, "held", s->held);
	bad |= view_json_count(o, "running", s->running);
	bad |= view_json_count(o, "done", s->done);
	bad |= view_json_count(o, "dead", s->dead);
	bad |= view_json_count(o, "cancelled", s->cancelled);
	bad |= view_json_count(o, "moved", s->moved);
	bad |= view_json_count(o, "pruned", s->pruned);
	bad |= view_json_count(o, "workers", s->workers);
	bad |= view_json_count(o, "silent", s->silent);
	bad |= view_json_count(o, "slots", s->slots);
	bad |= view_json_count(o, "busy", s->busy);
	bad |= view_json_count(o, "pushers", s->pushers);
	bad |= view_json_real(o, "rate", p->rate, 1);
	bad |= view_json_seconds(o, "eta_seconds", p->eta_us);
	bad |= view_json_seconds(o, "eta_low_seconds", p->low_us);
	bad |= view_json_seconds(o, "eta_high_seconds", p->high_us);
	bad |= view_json_seconds(o, "slot_seconds", p->each_us);
	bad |= view_json_seconds(o, "next_due_seconds", s->next_due_us);
	bad |= view_json_count(o, "max_attempts", s->max_attempts);
	bad |= view_json_count(o, "max_losses", s->max_losses);
	bad |= view_json_seconds(o, "retry_delay_seconds", s->retry_delay_us);
	bad |= view_json_int(o, "max_running", s->max_running, s->max_running > 0);
	bad |= view_json_int(o, "max_failures", s->max_failures, s->max_failures > 0);
	if (one && l->live != NULL)
		bad |= json_object_set(o, "live", l->live) | longest_json(l, o) | failures_json(l, o);
	if (bad) {
		json_decref(o);
		return NULL;
	}
	return o;
}

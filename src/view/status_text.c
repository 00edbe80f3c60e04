/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A snapshot as text.  Promises: it fits the given width, down to 20 columns; every text from outside is escaped by
 * view_safe.
 */
#include "view/status.h"

#include "view/amount.h"
#include "view/table.h"
#include "view/text.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_FAILURES 5
#define BAR 12

static enum view_colour stack_colour(const struct jobstack_status *s)
{
	switch (s->state) {
	case JOBSTACK_OPEN: return insight_stack_is_over(s) ? VIEW_GREEN : VIEW_PLAIN;
	case JOBSTACK_PAUSED: return VIEW_YELLOW;
	default: return VIEW_RED;
	}
}

/* ---------------------------------------------------------------------------------------------------- all stacks */

static const struct view_column columns_of_all[] = {
	{"STACK", 0, 0, 12}, {"STATE", 0, 9, 0},   {"PROGRESS", 0, 5, 0},  {"%", 1, 0, 0},	  {"PUSHED", 1, 4, 0},
	{"READY", 1, 8, 0},  {"WAITING", 1, 3, 0}, {"HELD", 3, 1, 0},	   {"RUNNING", 1, 11, 0}, {"DONE", 1, 10, 0},
	{"PRUNED", 3, 2, 0}, {"DEAD", 1, 13, 0},   {"CANCELLED", 3, 2, 0}, {"MOVED", 3, 2, 0},	  {"WORKERS", 1, 7, 0},
	{"BUSY", 1, 6, 0},   {"RATE", 1, 12, 0},   {"ETA", 0, 14, 0}};

static void add_stack_row(struct view_table *t, const struct insight_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;
	const uint64_t before_dead[] = {s->pushed, s->ready, s->waiting, s->held, s->running, s->done, s->pruned};
	const uint64_t after_dead[] = {s->cancelled, s->moved, s->workers};
	struct js_buf bar = {0};

	view_table_cell(t, VIEW_PLAIN, seen->stack.name);
	view_table_cell(t, stack_colour(s), view_stack_state(s));
	view_bar(&bar, BAR, insight_stack_share(s));
	view_table_cell(t, VIEW_PLAIN, bar.data != NULL ? bar.data : "");
	view_table_cell(t, VIEW_PLAIN, view_percent(insight_stack_share(s)).text);
	for (size_t i = 0; i < sizeof(before_dead) / sizeof(before_dead[0]); i++)
		view_table_count(t, VIEW_PLAIN, before_dead[i]);
	view_table_count(t, s->dead > 0 ? VIEW_RED : VIEW_PLAIN, s->dead);
	for (size_t i = 0; i < sizeof(after_dead) / sizeof(after_dead[0]); i++)
		view_table_count(t, VIEW_PLAIN, after_dead[i]);
	view_table_printf(t, VIEW_PLAIN, s->slots > 0 ? "%" PRIu64 "/%" PRIu64 : "-", s->busy, s->slots);
	view_table_cell(t, VIEW_PLAIN, view_rate(seen->pace.rate, "").text);
	view_table_cell(t, VIEW_PLAIN, view_eta(&seen->pace).text);
	js_buf_free(&bar);
}

void view_status_table(const struct insight_snapshot *l, struct js_buf *out, unsigned columns, int colours)
{
	struct view_table t = {.column = columns_of_all, .n = sizeof(columns_of_all) / sizeof(columns_of_all[0])};

	for (size_t i = 0; i < l->n; i++)
		add_stack_row(&t, &l->seen[i]);
	view_table_write(&t, &(const struct view_page){out, columns, colours}, 0);
}

/* ----------------------------------------------------------------------------------------------------- one stack */

static void add_head_lines(const struct view_page *d, const struct insight_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;
	unsigned wide = d->columns == 0 || d->columns > 70 ? 50 : d->columns > 30 ? d->columns - 20 : 0;

	js_buf_printf(d->out, "stack     %s (", seen->stack.name);
	view_paint(d->out, d->colours, stack_colour(s), view_stack_state(s));
	js_buf_str(d->out, ")\n");
	if (seen->stack.note.len > 0) {
		js_buf_str(d->out, s->state == JOBSTACK_OPEN ? "note      " : "reason    ");
		view_safe(d->out, seen->stack.note.data, seen->stack.note.len);
		js_buf_char(d->out, '\n');
	}
	js_buf_str(d->out, "progress  ");
	if (wide > 0)
		view_bar(d->out, wide, insight_stack_share(s));
	js_buf_printf(d->out, "%s%s\n", wide > 0 ? " " : "", view_percent(insight_stack_share(s)).text);
}

static void add_count_lines(const struct view_page *d, const struct insight_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;
	char dead[64];

	js_buf_printf(d->out, "pushed    %" PRIu64 "%s\n", s->pushed,
		      s->pushers > 0 ? ", a push is still running" : "");
	js_buf_printf(d->out, "done      %" PRIu64, s->done);
	if (s->pruned > 0)
		js_buf_printf(d->out, " and %" PRIu64 " pruned", s->pruned);
	if (s->pushed > 0)
		js_buf_printf(d->out, " (%s)", view_percent(insight_stack_share(s)).text);
	js_buf_printf(d->out, "\nrunning   %" PRIu64, s->running);
	if (s->workers > 0)
		js_buf_printf(d->out, " (%" PRIu64 " worker%s, %" PRIu64 " of %" PRIu64 " slot%s busy)", s->workers,
			      s->workers == 1 ? "" : "s", s->busy, s->slots, s->slots == 1 ? "" : "s");
	js_buf_printf(d->out, "\nready     %" PRIu64 "\nwaiting   %" PRIu64, s->ready, s->waiting);
	if (s->waiting > 0 && s->next_due_us <= 0)
		js_buf_str(d->out, " (the next is due now)");
	else if (s->waiting > 0)
		js_buf_printf(d->out, " (the next is due in %s)", view_duration(s->next_due_us).text);
	js_buf_char(d->out, '\n');
	if (s->held > 0)
		js_buf_printf(d->out, "held      %" PRIu64 " (by a push --atomic that has not ended)\n", s->held);
	(void)snprintf(dead, sizeof(dead), "%" PRIu64, s->dead);
	js_buf_str(d->out, "dead      ");
	view_paint(d->out, d->colours && s->dead > 0, VIEW_RED, dead);
	if (s->dead > 0)
		js_buf_printf(d->out, " (`jobstack list -s %s -t dead` shows them)", seen->stack.name);
	js_buf_char(d->out, '\n');
	if (s->cancelled > 0)
		js_buf_printf(d->out, "cancelled %" PRIu64 "\n", s->cancelled);
	if (s->moved > 0)
		js_buf_printf(d->out, "moved     %" PRIu64 " (to other stacks)\n", s->moved);
	if (s->pruned > 0)
		js_buf_printf(d->out, "pruned    %" PRIu64 " (were done; their history is deleted)\n", s->pruned);
}

static void add_pace_line(const struct view_page *d, const struct jobstack_pace *p)
{
	if (p->rate <= 0)
		return;
	js_buf_printf(d->out, "rate      %s", view_rate(p->rate, " files").text);
	if (p->each_us > 0)
		js_buf_printf(d->out, " (%s each)", view_duration(p->each_us).text);
	if (p->eta_us > 0)
		js_buf_printf(d->out, "\nends      in about %s", view_eta(p).text);
	js_buf_char(d->out, '\n');
}

static void add_policy_lines(const struct view_page *d, const struct insight_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;

	js_buf_printf(d->out, "policy    %" PRIu32 " attempt%s, %" PRIu32 " loss%s, retry after %s\n", s->max_attempts,
		      view_plural(s->max_attempts), s->max_losses, s->max_losses == 1 ? "" : "es",
		      view_duration(s->retry_delay_us).text);
	if (s->max_running > 0 || s->max_failures > 0)
		js_buf_str(d->out, "limits    ");
	if (s->max_running > 0)
		js_buf_printf(d->out, "at most %" PRId64 " running%s", s->max_running,
			      s->max_failures > 0 ? ", " : "\n");
	if (s->max_failures > 0)
		js_buf_printf(d->out, "paused when %" PRId64 " %s dead\n", s->max_failures,
			      view_are((uint64_t)s->max_failures));
	if (seen->stack.cwd.len > 0) {
		js_buf_str(d->out, "paths     relative to ");
		view_safe(d->out, seen->stack.cwd.data, seen->stack.cwd.len);
		js_buf_char(d->out, '\n');
	}
}

/* How, and the reason or the last message. */
static void add_failure_row(struct view_table *t, const struct insight_failure *one)
{
	const char *example = one->f.various ? "(various)" : one->example;
	char text[sizeof(one->reason) + sizeof(one->example) + 2];

	(void)snprintf(text, sizeof(text), "%s%s%s", one->reason,
		       one->reason[0] != '\0' && example[0] != '\0' ? ": " : "", example);
	view_table_count(t, VIEW_PLAIN, one->f.count);
	view_table_cell(t, VIEW_PLAIN, view_failure_how(&one->f).text);
	view_table_name(t, text, strlen(text), "");
	view_table_name(t, one->node, strlen(one->node), "");
	view_table_count(t, VIEW_PLAIN, one->f.entry);
}

void view_failures_table(const struct insight_failures *failures, size_t most, const struct view_page *page)
{
	static const struct view_column columns[] = {{"COUNT", 1, 0, 0},
						     {"HOW", 0, 0, 0},
						     {"LAST MESSAGE", 2, 3, 12},
						     {"NODE", 2, 2, 6},
						     {"EXAMPLE", 1, 1, 0}};
	struct view_table t = {.column = columns, .n = sizeof(columns) / sizeof(columns[0])};

	for (size_t i = 0; i < failures->n && i < most; i++)
		add_failure_row(&t, &failures->group[i]);
	view_table_write(&t, page, 2);
}

static void add_failure_lines(const struct insight_snapshot *l, const struct view_page *d)
{
	if (l->failures.n > 0) {
		js_buf_str(d->out, l->failures_all ? "\nfailing now, will be retried" : "\ndead entries");
		if (!l->failures.report.whole)
			js_buf_printf(d->out, " (last %" PRIu64 "%s)", l->failures.report.looked,
				      l->failures_all ? " attempts" : "");
		js_buf_str(d->out, ":\n");
	}
	view_failures_table(&l->failures, SHOWN_FAILURES, d);
	for (size_t i = 0; i < l->bad_n; i++) {
		const struct insight_bad_node *b = &l->bad[i];
		struct js_buf line = {0};

		js_buf_str(&line, "node ");
		view_safe(&line, b->node, strlen(b->node));
		js_buf_printf(&line, ": %" PRIu64 " of %" PRIu64 " attempts failed, elsewhere %" PRIu64 " of %" PRIu64,
			      b->b.failed, b->b.attempts, b->b.failed_elsewhere, b->b.attempts_elsewhere);
		view_paint(d->out, d->colours, VIEW_RED, line.data != NULL ? line.data : "");
		js_buf_char(d->out, '\n');
		js_buf_free(&line);
	}
}

static void add_longest_lines(const struct insight_snapshot *l, const struct view_page *d)
{
	static const struct view_column columns[] = {
		{"RUNNING FOR", 1, 0, 0}, {"ENTRY", 1, 0, 0}, {"NODE", 0, 1, 6}, {"DATAPATH", 0, 2, 10}};
	struct view_table t = {.column = columns, .n = sizeof(columns) / sizeof(columns[0])};

	for (size_t i = 0; i < l->longest_n; i++) {
		const struct insight_longest *one = &l->longest[i];

		view_table_cell(&t, VIEW_PLAIN, view_duration(one->us).text);
		view_table_count(&t, VIEW_PLAIN, one->entry);
		view_table_name(&t, one->node, strlen(one->node), "");
		view_table_name(&t, one->datapath.data, one->datapath.len, "");
	}
	if (l->longest_n > 0)
		js_buf_char(d->out, '\n');
	view_table_write(&t, d, 2);
}

/* The Slurm job of a worker: "120_3.0", "-" outside of Slurm. */
static void format_job(const struct jobstack_worker_row *w, char text[128])
{
	int array = w->array_job != NULL && w->array_task != NULL;

	if (w->job == NULL)
		(void)snprintf(text, 128, "-");
	else
		(void)snprintf(text, 128, "%.30s%s%.30s%s%.30s", array ? w->array_job : w->job, array ? "_" : "",
			       array ? w->array_task : "", w->step != NULL ? "." : "", w->step != NULL ? w->step : "");
}

static void add_worker_row(struct view_table *t, const struct jobstack_worker_row *w)
{
	uint64_t busy = w->running < w->slots ? w->running : w->slots;
	int over = w->silent_us > w->lease_us;
	const char *place = insight_worker_place(w);
	char job[128];

	format_job(w, job);
	view_table_count(t, VIEW_PLAIN, w->worker);
	view_table_name(t, place, strlen(place), "");
	view_table_count(t, VIEW_PLAIN, w->pid);
	view_table_name(t, job, strlen(job), "");
	view_table_count(t, VIEW_PLAIN, w->slots);
	view_table_count(t, VIEW_PLAIN, busy);
	view_table_count(t, VIEW_PLAIN, w->done);
	view_table_count(t, w->dead > 0 ? VIEW_RED : VIEW_PLAIN, w->dead);
	view_table_cell(t, VIEW_PLAIN, view_duration(w->age_us < 0 ? 0 : w->age_us).text);
	view_table_printf(t, over ? VIEW_YELLOW : VIEW_PLAIN, "%s ago",
			  view_duration(w->silent_us < 0 ? 0 : w->silent_us).text);
	view_table_cell(t, VIEW_PLAIN, view_duration(w->lease_us).text);
	view_table_printf(t, VIEW_YELLOW, "%s%s%s", over ? "lease expired" : "", over && w->by_script ? ", " : "",
			  w->by_script ? "jobstack pop" : "");
}

static void add_worker_lines(const struct insight_snapshot *l, const struct view_page *d)
{
	static const struct view_column columns[] = {{"WORKER", 1, 4, 0},     {"NODE", 0, 0, 8},  {"PID", 1, 2, 0},
						     {"JOB", 0, 5, 10},	      {"SLOTS", 1, 6, 0}, {"BUSY", 1, 9, 0},
						     {"DONE", 1, 8, 0},	      {"DEAD", 1, 7, 0},  {"AGE", 1, 3, 0},
						     {"LAST SEEN", 1, 10, 0}, {"LEASE", 1, 1, 0}, {"", 0, 11, 0}};
	struct view_table t = {.column = columns, .n = sizeof(columns) / sizeof(columns[0])};

	for (size_t i = 0; i < l->worker_n; i++)
		add_worker_row(&t, &l->worker[i]);
	if (l->worker_n > 0)
		js_buf_char(d->out, '\n');
	view_table_write(&t, d, 2);
}

void view_status_detail(const struct insight_snapshot *l, struct js_buf *out, unsigned columns, int colours)
{
	struct js_buf text = {0};
	const struct view_page d = {&text, columns, colours};

	add_head_lines(&d, &l->seen[0]);
	add_count_lines(&d, &l->seen[0]);
	add_pace_line(&d, &l->seen[0].pace);
	add_policy_lines(&d, &l->seen[0]);
	add_failure_lines(l, &d);
	add_longest_lines(l, &d);
	add_worker_lines(l, &d);
	if (text.data != NULL)
		view_fit(out, text.data, columns);
	out->failed |= text.failed;
	js_buf_free(&text);
}

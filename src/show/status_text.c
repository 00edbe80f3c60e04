/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A snapshot as text.  Promises: it fits the given width, down to 20 columns; every text from outside is escaped by
 * show_safe.
 */
#include "show/status.h"

#include "base/clock.h"
#include "show/amount.h"
#include "show/rows.h"
#include "show/text.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_FAILURES 5
#define BAR 12
#define LEAST_BAR 8	/* a narrower one says nothing */
#define PIPE_COLUMNS 72 /* where there is no terminal */

/* Returns the colour of a stack's state: green if it is finished, yellow if it is paused, red if it is cancelled or
 * being dropped. */
static enum show_colour stack_colour(const struct jobstack_status *s)
{
	switch (s->state) {
	case JOBSTACK_OPEN: return figures_stack_is_over(s) ? SHOW_GREEN : SHOW_PLAIN;
	case JOBSTACK_PAUSED: return SHOW_YELLOW;
	default: return SHOW_RED;
	}
}

/* ---------------------------------------------------------------------------------------------------- all stacks */

/* Flags: 1 SHOW_RIGHT, 2 SHOW_OPTIONAL, 4 SHOW_SPARE. */
static const struct show_column columns_of_all[] = {
	{"STACK", 0, 0, 12},  {"STATE", 0, 9, 0},     {"PROGRESS", 4, 5, 0}, {"%", 1, 0, 0},
	{"PUSHED", 5, 4, 0},  {"READY", 1, 8, 0},     {"WAITING", 7, 8, 0},  {"HELD", 7, 8, 0},
	{"CLAIMED", 7, 2, 0}, {"RUNNING", 1, 11, 0},  {"DONE", 1, 10, 0},    {"PRUNED", 7, 2, 0},
	{"DEAD", 1, 13, 0},   {"CANCELLED", 7, 7, 0}, {"MOVED", 7, 7, 0},    {"WORKERS", 1, 6, 0},
	{"SLOTS", 1, 3, 0},   {"RATE", 1, 12, 0},     {"ETA", 0, 14, 0}};

static void add_bar(struct js_buf *out, const struct show_page *page, const struct jobstack_status *s, unsigned width)
{
	const struct js_bar counts = figures_stack_bar(s);

	js_bar_draw(out, &counts, width, (page->utf8 ? JS_BAR_UTF8 : 0) | (page->colours ? JS_BAR_COLOURS : 0));
}

/* Adds a stack's cells, in the order of the columns above.  A count of 0 gets no colour. */
static void add_stack_row(struct show_table *t, const struct show_page *page, const struct figures_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;
	const struct {
		uint64_t n;
		enum show_colour colour;
	} count[] = {{s->pushed, SHOW_PLAIN},
		     {s->ready, SHOW_PLAIN},
		     {s->waiting, SHOW_PLAIN},
		     {s->held, SHOW_PLAIN},
		     {figures_stack_claimed(s), SHOW_PLAIN},
		     {s->busy, SHOW_YELLOW},
		     {s->done, SHOW_GREEN},
		     {s->pruned, SHOW_PLAIN},
		     {s->dead, SHOW_RED},
		     {s->cancelled, SHOW_PLAIN},
		     {s->moved, SHOW_PLAIN},
		     {s->workers, SHOW_PLAIN},
		     {s->slots, SHOW_PLAIN}};
	struct js_buf bar = {0};

	show_table_cell(t, SHOW_PLAIN, seen->stack.name);
	show_table_cell(t, stack_colour(s), show_stack_state(s));
	add_bar(&bar, page, s, BAR);
	show_table_cell(t, SHOW_PLAIN, bar.data != NULL ? bar.data : "");
	show_table_cell(t, SHOW_PLAIN, show_percent(figures_stack_share(s)).text);
	for (size_t i = 0; i < sizeof(count) / sizeof(count[0]); i++)
		show_table_count(t, count[i].n > 0 ? count[i].colour : SHOW_PLAIN, count[i].n);
	show_table_cell(t, SHOW_PLAIN, show_rate(seen->pace.rate, "").text);
	show_table_cell(t, SHOW_PLAIN, show_eta(&seen->pace).text);
	js_buf_free(&bar);
}

void show_status_table(const struct figures_snapshot *l, size_t n, const struct show_page *page)
{
	struct show_table t = {.column = columns_of_all, .n = sizeof(columns_of_all) / sizeof(columns_of_all[0])};

	for (size_t i = 0; i < n; i++)
		add_stack_row(&t, page, &l->seen[i]);
	show_table_write(&t, page, 0);
}

void show_status_more(const struct figures_snapshot *l, size_t n, const char *how, struct js_buf *out)
{
	if (n < l->n)
		js_buf_printf(out, "%zu more, finished before %s: %s\n", l->n - n,
			      show_second(js_clock_wall_us() - l->seen[n].stack.s.idle_us + JS_SECOND_US).text, how);
}

/* ----------------------------------------------------------------------------------------------------- one stack */

/* Appends the name, state and note of a stack, and a bar of its progress as wide as the terminal, unless only a few
 * characters would be left for it. */
static void add_head_lines(const struct show_page *d, const struct figures_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;
	const struct show_amount percent = show_percent(figures_stack_share(s));
	unsigned all = d->columns > 0 ? d->columns : PIPE_COLUMNS, words = (unsigned)strlen(percent.text) + 1;

	js_buf_printf(d->out, "stack     %s (", seen->stack.name);
	show_paint(d->out, d->colours, stack_colour(s), show_stack_state(s));
	js_buf_str(d->out, ")\n");
	if (seen->stack.note.len > 0) {
		struct js_buf note = {0};

		js_buf_str(&note, s->state == JOBSTACK_OPEN ? "note      " : "reason    ");
		show_safe(&note, seen->stack.note.data, seen->stack.note.len);
		js_buf_char(&note, '\n');
		show_wrap(d->out, note.data != NULL ? note.data : "", d->columns);
		js_buf_free(&note);
	}
	if (all >= words + LEAST_BAR) {
		add_bar(d->out, d, s, all - words);
		js_buf_char(d->out, ' ');
	}
	js_buf_printf(d->out, "%s\n", percent.text);
}

/* A line such as "dead      3 (...)"; nothing if N is 0. */
__attribute__((format(printf, 5, 6))) static void add_count_line(const struct show_page *d, const char *label,
								 enum show_colour colour, uint64_t n,
								 const char *format, ...)
{
	char number[32], words[300];
	va_list args;

	if (n == 0)
		return;
	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	(void)snprintf(number, sizeof(number), "%" PRIu64, n);
	js_buf_printf(d->out, "%-10s", label);
	show_paint(d->out, d->colours, colour, number);
	js_buf_printf(d->out, "%s\n", words);
}

/* Appends a line for each state with entries in it, with what that state means where it is not obvious. */
static void add_count_lines(const struct show_page *d, const struct figures_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;
	char pruned[64] = "", workers[128] = "", due[128] = "now";

	if (s->pruned > 0)
		(void)snprintf(pruned, sizeof(pruned), " and %" PRIu64 " pruned", s->pruned);
	if (s->workers > 0)
		(void)snprintf(workers, sizeof(workers),
			       " (%" PRIu64 " worker%s, %" PRIu64 " of %" PRIu64 " slot%s busy)", s->workers,
			       show_plural(s->workers), s->busy, s->slots, show_plural(s->slots));
	if (s->next_due_us > 0)
		(void)snprintf(due, sizeof(due), "in %s", show_duration(s->next_due_us).text);
	js_buf_printf(d->out, "pushed    %" PRIu64 "%s\n", s->pushed,
		      s->pushers > 0 ? ", a push is still running" : "");
	add_count_line(d, "done", SHOW_GREEN, s->done, "%s (%s)", pruned, show_percent(figures_stack_share(s)).text);
	add_count_line(d, "running", SHOW_YELLOW, s->busy, "%s", workers);
	if (s->busy == 0 && s->workers > 0)
		js_buf_printf(d->out, "running   0%s\n", workers);
	add_count_line(d, "claimed", SHOW_PLAIN, figures_stack_claimed(s), " (workers will start them next)");
	add_count_line(d, "ready", SHOW_PLAIN, s->ready, "%s", "");
	add_count_line(d, "waiting", SHOW_PLAIN, s->waiting, " (the next is due %s)", due);
	add_count_line(d, "held", SHOW_PLAIN, s->held, " (by a push --atomic that has not ended)");
	add_count_line(d, "dead", SHOW_RED, s->dead, " (`jobstack list -s %s -t dead` shows them)", seen->stack.name);
	if (s->state == JOBSTACK_OPEN)
		add_count_line(d, "cancelled", SHOW_PLAIN, s->cancelled,
			       " (`jobstack requeue -s %s -t cancelled` returns them)", seen->stack.name);
	else
		add_count_line(d, "cancelled", SHOW_PLAIN, s->cancelled, "%s", "");
	add_count_line(d, "moved", SHOW_PLAIN, s->moved, " (to other stacks)");
	add_count_line(d, "pruned", SHOW_PLAIN, s->pruned, " (were done; their history is deleted)");
}

/* Appends "rate      6.5 files/s (1.9 s each)" and when it ends; nothing while nothing has ended lately. */
static void add_pace_line(const struct show_page *d, const struct jobstack_pace *p)
{
	if (p->rate <= 0)
		return;
	js_buf_printf(d->out, "rate      %s", show_rate(p->rate, " files").text);
	if (p->each_us > 0)
		js_buf_printf(d->out, " (%s each)", show_duration(p->each_us).text);
	if (p->eta_us > 0)
		js_buf_printf(d->out, "\nends      in about %s", show_eta(p).text);
	js_buf_char(d->out, '\n');
}

/* Appends the stack's policy: what happens to entries that fail, limits if there are any, and the directory of relative
 * names. */
static void add_policy_lines(const struct show_page *d, const struct figures_seen *seen)
{
	const struct jobstack_status *s = &seen->stack.s;

	js_buf_printf(d->out, "policy    %" PRIu32 " attempt%s, %" PRIu32 " loss%s, retry after %s\n", s->max_attempts,
		      show_plural(s->max_attempts), s->max_losses, s->max_losses == 1 ? "" : "es",
		      show_duration(s->retry_delay_us).text);
	if (s->max_running > 0)
		js_buf_printf(d->out, "limits    at most %" PRId64 " running", s->max_running);
	if (s->max_starts > 0)
		js_buf_printf(d->out, "%sstarts are limited to %s", s->max_running > 0 ? ", " : "limits    ",
			      show_starts(s->max_starts, s->starts_us).text);
	if (s->max_failures > 0)
		js_buf_printf(d->out, "%spaused when %" PRId64 " %s dead",
			      s->max_running + s->max_starts > 0 ? ", " : "limits    ", s->max_failures,
			      show_are((uint64_t)s->max_failures));
	if (s->max_running + s->max_starts + s->max_failures > 0)
		js_buf_char(d->out, '\n');
	if (seen->stack.cwd.len > 0) {
		js_buf_str(d->out, "paths     relative to ");
		show_safe(d->out, seen->stack.cwd.data, seen->stack.cwd.len);
		js_buf_char(d->out, '\n');
	}
}

void show_failures_rows(const json_t *failures, const struct show_page *page)
{
	static const struct show_row_column columns[] = {
		{{"COUNT", 1, 0, 0}, "count", SHOW_COUNT},
		{{"HOW", 0, 0, 0}, "how", SHOW_NAME},
		{{"LAST MESSAGE", SHOW_OPTIONAL | SHOW_END, 5, 12}, "message", SHOW_WORDS},
		{{"NODE", 2, 2, 6}, "node", SHOW_WORDS},
		{{"EXAMPLE", SHOW_RIGHT, 4, 0}, "entry", SHOW_COUNT},
		{{"LAST SEEN", SHOW_RIGHT, 1, 0}, "last_seen_seconds", SHOW_AGO}};

	show_rows(failures, columns, sizeof(columns) / sizeof(columns[0]), 0, page);
}

void show_failures_table(const struct figures_failures *failures, const struct show_page *page)
{
	json_t *list = show_failures_json(failures);

	show_failures_rows(list, page);
	json_decref(list);
}

/* The line above the table names an entry whose message is probably cut in it: then `jobstack show` prints the whole
 * one. */
static void add_failure_lines(const struct figures_snapshot *l, const struct show_page *d)
{
	uint64_t cut = 0; /* an entry whose message probably is */

	for (size_t i = l->failures.n; i-- > 0 && d->columns > 0;)
		if (strlen(l->failures.group[i].reason) + strlen(l->failures.group[i].example) > d->columns / 3)
			cut = l->failures.group[i].f.entry;
	if (l->failures.n > 0) {
		js_buf_str(d->out, !l->failures_all			       ? "\ndead entries"
				   : l->seen[0].stack.s.state == JOBSTACK_OPEN ? "\nfailing now, will be retried"
									       : "\nfailed, would be retried");
		if (!l->failures.report.whole)
			js_buf_printf(d->out, " (last %" PRIu64 "%s)", l->failures.report.looked,
				      l->failures_all ? " attempts" : "");
		if (cut > 0)
			js_buf_printf(d->out, "; whole message: `jobstack show -s %s %" PRIu64 "`",
				      l->seen[0].stack.name, cut);
		js_buf_str(d->out, ":\n");
	}
	show_failures_table(&l->failures, d);
	for (size_t i = 0; i < l->bad_n; i++) {
		const struct figures_bad_node *b = &l->bad[i];
		struct js_buf line = {0};

		js_buf_str(&line, "node ");
		show_safe(&line, b->node, strlen(b->node));
		js_buf_printf(&line, ": %" PRIu64 " of %" PRIu64 " attempts failed, elsewhere %" PRIu64 " of %" PRIu64,
			      b->b.failed, b->b.attempts, b->b.failed_elsewhere, b->b.attempts_elsewhere);
		show_paint(d->out, d->colours, SHOW_RED, line.data != NULL ? line.data : "");
		js_buf_char(d->out, '\n');
		js_buf_free(&line);
	}
}

void show_longest_table(const struct figures_snapshot *l, const struct show_page *page)
{
	static const struct show_column columns[] = {
		{"RUNNING FOR", 1, 0, 0}, {"ENTRY", 1, 0, 0}, {"NODE", 0, 1, 6}, {"DATAPATH", SHOW_MIDDLE, 2, 10}};
	struct show_table t = {.column = columns, .n = sizeof(columns) / sizeof(columns[0])};

	for (size_t i = 0; i < l->longest_n; i++) {
		const struct figures_longest *one = &l->longest[i];

		show_table_cell(&t, SHOW_PLAIN, show_duration(one->us).text);
		show_table_count(&t, SHOW_PLAIN, one->entry);
		show_table_name(&t, one->node, strlen(one->node));
		show_table_name(&t, one->datapath.data, one->datapath.len);
	}
	show_table_write(&t, page, 2);
}

/* Writes the Slurm job of a worker: "120_3.0"; "-" outside of Slurm. */
static void format_job(const struct jobstack_worker_row *w, char text[128])
{
	int array = w->array_job != NULL && w->array_task != NULL;

	if (w->job == NULL)
		(void)snprintf(text, 128, "-");
	else
		(void)snprintf(text, 128, "%.30s%s%.30s%s%.30s", array ? w->array_job : w->job, array ? "_" : "",
			       array ? w->array_task : "", w->step != NULL ? "." : "", w->step != NULL ? w->step : "");
}

/* Adds a live worker's cells.  It may have claimed more entries than it has slots; only those in slots are busy. */
static void add_worker_row(struct show_table *t, const struct jobstack_worker_row *w)
{
	uint64_t busy = w->running < w->slots ? w->running : w->slots;
	int over = w->silent_us > w->lease_us;
	const char *place = figures_worker_place(w);
	char job[128];

	format_job(w, job);
	show_table_count(t, SHOW_PLAIN, w->worker);
	show_table_name(t, place, strlen(place));
	show_table_count(t, SHOW_PLAIN, w->pid);
	show_table_name(t, job, strlen(job));
	show_table_count(t, SHOW_PLAIN, w->slots);
	show_table_count(t, SHOW_PLAIN, busy);
	show_table_count(t, SHOW_PLAIN, w->done);
	show_table_count(t, w->dead > 0 ? SHOW_RED : SHOW_PLAIN, w->dead);
	show_table_cell(t, SHOW_PLAIN, show_duration(w->age_us < 0 ? 0 : w->age_us).text);
	show_table_printf(t, over ? SHOW_YELLOW : SHOW_PLAIN, "%s ago",
			  show_rough(w->silent_us < 0 ? 0 : w->silent_us).text);
	show_table_cell(t, SHOW_PLAIN, show_duration(w->lease_us).text);
	show_table_printf(t, SHOW_YELLOW, "%s%s%s", over ? "lease expired" : "", over && w->by_script ? ", " : "",
			  w->by_script ? "jobstack pop" : "");
}

void show_workers_table(const struct figures_snapshot *l, const struct show_page *page)
{
	static const struct show_column columns[] = {
		{"WORKER", 1, 4, 0}, {"NODE", 0, 0, 8},	      {"PID", 1, 2, 0},	  {"JOB", 0, 5, 10},
		{"SLOTS", 1, 6, 0},  {"BUSY", 1, 9, 0},	      {"DONE", 1, 8, 0},  {"DEAD", 1, 7, 0},
		{"AGE", 1, 3, 0},    {"LAST SEEN", 1, 10, 0}, {"LEASE", 1, 1, 0}, {"", SHOW_OPTIONAL, 11, 0}};
	struct show_table t = {.column = columns, .n = sizeof(columns) / sizeof(columns[0])};

	for (size_t i = 0; i < l->worker_n; i++)
		add_worker_row(&t, &l->worker[i]);
	show_table_write(&t, page, 2);
}

/* Appends the lines that are shown in any case. */
static void add_main_lines(const struct figures_snapshot *l, const struct show_page *page)
{
	int64_t missing_us = figures_missing_us(l);

	add_head_lines(page, &l->seen[0]);
	add_count_lines(page, &l->seen[0]);
	add_pace_line(page, &l->seen[0].pace);
	if (missing_us >= 0 && !l->idle.alone)
		js_buf_printf(page->out,
			      "no worker has been connected for %s: its node or its job may have ended\n"
			      "`jobstack recover -s %s` checks, and requeues the entries of dead workers\n",
			      show_rough(missing_us).text, l->seen[0].stack.name);
	if (l->idle.alone && (l->idle.last.ended_us >= 0 || l->idle.last.job_us >= 0)) {
		struct js_buf text = {0};

		show_idle(&text, &l->idle);
		js_buf_char(&text, '\n');
		show_wrap(page->out, text.data != NULL ? text.data : "", page->columns);
		js_buf_free(&text);
	}
}

void show_status_head(const struct figures_snapshot *l, const struct show_page *page)
{
	add_main_lines(l, page);
	add_policy_lines(page, &l->seen[0]);
}

/* Everything but the NOTES is cut to the terminal's width; they contain command lines that must stay whole, and have
 * been wrapped. */
void show_status_detail(const struct figures_snapshot *l, const char *notes, const struct show_page *page)
{
	const size_t groups = l->failures.report.groups, left = groups > SHOWN_FAILURES ? groups - SHOWN_FAILURES : 0;
	struct js_buf text = {0};
	struct show_page d = *page;

	d.out = &text;
	show_status_head(l, &d);
	add_failure_lines(l, &d);
	if (left > 0)
		js_buf_printf(&text, "  %zu more failure group%s\n", left, show_plural(left));
	show_fit(page->out, text.data != NULL ? text.data : "", page->columns);
	js_buf_str(page->out, notes);
	text.len = 0;
	js_buf_str(&text, l->longest_n > 0 ? "\n" : "");
	show_longest_table(l, &d);
	js_buf_str(&text, l->worker_n > 0 ? "\n" : "");
	show_workers_table(l, &d);
	show_fit(page->out, text.len > 0 ? text.data : "", page->columns);
	page->out->failed |= text.failed;
	js_buf_free(&text);
}

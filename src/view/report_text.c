/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The report for people, on a terminal or in a mail.
 */
#include "view/report.h"

#include "view/status.h"
#include "view/table.h"
#include "view/text.h"
#include "view/version.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 80
#define NODES 40 /* nodes that are listed; the others are added up */

#define CV_MEANS "CV: standard deviation divided by mean"

struct page {
	const struct insight_report *r;
	const struct insight_tally *t;
	struct js_buf *out;
	unsigned columns, table; /* the width of bars; that of tables, 0: names are not cut */
	int colours;
};

/* A duration as a cell of a table. */
static void add_duration_cell(struct view_table *table, double us, int known)
{
	view_table_cell(table, VIEW_PLAIN, known ? view_took(us).text : "-");
}

static void write_report_table(const struct page *p, struct view_table *table)
{
	view_table_write(table, &(const struct view_page){.out = p->out, .columns = p->table, .colours = p->colours},
			 2);
}

static void add_heading(const struct page *p, const char *words)
{
	js_buf_char(p->out, '\n');
	view_paint(p->out, p->colours, VIEW_BOLD, words);
}

static void begin_report_line(const struct page *p, const char *name)
{
	js_buf_printf(p->out, "  %-11s", name);
}

/* "2026-11-21 06:20:11"; "?": unknown. */
static struct view_amount format_moment(int64_t us)
{
	struct view_amount a = view_second(us);

	if (a.text[0] == '\0')
		return (struct view_amount){"?"};
	a.text[10] = ' ';
	a.text[19] = '\0';
	return a;
}

/* ----------------------------------------------------------------------------------------------- who, when, what */

/* Adds one of several counts, unless it is 0, with the separator *BEFORE. */
static void add_count_words(const struct page *p, const char **before, uint64_t n, const char *what,
			    enum view_colour colour)
{
	char text[64];

	if (n == 0)
		return;
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %s", n, what);
	js_buf_str(p->out, *before);
	*before = ", ";
	view_paint(p->out, p->colours, colour, text);
}

static void add_entries_line(const struct page *p)
{
	const struct jobstack_status *s = &p->r->stack.s;
	const char *before = ": ";

	begin_report_line(p, "entries");
	js_buf_printf(p->out, "%" PRIu64, s->pushed);
	add_count_words(p, &before, s->done, "done", VIEW_GREEN);
	add_count_words(p, &before, s->dead, "dead", VIEW_RED);
	add_count_words(p, &before, s->running, "running", VIEW_PLAIN);
	add_count_words(p, &before, s->ready, "ready", VIEW_PLAIN);
	add_count_words(p, &before, s->waiting, "waiting", VIEW_PLAIN);
	add_count_words(p, &before, s->held, "held", VIEW_PLAIN);
	add_count_words(p, &before, s->cancelled, "cancelled", VIEW_YELLOW);
	add_count_words(p, &before, s->moved, "moved", VIEW_PLAIN);
	add_count_words(p, &before, s->pruned, "pruned", VIEW_PLAIN);
	js_buf_char(p->out, '\n');
}

static void add_idle_line(const struct page *p)
{
	if (!p->r->idle.alone || (p->r->idle.last.ended_us < 0 && p->r->idle.last.job_us < 0))
		return;
	begin_report_line(p, "workers");
	view_idle(p->out, &p->r->idle);
	js_buf_char(p->out, '\n');
}

static void add_attempts_line(const struct page *p)
{
	const struct insight_tally *t = p->t;
	const char *before = ": ";

	begin_report_line(p, "attempts");
	js_buf_printf(p->out, "%" PRIu64, insight_attempts(t->n));
	for (int v = 0; v < INSIGHT_OUTCOMES; v++)
		add_count_words(p, &before, t->n[v], view_outcome_word(v), VIEW_PLAIN);
	js_buf_printf(p->out, "; of %" PRIu64 " %s\n", VIEW_ENTRIES(t->entries));
}

static void add_users_and_time(const struct page *p)
{
	const struct insight_tally *t = p->t;

	if (t->user_n > 0) {
		begin_report_line(p, "users");
		for (size_t i = 0; i < t->user_n; i++) {
			js_buf_str(p->out, i > 0 ? ", " : "");
			view_safe(p->out, t->user[i], strlen(t->user[i]));
		}
		js_buf_str(p->out, t->more_users ? " and others\n" : "\n");
	}
	begin_report_line(p, "time");
	js_buf_printf(p->out, "%s to %s UTC (%s)\n", format_moment(t->first_us).text, format_moment(t->last_us).text,
		      view_took((double)(t->last_us - t->first_us)).text);
}

static void add_report_head(const struct page *p)
{
	const struct insight_report *r = p->r;
	char title[JOBSTACK_STACK_MAX + 80];

	(void)snprintf(title, sizeof(title), "%s (%s)%s", r->stack.name, view_stack_state(&r->stack.s),
		       insight_report_so_far(r) ? ", so far" : "");
	view_paint(p->out, p->colours, VIEW_BOLD, title);
	js_buf_char(p->out, '\n');
	if (r->share != NULL) {
		js_buf_str(p->out, "  ");
		insight_share_say(r->share, p->out);
		js_buf_char(p->out, '\n');
	}
	add_entries_line(p);
	add_idle_line(p);
	if (insight_attempts(p->t->n) == 0)
		return;
	if (r->since_us >= 0 || r->within_us >= 0)
		js_buf_str(p->out, "  only attempts that ended since the given time are counted below\n");
	add_attempts_line(p);
	add_users_and_time(p);
}

/* ----------------------------------------------------------------------------------------------------- durations */

static void add_bar(struct js_buf *out, unsigned width, uint64_t n, uint64_t of)
{
	unsigned full = of == 0 ? 0 : (unsigned)((double)n / (double)of * width + 0.5);

	for (unsigned i = 0; i < (full == 0 && n > 0 ? 1 : full); i++)
		js_buf_char(out, '#');
}

void view_report_histogram(const struct js_sketch *s, unsigned columns, struct js_buf *out)
{
	unsigned width = columns > 60 ? columns - 40 : columns > 40 ? 20 : 8;
	struct insight_bar bar[INSIGHT_BARS];
	size_t n = insight_report_histogram(s, bar);
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = bar[i].n > most ? bar[i].n : most;
	for (size_t i = 0; i < n; i++) {
		if ((uint64_t)bar[i].to <= s->min)
			continue;
		js_buf_printf(out, "  from %-12s%9" PRIu64 "%s", view_took((double)bar[i].from).text, bar[i].n,
			      bar[i].n > 0 ? "  " : "");
		add_bar(out, width, bar[i].n, most);
		js_buf_char(out, '\n');
	}
}

static void add_durations_section(const struct page *p)
{
	static const struct {
		const char *name;
		double q;
	} shown[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"longest", 1}};
	const struct js_sketch *s = &p->t->done_us;

	if (s->n == 0)
		return;
	add_heading(p, "how long the entries took");
	js_buf_printf(p->out, " (%" PRIu64 " done)\n", s->n);
	for (size_t i = 0; i < 4 && s->n > 1; i++)
		js_buf_printf(p->out, "%s%s %s", i == 0 ? "  " : ", ", shown[i].name,
			      view_took((double)js_sketch_quantile(s, shown[i].q)).text);
	js_buf_printf(p->out, "%s%s\n", s->n > 1 ? ", mean " : "  ", view_took(js_sketch_mean(s)).text);
	if (s->n > 1)
		view_report_histogram(s, p->columns, p->out);
}

/* ---------------------------------------------------------------------------------------------------- throughput */

static void add_throughput_section(const struct page *p)
{
	static const struct view_column column[] = {{"FROM", 0, 0, 0},	  {"DONE", 1, 0, 0}, {"NOT DONE", 1, 6, 0},
						    {"RUNNING", 1, 5, 0}, {"LEFT", 1, 3, 0}, {"WORKERS", 1, 4, 0},
						    {"", 0, 1, 0}};
	struct view_table table = {.column = column, .n = 7};
	struct insight_step step[INSIGHT_REPORT_ROWS];
	int64_t step_us;
	size_t n = insight_report_steps(p->r, step, INSIGHT_REPORT_ROWS, &step_us);
	uint64_t most = 0;

	if (n < 2)
		return;
	add_heading(p, "over time");
	js_buf_printf(p->out, " (%s per line; RUNNING and WORKERS are averages)\n", view_whole(step_us).text);
	for (size_t i = 0; i < n; i++)
		most = step[i].done > most ? step[i].done : most;
	for (size_t i = 0; i < n; i++) {
		struct js_buf bar = {0};

		add_bar(&bar, 12, step[i].done, most);
		view_table_cell(&table, VIEW_PLAIN, format_moment(step[i].from_us).text);
		view_table_count(&table, VIEW_PLAIN, step[i].done);
		view_table_count(&table, step[i].not_done > 0 ? VIEW_RED : VIEW_PLAIN, step[i].not_done);
		view_table_printf(&table, VIEW_PLAIN, "%.1f", step[i].running);
		view_table_count(&table, VIEW_PLAIN, step[i].left);
		view_table_printf(&table, VIEW_PLAIN, step[i].workers < 0 ? "-" : "%.1f", step[i].workers);
		view_table_cell(&table, VIEW_PLAIN, bar.data != NULL ? bar.data : "");
		js_buf_free(&bar);
	}
	write_report_table(p, &table);
}

/* --------------------------------------------------------------------------------------------------------- nodes */

static void sum_nodes(struct insight_tally_node *to, const struct insight_tally_node *n)
{
	for (int v = 0; v < INSIGHT_OUTCOMES; v++) {
		to->n[v] += n->n[v];
		to->us[v] += n->us[v];
	}
	to->timed += n->timed;
	to->slots = n->slots > to->slots ? n->slots : to->slots;
	if (to->first_us < 0 || (n->first_us >= 0 && n->first_us < to->first_us))
		to->first_us = n->first_us;
	to->last_us = n->last_us > to->last_us ? n->last_us : to->last_us;
}

static void add_node_row(struct view_table *table, const struct insight_tally_node *n)
{
	double busy = insight_node_busy(n);

	view_table_name(table, n->name, strlen(n->name), "-");
	view_table_count(table, VIEW_PLAIN, insight_attempts(n->n));
	for (int v = 1; v < INSIGHT_OUTCOMES; v++)
		view_table_count(table, n->n[v] > 0 && v < 3 ? VIEW_RED : VIEW_PLAIN, n->n[v]);
	add_duration_cell(table, n->n[0] > 0 ? n->us[0] / (double)n->n[0] : 0, n->n[0] > 0);
	view_table_count(table, VIEW_PLAIN, n->slots);
	if (busy >= 0)
		view_table_printf(table, VIEW_PLAIN, "%.1f", busy);
	else
		view_table_cell(table, VIEW_PLAIN, "-");
}

static void add_nodes_section(const struct page *p)
{
	static const struct view_column column[] = {{"NODE", 0, 0, 8},	{"ATTEMPTS", 1, 0, 0},	  {"FAILED", 1, 5, 0},
						    {"LOST", 1, 3, 0},	{"INTERRUPTED", 1, 1, 0}, {"MEAN", 1, 4, 0},
						    {"SLOTS", 1, 2, 0}, {"BUSY", 1, 2, 0}};
	struct view_table table = {.column = column, .n = 8};
	struct insight_tally_node rest = {.name = "", .first_us = -1, .last_us = -1};
	const struct insight_tally *t = p->t;

	if (t->node_n == 0)
		return;
	add_heading(p, "nodes");
	js_buf_str(p->out, " (MEAN of done entries; SLOTS per worker; BUSY: average commands at once)\n");
	for (size_t i = 0; i < t->node_n; i++)
		if (i < NODES - 1 || t->node_n <= NODES)
			add_node_row(&table, &t->node[i]);
		else
			sum_nodes(&rest, &t->node[i]);
	if (t->node_n > NODES) {
		(void)snprintf(rest.name, sizeof(rest.name), "%zu more", t->node_n - NODES + 1);
		add_node_row(&table, &rest);
	}
	write_report_table(p, &table);
}

/* ----------------------------------------------------------------------------------------- slowest, waste, usage */

static void add_slowest_section(const struct page *p)
{
	static const struct view_column column[] = {
		{"TOOK", 1, 0, 0}, {"ENTRY", 1, 0, 0}, {"OUTCOME", 0, 2, 0}, {"NODE", 0, 1, 8}, {"DATAPATH", 0, 0, 12}};
	struct view_table table = {.column = column, .n = 5};

	if (p->t->slow_n < 2)
		return;
	add_heading(p, "slowest\n");
	for (size_t i = 0; i < p->t->slow_n; i++) {
		const struct insight_tally_slow *s = &p->t->slow[i];

		add_duration_cell(&table, (double)s->us, 1);
		view_table_count(&table, VIEW_PLAIN, s->entry);
		view_table_cell(&table, s->outcome == JOBSTACK_DONE ? VIEW_PLAIN : VIEW_RED,
				view_outcome_word(s->outcome));
		view_table_name(&table, s->node, strlen(s->node), "-");
		view_table_name(&table, p->r->slow[i].data, p->r->slow[i].len, "-");
	}
	write_report_table(p, &table);
}

static void add_waste_section(const struct page *p)
{
	static const struct view_column column[] = {
		{"CAUSE", 0, 0, 10}, {"ATTEMPTS", 1, 0, 0}, {"TIME", 1, 0, 0}, {"SHARE", 1, 1, 0}};
	struct view_table table = {.column = column, .n = 4};
	const struct insight_tally *t = p->t;
	double all = insight_time(t->us), wasted = all - t->us[JOBSTACK_DONE];

	if (t->cause_n == 0)
		return;
	add_heading(p, "wasted: ");
	js_buf_printf(p->out, "%s of the %s that all commands took together (%.1f %%)\n", view_took(wasted).text,
		      view_took(all).text, 100 * insight_share(wasted, all));
	for (size_t i = 0; i < t->cause_n; i++) {
		const struct insight_tally_cause *c = &t->cause[i];

		view_table_printf(&table, VIEW_PLAIN, "%s%s%s", c->outcome < 0 ? "" : view_outcome_word(c->outcome),
				  c->outcome < 0 ? "" : ": ", c->words);
		view_table_count(&table, VIEW_PLAIN, c->n);
		add_duration_cell(&table, c->us, 1);
		view_table_printf(&table, VIEW_PLAIN, "%.1f %%", 100 * insight_share(c->us, all));
	}
	write_report_table(p, &table);
	if (t->untimed > 0)
		js_buf_printf(p->out, "  (the duration of %" PRIu64 " of them is unknown)\n", t->untimed);
}

static void add_failures_section(const struct page *p)
{
	if (p->r->failures.n == 0)
		return;
	add_heading(p, "dead entries");
	js_buf_printf(p->out, " (`jobstack requeue -s %s` retries them)\n", p->r->stack.name);
	view_failures_table(&p->r->failures,
			    &(const struct view_page){.out = p->out, .columns = p->table, .colours = p->colours});
}

static void add_memory_line(const struct page *p, const char *name, const struct js_sketch *m)
{
	if (m->n == 0)
		return;
	begin_report_line(p, name);
	js_buf_printf(p->out, "p50 %s, p99 %s, largest %s%s\n",
		      view_size(1024 * (double)js_sketch_quantile(m, 0.5)).text,
		      view_size(1024 * (double)js_sketch_quantile(m, 0.99)).text, view_size(1024 * (double)m->max).text,
		      m == &p->t->peak_kib ? " (all processes, without mapped files; commands over 1 s)"
					   : " (largest process)");
}

static void add_usage_section(const struct page *p)
{
	const struct insight_tally *t = p->t;
	const struct js_sketch *m = &t->rss_kib;
	struct js_buf requested = {0};

	if (t->cpu_n == 0 && m->n == 0 && t->bytes_n == 0)
		return;
	add_heading(p, "resources used\n");
	if (t->cpu_n > 0) {
		begin_report_line(p, "CPU time");
		js_buf_printf(p->out, "%s, %.0f %% of the slots' time\n", view_took(t->cpu_us).text,
			      100 * insight_share(t->cpu_us, t->cpu_of_us));
	}
	add_memory_line(p, "memory", m);
	add_memory_line(p, "", &t->peak_kib);
	view_report_requested(p->r, &requested);
	if (requested.len > 0) {
		js_buf_str(p->out, "  ");
		view_wrap(p->out, requested.data, p->columns);
	}
	js_buf_free(&requested);
	if (t->bytes_n > 0) {
		begin_report_line(p, "files");
		js_buf_printf(p->out, "read %s, wrote %s\n", view_size(t->read_bytes).text,
			      view_size(t->write_bytes).text);
	}
}

static void add_spread_cells(struct view_table *table, const struct insight_spread *took,
			     const struct insight_spread *moved)
{
	const struct insight_spread *of[2] = {took, moved};

	for (int k = 0; k < 2; k++) {
		double cv = insight_spread_cv(of[k]);

		view_table_cell(table, VIEW_PLAIN,
				of[k]->n == 0 ? "-"
				: k == 0      ? view_took(of[k]->mean).text
					      : view_size(of[k]->mean).text);
		view_table_printf(table, VIEW_PLAIN, cv < 0 ? "-" : "%.2f", cv);
	}
}

/* What attempts with another version, or on another file system, did. */
static void add_facts_section(const struct page *p, enum jobstack_fact_kind kind)
{
	const struct view_column column[] = {{kind == JOBSTACK_FACT_PROGRAM ? "VERSION" : "FILE SYSTEM", 0, 0, 12},
					     {"ATTEMPTS", 1, 0, 0},
					     {"NOT DONE", 1, 5, 0},
					     {"TOTAL TIME", 1, 6, 0},
					     {"MEAN", 1, 4, 0},
					     {"CV", 1, 3, 0},
					     {"BYTES/S", 1, 2, 0},
					     {"CV", 1, 1, 0}};
	const struct insight_tally_fact *fact = kind == JOBSTACK_FACT_PROGRAM ? p->t->program : p->t->mount;
	struct view_table table = {.column = column, .n = 8};

	if (fact[0].number == 0 || fact[1].number == 0)
		return;
	add_heading(p, kind == JOBSTACK_FACT_PROGRAM ? "programs and their versions" : "file systems");
	js_buf_str(p->out, " (" CV_MEANS ")\n");
	for (size_t i = 0; i < INSIGHT_FACTS && fact[i].number != 0; i++) {
		const char *text = insight_facts_text(&p->r->facts, kind, fact[i].number);
		struct js_buf name = {0};

		if (kind == JOBSTACK_FACT_PROGRAM && text != NULL)
			view_version_short(&name, text);
		else
			js_buf_str(&name, text == NULL ? "?" : text);
		view_table_name(&table, name.data, name.len, "?");
		js_buf_free(&name);
		view_table_count(&table, VIEW_PLAIN, fact[i].n);
		view_table_count(&table, fact[i].n > fact[i].done ? VIEW_RED : VIEW_PLAIN, fact[i].n - fact[i].done);
		add_duration_cell(&table, fact[i].us, 1);
		add_spread_cells(&table, &fact[i].took, &fact[i].moved);
	}
	write_report_table(p, &table);
}

static void add_hours_section(const struct page *p)
{
	static const struct view_column column[] = {{"HOUR", 0, 0, 0}, {"DONE", 1, 0, 0},    {"MEAN", 1, 0, 0},
						    {"CV", 1, 3, 0},   {"BYTES/S", 1, 2, 0}, {"CV", 1, 1, 0}};
	struct view_table table = {.column = column, .n = 6};
	int hours = 0;

	for (int i = 0; i < 24; i++)
		hours += p->t->took[i].n > 0;
	if (hours < 2)
		return;
	add_heading(p, "hours of the day");
	js_buf_str(p->out, " (UTC, by start; " CV_MEANS ")\n");
	for (int i = 0; i < 24; i++) {
		if (p->t->took[i].n == 0)
			continue;
		view_table_printf(&table, VIEW_PLAIN, "%02d:00", i);
		view_table_count(&table, VIEW_PLAIN, p->t->took[i].n);
		add_spread_cells(&table, &p->t->took[i], &p->t->moved[i]);
	}
	write_report_table(p, &table);
}

/* What stands out. */
static void add_signs_section(const struct page *p)
{
	struct view_signs signs = {.n = 0};
	struct js_buf line = {0};

	view_signs_read(&signs, p->r);
	js_buf_char(p->out, '\n');
	for (size_t i = 0; i < signs.n; i++) {
		view_safe(&line, signs.line[i].data, signs.line[i].len);
		view_wrap(p->out, line.data != NULL ? line.data : "", p->columns);
		js_buf_char(p->out, '\n');
		js_buf_reset(&line);
		p->out->failed |= signs.line[i].failed;
	}
	js_buf_free(&line);
	view_signs_free(&signs);
}

static void add_packages_section(const struct page *p)
{
	static const struct view_column column[] = {
		{"PACKAGE", 0, 0, 10}, {"VERSION", 0, 1, 0}, {"ATTEMPTS", 1, 0, 0}, {"NODES", 1, 1, 0}};
	struct view_table table = {.column = column, .n = 4};
	const struct insight_packages *all = &p->r->packages;

	if (all->n == 0)
		return;
	add_heading(p, "Python packages\n");
	for (size_t i = 0; i < all->n; i++) {
		view_table_name(&table, all->at[i].name, strlen(all->at[i].name), "-");
		view_table_name(&table, all->at[i].version, strlen(all->at[i].version), "-");
		view_table_count(&table, VIEW_PLAIN, all->at[i].entries);
		view_table_count(&table, VIEW_PLAIN, all->at[i].nodes);
	}
	write_report_table(p, &table);
	if (all->more > 0)
		js_buf_printf(p->out, "  and %" PRIu64 " more\n", all->more);
}

void view_report_text(const struct insight_report *r, unsigned columns, int colours, struct js_buf *out)
{
	struct page p = {r, r->tally, out, columns == 0 ? COLUMNS : columns, columns, colours};

	add_report_head(&p);
	if (insight_attempts(r->tally->n) == 0) {
		js_buf_str(out, r->since_us >= 0 || r->within_us >= 0 ? "no attempt has ended since the given time\n"
				: r->stack.s.running > 0 ? "no attempt has ended yet: the first ones are running\n"
							 : "nothing has run yet\n");
		return;
	}
	add_signs_section(&p);
	add_durations_section(&p);
	add_throughput_section(&p);
	add_nodes_section(&p);
	add_hours_section(&p);
	add_facts_section(&p, JOBSTACK_FACT_MOUNT);
	add_facts_section(&p, JOBSTACK_FACT_PROGRAM);
	add_slowest_section(&p);
	add_waste_section(&p);
	add_failures_section(&p);
	add_usage_section(&p);
	add_packages_section(&p);
	add_heading(&p, "for the next run\n");
	view_report_advice(r, out);
}

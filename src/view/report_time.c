/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The page's graphs over time.
 */
#include "base/clock.h"
#include "view/amount.h"
#include "view/html.h"
#include "view/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOURS 20 /* at most so many columns of the map of nodes */

/* "2026-11-21 06:20", with seconds if steps of STEP_US need them. */
static struct view_amount format_step(int64_t us, int64_t step_us)
{
	struct view_amount a = view_second(us);

	a.text[10] = a.text[0] != '\0' ? ' ' : '\0';
	a.text[step_us < 60 * JS_SECOND_US ? 19 : 16] = '\0';
	return a;
}

/* The graphs over time: which values of a step each has. */
enum graph { ENTRIES, ENDS, COMMANDS, WORKERS, GRAPHS };
static const struct {
	const char *title;
	struct html_kind kind[HTML_KINDS];
} graph[GRAPHS] = {
	[ENTRIES] = {"Entries, at the end of each column",
		     {{"done", "done"},
		      {"bad", "last attempt failed"},
		      {"run", "running"},
		      {"rest", "left (or cancelled)"}}},
	[ENDS] = {"Attempts that ended", {{"done", "done"}, {"bad", "not done"}}},
	[COMMANDS] = {"Commands that ran at once, on average", {{"run", "running"}}},
	[WORKERS] = {"Workers, on average", {{"rest", "workers"}}},
};

static struct html_column make_column(enum graph g, const struct insight_step *s, int64_t step_us)
{
	struct html_column c = {{0}, ""};
	struct view_amount at = format_step(s->from_us, step_us);

	switch (g) {
	case ENTRIES:
		c = (struct html_column){{(double)s->all_done, (double)s->failed, (double)s->at_work, (double)s->left},
					 ""};
		(void)snprintf(c.label, sizeof(c.label),
			       "%.20s: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " running, %" PRIu64 " left",
			       at.text, s->all_done, s->failed, s->at_work, s->left);
		break;
	case ENDS:
		c = (struct html_column){{(double)s->done, (double)s->not_done}, ""};
		(void)snprintf(c.label, sizeof(c.label), "%.20s: %" PRIu64 " done, %" PRIu64 " not done", at.text,
			       s->done, s->not_done);
		break;
	default:
		c.value[0] = g == COMMANDS ? s->running : s->workers;
		(void)snprintf(c.label, sizeof(c.label), "%.20s: %.1f", at.text, c.value[0]);
	}
	return c;
}

static void add_graph(struct js_buf *out, enum graph g, const struct insight_step *step, size_t n, int64_t step_us)
{
	struct html_column column[INSIGHT_REPORT_STEPS];
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		column[i] = make_column(g, &step[i], step_us);
		most = column[i].value[0] + column[i].value[1] > most ? column[i].value[0] + column[i].value[1] : most;
	}
	js_buf_printf(out, "<h3>%s</h3>\n", graph[g].title);
	if (g != ENTRIES)
		js_buf_printf(out, "<p class=\"soft\">The highest column is %.*f.</p>\n", g == ENDS ? 0 : 1, most);
	html_columns(out, graph[g].title, column, n, graph[g].kind);
	html_ends(out, format_step(step[0].from_us, step_us).text,
		  format_step(step[n - 1].from_us + step_us, step_us).text);
}

static void add_count(struct js_buf *out, double value, int digits)
{
	char text[32];

	(void)snprintf(text, sizeof(text), value < 0 ? "-" : "%.*f", digits, value);
	html_number(out, value, text);
}

static void add_steps(struct js_buf *out, const struct insight_report *r)
{
	struct insight_step step[INSIGHT_REPORT_STEPS];
	int64_t step_us;
	size_t n = insight_report_steps(r, step, INSIGHT_REPORT_STEPS, &step_us);

	if (n < 2)
		return;
	html_section(out, "Over time", "Each column is %s.", view_whole(step_us).text);
	for (enum graph g = ENTRIES; g < GRAPHS; g++)
		if (g != WORKERS || (r->tally->worker_n > 1 && r->tally->worker_n < INSIGHT_WORKERS))
			add_graph(out, g, step, n, step_us);
	html_table(out, "from|#done|#not done|#done in all|#failed so far|#running|#left|#workers", 1);
	for (size_t i = 0; i < n; i++) {
		const double value[] = {(double)step[i].done,	(double)step[i].not_done, (double)step[i].all_done,
					(double)step[i].failed, step[i].running,	  (double)step[i].left,
					step[i].workers};

		html_row(out);
		html_cell(out, format_step(step[i].from_us, step_us).text);
		for (int k = 0; k < 7; k++)
			add_count(out, value[k], k == 4 || k == 6);
	}
	html_table_end(out, 1);
	html_section_end(out);
}

/* How busy a node's slots were in each step of BUSY; returns the most commands that ran there at once in a step. */
static double read_heat(const struct js_timeline *busy, const struct js_timeline *node, double at_once[HOURS])
{
	size_t first, last, from, to;
	double most = 0;

	memset(at_once, 0, HOURS * sizeof(at_once[0]));
	if (js_timeline_range(busy, &first, &last) != 0 || js_timeline_range(node, &from, &to) != 0)
		return 0;
	for (size_t i = from; i <= to; i++) { /* a node's steps are as long, or parts of one */
		int64_t step = (node->first + (int64_t)i) * node->step_us / busy->step_us - busy->first;
		double *at = &at_once[step < (int64_t)first ? 0 : (size_t)step - first];

		if (step > (int64_t)last)
			continue;
		*at += (double)node->count[i][INSIGHT_BUSY] / (double)busy->step_us;
		most = *at > most ? *at : most;
	}
	return most;
}

/* Busy slots by node and time: a table whose cells are coloured. */
static void add_heat(struct js_buf *out, const struct insight_tally *t)
{
	struct js_timeline busy = t->timeline;
	double at_once[HOURS];
	size_t first, last;

	js_timeline_fit(&busy, HOURS);
	if (t->heat_n < 2 || js_timeline_range(&busy, &first, &last) != 0 || first == last)
		return;
	html_section(out, "Busy slots, by node and time",
		     "How many of a node's slots ran a command, in percent. "
		     "Each column is %s, from %s.%s",
		     view_whole(busy.step_us).text,
		     format_step((busy.first + (int64_t)first) * busy.step_us, busy.step_us).text,
		     t->node_n > t->heat_n ? " Nodes that came later are left out." : "");
	js_buf_str(out, "<div class=\"heat\">");
	html_table_begin(out);
	html_heading(out, "node", 0);
	for (size_t i = first; i <= last; i++) { /* the hour, or, at midnight, the day */
		struct view_amount at = format_step((busy.first + (int64_t)i) * busy.step_us, busy.step_us);

		int day = strncmp(at.text + 11, "00:00", 5) == 0;

		at.text[10] = '\0';
		html_heading(out, at.text + (day ? 5 : 11), 1);
	}
	html_table_body(out);
	for (size_t k = 0; k < t->node_n; k++) {
		const struct insight_tally_node *n = &t->node[k];
		double most, slots = n->slots > 0 ? n->slots : 1;

		if (n->heat == 0)
			continue;
		most = read_heat(&busy, &t->heat[n->heat - 1], at_once);
		slots = most > slots ? most : slots;
		html_row(out);
		html_cell(out, n->name);
		for (size_t i = 0; i <= last - first; i++) {
			double share = insight_share(at_once[i], slots);

			js_buf_printf(out, "<td class=\"n h%d\" data-v=\"%.2f\">%.0f</td>",
				      share > 0 ? (int)(share * 4.999) + 1 : 0, share, 100 * share);
		}
	}
	html_table_end(out, 0);
	js_buf_str(out, "</div>\n");
	html_section_end(out);
}

void view_page_time(struct js_buf *out, const struct insight_report *r)
{
	add_steps(out, r);
	add_heat(out, r->tally);
}

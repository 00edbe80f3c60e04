/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What stands out in a report, in a few sentences: what went wrong, which node is bad, what to request for the next
 * run.
 */
#include "view/report.h"
#include "view/version.h"
#include "view/words.h"

#include <inttypes.h>
#include <string.h>

#define FAILURES 3 /* groups that are named */

static struct js_buf *next_sign(struct view_signs *s)
{
	return &s->line[s->n < VIEW_SIGNS ? s->n++ : VIEW_SIGNS - 1];
}

static void add_pace_sign(const struct insight_report *r, struct view_signs *s)
{
	struct js_buf *out;

	if (r->pace.rate <= 0)
		return;
	out = next_sign(s);
	js_buf_printf(out, "Speed: %s", view_rate(r->pace.rate, " files").text);
	if (r->pace.eta_us > 0)
		js_buf_printf(out, ". It ends in about %s", view_eta(&r->pace).text);
	js_buf_char(out, '.');
}

/* " exit 3, such as "bad magic", all on n3 (for example entry 561)." */
static void add_failure(const struct insight_failure *f, struct js_buf *out)
{
	const struct view_amount ending = view_failure_how(&f->f);
	const char *how = ending.text;
	int quoted = !f->f.various && f->example[0] != '\0', words = !f->f.various && f->reason[0] != '\0';

	js_buf_char(out, ' ');
	if (!words || quoted || f->f.cause != JOBSTACK_CAUSE_KILLED) /* "killed by alice" says it all */
		js_buf_str(out, how);
	if (quoted)
		js_buf_printf(out, ", such as \"%s\"", f->example);
	else if (words)
		js_buf_printf(out, "%s%s", out->data[out->len - 1] == ' ' ? "" : ": ", f->reason);
	view_version_only(out, f->program);
	if (f->node[0] != '\0')
		js_buf_printf(out, ", %son %s", f->f.count > 1 ? "all " : "", f->node);
	js_buf_printf(out, " (%sentry %" PRIu64 ").", f->f.count > 1 ? "for example " : "", f->f.entry);
}

static void add_wrong_sign(const struct insight_report *r, struct view_signs *s)
{
	const struct insight_tally_cause *c = &r->tally->cause[0];
	struct js_buf *out = next_sign(s);
	size_t shown = r->failures.n < FAILURES ? r->failures.n : FAILURES;

	js_buf_str(out, "What went wrong: ");
	if (r->failures.n > 0) {
		js_buf_printf(out, "%" PRIu64 " %s dead%s", r->stack.s.dead,
			      r->stack.s.dead == 1 ? "entry is" : "entries are", r->failures.n == 1 ? ":" : ".");
		for (size_t i = 0; i < shown; i++) {
			if (r->failures.n > 1)
				js_buf_printf(out, " %" PRIu64 " %s:", VIEW_ENTRIES(r->failures.group[i].f.count));
			add_failure(&r->failures.group[i], out);
		}
		if (r->failures.n > shown)
			js_buf_str(out, " The others are listed below.");
	} else if (r->tally->cause_n > 0)
		js_buf_printf(
			out,
			"%" PRIu64 " of %" PRIu64 " attempts were not done. Most of their time went into \"%s%s%s\".",
			insight_attempts(r->tally->n) - r->tally->n[JOBSTACK_DONE], insight_attempts(r->tally->n),
			c->outcome < 0 ? "" : view_outcome_word(c->outcome), c->outcome < 0 ? "" : ": ", c->words);
	else
		js_buf_str(out, "nothing. Every attempt was done.");
}

static void add_node_sign(const struct insight_tally *t, const struct insight_tally_node *n, struct view_signs *s)
{
	struct js_buf *out = next_sign(s);
	uint64_t bad = n->n[JOBSTACK_FAILED] + n->n[JOBSTACK_LOST], elsewhere = 0;
	double done = 0, us = 0;

	for (size_t i = 0; i < t->node_n; i++) /* a node has failures that do not count, too */
		elsewhere += &t->node[i] == n ? 0 : t->node[i].n[JOBSTACK_FAILED] + t->node[i].n[JOBSTACK_LOST];
	js_buf_printf(out, "%s node: %s", n->fails ? "Bad" : "Slow", n->name);
	if (n->fails)
		js_buf_printf(out,
			      ". %" PRIu64 " of %" PRIu64 " attempts failed%s there, elsewhere %" PRIu64 " of %" PRIu64,
			      bad, insight_attempts(n->n), t->n[JOBSTACK_LOST] > 0 ? " or were lost" : "", elsewhere,
			      insight_attempts(t->n) - insight_attempts(n->n));
	for (size_t i = 0; i < t->node_n; i++) {
		done += &t->node[i] == n ? 0 : (double)t->node[i].took.n;
		us += &t->node[i] == n ? 0 : (double)t->node[i].took.n * t->node[i].took.mean;
	}
	if (n->slow && done > 0)
		js_buf_printf(out, ". Done attempts took %s on average, elsewhere %s", view_took(n->took.mean).text,
			      view_took(us / done).text);
	js_buf_char(out, '.');
}

static void add_nodes_sign(const struct insight_tally *t, struct view_signs *s)
{
	size_t bad = 0;

	while (bad < t->node_n && (t->node[bad].fails || t->node[bad].slow))
		bad++;
	for (size_t i = 0; i < bad && i < VIEW_SIGNS_NODES; i++)
		add_node_sign(t, &t->node[i], s);
	if (bad > VIEW_SIGNS_NODES)
		js_buf_printf(next_sign(s), "More bad or slow nodes: %zu, listed below.", bad - VIEW_SIGNS_NODES);
	else if (bad == 0 && t->node_n > 1)
		js_buf_printf(next_sign(s), "Bad node: none. Differences among the %zu nodes may be chance.",
			      t->node_n);
}

/* What took longest, and what was wasted. */
static void add_time_signs(const struct insight_report *r, struct view_signs *s)
{
	const struct insight_tally *t = r->tally;
	double all = insight_time(t->us), wasted = all - t->us[JOBSTACK_DONE];
	struct js_buf *out;

	if (t->slow_n > 1) {
		out = next_sign(s);
		js_buf_printf(out, "Slowest: entry %" PRIu64, t->slow[0].entry);
		if (r->slow[0].len > 0) {
			js_buf_str(out, " (");
			js_buf_add(out, r->slow[0].data, r->slow[0].len);
			js_buf_char(out, ')');
		}
		js_buf_printf(out, " took %s on %s.", view_took((double)t->slow[0].us).text, t->slow[0].node);
	}
	if (wasted > 0)
		js_buf_printf(next_sign(s), "Wasted: %s of the %s that all commands took together (%.1f %%).",
			      view_took(wasted).text, view_took(all).text, 100 * insight_share(wasted, all));
}

static void add_program_sign(const struct insight_report *r, struct view_signs *s)
{
	const char *text = NULL;
	size_t n = 0;
	struct js_buf *out;

	for (size_t i = 0; i < r->facts.n; i++)
		if (r->facts.at[i].f.kind == JOBSTACK_FACT_PROGRAM && n++ == 0)
			text = r->facts.at[i].f.text;
	if (text == NULL)
		return;
	out = next_sign(s);
	js_buf_str(out, "Program: ");
	if (n == 1)
		view_version_short(out, text);
	else
		js_buf_printf(out, "%zu versions, see below", n);
	js_buf_char(out, '.');
}

static void add_request_sign(const struct insight_report *r, struct view_signs *s)
{
	struct insight_advice a;
	struct js_buf *out, nodes = {0};
	int64_t within_us;
	uint64_t n = insight_report_request(r, &a, &within_us);

	if (!a.known)
		return;
	out = next_sign(s);
	js_buf_printf(out, "Request next time: --time=%s", view_sbatch_time(a.time_us).text);
	if (a.mem_kib > 0)
		js_buf_printf(out, " --mem=%s", view_sbatch_size(a.mem_kib * a.slots).text);
	js_buf_printf(out, " --cpus-per-task=%" PRIu32, a.slots * a.cpus);
	if (n > 0)
		js_buf_printf(out, " --array=1-%" PRIu64, n);
	view_report_excluded(r, &nodes);
	if (nodes.len > 0)
		js_buf_printf(out, " --exclude=%s", nodes.data);
	if (n > 0) /* (no full stop follows an option, so that it can be copied) */
		js_buf_printf(out, " (%" PRIu64 " %s %s take about %s).", VIEW_ENTRIES(a.entries),
			      a.are_left ? "that are left" : "like these",
			      view_whole(insight_advice_takes(&a, n)).text);
	out->failed |= nodes.failed;
	js_buf_free(&nodes);
}

void view_signs_read(struct view_signs *s, const struct insight_report *r)
{
	add_pace_sign(r, s);
	add_wrong_sign(r, s);
	add_nodes_sign(r->tally, s);
	add_request_sign(r, s);
	add_time_signs(r, s);
	add_program_sign(r, s);
}

void view_signs_free(struct view_signs *s)
{
	for (size_t i = 0; i < VIEW_SIGNS; i++)
		js_buf_free(&s->line[i]);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sentences of a report: its verdict, what stands out, and what a paper says about the run.  Promise: names are
 * escaped where they are added, so a view may print a sentence as it is.
 */
#include "show/json.h"
#include "show/report.h"
#include "show/term.h"
#include "show/text.h"
#include "show/version.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FAILURES 3   /* groups that are named */
#define NODES 3	     /* likewise */
#define LONGEST 300  /* columns of a datapath; it is cut in its middle */
#define METHODS 4096 /* bytes of the methods section, about */

/* Appends a sentence under its head, and frees it. */
static void add_point(json_t *points, const char *head, struct js_buf *text)
{
	SHOW_APPEND(points, KEY_TEXT("head", head), show_said_member("text", text));
}

static void add_name(struct js_buf *out, const char *name)
{
	show_safe(out, name, strlen(name));
}

struct show_amount show_report_cause(const struct figures_tally_cause *c)
{
	struct show_amount a;

	(void)snprintf(a.text, sizeof(a.text), "%s%s%s", c->outcome < 0 ? "" : show_outcome_word(c->outcome),
		       c->outcome < 0 ? "" : ": ", c->words);
	return a;
}

/* Adds "6.5 files/s.  It ends in about 12 min.", while the stack works. */
static void add_pace_point(const struct figures_report *r, json_t *points)
{
	struct js_buf out = {0};

	if (r->pace.rate <= 0)
		return;
	js_buf_printf(&out, "%s", show_rate(r->pace.rate, " files").text);
	if (r->pace.eta_us > 0)
		js_buf_printf(&out, ". It ends in about %s", show_eta(&r->pace).text);
	js_buf_char(&out, '.');
	add_point(points, "Speed", &out);
}

/* Appends " exit 3, such as "bad magic", all on n3 (for example entry 561)." */
static void add_failure(const struct figures_failure *f, struct js_buf *out)
{
	int quoted = !f->f.various && f->example[0] != '\0', words = !f->f.various && f->reason[0] != '\0';

	js_buf_char(out, ' ');
	if (!words || quoted || f->f.cause != JOBSTACK_CAUSE_KILLED) /* "killed by alice" says it all */
		js_buf_str(out, show_failure_how(&f->f).text);
	if (quoted)
		js_buf_str(out, ", such as \"");
	else if (words)
		js_buf_str(out, out->data[out->len - 1] == ' ' ? "" : ": ");
	if (quoted || words)
		add_name(out, quoted ? f->example : f->reason);
	js_buf_str(out, quoted ? "\"" : "");
	show_version_only(out, f->program);
	if (f->node[0] != '\0') {
		js_buf_str(out, f->f.count > 1 ? ", all on " : ", on ");
		add_name(out, f->node);
	}
	js_buf_printf(out, " (%sentry %" PRIu64 ").", f->f.count > 1 ? "for example " : "", f->f.entry);
}

/* Adds what went wrong: the groups of dead entries; if nothing is dead, the cause that cost most time. */
static void add_wrong_point(const struct figures_report *r, json_t *points)
{
	const struct figures_tally *t = r->tally;
	size_t shown = r->failures.n < FAILURES ? r->failures.n : FAILURES;
	struct js_buf out = {0};

	if (r->failures.n > 0)
		js_buf_printf(&out, "%" PRIu64 " %s dead%s", r->stack.s.dead,
			      r->stack.s.dead == 1 ? "entry is" : "entries are", r->failures.n == 1 ? ":" : ".");
	else if (t->cause_n == 0)
		js_buf_str(&out, "nothing. Every attempt was done.");
	else
		js_buf_printf(&out,
			      "%" PRIu64 " of %" PRIu64 " attempts were not done. Most of their time went into \"%s\".",
			      figures_attempts(t->n) - t->n[JOBSTACK_DONE], figures_attempts(t->n),
			      show_report_cause(&t->cause[0]).text);
	for (size_t i = 0; i < shown; i++) {
		if (r->failures.n > 1)
			js_buf_printf(&out, " %" PRIu64 " %s:", SHOW_ENTRIES(r->failures.group[i].f.count));
		add_failure(&r->failures.group[i], &out);
	}
	if (r->failures.n > shown)
		js_buf_str(&out, " The others are listed below.");
	add_point(points, "What went wrong", &out);
}

/* Compares a bad or slow node with all others together.  (Which node is one is decided in figures/report.c.) */
static void add_node_point(const struct figures_tally *t, const struct figures_tally_node *n, json_t *points)
{
	uint64_t bad = n->n[JOBSTACK_FAILED] + n->n[JOBSTACK_LOST], elsewhere = 0;
	double done = 0, us = 0;
	struct js_buf out = {0};

	for (size_t i = 0; i < t->node_n; i++) {
		const struct figures_tally_node *other = &t->node[i];

		if (other == n)
			continue;
		elsewhere += other->n[JOBSTACK_FAILED] + other->n[JOBSTACK_LOST]; /* also those that do not count */
		done += (double)other->took.n;
		us += (double)other->took.n * other->took.mean;
	}
	add_name(&out, n->name);
	if (n->fails)
		js_buf_printf(&out,
			      ". %" PRIu64 " of %" PRIu64 " attempts failed%s there, elsewhere %" PRIu64 " of %" PRIu64,
			      bad, figures_attempts(n->n), t->n[JOBSTACK_LOST] > 0 ? " or were lost" : "", elsewhere,
			      figures_attempts(t->n) - figures_attempts(n->n));
	if (n->slow && done > 0)
		js_buf_printf(&out, ". Done attempts took %s on average, elsewhere %s", show_took(n->took.mean).text,
			      show_took(us / done).text);
	js_buf_char(&out, '.');
	add_point(points, n->fails ? "Bad node" : "Slow node", &out);
}

/* The nodes are sorted, so those that stand out come first.  Where none does, that is said, if there was more than one:
 * a reader wants to know that it was looked at. */
static void add_node_points(const struct figures_tally *t, json_t *points)
{
	struct js_buf out = {0};
	size_t bad = 0;

	for (; bad < t->node_n && (t->node[bad].fails || t->node[bad].slow); bad++)
		if (bad < NODES)
			add_node_point(t, &t->node[bad], points);
	if (bad > NODES) {
		js_buf_printf(&out, "%zu, listed below.", bad - NODES);
		add_point(points, "More bad or slow nodes", &out);
	} else if (bad == 0 && t->node_n > 1) {
		js_buf_printf(&out, "none. Differences among the %zu nodes may be chance.", t->node_n);
		add_point(points, "Bad node", &out);
	}
}

/* Adds what to request next time, as options to copy, and what they are good for. */
static void add_request_point(const struct figures_report *r, json_t *points)
{
	const struct figures_recommendation *a = &r->recommendation;
	struct js_buf out = {0};
	uint64_t n;

	if (!a->known)
		return;
	n = show_report_options(r, " ", &out);
	if (n > 0) /* (no full stop follows an option, so that it can be copied) */
		js_buf_printf(&out, " (%" PRIu64 " %s %s take about %s).", SHOW_ENTRIES(a->entries),
			      a->are_left ? "that are left" : "like these",
			      show_whole(figures_recommendation_takes(a, n)).text);
	add_point(points, "Request next time", &out);
}

/* Adds what took longest, and what was wasted. */
static void add_time_points(const struct figures_report *r, json_t *points)
{
	const struct figures_tally *t = r->tally;
	double all = figures_time(t->us), wasted = all - t->us[JOBSTACK_DONE];
	struct js_buf out = {0}, name = {0};

	if (t->slow_n > 1) {
		js_buf_printf(&out, "entry %" PRIu64, t->slow[0].entry);
		show_safe(&name, r->slow[0].data, r->slow[0].len);
		if (name.len > 0) {
			js_buf_str(&out, " (");
			show_cut_inside(&out, name.data, name.len, LONGEST, 1);
			js_buf_char(&out, ')');
		}
		js_buf_printf(&out, " took %s on ", show_took((double)t->slow[0].us).text);
		add_name(&out, t->slow[0].node);
		js_buf_char(&out, '.');
		add_point(points, "Slowest", &out);
	}
	js_buf_free(&name);
	if (wasted > 0) {
		js_buf_printf(&out, "%s of the %s that all commands took together (%.1f %%).", show_took(wasted).text,
			      show_took(all).text, 100 * figures_share(wasted, all));
		add_point(points, "Wasted", &out);
	}
}

/* Adds which version ran; if there were several, a table shows how each of them did. */
static void add_program_point(const struct figures_report *r, json_t *points)
{
	size_t n = figures_facts_count(&r->facts, JOBSTACK_FACT_PROGRAM);
	struct js_buf out = {0};

	if (n > 1)
		js_buf_printf(&out, "%zu versions, see below", n);
	for (size_t i = 0; i < r->facts.n && n == 1; i++)
		if (r->facts.at[i].f.kind == JOBSTACK_FACT_PROGRAM)
			show_version_short(&out, r->facts.at[i].f.text);
	js_buf_char(&out, '.');
	if (n > 0)
		add_point(points, "Program", &out);
	js_buf_free(&out);
}

/* Lists the points in their order; one that has nothing to say is left out. */
json_t *show_report_points(const struct figures_report *r)
{
	json_t *points = json_array();

	if (figures_attempts(r->tally->n) == 0)
		return points;
	add_pace_point(r, points);
	add_wrong_point(r, points);
	add_node_points(r->tally, points);
	add_request_point(r, points);
	add_time_points(r, points);
	add_program_point(r, points);
	return points;
}

/* Appends "3 of 40 entries are left" and the like: what a person wants to know first. */
void show_report_verdict(const struct figures_report *r, struct js_buf *out)
{
	const struct jobstack_status *s = &r->stack.s;
	double all = figures_time(r->tally->us), wasted = all - r->tally->us[JOBSTACK_DONE];

	if (figures_report_so_far(r))
		js_buf_printf(out, "%" PRIu64 " of %" PRIu64 " %s left. ", figures_stack_left(s),
			      SHOW_ENTRIES(s->pushed));
	else
		js_buf_str(out, "Finished. ");
	js_buf_printf(out, "%" PRIu64 " %s done", s->done + s->pruned, show_are(s->done + s->pruned));
	if (s->dead > 0)
		js_buf_printf(out, ", %" PRIu64 " dead: `jobstack requeue -s %s` retries %s", s->dead, r->stack.name,
			      s->dead == 1 ? "it" : "them");
	if (s->cancelled > 0)
		js_buf_printf(out, ", %" PRIu64 " cancelled", s->cancelled);
	js_buf_char(out, '.');
	if (wasted > 0)
		js_buf_printf(out, " %.1f %% of the commands' time was wasted.", 100 * figures_share(wasted, all));
}

/* Appends the text for the section "methods" of a paper.  It ends when it has METHODS bytes, so that a stack with very
 * many facts does not fill the report. */
void show_report_methods(const struct figures_report *r, struct js_buf *out)
{
	static const char *const heading[] = {[JOBSTACK_FACT_PROGRAM] = "Program:",
					      [JOBSTACK_FACT_MOUNT] = "Files on:",
					      [JOBSTACK_FACT_PLATFORM] = "Platform:"};
	const struct figures_tally *t = r->tally;

	if (r->facts.n == 0 || t->first_us < 0)
		return;
	js_buf_printf(out,
		      "%" PRIu64 " of %" PRIu64 " files were processed between %.10s and %.10s on %zu %s (%s in "
		      "commands) with jobstack.\n",
		      r->stack.s.done + r->stack.s.pruned, r->stack.s.pushed, show_second(t->first_us).text,
		      show_second(t->last_us).text, t->node_n, t->node_n == 1 ? "node" : "nodes",
		      show_took(figures_time(t->us)).text);
	for (size_t i = 0; i < r->facts.n && out->len < METHODS; i++) {
		const struct jobstack_stack_fact *f = &r->facts.at[i].f;

		if ((unsigned)f->kind >= sizeof(heading) / sizeof(heading[0]))
			continue;
		js_buf_printf(out, "\n%s\n", heading[f->kind]);
		if (f->kind == JOBSTACK_FACT_PROGRAM)
			show_version(out, "  ", f->text);
		else
			show_safe_lines(out, "  ", f->text, strlen(f->text));
	}
	if (out->len >= METHODS)
		js_buf_str(out, "\n... (`jobstack show` prints the rest)\n");
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What stands out in a report, in a few sentences: what went wrong, which node is bad, what to request for the next
 * run.
 */
#include "base/clock.h"
#include "view/report.h"
#include "view/version.h"
#include "view/words.h"

#include <inttypes.h>
#include <string.h>

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
		js_buf_printf(out, "; it ends in about %s", view_eta(&r->pace).text);
	js_buf_char(out, '.');
}

static void add_wrong_sign(const struct insight_report *r, struct view_signs *s)
{
	const struct insight_failure *f = &r->failures.group[0];
	const struct insight_tally_cause *c = &r->tally->cause[0];
	struct js_buf *out = next_sign(s);

	js_buf_str(out, "What went wrong: ");
	if (r->failures.n > 0) {
		const char *how = view_failure_how(&f->f).text;
		int quoted = !f->f.various && f->example[0] != '\0', words = !f->f.various && f->reason[0] != '\0';

		js_buf_printf(out, "%" PRIu64 " of %" PRIu64 " dead %s: ", f->f.count, r->stack.s.dead,
			      r->stack.s.dead == 1 ? "entry" : "entries");
		if (!words || quoted || strncmp(f->reason, how, strlen(how)) != 0) /* "killed by alice" says it all */
			js_buf_str(out, how);
		if (quoted)
			js_buf_printf(out, ", \"%s\"", f->example);
		else if (words)
			js_buf_printf(out, "%s%s", out->data[out->len - 1] == ' ' ? "" : ": ", f->reason);
		view_version_only(out, f->program);
		js_buf_char(out, '.');
	} else if (r->tally->cause_n > 0)
		js_buf_printf(out, "%" PRIu64 " of %" PRIu64 " attempts were not done; most time went into \"%s%s%s\".",
			      insight_attempts(r->tally->n) - r->tally->n[JOBSTACK_DONE], insight_attempts(r->tally->n),
			      c->outcome < 0 ? "" : view_outcome_word(c->outcome), c->outcome < 0 ? "" : ": ",
			      c->words);
	else
		js_buf_str(out, "nothing; every attempt was done.");
}

static void add_node_sign(const struct insight_tally *t, const struct insight_tally_node *n, struct view_signs *s)
{
	struct js_buf *out = next_sign(s);
	uint64_t bad = n->n[JOBSTACK_FAILED] + n->n[JOBSTACK_LOST];
	double done = 0, us = 0;

	js_buf_printf(out, "Bad node: %s", n->name);
	if (n->fails)
		js_buf_printf(out,
			      ": %" PRIu64 " of %" PRIu64 " attempts failed or were lost there, elsewhere %" PRIu64
			      " of %" PRIu64,
			      bad, insight_attempts(n->n), t->n[JOBSTACK_FAILED] + t->n[JOBSTACK_LOST] - bad,
			      insight_attempts(t->n) - insight_attempts(n->n));
	for (size_t i = 0; i < t->node_n; i++) {
		done += &t->node[i] == n ? 0 : (double)t->node[i].took.n;
		us += &t->node[i] == n ? 0 : (double)t->node[i].took.n * t->node[i].took.mean;
	}
	if (n->slow && done > 0)
		js_buf_printf(out, "%s done attempts took %s on average, elsewhere %s", n->fails ? ";" : ":",
			      view_took(n->took.mean).text, view_took(us / done).text);
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
		js_buf_printf(next_sign(s), "%zu more nodes stand out: see the nodes below.", bad - VIEW_SIGNS_NODES);
	else if (bad == 0 && t->node_n > 1)
		js_buf_printf(next_sign(s), "Bad node: none. What differs among the %zu nodes may be chance.",
			      t->node_n);
}

static void add_request_sign(const struct insight_report *r, struct view_signs *s)
{
	struct insight_advice a;
	int64_t within_us;
	uint64_t n = insight_report_request(r, &a, &within_us);
	struct js_buf *out;

	if (!a.known)
		return;
	out = next_sign(s);
	js_buf_printf(out, "Request next time: --time=%s", view_sbatch_time(a.time_us).text);
	if (a.mem_kib > 0)
		js_buf_printf(out, " --mem=%s", view_sbatch_size(a.mem_kib * a.slots).text);
	js_buf_printf(out, " --cpus-per-task=%" PRIu32, a.slots * a.cpus);
	if (n > 0)
		js_buf_printf(out, " --array=1-%" PRIu64 " (to finish %" PRIu64 " %s in %s)", n, a.entries,
			      a.entries == 1 ? "entry" : "entries", view_whole(within_us).text);
	js_buf_char(out, '.');
}

void view_signs_read(struct view_signs *s, const struct insight_report *r)
{
	add_pace_sign(r, s);
	add_wrong_sign(r, s);
	add_nodes_sign(r->tally, s);
	add_request_sign(r, s);
}

void view_signs_free(struct view_signs *s)
{
	for (size_t i = 0; i < VIEW_SIGNS; i++)
		js_buf_free(&s->line[i]);
}

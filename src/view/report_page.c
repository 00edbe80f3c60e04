/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The report as a page for a browser.  Promises: it asks nobody for anything; it is as large for ten million entries as
 * for ten; without its script it can be read as well.
 */
#include "view/report.h"

#include "view/html.h"
#include "view/words.h"
#include "view/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NODES 40    /* that are listed: first those with a problem, then by name */
#define MOST 250000 /* bytes for the reports of all stacks; the rest of a page is for their table and the findings */
#define ALONE 25000 /* bytes more if there is one stack only */

/* ------------------------------------------------------------------------------------------------------- verdict */

/* "3 of 40 entries are dead" and the like: what a person wants to know first. */
static void add_verdict(struct js_buf *out, const struct insight_report *r)
{
	const struct jobstack_status *s = &r->stack.s;
	const struct insight_tally *t = r->tally;
	double all = insight_time(t->us);

	js_buf_str(out, "<p class=\"verdict\">");
	if (insight_report_so_far(r))
		js_buf_printf(out, "%" PRIu64 " of %" PRIu64 " %s left. ", insight_stack_left(s),
			      VIEW_ENTRIES(s->pushed));
	else
		js_buf_str(out, "Finished. ");
	js_buf_printf(out, "%" PRIu64 " %s done", s->done + s->pruned, s->done + s->pruned == 1 ? "is" : "are");
	if (s->dead > 0)
		js_buf_printf(out,
			      ", <strong>%" PRIu64 " dead</strong>: <code>jobstack requeue -s %s</code> retries %s",
			      s->dead, r->stack.name, s->dead == 1 ? "it" : "them");
	if (s->cancelled > 0)
		js_buf_printf(out, ", %" PRIu64 " cancelled", s->cancelled);
	js_buf_char(out, '.');
	if (all > t->us[JOBSTACK_DONE])
		js_buf_printf(out, " %.1f %% of the commands' time was wasted.",
			      100 * insight_share(all - t->us[JOBSTACK_DONE], all));
	js_buf_str(out, "</p>\n");
}

static void add_outcome_bar(struct js_buf *out, const struct jobstack_status *s)
{
	const struct {
		const char *name, *class;
		uint64_t n;
	} part[] = {{"done", "done", s->done + s->pruned},
		    {"dead", "bad", s->dead},
		    {"running", "run", s->running},
		    {"left", "rest", 0}};
	uint64_t known = 0, all = s->pushed - s->moved;
	double x = 0;

	js_buf_str(out, "<svg class=\"whole\" viewBox=\"0 0 1000 24\" preserveAspectRatio=\"none\" "
			"role=\"img\"><title>outcomes</title>");
	for (int i = 0; i < 4; i++) {
		uint64_t n = i < 3 ? part[i].n : all > known ? all - known : 0;
		double wide = 1000 * insight_share((double)n, (double)all);

		known += n;
		if (n == 0)
			continue;
		wide = wide < 3 ? 3 : wide;
		js_buf_printf(out,
			      "<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" height=\"24\"><title>%" PRIu64
			      " %s</title></rect>",
			      part[i].class, x, wide, n, part[i].name);
		x += wide;
	}
	js_buf_str(out, "</svg>\n");
	html_table(out, "state|#entries|#share", 0);
	known = 0;
	for (int i = 0; i < 4; i++) {
		uint64_t n = i < 3 ? part[i].n : all > known ? all - known : 0;

		known += n;
		html_row(out);
		html_cell(out, i == 3 ? "ready, waiting, held or cancelled" : part[i].name);
		html_count(out, n);
		html_number(out, insight_share((double)n, (double)all),
			    view_percent(insight_share((double)n, (double)all)).text);
	}
	html_table_end(out, 0);
}

/* A sentence.  The words before its first colon are bold, options are code. */
static void add_sign(struct js_buf *out, const struct js_buf *line)
{
	const char *at = line->data, *colon = at == NULL ? NULL : strchr(at, ':');

	out->failed |= line->failed;
	if (colon == NULL)
		return;
	js_buf_str(out, "<li><strong>");
	html_text(out, at, (size_t)(colon - at));
	js_buf_str(out, "</strong>");
	for (at = colon; *at != '\0';) {
		size_t len = strspn(at, " ") + strcspn(at + strspn(at, " "), " ");
		int option = strncmp(at, " --", 3) == 0;

		js_buf_str(out, option ? " <code>" : "");
		html_text(out, at + option, len - (size_t)option);
		js_buf_str(out, option ? "</code>" : "");
		at += len;
	}
	js_buf_str(out, "</li>\n");
}

/* What stands out. */
static void add_signs(struct js_buf *out, const struct insight_report *r)
{
	struct view_signs signs = {.n = 0};

	view_signs_read(&signs, r);
	js_buf_str(out, "<ul>");
	for (size_t i = 0; i < signs.n; i++) {
		add_sign(out, &signs.line[i]);
	}
	js_buf_str(out, "</ul>\n");
	view_signs_free(&signs);
}

/* ----------------------------------------------------------------------------------------------------- durations */

void view_page_histogram(struct js_buf *out, const struct js_sketch *s, const char *what)
{
	struct insight_bar bar[INSIGHT_BARS];
	size_t n = insight_report_histogram(s, bar);
	char text[64];
	uint64_t most = 1;

	for (size_t i = 0; i < n; i++)
		most = bar[i].n > most ? bar[i].n : most;
	(void)snprintf(text, sizeof(text), "#from|#%s|share of the largest", what);
	html_table(out, text, 0);
	for (size_t i = 0; i < n; i++) {
		if ((uint64_t)bar[i].to <= s->min)
			continue;
		html_row(out);
		html_number(out, (double)bar[i].from, view_took((double)bar[i].from).text);
		html_count(out, bar[i].n);
		html_bar(out, insight_share((double)bar[i].n, (double)most), "done");
	}
	html_table_end(out, 0);
	html_section_end(out);
}

static void add_durations(struct js_buf *out, const struct insight_tally *t)
{
	const struct js_sketch *s = &t->done_us;

	if (s->n < 2)
		return;
	html_section(out, "How long the entries took",
		     "Of %" PRIu64 " done attempts: p50 %s, p95 %s, p99 %s, longest %s.", s->n,
		     view_took((double)js_sketch_quantile(s, 0.5)).text,
		     view_took((double)js_sketch_quantile(s, 0.95)).text,
		     view_took((double)js_sketch_quantile(s, 0.99)).text, view_took((double)s->max).text);
	view_page_histogram(out, s, "attempts");
}

static void add_slowest(struct js_buf *out, const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;

	if (t->slow_n < 2)
		return;
	html_section(out, "The slowest attempts", "%s", "");
	html_table(out, "#took|#entry|outcome|node|datapath", 0);
	for (size_t i = 0; i < t->slow_n; i++) {
		const struct insight_tally_slow *s = &t->slow[i];

		html_row(out);
		html_number(out, (double)s->us, view_took((double)s->us).text);
		html_count(out, s->entry);
		html_cell(out, view_outcome_word(s->outcome));
		html_cell(out, s->node);
		html_cell_name(out, r->slow[i].data, r->slow[i].len);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

/* -------------------------------------------------------------------------------------------------- what failed */

static void add_failures(struct js_buf *out, const struct insight_report *r)
{
	struct js_buf message = {0};

	if (r->failures.n == 0)
		return;
	html_section(out, "Why entries are dead",
		     "Similar failures are one row, with the message of one of them as an example.");
	html_table(out, "#entries|how|message|node|example", 0);
	for (size_t i = 0; i < r->failures.n; i++) {
		const struct insight_failure *f = &r->failures.group[i];

		html_row(out);
		html_count(out, f->f.count);
		html_cell(out, view_failure_how(&f->f).text);
		js_buf_reset(&message);
		js_buf_str(&message, f->f.various ? "(various)" : f->example[0] != '\0' ? f->example : f->reason);
		view_version_only(&message, f->program);
		html_cell(out, message.data == NULL ? "" : message.data);
		html_cell(out, f->node);
		js_buf_printf(out, "<td><code>jobstack logs -s %s %" PRIu64 "</code></td>", r->stack.name, f->f.entry);
	}
	js_buf_free(&message);
	html_table_end(out, 0);
	html_section_end(out);
}

static void add_waste(struct js_buf *out, const struct insight_tally *t)
{
	double all = insight_time(t->us), wasted = all - t->us[JOBSTACK_DONE];
	char text[160];

	if (t->cause_n < 2)
		return;
	html_section(out, "Wasted time, by cause", "%s of the %s that all commands took together (%.1f %%).",
		     view_took(wasted).text, view_took(all).text, 100 * insight_share(wasted, all));
	html_table(out, "cause|#attempts|#time|share", 0);
	for (size_t i = 0; i < t->cause_n; i++) {
		const struct insight_tally_cause *c = &t->cause[i];

		html_row(out);
		(void)snprintf(text, sizeof(text), "%s%s%s", c->outcome < 0 ? "" : view_outcome_word(c->outcome),
			       c->outcome < 0 ? "" : ": ", c->words);
		html_cell(out, text);
		html_count(out, c->n);
		html_number(out, c->us, view_took(c->us).text);
		html_bar(out, insight_share(c->us, wasted), "bad");
	}
	html_table_end(out, 0);
	html_section_end(out);
}

/* ------------------------------------------------------------------------------------------------ where, and when */

void view_page_spread(struct js_buf *out, const struct insight_spread *took, const struct insight_spread *moved)
{
	const struct insight_spread *of[2] = {took, moved};

	for (int k = 0; k < 2; k++) {
		double cv = insight_spread_cv(of[k]);
		char text[32];

		html_number(out, of[k]->n > 0 ? of[k]->mean : -1,
			    of[k]->n == 0 ? "-"
			    : k == 0	  ? view_took(of[k]->mean).text
					  : view_size(of[k]->mean).text);
		(void)snprintf(text, sizeof(text), cv < 0 ? "-" : "%.2f", cv);
		html_number(out, cv, text);
	}
}

/* A bar: a mean time, as a share of the longest. */
static void add_mean_bar(struct js_buf *out, const struct insight_spread *took, double longest)
{
	html_bar(out, took->n > 0 ? insight_share(took->mean, longest) : 0, "done");
}

static void add_nodes(struct js_buf *out, const struct insight_tally *t)
{
	size_t shown = t->node_n < NODES ? t->node_n : NODES;
	double longest = 0;

	if (t->node_n < 2)
		return;
	html_section(out, "Nodes",
		     "Mean and coefficient of variation (CV) of the done attempts' time, and of the bytes that they "
		     "read and wrote in a second.%s",
		     t->node_n > NODES ? " Only some of the nodes are listed: jobstack report --json has all." : "");
	html_table(out, "node|problem|#attempts|#failed|#lost|#mean time|#CV of time|#bytes/s|#CV of bytes/s|mean time",
		   0);
	for (size_t i = 0; i < shown; i++)
		longest = t->node[i].took.mean > longest ? t->node[i].took.mean : longest;
	for (size_t i = 0; i < shown; i++) {
		const struct insight_tally_node *n = &t->node[i];
		const uint64_t count[3] = {insight_attempts(n->n), n->n[JOBSTACK_FAILED], n->n[JOBSTACK_LOST]};

		html_row(out);
		html_cell(out, n->name);
		html_cell(out, n->fails && n->slow ? "fails, slow" : n->fails ? "fails" : n->slow ? "slow" : "");
		for (int k = 0; k < 3; k++)
			html_count(out, count[k]);
		view_page_spread(out, &n->took, &n->moved);
		add_mean_bar(out, &n->took, longest);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

static void add_hours(struct js_buf *out, const struct insight_tally *t)
{
	char text[32];
	int hours = 0;
	double longest = 0;

	for (int i = 0; i < 24; i++) {
		hours += t->took[i].n > 0;
		longest = t->took[i].mean > longest ? t->took[i].mean : longest;
	}
	if (hours < 2)
		return;
	html_section(out, "Hours of the day",
		     "When the done attempts began, in UTC. A busy file system shows as slow hours.");
	html_table(out, "hour|#done|#mean time|#CV of time|#bytes/s|#CV of bytes/s|mean time", 0);
	for (int i = 0; i < 24; i++) {
		if (t->took[i].n == 0)
			continue;
		html_row(out);
		(void)snprintf(text, sizeof(text), "%02d:00", i);
		html_cell(out, text);
		html_count(out, t->took[i].n);
		view_page_spread(out, &t->took[i], &t->moved[i]);
		add_mean_bar(out, &t->took[i], longest);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

/* ---------------------------------------------------------------------------------------------------- resources */

static void add_bytes(struct js_buf *out, const struct insight_tally *t)
{
	unsigned from[2] = {INSIGHT_SIZES, INSIGHT_SIZES}, to[2] = {0, 0}; /* the classes of reading and writing */
	uint64_t most = 1;
	int cells = 0;

	for (unsigned r = 0; r < INSIGHT_SIZES; r++)
		for (unsigned w = 0; w < INSIGHT_SIZES; w++) {
			if (t->bytes[r][w] == 0)
				continue;
			cells++;
			most = t->bytes[r][w] > most ? t->bytes[r][w] : most;
			from[0] = r < from[0] ? r : from[0];
			to[0] = r > to[0] ? r : to[0];
			from[1] = w < from[1] ? w : from[1];
			to[1] = w > to[1] ? w : to[1];
		}
	if (cells < 2)
		return;
	for (int k = 0; k < 2; k++) /* few classes would be large */
		to[k] = to[k] - from[k] < 5 ? from[k] + 5 : to[k];
	html_section(
		out, "Bytes read against bytes written",
		"%s read and %s written by system calls; what the page cache answered is in it. To the right: more "
		"read; upwards: more written, from %s to %s.",
		view_size(t->read_bytes).text, view_size(t->write_bytes).text,
		view_size(insight_size_from(from[1])).text, view_size(insight_size_from(to[1])).text);
	js_buf_printf(out,
		      "<svg class=\"graph\" viewBox=\"0 0 %u %u\" role=\"img\"><title>attempts by bytes read (to the "
		      "right) and written (upwards)</title>",
		      (to[0] - from[0] + 1) * 4, to[1] - from[1] + 1);
	for (unsigned r = from[0]; r <= to[0]; r++)
		for (unsigned w = from[1]; w <= to[1]; w++)
			if (t->bytes[r][w] > 0)
				js_buf_printf(
					out,
					"<rect class=\"done\" fill-opacity=\"%.2f\" x=\"%u\" y=\"%.2f\" width=\"3.95\" "
					"height=\"0.95\"><title>read from %s, wrote from %s: %" PRIu64
					"</title></rect>",
					0.25 + 0.75 * insight_share((double)t->bytes[r][w], (double)most),
					4 * (r - from[0]), to[1] - w + 0.02, view_size(insight_size_from(r)).text,
					view_size(insight_size_from(w)).text, t->bytes[r][w]);
	js_buf_str(out, "</svg>\n");
	html_ends(out, view_size(insight_size_from(from[0])).text, view_size(insight_size_from(to[0])).text);
	html_table(out, "#read from|#written from|#attempts", 1);
	for (unsigned r = 0; r < INSIGHT_SIZES; r++)
		for (unsigned w = 0; w < INSIGHT_SIZES; w++) {
			if (t->bytes[r][w] == 0)
				continue;
			html_row(out);
			html_number(out, insight_size_from(r), view_size(insight_size_from(r)).text);
			html_number(out, insight_size_from(w), view_size(insight_size_from(w)).text);
			html_count(out, t->bytes[r][w]);
		}
	html_table_end(out, 1);
	html_section_end(out);
}

static void add_resources(struct js_buf *out, const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;
	struct js_buf requested = {0};
	const struct {
		const char *name;
		const struct js_sketch *of;
	} memory[] = {{"largest process, with libraries and mapped files", &t->rss_kib},
		      {"all processes together, without libraries and mapped files (commands over 1 s)", &t->peak_kib}};

	if (t->cpu_n == 0 && t->rss_kib.n == 0)
		return;
	html_section(out, "Memory and CPU", "The commands used %s of CPU time, %.0f %% of the time that they ran.",
		     view_took(t->cpu_us).text, 100 * insight_share(t->cpu_us, t->cpu_of_us));
	html_table(out, "memory of an attempt|#attempts|#p50|#p99|#largest", 0);
	for (int i = 0; i < 2; i++) {
		const struct js_sketch *s = memory[i].of;
		const double kib[3] = {(double)js_sketch_quantile(s, 0.5), (double)js_sketch_quantile(s, 0.99),
				       (double)s->max};

		if (s->n == 0)
			continue;
		html_row(out);
		html_cell(out, memory[i].name);
		html_count(out, s->n);
		for (int k = 0; k < 3; k++)
			html_number(out, kib[k], view_size(1024 * kib[k]).text);
	}
	html_table_end(out, 0);
	view_report_requested(r, &requested);
	if (requested.len > 0) {
		js_buf_str(out, "<p>");
		html_text(out, requested.data, requested.len - 1);
		js_buf_str(out, "</p>\n");
	}
	js_buf_free(&requested);
	html_section_end(out);
}

static void add_advice(struct js_buf *out, const struct insight_report *r)
{
	struct js_buf text = {0};

	html_section(out, "For the next run",
		     "Computed from the attempts of this run. Replace COMMAND by your command.");
	view_report_advice(r, &text);
	if (r->advice.known && (r->wanted_us < 0 || insight_report_workers(r) > 0)) {
		js_buf_char(&text, '\n');
		view_report_slurm(r, &text);
	}
	html_lines(out, &text);
	html_section_end(out);
}

/* What is shown of every stack. */
static void add_head(struct js_buf *out, const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;

	js_buf_str(out, "<h1>");
	html_words(out, r->stack.name);
	js_buf_printf(out, "</h1>\n<p class=\"soft\">%s%s", view_stack_state(&r->stack.s),
		      insight_report_so_far(r) ? ", so far" : "");
	if (t->first_us >= 0 && t->last_us >= t->first_us)
		js_buf_printf(out, "; %s to %s, %s", view_second(t->first_us).text, view_second(t->last_us).text,
			      view_took((double)(t->last_us - t->first_us)).text);
	if (r->share != NULL) {
		js_buf_str(out, "; ");
		insight_share_say(r->share, out);
	}
	js_buf_str(out, "</p>\n");
	add_verdict(out, r);
	if (insight_attempts(t->n) > 0)
		add_signs(out, r);
	add_outcome_bar(out, &r->stack.s);
}

static void add_figures(struct js_buf *out, const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;

	add_failures(out, r);
	add_advice(out, r);
	view_page_time(out, r);
	add_durations(out, t);
	add_slowest(out, r);
	add_waste(out, t);
	add_nodes(out, t);
	add_hours(out, t);
	add_bytes(out, t);
	add_resources(out, r);
	view_page_origin(out, r);
}

void view_page_report(struct js_buf *out, struct view_page_stacks *all, const struct insight_report *r, size_t more)
{
	size_t most = more == 0 && all->n == 0 ? MOST + ALONE : MOST, start = out->len, brief,
	       room = (start < most ? most - start : 0) / (more + 1);

	view_page_keep(all, r);
	add_head(out, r);
	brief = out->len;
	if (insight_attempts(r->tally->n) > 0)
		add_figures(out, r);
	if (out->len - start <= room || out->failed)
		return;
	out->len = brief;
	js_buf_printf(
		out,
		"<p class=\"soft\">The rest does not fit on this page. Type: jobstack report %s --html %s.html</p>\n",
		r->stack.name, r->stack.name);
}

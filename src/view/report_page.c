/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The report as a page for a browser.  Promises: it asks nobody for anything; it is as large for ten million entries as
 * for ten; without its script it can be read as well.
 */
#include "view/report.h"

#include "base/clock.h"
#include "view/html.h"
#include "view/words.h"
#include "view/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 40 /* that are listed, the first by name */
#define HOURS 24 /* at most so many columns of the map of nodes */

/* Style and script, and what the page's policy knows them by: SHA-256, base64.  A test computes both again. */
#define STYLE_HASH "4+c87XG/4/DpzqCnTQQFYqGisTNv0xQLp9flS9zBxoQ="
#define SCRIPT_HASH "rBjakW9s6++xGeJOzvk04eZwfk+XvOfxSkBVxWpgYLE="
/* clang-format off */
static const char style[] =
	":root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#6a6a6a;--line:#d8d8d8;--done:#0072b"
	"2;--bad:#d55e00;--run:#e69f00;--rest:#bdbdbd}@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;-"
	"-paper:#16181a;--soft:#a0a0a0;--line:#3a3d40;--done:#56b4e9;--bad:#e8833a;--run:#f0c04a;--rest:#5a5d"
	"60}}body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;m"
	"ax-width:60rem;padding:1rem}h1{font-size:1.5rem;margin:2rem 0 .5rem}h2{font-size:1.1rem;margin:2rem "
	"0 .3rem}p{margin:.3rem 0 .8rem}.verdict{font-size:1.15rem}.soft,footer{color:var(--soft);font-size:."
	"9rem}svg{display:block;width:100%}.graph{height:auto}.whole{height:1.4rem}.done{fill:var(--done)}.ba"
	"d{fill:var(--bad)}.run{fill:var(--run)}.rest{fill:var(--rest)}.all{fill:transparent}.axis{stroke:var"
	"(--soft);fill:none}g:hover .all{fill:var(--line)}.ends{display:flex;justify-content:space-between}.w"
	"ide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}th,td{padding:.2rem .7rem .2rem 0"
	";text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}td{overflow-wrap:anywhere}.n"
	"{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.bar{width:30%;min-width:5rem"
	"}.bar svg{height:.8rem;margin-top:.3rem}th button{all:unset;cursor:pointer}th button:focus-visible{o"
	"utline:2px solid var(--done)}pre{overflow-x:auto;padding:.7rem;border:1px solid var(--line)}.heat ta"
	"ble{font-size:.75rem}.heat td,.heat th{padding:.1rem .25rem;white-space:nowrap}.h1{background:#e69f0"
	"026}.h2{background:#e69f0059}.h3{background:#e69f0080}.h4,.h5{background:#e69f00bf;color:#1b1b1b}.h5"
	"{background:#e69f00}summary{cursor:pointer;color:var(--soft)}@media print{body{max-width:none}detail"
	"s{display:none}section{break-inside:avoid}}";

/* A click on a heading sorts the table. */
static const char script[] =
	"for(const t of document.querySelectorAll('table')){const b=t.tBodies[0];[...t.tHead.rows[0].cells].f"
	"orEach((h,i)=>{const k=document.createElement('button');k.append(...h.childNodes);h.append(k);k.titl"
	"e='sort';k.onclick=()=>{const up=h.getAttribute('aria-sort')!='descending';for(const o of t.tHead.ro"
	"ws[0].cells)o.removeAttribute('aria-sort');h.setAttribute('aria-sort',up?'descending':'ascending');c"
	"onst v=r=>{const c=r.cells[i];return c?c.dataset.v===undefined?c.textContent:+c.dataset.v:''};b.appe"
	"nd(...[...b.rows].sort((x,y)=>{const p=v(x),q=v(y);return(up?-1:1)*(p<q?-1:p>q?1:0)}))}})}";
/* clang-format on */

void view_page_begin(struct js_buf *out, const char *title, unsigned reload_s)
{
	js_buf_str(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
			"'sha256-" STYLE_HASH "'; script-src 'sha256-" SCRIPT_HASH "'\">\n"
			"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
	if (reload_s > 0)
		js_buf_printf(out, "<meta http-equiv=\"refresh\" content=\"%u\">\n", reload_s);
	js_buf_str(out, "<title>");
	html_words(out, title);
	js_buf_printf(out, "</title>\n<style>%s</style></head><body><main>\n", style);
}

void view_page_end(struct js_buf *out)
{
	js_buf_printf(
		out, "</main><footer>jobstack report, %s. Times are UTC.</footer>\n<script>%s</script></body></html>\n",
		view_second(js_clock_wall_us()).text, script);
}

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
		js_buf_printf(out, "Nothing is left to do. ");
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
		char text[32];

		known += n;
		if (i > 0)
			html_row(out);
		html_cell(out, i == 3 ? "ready, waiting, held or cancelled" : part[i].name);
		(void)snprintf(text, sizeof(text), "%" PRIu64, n);
		html_number(out, (double)n, text);
		html_number(out, insight_share((double)n, (double)all),
			    view_percent(insight_share((double)n, (double)all)).text);
	}
	html_table_end(out, 0);
}

/* --------------------------------------------------------------------------------------------------------- time */

/* "06:20 on 2026-11-21" is too long below a column: the moment as it is, without the T. */
static struct view_amount format_step(const struct js_timeline *l, size_t i)
{
	struct view_amount a = view_second((l->first + (int64_t)i) * l->step_us);

	a.text[10] = a.text[0] != '\0' ? ' ' : '\0';
	a.text[16] = '\0';
	return a;
}

/* The columns of a timeline: counts of two kinds, or, BUSY, how many commands ran at once on average. */
static size_t make_columns(const struct js_timeline *l, int busy, struct html_column column[INSIGHT_REPORT_STEPS],
			   size_t *first)
{
	size_t from, to, n = 0;

	if (js_timeline_range(l, &from, &to) != 0)
		return 0;
	*first = from;
	for (size_t i = from; i <= to && n < INSIGHT_REPORT_STEPS; i++, n++) {
		struct html_column *c = &column[n];

		c->value[0] = (double)l->count[i][0] / (busy ? (double)l->step_us : 1);
		c->value[1] = busy ? 0 : (double)l->count[i][1];
		if (busy)
			(void)snprintf(c->label, sizeof(c->label), "%.20s: %.1f running", format_step(l, i).text,
				       c->value[0]);
		else
			(void)snprintf(c->label, sizeof(c->label), "%.20s: %.0f done, %.0f not done",
				       format_step(l, i).text, c->value[0], c->value[1]);
	}
	return n;
}

static void add_timeline(struct js_buf *out, const struct js_timeline *l, int busy)
{
	static const char *const classes[2] = {"done", "bad"}, *const running[2] = {"run", "run"};
	struct html_column column[INSIGHT_REPORT_STEPS];
	size_t first = 0, n = make_columns(l, busy, column, &first);
	double most = 0;

	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++)
		most = column[i].value[0] + column[i].value[1] > most ? column[i].value[0] + column[i].value[1] : most;
	html_section(out, busy ? "Running over time" : "Done over time", "Each column is %s; the highest is %.*f.%s",
		     view_took((double)l->step_us).text, busy, most,
		     busy ? " Commands at once, on average." : " Attempts that were not done are on top.");
	html_columns(out, busy ? "commands that ran at once" : "attempts that ended", column, n,
		     busy ? running : classes);
	html_ends(out, format_step(l, first).text, format_step(l, first + n).text);
	html_table(out, busy ? "from|#running" : "from|#done|#not done", 1);
	for (size_t i = 0; i < n; i++) {
		char text[32];

		if (i > 0)
			html_row(out);
		html_cell(out, format_step(l, first + i).text);
		for (int k = 0; k < (busy ? 1 : 2); k++) {
			(void)snprintf(text, sizeof(text), busy ? "%.1f" : "%.0f", column[i].value[k]);
			html_number(out, column[i].value[k], text);
		}
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
		*at += (double)node->count[i][0] / (double)busy->step_us;
		most = *at > most ? *at : most;
	}
	return most;
}

/* Busy slots by node and time: a table whose cells are coloured. */
static void add_heat(struct js_buf *out, const struct insight_tally *t)
{
	struct js_timeline busy = t->busy;
	double at_once[HOURS];
	size_t first, last;
	int rows = 0;

	js_timeline_fit(&busy, HOURS);
	if (t->heat_n < 2 || js_timeline_range(&busy, &first, &last) != 0 || first == last)
		return;
	html_section(
		out, "Busy slots, by node and time",
		"In percent of the slots of the node's largest worker, or of the most commands that it ran at once. "
		"Each column is %s, from %s.%s",
		view_took((double)busy.step_us).text, format_step(&busy, first).text,
		t->node_n > t->heat_n ? " Nodes that came later are left out." : "");
	js_buf_str(out, "<div class=\"heat\">");
	html_table_begin(out);
	html_heading(out, "node", 0);
	for (size_t i = first; i <= last; i++)
		html_heading(out, format_step(&busy, i).text + (busy.step_us < 86400 * JS_SECOND_US ? 11 : 5), 1);
	html_table_body(out);
	for (size_t k = 0; k < t->node_n; k++) {
		const struct insight_tally_node *n = &t->node[k];
		double most, slots = n->slots > 0 ? n->slots : 1;

		if (n->heat == 0)
			continue;
		most = read_heat(&busy, &t->heat[n->heat - 1], at_once);
		slots = most > slots ? most : slots;
		if (rows++ > 0)
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

static void add_durations(struct js_buf *out, const struct insight_tally *t)
{
	const struct js_sketch *s = &t->done_us;
	struct insight_bar bar[INSIGHT_BARS];
	size_t n = insight_report_histogram(s, bar);
	uint64_t most = 1;
	char text[32];
	int rows = 0;

	if (s->n < 2)
		return;
	html_section(out, "How long the entries took",
		     "Of %" PRIu64 " done attempts: p50 %s, p95 %s, p99 %s, longest %s.", s->n,
		     view_took((double)js_sketch_quantile(s, 0.5)).text,
		     view_took((double)js_sketch_quantile(s, 0.95)).text,
		     view_took((double)js_sketch_quantile(s, 0.99)).text, view_took((double)s->max).text);
	for (size_t i = 0; i < n; i++)
		most = bar[i].n > most ? bar[i].n : most;
	html_table(out, "#from|#attempts|share of the largest", 0);
	for (size_t i = 0; i < n; i++) {
		if ((uint64_t)bar[i].to <= s->min)
			continue;
		if (rows++ > 0)
			html_row(out);
		html_number(out, (double)bar[i].from, view_took((double)bar[i].from).text);
		(void)snprintf(text, sizeof(text), "%" PRIu64, bar[i].n);
		html_number(out, (double)bar[i].n, text);
		html_bar(out, insight_share((double)bar[i].n, (double)most), "done");
	}
	html_table_end(out, 0);
	html_section_end(out);
}

static void add_slowest(struct js_buf *out, const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;
	char text[32];

	if (t->slow_n < 2)
		return;
	html_section(out, "The slowest attempts", "%s", "");
	html_table(out, "#took|#entry|outcome|node|datapath", 0);
	for (size_t i = 0; i < t->slow_n; i++) {
		const struct insight_tally_slow *s = &t->slow[i];

		if (i > 0)
			html_row(out);
		html_number(out, (double)s->us, view_took((double)s->us).text);
		(void)snprintf(text, sizeof(text), "%" PRIu64, s->entry);
		html_number(out, (double)s->entry, text);
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
	char text[32];

	if (r->failures.n == 0)
		return;
	html_section(out, "Why entries are dead",
		     "Failures that look alike are one group, with the message of one of them.");
	html_table(out, "#entries|how|message|node|example", 0);
	for (size_t i = 0; i < r->failures.n; i++) {
		const struct insight_failure *f = &r->failures.group[i];

		if (i > 0)
			html_row(out);
		(void)snprintf(text, sizeof(text), "%" PRIu64, f->f.count);
		html_number(out, (double)f->f.count, text);
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

	if (t->cause_n == 0)
		return;
	html_section(out, "Wasted time, by cause", "%s of %s in commands (%.1f %%).", view_took(wasted).text,
		     view_took(all).text, 100 * insight_share(wasted, all));
	html_table(out, "cause|#attempts|#time|share", 0);
	for (size_t i = 0; i < t->cause_n; i++) {
		const struct insight_tally_cause *c = &t->cause[i];

		if (i > 0)
			html_row(out);
		(void)snprintf(text, sizeof(text), "%s%s%s", c->outcome < 0 ? "" : view_outcome_word(c->outcome),
			       c->outcome < 0 ? "" : ": ", c->words);
		html_cell(out, text);
		(void)snprintf(text, sizeof(text), "%" PRIu64, c->n);
		html_number(out, (double)c->n, text);
		html_number(out, c->us, view_took(c->us).text);
		html_bar(out, insight_share(c->us, wasted), "bad");
	}
	html_table_end(out, 0);
	html_section_end(out);
}

/* ------------------------------------------------------------------------------------------------ where, and when */

static void add_spread(struct js_buf *out, const struct insight_spread *took, const struct insight_spread *moved)
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

static void add_nodes(struct js_buf *out, const struct insight_tally *t)
{
	char text[32];
	size_t shown = t->node_n < NODES ? t->node_n : NODES;

	if (t->node_n < 2)
		return;
	html_section(out, "Nodes",
		     "Mean and coefficient of variation (CV) of the done attempts' time, and of the bytes that they "
		     "read and wrote in a second.%s",
		     t->node_n > NODES ? " Only some of the nodes are listed: jobstack report --json has all." : "");
	html_table(out, "node|#attempts|#failed|#lost|#time|#CV|#bytes/s|#CV", 0);
	for (size_t i = 0; i < shown; i++) {
		const struct insight_tally_node *n = &t->node[i];
		const uint64_t count[3] = {insight_attempts(n->n), n->n[JOBSTACK_FAILED], n->n[JOBSTACK_LOST]};

		if (i > 0)
			html_row(out);
		html_cell(out, n->name);
		for (int k = 0; k < 3; k++) {
			(void)snprintf(text, sizeof(text), "%" PRIu64, count[k]);
			html_number(out, (double)count[k], text);
		}
		add_spread(out, &n->took, &n->moved);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

static void add_hours(struct js_buf *out, const struct insight_tally *t)
{
	char text[32];
	int hours = 0, rows = 0;

	for (int i = 0; i < 24; i++)
		hours += t->took[i].n > 0;
	if (hours < 2)
		return;
	html_section(out, "Hours of the day",
		     "When the done attempts began, in UTC. A busy file system shows as slow hours.");
	html_table(out, "hour|#done|#time|#CV|#bytes/s|#CV", 0);
	for (int i = 0; i < 24; i++) {
		if (t->took[i].n == 0)
			continue;
		if (rows++ > 0)
			html_row(out);
		(void)snprintf(text, sizeof(text), "%02d:00", i);
		html_cell(out, text);
		(void)snprintf(text, sizeof(text), "%" PRIu64, t->took[i].n);
		html_number(out, (double)t->took[i].n, text);
		add_spread(out, &t->took[i], &t->moved[i]);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

/* ---------------------------------------------------------------------------------------------------- resources */

static void add_bytes(struct js_buf *out, const struct insight_tally *t)
{
	unsigned from[2] = {INSIGHT_SIZES, INSIGHT_SIZES}, to[2] = {0, 0}; /* the classes of reading and writing */
	uint64_t most = 1;
	char text[96];
	int cells = 0, rows = 0;

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
			if (rows++ > 0)
				html_row(out);
			html_number(out, insight_size_from(r), view_size(insight_size_from(r)).text);
			html_number(out, insight_size_from(w), view_size(insight_size_from(w)).text);
			(void)snprintf(text, sizeof(text), "%" PRIu64, t->bytes[r][w]);
			html_number(out, (double)t->bytes[r][w], text);
		}
	html_table_end(out, 1);
	html_section_end(out);
}

/* What the jobs requested, against what all slots together use where each runs an attempt of the p99. */
static void add_requested(struct js_buf *out, const struct insight_report *r)
{
	static const char *const line[2] = {"memory of the job, per node (MiB): ",
					    "memory of the job, per CPU (MiB): "};
	const struct insight_tally *t = r->tally;
	const struct js_sketch *s = t->peak_kib.n > 0 ? &t->peak_kib : &t->rss_kib;
	double mib[2] = {0, 0}, needed = 1024 * (double)js_sketch_quantile(s, 0.99);

	for (size_t i = 0; i < r->facts.n; i++)
		for (int k = 0; k < 2 && r->facts.at[i].f.kind == JOBSTACK_FACT_PLATFORM; k++) {
			const char *at = strstr(r->facts.at[i].f.text, line[k]);
			double one = at != NULL ? strtod(at + strlen(line[k]), NULL) : 0;

			mib[k] = one > mib[k] ? one : mib[k];
		}
	for (int k = 0; k < 2 && s->n > 0; k++) {
		unsigned slots = k == 0 && t->slots > 0 ? t->slots : 1;

		if (mib[k] <= 0)
			continue;
		js_buf_printf(out, "<p>Requested: %s per %s. %u %s of the p99 %s %s, which is %.0f %% of it.</p>\n",
			      view_size(mib[k] * 1048576).text, k == 0 ? "node" : "CPU", slots,
			      slots == 1 ? "attempt" : "attempts", slots == 1 ? "uses" : "use",
			      view_size(needed * slots).text, 100 * needed * slots / (mib[k] * 1048576));
	}
}

static void add_resources(struct js_buf *out, const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;

	const struct {
		const char *name;
		const struct js_sketch *of;
	} memory[] = {{"largest process", &t->rss_kib}, {"all processes together", &t->peak_kib}};
	int rows = 0;

	if (t->cpu_n == 0 && t->rss_kib.n == 0)
		return;
	html_section(out, "Memory and CPU", "The commands used %.0f %% of the CPU time that their slots had (%s).",
		     100 * insight_share(t->cpu_us, t->cpu_of_us), view_took(t->cpu_us).text);
	html_table(out, "memory of an attempt|#known of|#p50|#p99|#largest", 0);
	for (int i = 0; i < 2; i++) {
		const struct js_sketch *s = memory[i].of;
		const double kib[3] = {(double)js_sketch_quantile(s, 0.5), (double)js_sketch_quantile(s, 0.99),
				       (double)s->max};
		char text[32];

		if (s->n == 0)
			continue;
		if (rows++ > 0)
			html_row(out);
		html_cell(out, memory[i].name);
		(void)snprintf(text, sizeof(text), "%" PRIu64, s->n);
		html_number(out, (double)s->n, text);
		for (int k = 0; k < 3; k++)
			html_number(out, kib[k], view_size(1024 * kib[k]).text);
	}
	html_table_end(out, 0);
	add_requested(out, r);
	html_section_end(out);
}

static void add_advice(struct js_buf *out, const struct insight_report *r)
{
	struct js_buf text = {0};

	html_section(out, "For the next run", "How this is computed: docs/DATA.md.");
	view_report_advice(r, &text);
	if (r->advice.known && (r->wanted_us < 0 || insight_report_workers(r) > 0)) {
		js_buf_char(&text, '\n');
		view_report_slurm(r, &text);
	}
	html_lines(out, &text);
	html_section_end(out);
}

void view_page_report(struct js_buf *out, const struct insight_report *r)
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
	add_outcome_bar(out, &r->stack.s);
	if (insight_attempts(t->n) == 0)
		return;
	add_failures(out, r);
	add_advice(out, r);
	add_timeline(out, &t->timeline, 0);
	add_timeline(out, &t->busy, 1);
	add_heat(out, t);
	add_durations(out, t);
	add_slowest(out, r);
	add_waste(out, t);
	add_nodes(out, t);
	add_hours(out, t);
	add_bytes(out, t);
	add_resources(out, r);
	view_page_origin(out, r);
}

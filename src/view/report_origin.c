/* SPDX-License-Identifier: BSD-2-Clause
 *
 * On the page: which versions ran, on which file systems and platforms, and the ten findings.
 */
#include "view/amount.h"
#include "view/html.h"
#include "view/report.h"
#include "view/report_io.h"
#include "view/term.h"
#include "view/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 4096 /* bytes of the methods section */

/* What attempts with another version, or on another file system, did. */
static void add_facts(struct js_buf *out, const struct insight_report *r, enum jobstack_fact_kind kind)
{
	const struct insight_tally_fact *fact = kind == JOBSTACK_FACT_PROGRAM ? r->tally->program : r->tally->mount;
	size_t n = 0;
	double all = 0;

	for (; n < INSIGHT_FACTS && fact[n].number != 0; n++)
		all += fact[n].us;
	if (n < 2)
		return;
	if (kind == JOBSTACK_FACT_PROGRAM)
		html_section(
			out, "Programs and their versions",
			"Sorted by total time. jobstack list -s %s -t done --program-changed lists what was done by "
			"another version than the one that is there now.",
			r->stack.name);
	else
		html_section(out, "File systems", "Of the datapaths; the bytes are those of all files of an attempt.");
	html_table(out,
		   kind == JOBSTACK_FACT_PROGRAM ? "version|#attempts|#not done|#total time|share of "
						   "time|#bytes|#mean time|#CV of time|#bytes/s|#CV of bytes/s"
						 : "file system|#attempts|#not done|#total time|share of "
						   "time|#bytes|#mean time|#CV of time|#bytes/s|#CV of bytes/s",
		   0);
	for (size_t i = 0; i < n; i++) {
		const char *text = insight_facts_text(&r->facts, kind, fact[i].number);
		struct js_buf name = {0};

		html_row(out);
		if (kind == JOBSTACK_FACT_PROGRAM && text != NULL)
			view_version_short(&name, text);
		else
			js_buf_str(&name, text == NULL ? "?" : text);
		html_cell(out, name.data == NULL ? "?" : name.data);
		js_buf_free(&name);
		html_count(out, fact[i].n);
		html_count(out, fact[i].n - fact[i].done);
		html_number(out, fact[i].us, view_took(fact[i].us).text);
		html_bar(out, insight_share(fact[i].us, all), "done");
		html_number(out, fact[i].bytes, view_size(fact[i].bytes).text);
		view_page_spread(out, &fact[i].took, &fact[i].moved);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

static void add_packages(struct js_buf *out, const struct insight_packages *all)
{
	if (all->n == 0)
		return;
	html_section(out, "Python packages", "That most attempts imported; %" PRIu64 " more are not shown.", all->more);
	html_table(out, "package|version|#attempts|#nodes", 0);
	for (size_t i = 0; i < all->n; i++) {
		html_row(out);
		html_cell_name(out, all->at[i].name, strlen(all->at[i].name));
		html_cell_name(out, all->at[i].version, strlen(all->at[i].version));
		html_count(out, all->at[i].entries);
		html_count(out, all->at[i].nodes);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

/* What a paper says about the run, and what it ran on. */
static void add_methods(struct js_buf *out, const struct insight_report *r)
{
	static const char *const heading[] = {[JOBSTACK_FACT_PROGRAM] = "Program:",
					      [JOBSTACK_FACT_MOUNT] = "Files on:",
					      [JOBSTACK_FACT_PLATFORM] = "Platform:"};
	const struct insight_tally *t = r->tally;
	struct js_buf text = {0}, first = {0};

	if (r->facts.n == 0 || t->first_us < 0)
		return;
	html_section(out, "For the methods section of a paper", "%s", "");
	js_buf_printf(&first,
		      "%" PRIu64 " of %" PRIu64 " files were processed between %.10s and %.10s on %zu %s (%s in "
		      "commands) with jobstack.",
		      r->stack.s.done + r->stack.s.pruned, r->stack.s.pushed, view_second(t->first_us).text,
		      view_second(t->last_us).text, t->node_n, t->node_n == 1 ? "node" : "nodes",
		      view_took(insight_time(t->us)).text);
	view_wrap(&text, first.data != NULL ? first.data : "", 78);
	text.failed |= first.failed;
	js_buf_free(&first);
	js_buf_char(&text, '\n');
	for (size_t i = 0; i < r->facts.n && text.len < LONGEST; i++) {
		const struct jobstack_stack_fact *f = &r->facts.at[i].f;

		if ((unsigned)f->kind >= sizeof(heading) / sizeof(heading[0]))
			continue;
		js_buf_printf(&text, "\n%s\n", heading[f->kind]);
		if (f->kind == JOBSTACK_FACT_PROGRAM) {
			view_version(&text, "  ", f->text);
			continue;
		}
		for (const char *line = f->text; *line != '\0';) {
			size_t len = strcspn(line, "\n");

			js_buf_printf(&text, "  %.*s\n", (int)len, line);
			line += len + (line[len] != '\0');
		}
	}
	if (text.len > LONGEST) {
		text.len = LONGEST;
		text.data[text.len] = '\0';
		js_buf_str(&text, "\n... (`jobstack show` prints the rest)\n");
	}
	html_lines(out, &text);
	html_section_end(out);
}

void view_page_findings(struct js_buf *out, const struct insight_io *io)
{
	struct view_finding f;

	html_section(
		out, "Ten findings about reading and writing",
		"All stacks of this page together. Findings 3, 4, 5, 8 and 10, and the files of 1, come from %" PRIu64
		" files (%s of all). Bytes are those of all files that an attempt's processes opened.",
		io->files, view_percent(io->share).text);
	html_table(out, "#no|finding|value|meaning|what to do", 0);
	for (size_t i = 0; i < INSIGHT_FINDINGS; i++) {
		char text[8], why[200];

		html_row(out);
		view_finding(io, i, &f);
		(void)snprintf(text, sizeof(text), "%zu", i + 1);
		(void)snprintf(why, sizeof(why), "not applicable: %s", f.why != NULL ? f.why : "");
		html_number(out, (double)i, text);
		html_cell(out, f.title);
		html_cell(out, f.why != NULL ? why : f.value);
		html_cell(out, f.why != NULL ? "" : f.meaning);
		html_cell(out, f.why != NULL ? "" : f.advice);
	}
	html_table_end(out, 0);
	html_section_end(out);
	if (io->gaps_us.n < 2)
		return;
	html_section(out, "Time between runs on the same file",
		     "From the start of a run that was done to the start of the next one, of the files of finding 3.");
	view_page_histogram(out, &io->gaps_us, "intervals");
}

void view_page_origin(struct js_buf *out, const struct insight_report *r)
{
	add_facts(out, r, JOBSTACK_FACT_PROGRAM);
	add_facts(out, r, JOBSTACK_FACT_MOUNT);
	add_packages(out, &r->packages);
	add_methods(out, r);
}

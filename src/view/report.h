/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A report for people, for programs, and as lines of a batch script.
 */
#pragma once

#include "base/buf.h"
#include "insight/io.h"
#include "insight/report.h"

#include <jansson.h>

/* Appends the report as text: at most COLUMNS wide (0: 80), with colour if COLOURS. */
void view_report_text(const struct insight_report *report, unsigned columns, int colours, struct js_buf *out);

/* What stands out, in sentences.  Names in them are not escaped yet: a view must do it.  Start it as {0}. */
#define VIEW_SIGNS 12
#define VIEW_SIGNS_NODES 3 /* nodes that are named */
struct view_signs {
	struct js_buf line[VIEW_SIGNS];
	size_t n;
};
void view_signs_read(struct view_signs *signs, const struct insight_report *report);
void view_signs_free(struct view_signs *signs);

/* Appends the nodes on which attempts fail, as --exclude of sbatch takes them.  Appends nothing if there are none, or
 * too many to be just bad nodes. */
void view_report_excluded(const struct insight_report *report, struct js_buf *out);

/* Appends the recommendations; and the same as lines of a batch script. */
void view_report_advice(const struct insight_report *report, struct js_buf *out);
void view_report_slurm(const struct insight_report *report, struct js_buf *out);

/* Reports as a page for a browser, which needs no network.  Promise: it has at most 300 kB, so that of many stacks only
 * the main figures may be shown. */
#define VIEW_PAGE_STACKS 100
struct view_page_stacks { /* starts as {0} */
	struct {
		char name[JOBSTACK_STACK_MAX + 1], program[96];
		uint64_t entries, done, dead;
		double us, wasted;
	} at[VIEW_PAGE_STACKS];
	size_t n;
};

/* Appends a report; MORE stacks follow. */
void view_page_report(struct js_buf *out, struct view_page_stacks *all, const struct insight_report *report,
		      size_t more);

/* Makes what was appended the body of a page with a TITLE, loaded again every RELOAD_S seconds (0: not), and a table of
 * its stacks. */
void view_page_end(struct js_buf *out, struct view_page_stacks *all, const char *title, unsigned reload_s);

/* Parts of it. */
void view_page_keep(struct view_page_stacks *all, const struct insight_report *r);
void view_page_time(struct js_buf *out, const struct insight_report *r);
/* Four cells: mean and coefficient of variation of the time, and of the bytes per second. */
void view_page_spread(struct js_buf *out, const struct insight_spread *took, const struct insight_spread *moved);
void view_page_origin(struct js_buf *out, const struct insight_report *r);
void view_page_findings(struct js_buf *out, const struct insight_io *io);

/* A histogram of durations: as text, as the table of a figure, as a list; NULL without memory. */
void view_report_histogram(const struct js_sketch *us, unsigned columns, struct js_buf *out);
void view_page_histogram(struct js_buf *out, const struct js_sketch *us, const char *what);
json_t *view_histogram_json(const struct js_sketch *us);

/* Appends a line that compares the memory that the jobs requested with what all slots use together if each runs an
 * attempt of the p99.  Appends nothing if that is not known. */
void view_report_requested(const struct insight_report *report, struct js_buf *out);

/* All of it as an object; NULL without memory. */
json_t *view_report_json(const struct insight_report *report);

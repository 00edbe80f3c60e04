/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A report as JSON, which has every number and every sentence; and what prints it: text, and a page for a browser.
 */
#pragma once

#include "base/buf.h"
#include "figures/report.h"
#include "show/amount.h"

#include <jansson.h>

/* Returns all of it as an object; NULL without memory. */
json_t *show_report_json(const struct figures_report *report);

/* Appends the object as text: at most COLUMNS wide (0: 80), with colour if COLOURS. */
void show_report_text(const json_t *report, unsigned columns, int colours, struct js_buf *out);

/* Appends the object to the reports of a page, MORE of which follow.  A page has at most 300 kB, so that of many stacks
 * only the main figures may be left. */
void show_page_add(struct js_buf *page, json_t *report, size_t more);

/* Makes what was added a page, with the FINDINGS (NULL: none), which it frees.  It is loaded again every RELOAD_S
 * seconds (0: not). */
void show_page_end(struct js_buf *page, json_t *findings, unsigned reload_s);

/* Parts of the object.  Appends a sentence or lines of text; or makes a list of objects with "head" and "text", or of
 * sentences. */
void show_report_verdict(const struct figures_report *report, struct js_buf *out);
json_t *show_report_points(const struct figures_report *report);
json_t *show_report_recommendations(const struct figures_report *report);
void show_report_script(const struct figures_report *report, struct js_buf *out);
void show_report_methods(const struct figures_report *report, struct js_buf *out);
struct show_amount show_report_cause(const struct figures_tally_cause *cause); /* "failed: exit 3" */

/* Appends what to request from sbatch, with BETWEEN the options.  Returns for how many workers; 0: no number
 * of workers can finish in time. */
uint64_t show_report_options(const struct figures_report *report, const char *between, struct js_buf *out);

/* Appends a sentence that compares the memory that the jobs requested with what all slots use together if each runs an
 * attempt of the p99.  Appends nothing if that is not known. */
void show_report_requested(const struct figures_report *report, struct js_buf *out);

/* Return a histogram of durations as a list; append that as text. */
json_t *show_histogram_json(const struct js_sketch *us);
void show_histogram_text(const json_t *histogram, unsigned columns, struct js_buf *out);

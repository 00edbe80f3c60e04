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

/* Appends the recommendations; and the same as lines of a batch script. */
void view_report_advice(const struct insight_report *report, struct js_buf *out);
void view_report_slurm(const struct insight_report *report, struct js_buf *out);

/* The report as a page for a browser, which needs no network: the beginning, with a TITLE and, if RELOAD_S is not 0,
 * loaded again after so many seconds; a report; the end. */
void view_page_begin(struct js_buf *out, const char *title, unsigned reload_s);
void view_page_report(struct js_buf *out, const struct insight_report *report);
void view_page_origin(struct js_buf *out, const struct insight_report *r);
void view_page_findings(struct js_buf *out, const struct insight_io *io);
void view_page_end(struct js_buf *out);

/* All of it as an object; NULL without memory. */
json_t *view_report_json(const struct insight_report *report);

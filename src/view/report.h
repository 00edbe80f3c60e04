/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of `jobstack report` share.
 */
#ifndef JS_VIEW_REPORT_H
#define JS_VIEW_REPORT_H

#include "base/buf.h"
#include "insight/advice.h"
#include "cli/cli.h"
#include "insight/stack.h"
#include "view/table.h"
#include "insight/tally.h"

#include <jansson.h>
#include <stdint.h>

#define INSIGHT_REPORT_ROWS 24	   /* of throughput over time */
#define INSIGHT_REPORT_FAILURES 10 /* groups */

struct insight_report {
	struct cli *cli;
	struct insight_stack stack;
	struct insight_tally *tally;
	struct insight_advice advice;
	struct js_buf slow[INSIGHT_SLOWEST]; /* the datapaths of the slowest, as they are; of length 0: gone */
	struct view_table failing;	     /* groups of what is dead, for text */
	json_t *failures;		     /* the same for JSON */
	size_t failing_n;
	int64_t since_us, within_us; /* options; -1: not given */
	int64_t wanted_us;	     /* --within; -1: not given */
};

/* The edges of the histogram of durations: the next above EDGE_US (0, 1 ms, 2 ms, 5 ms, ... 30 s, 1 min, ... 30 d), or
 * INT64_MAX. */
int64_t insight_report_edge(int64_t edge_us);

/* Does the stack still work?  Then the report says "so far". */
int insight_report_so_far(const struct insight_report *report);

/* Appends it for people: at most COLUMNS wide (0: 80), with colour if COLOURS. */
void view_report_text(struct insight_report *report, unsigned columns, int colours, struct js_buf *out);

/* Appends the recommendations; and the same as lines of a batch script. */
void view_report_advice(const struct insight_report *report, struct js_buf *out);
void view_report_slurm(const struct insight_report *report, struct js_buf *out);

/* Appends a duration: "12 ms", "1.5 s", "3 min 5 s". */
void view_took(struct js_buf *out, double us);

/* Sets all of it in OBJECT; not 0 without memory. */
int view_report_json(struct insight_report *report, json_t *object);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A report for people, for programs, and as lines of a batch script.
 */
#ifndef JS_VIEW_REPORT_H
#define JS_VIEW_REPORT_H

#include "base/buf.h"
#include "insight/report.h"

#include <jansson.h>
#include <stdint.h>

/* Appends it for people: at most COLUMNS wide (0: 80), with colour if COLOURS. */
void view_report_text(const struct insight_report *report, unsigned columns, int colours, struct js_buf *out);

/* Appends the recommendations; and the same as lines of a batch script. */
void view_report_advice(const struct insight_report *report, struct js_buf *out);
void view_report_slurm(const struct insight_report *report, struct js_buf *out);

/* All of it as an object; NULL without memory. */
json_t *view_report_json(const struct insight_report *report);

/* Appends a duration: "12 ms", "1.5 s", "3 min 5 s". */
void view_took(struct js_buf *out, double us);

/* A wall time as sbatch reads it, "1:30:00" or "2-00:00:00"; a size as it does, "512M", "4G"; a duration as our own
 * options read it, "90s", "15m", "2h". */
void view_sbatch_time(int64_t us, char text[32]);
void view_sbatch_size(uint64_t kib, char text[32]);
void view_option_duration(int64_t us, char text[32]);

#endif

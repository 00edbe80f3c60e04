/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of `jobstack report` share.
 */
#ifndef JS_CLI_REPORT_H
#define JS_CLI_REPORT_H

#include "base/buf.h"
#include "cli/advice.h"
#include "cli/cli.h"
#include "cli/stacks.h"
#include "cli/tally.h"

#include <jansson.h>
#include <stdint.h>

/* A duration for its histogram: the next edge above EDGE_US (1 ms, 2 ms, 5 ms, ... 30 s, 1 min, ... 30 d), 0: the last one. */
int64_t report_edge(int64_t edge_us);

struct report {
	struct cli *cli;
	struct cli_stack stack;
	struct tally *tally;
	struct advice advice;
	struct js_buf slow[TALLY_SLOWEST]; /* the datapaths of the slowest, as they are */
	int64_t since_us, within_us;	   /* options; -1: not given */
	int64_t wanted_us;		   /* --within; -1: not given */
};

/* Appends it for people: plain text of COLUMNS at most (0: 80) but for names, with colour if COLOUR. */
void report_text(struct report *report, unsigned columns, int colour, struct js_buf *out);

/* Appends the recommendations as lines of a batch script. */
void report_slurm(const struct report *report, struct js_buf *out);

/* Sets all of it in OBJECT; not 0 without memory. */
int report_json(struct report *report, json_t *object);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One look at the stacks, as status and wait take it: what was read, before it is shown.
 */
#ifndef JS_INSIGHT_SNAPSHOT_H
#define JS_INSIGHT_SNAPSHOT_H

#include "insight/stack.h"
#include "view/table.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define INSIGHT_FAILURES 10
#define INSIGHT_BAD_NODES 3
#define INSIGHT_LONGEST 5
#define INSIGHT_FAILURE_ROWS 300 /* so much of the history is looked at for what fails: a millisecond or two */

/* A stack with its pace. */
struct insight_seen {
	struct insight_stack stack;
	struct jobstack_pace pace;
};

/* A group of failures; its texts are its own. */
struct insight_failure {
	struct jobstack_failure f;
	char reason[256], pattern[160], example[256], node[128];
};

struct insight_bad_node {
	struct jobstack_bad_node b;
	char node[128];
};

/* An entry that has run long. */
struct insight_longest {
	uint64_t entry, worker;
	int64_t us;
	char node[128];
	struct js_buf datapath;
};

/* Start it as {.cli = ...}; end it with insight_snapshot_free. */
struct insight_snapshot {
	struct cli *cli;
	struct insight_seen *seen;
	size_t n, room;
	int alarming; /* something is dead or unfinished */
	int memory;   /* ran out */
	/* of one stack: */
	struct view_table workers;
	json_t *live;	     /* the same in JSON, if that is wanted */
	char suspicion[300]; /* what is known of one of the workers without being proven, in words; or "" */
	struct insight_longest longest[INSIGHT_LONGEST];
	struct insight_failure failing[INSIGHT_FAILURES];
	struct insight_bad_node bad[INSIGHT_BAD_NODES];
	size_t longest_n, failing_n, bad_n;
	struct jobstack_failures_report failures;
	int failures_all; /* they are not of the dead, but of all whose last attempt failed */
};

/* Reads all stacks, or (ONE) the one of the call with all that is known of it.  0, or a JOBSTACK_E code with cli->error
 * filled. */
int insight_snapshot_read(struct insight_snapshot *look, int one);
void insight_snapshot_free(struct insight_snapshot *look);

/* The state for people, to whom a stack with nothing left is finished. */
const char *view_stack_state(const struct jobstack_status *s);

/* How a failure ended: "exit 3", "signal 9", "lost". */
void view_failure_how(const struct jobstack_failure *f, char text[32]);

/* Appends what is shown of a look: all stacks in a table, or one in detail.  COLUMNS 0: no width to fit. */
void view_status_table(const struct insight_snapshot *look, struct js_buf *out, unsigned columns, int colours);
void view_status_detail(const struct insight_snapshot *look, struct js_buf *out, unsigned columns, int colours);

/* A stack as JSON; with what is known beyond its row if the look was at ONE.  NULL without memory. */
json_t *view_status_json(const struct insight_snapshot *look, const struct insight_seen *seen, int one);

/* Why not more of a stack runs: in words, a line each with its remedy; or as JSON.  Looks at Slurm, too.  NULL without
 * memory. */
void cli_why_text(const struct insight_snapshot *look, const struct insight_seen *seen, struct js_buf *out);
json_t *cli_why_json(const struct insight_snapshot *look, const struct insight_seen *seen);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack status --why: why not more of a stack runs; and how long the server takes, for `jobstack doctor`, too.
 */
#pragma once

#include "cli/cli.h"
#include "figures/snapshot.h"

#include <jansson.h>

/* Something that is wrong with a stack, or keeps it from running: a word for programs, what it is, and what to do about
 * it (or NULL). */
struct cli_reason {
	const char *stack, *code, *text, *remedy;
};
typedef void cli_found_fn(void *ctx, const struct cli_reason *reason);

/* Finds what a stack's own numbers tell: that it is paused, cancelled or being dropped; of an open one, why nothing is
 * ready; and whether more will come. */
void cli_why_counts(const struct figures_stack *stack, cli_found_fn *found, void *ctx);

/* The same of cli->stack as it is now, as messages that begin with BEFORE: "not submitted: ". */
void cli_why_say(const struct cli *cli, const char *before);

/* Finds all reasons why not more of a stack runs, and asks Slurm, too.  Appends them as lines, each with its remedy; or
 * returns them as JSON, NULL without memory. */
void cli_why_text(const struct figures_snapshot *snapshot, const struct figures_seen *seen, struct js_buf *out);
json_t *cli_why_json(const struct figures_snapshot *snapshot, const struct figures_seen *seen);

/* Writes to WORDS what a commit of COMMIT_US waits for, or what else holds up the server; SLOW_DISK: that is known to
 * be the disk.  Returns what to do about it. */
const char *cli_why_server(const struct figures_server *server, int64_t commit_us, int slow_disk, char *words,
			   size_t size);

/* The same about workers that wait for their steps. */
const char *cli_why_steps(const struct figures_steps *steps, char *words, size_t size);

/* For a STACK on which nobody works: adds to IDLE what Slurm says of its jobs, as death/budget.h allows. */
void cli_idle_ask(const struct cli *cli, const char *stack, struct figures_idle *idle);

/* Appends what to do about it, and never a command that has just failed. */
void cli_idle_next(const char *stack, const struct figures_idle *idle, struct js_buf *out);

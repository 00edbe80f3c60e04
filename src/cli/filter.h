/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choosing entries, the same for every command that does: by -t, by the other options, by the words that name some.
 * list, logs and kill do something with each; requeue and cancel change them all (cli/change.h).
 */
#pragma once

#include "base/buf.h"
#include "cli/cli.h"

enum { CLI_EXIT = CLI_OWN + 1000, CLI_SIGNAL, CLI_NODE };
#define CLI_FILTER_AGE "a time like 90s, 15m, 2h or 7d, at most 366d"

/* The rows for a command's table; HELP says which STATES -t takes there. */
/* clang-format off */
#define CLI_OPTS_FILTER(FILTER, HELP)                                                                                                \
	{'t', "state", "STATES", HELP, CLI_BY(cli_filter_take, FILTER)},                                                              \
		{0, "match", "GLOB", "only entries whose whole datapath (the name that was pushed) matches GLOB: * stands for any bytes, also /; ? for one byte; [a-z] and [!a-z] as in the shell", CLI_WORD(&(FILTER)->f.match)},        \
		{CLI_EXIT, "exit", "N[-M],...", "only entries whose last attempt ended with one of these exit codes", CLI_BY(cli_filter_take, FILTER)},              \
		{CLI_SIGNAL, "signal", "S,...", "~... was ended by one of these signals: KILL, SIGSEGV, 9", CLI_BY(cli_filter_take, FILTER)},           \
		{CLI_NODE, "node", "NAME,...", "~... was on one of these nodes, or runs there now", CLI_BY(cli_filter_take, FILTER)},                   \
		{0, "reason", "TEXT", "... ended for a reason with TEXT in it", CLI_NAME(&(FILTER)->f.reason)},                             \
		{0, "older-than", "D", "~... ended longer ago than D: 90s, 15m, 2h, 7d", CLI_TIME(&(FILTER)->f.older_us, 1, CLI_FILTER_AGE)},                      \
		{0, "newer-than", "D", "~... ended within the last D", CLI_TIME(&(FILTER)->f.newer_us, 1, CLI_FILTER_AGE)},                                        \
		{0, "program", "V", "~... ran this version of the program: a number that `list -o program` prints, or its first digits", CLI_WORD(&(FILTER)->program)}, \
		{0, "program-changed", NULL, "~... ran another version of the program than the one that is there now", CLI_FLAG(&(FILTER)->changed)},              \
		{'n', "limit", "N", "at most N entries", CLI_NUMBER(&(FILTER)->f.limit, 1, UINT64_MAX, "a whole number from 1 on")}
/* clang-format on */

/* Start it as CLI_FILTER_INIT, in static memory: what it holds lasts as long as the process. */
struct cli_filter {
	struct jobstack_filter f;
	const char *states_arg;			       /* of -t, or NULL */
	uint64_t missing;			       /* words that name no entry, each reported */
	struct js_buf exits, signals, nodes, programs; /* what the pointers in f point to */
	const char *program;			       /* --program */
	int changed;				       /* --program-changed */
};
/* clang-format off */
#define CLI_FILTER_INIT {.f = JOBSTACK_FILTER_INIT}
/* clang-format on */

/* For cli_parse: takes -t or a list, with a struct cli_filter as CTX. */
int cli_filter_take(struct cli *cli, void *ctx, int key, const char *arg);

/* Returns whether one of the options is given, other than -t and -n. */
int cli_filter_given(const struct cli_filter *filter);

/* After the last option: refuses what can't be true of any entry in filter->f.states (0: not yet known).  Returns 0, or
 * the exit status, with the reason printed. */
int cli_filter_end(struct cli *cli, struct cli_filter *filter);

/* Connected, completes filter->f: by the entries that the command's words name, if any, and by the versions of the
 * program.  SOME: the entries that are there will do, and the others are reported and counted; else a missing one is an
 * error.  0, or a JOBSTACK_E code with cli->error filled. */
int cli_filter_entries(struct cli *cli, struct cli_filter *filter, int some);

/* Returns whether the words name entries, be they there or not. */
int cli_filter_names(const struct cli_filter *filter);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The options that choose entries, the same for every command that has them.
 */
#pragma once

#include "base/buf.h"
#include "cli/cli.h"

enum {
	CLI_MATCH = CLI_OWN + 1000,
	CLI_EXIT,
	CLI_SIGNAL,
	CLI_NODE,
	CLI_REASON,
	CLI_OLDER,
	CLI_NEWER,
	CLI_PROGRAM,
	CLI_PROGRAM_CHANGED
};

/* The rows for a command's table. */
/* clang-format off */
#define CLI_OPTS_FILTER(FILTER)                                                                                                \
	{CLI_MATCH, "match", "GLOB", "only entries whose whole datapath (the name that was pushed) matches GLOB: * stands for any bytes, also /; ? for one byte; [a-z] and [!a-z] as in the shell", CLI_BY(cli_filter_take, FILTER)},        \
		{CLI_EXIT, "exit", "N[-M],...", "only entries whose last attempt ended with one of these exit codes", CLI_BY(cli_filter_take, FILTER)},              \
		{CLI_SIGNAL, "signal", "S,...", "... was ended by one of these signals: KILL, SIGSEGV, 9", CLI_BY(cli_filter_take, FILTER)},           \
		{CLI_NODE, "node", "NAME,...", "... was on one of these nodes, or runs there now", CLI_BY(cli_filter_take, FILTER)},                   \
		{CLI_REASON, "reason", "TEXT", "... ended for a reason with TEXT in it", CLI_BY(cli_filter_take, FILTER)},                             \
		{CLI_OLDER, "older-than", "D", "... ended longer ago than D: 90s, 15m, 2h, 7d", CLI_BY(cli_filter_take, FILTER)},                      \
		{CLI_NEWER, "newer-than", "D", "... ended within the last D", CLI_BY(cli_filter_take, FILTER)},                                        \
		{CLI_PROGRAM, "program", "V", "... ran this version of the program: a number that `list -o program` prints, or its first digits", CLI_BY(cli_filter_take, FILTER)}, \
		{CLI_PROGRAM_CHANGED, "program-changed", NULL, "... ran another version of the program than the one that is there now", CLI_BY(cli_filter_take, FILTER)},              \
		{'n', "limit", "N", "at most N entries", CLI_NUMBER(&(FILTER)->f.limit, 1, UINT64_MAX, "a whole number from 1 on")}
/* clang-format on */

struct cli_filter {
	struct jobstack_filter f;		       /* the states are the command's */
	struct js_buf exits, signals, nodes, programs; /* what its pointers point to */
	const char *program;			       /* --program */
	int changed;				       /* --program-changed */
	uint64_t *entries;			       /* likewise; f.entries is NULL if none is named */
	int given;				       /* at least one of the options */
};
/* clang-format off */
#define CLI_FILTER_INIT {.f = JOBSTACK_FILTER_INIT}
/* clang-format on */

/* For cli_parse: takes one of them, with a struct cli_filter as CTX. */
int cli_filter_take(struct cli *cli, void *ctx, int key, const char *arg);

/* After the last: refuses what can't be true of any entry in filter->f.states (0: not yet known).  Returns 0, or the
 * exit status, with the reason printed. */
int cli_filter_end(struct cli *cli, struct cli_filter *filter);

/* Gives it the entries that the command's words name, if any; MISSING as for cli_entries.  0, or a JOBSTACK_E code with
 * cli->error filled. */
int cli_filter_entries(struct cli *cli, struct cli_filter *filter, uint64_t *missing);

/* Frees what it holds. */
void cli_filter_free(struct cli_filter *filter);

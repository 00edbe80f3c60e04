/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A file of command lines that `jobstack run` executes.  It has a stack of its own, which follows the file: lines that
 * are gone from it do not run any more, and do not count.
 */
#pragma once

#include "cli/input.h"

#define CLI_LIST_PATH_SIZE 4096 /* PATH_MAX, which is not in C17 */

struct cli_run_list {
	char path[CLI_LIST_PATH_SIZE]; /* of the file; "": there is none */
	int is_typed;		       /* a person said that its lines are commands */
	struct cli_lines lines;	       /* all that it has now, as they are pushed */
};

/* Finds the regular file that FILE (of -a, or NULL) or standard input is, and sets LIST->path, or "". */
void cli_run_list_find(struct cli_run_list *list, const char *file);

/* Reads the list to its end, and goes back.  If it may be a list of names, and nobody said that they are commands,
 * refuses it with the lines to type.  IS_STDIN: it is standard input.  0, or the exit status. */
int cli_run_list_check(struct cli *cli, struct cli_run_list *list, const struct cli_input *input, int is_stdin);

/* Cancels the entries of cli->stack whose lines are gone.  BACK: also puts those back whose lines have returned.  A
 * person's own cancel stays, as its note is another.  0, or the exit status, after printing why. */
int cli_run_list_follow(struct cli *cli, struct cli_run_list *list, int back);

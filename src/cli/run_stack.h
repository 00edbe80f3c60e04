/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stack of `jobstack run` without -s: one per OS user, directory and command, so that the same line continues it,
 * on any host.
 */
#pragma once

#include "base/buf.h"
#include "cli/cli.h"

struct cli_run_stack {
	struct js_buf text;	      /* what it is for, as the ledger knows it */
	struct jobstack_bytes pushed; /* TEXT for the push, after cli_run_stack_find; before that data is NULL */
	int found;		      /* the stack was there */
	char base[48];		      /* the program, as far as a stack's name can be called so: "convert.sh" */
	char name[JOBSTACK_STACK_MAX + 1];
};

/* Describes in STACK the command WORDS (N of them) in the directory DIR. */
void cli_run_stack_make(struct cli_run_stack *stack, const char *dir, char *const words[], size_t n);

/* Sets cli->stack to the stack that was created for this command, else to a name that is free.  0, or the exit status,
 * with the reason printed.  Two commands may find the same free name at the same moment.  Then the push of one of them
 * fails with ECONFLICT, and is to be repeated if another call of this function finds another name. */
int cli_run_stack_find(struct cli *cli, struct cli_run_stack *stack);

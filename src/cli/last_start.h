/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What `run` and `submit` have started for a stack, as the database has it (jobstack_last): they write it here;
 * --again, hints and `status` read it here.
 */
#pragma once

#include "cli/cli.h"

/* Records START (only way, job, pushed, cluster and log are read) for cli->stack, with the user, the directory and
 * the options of this call, and COMMAND.  What can't be recorded only costs --again. */
void cli_last_start_record(struct cli *cli, const struct jobstack_last *start, const struct cli_words *command);

/* For --again: finds what this user started last, by the command WAY, for cli->stack or, if DIR is not NULL, in the
 * directory DIR for any stack.  Then it changes to the directory of that call, and reads its options and those of this
 * call as cli_parse does; cli->stack is its stack, and cli->words its command.  0, or the exit status, with the reason
 * printed. */
int cli_last_start_repeat(struct cli *cli, enum jobstack_way way, const char *dir);

/* Returns how this user started workers for STACK last (enum jobstack_way); -1: not at all, or no line is signed.  LAST
 * (may be NULL): appends when and where that was, and the line. */
int cli_last_start_way(struct jobstack *handle, const char *stack, struct js_buf *last);

/* Appends to NEXT what to type to start workers in this WAY again, in backquotes; nothing if WAY is -1. */
void cli_last_start_command(int way, const char *stack, struct js_buf *next);

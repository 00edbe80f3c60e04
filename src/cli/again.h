/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The last command line of `submit` for a stack, and of `run` for a stack and in a directory, for --again.
 */
#pragma once

#include "cli/command.h"

struct cli;

/* Remembers WORDS, of which the first OPTIONS are options, and the working directory, for KEY: a stack or a directory.
 * If it can't, that is a warning, and it returns -1; else 0. */
int cli_again_keep(const struct cli *cli, const char *key, char *const words[], size_t options);

/* Makes LINE of the name of the command, the options that were remembered, MORE without --again, and the other words
 * that were remembered; changes to the directory of that call, and prints this.  0, or the exit status, with the reason
 * printed. */
int cli_again_line(struct cli *cli, const char *key, char *const more[], struct cli_words *line);

/* Forgets what is remembered for STACK. */
void cli_again_forget(const char *stack);

/* Is a command line of `run` or `submit` remembered for STACK?  Then appends to NEXT what repeats the last one, in
 * backquotes, and to LAST (may be NULL) when and where that was, and the line: 1.  Else 0. */
int cli_again_next(const char *stack, struct js_buf *next, struct js_buf *last);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The last command line of `submit` for a stack, and of `run` in a directory, for --again.
 */
#pragma once

#include "cli/command.h"

struct cli;

/* Remembers WORDS, of which the first OPTIONS are options, and the working directory, for KEY: a stack or a directory.
 * If it can't, that is a warning. */
void cli_again_keep(const struct cli *cli, const char *key, char *const words[], size_t options);

/* Makes LINE of the name of the command, the options that were remembered, MORE without --again, and the other words
 * that were remembered; changes to the directory of that call, and prints this.  0, or the exit status, with the reason
 * printed. */
int cli_again_line(struct cli *cli, const char *key, char *const more[], struct cli_words *line);

/* Is a command line of COMMAND ("jobstack submit") remembered for KEY? */
int cli_again_is_kept(const char *command, const char *key);

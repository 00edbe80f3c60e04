/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The programs of jobstack that a command starts: their lines, and its own word for that before anything is done for
 * it.
 */
#pragma once

#include "cli/cli.h"
#include "frame/command.h"

/* Appends to LINE this program with WORDS, the stack and the option file (or NULL, or ""). */
void cli_own_line(struct cli_words *line, const struct cli *cli, const char *words, const char *option_file);

/* Appends to LINE the program beside ours, FIRST (an option, or NULL), the stack, the option file (or NULL), OPTIONS,
 * -- and COMMAND, which a NULL ends (NULL: no command). */
void cli_worker_line(struct cli_words *line, const struct cli *cli, const char *first, const char *option_file,
		     const struct cli_words *options, char *const command[]);

/* Returns whether entries might share a file by these options, so that the worker must look through the list of names.
 */
int cli_worker_may_clash(const struct cli_words *options);

/* Asks jobstack-worker whether it would accept these.  It shows what it would run, looks for names that would share a
 * file, and claims nothing.  Returns 0; or the exit status, after printing the worker's reason, and that therefore
 * UNDONE ("nothing was ..."). */
int cli_worker_try(struct cli *cli, const char *option_file, const struct cli_words *options, char *const command[],
		   const char *undone);

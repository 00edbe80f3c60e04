/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words of `jobstack run` behind its options: the command, and the files that it runs on.
 */
#pragma once

#include "cli/input.h"
#include "frame/command.h"

struct cli_run_how {
	const char *file; /* of -a, or NULL; set by :::: FILE */
	int link;	  /* lists are linked, not combined, and short ones begin again */
	int as_is;	  /* CMD is a script, or persistent, or was looked at when it was typed */
};

/* Sorts cli->words.  Files are the words behind the first :::, or those before a -- that does not end the options; then
 * input->words are these.  The other words are CMD: they are copied to the empty COMMAND, and cli->words becomes the
 * copy.  With input->commands there is no CMD.  Returns 0, or the exit status, with the reason printed. */
int cli_run_words(struct cli *cli, struct cli_run_how *how, struct cli_input *input, struct cli_words *command);

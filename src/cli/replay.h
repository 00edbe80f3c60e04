/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Delivering what workers left in spools.
 */
#pragma once

#include "cli/cli.h"

#include <stddef.h>

/* Reads the N FILES, and only if all of them are whole, of stacks that are there, and of workers that are gone,
 * delivers their outcomes and tells what became of them.  CLI is not connected yet.  Returns the exit status, having
 * told why: CLI_YES nothing is left to deliver, CLI_NO some came too late or may not be delivered now, CLI_USAGE a file
 * or stack is wrong. */
int cli_replay(struct cli *cli, char *const files[], size_t n);

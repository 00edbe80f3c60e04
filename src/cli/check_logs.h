/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack check --logs: what the workers' own files tell and the database does not.
 */
#pragma once

#include "cli/cli.h"

/* Compares the packed logs and spools below DIR, a worker's --log-dir, with the database, for the stack of -s or for
 * each that has a directory there, and prints each attempt that the database does not have as the file does.  0: it has
 * all of them; 1: not all; negative: the error is in cli->error. */
int cli_check_logs(struct cli *cli, const char *dir);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The verbs of `jobstack server` that handle a whole database.
 */
#pragma once

#include "cli/cli.h"
#include "server/server.h"

/* Each prints what happened, and returns the exit status.  FILE is the backup; of the move, the option file of the
 * other server.  The database is that of the option file CLI->DEFAULTS_FILE, else of the usual one. */
int cli_server_backup(struct cli *cli, const struct js_server_options *options, const char *file);
int cli_server_restore(struct cli *cli, const struct js_server_options *options, const char *file, int replace);
int cli_server_move(struct cli *cli, const struct js_server_options *options, const char *file, int replace);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Options that `jobstack server` and `jobstack server submit` share.
 */
#pragma once

#include "server/server.h"

/* Sets the paths of the server, by default where none were given, and makes them absolute: s->layout and
 * s->client_file.  Returns 0, or the exit status, with the reason printed. */
int options_paths(struct server *s);

/* For cli_parse: reads a size of memory into a uint64_t. */
int options_take_memory(struct cli *cli, void *ctx, int key, const char *arg);

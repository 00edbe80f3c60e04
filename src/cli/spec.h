/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack --spec, see spec.c: main.c calls each command, and cli_parse prints its option table.
 */
#pragma once

#include "cli/cli.h"

/* Prints the command NAME, which DOES something, with its table and those of its verbs.  An exit status. */
int cli_spec_command(const char *name, const char *does, const struct cli_frame *frame);

/* Prints jobstack-worker's.  An exit status. */
int cli_spec_worker(void);

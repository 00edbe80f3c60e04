/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack --spec, see spec.c.
 */
#pragma once

#include "frame/frame.h"

/* Prints the table OPTS.  An exit status. */
int cli_spec_table(const struct js_opts *opts);

/* Prints the command NAME, which DOES something, with its table.  FRAME NULL: it is a program of its own, whose tables
 * are printed if WITH_SERVER.  An exit status. */
int cli_spec_command(const char *name, const char *does, const struct cli_frame *frame, int with_server);

/* Prints jobstack-worker's.  An exit status. */
int cli_spec_worker(void);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack --spec, see spec.c.
 */
#pragma once

#include "frame/frame.h"

/* Prints the table OPTS.  An exit status. */
int cli_spec_table(const struct js_opts *opts);

/* Prints the command NAME, which DOES something, with its table.  WITH_SERVER: or with those that its program prints,
 * if it is one.  An exit status. */
int cli_spec_command(const char *name, const char *does, const struct cli_frame *frame, int with_server);

/* Prints jobstack-worker's.  An exit status. */
int cli_spec_worker(void);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The first initialisation of a server's data.
 */
#pragma once

#include "base/log.h"
#include "server/layout.h"
#include "server/program.h"

/* Makes the data directory with the system tables, unless it is there.  It is made under another name and renamed when
 * it is whole and on disk; killed before, the next call starts afresh.  Returns 0 (it was there), 1 (made), or an
 * error; what the installer said of a failure goes to the log. */
int js_install(const struct js_work *work, const struct js_program *program, struct jobstack_error *error);

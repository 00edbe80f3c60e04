/* SPDX-License-Identifier: BSD-2-Clause
 *
 * --since WHEN, for who reads history.
 */
#pragma once

#include "cli/cli.h"

#include <stdint.h>

#define CLI_SINCE_HELP "2h or 7d ago, or 2026-11-21\nor 2026-11-21T06:20:00 (UTC)"

/* Reads it: a time into *SINCE_US, microseconds since 1970; a duration into *WITHIN_US.  The other becomes -1.  Returns
 * 0, or CLI_USAGE, having told why. */
int cli_since(struct cli *cli, const char *arg, int64_t *since_us, int64_t *within_us);

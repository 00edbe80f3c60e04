/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack's policy as people write it: for set, and as options of what pushes.
 */
#pragma once

#include "cli/cli.h"

/* Reads VALUE into what NAME says: "max-running", or "--max-running" as an option.  0, or CLI_USAGE,
 * having told why. */
int cli_policy(struct cli *cli, const char *name, const char *value, struct jobstack_policy *policy);

/* For cli_parse: the same for an option of that name, with a struct jobstack_policy as CTX. */
int cli_policy_take(struct cli *cli, void *ctx, int key, const char *arg);

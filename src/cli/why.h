/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack status --why: why not more of a stack runs.
 */
#pragma once

#include "insight/snapshot.h"

#include <jansson.h>

/* In words, a line each with its remedy; or as JSON.  Asks Slurm, too.  NULL without memory. */
void cli_why_text(const struct insight_snapshot *snapshot, const struct insight_seen *seen, struct js_buf *out);
json_t *cli_why_json(const struct insight_snapshot *snapshot, const struct insight_seen *seen);

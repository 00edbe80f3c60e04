/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A snapshot of the stacks, as status shows it.
 */
#pragma once

#include "base/buf.h"
#include "insight/snapshot.h"

#include "view/table.h"

#include <jansson.h>

/* Appends a table of all stacks, or one stack in detail.  COLUMNS 0: the width does not matter. */
void view_status_table(const struct insight_snapshot *snapshot, struct js_buf *out, unsigned columns, int colours);
void view_status_detail(const struct insight_snapshot *snapshot, struct js_buf *out, unsigned columns, int colours);

/* A stack as JSON; DETAILED: with its workers, failures and longest entries. */
json_t *view_status_json(const struct insight_snapshot *snapshot, const struct insight_seen *seen, int detailed);

/* Appends the MOST largest groups of failures as a table. */
void view_failures_table(const struct insight_failures *failures, size_t most, const struct view_page *page);

/* Groups of failures as JSON.  NODES: each with its node, if all its failures were on one node. */
json_t *view_failures_json(const struct insight_failures *failures, int nodes);

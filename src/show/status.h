/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A snapshot of the stacks, as status shows it.
 */
#pragma once

#include "base/buf.h"
#include "figures/snapshot.h"

#include "show/table.h"

#include <jansson.h>

/* Appends a table of all stacks, or one stack in detail, with NOTES (lines) between its failures and its workers. */
void view_status_table(const struct insight_snapshot *snapshot, const struct view_page *page);
void view_status_detail(const struct insight_snapshot *snapshot, const char *notes, const struct view_page *page);

/* A stack as JSON; DETAILED: with its workers, failures and longest entries. */
json_t *view_status_json(const struct insight_snapshot *snapshot, const struct insight_seen *seen, int detailed);

/* Groups of failures as JSON, with "how" and "message" in words; that as a table; and both in one. */
json_t *view_failures_json(const struct insight_failures *failures);
void view_failures_rows(const json_t *failures, const struct view_page *page);
void view_failures_table(const struct insight_failures *failures, const struct view_page *page);

/* Why nobody works on a stack, in words; IDLE is about such a stack. */
void view_idle(struct js_buf *out, const struct insight_idle *idle);

/* Parts of one stack in detail: its counts, pace and policy; the entries that have run longest; the live workers.  The
 * last two are tables; nothing is appended if there are no rows. */
void view_status_head(const struct insight_snapshot *snapshot, const struct view_page *page);
void view_longest_table(const struct insight_snapshot *snapshot, const struct view_page *page);
void view_workers_table(const struct insight_snapshot *snapshot, const struct view_page *page);

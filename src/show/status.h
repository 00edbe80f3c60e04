/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A snapshot of the stacks, as status shows it.
 */
#pragma once

#include "base/buf.h"
#include "figures/snapshot.h"

#include "show/table.h"

#include <jansson.h>

/* Appends a table of the first N stacks; a line that counts the others and says HOW to see them; or one stack in
 * detail, with NOTES (lines) between its failures and its workers. */
void show_status_table(const struct figures_snapshot *snapshot, size_t n, const struct show_page *page);
void show_status_more(const struct figures_snapshot *snapshot, size_t n, const char *how, struct js_buf *out);
void show_status_detail(const struct figures_snapshot *snapshot, const char *notes, const struct show_page *page);

/* Returns a stack as JSON; DETAILED: with its workers, failures and longest entries. */
json_t *show_status_json(const struct figures_snapshot *snapshot, const struct figures_seen *seen, int detailed);

/* Groups of failures as JSON, with "how" and "message" in words; that as a table; and both in one. */
json_t *show_failures_json(const struct figures_failures *failures);
void show_failures_rows(const json_t *failures, const struct show_page *page);
void show_failures_table(const struct figures_failures *failures, const struct show_page *page);

/* Appends in words why nobody works on a stack; IDLE is about such a stack. */
void show_idle(struct js_buf *out, const struct figures_idle *idle);

/* Parts of one stack in detail: its counts, pace and policy; the entries that have run longest; the live workers.  The
 * last two are tables; nothing is appended if there are no rows. */
void show_status_head(const struct figures_snapshot *snapshot, const struct show_page *page);
void show_longest_table(const struct figures_snapshot *snapshot, const struct show_page *page);
void show_workers_table(const struct figures_snapshot *snapshot, const struct show_page *page);

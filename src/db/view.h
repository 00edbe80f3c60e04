/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading with one view of the data.
 */
#pragma once

#include "db/row.h"
#include "db/sql.h"
#include "jobstack/jobstack.h"

struct js_db;

/* Calls BODY in one read-only transaction, with one view of the data as it is at that moment; no lock is taken.  BODY
 * asks with js_view_query, and returns what that returned unless it was 0.  When the view is lost (JS_DB_LOST: the
 * connection went), BODY is called again from its beginning in a new one, within the patience of the options for each
 * loss. */
typedef int js_view_fn(void *ctx, struct jobstack_error *error);
int js_view_open(struct js_db *db, js_view_fn *body, void *ctx, struct jobstack_error *error);

/* Runs statements that read, in the view that BODY was called in, and frees PACKET.  Returns 0; JS_DB_LOST; or a
 * negative code. */
int js_view_query(struct js_db *db, struct js_sql *packet, js_row_fn *fn, void *ctx, struct jobstack_error *error);

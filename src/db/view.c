/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading with one view of the data.  Promise: what BODY read with a view that was lost is forgotten.
 */
#include "db/view.h"

#include "base/clock.h"
#include "base/error.h"
#include "db/connect.h"
#include "db/db.h"
#include "db/exchange.h"
#include "db/session.h"

#define VIEWS_MAX 20	   /* times that a long reading is begun anew */
#define VIEW_OUTDATED 1412 /* a table was changed behind the view */

static int query_once(struct js_db *db, struct js_exchange *x, struct jobstack_error *error)
{
	int status;

	if (js_db_is_stopped(db))
		return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while reading from the database %s", db->where);
	if (db->my == NULL)
		return JS_DB_LOST;
	status = js_exchange_write(db, x, error);
	if (status != 0)
		return status;
	js_exchange_send(db, x);
	switch (js_fault_of(x->number)) {
	case JS_FAULT_NONE: return 0;
	case JS_FAULT_GONE:
	case JS_FAULT_AGAIN:
	case JS_FAULT_KILLED: js_session_end(db); return JS_DB_LOST;
	default: break;
	}
	if (x->number == VIEW_OUTDATED) {
		js_session_end(db);
		return JS_DB_LOST;
	}
	js_exchange_roll_back(db, x);
	return js_fault_fill(x->number, db->last_error, db->where, error);
}

int js_view_query(struct js_db *db, struct js_sql *packet, js_row_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct js_exchange x = {.packet = packet, .fn = fn, .ctx = ctx};
	int status = query_once(db, &x, error);

	js_request_free(&x.request);
	js_sql_free(packet);
	return status;
}

/* One try at a view, from its beginning to its end. */
static int view_once(struct js_db *db, js_view_fn *body, void *ctx, struct jobstack_error *error)
{
	struct js_sql begin = {0}, end = {0};
	int status;

	js_sql_stmt(&begin, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	js_sql_stmt(&begin, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
	status = js_view_query(db, &begin, NULL, NULL, error);
	if (status == 0)
		status = body(ctx, error);
	if (status != 0) {
		js_session_end(db);
		return status;
	}
	js_sql_stmt(&end, "COMMIT"); /* what was read was read: it takes nothing from that if this gets lost */
	(void)js_view_query(db, &end, NULL, NULL, NULL);
	return 0;
}

int js_view_open(struct js_db *db, js_view_fn *body, void *ctx, struct jobstack_error *error)
{
	int status;

	for (unsigned tries = 0;; tries++) {
		status = db->my != NULL ? 0 : js_connect(db, js_clock_mono_us() + db->patience_us, error);
		if (status == 0)
			status = view_once(db, body, ctx, error);
		if (status != JS_DB_LOST)
			return status;
		if (tries >= VIEWS_MAX)
			return js_fault_fill(db->last_errno, db->last_error, db->where, error);
		js_log(&db->log, JOBSTACK_LOG_INFO, "the read transaction on %s was lost, reading again: %s", db->where,
		       db->last_error);
		js_connect_back_off(db, tries, 2 * JS_SECOND_US);
	}
}

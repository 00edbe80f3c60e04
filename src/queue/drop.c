/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Dropping a stack with all its history.  Promises: refused while anything of it runs or is pushed; after the first
 * transaction none of its entries can be popped; no later transaction deletes more than a chunk of rows; a drop that
 * was refused does not happen later, however late a packet arrives; after an interruption the next drop continues; the
 * stack's own row is deleted last, so that the rest is always found by its name.
 */
#include "base/clock.h"
#include "base/file.h"
#include "queue/queue.h"

#include <inttypes.h>

#define CHUNK 5000
#define LEAVING_US (15 * JS_SECOND_US) /* how long idle workers have to see it and go */

struct dropping {
	struct jobstack *handle;
	struct js_stack stack;
	unsigned char token[16]; /* of a row in push: it can be there once */
	jobstack_progress_fn *fn;
	void *ctx;
	uint64_t gone, total;
};

/* Runs a query whose only value is the number of the stack. */
static int count_rows(struct dropping *d, const char *query, uint64_t *n, struct jobstack_error *error)
{
	return js_handle_ask_number(d->handle, n, error, query, d->stack.id);
}

/* Reports what prevents the drop. Only for the message: the transaction itself decides. */
static int refuse_drop(struct dropping *d, struct jobstack_error *error)
{
	uint64_t running, pushers, id = d->stack.id;

	JS_TRY(count_rows(d, "SELECT COALESCE(SUM(open),0) FROM claim WHERE stack_id=%u", &running, error));
	JS_TRY(count_rows(d,
			  "SELECT COUNT(*) FROM push WHERE stack_id=%u AND ended IS NULL AND "
			  "beat>UTC_TIMESTAMP(6)-INTERVAL 60 SECOND",
			  &pushers, error));
	if (running > 0)
		return js_error_why(error, JOBSTACK_ECONFLICT, JOBSTACK_WHY_RUNNING,
				    "the stack \"%s\" has running entries (%" PRIu64 ")", d->stack.name, running);
	if (pushers > 0)
		return js_error_why(error, JOBSTACK_ECONFLICT, JOBSTACK_WHY_PUSHING,
				    "a push to the stack \"%s\" is under way", d->stack.name);
	JS_TRY(js_stack_find(d->handle, d->stack.name, &d->stack, error)); /* EMISSING: somebody else was faster */
	return js_error_set(error, JOBSTACK_ECONFLICT,
			    d->stack.id != id
				    ? "the stack \"%s\" was dropped and created again at the same moment"
				    : "the stack \"%s\" was used again at the same moment: it was not dropped",
			    d->stack.name);
}

/* The condition under which a stack may be dropped: it has no claim and no live push, or it is half gone already. */
#define UNUSED                                                                                                         \
	" WHERE stack_id=%u AND (state=3 OR (NOT EXISTS(SELECT 1 FROM claim c WHERE c.stack_id=%u) "                   \
	"AND NOT EXISTS(SELECT 1 FROM push u WHERE u.stack_id=%u AND u.ended IS NULL "                                 \
	"AND u.beat>UTC_TIMESTAMP(6)-INTERVAL 60 SECOND)))"

/* Inserts our token, unless the stack is being dropped already: the rows of `push` may have been cleared by then, and a
 * row that is inserted afterwards would stay for ever. */
static void token_sql(const struct dropping *d, struct js_sql *sql)
{
	js_sql_stmt(sql,
		    "INSERT INTO push(token,stack_id,started,beat,ended) SELECT "
		    "%k,stack_id,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),UTC_TIMESTAMP(6)" JS_STACK_KEPT,
		    d->token, d->stack.id);
}

/* The drop was refused after a try whose reply was lost and which may still arrive. Inserts our token, so that the
 * late try fails. 0: it arrived before, and the stack is being dropped. */
static int void_lost_drop(struct dropping *d, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	token_sql(d, &sql);
	js_sql_guard(&sql, 1);
	status = js_db_commit(d->handle->db, &sql, NULL, error);
	if (status == 0 ||
	    status == JS_DB_DUPLICATE) /* a key that is there, in a stack that is not dropping, is this call's own */
		return refuse_drop(d, error);
	return status == JS_DB_GUARD ? 0 : status;
}

/* From here on no entry of the stack can be claimed.  With the stack's row and those of its workers locked, no step, no
 * end, no push and no requeue puts a span back, and no pop is under way: a worker's pop comes behind its own row, and a
 * script's behind the stack's.  A pop that comes later reads the new state.  So the spans can go in pieces afterwards.
 * On a cluster the lock of a worker's row is not known to the other servers.  There what excludes a pop is the DELETE
 * of its span, so all spans go in this transaction.  The first check is for the workers of the stack: a refused drop
 * has touched no span. */
static int close_stack(struct dropping *d, struct jobstack_error *error)
{
	uint64_t id = d->stack.id;
	struct js_sql sql = {0};
	int status, lost;

	js_file_random(d->token, sizeof(d->token));
	js_stack_lock_sql(&sql, id);
	token_sql(d, &sql);
	js_sql_stmt(&sql, "SELECT COUNT(*) INTO @js_state FROM worker WHERE stack_id=%u AND ended IS NULL FOR UPDATE",
		    id);
	js_sql_must(&sql, "UPDATE stack SET stack_id=stack_id" UNUSED, id, id, id);
	for (int again = 0; again < 2; again++) { /* a promotion may take a span past the first DELETE */
		js_sql_only(&sql, JS_SQL_CLUSTER);
		js_sql_stmt(&sql, "DELETE FROM span WHERE stack_id=%u", id);
	}
	js_sql_must(&sql, "UPDATE stack SET state=3,note=NULL" UNUSED, id, id, id);
	sql.races = 1; /* it is refused while a push is alive, however short the push */
	status = js_db_commit(d->handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD)
		return lost ? void_lost_drop(d, error) : refuse_drop(d, error);
	return status == JS_DB_DUPLICATE
		       ? js_error_set(error, JOBSTACK_EBUG,
				      "the random identifier of this drop is in use already: try again")
		       : status;
}

/* A table, and the statements for it: to delete a chunk, to see whether a row is left, to count them. */
struct table {
	const char *clear, *left, *count;
	int await_workers; /* first wait for the workers that are still alive to leave */
};

/* Deletes what is in the table, a chunk at a time, until none is left: a DELETE that was skipped or interrupted is
 * simply repeated. */
static int clear_table(struct dropping *d, const struct table *t, uint64_t rows, struct jobstack_error *error)
{
	uint64_t some = 1, now;

	while (some != UINT64_MAX) {
		JS_TRY(js_handle_change(d->handle, 0, NULL, error, t->clear, d->stack.id, (uint64_t)CHUNK));
		JS_TRY(count_rows(d, t->left, &some, error));
		now = rows < CHUNK ? rows : CHUNK; /* what was added meanwhile is not counted */
		rows -= now;
		d->gone += now;
		if (d->fn != NULL && d->fn(d->ctx, d->gone, d->total) != 0)
			return js_error_set(
				error, JOBSTACK_ESTOPPED,
				"stopped: the stack \"%s\" is only partly removed; drop it again to remove the rest",
				d->stack.name);
	}
	return 0;
}

/* Waits until idle workers have seen that the stack is being dropped, and have ended.  If their rows went first, they
 * would end with an error. */
static int await_workers(struct dropping *d, struct jobstack_error *error)
{
	int64_t until = jobstack_now_us() + LEAVING_US;
	uint64_t alive;

	for (;;) {
		JS_TRY(count_rows(d,
				  "SELECT COUNT(*) FROM worker WHERE stack_id=%u AND ended IS NULL AND "
				  "beat>UTC_TIMESTAMP(6)-INTERVAL lease_us MICROSECOND",
				  &alive, error));
		if (alive == 0 || jobstack_now_us() >= until)
			return 0;
		js_clock_nap(JS_SECOND_US / 5, NULL);
	}
}

/* The tables in the order in which they are cleared: the stack's own row last, so that what is left is always found. */
#define CLEAR(table, order)                                                                                            \
	"DELETE FROM " table " WHERE stack_id=%u" order " LIMIT %u",                                                   \
		"SELECT 1 FROM " table " WHERE stack_id=%u LIMIT 1",                                                   \
		"SELECT COUNT(*) FROM " table " WHERE stack_id=%u"
static const struct table tables[] = {
	{CLEAR("span", " ORDER BY class,`rank`,pos"), 0},
	{CLEAR("attempt", " ORDER BY entry_id,attempt"), 0},
	{CLEAR("set_aside", " ORDER BY entry_id"), 0},
	{CLEAR("name", " ORDER BY hash"), 0},
	{CLEAR("path", " ORDER BY hash,entry_id"), 0},
	{CLEAR("entry", " ORDER BY entry_id"), 0},
	{CLEAR("worker", " ORDER BY worker_id"), 1},
	{CLEAR("closed", " ORDER BY worker_id,seq"), 0},
	{CLEAR("stream", " ORDER BY no"), 0},
	{CLEAR("fact", " ORDER BY kind,fact"), 0},
	{CLEAR("push_range", " ORDER BY lo"), 0},
	{CLEAR("push", " ORDER BY push_id"), 0},
	{CLEAR("running_limit", ""), 0},
	{CLEAR("stack", ""), 0},
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

int jobstack_drop(struct jobstack *handle, const char *stack, jobstack_progress_fn *fn, void *ctx,
		  struct jobstack_error *error)
{
	struct dropping d = {.handle = handle, .fn = fn, .ctx = ctx};
	uint64_t rows[TABLES];

	JS_TRY(js_stack_find(handle, stack, &d.stack, error));
	JS_TRY(close_stack(&d, error));
	for (size_t i = 0; i < TABLES; i++) {
		JS_TRY(count_rows(&d, tables[i].count, &rows[i], error));
		d.total += rows[i];
	}
	for (size_t i = 0; i < TABLES; i++) {
		if (tables[i].await_workers)
			JS_TRY(await_workers(&d, error));
		JS_TRY(clear_table(&d, &tables[i], rows[i], error));
	}
	return 0;
}

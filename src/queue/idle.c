/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a worker asks when it has nothing to do, or needs to know how long its entries will take.
 */
#include "queue/worker.h"

/* Columns about a stack (s), its summed spans (p) and its workers that have not ended (w), as a worker sees them.  The
 * %u are the stack, the worker, the worker and the stack.  With a thousand workers, reading the rows of all workers
 * costs most, so the query reads them only once.  `eldest` is the live worker with the lowest number: it stays while
 * others go (DESIGN.md, "When to end"). */
/* clang-format off */
#define IDLE_COLUMNS(X)                                                                                                \
	X(state, "s.state", U32) X(ready, "p.ready", U64) X(waiting, "p.waiting", U64) X(held, "p.held", U64)          \
	X(next_due_us, "p.due", OPT)                                                                                   \
	X(running, "(SELECT SUM(open) FROM claim WHERE stack_id=%u AND worker_id<>%u)", U64)                           \
	X(workers, "w.workers", U64) X(eldest, "COALESCE(w.eldest=%u,1)", FLAG)                                        \
	X(pushers, "(SELECT COUNT(*) FROM push WHERE stack_id=%u AND ended IS NULL AND "                               \
		   "beat>UTC_TIMESTAMP(6)-INTERVAL 60 SECOND)", U64)                                                   \
	X(done, "s.done+COALESCE(w.done,0)", U64) X(dead, "s.dead+COALESCE(w.dead,0)", U64)                            \
	X(failing, "s.max_failures IS NOT NULL AND s.dead+COALESCE(w.dead,0)>=s.max_failures", FLAG)
/* clang-format on */

static void take_idle(void *ctx, const struct js_row *row)
{
	struct jobstack_idle *to = ctx;
	unsigned c = 1;

	if (row == NULL)
		return;
	IDLE_COLUMNS(JS_COLUMN_READ)
}

int jobstack_worker_idle(struct jobstack_worker *w, struct jobstack_idle *idle, struct jobstack_error *error)
{
	struct jobstack_idle found = JOBSTACK_IDLE_INIT;
	struct js_sql sql = {0};
	int status = js_grow_begin(idle, &found, "jobstack_idle", error);

	if (status != 0)
		return status;
	js_sql_add(&sql, "SELECT 1" IDLE_COLUMNS(JS_COLUMN_NAME), w->stack.id, w->id, w->id, w->stack.id);
	js_sql_add(&sql,
		   " FROM stack s LEFT JOIN (SELECT %u stack_id,SUM(IF(class=0,hi-lo+1,0)) ready,"
		   "SUM(IF(class=1,hi-lo+1,0)) waiting,SUM(IF(class=2,hi-lo+1,0)) held,"
		   "GREATEST(0,TIMESTAMPDIFF(MICROSECOND,UTC_TIMESTAMP(6),MIN(IF(class<>1,NULL,IF(",
		   w->stack.id);
	js_span_due_sql(&sql, &w->stack);
	js_sql_stmt(&sql,
		    ",UTC_TIMESTAMP(6),due))))) due FROM span WHERE stack_id=%u) p ON p.stack_id=s.stack_id LEFT JOIN "
		    "(SELECT %u stack_id,SUM(done) done,SUM(dead) dead,SUM(kind=0) workers,MIN(IF(kind=0 AND "
		    "beat>UTC_TIMESTAMP(6)-INTERVAL lease_us MICROSECOND,worker_id,NULL)) eldest FROM worker WHERE "
		    "stack_id=%u AND ended IS NULL) w ON w.stack_id=s.stack_id WHERE s.stack_id=%u",
		    w->stack.id, w->stack.id, w->stack.id, w->stack.id);
	status = js_db_query(w->handle->db, &sql, take_idle, &found, error);
	js_grow_out(idle, &found);
	return status;
}

struct durations {
	int64_t *us; /* MAX of them; N are filled */
	size_t n, max;
};

static void take_duration(void *ctx, const struct js_row *row)
{
	struct durations *d = ctx;

	if (row == NULL)
		d->n = 0;
	else if (d->n < d->max)
		d->us[d->n++] = js_row_i64(row, 0);
}

int jobstack_worker_durations(struct jobstack_worker *w, int64_t *us, size_t max, size_t *n,
			      struct jobstack_error *error)
{
	struct durations d = {us, 0, max};
	int status;

	/* the highest numbers that have attempts are those popped last (LIFO: the lowest); LIMIT rows of the primary
	 * key */
	status = js_handle_ask(
		w->handle, take_duration, &d, error,
		w->stack.lifo
			? "SELECT TIMESTAMPDIFF(MICROSECOND,started,ended) FROM (SELECT outcome,started,ended FROM "
			  "attempt WHERE stack_id=%u ORDER BY stack_id,entry_id,attempt LIMIT %u) a WHERE "
			  "outcome=0 AND started IS NOT NULL"
			: "SELECT TIMESTAMPDIFF(MICROSECOND,started,ended) FROM (SELECT outcome,started,ended FROM "
			  "attempt WHERE stack_id=%u ORDER BY stack_id DESC,entry_id DESC,attempt DESC LIMIT %u) a "
			  "WHERE outcome=0 AND started IS NOT NULL",
		w->stack.id, (uint64_t)max);
	*n = status == 0 ? d.n : 0;
	return status;
}

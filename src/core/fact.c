/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Facts: what many attempts or workers of a stack have in common; and Python packages.  Promise: a fact is stored once;
 * who stores it again, or after a lost reply, changes nothing; a stack that is being dropped gets none any more.
 */
#include "core/worker.h"

#include <string.h>

int jobstack_worker_fact(struct jobstack_worker *w, enum jobstack_fact_kind kind, int64_t number, const char *text,
			 struct jobstack_error *error)
{
	return js_handle_change(w->handle, 0, NULL, error,
				"INSERT IGNORE INTO fact(stack_id,kind,fact,seen,text) SELECT "
				"stack_id,%u,%d,UTC_TIMESTAMP(6),%x" JS_STACK_KEPT,
				(uint64_t)kind, number, (const void *)text, strlen(text), w->stack.id);
}

struct reading {
	jobstack_stack_fact_fn *fact;
	jobstack_stack_package_fn *package;
	void *ctx;
	int stopped;
	uint64_t told, at; /* a query that is cut short begins again */
};

/* Whether ROW is one to tell of. */
static int is_new(struct reading *r, const struct js_row *row)
{
	if (row == NULL)
		r->at = 0;
	else if (r->at++ >= r->told && !r->stopped) {
		r->told++;
		return 1;
	}
	return 0;
}

static void take_fact(void *ctx, const struct js_row *row)
{
	struct reading *r = ctx;
	struct jobstack_stack_fact fact;

	if (!is_new(r, row))
		return;
	fact = (struct jobstack_stack_fact){(enum jobstack_fact_kind)js_row_u64(row, 0), js_row_i64(row, 1),
					    js_row_time(row, 2), js_row_text(row, 3)};
	r->stopped = r->fact(r->ctx, &fact) != 0;
}

int jobstack_stack_facts(struct jobstack *handle, const char *stack, jobstack_stack_fact_fn *fn, void *ctx,
			 struct jobstack_error *error)
{
	struct reading r = {.fact = fn, .ctx = ctx};
	struct js_stack s;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	JS_TRY(js_handle_ask(handle, take_fact, &r, error,
			     "SELECT kind,fact,seen,text FROM fact WHERE stack_id=%u ORDER BY kind,seen,fact", s.id));
	return r.stopped ? JOBSTACK_ESTOPPED : 0;
}

int jobstack_worker_packages(struct jobstack_worker *w, const struct jobstack_worker_package *p, size_t n,
			     struct jobstack_error *error)
{
	struct js_sql sql = {0};

	for (size_t i = 0; i < n; i++)
		(void)js_sql_stmt(&sql,
				  "INSERT INTO package(stack_id,worker_id,name,version,entries) SELECT "
				  "stack_id,%u,%s,%s,%u" JS_STACK_KEPT
				  " ON DUPLICATE KEY UPDATE entries=GREATEST(package.entries,%u)",
				  jobstack_worker_id(w), p[i].name, p[i].version, p[i].entries, w->stack.id,
				  p[i].entries);
	return js_db_commit(w->handle->db, &sql, NULL, error);
}

static void take_package(void *ctx, const struct js_row *row)
{
	struct reading *r = ctx;
	struct jobstack_stack_package package;

	if (!is_new(r, row))
		return;
	package = (struct jobstack_stack_package){js_row_text(row, 0), js_row_text(row, 1), js_row_u64(row, 2),
						  js_row_u64(row, 3)};
	r->stopped = r->package(r->ctx, &package) != 0;
}

int jobstack_stack_packages(struct jobstack *handle, const char *stack, jobstack_stack_package_fn *fn, void *ctx,
			    struct jobstack_error *error)
{
	struct reading r = {.package = fn, .ctx = ctx};
	struct js_stack s;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	JS_TRY(js_handle_ask(handle, take_package, &r, error,
			     "SELECT p.name,p.version,CAST(SUM(p.entries) AS UNSIGNED) n,COUNT(DISTINCT w.node) FROM "
			     "package p LEFT JOIN worker w ON w.stack_id=p.stack_id AND w.worker_id=p.worker_id WHERE "
			     "p.stack_id=%u GROUP BY p.name,p.version ORDER BY n DESC,p.name,p.version",
			     s.id));
	return r.stopped ? JOBSTACK_ESTOPPED : 0;
}

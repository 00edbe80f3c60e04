/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Facts: what many attempts or workers of a stack have in common.  Promise: a fact is stored once; who stores it again,
 * or after a lost reply, changes nothing; a stack that is being dropped gets none any more.
 */
#include "queue/worker.h"

#include <string.h>

int jobstack_worker_fact(struct jobstack_worker *w, enum jobstack_fact_kind kind, int64_t number, const char *text,
			 struct jobstack_error *error)
{
	if (kind ==
	    JOBSTACK_FACT_PACKAGES) /* prune removes lists that were last told long ago, if no attempt has them */
		JS_TRY(js_handle_change(
			w->handle, 0, NULL, error,
			"UPDATE fact SET seen=UTC_TIMESTAMP(6) WHERE stack_id=%u AND kind=%u AND fact=%d", w->stack.id,
			(uint64_t)kind, number));
	return js_handle_change(w->handle, 0, NULL, error,
				"INSERT IGNORE INTO fact(stack_id,kind,fact,seen,text) SELECT "
				"stack_id,%u,%d,UTC_TIMESTAMP(6),%x" JS_STACK_KEPT,
				(uint64_t)kind, number, (const void *)text, strlen(text), w->stack.id);
}

struct reading {
	jobstack_stack_fact_fn *fact;
	void *ctx;
	int stopped;
	uint64_t told; /* facts that were reported */
	uint64_t at;   /* the number of this row: a query that is cut short begins again */
};

static void take_fact(void *ctx, const struct js_row *row)
{
	struct reading *r = ctx;
	struct jobstack_stack_fact fact;

	if (row == NULL)
		r->at = 0;
	if (row == NULL || r->at++ < r->told || r->stopped)
		return;
	r->told++;
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

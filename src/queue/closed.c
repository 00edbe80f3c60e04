/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists of closed attempts, written.  Promise: a list is short where entries with following numbers end together, as
 * most do: they become one range.
 */
#include "queue/closed.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>

static int order_by_attempt(const void *a, const void *b)
{
	const struct js_attempt_id *x = a, *y = b;

	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

void js_closed_write(struct js_buf *text, const struct jobstack_outcome *outcomes, size_t n)
{
	struct js_attempt_id *list = calloc(n + 1, sizeof(*list));
	size_t got = 0, to;

	js_buf_str(text, "");
	text->failed |= list == NULL;
	for (size_t i = 0; list != NULL && i < n; i++)
		if (outcomes[i].verdict != JOBSTACK_UNSTARTED)
			list[got++] = (struct js_attempt_id){outcomes[i].entry, outcomes[i].attempt};
	if (got > 1)
		qsort(list, got, sizeof(*list), order_by_attempt);
	for (size_t i = 0; i < got; i = to) {
		for (to = i + 1;
		     to < got && list[to].attempt == list[i].attempt && list[to].entry == list[to - 1].entry + 1; to++)
			;
		js_buf_printf(text, "%" PRIu64, list[i].entry);
		if (to - i > 1)
			js_buf_printf(text, "-%" PRIu64, list[to - 1].entry);
		js_buf_printf(text, ":%" PRIu64 ",", list[i].attempt);
	}
	free(list);
}

uint64_t js_closed_second(int64_t us)
{
	return us < 0 ? 0 : us / JS_SECOND_US < JS_CLOSED_FAR ? (uint64_t)(us / JS_SECOND_US) : JS_CLOSED_FAR;
}

/* FOR UPDATE: a reader of the stream may empty the column at any moment.  What is read here must be what the UPDATE of
 * the row, which comes next, removes. */
void js_closed_take_sql(struct js_sql *sql, uint64_t worker)
{
	js_sql_stmt(sql,
		    "SELECT closed,oldest,newest INTO @js_closed,@js_oldest,@js_newest FROM worker WHERE worker_id=%u "
		    "FOR UPDATE",
		    worker);
	js_sql_count(sql, 1);
}

/* The row has the seq of the step, so its key is new.  If both lists are empty, no row is inserted. */
void js_closed_store_sql(struct js_sql *sql, const struct js_stack *stack, struct jobstack_seen worker,
			 const struct js_closed_list *list, int older)
{
	const struct js_buf *text = &list->text;

	sql->text.failed |= text->failed;
	js_sql_add(sql, "INSERT INTO closed(stack_id,worker_id,seq,oldest,newest,list) SELECT %u,%u,%u,", stack->id,
		   worker.worker, worker.seq);
	js_sql_add(sql, older ? "IF(@js_closed IS NULL,%u," : "%u,", list->oldest);
	if (older)
		js_sql_add(sql, "LEAST(@js_oldest,%u)),", list->oldest);
	js_sql_add(sql, older ? "GREATEST(@js_newest,%u),CONCAT_WS('',@js_closed,%x)" : "%u,%x", list->newest,
		   (const void *)text->data, text->len);
	js_sql_stmt(sql, text->len > 0 ? "" : " FROM DUAL WHERE @js_closed IS NOT NULL");
}

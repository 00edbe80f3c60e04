/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where entries stood at one moment.  Promises: spans and claims are read in one view, so that no entry is met twice or
 * missed; the view lasts no longer than that reading; memory by the size of the window alone.
 */
#include "core/where.h"

#include "base/error.h"
#include "core/item.h"
#include "core/span.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 500

struct reading {
	struct js_where *where;
	struct jobstack *handle;
	uint64_t stack;
	unsigned class; /* of the spans that come; 3: they are claims */
	size_t rows;
	uint64_t worker, no; /* the last row's key: of a claim, of a span */
	int64_t rank, pos;
	int bad;
	uint64_t ids[JS_IDS_MAX];
};

static int compare_in_hand(const void *a, const void *b)
{
	uint64_t x = ((const struct js_in_hand *)a)->entry, y = ((const struct js_in_hand *)b)->entry;

	return (x > y) - (x < y);
}

const struct js_in_hand *js_where_in_hand(const struct js_where *w, uint64_t entry)
{
	struct js_in_hand key = {.entry = entry};

	return w->n == 0 ? NULL : bsearch(&key, w->in_hand.data, w->n, sizeof(key), compare_in_hand);
}

static void put_entry(struct reading *r, const struct js_row *row, uint64_t entry, uint32_t attempt)
{
	struct js_where *w = r->where;
	size_t at = (size_t)(entry - w->low);

	if (entry < w->low || entry > w->high)
		return;
	w->state[at] = (unsigned char)(1u << r->class);
	w->attempt[at] = attempt;
	if (r->class == 3) {
		struct js_in_hand one = {entry, r->worker, js_item_since(row->col[6], entry)};

		if (one.started_us < 0)
			one.started_us = js_row_time(row, 7);
		js_buf_add(&w->in_hand, &one, sizeof(one));
		w->n = w->in_hand.len / sizeof(one);
	}
}

/* A span: attempt, lo, hi, the part of the list that counts, rank, pos; a claim: worker and claim_no in the last two
 * places, then what runs, and when a script popped it. */
static void take_where_set(void *ctx, const struct js_row *row)
{
	struct reading *r = ctx;
	uint64_t lo, hi;
	uint32_t attempt;

	if (row == NULL)
		return;
	r->rows++;
	attempt = (uint32_t)js_row_u64(row, 0);
	lo = js_row_u64(row, 1);
	hi = js_row_u64(row, 2);
	if (r->class == 3) {
		r->worker = js_row_u64(row, 4);
		r->no = js_row_u64(row, 5);
	} else {
		r->rank = js_row_i64(row, 4);
		r->pos = js_row_i64(row, 5);
	}
	if (row->col[3] == NULL) {
		for (uint64_t e = lo > r->where->low ? lo : r->where->low; e <= hi && e <= r->where->high; e++)
			put_entry(r, row, e, attempt);
		return;
	}
	if (hi < lo || hi - lo >= JS_IDS_MAX ||
	    js_span_read_ids(row->col[3], row->len[3], 0, (size_t)(hi - lo + 1), r->ids) != 0) {
		r->bad = 1;
		return;
	}
	for (size_t i = 0; i <= hi - lo; i++)
		put_entry(r, row, r->ids[i], attempt);
}

/* The list from lo to hi, and the condition that the set reaches into the window: LEAST keeps a damaged place from
 * overflowing. */
#define SLICE "IF(t.ids IS NULL,NULL,SUBSTR(t.ids,LEAST(t.lo,999)*11+1,LEAST(GREATEST(t.hi,t.lo)-t.lo+1,999)*11))"
#define OVERLAPS                                                                                                       \
	" AND IF(t.ids IS NULL,t.lo<=%u AND t.hi>=%u,SUBSTR(t.ids,LEAST(t.lo,999)*11+1,10)<=%x AND "                   \
	"SUBSTR(t.ids,LEAST(t.hi,999)*11+1,10)>=%x)"

static int read_where_class(struct reading *r, struct jobstack_error *error)
{
	const struct js_where *w = r->where;
	char low[JS_IDS_WIDTH], high[JS_IDS_WIDTH];
	int status;

	js_span_write_ids(low, &w->low, 1);
	js_span_write_ids(high, &w->high, 1);
	r->rank = INT32_MIN;
	r->pos = INT64_MIN;
	r->worker = r->no = 0;
	do {
		struct js_sql sql = {0};

		r->rows = 0;
		if (r->class == 3) /* the primary key of claim */
			js_sql_add(&sql,
				   "SELECT t.attempt,t.lo,t.hi," SLICE
				   ",t.worker_id,t.claim_no,w.running,IF(w.kind=1,t.claimed,NULL) FROM claim t JOIN "
				   "worker w ON w.worker_id=t.worker_id WHERE t.stack_id=%u AND (t.worker_id>%u OR "
				   "(t.worker_id=%u AND t.claim_no>%u))",
				   r->stack, r->worker, r->worker, r->no);
		else /* the primary key of span */
			js_sql_add(&sql,
				   "SELECT t.attempt,t.lo,t.hi," SLICE
				   ",t.`rank`,t.pos FROM span t WHERE t.stack_id=%u AND t.class=%u AND (t.`rank`>%d OR "
				   "(t.`rank`=%d AND t.pos>%d))",
				   r->stack, (uint64_t)r->class, r->rank, r->rank, r->pos);
		js_sql_add(&sql, OVERLAPS, w->high, w->low, (const void *)high, (size_t)JS_IDS_WIDTH - 1,
			   (const void *)low, (size_t)JS_IDS_WIDTH - 1);
		js_sql_add(&sql, r->class == 3 ? " ORDER BY t.worker_id,t.claim_no" : " ORDER BY t.`rank`,t.pos");
		js_sql_stmt(&sql, " LIMIT %u", (uint64_t)PAGE);
		status = js_view_query(r->handle->db, &sql, take_where_set, r, error);
	} while (status == 0 && r->rows == PAGE && !w->in_hand.failed);
	return status;
}

static int read_whole_window(void *ctx, struct jobstack_error *error)
{
	struct reading *r = ctx;
	int status = 0;

	memset(r->where->state, 0, JS_WHERE_WINDOW);
	r->where->n = 0;
	js_buf_reset(&r->where->in_hand);
	r->bad = 0;
	for (r->class = 0; r->class <= 3 && status == 0; r->class ++)
		status = read_where_class(r, error);
	return status;
}

int js_where_read(struct js_where *w, struct jobstack *handle, const struct js_stack *stack, uint64_t low,
		  uint64_t high, struct jobstack_error *error)
{
	struct reading r = {.where = w, .handle = handle, .stack = stack->id};
	int status;

	if (w->state == NULL)
		w->state = malloc(JS_WHERE_WINDOW);
	if (w->attempt == NULL)
		w->attempt = malloc(JS_WHERE_WINDOW * sizeof(*w->attempt));
	if (w->state == NULL || w->attempt == NULL)
		return js_error_memory(error);
	w->low = low;
	w->high = high;
	status = js_view_open(handle->db, read_whole_window, &r, error);
	if (status != 0)
		return status;
	if (w->in_hand.failed)
		return js_error_memory(error);
	if (r.bad)
		return js_error_set(error, JOBSTACK_EBUG,
				    "a list of queued entries can't be read: `jobstack check -s %s` tells more",
				    stack->name);
	if (w->n > 0)
		qsort(w->in_hand.data, w->n, sizeof(struct js_in_hand), compare_in_hand);
	return 0;
}

void js_where_free(struct js_where *w)
{
	free(w->state);
	free(w->attempt);
	js_buf_free(&w->in_hand);
	memset(w, 0, sizeof(*w));
}

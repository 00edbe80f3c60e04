/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans and claims out of the database.  Promise: no value in them, however damaged, is trusted.
 */
#include "queue/set.h"

#include "base/array.h"
#include "queue/filter.h"

#include <stdlib.h>
#include <string.h>

/* Behind lo, hi and ids. */
/* clang-format off */
#define SET_COLUMNS(X) X(place.attempt, "t.attempt", U32) X(place.fails, "t.fails", U32) X(place.losses, "t.losses", U32)
#define SPAN_COLUMNS(X)                                                                                                \
	SET_COLUMNS(X) X(place.class, "t.class", U32) X(place.rank, "t.`rank`", I64) X(place.pos, "t.pos", I64)
#define CLAIM_COLUMNS(X)                                                                                               \
	SET_COLUMNS(X) X(place.worker, "t.worker_id", U64) X(place.no, "t.claim_no", U64)                              \
	X(claimed_us, "IF(w.kind=1,t.claimed,NULL)", TIME) X(running, "IF(%u,w.running,NULL)", TEXT)
#define CLAIM_QUERY                                                                                                    \
	"SELECT t.lo,t.hi,t.ids" CLAIM_COLUMNS(JS_COLUMN_NAME) " FROM claim t FORCE INDEX(PRIMARY) LEFT JOIN worker w " \
	"ON w.worker_id=t.worker_id WHERE t.stack_id=%u AND (t.worker_id>%u OR (t.worker_id=%u AND t.claim_no>%u)) "    \
	"AND (%u OR w.worker_id IS NOT NULL)"
#define SPAN_QUERY                                                                                                     \
	"SELECT t.lo,t.hi,t.ids" SPAN_COLUMNS(JS_COLUMN_NAME) " FROM span t FORCE INDEX(PRIMARY) WHERE t.stack_id=%u "  \
	"AND t.class<=%u AND (t.class>%u OR (t.class=%u AND t.`rank`>%d) OR (t.class=%u AND t.`rank`=%d AND t.pos>%d))"
/* clang-format on */

/* The places of a list that count are from lo to hi: pops have taken those before (or, last in first out, after) them.
 */
void js_set_read(struct js_set *set, const struct js_row *row, unsigned col, uint64_t ids[JS_IDS_MAX])
{
	uint64_t lo = js_row_u64(row, col), hi = js_row_u64(row, col + 1);
	const char *list = row->col[col + 2];
	size_t len = row->len[col + 2];

	set->first = set->last = set->n = 0;
	set->lo = lo;
	set->ids = NULL;
	set->damaged = 1;
	if (hi < lo)
		return;
	if (list == NULL) {
		set->first = lo;
		set->last = hi;
		set->n = hi - lo == UINT64_MAX ? hi : hi - lo + 1;
		set->damaged = lo == 0;
	} else if (len % JS_IDS_WIDTH == 0 && len / JS_IDS_WIDTH <= JS_IDS_MAX && hi < len / JS_IDS_WIDTH &&
		   js_span_read_ids(list, len, lo, hi - lo + 1, ids) == 0) {
		set->n = hi - lo + 1;
		set->ids = ids;
		set->first = ids[0];
		set->last = ids[set->n - 1];
		set->damaged = 0;
		for (size_t i = 1; i < set->n; i++)
			set->damaged |= ids[i] <= ids[i - 1];
	}
}

static void forget_page(struct js_set_query *q)
{
	for (size_t i = 0; i < q->rows; i++) {
		free(q->set[i].ids);
		free((char *)(uintptr_t)q->set[i].running);
	}
	q->rows = 0;
	q->failed = 0;
}

/* Keeps a set, with a copy of what lies in the row, which is valid only during this call. */
static void take_set(void *ctx, const struct js_row *row)
{
	struct js_set_query *q = ctx;
	uint64_t list[JS_IDS_MAX], *ids;
	struct js_set set = {.claimed_us = -1}, *to = &set;
	unsigned c = 3;

	if (row == NULL) {
		forget_page(q);
		return;
	}
	q->failed |= js_array_grow(&q->set, &q->room, q->rows + 1, sizeof(set)) != 0;
	if (q->failed)
		return;
	js_set_read(to, row, 0, list);
	if (q->claims) {
		CLAIM_COLUMNS(JS_COLUMN_READ)
	} else {
		SPAN_COLUMNS(JS_COLUMN_READ)
	}
	ids = set.ids == NULL ? NULL : malloc(set.n * sizeof(*ids));
	q->failed |= (ids == NULL) != (set.ids == NULL);
	if (ids != NULL)
		memcpy(ids, list, set.n * sizeof(*ids));
	set.ids = ids;
	if (set.running != NULL)
		q->failed |= (set.running = strdup(set.running)) == NULL;
	q->set[q->rows++] = set;
}

/* The first and last number of a list, as SQL can read them: LEAST keeps a damaged place from overflowing. */
#define FIRST_IN_LIST "SUBSTR(t.ids,LEAST(t.lo,999)*11+1,10)"
#define LAST_IN_LIST "SUBSTR(t.ids,LEAST(t.hi,999)*11+1,10)"

/* Adds the condition that a set may hold entries from low to high.  The numbers of a list are compared as texts: all
 * have ten upper-case digits, so their order is the same. */
static void overlap_sql(struct js_sql *sql, const struct js_set_query *q)
{
	char low[JS_IDS_WIDTH], high[JS_IDS_WIDTH];

	js_span_write_ids(low, &q->low, 1);
	js_span_write_ids(high, &q->high, 1);
	js_sql_add(sql, " AND IF(t.ids IS NULL,t.lo<=%u AND t.hi>=%u," FIRST_IN_LIST "<=%x AND " LAST_IN_LIST ">=%x)",
		   q->high, q->low, (const void *)high, (size_t)JS_IDS_WIDTH - 1, (const void *)low,
		   (size_t)JS_IDS_WIDTH - 1);
}

void js_sets_begin(struct js_set_query *q)
{
	q->at = (struct js_place){.class = q->class, .rank = INT32_MIN, .pos = INT64_MIN};
}

int js_sets_page(struct js_set_query *q, struct jobstack_error *error)
{
	const struct js_place *at = &q->at;
	struct js_sql sql = {0};

	JS_TRY(js_db_nap(q->handle->db, 0, error));
	if (q->claims)
		js_sql_add(&sql, CLAIM_QUERY, (uint64_t)(q->running != 0), q->stack, at->worker, at->worker, at->no,
			   (uint64_t)!q->running);
	else
		js_sql_add(&sql, SPAN_QUERY, q->stack, (uint64_t)q->last_class, (uint64_t)at->class,
			   (uint64_t)at->class, at->rank, (uint64_t)at->class, at->rank, at->pos);
	if (q->high > 0)
		overlap_sql(&sql, q);
	if (q->filter != NULL)
		js_filter_sets_sql(&sql, q->filter);
	js_sql_stmt(&sql,
		    q->claims ? " ORDER BY t.stack_id,t.worker_id,t.claim_no LIMIT %u"
			      : " ORDER BY t.stack_id,t.class,t.`rank`,t.pos LIMIT %u",
		    q->page);
	JS_TRY(js_db_query(q->handle->db, &sql, take_set, q, error));
	if (q->rows > 0)
		q->at = q->set[q->rows - 1].place;
	return q->failed ? js_error_memory(error) : 0;
}

void js_sets_free(struct js_set_query *q)
{
	forget_page(q);
	free(q->set);
	q->set = NULL;
}

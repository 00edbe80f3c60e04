/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of workers and pushes that nothing refers to any more.  Promises: a worker's row is deleted only if the worker
 * and all its attempts ended before the given time, as noted at the start, and no attempt of that time refers to it. No
 * attempts of an ended worker are added.  One bit of memory per worker, 8 MiB at most.
 *
 * Rows of the last hour always stay: a process whose reply was lost, or a spool that will be delivered, may still look
 * them up, and the row that bars the token of a lost first try must outlast that try.
 */
#include "history/unreferenced.h"

#include "queue/closed.h"

#include <stdlib.h>

#define HOUR_US INT64_C(3600000000)
#define WINDOW (UINT64_C(1) << 26) /* worker numbers; higher ones are removed by a later call */
#define PAGE 20000
#define CHUNK 1000

struct js_leftover {
	struct jobstack *handle;
	uint64_t stack_id, first, window; /* the first number, and how many follow */
	int64_t before_us;
	unsigned char *bits;
	uint64_t noted;
	/* the page, or the chunk */
	uint64_t last, rows;
	int64_t last_us;
	uint64_t list[CHUNK];
	size_t n;
};

static void mark_worker(struct js_leftover *l, uint64_t worker, int on)
{
	uint64_t at = worker - l->first;
	unsigned char bit = (unsigned char)(1u << at % 8);

	if (worker < l->first || at >= l->window || ((l->bits[at / 8] & bit) != 0) == on)
		return;
	l->bits[at / 8] ^= bit;
	l->noted += on ? 1 : UINT64_MAX;
}

/* ------------------------------------------------------------------------------------------------- who has ended */

static void take_range(void *ctx, const struct js_row *row)
{
	struct js_leftover *l = ctx;

	l->window = 0;
	if (row == NULL || row->col[0] == NULL)
		return;
	l->first = js_row_u64(row, 0);
	l->window = js_row_u64(row, 1) - l->first + 1;
	if (l->window > WINDOW)
		l->window = WINDOW;
}

static void take_ended(void *ctx, const struct js_row *row)
{
	struct js_leftover *l = ctx;

	if (row == NULL) {
		l->rows = 0;
		return;
	}
	l->rows++;
	l->last = js_row_u64(row, 0);
	l->last_us = js_row_time(row, 1);
	mark_worker(l, l->last, 1);
}

/* By the index worker_of_stack, whose records end with the primary key. */
static int note_ended(struct js_leftover *l, struct jobstack_error *error)
{
	JS_TRY(js_handle_ask(l->handle, take_range, l, error,
			     "SELECT MIN(worker_id),MAX(worker_id) FROM worker FORCE INDEX(worker_of_stack) WHERE "
			     "stack_id=%u AND ended<%t",
			     l->stack_id, l->before_us));
	if (l->window == 0)
		return 0;
	l->bits = calloc(l->window / 8 + 1, 1);
	if (l->bits == NULL)
		return js_error_memory(error);
	do {
		JS_TRY(js_db_nap(l->handle->db, 0, error));
		JS_TRY(js_handle_ask(
			l->handle, take_ended, l, error,
			"SELECT worker_id,ended FROM worker FORCE INDEX(worker_of_stack) WHERE stack_id=%u AND "
			"ended>=%t AND ended<%t AND (ended>%t OR worker_id>%u) AND newest<=%u ORDER BY "
			"ended,worker_id LIMIT %u",
			l->stack_id, l->last_us, l->before_us, l->last_us, l->last, js_closed_second(l->before_us),
			(uint64_t)PAGE));
	} while (l->rows == PAGE);
	return 0;
}

int js_leftover_new(struct js_leftover **left, struct jobstack *handle, uint64_t stack_id, int64_t before_us,
		    int64_t now_us, struct jobstack_error *error)
{
	struct js_leftover *l = calloc(1, sizeof(*l));
	int status;

	*left = l;
	if (l == NULL)
		return js_error_memory(error);
	l->handle = handle;
	l->stack_id = stack_id;
	l->before_us = before_us < now_us - HOUR_US ? before_us : now_us - HOUR_US;
	status = note_ended(l, error);
	if (status != 0) {
		js_leftover_free(l);
		*left = NULL;
	}
	return status;
}

void js_leftover_free(struct js_leftover *l)
{
	if (l != NULL)
		free(l->bits);
	free(l);
}

/* -------------------------------------------------------------------------------------------- who is referred to */

static void take_reference(void *ctx, const struct js_row *row)
{
	if (row != NULL)
		mark_worker(ctx, js_row_u64(row, 0), 0);
}

int js_leftover_look(struct js_leftover *l, uint64_t low, uint64_t high, int64_t pruned_us,
		     struct jobstack_error *error)
{
	struct js_sql sql = {0};

	if (l->noted == 0)
		return 0;
	js_sql_add(&sql, "SELECT DISTINCT worker_id FROM attempt a WHERE stack_id=%u AND entry_id>%u AND entry_id<=%u",
		   l->stack_id, low, high);
	if (pruned_us >= 0) /* a count: as NOT EXISTS, MariaDB walks over the whole table for it */
		js_sql_add(&sql,
			   " AND (SELECT COUNT(*) FROM attempt f WHERE f.stack_id=a.stack_id AND f.entry_id=a.entry_id "
			   "AND f.final=1 AND f.ended<%t)=0",
			   pruned_us);
	js_sql_add(&sql, ";");
	return js_db_query(l->handle->db, &sql, take_reference, l, error);
}

/* ----------------------------------------------------------------------------------------------------- what goes */

/* Deletes the rows of the list: by their primary key, and no other could be taken. */
static int remove_list(struct js_leftover *l, const char *statement, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_list(&sql, statement, l->list, l->n);
	js_sql_add(&sql, ";");
	return js_db_commit(l->handle->db, &sql, NULL, error);
}

static int remove_workers(struct js_leftover *l, struct jobstack_error *error)
{
	l->n = 0;
	for (uint64_t at = 0; at < l->window; at++) {
		if (l->bits[at / 8] == 0)
			at |= 7; /* none of these eight */
		else if ((l->bits[at / 8] >> at % 8 & 1) != 0)
			l->list[l->n++] = l->first + at;
		if (l->n < CHUNK && (l->n == 0 || at + 1 < l->window))
			continue;
		JS_TRY(remove_list(l, "DELETE FROM worker WHERE ended IS NOT NULL AND worker_id IN(", error));
		l->n = 0;
	}
	return 0;
}

static void take_push(void *ctx, const struct js_row *row)
{
	struct js_leftover *l = ctx;

	if (row == NULL)
		l->n = 0;
	else if (l->n < CHUNK)
		l->list[l->n++] = js_row_u64(row, 0);
}

/* By the index push_of_stack.  An atomic push that failed keeps its row until what it holds was taken away, and any
 * push its own while an entry of it is left, by the index range_of_push: it says who pushed that. */
static int remove_pushes(struct js_leftover *l, int64_t pruned_us, uint64_t *pushes, struct jobstack_error *error)
{
	uint64_t last = 0;

	do {
		JS_TRY(js_handle_ask(
			l->handle, take_push, l, error,
			"SELECT push_id FROM push p WHERE stack_id=%u AND ended<%t AND push_id>%u AND (atomic=0 OR "
			"NOT EXISTS(SELECT 1 FROM span s WHERE s.stack_id=%u AND s.class=2 AND "
			"s.push_id=p.push_id)) AND NOT EXISTS(SELECT 1 FROM push_range r WHERE r.push_id=p.push_id AND "
			"(SELECT e.entry_id FROM entry e WHERE e.stack_id=r.stack_id AND e.entry_id BETWEEN r.lo AND "
			"r.hi AND (%u OR (SELECT COUNT(*) FROM attempt f WHERE f.stack_id=e.stack_id AND "
			"f.entry_id=e.entry_id AND f.final=1 AND f.ended<%t)=0) LIMIT 1) IS NOT NULL) ORDER BY push_id "
			"LIMIT %u",
			l->stack_id, l->before_us, last, l->stack_id, (uint64_t)(pruned_us < 0), pruned_us,
			(uint64_t)CHUNK));
		if (l->n == 0)
			return 0;
		last = l->list[l->n - 1];
		if (pruned_us < 0) {
			JS_TRY(remove_list(l, "DELETE FROM push_range WHERE push_id IN(", error));
			JS_TRY(remove_list(l, "DELETE FROM push WHERE ended IS NOT NULL AND push_id IN(", error));
		}
		*pushes += l->n;
	} while (l->n == CHUNK);
	return 0;
}

int js_leftover_remove(struct js_leftover *l, int64_t pruned_us, struct jobstack_prune_result *result,
		       struct jobstack_error *error)
{
	if (l->noted > 0 && pruned_us < 0)
		JS_TRY(remove_workers(l, error));
	result->workers += l->noted;
	return remove_pushes(l, pruned_us, &result->pushes, error);
}

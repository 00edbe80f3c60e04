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
#define PAGE 20000		   /* workers read by one query */
#define CHUNK 1000		   /* rows deleted by one statement */

struct js_unreferenced {
	struct jobstack *handle;
	uint64_t stack_id, first, window; /* the first number, and how many there are from it on */
	int64_t before_us;		  /* rows that ended before this moment may go */
	unsigned char *bits;		  /* one per number: 1 if the row may go, as far as is known */
	uint64_t noted;			  /* how many bits are set */
	/* the page, or the chunk */
	uint64_t last, rows;
	int64_t last_us;
	uint64_t list[CHUNK];
	size_t n;
};

/* Sets or clears the bit of a worker, and counts. */
static void mark_worker(struct js_unreferenced *u, uint64_t worker, int on)
{
	uint64_t at = worker - u->first;
	unsigned char bit = (unsigned char)(1u << at % 8);

	if (worker < u->first || at >= u->window || ((u->bits[at / 8] & bit) != 0) == on)
		return;
	u->bits[at / 8] ^= bit;
	u->noted += on ? 1 : UINT64_MAX;
}

/* ------------------------------------------------------------------------------------------ workers that have ended */

static void take_range(void *ctx, const struct js_row *row)
{
	struct js_unreferenced *u = ctx;

	u->window = 0;
	if (row == NULL || row->col[0] == NULL)
		return;
	u->first = js_row_u64(row, 0);
	u->window = js_row_u64(row, 1) - u->first + 1;
	if (u->window > WINDOW)
		u->window = WINDOW;
}

static void take_ended(void *ctx, const struct js_row *row)
{
	struct js_unreferenced *u = ctx;

	if (row == NULL) {
		u->rows = 0;
		return;
	}
	u->rows++;
	u->last = js_row_u64(row, 0);
	u->last_us = js_row_time(row, 1);
	mark_worker(u, u->last, 1);
}

/* Notes the workers that may go.  The index worker_of_stack serves it, whose records end with the primary key: so
 * (ended, worker_id) is a place in it. */
static int note_ended(struct js_unreferenced *u, struct jobstack_error *error)
{
	JS_TRY(js_handle_ask(u->handle, take_range, u, error,
			     "SELECT MIN(worker_id),MAX(worker_id) FROM worker FORCE INDEX(worker_of_stack) WHERE "
			     "stack_id=%u AND ended<%t",
			     u->stack_id, u->before_us));
	if (u->window == 0)
		return 0;
	u->bits = calloc(u->window / 8 + 1, 1);
	if (u->bits == NULL)
		return js_error_memory(error);
	do {
		JS_TRY(js_db_nap(u->handle->db, 0, error));
		JS_TRY(js_handle_ask(
			u->handle, take_ended, u, error,
			"SELECT worker_id,ended FROM worker FORCE INDEX(worker_of_stack) WHERE stack_id=%u AND "
			"ended>=%t AND ended<%t AND (ended>%t OR worker_id>%u) AND newest<=%u ORDER BY "
			"ended,worker_id LIMIT %u",
			u->stack_id, u->last_us, u->before_us, u->last_us, u->last, js_closed_second(u->before_us),
			(uint64_t)PAGE));
	} while (u->rows == PAGE);
	return 0;
}

int js_unreferenced_new(struct js_unreferenced **unreferenced, struct jobstack *handle, uint64_t stack_id,
			int64_t before_us, int64_t now_us, struct jobstack_error *error)
{
	struct js_unreferenced *u = calloc(1, sizeof(*u));
	int status;

	*unreferenced = u;
	if (u == NULL)
		return js_error_memory(error);
	u->handle = handle;
	u->stack_id = stack_id;
	u->before_us = before_us < now_us - HOUR_US ? before_us : now_us - HOUR_US;
	status = note_ended(u, error);
	if (status != 0) {
		js_unreferenced_free(u);
		*unreferenced = NULL;
	}
	return status;
}

void js_unreferenced_free(struct js_unreferenced *u)
{
	if (u != NULL)
		free(u->bits);
	free(u);
}

/* ---------------------------------------------------------------------------------------- workers that attempts name
 */

static void take_reference(void *ctx, const struct js_row *row)
{
	if (row != NULL)
		mark_worker(ctx, js_row_u64(row, 0), 0);
}

int js_unreferenced_exclude(struct js_unreferenced *u, uint64_t low, uint64_t high, int64_t pruned_us,
			    struct jobstack_error *error)
{
	struct js_sql sql = {0};

	if (u->noted == 0)
		return 0;
	js_sql_add(&sql, "SELECT DISTINCT worker_id FROM attempt a WHERE stack_id=%u AND entry_id>%u AND entry_id<=%u",
		   u->stack_id, low, high);
	if (pruned_us >= 0) /* a count: as NOT EXISTS, MariaDB walks over the whole table for it */
		js_sql_add(&sql,
			   " AND (SELECT COUNT(*) FROM attempt f WHERE f.stack_id=a.stack_id AND f.entry_id=a.entry_id "
			   "AND f.final=1 AND f.ended<%t)=0",
			   pruned_us);
	js_sql_add(&sql, ";");
	return js_db_query(u->handle->db, &sql, take_reference, u, error);
}

/* ------------------------------------------------------------------------------------------------------- removing */

/* Deletes the rows of the list by their primary key. */
static int remove_list(struct js_unreferenced *u, const char *statement, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_list(&sql, statement, u->list, u->n);
	js_sql_add(&sql, ";");
	return js_db_commit(u->handle->db, &sql, NULL, error);
}

static int remove_workers(struct js_unreferenced *u, struct jobstack_error *error)
{
	u->n = 0;
	for (uint64_t at = 0; at < u->window; at++) {
		if (u->bits[at / 8] == 0)
			at |= 7; /* none of the next eight numbers: skips them */
		else if ((u->bits[at / 8] >> at % 8 & 1) != 0)
			u->list[u->n++] = u->first + at;
		if (u->n < CHUNK && (u->n == 0 || at + 1 < u->window))
			continue;
		JS_TRY(remove_list(u, "DELETE FROM worker WHERE ended IS NOT NULL AND worker_id IN(", error));
		u->n = 0;
	}
	return 0;
}

static void take_push(void *ctx, const struct js_row *row)
{
	struct js_unreferenced *u = ctx;

	if (row == NULL)
		u->n = 0;
	else if (u->n < CHUNK)
		u->list[u->n++] = js_row_u64(row, 0);
}

/* Removes pushes that ended, by the index push_of_stack.  Two kinds stay: an atomic push that failed, until what it
 * holds was removed; and any push while one of its entries is left (the index range_of_push finds them), since its row
 * says who pushed that entry. */
static int remove_pushes(struct js_unreferenced *u, int64_t pruned_us, uint64_t *pushes, struct jobstack_error *error)
{
	uint64_t last = 0;

	do {
		JS_TRY(js_handle_ask(
			u->handle, take_push, u, error,
			"SELECT push_id FROM push p WHERE stack_id=%u AND ended<%t AND push_id>%u AND (atomic=0 OR "
			"NOT EXISTS(SELECT 1 FROM span s WHERE s.stack_id=%u AND s.class=2 AND "
			"s.push_id=p.push_id)) AND NOT EXISTS(SELECT 1 FROM push_range r WHERE r.push_id=p.push_id AND "
			"(SELECT e.entry_id FROM entry e WHERE e.stack_id=r.stack_id AND e.entry_id BETWEEN r.lo AND "
			"r.hi AND (%u OR (SELECT COUNT(*) FROM attempt f WHERE f.stack_id=e.stack_id AND "
			"f.entry_id=e.entry_id AND f.final=1 AND f.ended<%t)=0) LIMIT 1) IS NOT NULL) ORDER BY push_id "
			"LIMIT %u",
			u->stack_id, u->before_us, last, u->stack_id, (uint64_t)(pruned_us < 0), pruned_us,
			(uint64_t)CHUNK));
		if (u->n == 0)
			return 0;
		last = u->list[u->n - 1];
		if (pruned_us < 0) {
			JS_TRY(remove_list(u, "DELETE FROM push_range WHERE push_id IN(", error));
			JS_TRY(remove_list(u, "DELETE FROM push WHERE ended IS NOT NULL AND push_id IN(", error));
		}
		*pushes += u->n;
	} while (u->n == CHUNK);
	return 0;
}

int js_unreferenced_remove(struct js_unreferenced *u, int64_t pruned_us, struct jobstack_prune_result *result,
			   struct jobstack_error *error)
{
	if (u->noted > 0 && pruned_us < 0)
		JS_TRY(remove_workers(u, error));
	result->workers += u->noted;
	return remove_pushes(u, pruned_us, &result->pushes, error);
}

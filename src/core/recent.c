/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where attempts that ended since some time may be.  No index has their times: it would cost every close.  But each
 * attempt is in one list of the stream (core/stream.h).  Its list is in the row of a worker that lives, in a row of
 * `closed` of a worker that lives or ended since (index worker_of_stack), or in a block that was made since.  Promises:
 * no attempt is missed; each query reads a bounded number of rows; at most 2 MiB of memory.
 *
 * A list only moves from a worker's row to `closed`, and from there to a block.  They are read in this order, so a list
 * that moves meanwhile is seen at least once.
 */
#include "core/recent.h"

#include "base/clock.h"
#include "core/stream.h"

#include <stdlib.h>

#define UNIT 64 /* numbers per bit, at least */
#define UNITS_MAX (UINT64_C(1) << 24)
#define WORKERS 500
#define ROWS 1000		      /* of `closed` by one query */
#define SLACK_US (600 * JS_SECOND_US) /* a client's clock may be ahead of the server's by so much */

struct finding {
	struct js_recent *to;
	struct jobstack *handle;
	uint64_t stack, tail;
	int64_t since_us; /* less the slack */
	uint64_t workers[WORKERS];
	size_t n; /* workers */
	int64_t ended_us;
	uint64_t rows, worker, seq; /* of `closed`; the last one */
	uint64_t block;		    /* the last one that was read; 0: there is none */
	int older;		    /* it was made before */
};

static void mark(struct finding *f, uint64_t first, uint64_t last)
{
	struct js_recent *r = f->to;

	if (last > f->tail)
		last = f->tail;
	for (uint64_t at = first / r->unit; first <= last && at <= last / r->unit; at++)
		r->bits[at / 8] |= (unsigned char)(1u << at % 8);
}

/* Marks what a list names.  What can't be read of it is no worse than a list that is missing: `export --follow` says
 * so. */
static void mark_list(struct finding *f, const char *text)
{
	struct js_stream_range r;

	while (text != NULL && js_stream_next(&text, &r))
		if (r.first > 0)
			mark(f, r.first, r.last);
}

/* What was recorded before there was a stream is all marked, unless all of that is older. */
static int mark_history(struct finding *f, struct jobstack_error *error)
{
	uint64_t history;

	JS_TRY(js_handle_ask_number(f->handle, &history, error,
				    "SELECT IF((SELECT MIN(installed) FROM jobstack_version WHERE version>=9)>=%t,"
				    "history,0) FROM stack WHERE stack_id=%u",
				    f->since_us, f->stack));
	if (history != UINT64_MAX && history > 0)
		mark(f, 1, history);
	return 0;
}

static void take_worker(void *ctx, const struct js_row *row)
{
	struct finding *f = ctx;

	if (row == NULL) {
		f->n = 0;
		return;
	}
	if (f->n == WORKERS)
		return;
	f->workers[f->n++] = js_row_u64(row, 0);
	f->ended_us = js_row_time(row, 1);
	mark_list(f, row->col[2]);
}

static void take_closed(void *ctx, const struct js_row *row)
{
	struct finding *f = ctx;

	if (row == NULL) {
		f->rows = 0;
		return;
	}
	f->rows++;
	f->worker = js_row_u64(row, 0);
	f->seq = js_row_u64(row, 1);
	mark_list(f, row->col[2]);
}

/* The lists of the workers of the page, along the primary key of `closed`. */
static int read_closed(struct finding *f, struct jobstack_error *error)
{
	f->worker = f->seq = 0;
	f->rows = f->n == 0 ? 0 : ROWS;
	while (f->rows == ROWS) {
		struct js_sql sql = {0};

		js_sql_add(&sql,
			   "SELECT worker_id,seq,list FROM closed WHERE stack_id=%u AND (worker_id>%u OR "
			   "(worker_id=%u AND seq>%u))",
			   f->stack, f->worker, f->worker, f->seq);
		js_sql_list(&sql, " AND worker_id IN(", f->workers, f->n);
		js_sql_stmt(&sql, " ORDER BY worker_id,seq LIMIT %u", (uint64_t)ROWS);
		JS_TRY(js_db_query(f->handle->db, &sql, take_closed, f, error));
	}
	return 0;
}

/* Workers that live, by their numbers; then those that have ended since, in the order of their ends: one that ends
 * meanwhile is among them. */
static int read_workers(struct finding *f, struct jobstack_error *error)
{
	uint64_t last = 0;

	do {
		JS_TRY(js_handle_ask(f->handle, take_worker, f, error,
				     "SELECT worker_id,ended,closed FROM worker FORCE INDEX(worker_of_stack) WHERE "
				     "stack_id=%u AND ended IS NULL AND worker_id>%u ORDER BY worker_id LIMIT %u",
				     f->stack, last, (uint64_t)WORKERS));
		last = f->n == 0 ? 0 : f->workers[f->n - 1];
		JS_TRY(read_closed(f, error));
	} while (f->n == WORKERS);
	last = 0;
	f->ended_us = f->since_us;
	do {
		JS_TRY(js_handle_ask(
			f->handle, take_worker, f, error,
			"SELECT worker_id,ended,closed FROM worker FORCE INDEX(worker_of_stack) WHERE stack_id=%u AND "
			"ended>=%t AND (ended>%t OR worker_id>%u) ORDER BY ended,worker_id LIMIT %u",
			f->stack, f->ended_us, f->ended_us, last, (uint64_t)WORKERS));
		last = f->n == 0 ? 0 : f->workers[f->n - 1];
		JS_TRY(read_closed(f, error));
	} while (f->n == WORKERS);
	return 0;
}

static void take_block(void *ctx, const struct js_row *row)
{
	struct finding *f = ctx;
	struct js_stream_range r;
	const char *text;

	f->block = 0;
	f->older = 0;
	if (row == NULL)
		return;
	f->block = js_row_u64(row, 0);
	for (text = row->col[1]; js_stream_next(&text, &r);)
		f->older |= r.first == 0 && (int64_t)r.attempt * JS_SECOND_US < f->since_us;
	if (!f->older)
		mark_list(f, row->col[1]);
}

/* From the last block backwards: the time of an earlier one is not later. */
static int read_blocks(struct finding *f, struct jobstack_error *error)
{
	for (f->block = UINT64_MAX; f->block > 0 && !f->older;)
		JS_TRY(js_handle_ask(f->handle, take_block, f, error,
				     "SELECT no,list FROM stream WHERE stack_id=%u AND no<%u ORDER BY no DESC LIMIT 1",
				     f->stack, f->block));
	return 0;
}

int js_recent_read(struct js_recent *recent, struct jobstack *handle, const struct js_stack *stack, int64_t since_us,
		   struct jobstack_error *error)
{
	struct finding f = {.to = recent, .handle = handle, .stack = stack->id, .tail = stack->tail};

	f.since_us = since_us > SLACK_US ? since_us - SLACK_US : 0;
	for (recent->unit = UNIT; stack->tail / recent->unit >= UNITS_MAX; recent->unit *= 2)
		;
	recent->units = stack->tail / recent->unit + 1;
	recent->bits = calloc(recent->units / 8 + 1, 1);
	if (recent->bits == NULL)
		return js_error_memory(error);
	JS_TRY(mark_history(&f, error));
	JS_TRY(read_workers(&f, error));
	return read_blocks(&f, error);
}

static int is_marked(const struct js_recent *r, uint64_t at)
{
	return (r->bits[at / 8] >> at % 8 & 1) != 0;
}

int js_recent_next(const struct js_recent *recent, uint64_t after, uint64_t most, uint64_t *low, uint64_t *high)
{
	uint64_t at = (after + 1) / recent->unit, to;

	while (at < recent->units && !is_marked(recent, at))
		at++;
	if (at >= recent->units)
		return 0;
	*low = at * recent->unit > after ? at * recent->unit : after + 1;
	for (to = at; to < recent->units && is_marked(recent, to) && (to - at) * recent->unit < most;)
		to++;
	*high = to * recent->unit - 1;
	return 1;
}

void js_recent_free(struct js_recent *recent)
{
	free(recent->bits);
	recent->bits = NULL;
}

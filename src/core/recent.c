/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds the attempts that ended since a given time.  No index has their times: it would cost every close.  But each
 * attempt is in one list of the stream (core/stream.h), and each list says when its newest attempt ended.  What the new
 * lists name is marked.  Promises: no attempt is missed, whatever clocks did (but attempts from before there was a
 * stream are left out if the time is more than a day after its migration, by the server's clock); each query reads a
 * bounded number of rows; the marks take at most 2 MiB of memory.
 *
 * A list only moves from a worker's row to `closed`, and from there to a block.  They are read in this order, so a list
 * that moves meanwhile is seen at least once.
 */
#include "core/recent.h"

#include "base/clock.h"
#include "core/stream.h"

#include <stdlib.h>
#include <string.h>

#define UNIT 64 /* numbers per bit, at least */
#define UNITS_MAX (UINT64_C(1) << 24)
#define ROWS 200 /* lists by one query */
#define GAP 2048 /* so many numbers that are not marked are read, too: that costs less than another query */
#define DAY_US (86400 * JS_SECOND_US)
#define UNKNOWN UINT32_MAX /* `newest` of lists that were written before there was such a column */

/* What is read, and the last row: its keys behind `newest` are a worker and a step, or a block and 0. */
struct finding {
	struct js_recent *to;
	uint64_t newest, key[2];
	size_t rows;
};

static void mark_range(struct js_recent *r, uint64_t first, uint64_t last)
{
	last = last < r->tail ? last : r->tail;
	for (uint64_t at = first / r->unit; first <= last && at <= last / r->unit; at++)
		r->bits[at / 8] |= (unsigned char)(1u << at % 8);
}

static void take_list(void *ctx, const struct js_row *row)
{
	struct finding *f = ctx;
	struct js_stream_range r;
	const char *text;

	if (row == NULL) {
		f->rows = 0;
		return;
	}
	f->rows++;
	f->newest = js_row_u64(row, 0);
	f->key[0] = js_row_u64(row, 1);
	f->key[1] = js_row_u64(row, 2);
	for (text = row->col[3]; *text != '\0';) {
		if (js_stream_next(&text, &r))
			mark_range(f->to, r.first, r.last);
		else { /* it is damaged, so its attempts may be anywhere */
			mark_range(f->to, 1, f->to->tail);
			return;
		}
	}
}

/* The lists with attempts that ended in the second NEWEST or later. */
static int read_lists(struct finding *f, struct jobstack *handle, uint64_t stack, uint64_t newest,
		      struct jobstack_error *error)
{
	do
		JS_TRY(js_handle_ask(handle, take_list, f, error,
				     "SELECT newest,worker_id,0,closed FROM worker FORCE INDEX(worker_of_stack) WHERE "
				     "stack_id=%u AND ended IS NULL AND closed IS NOT NULL AND newest>=%u AND "
				     "worker_id>%u ORDER BY worker_id LIMIT %u",
				     stack, newest, f->key[0], (uint64_t)ROWS));
	while (f->rows == ROWS);
	*f = (struct finding){.to = f->to, .newest = newest};
	do
		JS_TRY(js_handle_ask(
			handle, take_list, f, error,
			"SELECT newest,worker_id,seq,list FROM closed FORCE INDEX(closed_newest) WHERE stack_id=%u AND "
			"newest>=%u AND (newest>%u OR worker_id>%u OR (worker_id=%u AND seq>%u)) ORDER BY "
			"newest,worker_id,seq LIMIT %u",
			stack, f->newest, f->newest, f->key[0], f->key[0], f->key[1], (uint64_t)ROWS));
	while (f->rows == ROWS);
	*f = (struct finding){.to = f->to, .newest = newest};
	do
		JS_TRY(js_handle_ask(handle, take_list, f, error,
				     "SELECT newest,no,0,list FROM stream FORCE INDEX(stream_newest) WHERE stack_id=%u "
				     "AND newest>=%u AND (newest>%u OR no>%u) ORDER BY newest,no LIMIT %u",
				     stack, f->newest, f->newest, f->key[0], (uint64_t)ROWS));
	while (f->rows == ROWS);
	return 0;
}

int js_recent_read(struct js_recent *recent, struct jobstack *handle, const struct js_stack *stack, int64_t since_us,
		   struct jobstack_error *error)
{
	struct finding f = {.to = recent};
	uint64_t history, newest = (uint64_t)(since_us / JS_SECOND_US);

	recent->tail = stack->tail;
	for (recent->unit = UNIT; stack->tail / recent->unit >= UNITS_MAX; recent->unit *= 2)
		;
	recent->units = stack->tail / recent->unit + 1;
	recent->bits = calloc(recent->units / 8 + 1, 1);
	if (recent->bits == NULL)
		return js_error_memory(error);
	/* What was recorded before there was a stream is in no list.  It is skipped if it must be older by a day, so
	 * that a clock that was wrong then doesn't matter. */
	JS_TRY(js_handle_ask_number(handle, &history, error,
				    "SELECT IF((SELECT MIN(installed) FROM jobstack_version WHERE version>=9)<%t,0,"
				    "history) FROM stack WHERE stack_id=%u",
				    since_us > DAY_US ? since_us - DAY_US : 0, stack->id));
	if (history != UINT64_MAX && history > 0)
		mark_range(recent, 1, history);
	return read_lists(&f, handle, stack->id, newest < UNKNOWN ? newest : UNKNOWN, error);
}

static int is_marked(const struct js_recent *r, uint64_t at)
{
	return (r->bits[at / 8] >> at % 8 & 1) != 0;
}

int js_recent_next(const struct js_recent *r, uint64_t after, uint64_t most, uint64_t *low, uint64_t *high)
{
	uint64_t at = (after + 1) / r->unit, end, to;

	while (at < r->units && !is_marked(r, at))
		at++;
	if (at >= r->units)
		return 0;
	for (end = to = at; to < r->units && to * r->unit < (end + 1) * r->unit + GAP && (to - at) * r->unit < most;
	     to++)
		if (is_marked(r, to))
			end = to;
	*low = at * r->unit > after ? at * r->unit : after + 1;
	*high = end < r->tail / r->unit ? (end + 1) * r->unit - 1 : r->tail;
	return *low <= *high;
}

void js_recent_free(struct js_recent *recent)
{
	free(recent->bits);
	recent->bits = NULL;
}

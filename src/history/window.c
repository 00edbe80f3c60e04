/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds the attempts that ended since a given time, or before one.  No index has their times: it would cost every
 * close.  But each attempt is in one list of the stream (history/stream.h), and each list says when its oldest and its
 * newest attempt ended.  The entries that these lists name are marked.  Promises: no attempt is missed, whatever clocks
 * did; the marks take at most 2 MiB of memory.  js_windows_since leaves out attempts from before there was a stream, if
 * SINCE_US is more than a day after its migration by the server's clock.
 *
 * A list only moves from a worker's row to `closed`, and from there to a block.  They are read in this order, so a list
 * that moves meanwhile is seen at least once.
 */
#include "history/window.h"

#include "base/clock.h"
#include "history/stream.h"

#include <stdlib.h>

#define UNIT 64 /* numbers per bit, at least */
#define UNITS_MAX (UINT64_C(1) << 24)
#define ROWS 200	/* lists by one query */
#define SMALL_ROWS 2000 /* rows of `closed` by one query: most are short, or read without their list */
#define GAP 2048	/* so many numbers that are not marked are read, too: that costs less than another query */

/* What is read, and the place of the last row, behind which the next query begins: its time, and its key, which is a
 * worker and a step, or a block and 0. */
struct finding {
	struct js_windows *to;
	uint64_t second, key[2]; /* second: since 1970 */
	size_t rows;		 /* of the last query */
};

/* Marks the numbers from FIRST to LAST.  A damaged list may name numbers that no entry has; they are cut off at the
 * tail. */
static void mark_range(struct js_windows *r, uint64_t first, uint64_t last)
{
	last = last < r->tail ? last : r->tail;
	for (uint64_t at = first / r->unit; first <= last && at <= last / r->unit; at++)
		r->bits[at / 8] |= (unsigned char)(1u << at % 8);
}

/* Marks what one list names.  Marks are never taken back, so a query that is run again does no harm. */
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
	f->second = js_row_u64(row, 0);
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

/* Marks what is in the lists of live workers, in their rows, with attempts that ended in the seconds from FROM to TO.
 */
static int read_live(struct js_windows *windows, struct jobstack *handle, uint64_t stack, uint64_t from, uint64_t to,
		     struct jobstack_error *error)
{
	struct finding f = {.to = windows};

	do {
		JS_TRY(js_db_nap(handle->db, 0, error));
		JS_TRY(js_handle_ask(
			handle, take_list, &f, error,
			"SELECT 0,worker_id,0,closed FROM worker FORCE INDEX(worker_of_stack) WHERE stack_id=%u AND "
			"ended IS NULL AND closed IS NOT NULL AND newest>=%u AND oldest<=%u AND worker_id>%u ORDER BY "
			"worker_id LIMIT %u",
			stack, from, to, f.key[0], (uint64_t)ROWS));
	} while (f.rows == ROWS);
	return 0;
}

/* Marks what is in lists with attempts that ended in SECOND or later. */
static int read_newer(struct js_windows *windows, struct jobstack *handle, uint64_t stack, uint64_t second,
		      struct jobstack_error *error)
{
	struct finding f = {.to = windows, .second = second};

	JS_TRY(read_live(windows, handle, stack, second, JS_CLOSED_FAR, error));
	do {
		JS_TRY(js_db_nap(handle->db, 0, error));
		JS_TRY(js_handle_ask(
			handle, take_list, &f, error,
			"SELECT newest,worker_id,seq,list FROM closed FORCE INDEX(closed_newest) WHERE stack_id=%u AND "
			"newest>=%u AND (newest>%u OR worker_id>%u OR (worker_id=%u AND seq>%u)) ORDER BY "
			"newest,worker_id,seq LIMIT %u",
			stack, f.second, f.second, f.key[0], f.key[0], f.key[1], (uint64_t)ROWS));
	} while (f.rows == ROWS);
	f = (struct finding){.to = windows, .second = second};
	do {
		JS_TRY(js_db_nap(handle->db, 0, error));
		JS_TRY(js_handle_ask(handle, take_list, &f, error,
				     "SELECT newest,no,0,list FROM stream FORCE INDEX(stream_newest) WHERE stack_id=%u "
				     "AND newest>=%u AND (newest>%u OR no>%u) ORDER BY newest,no LIMIT %u",
				     stack, f.second, f.second, f.key[0], (uint64_t)ROWS));
	} while (f.rows == ROWS);
	return 0;
}

/* Marks what is in lists with attempts that ended in SECOND or before.  No index finds those in `closed`: workers would
 * have to write it, and it costs little to read the times of all. */
static int read_older(struct js_windows *windows, struct jobstack *handle, uint64_t stack, uint64_t second,
		      struct jobstack_error *error)
{
	struct finding f = {.to = windows};

	JS_TRY(read_live(windows, handle, stack, 0, second, error));
	do {
		JS_TRY(js_db_nap(handle->db, 0, error));
		JS_TRY(js_handle_ask(handle, take_list, &f, error,
				     "SELECT oldest,worker_id,seq,IF(oldest<=%u,list,'') FROM closed FORCE "
				     "INDEX(PRIMARY) WHERE stack_id=%u AND (worker_id>%u OR (worker_id=%u AND seq>%u)) "
				     "ORDER BY worker_id,seq LIMIT %u",
				     second, stack, f.key[0], f.key[0], f.key[1], (uint64_t)SMALL_ROWS));
	} while (f.rows == SMALL_ROWS);
	f = (struct finding){.to = windows};
	do {
		JS_TRY(js_db_nap(handle->db, 0, error));
		JS_TRY(js_handle_ask(handle, take_list, &f, error,
				     "SELECT oldest,no,0,list FROM stream FORCE INDEX(stream_oldest) WHERE stack_id=%u "
				     "AND oldest BETWEEN %u AND %u AND (oldest>%u OR no>%u) ORDER BY oldest,no LIMIT "
				     "%u",
				     stack, f.second, second, f.second, f.key[0], (uint64_t)ROWS));
	} while (f.rows == ROWS);
	return 0;
}

/* Makes the marks: a bit for UNIT numbers, or more where the stack is so large that they would exceed 2 MiB. */
static int alloc_marks(struct js_windows *windows, const struct js_stack *stack, struct jobstack_error *error)
{
	windows->tail = stack->tail;
	for (windows->unit = UNIT; stack->tail / windows->unit >= UNITS_MAX; windows->unit *= 2)
		;
	windows->units = stack->tail / windows->unit + 1;
	windows->bits = calloc(windows->units / 8 + 1, 1);
	return windows->bits == NULL ? js_error_memory(error) : 0;
}

int js_windows_since(struct js_windows *windows, struct jobstack *handle, const struct js_stack *stack,
		     int64_t since_us, struct jobstack_error *error)
{
	JS_TRY(alloc_marks(windows, stack, error));
	return read_newer(windows, handle, stack->id, js_closed_second(since_us), error);
}

int js_windows_before(struct js_windows *windows, struct jobstack *handle, const struct js_stack *stack,
		      int64_t before_us, struct jobstack_error *error)
{
	JS_TRY(alloc_marks(windows, stack, error));
	return read_older(windows, handle, stack->id, js_closed_second(before_us), error);
}

static int is_marked(const struct js_windows *r, uint64_t at)
{
	return (r->bits[at / 8] >> at % 8 & 1) != 0;
}

/* A window begins at a mark, and goes on over gaps of up to GAP numbers, since another query would cost more than
 * reading these.  `end` is the last mark in it. */
int js_windows_next(const struct js_windows *r, uint64_t after, uint64_t most, uint64_t *low, uint64_t *high)
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

void js_windows_free(struct js_windows *windows)
{
	free(windows->bits);
	windows->bits = NULL;
}

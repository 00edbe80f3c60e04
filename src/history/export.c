/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading all attempts, in the order of the entries or of the stream, or all entries with their last.  Promises: flat
 * memory; no transaction while the caller's function runs; each query walks a primary key and ends after a bounded
 * number of rows, whatever its filter; each entry is reported once.
 *
 * Workers and states are not joined: the rows of workers are read once (history/worker_cache.h), and the place of each
 * entry in the queue is read beforehand for a whole window of numbers (queue/where.h).  Entries, attempts and dead rows
 * are read separately and merged here: a join in the server takes three times as long.
 */
#include "history/export.h"

#include "base/clock.h"
#include "history/worker_cache.h"
#include "history/item.h"
#include "history/window.h"
#include "history/stream.h"
#include "queue/where.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 2048	    /* rows, or numbers of entries */
#define ATTEMPTS 8000	    /* of a page of entries, at a time */
#define FILTER_WINDOW 65536 /* numbers that a query with a filter looks at */
#define NAMED 500	    /* attempts of a block of the stream, at a time */
#define FOLLOW_US (JS_SECOND_US / 2)
_Static_assert(NAMED <= PAGE, "they fit into the page");
_Static_assert(PAGE <= JS_CREW_MAX, "the array of workers holds all workers of one page");
_Static_assert(JS_WHERE_WINDOW % PAGE == 0, "the size of a window is a multiple of the page size");

/* The offset of a text while its page grows; NOTHING: no text. */
#define NOTHING SIZE_MAX

struct line {
	struct jobstack_item item;
	size_t datapath, reason, log, err_log, tail, to_stack, note; /* where they lie in the page's bytes */
	int final;
	unsigned dead; /* its state, if it has a row in set_aside */
};

struct js_export {
	struct jobstack *handle;
	struct js_stack stack;
	struct jobstack_export_options o;
	jobstack_item_fn *fn;
	void *ctx;
	struct js_crew *crew;
	struct js_where where;
	struct js_windows windows;
	uint64_t low, high;    /* entries of the page, or of the window of attempts */
	uint64_t last;	       /* attempts are read up to this entry, */
	uint32_t last_attempt; /* and this attempt of it; UINT32_MAX: all of them */
	size_t n, at;	       /* lines; the one that the last row belongs to */
	size_t rows;
	struct js_stream_block block;
	uint64_t no;   /* of the block */
	uint64_t done; /* attempts up to this entry and DONE_ATTEMPT were reported before */
	uint64_t done_attempt;
	int streaming; /* items have a cursor */
	char cursor[96];
	struct js_buf bytes;
	uint64_t workers[PAGE];
	struct line line[PAGE];
};

/* ------------------------------------------------------------------------------------------------------ the page */

static size_t keep_bytes(struct js_buf *bytes, struct jobstack_bytes data)
{
	size_t at = bytes->len;

	if (data.data == NULL)
		return NOTHING;
	js_buf_add(bytes, data.data, data.len + 1);
	return at;
}

static size_t keep_text(struct js_buf *bytes, const char *text)
{
	return keep_bytes(bytes, (struct jobstack_bytes){text, text == NULL ? 0 : strlen(text)});
}

/* Reads the columns of an attempt, its worker's number behind them. */
static void read_attempt(struct js_export *x, struct line *to, const struct js_row *row, unsigned *c)
{
	js_item_attempt(&to->item, row, c);
	to->reason = keep_text(&x->bytes, to->item.reason);
	to->log = keep_text(&x->bytes, to->item.log);
	to->err_log = keep_text(&x->bytes, to->item.err_log);
	to->tail = keep_bytes(&x->bytes, to->item.err_tail);
	to->item.worker = js_row_u64(row, (*c)++);
}

/* The next line of the page, with the first two columns in it; NULL: it is full, and the next page begins there. */
static struct line *new_line(struct js_export *x, const struct js_row *row)
{
	struct line *to = &x->line[x->n];

	if (x->n == PAGE)
		return NULL;
	x->n++;
	memset(to, 0, sizeof(*to));
	to->item.entry = js_row_u64(row, 0);
	to->item.datapath.len = row->len[1];
	to->datapath = keep_bytes(&x->bytes, js_row_bytes(row, 1));
	to->to_stack = to->note = NOTHING;
	return to;
}

static void begin_page(struct js_export *x)
{
	x->n = x->at = 0;
	js_buf_reset(&x->bytes);
}

static void take_line(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct line *to;
	unsigned c = 2;

	if (row == NULL)
		begin_page(x);
	else if ((to = new_line(x, row)) != NULL)
		read_attempt(x, to, row, &c);
}

static const char *text_at(const struct js_export *x, size_t at)
{
	return at == NOTHING ? NULL : x->bytes.data + at;
}

/* ------------------------------------------------------------------------------------------------------- queries */

static void add_filter(const struct js_export *x, struct js_sql *sql)
{
	if (x->o.since_us >= 0)
		js_sql_add(sql, " AND a.ended>=%t", x->o.since_us);
	if (x->o.outcomes == 0)
		return;
	js_sql_add(sql, " AND a.outcome IN(NULL");
	for (uint64_t v = 0; v < 32; v++)
		if ((x->o.outcomes & 1u << v) != 0)
			js_sql_add(sql, ",%u", v);
	js_sql_add(sql, ")");
}

#define OF_ATTEMPT JS_ITEM_ATTEMPT ",a.worker_id"

/* From an entry on, without the attempts of it that were read, to another. */
#define BEHIND " AND a.entry_id BETWEEN %u AND %u AND (a.entry_id>%u OR a.attempt>%u)"

static void select_attempts(const struct js_export *x, struct js_sql *sql)
{
	js_sql_add(sql, x->o.no_datapath ? "SELECT a.entry_id,NULL," : "SELECT a.entry_id,e.datapath,");
	js_sql_add(sql, OF_ATTEMPT " FROM attempt a", (uint64_t)(x->o.tails != 0));
	if (!x->o.no_datapath)
		js_sql_add(sql, " LEFT JOIN entry e ON e.stack_id=a.stack_id AND e.entry_id=a.entry_id");
	js_sql_add(sql, " WHERE a.stack_id=%u", x->stack.id);
}

/* The attempts behind the last that was read: a walk along the primary key of attempt. */
static int page_of_attempts(struct js_export *x, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	select_attempts(x, &sql);
	js_sql_add(&sql, BEHIND, x->last, x->high, x->last, (uint64_t)x->last_attempt);
	add_filter(x, &sql);
	js_sql_stmt(&sql, " ORDER BY a.entry_id,a.attempt LIMIT %u", (uint64_t)PAGE);
	return js_db_query(x->handle->db, &sql, take_line, x, error);
}

/* N attempts, each by its primary key. */
static int page_of_names(struct js_export *x, const struct js_attempt_id *list, size_t n, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	select_attempts(x, &sql);
	js_sql_add(&sql, " AND (0");
	for (size_t i = 0; i < n; i++)
		js_sql_add(&sql, " OR (a.entry_id=%u AND a.attempt=%u)", list[i].entry, list[i].attempt);
	js_sql_add(&sql, ")");
	add_filter(x, &sql);
	js_sql_stmt(&sql, " ORDER BY a.entry_id,a.attempt");
	return js_db_query(x->handle->db, &sql, take_line, x, error);
}

/* --------------------------------------------------------------------------------------------- a page of entries */

/* An entry of which no attempt is known yet. */
static void take_entry(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct line *to;

	if (row == NULL || (to = new_line(x, row)) == NULL)
		return;
	js_item_no_attempt(&to->item);
	to->reason = to->log = to->err_log = to->tail = NOTHING;
}

/* The line of the entry of this row, or NULL. Rows come in the order of the lines, by entry. */
static struct line *line_of(struct js_export *x, const struct js_row *row)
{
	uint64_t entry = js_row_u64(row, 0);

	while (x->at < x->n && x->line[x->at].item.entry < entry)
		x->at++;
	return x->at < x->n && x->line[x->at].item.entry == entry ? &x->line[x->at] : NULL;
}

/* An attempt takes the place of the one before. */
static void take_attempt(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct line *to;
	unsigned c = 2;

	if (row == NULL)
		return;
	x->rows++;
	x->last = js_row_u64(row, 0);
	x->last_attempt = (uint32_t)js_row_u64(row, 2);
	to = line_of(x, row);
	if (to == NULL)
		return;
	read_attempt(x, to, row, &c);
	to->final = js_row_u64(row, c) != 0;
}

static void take_dead(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct line *to = row == NULL ? NULL : line_of(x, row);

	if (to == NULL)
		return;
	to->dead = js_row_u64(row, 1) != 0 ? JOBSTACK_IS_MOVED
		   : row->col[4] == NULL   ? JOBSTACK_IS_DEAD
					   : JOBSTACK_IS_CANCELLED;
	to->item.to_entry = js_row_u64(row, 2);
	to->to_stack = keep_text(&x->bytes, row->col[3]);
	if (row->len[4] > 0)
		to->note = keep_text(&x->bytes, row->col[4]);
}

/* All attempts of the page, along their primary key, some at a time. */
static int look_at_attempts(struct js_export *x, struct jobstack_error *error)
{
	x->at = 0;
	x->last = x->low;
	x->last_attempt = 0;
	do {
		x->rows = 0;
		JS_TRY(js_handle_ask(x->handle, take_attempt, x, error,
				     "SELECT a.entry_id,NULL," OF_ATTEMPT
				     ",a.final FROM attempt a WHERE a.stack_id=%u" BEHIND
				     " ORDER BY a.entry_id,a.attempt LIMIT %u",
				     (uint64_t)(x->o.tails != 0), x->stack.id, x->last, x->high, x->last,
				     (uint64_t)x->last_attempt, (uint64_t)ATTEMPTS));
	} while (x->rows == ATTEMPTS);
	return 0;
}

/* Entries, their attempts and dead rows as they are at one moment, each by its primary key: three walks take a third of
 * the time of one that looks up the other two. */
static int look_at_page(void *ctx, struct jobstack_error *error)
{
	struct js_export *x = ctx;
	struct js_sql entries = {0};

	begin_page(x);
	js_sql_add(&entries, x->o.no_datapath ? "SELECT entry_id,NULL" : "SELECT entry_id,datapath");
	js_sql_stmt(&entries, " FROM entry WHERE stack_id=%u AND entry_id BETWEEN %u AND %u ORDER BY entry_id",
		    x->stack.id, x->low, x->high);
	JS_TRY(js_db_query(x->handle->db, &entries, take_entry, x, error));
	if (x->n == 0)
		return 0;
	JS_TRY(look_at_attempts(x, error));
	x->at = 0;
	return js_handle_ask(
		x->handle, take_dead, x, error,
		"SELECT d.entry_id,d.state=2,d.to_entry,s.name,IF(d.state=1,COALESCE(d.reason,''),NULL) "
		"FROM set_aside d LEFT JOIN stack s ON "
		"s.stack_id=d.to_stack WHERE d.stack_id=%u AND d.entry_id BETWEEN %u AND %u ORDER BY d.entry_id",
		x->stack.id, x->low, x->high);
}

/* --------------------------------------------------------------------------------------------- states of entries */

/* The item becomes that of the attempt that runs now. */
static void set_running(const struct js_export *x, struct line *l, uint32_t attempt)
{
	const struct js_in_hand *in_hand = js_where_in_hand(&x->where, l->item.entry);
	struct jobstack_item *i = &l->item;

	js_item_no_attempt(i);
	i->attempt = attempt;
	l->reason = l->log = l->err_log = l->tail = NOTHING;
	i->started_us = in_hand == NULL ? -1 : in_hand->started_us;
	i->worker = in_hand == NULL ? 0 : in_hand->worker;
}

/* The state of an entry that is neither done nor dead. The window was read before the page. If the two do not fit, the
 * entry has changed in between. Then its state is that which followed its last attempt; it was in that state in
 * between, too. */
static unsigned in_line(const struct js_export *x, struct line *l)
{
	const struct jobstack_item *i = &l->item;
	size_t at = (size_t)(i->entry - x->where.low);
	unsigned state = x->where.state[at];
	uint32_t attempt = x->where.attempt[at];

	if (state == JOBSTACK_IS_RUNNING && attempt > i->attempt) {
		set_running(x, l, attempt);
		return state;
	}
	if (state == 0 || state == JOBSTACK_IS_RUNNING || attempt != i->attempt + 1)
		state = i->attempt > 0 && (i->outcome == JOBSTACK_FAILED ||
					   (i->outcome == JOBSTACK_INTERRUPTED && i->exit_code == 75))
				? JOBSTACK_IS_WAITING
				: JOBSTACK_IS_READY;
	return x->stack.state == JOBSTACK_CANCELLED ? JOBSTACK_IS_CANCELLED : state;
}

/* Returns whether only entries with a row in set_aside are wanted.  Then the others are not examined. */
static int only_dead(const struct js_export *x)
{
	unsigned rows = JOBSTACK_IS_DEAD | JOBSTACK_IS_MOVED;

	if (x->stack.state != JOBSTACK_CANCELLED)
		rows |= JOBSTACK_IS_CANCELLED;
	return x->o.states != 0 && (x->o.states & ~rows) == 0;
}

static unsigned state_of(const struct js_export *x, struct line *l)
{
	if (l->final)
		return JOBSTACK_IS_DONE;
	if (l->dead != 0)
		return l->dead;
	return only_dead(x) ? 0 : in_line(x, l);
}

static int is_wanted(const struct js_export *x, const struct jobstack_item *i)
{
	unsigned states = x->o.states, is = i->state;

	if (i->attempt > 0 && i->outcome == JOBSTACK_FAILED)
		is |= JOBSTACK_IS_FAILED;
	if (i->attempt > 0 && i->outcome == JOBSTACK_LOST)
		is |= JOBSTACK_IS_LOST;
	if (states != 0 && (states & is) == 0)
		return 0;
	if (x->o.since_us < 0)
		return 1;
	return i->state == JOBSTACK_IS_RUNNING || (i->attempt > 0 && i->ended_us >= x->o.since_us);
}

/* ------------------------------------------------------------------------------------------------------- telling */

/* Reports the page. 0; JOBSTACK_ESTOPPED; or an error. */
static int report_page(struct js_export *x, struct jobstack_error *error)
{
	if (x->bytes.failed)
		return js_error_memory(error);
	for (size_t i = 0; i < x->n; i++) {
		if (x->o.by_entry)
			x->line[i].item.state = state_of(x, &x->line[i]);
		x->workers[i] = x->line[i].item.worker;
	}
	JS_TRY(js_crew_read(x->crew, x->handle, x->workers, x->n, error));
	for (size_t i = 0; i < x->n; i++) {
		struct line *l = &x->line[i];

		if (x->o.by_entry && !is_wanted(x, &l->item))
			continue;
		l->item.datapath.data = text_at(x, l->datapath);
		l->item.reason = text_at(x, l->reason);
		l->item.log = text_at(x, l->log);
		l->item.err_log = text_at(x, l->err_log);
		l->item.err_tail.data = text_at(x, l->tail);
		l->item.to_stack = text_at(x, l->to_stack);
		l->item.note = text_at(x, l->note);
		js_crew_fill(x->crew, &l->item);
		if (x->streaming) {
			(void)snprintf(x->cursor, sizeof(x->cursor), "%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu32,
				       x->stack.id, x->no, l->item.entry, l->item.attempt);
			l->item.cursor = x->cursor;
		}
		if (x->fn(x->ctx, &l->item) != 0)
			return JOBSTACK_ESTOPPED;
	}
	return 0;
}

/* Goes to the next window of attempts, if this one has been read.  Returns 0 after the last one. */
static int find_window(struct js_export *x, uint64_t tail)
{
	int filtered = x->o.outcomes != 0 || x->o.since_us >= 0;
	uint64_t low, step = filtered ? FILTER_WINDOW : tail;

	if (x->last < x->high || x->last_attempt != UINT32_MAX)
		return 1;
	if (x->windows.bits != NULL) {
		if (!js_windows_next(&x->windows, x->last, step, &low, &x->high))
			return 0;
		x->last = low - 1;
	} else
		x->high = tail - x->last > step ? x->last + step : tail;
	return x->last < tail;
}

/* Attempts of entries up to TAIL. */
static int tell_attempts(struct js_export *x, uint64_t tail, struct jobstack_error *error)
{
	while (find_window(x, tail)) {
		JS_TRY(js_db_nap(x->handle->db, 0, error));
		JS_TRY(page_of_attempts(x, error));
		JS_TRY(report_page(x, error));
		x->last = x->n < PAGE ? x->high : x->line[PAGE - 1].item.entry;
		x->last_attempt = x->n < PAGE ? UINT32_MAX : x->line[PAGE - 1].item.attempt;
	}
	return 0;
}

static int tell_entries(struct js_export *x, struct jobstack_error *error)
{
	uint64_t tail = x->stack.tail, window;

	for (x->low = 1; x->low <= tail; x->low += PAGE) {
		JS_TRY(js_db_nap(x->handle->db, 0, error));
		if (only_dead(x)) /* the page begins with the next of them */
			JS_TRY(js_handle_ask_number(x->handle, &x->low, error,
						    "SELECT entry_id FROM set_aside WHERE stack_id=%u AND entry_id>=%u "
						    "ORDER BY entry_id LIMIT 1",
						    x->stack.id, x->low));
		if (x->low > tail)
			return 0;
		x->high = tail - x->low >= PAGE ? x->low + PAGE - 1 : tail;
		window = tail - x->low >= JS_WHERE_WINDOW ? x->low + JS_WHERE_WINDOW - 1 : tail;
		if (!only_dead(x) && x->low > x->where.high)
			JS_TRY(js_where_read(&x->where, x->handle, &x->stack, x->low, window, error));
		JS_TRY(js_db_view(x->handle->db, look_at_page, x, error));
		JS_TRY(report_page(x, error));
	}
	return 0;
}

/* ----------------------------------------------------------------------------------------------------- the stream */

static int refuse_cursor(const struct js_export *x, const char *why, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_EUSAGE, "the cursor \"%.100s\" %s: 0 begins with the first attempt",
			    x->o.after, why);
}

/* A cursor is "stack.block.entry.attempt": reading continues after this attempt. */
static int read_cursor(struct js_export *x, struct jobstack_error *error)
{
	uint64_t part[4], last;
	const char *at = x->o.after;

	if (at == NULL || strcmp(at, "0") == 0)
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		char *end;

		part[i] = strtoull(at, &end, 10);
		if (*at < '0' || *at > '9' || *end != (i < 3 ? '.' : '\0'))
			return refuse_cursor(x, "is not the field \"cursor\" of a record", error);
		at = end + 1;
	}
	if (part[0] != x->stack.id)
		return refuse_cursor(x, "belongs to another stack, or to a dropped one of the same name", error);
	JS_TRY(js_handle_ask_number(x->handle, &last, error, "SELECT COALESCE(MAX(no),0) FROM stream WHERE stack_id=%u",
				    x->stack.id));
	x->no = part[1];
	x->done = part[2];
	x->done_attempt = part[3];
	if (x->no > last)
		return js_error_set(error, JOBSTACK_ECONFLICT, JS_SET_BACK "it does not know the cursor \"%.100s\"",
				    x->o.after);
	return 0;
}

static int tell_block(struct js_export *x, struct jobstack_error *error)
{
	const struct js_attempt_id *list = x->block.list;
	size_t at = 0, n = x->block.n;

	while (x->block.no == x->no && at < n &&
	       (list[at].entry < x->done || (list[at].entry == x->done && list[at].attempt <= x->done_attempt)))
		at++;
	x->no = x->block.no;
	for (; at < n; at += NAMED) {
		JS_TRY(page_of_names(x, list + at, n - at < NAMED ? n - at : NAMED, error));
		JS_TRY(report_page(x, error));
	}
	x->done = UINT64_MAX;
	return 0;
}

static int still_exists(struct js_export *x, struct jobstack_error *error)
{
	uint64_t id = x->stack.id;

	JS_TRY(js_stack_find(x->handle, x->stack.name, &x->stack, error));
	return x->stack.id == id ? 0 : js_stack_refuse_dropped(x->stack.name, error);
}

/* Everything in the stream; with FOLLOW, also what is added later. */
static int tell_stream(struct js_export *x, struct jobstack_error *error)
{
	uint64_t last = 0;
	int status;

	x->streaming = 1;
	JS_TRY(read_cursor(x, error));
	for (;;) {
		JS_TRY(js_db_nap(x->handle->db, 0, error));
		status = js_stream_read(x->handle, x->stack.id, x->done == UINT64_MAX ? x->no + 1 : x->no, &x->block,
					error);
		if (status == 0)
			status = tell_block(x, error);
		else if (status == JOBSTACK_NOTHING)
			status = js_stream_gather(x->handle, x->stack.id, &last, error);
		if (status == 0 || (status == JOBSTACK_NOTHING && last > x->no))
			continue;
		if (status != JOBSTACK_NOTHING || !x->o.follow)
			return status == JOBSTACK_NOTHING ? 0 : status;
		if (x->fn(x->ctx, NULL) != 0)
			return JOBSTACK_ESTOPPED;
		JS_TRY(js_db_nap(x->handle->db, FOLLOW_US, error));
		JS_TRY(still_exists(x, error));
	}
}

static int tell_all(struct js_export *x, struct jobstack_error *error)
{
	if (x->o.by_entry && (x->o.follow || x->o.after != NULL))
		return js_error_set(error, JOBSTACK_EUSAGE, "only attempts can be followed, not entries");
	if (x->o.follow || x->o.after != NULL)
		return tell_stream(x, error);
	if (x->o.by_entry)
		return tell_entries(x, error);
	if (x->o.since_us > 0)
		JS_TRY(js_windows_since(&x->windows, x->handle, &x->stack, x->o.since_us, error));
	x->last_attempt = UINT32_MAX;
	return tell_attempts(x, x->stack.tail, error);
}

struct js_export *js_export_new(struct jobstack *handle, jobstack_item_fn *fn, void *ctx)
{
	struct js_export *x = calloc(1, sizeof(*x));

	if (x == NULL || (x->crew = js_crew_new()) == NULL) {
		free(x);
		return NULL;
	}
	x->handle = handle;
	x->o = (struct jobstack_export_options)JOBSTACK_EXPORT_OPTIONS_INIT;
	x->fn = fn;
	x->ctx = ctx;
	return x;
}

void js_export_free(struct js_export *x)
{
	if (x == NULL)
		return;
	free(x->block.list);
	js_crew_free(x->crew);
	js_where_free(&x->where);
	js_windows_free(&x->windows);
	js_buf_free(&x->bytes);
	free(x);
}

int js_export_range(struct js_export *x, const struct js_stack *stack, uint64_t low, uint64_t high,
		    struct jobstack_error *error)
{
	x->stack = *stack;
	x->o.tails = 1;
	x->last = low - 1;
	x->last_attempt = UINT32_MAX;
	x->high = 0;
	return tell_attempts(x, high, error);
}

int jobstack_export(struct jobstack *handle, const char *stack, const struct jobstack_export_options *options,
		    jobstack_item_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct js_export *x = js_export_new(handle, fn, ctx);
	int64_t from;
	int status;

	if (x == NULL)
		return js_error_memory(error);
	status = js_grow_in(&x->o, options, "jobstack_export_options", error);
	JS_THEN(status, js_stack_find(handle, stack, &x->stack, error));
	JS_THEN(status, js_stack_last(handle, x->stack.id, &x->stack.tail, error));
	if (status == 0 && x->o.within_us >= 0) {
		from = js_db_wall_us(handle->db, jobstack_now_us()) - x->o.within_us;
		if (from > x->o.since_us)
			x->o.since_us = from;
	}
	JS_THEN(status, tell_all(x, error));
	js_export_free(x);
	return status;
}

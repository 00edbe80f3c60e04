/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exporting attempts, in the order of the entries or of the stream; entries are in export_entries.c.  Promises: flat
 * memory; no transaction while the caller's function runs; each query walks a primary key and ends after a bounded
 * number of rows, whatever its filter.
 *
 * Workers are not joined: their rows are read once and kept (history/worker_cache.h).
 */
#include "history/export.h"

#include "base/clock.h"
#include "history/export_page.h"
#include "history/item.h"
#include "history/worker_cache.h"

#include <stdlib.h>
#include <string.h>

#define FILTER_WINDOW 65536 /* numbers that a query with a filter looks at */
#define NAMED 500	    /* attempts of a block of the stream, at a time */
#define FOLLOW_US (JS_SECOND_US / 2)
_Static_assert(NAMED <= JS_EXPORT_PAGE, "they fit into the page");

/* One attempt is one line. */
static void take_attempt(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct js_export_line *to;
	unsigned c = 2;

	if (row == NULL)
		js_export_page_begin(x);
	else if ((to = js_export_page_add(x, row)) != NULL)
		js_export_page_attempt(x, to, row, &c);
}

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

static void select_attempts(const struct js_export *x, struct js_sql *sql)
{
	js_sql_add(sql, x->o.no_datapath ? "SELECT a.entry_id,NULL," : "SELECT a.entry_id,e.datapath,");
	js_sql_add(sql, JS_EXPORT_ATTEMPT " FROM attempt a", (uint64_t)(x->o.tails != 0));
	if (!x->o.no_datapath)
		js_sql_add(sql, " LEFT JOIN entry e ON e.stack_id=a.stack_id AND e.entry_id=a.entry_id");
	js_sql_add(sql, " WHERE a.stack_id=%u", x->stack.id);
}

/* Reads the attempts behind the last that was read: a walk along the primary key of attempt. */
static int read_attempts(struct js_export *x, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	select_attempts(x, &sql);
	js_sql_add(&sql, JS_EXPORT_BEHIND, x->last, x->high, x->last, (uint64_t)x->last_attempt);
	add_filter(x, &sql);
	js_sql_stmt(&sql, " ORDER BY a.entry_id,a.attempt LIMIT %u", (uint64_t)JS_EXPORT_PAGE);
	return js_db_query(x->handle->db, &sql, take_attempt, x, error);
}

/* Reads N attempts of the list, each by its primary key.  Those that are gone or do not match are left out, so a page
 * may have fewer lines. */
static int read_named_attempts(struct js_export *x, const struct js_attempt_id *list, size_t n,
			       struct jobstack_error *error)
{
	struct js_sql sql = {0};

	select_attempts(x, &sql);
	js_sql_add(&sql, " AND (0");
	for (size_t i = 0; i < n; i++)
		js_sql_add(&sql, " OR (a.entry_id=%u AND a.attempt=%u)", list[i].entry, list[i].attempt);
	js_sql_add(&sql, ")");
	add_filter(x, &sql);
	js_sql_stmt(&sql, " ORDER BY a.entry_id,a.attempt");
	return js_db_query(x->handle->db, &sql, take_attempt, x, error);
}

/* Goes to the next window of entry numbers, if this one has been read.  Returns 0 after the last one.  With a filter a
 * query may look at many rows and find none, so its window is limited: else it could take longer than the connection
 * waits. x->windows leads only to where attempts ended since the given time. */
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

/* Exports the attempts of entries up to TAIL.  A page that is full ends within its window: the next one goes on behind
 * its last attempt. */
static int export_attempts(struct js_export *x, uint64_t tail, struct jobstack_error *error)
{
	while (find_window(x, tail)) {
		JS_TRY(js_db_nap(x->handle->db, 0, error));
		JS_TRY(read_attempts(x, error));
		JS_TRY(js_export_page_report(x, error));
		x->last = x->n < JS_EXPORT_PAGE ? x->high : x->line[JS_EXPORT_PAGE - 1].item.entry;
		x->last_attempt = x->n < JS_EXPORT_PAGE ? UINT32_MAX : x->line[JS_EXPORT_PAGE - 1].item.attempt;
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

/* Exports a block of the stream.  Of the block in which the cursor is, the attempts up to the cursor were exported
 * before: they are skipped.  A block never changes, so its order is always the same. */
static int export_block(struct js_export *x, struct jobstack_error *error)
{
	const struct js_attempt_id *list = x->block.list;
	size_t at = 0, n = x->block.n;

	while (x->block.no == x->no && at < n &&
	       (list[at].entry < x->done || (list[at].entry == x->done && list[at].attempt <= x->done_attempt)))
		at++;
	x->no = x->block.no;
	for (; at < n; at += NAMED) {
		JS_TRY(read_named_attempts(x, list + at, n - at < NAMED ? n - at : NAMED, error));
		JS_TRY(js_export_page_report(x, error));
	}
	x->done = UINT64_MAX;
	return 0;
}

/* A stack that was dropped and created again is another one, whose stream begins anew. */
static int check_stack_exists(struct js_export *x, struct jobstack_error *error)
{
	uint64_t id = x->stack.id;

	JS_TRY(js_stack_find(x->handle, x->stack.name, &x->stack, error));
	return x->stack.id == id ? 0 : js_stack_refuse_dropped(x->stack.name, error);
}

/* Exports everything in the stream; with FOLLOW, also what is added later.  Where there is no further block, one is
 * made of what has been closed since (js_stream_gather).  If there was nothing to gather, LAST says up to which block
 * all is recorded: another reader may have made blocks meanwhile, which come first. */
static int export_stream(struct js_export *x, struct jobstack_error *error)
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
			status = export_block(x, error);
		else if (status == JOBSTACK_NOTHING)
			status = js_stream_gather(x->handle, x->stack.id, &last, error);
		if (status == 0 || (status == JOBSTACK_NOTHING && last > x->no))
			continue;
		if (status != JOBSTACK_NOTHING || !x->o.follow)
			return status == JOBSTACK_NOTHING ? 0 : status;
		if (x->fn(x->ctx, NULL) != 0)
			return JOBSTACK_ESTOPPED;
		JS_TRY(js_db_nap(x->handle->db, FOLLOW_US, error));
		JS_TRY(check_stack_exists(x, error));
	}
}

static int export_all(struct js_export *x, struct jobstack_error *error)
{
	if (x->o.by_entry && (x->o.follow || x->o.after != NULL))
		return js_error_set(error, JOBSTACK_EUSAGE, "only attempts can be followed, not entries");
	if (x->o.follow || x->o.after != NULL)
		return export_stream(x, error);
	if (x->o.by_entry)
		return js_export_entries(x, error);
	if (x->o.since_us > 0)
		JS_TRY(js_windows_since(&x->windows, x->handle, &x->stack, x->o.since_us, error));
	x->last_attempt = UINT32_MAX;
	return export_attempts(x, x->stack.tail, error);
}

struct js_export *js_export_new(struct jobstack *handle, jobstack_item_fn *fn, void *ctx)
{
	struct js_export *x = calloc(1, sizeof(*x));

	if (x == NULL || (x->cache = js_worker_cache_new()) == NULL) {
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
	js_worker_cache_free(x->cache);
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
	return export_attempts(x, high, error);
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
	JS_THEN(status, export_all(x, error));
	js_export_free(x);
	return status;
}

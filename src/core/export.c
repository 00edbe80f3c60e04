/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading all attempts, or all entries with their last.  Promises: flat memory; no transaction while the caller's function runs;
 * each query walks a primary key and ends after a bounded number of rows, whatever its filter; each entry is told once.
 *
 * Workers and states are not joined: the rows of workers are read once (core/crew.h), and where an entry stands in line is read for
 * a whole window of numbers beforehand (core/where.h).
 */
#include "base/buf.h"
#include "base/error.h"
#include "core/core.h"
#include "core/crew.h"
#include "core/item.h"
#include "core/where.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 2000	   /* rows */
#define FILTER_WINDOW 65536 /* numbers that a query with a filter looks at */
_Static_assert(PAGE <= JS_CREW_MAX, "the workers of a page can be known at once");

/* A text of an item while its page grows: behind NOTHING bytes there is none. */
#define NOTHING SIZE_MAX

struct line {
	struct jobstack_item item;
	size_t datapath, reason, log; /* where they lie in the page's bytes */
	int final, dead, moved;
};

struct exporting {
	struct jobstack *handle;
	struct js_stack stack;
	struct jobstack_export_options o;
	jobstack_item_fn *fn;
	void *ctx;
	struct js_crew *crew;
	struct js_where where;
	uint64_t last;	       /* read up to this entry, */
	uint32_t last_attempt; /* and this attempt of it; 0: to its end */
	size_t n;
	struct js_buf bytes;
	uint64_t workers[PAGE];
	struct line line[PAGE];
};

/* --------------------------------------------------------------------------------------------------------- the page */

static size_t keep(struct js_buf *bytes, const char *data, size_t len)
{
	size_t at = bytes->len;

	if (data == NULL)
		return NOTHING;
	js_buf_add(bytes, data, len + 1);
	return at;
}

static void take_line(void *ctx, const struct js_row *row)
{
	struct exporting *x = ctx;
	struct line *to;
	unsigned c = 0;

	if (row == NULL) {
		x->n = 0;
		js_buf_reset(&x->bytes);
		return;
	}
	if (x->n == PAGE)
		return; /* the next page begins with it */
	to = &x->line[x->n++];
	memset(to, 0, sizeof(*to));
	to->item.entry = js_row_u64(row, c++);
	to->item.datapath.len = row->len[c];
	to->datapath = keep(&x->bytes, row->col[c], row->len[c]);
	c++;
	js_item_attempt(&to->item, row, &c);
	to->reason = keep(&x->bytes, to->item.reason, to->item.reason == NULL ? 0 : strlen(to->item.reason));
	to->log = keep(&x->bytes, to->item.log, to->item.log == NULL ? 0 : strlen(to->item.log));
	to->item.worker = js_row_u64(row, c++);
	if (!x->o.by_entry)
		return;
	to->final = js_row_u64(row, c++) != 0;
	to->dead = row->col[c++] != NULL;
	to->moved = js_row_u64(row, c++) != 0;
}

static const char *text(const struct exporting *x, size_t at)
{
	return at == NOTHING ? NULL : x->bytes.data + at;
}

/* ---------------------------------------------------------------------------------------------------------- queries */

static void add_filter(const struct exporting *x, struct js_sql *sql)
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

static void add_attempts(const struct exporting *x, struct js_sql *sql)
{
	js_sql_add(sql, x->o.no_datapath ? "SELECT a.entry_id,NULL," : "SELECT a.entry_id,e.datapath,");
	js_sql_add(sql, JS_ITEM_ATTEMPT("a.log") ",a.worker_id FROM attempt a");
	if (!x->o.no_datapath)
		js_sql_add(sql, " LEFT JOIN entry e ON e.stack_id=a.stack_id AND e.entry_id=a.entry_id");
	js_sql_add(sql, " WHERE a.stack_id=%u", x->stack.id);
}

/* The rest of the attempts of the entry where the last page ended, and those of the entries behind it: each is one walk along the
 * primary key of attempt. */
static int page_of_attempts(struct exporting *x, uint64_t high, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	if (x->last_attempt > 0) {
		add_attempts(x, &sql);
		js_sql_add(&sql, " AND a.entry_id=%u AND a.attempt>%u", x->last, (uint64_t)x->last_attempt);
		add_filter(x, &sql);
		js_sql_stmt(&sql, " ORDER BY a.attempt LIMIT %u", (uint64_t)PAGE);
	}
	add_attempts(x, &sql);
	js_sql_add(&sql, " AND a.entry_id>%u AND a.entry_id<=%u", x->last, high);
	add_filter(x, &sql);
	js_sql_stmt(&sql, " ORDER BY a.entry_id,a.attempt LIMIT %u", (uint64_t)PAGE);
	status = js_db_query(x->handle->db, &sql, take_line, x, error);
	js_sql_free(&sql);
	return status;
}

/* Entries by their primary key; to each the last of its attempts, and its dead row, by theirs. */
static int page_of_entries(struct exporting *x, uint64_t high, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	js_sql_add(&sql,
		   "SELECT e.entry_id,e.datapath," JS_ITEM_ATTEMPT("a.log") ",a.worker_id,a.final,d.entry_id,d.to_stack IS NOT NULL "
		   "FROM entry e LEFT JOIN attempt a ON a.stack_id=e.stack_id AND a.entry_id=e.entry_id AND a.attempt="
		   "(SELECT MAX(b.attempt) FROM attempt b WHERE b.stack_id=e.stack_id AND b.entry_id=e.entry_id) "
		   "LEFT JOIN dead d ON d.stack_id=e.stack_id AND d.entry_id=e.entry_id "
		   "WHERE e.stack_id=%u AND e.entry_id>%u AND e.entry_id<=%u",
		   x->stack.id, x->last, high);
	if (x->o.states == JOBSTACK_IS_DEAD)
		js_sql_add(&sql, " AND d.entry_id IS NOT NULL");
	else if (x->o.states == JOBSTACK_IS_DONE)
		js_sql_add(&sql, " AND a.final=1");
	js_sql_stmt(&sql, " ORDER BY e.entry_id LIMIT %u", (uint64_t)PAGE);
	status = js_db_query(x->handle->db, &sql, take_line, x, error);
	js_sql_free(&sql);
	return status;
}

/* ------------------------------------------------------------------------------------------------- states of entries */

/* The item becomes that of the attempt that runs now. */
static void set_running(const struct exporting *x, struct line *l, uint32_t attempt)
{
	const struct js_in_hand *in_hand = js_where_in_hand(&x->where, l->item.entry);
	struct jobstack_item *i = &l->item;

	i->attempt = attempt;
	i->outcome = i->exit_code = -1;
	i->signal = 0;
	l->reason = l->log = NOTHING;
	i->ended_us = i->user_us = i->system_us = i->maxrss_kib = i->read_bytes = i->write_bytes = -1;
	i->log_at = i->log_out = i->log_err = -1;
	i->started_us = in_hand == NULL ? -1 : in_hand->started_us;
	i->worker = in_hand == NULL ? 0 : in_hand->worker;
}

/* Where the entry stood.  What the window says was read before the page.  Where the two don't fit, the entry has gone on in between:
 * then its state is the one that its last attempt brought it to, in which it was in between as well. */
static unsigned state_of(const struct exporting *x, struct line *l)
{
	const struct jobstack_item *i = &l->item;
	size_t at = (size_t)(i->entry - x->where.low);
	unsigned state = x->where.state[at];
	uint32_t attempt = x->where.attempt[at];

	if (l->final)
		return JOBSTACK_IS_DONE;
	if (l->dead)
		return l->moved ? JOBSTACK_IS_MOVED : JOBSTACK_IS_DEAD;
	if (state == JOBSTACK_IS_RUNNING && attempt > i->attempt) {
		set_running(x, l, attempt);
		return state;
	}
	if (state == 0 || state == JOBSTACK_IS_RUNNING || attempt != i->attempt + 1)
		state = i->attempt > 0 && (i->outcome == JOBSTACK_FAILED || (i->outcome == JOBSTACK_INTERRUPTED && i->exit_code == 75))
			    ? JOBSTACK_IS_WAITING
			    : JOBSTACK_IS_READY;
	return x->stack.state == JOBSTACK_CANCELLED ? JOBSTACK_IS_CANCELLED : state;
}

static int is_wanted(const struct exporting *x, const struct jobstack_item *i)
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

/* ---------------------------------------------------------------------------------------------------------- telling */

/* Tells the page.  0; JOBSTACK_ESTOPPED; or an error. */
static int tell(struct exporting *x, struct jobstack_error *error)
{
	int status;

	if (x->bytes.failed)
		return js_error_memory(error);
	for (size_t i = 0; i < x->n; i++) {
		if (x->o.by_entry)
			x->line[i].item.state = state_of(x, &x->line[i]);
		x->workers[i] = x->line[i].item.worker;
	}
	status = js_crew_read(x->crew, x->handle, x->workers, x->n, error);
	for (size_t i = 0; i < x->n && status == 0; i++) {
		struct line *l = &x->line[i];

		if (x->o.by_entry && !is_wanted(x, &l->item))
			continue;
		l->item.datapath.data = text(x, l->datapath);
		l->item.reason = text(x, l->reason);
		l->item.log = text(x, l->log);
		js_crew_fill(x->crew, &l->item);
		if (x->fn(x->ctx, &l->item) != 0)
			status = JOBSTACK_ESTOPPED;
	}
	return status;
}

/* Goes to where the page ended: at its last line if it was full, else at HIGH. */
static void go_on(struct exporting *x, uint64_t high)
{
	x->last = x->n < PAGE ? high : x->line[PAGE - 1].item.entry;
	x->last_attempt = x->n < PAGE || x->o.by_entry ? 0 : x->line[PAGE - 1].item.attempt;
}

/* Tells the entries from x->last on up to HIGH. */
static int tell_window(struct exporting *x, uint64_t high, struct jobstack_error *error)
{
	int status = 0;

	while (status == 0 && (x->last < high || x->last_attempt > 0)) {
		status = x->o.by_entry ? page_of_entries(x, high, error) : page_of_attempts(x, high, error);
		if (status == 0)
			status = tell(x, error);
		if (status == 0)
			go_on(x, high);
	}
	return status;
}

static int tell_all(struct exporting *x, struct jobstack_error *error)
{
	uint64_t tail = x->stack.tail, high, step;
	int filtered = x->o.outcomes != 0 || (x->o.since_us >= 0 && !x->o.by_entry), status = 0;

	step = x->o.by_entry ? JS_WHERE_WINDOW : filtered ? FILTER_WINDOW : tail;
	while (status == 0 && x->last < tail) {
		high = tail - x->last > step ? x->last + step : tail;
		if (x->o.by_entry)
			status = js_where_read(&x->where, x->handle, x->stack.id, x->last + 1, high, error);
		if (status == 0)
			status = tell_window(x, high, error);
	}
	return status;
}

int jobstack_export(struct jobstack *handle, const char *stack, const struct jobstack_export_options *options,
		    jobstack_item_fn *fn, void *ctx, struct jobstack_error *error)
{
	static const struct jobstack_export_options defaults = JOBSTACK_EXPORT_OPTIONS_INIT;
	struct exporting *x = calloc(1, sizeof(*x));
	int64_t from;
	int status;

	if (x == NULL || (x->crew = js_crew_new()) == NULL) {
		free(x);
		return js_error_memory(error);
	}
	x->handle = handle;
	x->o = options == NULL ? defaults : *options;
	x->fn = fn;
	x->ctx = ctx;
	status = js_stack_find(handle, stack, &x->stack, error);
	if (status == 0 && x->o.within_us >= 0) {
		from = js_db_wall_us(handle->db, jobstack_now_us()) - x->o.within_us;
		if (from > x->o.since_us)
			x->o.since_us = from;
	}
	if (status == 0)
		status = tell_all(x, error);
	js_crew_free(x->crew);
	js_where_free(&x->where);
	js_buf_free(&x->bytes);
	free(x);
	return status;
}

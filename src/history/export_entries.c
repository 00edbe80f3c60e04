/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Exporting entries, each with its state and its last attempt.  Promises: each entry is reported once, in the order of
 * their numbers; each query walks a primary key over a bounded window of numbers, whatever the filter.
 *
 * Entries, attempts and rows of set_aside are read separately and merged here: a join in the server takes three times
 * as long.  The place of each entry in the queue is read beforehand for a whole window of numbers (queue/where.h).
 */
#include "history/export_page.h"

#include "history/item.h"

#define ATTEMPTS 8000 /* of a page of entries, at a time */
_Static_assert(JS_WHERE_WINDOW % JS_EXPORT_PAGE == 0, "the size of a window is a multiple of the page size");

/* --------------------------------------------------------------------------------------------- a page of entries */

/* An entry of which no attempt is known yet. */
static void take_entry(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct js_export_line *to;

	if (row == NULL || (to = js_export_page_add(x, row)) == NULL)
		return;
	js_item_no_attempt(&to->item);
	to->reason = to->log = to->err_log = to->tail = JS_EXPORT_NO_TEXT;
}

/* Returns the line of the entry of this row, or NULL.  Rows come in the order of the lines, by entry, so the search
 * never goes back. */
static struct js_export_line *line_of(struct js_export *x, const struct js_row *row)
{
	uint64_t entry = js_row_u64(row, 0);

	while (x->at < x->n && x->line[x->at].item.entry < entry)
		x->at++;
	return x->at < x->n && x->line[x->at].item.entry == entry ? &x->line[x->at] : NULL;
}

/* Attempts come in their order, so each takes the place of the one before, and the last one stays. */
static void take_attempt(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct js_export_line *to;
	unsigned c = 2;

	if (row == NULL)
		return;
	x->rows++;
	x->last = js_row_u64(row, 0);
	x->last_attempt = (uint32_t)js_row_u64(row, 2);
	to = line_of(x, row);
	if (to == NULL)
		return;
	js_export_page_attempt(x, to, row, &c);
	to->final = js_row_u64(row, c) != 0;
}

/* Columns: entry, whether it was moved, its number and the stack where it is now, and the note of a cancel, which is
 * NULL if the entry was not cancelled, and empty if there is no note. */
static void take_set_aside(void *ctx, const struct js_row *row)
{
	struct js_export *x = ctx;
	struct js_export_line *to = row == NULL ? NULL : line_of(x, row);

	if (to == NULL)
		return;
	to->dead = js_row_u64(row, 1) != 0 ? JOBSTACK_IS_MOVED
		   : row->col[4] == NULL   ? JOBSTACK_IS_DEAD
					   : JOBSTACK_IS_CANCELLED;
	to->item.to_entry = js_row_u64(row, 2);
	to->to_stack = js_export_page_text(x, row->col[3]);
	if (row->len[4] > 0)
		to->note = js_export_page_text(x, row->col[4]);
}

/* Reads all attempts of the page, along their primary key, ATTEMPTS at a time. */
static int read_page_attempts(struct js_export *x, struct jobstack_error *error)
{
	x->at = 0;
	x->last = x->low;
	x->last_attempt = 0;
	do {
		x->rows = 0;
		JS_TRY(js_handle_ask(x->handle, take_attempt, x, error,
				     "SELECT a.entry_id,NULL," JS_EXPORT_ATTEMPT
				     ",a.final FROM attempt a WHERE a.stack_id=%u" JS_EXPORT_BEHIND
				     " ORDER BY a.entry_id,a.attempt LIMIT %u",
				     (uint64_t)(x->o.tails != 0), x->stack.id, x->last, x->high, x->last,
				     (uint64_t)x->last_attempt, (uint64_t)ATTEMPTS));
	} while (x->rows == ATTEMPTS);
	return 0;
}

/* Reads entries, their attempts and their rows in set_aside as they are at one moment, each by its primary key: three
 * walks take a third of the time of one that looks up the other two. */
static int read_page(void *ctx, struct jobstack_error *error)
{
	struct js_export *x = ctx;
	struct js_sql entries = {0};

	js_export_page_begin(x);
	js_sql_add(&entries, x->o.no_datapath ? "SELECT entry_id,NULL" : "SELECT entry_id,datapath");
	js_sql_stmt(&entries, " FROM entry WHERE stack_id=%u AND entry_id BETWEEN %u AND %u ORDER BY entry_id",
		    x->stack.id, x->low, x->high);
	JS_TRY(js_db_query(x->handle->db, &entries, take_entry, x, error));
	if (x->n == 0)
		return 0;
	JS_TRY(read_page_attempts(x, error));
	x->at = 0;
	return js_handle_ask(
		x->handle, take_set_aside, x, error,
		"SELECT d.entry_id,d.state=2,d.to_entry,s.name,IF(d.state=1,COALESCE(d.reason,''),NULL) "
		"FROM set_aside d LEFT JOIN stack s ON "
		"s.stack_id=d.to_stack WHERE d.stack_id=%u AND d.entry_id BETWEEN %u AND %u ORDER BY d.entry_id",
		x->stack.id, x->low, x->high);
}

/* --------------------------------------------------------------------------------------------- states of entries */

/* The entry runs: its item becomes that of the attempt that runs now. */
static void set_running(const struct js_export *x, struct js_export_line *l, uint32_t attempt)
{
	const struct js_in_hand *in_hand = js_where_in_hand(&x->where, l->item.entry);
	struct jobstack_item *i = &l->item;

	js_item_no_attempt(i);
	i->attempt = attempt;
	l->reason = l->log = l->err_log = l->tail = JS_EXPORT_NO_TEXT;
	i->started_us = in_hand == NULL ? -1 : in_hand->started_us;
	i->worker = in_hand == NULL ? 0 : in_hand->worker;
}

/* Returns the state of an entry that is neither done nor in set_aside.  The window was read before the page.  If the
 * two do not fit, the entry has changed in between, or it has ended in a claim that is still open.  Then its state is
 * the one that followed its last attempt: waiting after a failure (or a command that deferred it, with exit status 75),
 * else ready. */
static unsigned queued_state(const struct js_export *x, struct js_export_line *l)
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

/* Where the entry is decides its state: a final attempt, set_aside, a span or a claim. */
static unsigned state_of(const struct js_export *x, struct js_export_line *l)
{
	if (l->final)
		return JOBSTACK_IS_DONE;
	if (l->dead != 0)
		return l->dead;
	return only_dead(x) ? 0 : queued_state(x, l);
}

/* Returns whether the options ask for this item: by its state, how its last attempt ended, and when. */
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

/* Sets the states of the page's entries, and leaves out those that are not asked for. */
static void choose_lines(struct js_export *x)
{
	for (size_t i = 0; i < x->n; i++) {
		struct js_export_line *l = &x->line[i];

		l->item.state = state_of(x, l);
		l->left_out = !is_wanted(x, &l->item);
	}
}

int js_export_entries(struct js_export *x, struct jobstack_error *error)
{
	uint64_t tail = x->stack.tail, window;

	for (x->low = 1; x->low <= tail; x->low += JS_EXPORT_PAGE) {
		JS_TRY(js_db_nap(x->handle->db, 0, error));
		if (only_dead(x)) /* the page begins with the next of them */
			JS_TRY(js_handle_ask_number(x->handle, &x->low, error,
						    "SELECT entry_id FROM set_aside WHERE stack_id=%u AND entry_id>=%u "
						    "ORDER BY entry_id LIMIT 1",
						    x->stack.id, x->low));
		if (x->low > tail)
			return 0;
		x->high = tail - x->low >= JS_EXPORT_PAGE ? x->low + JS_EXPORT_PAGE - 1 : tail;
		window = tail - x->low >= JS_WHERE_WINDOW ? x->low + JS_WHERE_WINDOW - 1 : tail;
		if (!only_dead(x) && x->low > x->where.high)
			JS_TRY(js_where_read(&x->where, x->handle, &x->stack, x->low, window, error));
		JS_TRY(js_db_view(x->handle->db, read_page, x, error));
		choose_lines(x);
		JS_TRY(js_export_page_report(x, error));
	}
	return 0;
}

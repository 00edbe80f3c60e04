/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Requeue.  Promise: the right to requeue an entry is a row change that succeeds once, in the transaction that puts it
 * in line: for a done entry, `final` of its last attempt from 1 to 0; for a dead or cancelled one, the DELETE of its
 * row in set_aside.  So if two requeue an entry at once, it comes back once.
 *
 * The first part is the frame for whatever is done to entries that are dead, done or cancelled (requeue.h): it gathers
 * them, at most JS_GROUP_MAX at a time, by reads without a lock, and calls r->put with each group.  So a group may have
 * changed by then.  The transaction of r->put counts the rows that it changes, and a guard stops it if there are fewer
 * than entries in the group.  Then the same numbers are searched again.
 */
#include "queue/requeue.h"

#include "queue/filter.h"

#define RACES_MAX 1000 /* each is won by somebody else, so there is an end to them */
#define PIECES 16      /* of numbers that a group is gathered from, once it has some */

/* Adds the entry of ROW to the group, if it fits: the entries of a group share a span, so they have the same rank and
 * (unless r->mixes) the same number of attempts.  The first that differs is the first of the next group. */
static void take_candidate(void *ctx, const struct js_row *row)
{
	struct js_requeue *r = ctx;
	struct js_group *g = &r->group;
	int other;

	if (row == NULL) { /* the query is run again: what it brought before goes, what earlier pieces brought stays */
		g->n = g->base;
		g->rows = 0;
		g->full = 0;
		return;
	}
	g->rows++;
	if (g->full)
		return; /* from here on they are the next round's, which begins behind the last one seen */
	if (r->filter.match == NULL || js_filter_fits(&r->filter, row->col[3])) {
		other = g->n > 0 && js_row_u64(row, 1) != g->attempts[0];
		g->full = g->n == g->want || (g->n > 0 && js_row_i64(row, 2) != g->rank) || (other && !r->mixes);
		if (g->full)
			return;
		g->mixed |= other;
		g->rank = js_row_i64(row, 2);
		g->relative |= row->len[3] > 0 && *row->col[3] != '/';
		g->attempts[g->n] = js_row_u64(row, 1);
		g->ids[g->n++] = js_row_u64(row, 0);
	}
	g->seen = js_row_u64(row, 0);
}

/* Reads the entries of the present kind in one piece of the numbers, in their order. */
static int read_piece(struct js_requeue *r, const struct js_window *w, struct jobstack_error *error)
{
	int done = r->kind == JOBSTACK_IS_DONE;
	unsigned outcome = r->kind != JOBSTACK_IS_DEAD || (r->filter.states & JOBSTACK_IS_DEAD) != 0
				   ? 0
				   : r->filter.states & (JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST);
	struct js_sql sql = {0};

	js_sql_add(&sql, done ? "SELECT STRAIGHT_JOIN a.entry_id,a.attempt,0,"
			      : "SELECT STRAIGHT_JOIN d.entry_id,d.attempt,d.`rank`,");
	js_sql_add(&sql, r->names ? "e.datapath" : "NULL");
	js_sql_add(&sql,
		   done				      ? JS_FROM_DONE
		   : r->kind == JOBSTACK_IS_CANCELLED ? JS_FROM_CANCELLED
						      : JS_FROM_DEAD,
		   r->from.id);
	if (outcome != 0 && outcome != (JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST))
		js_sql_add(&sql, " AND a.outcome=%u", (uint64_t)(outcome == JOBSTACK_IS_FAILED ? 1 : 2));
	js_window_sql(&sql, w, done ? "a.entry_id" : "d.entry_id");
	js_filter_sql(&sql, &r->filter);
	js_sql_stmt(&sql, done ? " ORDER BY a.entry_id LIMIT %u" : " ORDER BY d.entry_id LIMIT %u",
		    (uint64_t)JS_GROUP_MAX);
	r->group.base = r->group.n;
	return js_db_query(r->handle->db, &sql, take_candidate, r, error);
}

/* Gathers the next group behind g->last.  Empty pieces are not counted, so the search goes on to the end; but once the
 * group has entries, only so many more pieces are read for it.  g->next becomes the last number that was dealt with:
 * the next search begins behind it. */
static int gather_group(struct js_requeue *r, struct jobstack_error *error)
{
	uint64_t left = r->filter.limit == 0 ? UINT64_MAX : r->filter.limit - r->result.requeued;
	struct js_group *g = &r->group;
	struct js_window w;

	g->n = 0;
	g->relative = g->mixed = g->full = 0;
	g->want = left < JS_GROUP_MAX ? (size_t)left : JS_GROUP_MAX;
	js_window_begin(&w, &r->filter, g->last + 1, r->from.tail);
	for (int pieces = 0; g->n < g->want && pieces < PIECES && js_window_next(&w); pieces += g->n > 0) {
		JS_TRY(read_piece(r, &w, error));
		if (g->full)
			break;
		js_window_done(&w, g->rows == JS_GROUP_MAX, g->seen);
		if (g->rows == 0)
			JS_TRY(js_window_jump(&w, r->handle,
					      r->kind == JOBSTACK_IS_DONE ? JS_NEXT_OF("attempt")
									  : JS_NEXT_OF("set_aside"),
					      r->from.id, error));
	}
	g->next = g->full ? g->seen : w.last;
	return 0;
}

/* Puts all entries of the present kind, group by group, until there are none, or the limit is reached.  g->last moves
 * only when a group has been put: after a race its numbers are searched again, and what others have taken is not found
 * any more. */
static int put_groups(struct js_requeue *r, struct jobstack_error *error)
{
	struct js_group *g = &r->group;
	unsigned races = 0;
	int status = 0;

	r->names = r->filter.match != NULL || r->names;
	g->last = 0;
	while (r->filter.limit == 0 || r->result.requeued < r->filter.limit) {
		status = gather_group(r, error);
		if (status != 0 || g->n == 0)
			break;
		status = r->put(r, error);
		if (status == JOBSTACK_NOTHING && ++races < RACES_MAX) {
			status = js_requeue_look(r, error);
			if (status == 0)
				continue; /* somebody else took some: look again */
		}
		if (status != 0 && status != 2)
			break;
		status = 0; /* 2: the reply was lost, and all are back; entries that have ended again since stay so */
		r->result.requeued += g->n;
		races = 0;
		g->last = g->next;
	}
	return status == JOBSTACK_NOTHING
		       ? js_error_set(error, JOBSTACK_ECONFLICT, "other commands kept requeueing the same entries")
		       : status;
}

/* Counts the named entries that were refused (they exist, but are in no state that was asked for) or do not exist. */
static int count_named(struct js_requeue *r, struct jobstack_error *error)
{
	uint64_t there = 0, some;
	struct js_window w;

	if (r->filter.entries == NULL || r->filter.entries_n == 0)
		return 0;
	js_window_begin(&w, &r->filter, 1, UINT64_MAX - 1);
	while (js_window_next(&w)) {
		struct js_sql sql = {0};

		js_sql_add(&sql, "SELECT COUNT(*) FROM entry WHERE stack_id=%u", r->from.id);
		js_window_sql(&sql, &w, "entry_id");
		js_sql_add(&sql, ";");
		JS_TRY(js_db_query(r->handle->db, &sql, js_row_number, &some, error));
		there += some;
		js_window_done(&w, 0, 0);
	}
	r->result.missing = r->filter.entries_n - there;
	r->result.refused = there > r->result.requeued ? there - r->result.requeued : 0;
	return 0;
}

static int check_stack(struct js_requeue *r, struct jobstack_error *error)
{
	if (r->from.state >= r->refuses)
		return js_stack_refuse_state(r->from.name, r->from.state, "", error);
	return r->check == NULL ? 0 : r->check(r, error);
}

/* A stack that was dropped and created again has entries with the same numbers.  So the number of the stack decides. */
int js_requeue_look(struct js_requeue *r, struct jobstack_error *error)
{
	uint64_t id = r->from.id;

	JS_TRY(js_stack_find(r->handle, r->from.name, &r->from, error));
	return r->from.id == id ? check_stack(r, error) : js_stack_refuse_dropped(r->from.name, error);
}

int js_requeue_settle(struct js_requeue *r, struct js_sql *sql, uint64_t want, struct jobstack_error *error)
{
	uint64_t there;

	JS_TRY(js_db_query(r->handle->db, sql, js_row_number, &there, error));
	return there == want ? 2 : JOBSTACK_NOTHING;
}

int js_requeue_begin(struct js_requeue *r, struct jobstack *handle, const struct jobstack_filter *filter,
		     struct jobstack_requeue_result *result, struct jobstack_error *error)
{
	r->handle = handle;
	r->result = (struct jobstack_requeue_result)JOBSTACK_REQUEUE_RESULT_INIT;
	JS_TRY(js_grow_begin(result, &r->result, "jobstack_requeue_result", error));
	return js_filter_take(&r->filter, filter, error);
}

int js_requeue_run(struct js_requeue *r, const char *stack, struct jobstack_error *error)
{
	static const struct {
		unsigned kind, states;
	} kinds[] = {{JOBSTACK_IS_DEAD, JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST},
		     {JOBSTACK_IS_CANCELLED, JOBSTACK_IS_CANCELLED},
		     {JOBSTACK_IS_DONE, JOBSTACK_IS_DONE}};
	struct jobstack_filter *f = &r->filter;

	if (r->only != NULL && (f->states & ~r->able) != 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "only %s", r->only);
	JS_TRY(js_stack_find(r->handle, stack, &r->from, error));
	JS_TRY(check_stack(r, error));
	if (f->states == 0)
		f->states = f->entries == NULL ? r->unnamed : r->able & ~(JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST);
	if (f->entries != NULL && f->entries_n == 0)
		f->states = 0; /* only the entries of an empty list: none at all */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		r->kind = kinds[i].kind;
		if ((f->states & kinds[i].states & r->able) != 0)
			JS_TRY(put_groups(r, error));
	}
	if (r->rest != NULL)
		JS_TRY(r->rest(r, error));
	return count_named(r, error);
}

/* ------------------------------------------------------------------------------------- back into their own queue */

/* Adds a statement about the rows of the group: DONE or DEAD, with the condition that they are as they were when they
 * were chosen, at the same attempt.  An entry that has run again since has another one. */
static void requeued_rows_sql(const struct js_requeue *r, struct js_sql *sql, const char *done, const char *dead)
{
	const struct js_group *g = &r->group;

	js_sql_add(sql, r->kind == JOBSTACK_IS_DONE ? done : dead, r->from.id, g->attempts[0],
		   (uint64_t)(r->kind == JOBSTACK_IS_CANCELLED));
	js_sql_list(sql, " AND entry_id IN(", g->ids, g->n);
	js_sql_add(sql, ";");
}

/* Counts the rows that are left as they were.  A try of ours that was committed would have taken all of them.  So if
 * some are left, somebody else took the others, and our try was not committed.  If the stack was dropped, its rows are
 * gone, too, and this is not known: then one is added to the count. */
static int settle_requeue(struct js_requeue *r, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_add(&sql, "SELECT (SELECT COUNT(*)=0 FROM stack WHERE stack_id=%u AND state<3)+COUNT(*)", r->from.id);
	requeued_rows_sql(r, &sql, " FROM attempt WHERE stack_id=%u AND attempt=%u AND final=1",
			  " FROM set_aside WHERE stack_id=%u AND attempt=%u AND state=%u");
	return js_requeue_settle(r, &sql, 0, error);
}

/* One transaction, with the locks in order: the stack's row, whose counters change, then attempt or set_aside; the span
 * is inserted last.  All entries of the group become ready with fails and losses 0: a person has decided to try again.
 */
static int requeue_group(struct js_requeue *r, struct jobstack_error *error)
{
	const struct js_group *g = &r->group;
	struct js_span span = {JS_READY, g->rank, (uint32_t)g->attempts[0] + 1, 0, 0, 0};
	struct js_sql sql = {0};
	int lost, status;

	if (r->dry_run)
		return 0;
	js_stack_lock_sql(&sql, r->from.id);
	js_sql_must(&sql,
		    r->kind == JOBSTACK_IS_DONE ? "UPDATE stack SET done=done-%u WHERE stack_id=%u AND state IN(0,1)"
		    : r->kind == JOBSTACK_IS_DEAD
			    ? "UPDATE stack SET dead=dead-%u WHERE stack_id=%u AND state IN(0,1)"
			    : "UPDATE stack SET cancelled=cancelled-%u WHERE stack_id=%u AND state IN(0,1)",
		    (uint64_t)g->n, r->from.id);
	requeued_rows_sql(r, &sql, "UPDATE attempt SET final=0 WHERE stack_id=%u AND attempt=%u AND final=1",
			  "DELETE FROM set_aside WHERE stack_id=%u AND attempt=%u AND state=%u");
	js_sql_guard(&sql, g->n);
	js_span_insert(&sql, &r->from, &span, g->ids, g->n);
	status = js_db_commit(r->handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD)
		return lost ? settle_requeue(r, error) : JOBSTACK_NOTHING;
	return status == JS_DB_DUPLICATE
		       ? js_error_set(error, JOBSTACK_EBUG, "an entry that is dead, done or cancelled is also queued")
		       : status;
}

int jobstack_requeue(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter, int dry_run,
		     struct jobstack_requeue_result *result, struct jobstack_error *error)
{
	struct js_requeue r = {.able = JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST | JOBSTACK_IS_DONE |
				       JOBSTACK_IS_CANCELLED,
			       .unnamed = JOBSTACK_IS_DEAD,
			       .refuses = JOBSTACK_CANCELLED,
			       .dry_run = dry_run,
			       .put = requeue_group};
	int status = js_requeue_begin(&r, handle, filter, result, error);

	JS_THEN(status, js_requeue_run(&r, stack, error));
	js_grow_out(result, &r.result);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Giving entries up that have not started, or are dead.  Promises: the right to cancel a dead entry is its dead row's
 * change from dead to cancelled; that to cancel one in a span is the cut of that span, which must still hold it at the
 * attempt that was seen.  Both happen in the transaction that makes it cancelled, so a pop, a requeue or another cancel
 * at the same moment takes it first, or comes too late.  The other entries of the span keep their order.
 *
 * Entries in spans are first found as jobstack_list finds them, and then cut out of one span after the other.
 *
 * How a span is cut.  Its key is made of the end that pops do not move, so the part at that end stays in the row:
 *
 *     first in, first out    pops cut from below; pos is the highest number
 *       before   [lo ........ from ..... to ........ hi]
 *       after    [lo .. from-1]  (a new row)   [to+1 .. hi]  (the same row, with lo=to+1)
 *
 *     last in, first out     pops cut from above; pos is minus the lowest number
 *       after    [lo .. from-1]  (the same row, with hi=from-1)   [to+1 .. hi]  (a new row)
 *
 * What is between from and to and does not go gets rows of its own.  While this is prepared, pops may move the other
 * end of the span.  So the new row takes that end from the row that is locked, not from what was read.
 */
#include "queue/requeue.h"
#include "queue/set.h"

#include "base/array.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

#define FOUND_MAX 1000000 /* numbers that are found before they are cut out */
#define FEW 20		  /* up to so many entries between two others need no span of their own */
#define RACES_MAX 1000
#define NOTE_MAX 255

struct cancelling {
	struct js_requeue r; /* the first member: the function of a group gets this */
	const char *note;    /* why, for people; may be NULL */
	uint64_t *found;     /* entries in spans that match, ascending */
	size_t n, room;
	int failed;
	struct js_set_query query;
	/* the span that is cut (the only one of the page): those of its entries that go, and those between them */
	uint64_t take[JS_GROUP_MAX], between[JS_GROUP_MAX * FEW];
	size_t take_n, from, to; /* the places of the first and last that go: numbers, or places in the list */
};

/* Adds the note as a value; NULL if there is none. */
static void note_sql(struct js_sql *sql, const struct cancelling *c)
{
	size_t len = c->note == NULL ? 0 : strlen(c->note);

	js_sql_add(sql, "%x", len == 0 ? NULL : (const void *)c->note, len > NOTE_MAX ? NOTE_MAX : len);
}

/* A guard or a key stopped the transaction for these entries, after a try whose reply was lost.  If that try was
 * committed, all of them are cancelled at this attempt. */
static int settle_cancel(struct cancelling *c, const uint64_t *ids, size_t n, uint64_t attempt,
			 struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_add(&sql, "SELECT COUNT(*) FROM set_aside WHERE stack_id=%u AND state=1 AND attempt=%u", c->r.from.id,
		   attempt);
	js_sql_list(&sql, " AND entry_id IN(", ids, n);
	js_sql_add(&sql, ";");
	return js_requeue_settle(&c->r, &sql, n, error);
}

static int cancel_dead_group(struct js_requeue *r, struct jobstack_error *error)
{
	struct cancelling *c = (struct cancelling *)r;
	const struct js_group *g = &r->group;
	struct js_sql sql = {0};
	int lost, status;

	if (r->dry_run)
		return 0;
	js_stack_lock_sql(&sql, r->from.id);
	js_sql_must(&sql, "UPDATE stack SET dead=dead-%u,cancelled=cancelled+%u WHERE stack_id=%u AND state<3",
		    (uint64_t)g->n, (uint64_t)g->n, r->from.id);
	js_sql_add(&sql, "UPDATE set_aside SET state=1,reason=COALESCE(");
	note_sql(&sql, c);
	js_sql_add(&sql, ",reason) WHERE stack_id=%u AND attempt=%u AND state=0", r->from.id, g->attempts[0]);
	js_sql_list(&sql, " AND entry_id IN(", g->ids, g->n);
	js_sql_add(&sql, ";");
	js_sql_guard(&sql, g->n);
	status = js_db_commit(r->handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD)
		return lost ? settle_cancel(c, g->ids, g->n, g->attempts[0], error) : JOBSTACK_NOTHING;
	return status;
}

/* ------------------------------------------------------------------------------------------- what has not started */

static int take_found(void *ctx, const struct jobstack_item *item)
{
	struct cancelling *c = ctx;

	c->failed |= js_array_grow(&c->found, &c->room, c->n + 1, sizeof(*c->found)) != 0;
	if (!c->failed)
		c->found[c->n++] = item->entry;
	return c->failed;
}

/* Finds entries in spans; the list ended if FOUND is less than FOUND_MAX. */
static int find_unstarted(struct cancelling *c, size_t *found, struct jobstack_error *error)
{
	struct js_requeue *r = &c->r;
	struct jobstack_filter f = r->filter;
	int status;

	f.states &= JOBSTACK_IS_READY | JOBSTACK_IS_WAITING;
	f.limit = FOUND_MAX;
	if (r->filter.limit > 0 && r->filter.limit - r->result.requeued < FOUND_MAX)
		f.limit = r->filter.limit - r->result.requeued;
	c->n = *found = 0;
	if (f.states == 0 || f.limit == 0)
		return 0;
	status = jobstack_list(r->handle, r->from.name, &f, take_found, c, error);
	if (c->failed)
		return js_error_memory(error);
	*found = c->n;
	if (c->n > 1)
		qsort(c->found, c->n, sizeof(*c->found), js_num_order);
	c->n = 0;
	for (size_t i = 0; i < *found; i++) /* one that failed meanwhile was found in both classes */
		if (c->n == 0 || c->found[i] != c->found[c->n - 1])
			c->found[c->n++] = c->found[i];
	return status;
}

/* Returns whether ENTRY is to be cancelled. */
static int is_found(const struct cancelling *c, uint64_t entry)
{
	size_t at = js_span_find(c->found, c->n, sizeof(*c->found), entry);

	return at < c->n && c->found[at] == entry;
}

/* Chooses at most a group of what was found in the span: from the end at which pops begin, so that the rest stays in
 * the row that is there. */
static void choose_entries(struct cancelling *c)
{
	const struct js_set *s = c->query.set;
	size_t low = js_span_find(c->found, c->n, sizeof(*c->found), s->first),
	       high = js_span_find(c->found, c->n, sizeof(*c->found), s->last + 1), first = 0, last = 0;

	c->take_n = 0;
	if (s->ids == NULL) {
		if (high - low > JS_GROUP_MAX && c->r.from.lifo)
			low = high - JS_GROUP_MAX;
		for (; low < high && c->take_n < JS_GROUP_MAX; low++)
			c->take[c->take_n++] = c->found[low];
		if (c->take_n > 0) {
			c->from = c->take[0];
			c->to = c->take[c->take_n - 1];
		}
		return;
	}
	for (size_t i = 0; i < s->n; i++) {
		if (!is_found(c, s->ids[i]))
			continue;
		if (c->take_n == 0)
			first = i;
		last = i;
		c->take[c->take_n++] = s->ids[i];
	}
	c->from = s->lo + first;
	c->to = s->lo + last;
}

/* Inserts spans for what is between the first and the last entry that go.  Short runs are put together in lists: else a
 * cancel of every second entry would leave a row for each of the others. */
static void insert_between_sql(struct cancelling *c, struct js_sql *sql, const struct js_span *span)
{
	const struct js_set *s = c->query.set;
	size_t n = 0;

	for (size_t i = c->from, t = 0; s->ids != NULL && i <= c->to; i++)
		if (t < c->take_n && s->ids[i - s->lo] == c->take[t])
			t++;
		else
			c->between[n++] = s->ids[i - s->lo];
	for (size_t t = 1; s->ids == NULL && t < c->take_n; t++) {
		uint64_t lo = c->take[t - 1] + 1, hi = c->take[t] - 1;

		if (hi + 1 - lo <= FEW) {
			while (lo <= hi)
				c->between[n++] = lo++;
			continue;
		}
		js_span_insert(sql, &c->r.from, span, c->between, n);
		js_span_insert_range(sql, &c->r.from, span, lo, hi);
		n = 0;
	}
	js_span_insert(sql, &c->r.from, span, c->between, n);
}

/* Adds " WHERE ...": the span, if it has not changed but for what pops have cut off its end, and still holds all that
 * goes. Of a list, the part that was read must be the same. */
static void same_span_sql(const struct cancelling *c, struct js_sql *sql)
{
	const struct js_set *s = c->query.set;
	const struct js_place *p = &s->place;
	char text[JS_IDS_MAX * JS_IDS_WIDTH];

	js_sql_add(sql,
		   " WHERE stack_id=%u AND class=%u AND `rank`=%d AND pos=%d AND attempt=%u AND fails=%u AND losses=%u",
		   c->r.from.id, (uint64_t)p->class, p->rank, p->pos, (uint64_t)p->attempt, (uint64_t)p->fails,
		   (uint64_t)p->losses);
	if (s->ids == NULL)
		js_sql_add(sql, " AND ids IS NULL");
	else {
		js_span_write_ids(text, s->ids, s->n);
		js_sql_add(sql, " AND SUBSTR(ids,%u,%u)=%x", s->lo * JS_IDS_WIDTH + 1, s->n * JS_IDS_WIDTH,
			   (const void *)text, (size_t)(s->n * JS_IDS_WIDTH));
	}
	js_sql_add(sql, " AND lo<=%u AND hi>=%u", (uint64_t)c->from, (uint64_t)c->to);
}

/* Cuts the span: one end of it stays in its row, whose key does not change; the other, whose length pops change, is
 * taken from the locked row into @js_lo and @js_hi.  If pops have taken all of that end, no row is inserted for it. */
static void cut_sql(struct cancelling *c, struct js_sql *sql)
{
	const struct js_set *s = c->query.set;
	const struct js_place *p = &s->place;
	const uint64_t lo = s->ids == NULL ? s->first : s->lo, hi = lo + s->n - 1;
	const int lifo = c->r.from.lifo, stays = lifo ? c->from > lo : c->to < hi,
		  ends = lifo ? c->to < hi : c->from > lo;
	const struct js_span span = {(enum js_class)p->class, p->rank, p->attempt, p->fails, p->losses, JS_SPAN_DUE};
	uint64_t next = lifo ? c->to + 1 : c->from - 1, entry;

	js_sql_add(sql, "SELECT lo,hi,ids,due INTO @js_lo,@js_hi,@js_ids,@js_due FROM span");
	same_span_sql(c, sql);
	js_sql_stmt(sql, " FOR UPDATE");
	js_sql_guard(sql, 1);
	if (!stays)
		js_sql_add(sql, "DELETE FROM span");
	else if (lifo)
		js_sql_add(sql, "UPDATE span SET hi=%u", (uint64_t)c->from - 1);
	else
		js_sql_add(sql, "UPDATE span SET lo=%u", (uint64_t)c->to + 1);
	same_span_sql(c, sql);
	js_sql_add(sql, ";");
	js_sql_guard(sql, 1);
	if (ends) {
		entry = s->ids == NULL ? next : s->ids[next - lo];
		js_sql_add(sql,
			   "INSERT INTO span(stack_id,class,`rank`,pos,attempt,fails,losses,ids,due,lo,hi) SELECT "
			   "%u,%u,%d,%d,%u,%u,%u,@js_ids,@js_due,",
			   c->r.from.id, (uint64_t)p->class, p->rank, lifo ? -(int64_t)entry : (int64_t)entry,
			   (uint64_t)p->attempt, (uint64_t)p->fails, (uint64_t)p->losses);
		js_sql_stmt(sql, lifo ? "%u,@js_hi FROM DUAL WHERE @js_hi>=%u" : "@js_lo,%u FROM DUAL WHERE @js_lo<=%u",
			    next, next);
	}
	insert_between_sql(c, sql, &span);
}

/* Cancels what was chosen of the span, in one transaction.  An entry that is in set_aside already (its primary key)
 * stops it, as does a span that does not match any more. */
static int cancel_in_span(struct cancelling *c, struct jobstack_error *error)
{
	const struct js_place *p = &c->query.set->place;
	struct js_sql sql = {0};
	int lost, status;

	js_stack_lock_sql(&sql, c->r.from.id);
	js_sql_must(&sql, "UPDATE stack SET cancelled=cancelled+%u WHERE stack_id=%u AND state<3", (uint64_t)c->take_n,
		    c->r.from.id);
	for (size_t i = 0; i < c->take_n; i++) {
		js_sql_add(&sql,
			   i == 0 ? "INSERT INTO set_aside(stack_id,entry_id,attempt,`rank`,state,reason) "
				    "VALUES(%u,%u,%u,%d,1,"
				  : ",(%u,%u,%u,%d,1,",
			   c->r.from.id, c->take[i], (uint64_t)p->attempt - 1, p->rank);
		note_sql(&sql, c);
		js_sql_add(&sql, ")");
	}
	js_sql_add(&sql, ";");
	cut_sql(c, &sql);
	status = js_db_commit(c->r.handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD || status == JS_DB_DUPLICATE)
		return lost ? settle_cancel(c, c->take, c->take_n, (uint64_t)p->attempt - 1, error) : JOBSTACK_NOTHING;
	return status;
}

/* Goes through the spans of CLASS, and cuts out what was found. */
static int cancel_in_class(struct cancelling *c, unsigned class, struct jobstack_error *error)
{
	struct jobstack_filter found = JOBSTACK_FILTER_INIT;
	struct js_set_query *q = &c->query;
	unsigned races = 0;
	int status;

	found.entries = c->found;
	found.entries_n = c->n;
	*q = (struct js_set_query){.handle = c->r.handle,
				   .stack = c->r.from.id,
				   .class = class,
				   .last_class = class,
				   .filter = &found,
				   .page = 1,
				   .set = q->set,
				   .rows = q->rows,
				   .room = q->room};
	js_sets_begin(q);
	for (;;) {
		JS_TRY(js_sets_page(q, error));
		if (q->rows == 0)
			return 0;
		choose_entries(c);
		if (c->take_n == 0)
			continue;
		status = cancel_in_span(c, error);
		if (status == 0 || status == 2)
			c->r.result.requeued += c->take_n;
		else if (status != JOBSTACK_NOTHING || ++races == RACES_MAX)
			return status == JOBSTACK_NOTHING ? 0 : status;
		else
			JS_TRY(js_requeue_look(&c->r, error));
		q->at.pos--; /* reads the same span again: there may be more to cancel in it */
	}
}

/* Waiting spans come first, because entries move from waiting to ready ones.  An entry that is missed, since it moved
 * at the wrong moment, is found by the next pass. */
static int cancel_unstarted(struct js_requeue *r, struct jobstack_error *error)
{
	struct cancelling *c = (struct cancelling *)r;
	uint64_t before;
	size_t found;

	for (unsigned races = 0; races < RACES_MAX; races++) {
		JS_TRY(find_unstarted(c, &found, error));
		before = c->r.result.requeued;
		if (c->n == 0 || c->r.dry_run) {
			c->r.result.requeued += c->n;
			return 0;
		}
		JS_TRY(cancel_in_class(c, JS_WAITING, error));
		JS_TRY(cancel_in_class(c, JS_READY, error));
		if (found < FOUND_MAX && c->r.result.requeued - before >= c->n)
			return 0;
	}
	return js_error_set(error, JOBSTACK_ECONFLICT, "other commands kept changing the state of the same entries");
}

int jobstack_cancel(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		    const struct jobstack_cancel_options *options, struct jobstack_requeue_result *result,
		    struct jobstack_error *error)
{
	struct jobstack_cancel_options o = JOBSTACK_CANCEL_OPTIONS_INIT;
	struct cancelling *c = calloc(1, sizeof(*c));
	int status;

	if (c == NULL)
		return js_error_memory(error);
	c->r = (struct js_requeue){.able = JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_DEAD |
					   JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST,
				   .only = "ready, waiting and dead entries can be cancelled",
				   .unnamed = JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_DEAD,
				   .refuses = JOBSTACK_DROPPING,
				   .put = cancel_dead_group,
				   .rest = cancel_unstarted};
	status = js_requeue_begin(&c->r, handle, filter, result, error);
	JS_THEN(status, js_grow_in(&o, options, "jobstack_cancel_options", error));
	c->r.dry_run = o.dry_run;
	c->note = o.note;
	JS_THEN(status, js_requeue_run(&c->r, stack, error));
	js_grow_out(result, &c->r.result);
	js_sets_free(&c->query);
	free(c->found);
	free(c);
	return status;
}

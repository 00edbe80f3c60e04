/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Requeue.  Promise: the right to requeue an entry is a row change that succeeds once (final 1 to 0 for a done entry, the
 * DELETE of its dead row for a dead one), in the transaction that puts it in line; so two at once requeue it once.
 */
#include "base/error.h"
#include "core/core.h"
#include "core/span.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_MAX JS_IDS_MAX
#define RACES_MAX 50

/* Entries with the same last attempt, on their way back. */
struct group {
	uint64_t ids[GROUP_MAX];
	size_t n;
	uint64_t attempt, last;
	int64_t rank;
	int full;
};

static void take_candidate(void *ctx, const struct js_row *row)
{
	struct group *g = ctx;

	if (row == NULL) {
		g->n = 0;
		g->full = 0;
		return;
	}
	if (g->n == GROUP_MAX || (g->n > 0 && (js_row_u64(row, 1) != g->attempt || js_row_i64(row, 2) != g->rank)))
		g->full = 1;
	if (g->full)
		return; /* from here on they are the next round's, which begins behind the last one taken */
	g->attempt = js_row_u64(row, 1);
	g->rank = js_row_i64(row, 2);
	g->ids[g->n++] = js_row_u64(row, 0);
}

static void add_list(struct js_sql *sql, const char *words, const uint64_t *ids, size_t n)
{
	js_sql_add(sql, words);
	for (size_t i = 0; i < n; i++)
		js_sql_add(sql, i == 0 ? "%u" : ",%u", ids[i]);
	js_sql_add(sql, ")");
}

/* Finds the next group behind g->last among the dead or the done; one attempt number, one rank. */
static int next_group(struct jobstack *handle, const struct js_stack *s, const struct jobstack_filter *f, int done,
		      uint64_t limit, struct group *g, struct jobstack_error *error)
{
	unsigned outcome = (f->states & JOBSTACK_IS_DEAD) != 0 ? 0 : f->states & (JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST);
	struct js_sql sql = {0};
	int status;

	if (done)
		js_sql_add(&sql, "SELECT t.entry_id,t.attempt,0 FROM attempt t WHERE t.stack_id=%u AND t.final=1", s->id);
	else if (outcome == 0 || outcome == (JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST))
		js_sql_add(&sql, "SELECT t.entry_id,t.attempt,t.`rank` FROM dead t WHERE t.stack_id=%u", s->id);
	else
		js_sql_add(&sql,
			   "SELECT t.entry_id,t.attempt,t.`rank` FROM dead t JOIN attempt a ON a.stack_id=t.stack_id AND "
			   "a.entry_id=t.entry_id AND a.attempt=t.attempt AND a.outcome=%u WHERE t.stack_id=%u",
			   (uint64_t)(outcome == JOBSTACK_IS_FAILED ? 1 : 2), s->id);
	js_sql_add(&sql, " AND t.entry_id>%u", g->last);
	if (f->entries != NULL && f->entries_n > 0)
		add_list(&sql, " AND t.entry_id IN(", f->entries, f->entries_n);
	js_sql_stmt(&sql, " ORDER BY t.entry_id LIMIT %u", limit < GROUP_MAX ? limit : (uint64_t)GROUP_MAX);
	status = js_db_query(handle->db, &sql, take_candidate, g, error);
	js_sql_free(&sql);
	return status;
}

/* Requeues one group.  0; 1 if some of it was requeued, or ran, meanwhile; 2 if by a try of ours whose reply was lost. */
static int requeue_group(struct jobstack *handle, const struct js_stack *s, const struct group *g, int done,
			 struct jobstack_error *error)
{
	struct js_span span = {JS_READY, g->rank, (uint32_t)g->attempt + 1, 0, 0, 0};
	struct js_sql sql = {0};
	int lost, status;

	js_sql_stmt(&sql, "SELECT stack_id INTO @js_state FROM stack WHERE stack_id=%u FOR UPDATE", s->id);
	js_sql_stmt(&sql,
		    done ? "UPDATE stack SET done=done-%u WHERE stack_id=%u AND state IN(0,1)"
			 : "UPDATE stack SET dead=dead-%u WHERE stack_id=%u AND state IN(0,1)",
		    (uint64_t)g->n, s->id);
	js_sql_guard(&sql, 1);
	if (done)
		js_sql_add(&sql, "UPDATE attempt SET final=0 WHERE stack_id=%u AND attempt=%u AND final=1", s->id, g->attempt);
	else
		js_sql_add(&sql, "DELETE FROM dead WHERE stack_id=%u AND attempt=%u", s->id, g->attempt);
	add_list(&sql, " AND entry_id IN(", g->ids, g->n);
	js_sql_add(&sql, ";");
	js_sql_guard(&sql, g->n);
	js_span_insert(&sql, s, &span, g->ids, g->n);
	status = js_db_transaction(handle->db, &sql, NULL, NULL, NULL, &lost, error);
	js_sql_free(&sql);
	if (status == JS_DB_GUARD)
		return lost ? 2 : JOBSTACK_NOTHING;
	return status == JS_DB_DUPLICATE ? js_error_set(error, JOBSTACK_EBUG, "an entry that is dead or done stands in line too")
					 : status;
}

/* Finds a stack to which something can go back. */
static int find_open(struct jobstack *handle, const char *name, struct js_stack *s, struct jobstack_error *error)
{
	int status = js_stack_find(handle, name, s, error);

	if (status == 0 && (s->state == JOBSTACK_CANCELLED || s->state == JOBSTACK_DROPPING))
		return js_error_set(error, JOBSTACK_ECONFLICT, "the stack \"%s\" is %s", name,
				    s->state == JOBSTACK_CANCELLED ? "cancelled" : "being dropped");
	return status;
}

static int requeue_class(struct jobstack *handle, struct js_stack *s, const struct jobstack_filter *f, int done,
			 int dry_run, struct jobstack_requeue_result *result, struct jobstack_error *error)
{
	struct group *g = calloc(1, sizeof(*g));
	unsigned races = 0;
	int status = 0;

	if (g == NULL)
		return js_error_memory(error);
	while (f->limit == 0 || result->requeued < f->limit) {
		status = next_group(handle, s, f, done, f->limit == 0 ? UINT64_MAX : f->limit - result->requeued, g, error);
		if (status != 0 || g->n == 0)
			break;
		if (!dry_run)
			status = requeue_group(handle, s, g, done, error);
		if (status == JOBSTACK_NOTHING && ++races < RACES_MAX) {
			status = find_open(handle, s->name, s, error);
			if (status == 0)
				continue; /* somebody else took some: look again */
		}
		if (status != 0 && status != 2)
			break;
		result->requeued += g->n;
		if (status == 0)
			g->last = g->ids[g->n - 1];
		status = 0; /* after a lost reply the same place is looked at again: was it all of them? */
	}
	free(g);
	return status == JOBSTACK_NOTHING ? js_error_set(error, JOBSTACK_ECONFLICT, "others kept requeueing the same entries")
					  : status;
}

static void take_count(void *ctx, const struct js_row *row)
{
	*(uint64_t *)ctx = row == NULL ? 0 : js_row_u64(row, 0);
}

int jobstack_requeue(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter, int dry_run,
		     struct jobstack_requeue_result *result, struct jobstack_error *error)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_requeue_result r = {0, 0, 0};
	struct js_sql sql = {0};
	uint64_t there = 0;
	struct js_stack s;
	int status = find_open(handle, stack, &s, error);

	if (filter != NULL)
		f = *filter;
	if (f.states == 0)
		f.states = f.entries != NULL ? JOBSTACK_IS_DEAD | JOBSTACK_IS_DONE : JOBSTACK_IS_DEAD;
	if (f.entries != NULL && f.entries_n == 0)
		f.states = 0; /* only these, and these are none */
	if (status == 0 && (f.states & (JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST)) != 0)
		status = requeue_class(handle, &s, &f, 0, dry_run, &r, error);
	if (status == 0 && (f.states & JOBSTACK_IS_DONE) != 0)
		status = requeue_class(handle, &s, &f, 1, dry_run, &r, error);
	if (status == 0 && f.entries != NULL && f.entries_n > 0) {
		js_sql_add(&sql, "SELECT COUNT(*) FROM entry WHERE stack_id=%u", s.id);
		add_list(&sql, " AND entry_id IN(", f.entries, f.entries_n);
		js_sql_add(&sql, ";");
		status = js_db_query(handle->db, &sql, take_count, &there, error);
		js_sql_free(&sql);
		r.missing = f.entries_n - there;
		r.refused = there > r.requeued ? there - r.requeued : 0;
	}
	if (result != NULL)
		*result = r;
	return status;
}

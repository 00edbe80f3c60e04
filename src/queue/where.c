/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The state of entries at one moment.  Promises: spans and claims are read in one view, so that no entry is read twice
 * or missed; the view lasts no longer than that reading; memory by the size of the window alone.
 */
#include "queue/where.h"

#include "base/num.h"
#include "queue/running.h"
#include "queue/set.h"

#include <stdlib.h>
#include <string.h>

struct reading {
	struct js_where *where;
	int bad; /* a set could not be read */
	struct js_set_query query;
};

const struct js_in_hand *js_where_in_hand(const struct js_where *w, uint64_t entry)
{
	return w->n == 0 ? NULL : bsearch(&entry, w->in_hand.data, w->n, sizeof(struct js_in_hand), js_num_order);
}

/* Notes the state of one entry, if nothing newer is known of it.  A claim's row names entries that have failed, as long
 * as others of it are open, so an entry can be in several places.  Newer is what has the higher attempt.  (What goes
 * back unstarted, with the same attempt, is cut out of its claim.)  An entry that has ended and did not go back is in
 * its claim only: the caller finds the attempt on record. */
static void put_entry(struct js_where *w, const struct js_set *set, uint64_t entry)
{
	size_t at = (size_t)(entry - w->low);

	if (entry < w->low || entry > w->high)
		return;
	if (w->state[at] != 0 && w->attempt[at] > set->place.attempt)
		return;
	w->state[at] = (unsigned char)(set->place.worker != 0 ? JOBSTACK_IS_RUNNING : 1u << set->place.class);
	w->attempt[at] = set->place.attempt;
	if (set->place.worker != 0) {
		struct js_in_hand one = {entry, set->place.worker, js_running_since(set->running, entry),
					 set->place.attempt};

		if (one.started_us < 0)
			one.started_us = set->claimed_us;
		js_buf_add(&w->in_hand, &one, sizeof(one));
		w->n = w->in_hand.len / sizeof(one);
	}
}

/* Notes the entries of a set, as far as they are in the window. */
static void put_set(struct reading *r, const struct js_set *set)
{
	struct js_where *w = r->where;

	r->bad |= set->n == 0;
	for (size_t i = 0; set->ids != NULL && i < set->n; i++)
		put_entry(w, set, set->ids[i]);
	for (uint64_t e = set->first > w->low ? set->first : w->low; set->ids == NULL && e <= set->last && e <= w->high;
	     e++)
		put_entry(w, set, e);
}

static int order_in_hand(const void *a, const void *b)
{
	const struct js_in_hand *x = a, *y = b;

	return x->entry != y->entry ? (x->entry > y->entry ? 1 : -1)
				    : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* Sorts what is in claims by the entries, and keeps the newest claim of each. */
static void keep_newest(struct js_where *w)
{
	struct js_in_hand *at = (struct js_in_hand *)w->in_hand.data;
	size_t kept = 0;

	if (w->n > 0)
		qsort(at, w->n, sizeof(*at), order_in_hand);
	for (size_t i = 0; i < w->n; i++)
		if (i + 1 == w->n || at[i + 1].entry != at[i].entry)
			at[kept++] = at[i];
	w->n = kept;
}

/* The body of the view: it may be called again, and then begins anew. */
static int read_whole_window(void *ctx, struct jobstack_error *error)
{
	struct reading *r = ctx;

	memset(r->where->state, 0, JS_WHERE_WINDOW);
	r->where->n = 0;
	js_buf_reset(&r->where->in_hand);
	r->bad = 0;
	for (r->query.claims = 0; r->query.claims < 2; r->query.claims++) {
		js_sets_begin(&r->query);
		do {
			JS_TRY(js_sets_page(&r->query, error));
			for (size_t i = 0; i < r->query.rows; i++)
				put_set(r, &r->query.set[i]);
		} while (r->query.rows == r->query.page);
	}
	return 0;
}

int js_where_read(struct js_where *w, struct jobstack *handle, const struct js_stack *stack, uint64_t low,
		  uint64_t high, struct jobstack_error *error)
{
	struct reading r = {.where = w,
			    .query = {.handle = handle,
				      .stack = stack->id,
				      .last_class = JS_HELD,
				      .low = low,
				      .high = high,
				      .running = 1,
				      .page = 500}};
	int status;

	if (w->state == NULL)
		w->state = malloc(JS_WHERE_WINDOW);
	if (w->attempt == NULL)
		w->attempt = malloc(JS_WHERE_WINDOW * sizeof(*w->attempt));
	if (w->state == NULL || w->attempt == NULL)
		return js_error_memory(error);
	w->low = low;
	w->high = high;
	status = js_db_view(handle->db, read_whole_window, &r, error);
	js_sets_free(&r.query);
	if (status != 0)
		return status;
	if (w->in_hand.failed)
		return js_error_memory(error);
	if (r.bad)
		return js_error_set(error, JOBSTACK_EBUG,
				    "a list of queued entries can't be read: `jobstack check -s %s` tells more",
				    stack->name);
	keep_newest(w);
	return 0;
}

void js_where_free(struct js_where *w)
{
	free(w->state);
	free(w->attempt);
	js_buf_free(&w->in_hand);
	memset(w, 0, sizeof(*w));
}

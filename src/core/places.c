/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans and claims as a check reads them.  Promises: memory does not grow with the number of spans (a small record of
 * each claim is kept: they are what runs now); no value in them, however damaged, is trusted.
 */
#include "core/places.h"

#include "base/array.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>

#define PAGE 1000 /* rows with lists of up to 5,500 bytes */

/* One reading. */
struct reading {
	struct js_checked *c;
	struct js_places *places;
	const struct js_held_window *window; /* NULL: each row is looked at by itself */
	struct js_set_query query;
};

const char *js_place_name(const struct js_place *p, char text[JS_PLACE_NAME])
{
	static const char *const word[] = {"ready", "waiting", "held", "nameless"};

	if (p->worker != 0)
		(void)snprintf(text, JS_PLACE_NAME, "claim %" PRIu64 " of worker %" PRIu64, p->no, p->worker);
	else
		(void)snprintf(text, JS_PLACE_NAME, "the %s row in the table `span` at rank %" PRId64 ", pos %" PRId64,
			       word[p->class < 3 ? p->class : 3], p->rank, p->pos);
	return text;
}

/* Calls the window's function for those entries of the set that are in it. */
static void walk_window(const struct js_held_window *w, const struct js_set *s, size_t index)
{
	for (size_t i = 0; s->ids != NULL && i < s->n; i++)
		if (s->ids[i] >= w->low && s->ids[i] <= w->high)
			w->fn(w->ctx, index, s->ids[i]);
	if (s->ids != NULL || s->n == 0)
		return;
	for (uint64_t e = s->first > w->low ? s->first : w->low; e <= s->last && e <= w->high; e++)
		w->fn(w->ctx, index, e);
}

/* What is wrong with a span's row by itself, or NULL; counts its entries. */
static const char *judge_span(struct js_checked *c, const struct js_set *s)
{
	uint64_t none = 0, *const counts[] = {&c->report.ready, &c->report.waiting, &c->report.held};
	const struct js_place *p = &s->place;

	*(p->class <= JS_HELD ? counts[p->class] : &none) += s->n;
	if (s->fault != NULL)
		return s->fault;
	if (p->class > JS_HELD)
		return "is of a class that does not exist";
	if (p->pos != (c->lifo ? -(int64_t)s->first : (int64_t)s->last))
		return "has a pos that does not match its entries";
	if (p->class == JS_WAITING && !s->due)
		return "is waiting, but has no time when it is due";
	if (p->class != JS_WAITING && s->due)
		return "is not waiting, but has a time when it is due";
	return p->class == JS_HELD && !s->pushed ? "is held for a push that does not exist" : NULL;
}

/* The same of a claim. */
static const char *judge_claim(const struct js_set *s)
{
	if (s->fault != NULL)
		return s->fault;
	if (s->place.open == 0)
		return "has no unfinished entry left, and should have been deleted";
	return s->place.open > s->n ? "counts more unfinished entries than it has" : NULL;
}

static void judge_set(struct js_checked *c, int claims, const struct js_set *s)
{
	const char *fault = claims ? judge_claim(s) : judge_span(c, s);
	char name[JS_PLACE_NAME];

	if (fault != NULL)
		js_found(&c->findings, claims ? JOBSTACK_FAULT_CLAIM : JOBSTACK_FAULT_SPAN, s->first,
			 "%s (entries %" PRIu64 " to %" PRIu64 ") %s", js_place_name(&s->place, name), s->first,
			 s->last, fault);
	if (s->last > c->last)
		js_found(&c->findings, JOBSTACK_FAULT_STRAY, s->first > c->last ? s->first : c->last + 1,
			 "%s reaches to entry %" PRIu64 ", but the last entry is %" PRIu64,
			 js_place_name(&s->place, name), s->last, c->last);
}

/* The order of claims in the list, that of their key. */
static int compare_claims(const void *a, const void *b)
{
	const struct js_place *x = a, *y = b;

	return x->worker != y->worker ? js_num_order(&x->worker, &y->worker) : js_num_order(&x->no, &y->no);
}

static void take_checked_set(void *ctx, const struct js_set *set)
{
	struct reading *r = ctx;
	struct js_places *places = r->places;
	int claims = r->query.claims;
	size_t index = places->n;

	if (set == NULL)
		return;
	if (r->window == NULL)
		judge_set(r->c, claims, set);
	if (claims == (r->window == NULL)) {
		js_buf_add(&places->memory, &set->place, sizeof(set->place));
		places->list = (struct js_place *)(void *)places->memory.data;
		places->n = places->memory.len / sizeof(set->place);
	} else if (claims)
		index = js_array_lower(places->list, places->n, sizeof(*places->list), &set->place, compare_claims);
	if (r->window != NULL && index < places->n)
		walk_window(r->window, set, index);
}

int js_check_places(struct js_checked *c, int claims, const struct js_held_window *window, struct js_places *places,
		    struct jobstack_error *error)
{
	struct reading r = {.c = c, .places = places, .window = window};

	r.query = (struct js_set_query){.handle = c->handle,
					.stack = c->id,
					.claims = claims,
					.last_class = UINT32_MAX,
					.low = window != NULL ? window->low : 0,
					.high = window != NULL ? window->high : 0,
					.page = PAGE,
					.fn = take_checked_set,
					.ctx = &r};
	if (!claims || window == NULL) {
		js_buf_reset(&places->memory);
		places->n = 0;
	}
	JS_TRY(js_sets_read(&r.query, error));
	return places->memory.failed ? js_error_memory(error) : 0;
}

/* ------------------------------------------------------------------------------------------------------ orphans */

static void take_orphans(void *ctx, const struct js_row *row)
{
	struct js_checked *c = ctx;

	if (row != NULL)
		js_found(&c->findings, JOBSTACK_FAULT_STRAY, 0,
			 "the table %s has rows of stack number %" PRIu64 ", which does not exist", row->col[0],
			 js_row_u64(row, 1));
}

int js_check_orphans(struct js_checked *c, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	js_findings_free(&c->findings);
	/* DISTINCT hops along each key from stack to stack */
#define ORPHANS(TABLE)                                                                                                 \
	"SELECT '" TABLE "',t.stack_id FROM (SELECT DISTINCT stack_id FROM " TABLE                                     \
	") t LEFT JOIN stack s ON s.stack_id=t.stack_id WHERE s.stack_id IS NULL"
	js_sql_stmt(&sql, ORPHANS("entry"));
	js_sql_stmt(&sql, ORPHANS("span"));
	js_sql_stmt(&sql, ORPHANS("claim"));
	js_sql_stmt(&sql, ORPHANS("attempt"));
	js_sql_stmt(&sql, ORPHANS("dead"));
	js_sql_stmt(&sql, ORPHANS("name"));
	js_sql_stmt(&sql, ORPHANS("path"));
	js_sql_stmt(&sql, ORPHANS("worker"));
	js_sql_stmt(&sql, ORPHANS("push"));
	js_sql_stmt(&sql, ORPHANS("push_range"));
	js_sql_stmt(&sql, ORPHANS("gate"));
	status = js_db_query(c->handle->db, &sql, take_orphans, c, error);
	return status == 0 && (c->findings.memory.failed || c->findings.bytes.failed) ? js_error_memory(error) : status;
}

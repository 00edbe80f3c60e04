/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans and claims as a check reads them.  Promises: in pages along the primary key, so memory does not grow with their
 * number (of claims, a small record each is kept: they are what runs now); no value in them, however damaged, is
 * trusted.
 */
#define _GNU_SOURCE
#include "core/places.h"

#include "base/error.h"

#include <inttypes.h>

#define PAGE 1000 /* rows with lists of up to 5,500 bytes */

/* The first and last number of a row's set, as far as SQL can tell for a filter: LEAST keeps a damaged place from
 * overflowing. */
#define FIRST_IN_LIST "SUBSTR(t.ids,LEAST(t.lo,999)*11+1,10)"
#define LAST_IN_LIST "SUBSTR(t.ids,LEAST(t.hi,999)*11+1,10)"

/* The entries of one row. */
struct set {
	uint64_t first, last; /* an interval, or the ends of the list */
	uint64_t ids[JS_IDS_MAX];
	size_t n; /* in the list; 0: an interval */
	uint64_t size;
};

/* One reading: what it is for, and where its next page begins. */
struct reading {
	struct js_checked *c;
	struct js_holders *holders;
	const struct js_held_window *window; /* NULL: each row is looked at by itself */
	size_t rows;
	uint64_t at[2]; /* the last row's key: class, or worker and claim */
	int64_t rank, pos;
	struct set set;
};

static void reset_holders(struct js_holders *h)
{
	js_buf_reset(&h->memory);
	h->n = 0;
}

static void add_holder(struct js_holders *h, const struct js_holder *holder)
{
	js_buf_add(&h->memory, holder, sizeof(*holder));
	h->list = (struct js_holder *)(void *)h->memory.data;
	h->n = h->memory.len / sizeof(*holder);
}

/* Reads lo, hi and ids, which begin at column COL.  Gives what is wrong with them, or NULL; what can be told of the
 * entries is in SET all the same. */
static const char *read_set(const struct js_row *row, unsigned col, struct set *set)
{
	uint64_t lo = js_row_u64(row, col), hi = js_row_u64(row, col + 1);
	const char *list = row->col[col + 2];
	size_t len = row->len[col + 2];

	set->first = set->last = set->size = set->n = 0;
	if (hi < lo)
		return "ends before it begins";
	if (list == NULL) {
		set->first = lo;
		set->last = hi;
		set->size = hi - lo == UINT64_MAX ? hi : hi - lo + 1;
		return lo == 0 ? "begins at the number 0, which no entry has" : NULL;
	}
	if (len % JS_IDS_WIDTH != 0 || len / JS_IDS_WIDTH > JS_IDS_MAX || hi >= len / JS_IDS_WIDTH)
		return "has a list that is not as long as it says";
	if (js_span_read_ids(list, len, lo, hi - lo + 1, set->ids) != 0)
		return "has a list that can't be read";
	set->n = hi - lo + 1;
	set->size = set->n;
	set->first = set->ids[0];
	set->last = set->ids[set->n - 1];
	for (size_t i = 0; i < set->n; i++)
		if (list[(lo + i + 1) * JS_IDS_WIDTH - 1] != ',')
			return "has a list that can't be read";
	for (size_t i = 1; i < set->n; i++)
		if (set->ids[i] <= set->ids[i - 1])
			return "has a list that is not in ascending order";
	return NULL;
}

/* Hands out those entries of the set that are in the window. */
static void hand_out(const struct reading *r, size_t index)
{
	const struct js_held_window *w = r->window;
	const struct set *s = &r->set;

	for (size_t i = 0; i < s->n; i++)
		if (s->ids[i] >= w->low && s->ids[i] <= w->high)
			w->fn(w->ctx, index, s->ids[i]);
	if (s->n > 0 || s->size == 0)
		return;
	for (uint64_t e = s->first > w->low ? s->first : w->low; e <= s->last && e <= w->high; e++)
		w->fn(w->ctx, index, e);
}

/* The part of a filter that keeps to sets with numbers in the window. */
static void only_window(const struct reading *r, struct js_sql *sql)
{
	char low[JS_IDS_WIDTH], high[JS_IDS_WIDTH];

	if (r->window == NULL)
		return;
	js_span_write_ids(low, &r->window->low, 1);
	js_span_write_ids(high, &r->window->high, 1);
	js_sql_add(sql, " AND IF(t.ids IS NULL,t.lo<=%u AND t.hi>=%u," FIRST_IN_LIST "<=%x AND " LAST_IN_LIST ">=%x)",
		   r->window->high, r->window->low, (const void *)high, (size_t)JS_IDS_WIDTH - 1, (const void *)low,
		   (size_t)JS_IDS_WIDTH - 1);
}

/* --------------------------------------------------------------------------------------------------------- spans */

static const char *const class_word[] = {"ready", "waiting", "held"};

/* What is wrong with a span's row by itself. */
static void judge_span(struct reading *r, const struct js_holder *h, const struct js_row *row, const char *fault)
{
	struct js_checked *c = r->c;
	const struct set *s = &r->set;
	int64_t pos = c->lifo ? -(int64_t)s->first : (int64_t)s->last;
	int no_due = (int)js_row_u64(row, 9), pushed = (int)js_row_u64(row, 10);
	const char *what = h->class < 3 ? class_word[h->class] : "nameless";

	if (h->class == JS_READY)
		c->report.ready += s->size;
	else if (h->class == JS_WAITING)
		c->report.waiting += s->size;
	else if (h->class == JS_HELD)
		c->report.held += s->size;
	if (fault == NULL && h->class > JS_HELD)
		fault = "is of a class that does not exist";
	if (fault == NULL && pos != h->pos)
		fault = "has a pos that does not match its entries";
	if (fault == NULL && h->class == JS_WAITING && no_due)
		fault = "is waiting, but has no time when it is due";
	if (fault == NULL && h->class != JS_WAITING && !no_due)
		fault = "is not waiting, but has a time when it is due";
	if (fault == NULL && h->class == JS_HELD && !pushed)
		fault = "is held for a push that does not exist";
	if (fault != NULL)
		js_found(&c->findings, JOBSTACK_FAULT_SPAN, s->first,
			 "the %s span at rank %" PRId64 ", pos %" PRId64 " (entries %" PRIu64 " to %" PRIu64 ") %s",
			 what, h->rank, h->pos, s->first, s->last, fault);
	if (s->last > c->last)
		js_found(&c->findings, JOBSTACK_FAULT_STRAY, s->first > c->last ? s->first : c->last + 1,
			 "the %s span at rank %" PRId64 ", pos %" PRId64 " reaches to entry %" PRIu64
			 ", but the last entry is %" PRIu64,
			 what, h->rank, h->pos, s->last, c->last);
}

static void take_span(void *ctx, const struct js_row *row)
{
	struct reading *r = ctx;
	struct js_holder h = {.keeper = JS_ALIVE};
	const char *fault;

	if (row == NULL)
		return;
	r->rows++;
	r->at[0] = h.class = (unsigned)js_row_u64(row, 0);
	r->rank = h.rank = js_row_i64(row, 1);
	r->pos = h.pos = js_row_i64(row, 2);
	h.attempt = (uint32_t)js_row_u64(row, 6);
	h.fails = (uint32_t)js_row_u64(row, 7);
	h.losses = (uint32_t)js_row_u64(row, 8);
	fault = read_set(row, 3, &r->set);
	if (r->window == NULL)
		judge_span(r, &h, row, fault);
	else {
		add_holder(r->holders, &h);
		if (!r->holders->memory.failed)
			hand_out(r, r->holders->n - 1);
	}
}

static int read_spans(struct reading *r, struct jobstack_error *error)
{
	int status = 0, more = 0;

	do {
		struct js_sql sql = {0};

		js_sql_add(&sql,
			   "SELECT t.class,t.`rank`,t.pos,t.lo,t.hi,t.ids,t.attempt,t.fails,t.losses,t.due IS NULL,"
			   "EXISTS(SELECT 1 FROM push u WHERE u.push_id=t.push_id AND u.stack_id=t.stack_id) "
			   "FROM span t FORCE INDEX(PRIMARY) WHERE t.stack_id=%u",
			   r->c->id);
		if (more)
			js_sql_add(&sql,
				   " AND (t.class>%u OR (t.class=%u AND t.`rank`>%d) OR (t.class=%u AND t.`rank`=%d "
				   "AND t.pos>%d))",
				   r->at[0], r->at[0], r->rank, r->at[0], r->rank, r->pos);
		only_window(r, &sql);
		js_sql_stmt(&sql, " ORDER BY t.stack_id,t.class,t.`rank`,t.pos LIMIT %u", (uint64_t)PAGE);
		r->rows = 0;
		status = js_view_query(r->c->handle->db, &sql, take_span, r, error);
		more = 1;
	} while (status == 0 && r->rows == PAGE);
	return status == 0 && r->holders->memory.failed ? js_error_memory(error) : status;
}

int js_check_spans(struct js_checked *c, const struct js_held_window *window, struct js_holders *holders,
		   struct jobstack_error *error)
{
	struct reading r = {.c = c, .holders = holders, .window = window};

	reset_holders(holders);
	return read_spans(&r, error);
}

/* -------------------------------------------------------------------------------------------------------- claims */

/* What is wrong with a claim's row by itself. */
static void judge_claim(struct reading *r, struct js_holder *h, const char *fault)
{
	struct js_checked *c = r->c;
	const struct set *s = &r->set;

	h->first = s->first;
	if (fault == NULL && h->open == 0)
		fault = "has no open entry left, and should have been deleted";
	if (fault == NULL && h->open > s->size)
		fault = "has more open entries than it holds";
	if (fault != NULL)
		js_found(&c->findings, JOBSTACK_FAULT_CLAIM, s->first,
			 "claim %" PRIu64 " of worker %" PRIu64 " (entries %" PRIu64 " to %" PRIu64 ") %s", h->no,
			 h->worker, s->first, s->last, fault);
	if (s->last > c->last)
		js_found(&c->findings, JOBSTACK_FAULT_STRAY, s->first > c->last ? s->first : c->last + 1,
			 "claim %" PRIu64 " of worker %" PRIu64 " reaches to entry %" PRIu64
			 ", but the last entry is %" PRIu64,
			 h->no, h->worker, s->last, c->last);
}

/* The place of a claim in the list, which is in the order of the key. */
static size_t find_claim(const struct js_holders *h, uint64_t worker, uint64_t no)
{
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct js_holder *m = &h->list[middle];

		if (m->worker < worker || (m->worker == worker && m->no < no))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take_claim(void *ctx, const struct js_row *row)
{
	struct reading *r = ctx;
	struct js_holder h = {.keeper = JS_ALIVE};
	const char *fault;
	size_t index;

	if (row == NULL)
		return;
	r->rows++;
	r->at[0] = h.worker = js_row_u64(row, 0);
	r->at[1] = h.no = js_row_u64(row, 1);
	h.attempt = (uint32_t)js_row_u64(row, 5);
	h.fails = (uint32_t)js_row_u64(row, 6);
	h.losses = (uint32_t)js_row_u64(row, 7);
	h.open = js_row_u64(row, 8);
	h.keeper = (enum js_keeper)js_row_u64(row, 9);
	fault = read_set(row, 2, &r->set);
	if (r->window == NULL) {
		judge_claim(r, &h, fault);
		add_holder(r->holders, &h);
		return;
	}
	index = find_claim(r->holders, h.worker, h.no);
	if (index < r->holders->n)
		hand_out(r, index);
}

static int read_claims(struct reading *r, struct jobstack_error *error)
{
	int status = 0, more = 0;

	do {
		struct js_sql sql = {0};

		js_sql_add(&sql,
			   "SELECT t.worker_id,t.claim_no,t.lo,t.hi,t.ids,t.attempt,t.fails,t.losses,t.open,"
			   "IF(w.worker_id IS NULL,2,IF(w.stack_id<>t.stack_id,3,w.ended IS NOT NULL)) "
			   "FROM claim t FORCE INDEX(PRIMARY) LEFT JOIN worker w ON w.worker_id=t.worker_id WHERE "
			   "t.stack_id=%u",
			   r->c->id);
		if (more)
			js_sql_add(&sql, " AND (t.worker_id>%u OR (t.worker_id=%u AND t.claim_no>%u))", r->at[0],
				   r->at[0], r->at[1]);
		only_window(r, &sql);
		js_sql_stmt(&sql, " ORDER BY t.stack_id,t.worker_id,t.claim_no LIMIT %u", (uint64_t)PAGE);
		r->rows = 0;
		status = js_view_query(r->c->handle->db, &sql, take_claim, r, error);
		more = 1;
	} while (status == 0 && r->rows == PAGE);
	return status == 0 && r->holders->memory.failed ? js_error_memory(error) : status;
}

int js_check_claims(struct js_checked *c, const struct js_held_window *window, struct js_holders *holders,
		    struct jobstack_error *error)
{
	struct reading r = {.c = c, .holders = holders, .window = window};

	if (window == NULL)
		reset_holders(holders);
	return read_claims(&r, error);
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
	js_sql_stmt(&sql, ORPHANS("worker"));
	js_sql_stmt(&sql, ORPHANS("push"));
	js_sql_stmt(&sql, ORPHANS("gate"));
	status = js_view_query(c->handle->db, &sql, take_orphans, c, error);
	return status == 0 && (c->findings.memory.failed || c->findings.bytes.failed) ? js_error_memory(error) : status;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Looking at entries and attempts.  Promises: page by page, flat memory, no long transaction, and each query stands beside
 * the index that serves it.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "core/core.h"
#include "core/item.h"
#include "core/span.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 2000
#define ANY (JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_HELD | JOBSTACK_IS_RUNNING | JOBSTACK_IS_DONE | JOBSTACK_IS_DEAD)

/* The columns of an item; e is the entry, a its attempt or nothing, w the attempt's worker or nothing.  The %u is whether the end
 * of stderr is asked for. */
#define ATTEMPT_COLUMNS                                                                                                \
	JS_ITEM_ATTEMPT("IF(a.log_at IS NULL,NULL,COALESCE(a.log,w.log))") "," JS_ITEM_STDERR("IF(%u,a.err_tail,NULL)") ","
#define NO_ATTEMPT_COLUMNS "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,"

struct listing {
	struct jobstack *handle;
	struct js_stack stack;
	const struct jobstack_filter *filter;
	jobstack_item_fn *fn;
	void *ctx;
	unsigned state; /* of the items that come; 0: by outcome */
	uint64_t told, last;
	size_t rows;
	const char *running; /* of the worker whose claim is listed */
	int64_t claimed_us;  /* of the claim, if a script popped it: its entries began then; else -1 */
	int stopped;
};

static uint64_t limit_left(const struct listing *l)
{
	return l->filter->limit == 0 ? UINT64_MAX : l->filter->limit - l->told;
}

static uint64_t tails(const struct listing *l)
{
	return l->filter->tails != 0;
}

static void take_item(void *ctx, const struct js_row *row)
{
	struct listing *l = ctx;
	struct jobstack_item i;
	unsigned c = 0;

	if (row == NULL || l->stopped)
		return;
	memset(&i, 0, sizeof(i));
	l->rows++;
	l->last = i.entry = js_row_u64(row, c++);
	i.datapath = (struct jobstack_bytes){row->col[c], row->len[c]};
	c++;
	js_item_attempt(&i, row, &c);
	js_item_stderr(&i, row, &c);
	js_item_worker(&i, row, &c);
	i.state = l->state;
	if (l->running != NULL) {
		i.started_us = js_item_since(l->running, i.entry);
		if (i.started_us < 0)
			i.started_us = l->claimed_us;
	}
	if (limit_left(l) == 0)
		return;
	l->told++;
	l->stopped = l->fn(l->ctx, &i) != 0;
}

static void only_entries(struct js_sql *sql, const struct jobstack_filter *filter, const char *column)
{
	if (filter->entries == NULL)
		return;
	/* COLUMN is one of this file's own words */
	js_sql_add(sql, " AND ");
	js_sql_add(sql, column);
	js_sql_add(sql, " IN(NULL");
	for (size_t i = 0; i < filter->entries_n; i++)
		js_sql_add(sql, ",%u", filter->entries[i]);
	js_sql_add(sql, ")");
}

/* Tells pages of a query whose text HEAD has that %u and one for the stack, sorted by TABLE's entry_id, until it is empty. */
static int list_pages(struct listing *l, const char *head, const char *column, struct jobstack_error *error)
{
	int status = 0;

	l->last = 0;
	do {
		struct js_sql sql = {0};

		l->rows = 0;
		js_sql_add(&sql, head, tails(l), l->stack.id);
		js_sql_add(&sql, " AND ");
		js_sql_add(&sql, column);
		js_sql_add(&sql, ">%u", l->last);
		only_entries(&sql, l->filter, column);
		js_sql_add(&sql, " ORDER BY ");
		js_sql_add(&sql, column);
		js_sql_stmt(&sql, " LIMIT %u", limit_left(l) < PAGE ? limit_left(l) : PAGE);
		status = js_db_query(l->handle->db, &sql, take_item, l, error);
		js_sql_free(&sql);
	} while (status == 0 && l->rows == PAGE && !l->stopped && limit_left(l) > 0);
	return status;
}

/* ---------------------------------------------------------------------------------- entries in spans, and in claims */

/* A span or a claim, read whole. */
struct set {
	uint64_t lo, hi, attempt, worker, claim_no;
	int64_t rank, pos, claimed_us;
	char *ids, *running;
	size_t ids_len;
};

#define SETS 100

struct sets {
	struct set set[SETS];
	size_t n;
};

static void sets_free(struct sets *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->set[i].ids);
		free(s->set[i].running);
	}
	s->n = 0;
}

static char *copy(const char *data, size_t len)
{
	char *to = data == NULL ? NULL : malloc(len + 1);

	if (to != NULL) {
		memcpy(to, data, len);
		to[len] = '\0';
	}
	return to;
}

static void take_set(void *ctx, const struct js_row *row)
{
	struct sets *s = ctx;
	struct set *to;

	if (row == NULL) {
		sets_free(s);
		return;
	}
	if (s->n == SETS)
		return;
	to = &s->set[s->n++];
	*to = (struct set){.lo = js_row_u64(row, 0), .hi = js_row_u64(row, 1), .attempt = js_row_u64(row, 3),
			   .rank = js_row_i64(row, 4), .pos = js_row_i64(row, 5), .worker = js_row_u64(row, 6),
			   .claim_no = js_row_u64(row, 7), .claimed_us = js_row_time(row, 9)};
	to->ids = copy(row->col[2], row->len[2]);
	to->ids_len = row->len[2];
	to->running = copy(row->col[8], row->len[8]);
}

static void add_set(struct js_sql *sql, const struct set *set)
{
	uint64_t ids[JS_IDS_MAX];
	size_t n = (size_t)(set->hi - set->lo + 1);

	if (set->ids == NULL) {
		js_sql_add(sql, " AND e.entry_id BETWEEN %u AND %u", set->lo, set->hi);
		return;
	}
	js_sql_add(sql, " AND e.entry_id IN(NULL");
	if (n <= JS_IDS_MAX && js_span_read_ids(set->ids, set->ids_len, (size_t)set->lo, n, ids) == 0)
		for (size_t i = 0; i < n; i++)
			js_sql_add(sql, ",%u", ids[i]);
	js_sql_add(sql, ")");
}

/* Tells the entries of one set. */
static int list_set(struct listing *l, const struct set *set, int claim, struct jobstack_error *error)
{
	int status = 0;

	l->last = 0;
	l->running = claim ? (set->running == NULL ? "" : set->running) : NULL;
	l->claimed_us = set->claimed_us;
	do {
		struct js_sql sql = {0};

		l->rows = 0;
		if (claim)
			js_sql_add(&sql,
				   "SELECT e.entry_id,e.datapath,%u,NULL," NO_ATTEMPT_COLUMNS JS_ITEM_WORKER
				   " FROM entry e JOIN worker w ON w.worker_id=%u WHERE e.stack_id=%u AND NOT EXISTS(SELECT 1 FROM attempt "
				   "a WHERE a.stack_id=e.stack_id AND a.entry_id=e.entry_id AND a.attempt=%u)",
				   set->attempt, set->worker, l->stack.id, set->attempt);
		else
			js_sql_add(&sql,
				   "SELECT e.entry_id,e.datapath," ATTEMPT_COLUMNS JS_ITEM_WORKER
				   " FROM entry e LEFT JOIN attempt a ON a.stack_id=e.stack_id AND a.entry_id=e.entry_id AND "
				   "a.attempt=%u LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE e.stack_id=%u",
				   tails(l), set->attempt - 1, l->stack.id);
		add_set(&sql, set);
		only_entries(&sql, l->filter, "e.entry_id");
		js_sql_stmt(&sql, " AND e.entry_id>%u ORDER BY e.entry_id LIMIT %u", l->last,
			    limit_left(l) < PAGE ? limit_left(l) : (uint64_t)PAGE);
		status = js_db_query(l->handle->db, &sql, take_item, l, error);
		js_sql_free(&sql);
	} while (status == 0 && l->rows == PAGE && !l->stopped && limit_left(l) > 0);
	l->running = NULL;
	return status;
}

static int list_sets(struct listing *l, int class, struct jobstack_error *error)
{
	struct set last = {.rank = INT32_MIN, .pos = INT64_MIN};
	struct sets sets = {.n = 0};
	int status = 0;
	size_t n;

	do {
		struct js_sql sql = {0};

		if (class >= 0) /* the primary key of span */
			js_sql_stmt(&sql,
				    "SELECT lo,hi,ids,attempt,`rank`,pos,0,0,NULL,NULL FROM span WHERE stack_id=%u AND class=%u AND "
				    "(`rank`>%d OR (`rank`=%d AND pos>%d)) ORDER BY `rank`,pos LIMIT %u",
				    l->stack.id, (uint64_t)class, last.rank, last.rank, last.pos, (uint64_t)SETS);
		else /* the primary key of claim */
			js_sql_stmt(&sql,
				    "SELECT c.lo,c.hi,c.ids,c.attempt,0,0,c.worker_id,c.claim_no,w.running,"
				    "IF(w.kind=1,c.claimed,NULL) FROM claim c JOIN worker w USING(worker_id) WHERE c.stack_id=%u AND "
				    "(c.worker_id>%u OR (c.worker_id=%u AND c.claim_no>%u)) ORDER BY c.worker_id,c.claim_no LIMIT %u",
				    l->stack.id, last.worker, last.worker, last.claim_no, (uint64_t)SETS);
		status = js_db_query(l->handle->db, &sql, take_set, &sets, error);
		js_sql_free(&sql);
		n = sets.n;
		for (size_t i = 0; status == 0 && i < n && !l->stopped && limit_left(l) > 0; i++)
			status = list_set(l, &sets.set[i], class < 0, error);
		if (n > 0)
			last = sets.set[n - 1];
		sets_free(&sets);
	} while (status == 0 && n == SETS && !l->stopped && limit_left(l) > 0);
	return status;
}

/* The tables that have a row an entry: attempt by its primary key, dead by its own. */
static const struct {
	unsigned bit;
	const char *head, *column;
} by_table[] = {
	{JOBSTACK_IS_DONE,
	 "SELECT e.entry_id,e.datapath," ATTEMPT_COLUMNS JS_ITEM_WORKER " FROM attempt a JOIN entry e ON e.stack_id=a.stack_id AND "
	 "e.entry_id=a.entry_id LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE a.stack_id=%u AND a.final=1",
	 "a.entry_id"},
	{JOBSTACK_IS_DEAD,
	 "SELECT e.entry_id,e.datapath," ATTEMPT_COLUMNS JS_ITEM_WORKER " FROM dead d JOIN entry e ON e.stack_id=d.stack_id AND "
	 "e.entry_id=d.entry_id LEFT JOIN attempt a ON a.stack_id=d.stack_id AND a.entry_id=d.entry_id AND a.attempt=d.attempt "
	 "LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE d.stack_id=%u",
	 "d.entry_id"},
	{JOBSTACK_IS_FAILED,
	 "SELECT e.entry_id,e.datapath," ATTEMPT_COLUMNS JS_ITEM_WORKER " FROM attempt a JOIN entry e ON e.stack_id=a.stack_id AND "
	 "e.entry_id=a.entry_id LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE a.stack_id=%u AND a.outcome=1 AND NOT EXISTS "
	 "(SELECT 1 FROM attempt b WHERE b.stack_id=a.stack_id AND b.entry_id=a.entry_id AND b.attempt>a.attempt)",
	 "a.entry_id"},
	{JOBSTACK_IS_LOST,
	 "SELECT e.entry_id,e.datapath," ATTEMPT_COLUMNS JS_ITEM_WORKER " FROM attempt a JOIN entry e ON e.stack_id=a.stack_id AND "
	 "e.entry_id=a.entry_id LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE a.stack_id=%u AND a.outcome=2 AND NOT EXISTS "
	 "(SELECT 1 FROM attempt b WHERE b.stack_id=a.stack_id AND b.entry_id=a.entry_id AND b.attempt>a.attempt)",
	 "a.entry_id"},
};

int jobstack_list(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter, jobstack_item_fn *fn,
		  void *ctx, struct jobstack_error *error)
{
	static const struct jobstack_filter none = JOBSTACK_FILTER_INIT;
	struct listing l = {.handle = handle, .filter = filter == NULL ? &none : filter, .fn = fn, .ctx = ctx};
	unsigned states = l.filter->states == 0 ? ANY : l.filter->states;
	int status = js_stack_find(handle, stack, &l.stack, error), cancelled = l.stack.state == JOBSTACK_CANCELLED;

	if (cancelled && (states & JOBSTACK_IS_CANCELLED) != 0)
		states |= JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_HELD;
	for (int class = 0; class < 3 && status == 0 && !l.stopped; class++) {
		l.state = cancelled ? JOBSTACK_IS_CANCELLED : 1u << class;
		if ((states & 1u << class) != 0)
			status = list_sets(&l, class, error);
	}
	l.state = JOBSTACK_IS_RUNNING;
	if (status == 0 && !l.stopped && (states & JOBSTACK_IS_RUNNING) != 0)
		status = list_sets(&l, -1, error);
	for (size_t i = 0; i < sizeof(by_table) / sizeof(by_table[0]) && status == 0 && !l.stopped; i++) {
		l.state = by_table[i].bit;
		if ((states & by_table[i].bit) != 0)
			status = list_pages(&l, by_table[i].head, by_table[i].column, error);
	}
	return status == 0 && l.stopped ? JOBSTACK_ESTOPPED : status;
}

int jobstack_attempts(struct jobstack *handle, const char *stack, uint64_t entry, jobstack_item_fn *fn, void *ctx,
		      struct jobstack_error *error)
{
	struct jobstack_filter one = {.size = sizeof(one), .states = JOBSTACK_IS_RUNNING, .entries = &entry, .entries_n = 1, .tails = 1};
	struct listing l = {.handle = handle, .filter = &one, .fn = fn, .ctx = ctx, .state = JOBSTACK_IS_DONE};
	struct js_sql sql = {0};
	int status = js_stack_find(handle, stack, &l.stack, error);

	if (status != 0)
		return status;
	js_sql_stmt(&sql,
		    "SELECT e.entry_id,e.datapath," ATTEMPT_COLUMNS JS_ITEM_WORKER
		    " FROM entry e LEFT JOIN attempt a ON a.stack_id=e.stack_id AND a.entry_id=e.entry_id "
		    "LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE e.stack_id=%u AND e.entry_id=%u ORDER BY a.attempt",
		    tails(&l), l.stack.id, entry);
	status = js_db_query(handle->db, &sql, take_item, &l, error);
	js_sql_free(&sql);
	if (status == 0 && l.rows == 0)
		return js_error_set(error, JOBSTACK_EMISSING, "there is no entry %llu in the stack \"%s\"",
				    (unsigned long long)entry, stack);
	if (status == 0 && !l.stopped) {
		l.state = JOBSTACK_IS_RUNNING;
		status = list_sets(&l, -1, error);
	}
	return status == 0 && l.stopped ? JOBSTACK_ESTOPPED : status;
}

struct pathing {
	jobstack_item_fn *fn;
	void *ctx;
	int stopped;
};

static void take_path(void *ctx, const struct js_row *row)
{
	struct pathing *p = ctx;
	struct jobstack_item i = {.outcome = -1, .exit_code = -1, .started_us = -1, .ended_us = -1, .log_at = -1};

	if (row == NULL || p->stopped)
		return;
	i.entry = js_row_u64(row, 0);
	i.datapath = (struct jobstack_bytes){row->col[1], row->len[1]};
	p->stopped = p->fn(p->ctx, &i) != 0;
}

int jobstack_datapaths(struct jobstack *handle, const char *stack, const uint64_t *entries, size_t n, jobstack_item_fn *fn,
		       void *ctx, struct jobstack_error *error)
{
	struct pathing p = {fn, ctx, 0};
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error);

	for (size_t at = 0; status == 0 && at < n && !p.stopped; at += PAGE) {
		struct js_sql sql = {0};

		js_sql_add(&sql, "SELECT entry_id,datapath FROM entry WHERE stack_id=%u AND entry_id IN(NULL", s.id);
		for (size_t i = at; i < n && i < at + PAGE; i++)
			js_sql_add(&sql, ",%u", entries[i]);
		js_sql_stmt(&sql, ") ORDER BY entry_id"); /* the primary key */
		status = js_db_query(handle->db, &sql, take_path, &p, error);
		js_sql_free(&sql);
	}
	return status == 0 && p.stopped ? JOBSTACK_ESTOPPED : status;
}

static void take_found(void *ctx, const struct js_row *row)
{
	*(uint64_t *)ctx = row == NULL ? 0 : js_row_u64(row, 0);
}

/* By the name's row.  1: there is none; 2: the entry that it was for is pruned. */
static int find_name(struct jobstack *handle, const struct js_stack *s, struct jobstack_bytes datapath, uint64_t *entry,
		     struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	js_sql_stmt(&sql,
		    "SELECT IF(e.entry_id IS NULL,%u,n.entry_id) FROM name n LEFT JOIN entry e ON e.stack_id=n.stack_id AND "
		    "e.entry_id=n.entry_id WHERE n.stack_id=%u AND n.hash=UNHEX(SHA2(%x,256))",
		    UINT64_MAX, s->id, datapath.data, datapath.len);
	status = js_db_query(handle->db, &sql, take_found, entry, error);
	js_sql_free(&sql);
	return status != 0 ? status : *entry == 0 ? JOBSTACK_NOTHING : *entry == UINT64_MAX ? 2 : 0;
}

int jobstack_find(struct jobstack *handle, const char *stack, struct jobstack_bytes datapath, uint64_t *entry,
		  struct jobstack_error *error)
{
	struct js_sql sql = {0};
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error);

	*entry = 0;
	if (status != 0)
		return status;
	if (s.named) { /* the primary key of name */
		status = find_name(handle, &s, datapath, entry, error);
		if (status != 2)
			return status;
	}
	/* no index; of a name whose entry was pruned, only what a push that was not unique brought again is left */
	js_sql_stmt(&sql, "SELECT MAX(entry_id) FROM entry WHERE stack_id=%u AND datapath=%x", s.id, datapath.data, datapath.len);
	status = js_db_query(handle->db, &sql, take_found, entry, error);
	js_sql_free(&sql);
	return status == 0 && *entry == 0 ? JOBSTACK_NOTHING : status;
}

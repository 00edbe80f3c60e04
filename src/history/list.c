/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Looking at entries and attempts.  Promises: page by page, flat memory, no long transaction, and each query stands
 * beside the index that serves it.
 *
 * An entry has no state column.  So each state has a source of its own:
 *
 *     ready, waiting, held           spans of the three classes (list_sets)
 *     running                        claims, without the entries that have an attempt of the claim's number
 *     done, dead, cancelled, moved   `attempt` with final=1, and `set_aside` by its state (list_table)
 *     failed, lost                   entries by how their last attempt ended, whatever their state is; one that is in
 *                                    two of the chosen states is listed once
 *
 * The sources are read one after the other, not at one moment.  An entry that moves meanwhile may come twice, or not at
 * all.  (jobstack_export, by entry, reads each once.)
 */
#include "queue/filter.h"
#include "history/item.h"
#include "queue/running.h"
#include "queue/set.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 2000

#define ANY                                                                                                            \
	(JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_HELD | JOBSTACK_IS_RUNNING | JOBSTACK_IS_DONE |         \
	 JOBSTACK_IS_DEAD | JOBSTACK_IS_CANCELLED | JOBSTACK_IS_MOVED)

/* The columns of an item, and of one that runs and has no row in attempt yet: the %u is its attempt's number. */
#define ITEM "SELECT STRAIGHT_JOIN e.entry_id,e.datapath," JS_ITEM_ATTEMPT "," JS_ITEM_WORKER
#define RUNNING_ITEM "SELECT STRAIGHT_JOIN e.entry_id,e.datapath,%u," JS_ITEM_WORKER

struct listing {
	struct jobstack *handle;
	struct js_stack stack;
	const struct jobstack_filter *filter;
	jobstack_item_fn *fn;
	void *ctx;
	unsigned states;     /* that are asked for */
	unsigned state;	     /* of the items that come; 0: by outcome */
	uint64_t told, last; /* how many items were reported; the entry of the last row */
	uint32_t attempt;    /* of the last item */
	size_t rows;	     /* of the last query */
	const char *running; /* the column of the worker whose claim is listed */
	int64_t claimed_us;  /* of the claim, if a script popped it: its entries began then; else -1 */
	int stopped;
};

/* How many more items may be reported. */
static uint64_t limit_left(const struct listing *l)
{
	return l->filter->limit == 0 ? UINT64_MAX : l->filter->limit - l->told;
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
	if (l->running != NULL) {
		js_item_no_attempt(&i);
		i.attempt = (uint32_t)js_row_u64(row, c++);
	} else
		js_item_attempt(&i, row, &c);
	js_item_worker(&i, row, &c);
	if (l->state == JOBSTACK_IS_CANCELLED && c < row->n)
		i.note = row->col[c];
	if (l->state == JOBSTACK_IS_MOVED && c + 1 < row->n) {
		i.to_stack = row->col[c];
		i.to_entry = js_row_u64(row, c + 1);
	}
	i.state = l->state;
	if (l->running != NULL) {
		i.started_us = js_running_since(l->running, i.entry);
		if (i.started_us < 0)
			i.started_us = l->claimed_us;
	}
	if (limit_left(l) == 0 || !js_filter_fits(l->filter, i.datapath.data))
		return;
	l->told++;
	l->attempt = i.attempt;
	l->stopped = l->fn(l->ctx, &i) != 0;
}

/* The source of pages: the SELECT up to its conditions, and the column with the entries' numbers. */
struct source {
	void (*head)(struct js_sql *sql, const struct listing *l, const void *of);
	const void *of;
	const char *column;
	const char *next; /* JS_NEXT_OF its table; NULL: there are no gaps to jump over */
};

/* Writes the query for the window's present piece, ordered by number. */
static void source_sql(struct js_sql *sql, const struct listing *l, const struct source *from,
		       const struct js_window *w)
{
	from->head(sql, l, from->of);
	js_window_sql(sql, w, from->column);
	js_filter_sql(sql, l->filter);
	js_sql_add(sql, " ORDER BY ");
	js_sql_add(sql, from->column);
}

/* Lists what the pieces of W have, page by page.  A page ends at its last row, so the next one begins behind that;
 * after an empty piece the numbers jump to the next row that there is. */
static int list_pages(struct listing *l, const struct source *from, struct js_window *w, struct jobstack_error *error)
{
	while (!l->stopped && limit_left(l) > 0 && js_window_next(w)) {
		uint64_t page = l->filter->match != NULL || limit_left(l) > PAGE ? PAGE : limit_left(l);
		struct js_sql sql = {0};

		l->rows = 0;
		JS_TRY(js_db_nap(l->handle->db, 0, error));
		source_sql(&sql, l, from, w);
		js_sql_stmt(&sql, " LIMIT %u", page);
		JS_TRY(js_db_query(l->handle->db, &sql, take_item, l, error));
		js_window_done(w, l->rows == page, l->last);
		if (l->rows == 0 && from->next != NULL)
			JS_TRY(js_window_jump(w, l->handle, from->next, l->stack.id, error));
	}
	return 0;
}

/* ------------------------------------------------------------------------------- entries in spans, and in claims */

#define SETS 100
_Static_assert(SETS <= JS_IDS_MAX, "one query can list several spans of one entry");

/* The bits FAILED and LOST that are asked for: an entry whose last attempt ended so is listed with these. */
static unsigned ended_states(const struct listing *l)
{
	return l->states & (JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST);
}

/* The condition on a.outcome that stands for these bits: 1 failed, 2 lost. */
static const char *outcome_condition(unsigned bits)
{
	return bits == JOBSTACK_IS_FAILED ? " IN(1)" : bits == JOBSTACK_IS_LOST ? " IN(2)" : " IN(1,2)";
}

/* Entries of a span: with the attempt before the next one, which is their last.  Those that are listed as failed or
 * lost are left out, or they would be listed twice. */
static void span_head(struct js_sql *sql, const struct listing *l, const void *of)
{
	const struct js_set *set = of;

	js_sql_add(sql,
		   ITEM " FROM entry e LEFT JOIN attempt a ON a.stack_id=e.stack_id AND a.entry_id=e.entry_id AND "
			"a.attempt=%u LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE e.stack_id=%u",
		   (uint64_t)(l->filter->tails != 0), (uint64_t)set->place.attempt - 1, l->stack.id);
	if (ended_states(l) != 0) {
		js_sql_add(sql, " AND (a.outcome IS NULL OR NOT a.outcome");
		js_sql_add(sql, outcome_condition(ended_states(l)));
		js_sql_add(sql, ")");
	}
}

/* Entries of a claim that run: those without a row for the claim's attempt. */
static void claim_head(struct js_sql *sql, const struct listing *l, const void *of)
{
	const struct js_set *set = of;

	js_sql_add(sql,
		   RUNNING_ITEM
		   " FROM entry e JOIN worker w ON w.worker_id=%u WHERE e.stack_id=%u AND (SELECT COUNT(*) FROM "
		   "attempt a WHERE a.stack_id=e.stack_id AND a.entry_id=e.entry_id AND a.attempt=%u)=0",
		   (uint64_t)set->place.attempt, set->place.worker, l->stack.id, (uint64_t)set->place.attempt);
	if (ended_states(l) != 0) {
		js_sql_add(sql,
			   " AND (SELECT COUNT(*) FROM attempt b WHERE b.stack_id=e.stack_id AND b.entry_id=e.entry_id "
			   "AND b.attempt=%u AND b.outcome",
			   (uint64_t)set->place.attempt - 1);
		js_sql_add(sql, outcome_condition(ended_states(l)));
		js_sql_add(sql, ")=0");
	}
}

/* Gathers the entries of spans of one entry each, from the Ith on, as long as their numbers rise (or, in a
 * last-in-first-out stack, fall) and they differ in nothing else.  Returns how many they are.  A query for each of them
 * would take long where all waiting entries are stored like that. */
static size_t count_singles(const struct js_set_query *sets, size_t i, uint64_t ids[SETS])
{
	const struct js_place *first = &sets->set[i].place;
	size_t n = 0;

	for (; i < sets->rows && n < SETS; i++) {
		const struct js_set *set = &sets->set[i];

		if (set->ids != NULL || set->n != 1 || set->place.attempt != first->attempt ||
		    set->place.rank != first->rank || (n > 1 && (set->first > ids[n - 1]) != (ids[1] > ids[0])))
			break;
		ids[n++] = set->first;
	}
	return n;
}

/* Lists the N entries of such spans, which are few, in the order in which they would be popped. */
static int list_alone(struct listing *l, const struct source *from, uint64_t *ids, size_t n,
		      struct jobstack_error *error)
{
	const int down = ids[1] < ids[0];
	struct js_sql sql = {0};
	struct js_window w;

	js_window_begin_ids(&w, l->filter, ids, n);
	if (w.n == 0)
		return 0;
	w.take = w.n;
	source_sql(&sql, l, from, &w);
	js_sql_add(&sql, down ? " DESC;" : ";");
	return js_db_query(l->handle->db, &sql, take_item, l, error);
}

/* Lists the entries of the Ith set, and of those after it that can be listed with it.  *NEXT: the first that was not.
 */
static int list_set(struct listing *l, const struct js_set_query *sets, size_t i, size_t *next,
		    struct jobstack_error *error)
{
	const struct js_set *set = &sets->set[i];
	const int claim = sets->claims;
	struct source from = {claim ? claim_head : span_head, set, "e.entry_id", NULL};
	uint64_t ids[SETS];
	size_t alone = claim ? 0 : count_singles(sets, i, ids);
	struct js_window w;
	int status;

	*next = i + (alone > 1 ? alone : 1);
	if (!claim && set->place.attempt <= 1 && (js_filter_of_end(l->filter) || l->filter->nodes_n > 0))
		return 0; /* they have not run */
	if (alone > 1)
		return list_alone(l, &from, ids, alone, error);
	if (set->ids != NULL)
		js_window_begin_ids(&w, l->filter, set->ids, set->n);
	else if (set->n > 0)
		js_window_begin(&w, l->filter, set->first, set->last);
	else
		return 0;
	l->running = claim ? (set->running == NULL ? "" : set->running) : NULL;
	l->claimed_us = set->claimed_us;
	status = list_pages(l, &from, &w, error);
	l->running = NULL;
	return status;
}

/* Lists the entries of spans of CLASS, or of claims (CLASS negative). */
static int list_sets(struct listing *l, int class, struct jobstack_error *error)
{
	struct js_set_query q = {.handle = l->handle,
				 .stack = l->stack.id,
				 .claims = class < 0,
				 .class = (unsigned)class,
				 .last_class = (unsigned)class,
				 .filter = l->filter,
				 .running = 1,
				 .page = SETS};
	int status;

	js_sets_begin(&q);
	do {
		status = js_sets_page(&q, error);
		for (size_t i = 0; status == 0 && i < q.rows && !l->stopped && limit_left(l) > 0;)
			status = list_set(l, &q, i, &i, error);
	} while (status == 0 && q.rows == SETS && !l->stopped && limit_left(l) > 0);
	js_sets_free(&q);
	return status;
}

/* The tables that have one row per entry: attempt by its primary key, dead by its own.  Whether there is another row
 * besides is asked with a COUNT: for an EXISTS MariaDB may make a table of all that there are, however few come into
 * question. */
#define FROM_LAST                                                                                                      \
	" FROM attempt a JOIN entry e ON e.stack_id=a.stack_id AND e.entry_id=a.entry_id LEFT JOIN worker w ON "       \
	"w.worker_id=a.worker_id WHERE a.stack_id=%u "                                                                 \
	"AND (SELECT COUNT(*) FROM attempt b WHERE b.stack_id=a.stack_id AND b.entry_id=a.entry_id "                   \
	"AND b.attempt>a.attempt)=0"
static const struct table {
	unsigned bit;
	const char *head, *column, *next;
} by_table[] = {
	{JOBSTACK_IS_DONE, ITEM JS_FROM_DONE, "a.entry_id", JS_NEXT_OF("attempt")},
	{JOBSTACK_IS_DEAD, ITEM JS_FROM_DEAD, "d.entry_id", JS_NEXT_OF("set_aside")},
	{JOBSTACK_IS_FAILED, ITEM FROM_LAST " AND a.outcome=1", "a.entry_id", JS_NEXT_OF("attempt")},
	{JOBSTACK_IS_LOST, ITEM FROM_LAST " AND a.outcome=2", "a.entry_id", JS_NEXT_OF("attempt")},
	{JOBSTACK_IS_CANCELLED, ITEM ",d.reason" JS_FROM_CANCELLED, "d.entry_id", JS_NEXT_OF("set_aside")},
	{JOBSTACK_IS_MOVED,
	 ITEM ",t.name,d.to_entry" JS_FROM_DEAD_ROWS
	      " LEFT JOIN stack t ON t.stack_id=d.to_stack WHERE d.stack_id=%u AND d.state=2",
	 "d.entry_id", JS_NEXT_OF("set_aside")},
};

/* The SELECT of a table.  An entry that failed or was lost and is dead or cancelled is left out here if that state is
 * asked for, since it is listed there.  One that was moved is never listed as failed or lost. */
static void table_head(struct js_sql *sql, const struct listing *l, const void *of)
{
	const struct table *t = of;

	js_sql_add(sql, t->head, (uint64_t)(l->filter->tails != 0), l->stack.id);
	if ((t->bit & (JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST)) == 0)
		return;
	js_sql_add(sql, " AND (SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=a.stack_id AND d.entry_id=a.entry_id");
	if ((l->states & JOBSTACK_IS_DEAD) == 0) /* else listed already */
		js_sql_add(sql, " AND d.state>0");
	if ((l->states & JOBSTACK_IS_CANCELLED) == 0)
		js_sql_add(sql, " AND d.state<>1");
	js_sql_add(sql, ")=0");
}

static int list_table(struct listing *l, const struct table *table, struct jobstack_error *error)
{
	struct source from = {table_head, table, table->column, table->next};
	struct js_window w;

	js_window_begin(&w, l->filter, 1, l->stack.tail);
	return list_pages(l, &from, &w, error);
}

int jobstack_list(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		  jobstack_item_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct jobstack_filter f;
	struct listing l = {.handle = handle, .filter = &f, .fn = fn, .ctx = ctx};
	int status = js_filter_take(&f, filter, error), cancelled;
	unsigned states = f.states == 0 ? ANY : f.states;

	JS_THEN(status, js_stack_find(handle, stack, &l.stack, error));
	cancelled = l.stack.state == JOBSTACK_CANCELLED;
	if (cancelled && (states & JOBSTACK_IS_CANCELLED) != 0)
		states |= JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_HELD;
	l.states = states;
	for (int class = 0; class < 3 && status == 0 && !l.stopped; class ++) {
		l.state = cancelled ? JOBSTACK_IS_CANCELLED : 1u << class;
		if ((states & 1u << class) != 0)
			status = list_sets(&l, class, error);
	}
	l.state = JOBSTACK_IS_RUNNING;
	if (status == 0 && !l.stopped && (states & JOBSTACK_IS_RUNNING) != 0 && !js_filter_of_end(l.filter))
		status = list_sets(&l, -1, error);
	for (size_t i = 0; i < sizeof(by_table) / sizeof(by_table[0]) && status == 0 && !l.stopped; i++) {
		l.state = by_table[i].bit;
		if ((states & by_table[i].bit) != 0)
			status = list_table(&l, &by_table[i], error);
	}
	return status == 0 && l.stopped ? JOBSTACK_ESTOPPED : status;
}

/* Lists the entry's finished attempts from number FIRST on; from 0 on, one without a number if there is none. */
static int list_ended(struct listing *l, uint64_t entry, uint32_t first, struct jobstack_error *error)
{
	return js_handle_ask(l->handle, take_item, l, error,
			     "SELECT e.entry_id,e.datapath," JS_ITEM_ATTEMPT "," JS_ITEM_WORKER
			     " FROM entry e LEFT JOIN attempt a ON a.stack_id=e.stack_id AND a.entry_id=e.entry_id "
			     "LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE e.stack_id=%u AND e.entry_id=%u AND "
			     "COALESCE(a.attempt,0)>=%u ORDER BY a.attempt",
			     (uint64_t)(l->filter->tails != 0), l->stack.id, entry, (uint64_t)first);
}

int jobstack_attempts(struct jobstack *handle, const char *stack, uint64_t entry, jobstack_item_fn *fn, void *ctx,
		      struct jobstack_error *error)
{
	struct jobstack_filter one = JOBSTACK_FILTER_INIT;
	struct listing l = {.handle = handle, .filter = &one, .fn = fn, .ctx = ctx, .state = JOBSTACK_IS_DONE};
	uint64_t ended;

	one.entries = &entry;
	one.entries_n = 1;
	one.tails = 1;
	JS_TRY(js_stack_find(handle, stack, &l.stack, error));
	JS_TRY(list_ended(&l, entry, 0, error));
	if (l.rows == 0)
		return js_stack_refuse_entry(stack, entry, error);
	ended = l.told;
	l.state = JOBSTACK_IS_RUNNING;
	if (!l.stopped)
		JS_TRY(list_sets(&l, -1, error));
	l.state = JOBSTACK_IS_DONE;
	if (!l.stopped && l.told == ended) /* it may have ended between the two queries */
		JS_TRY(list_ended(&l, entry, l.attempt + 1, error));
	return l.stopped ? JOBSTACK_ESTOPPED : 0;
}

struct pathing {
	jobstack_item_fn *fn;
	void *ctx;
	int stopped;
	uint64_t last; /* the highest entry so far: the next page begins behind it */
};

static void take_datapath(void *ctx, const struct js_row *row)
{
	struct pathing *p = ctx;
	struct jobstack_item i = {.entry = 0};

	if (row == NULL || p->stopped)
		return;
	js_item_no_attempt(&i);
	p->last = i.entry = js_row_u64(row, 0);
	i.datapath = (struct jobstack_bytes){row->col[1], row->len[1]};
	p->stopped = p->fn(p->ctx, &i) != 0;
}

int jobstack_datapaths(struct jobstack *handle, const char *stack, const uint64_t *entries, size_t n,
		       jobstack_item_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct pathing p = {fn, ctx, 0, 0};
	uint64_t before = UINT64_MAX;
	struct js_stack s;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	for (size_t at = 0; !p.stopped && (entries == NULL ? p.last != before : at < n); at += PAGE) {
		struct js_sql sql = {0};

		before = p.last;
		JS_TRY(js_db_nap(handle->db, 0, error));
		js_sql_add(&sql, "SELECT entry_id,datapath FROM entry WHERE stack_id=%u", s.id);
		if (entries == NULL)
			js_sql_add(&sql, " AND entry_id>%u", before);
		else
			js_sql_list(&sql, " AND entry_id IN(", entries + at, n - at < PAGE ? n - at : PAGE);
		js_sql_stmt(&sql, " ORDER BY entry_id LIMIT %u", (uint64_t)(10 * PAGE)); /* the primary key */
		JS_TRY(js_db_query(handle->db, &sql, take_datapath, &p, error));
	}
	return p.stopped ? JOBSTACK_ESTOPPED : 0;
}

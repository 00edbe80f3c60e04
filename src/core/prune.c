/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pruning: takes away entries that were done long ago, with their attempts.  Promises: the right to prune an entry is
 * the DELETE of its final attempt, in the transaction that removes the rest of it and counts it as pruned; so a
 * requeue, or another prune, at the same moment loses nothing and doubles nothing; what the caller has not kept is not
 * removed; each query walks a bounded part of a primary key.
 *
 * An entry that is in a claim, which is there because of others in it, stays, at whatever attempt it was claimed: that
 * it is closed there is known by that attempt's row alone.  Claims are looked at behind the entries: one that is done
 * comes into a claim only by a requeue, and then its last attempt is another one.
 */
#include "base/error.h"
#include "base/grow.h"
#include "core/core.h"
#include "core/item.h"
#include "core/leftover.h"
#include "core/span.h"

#include <inttypes.h>
#include <stdlib.h>

#define PAGE 20000 /* attempts looked at by one query */
#define CHUNK 500  /* entries in one transaction */
#define TOLD                                                                                                           \
	50 /* entries whose attempts are read at once: each row may bring a worker's arguments and a tail of stderr */
#define RACES_MAX 50

struct done {
	uint64_t entry, attempts; /* the number of the last one is how many there are */
	int claimed;
};

struct pruning {
	struct jobstack *handle;
	struct js_stack stack;
	const struct jobstack_prune_options *o;
	struct jobstack_prune_result result;
	int64_t before_us;	 /* what ended before this moment of the server's goes */
	uint64_t low, high, end; /* the page: numbers above low, up to high; the last one there is */
	struct js_leftover *left;
	int stopped;
	size_t n, at;
	struct done list[PAGE]; /* of the page */
};

static int refuse_stopped(const struct pruning *p, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_ESTOPPED,
			    "stopped: %" PRIu64 " entries of the stack \"%s\" were removed, the others are unchanged",
			    p->result.entries, p->stack.name);
}

/* --------------------------------------------------------------------------------------------------- what can go */

static void take_done(void *ctx, const struct js_row *row)
{
	struct pruning *p = ctx;

	if (row == NULL)
		p->n = 0;
	else if (p->n < PAGE)
		p->list[p->n++] = (struct done){js_row_u64(row, 0), js_row_u64(row, 1), 0};
}

/* A claim: marks what of the page is in it. */
static void mark_claimed(void *ctx, const struct js_row *row)
{
	struct pruning *p = ctx;
	uint64_t ids[JS_IDS_MAX], first, n;
	int list = row == NULL ? -1 : js_span_read_set(row, 0, &first, &n, ids);
	size_t i;

	if (list == 0)
		for (i = js_span_find(p->list, p->n, sizeof(*p->list), first); i < p->n && p->list[i].entry - first < n;
		     i++)
			p->list[i].claimed = 1;
	for (size_t k = 0; list == 1 && k < n; k++) {
		i = js_span_find(p->list, p->n, sizeof(*p->list), ids[k]);
		if (i < p->n && p->list[i].entry == ids[k])
			p->list[i].claimed = 1;
	}
	/* neither of both: `jobstack check` tells */
}

/* Leaves out of the page what stands in claims. */
static int leave_claimed(struct pruning *p, struct jobstack_error *error)
{
	size_t n = 0;
	int status;

	if (p->n == 0)
		return 0;
	status = js_handle_ask(
		p->handle, mark_claimed, p, error,
		"SELECT lo,hi,ids FROM claim WHERE stack_id=%u AND (ids IS NOT NULL OR (hi>=%u AND lo<=%u))",
		p->stack.id, p->list[0].entry, p->list[p->n - 1].entry);
	for (size_t i = 0; i < p->n; i++)
		if (!p->list[i].claimed)
			p->list[n++] = p->list[i];
	p->n = n;
	return status;
}

static void add_entries(struct js_sql *sql, const struct done *list, size_t n)
{
	/* the ends first: whatever plan the server has, it does not leave them */
	js_sql_add(sql, " AND entry_id BETWEEN %u AND %u AND entry_id IN(", list[0].entry, list[n - 1].entry);
	for (size_t i = 0; i < n; i++)
		js_sql_add(sql, i == 0 ? "%u" : ",%u", list[i].entry);
	js_sql_add(sql, ")");
}

/* The page behind p->low, by the primary key of attempt. */
static int read_done_page(struct pruning *p, struct jobstack_error *error)
{
	int status = js_handle_ask_number(
		p->handle, &p->high, error,
		"SELECT entry_id FROM attempt WHERE stack_id=%u AND entry_id>%u ORDER BY entry_id,attempt LIMIT 1 "
		"OFFSET %u",
		p->stack.id, p->low, (uint64_t)PAGE - 1);

	if (status != 0)
		return status;
	if (p->high > p->end)
		p->high = p->end;
	status = js_handle_ask(
		p->handle, take_done, p, error,
		"SELECT entry_id,attempt FROM attempt WHERE stack_id=%u AND entry_id>%u AND entry_id<=%u AND "
		"final=1 AND ended<%t ORDER BY entry_id",
		p->stack.id, p->low, p->high, p->before_us);
	return status == 0 ? leave_claimed(p, error) : status;
}

/* --------------------------------------------------------------------------------------------------- the archive */

static void archive_attempt(void *ctx, const struct js_row *row)
{
	struct pruning *p = ctx;
	struct jobstack_item i = {.state = JOBSTACK_IS_DONE};
	unsigned c = 2;

	if (row == NULL || p->stopped)
		return;
	i.entry = js_row_u64(row, 0);
	i.datapath = (struct jobstack_bytes){row->col[1], row->len[1]};
	js_item_attempt(&i, row, &c);
	js_item_worker(&i, row, &c);
	p->stopped = p->o->item(p->o->ctx, &i) != 0;
}

/* Tells the caller of N entries.  Should the connection be lost in between, some are told twice. */
static int archive_entries(struct pruning *p, const struct done *list, size_t n, struct jobstack_error *error)
{
	int status = 0;

	for (size_t at = 0; status == 0 && !p->stopped && at < n; at += TOLD) {
		struct js_sql sql = {0};

		js_sql_add(&sql,
			   "SELECT e.entry_id,e.datapath," JS_ITEM_ATTEMPT "," JS_ITEM_WORKER
			   " FROM attempt a JOIN entry e ON e.stack_id=a.stack_id AND e.entry_id=a.entry_id LEFT JOIN "
			   "worker w ON w.worker_id=a.worker_id WHERE a.stack_id=%u AND a.entry_id IN(",
			   (uint64_t)1, p->stack.id);
		for (size_t i = at; i < n && i < at + TOLD; i++)
			js_sql_add(&sql, i == at ? "%u" : ",%u", list[i].entry);
		js_sql_stmt(&sql, ") ORDER BY a.entry_id,a.attempt");
		status = js_db_query(p->handle->db, &sql, archive_attempt, p, error);
	}
	if (status == 0 && !p->stopped && p->o->keep != NULL)
		p->stopped = p->o->keep(p->o->ctx) != 0;
	return status == 0 && p->stopped ? refuse_stopped(p, error) : status;
}

/* ------------------------------------------------------------------------------------------------------- a chunk */

static uint64_t attempts_of(const struct done *list, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += list[i].attempts;
	return sum;
}

/* Each DELETE ends with the last row that it is for, and does not look at the next, which may be of a load whose client
 * is frozen, and locked. */
static int remove_chunk(struct pruning *p, const struct done *list, size_t n, int *lost, struct jobstack_error *error)
{
	uint64_t id = p->stack.id, earlier = attempts_of(list, n) - n;
	struct js_sql sql = {0};

	js_sql_stmt(&sql, "UPDATE stack SET done=done-%u,pruned=pruned+%u WHERE stack_id=%u AND state<3", (uint64_t)n,
		    (uint64_t)n, id);
	js_sql_guard(&sql, 1);
	js_sql_add(&sql, "DELETE FROM attempt WHERE stack_id=%u AND final=1", id);
	add_entries(&sql, list, n);
	for (size_t i = 0; i < n; i++)
		js_sql_add(&sql, i == 0 ? " AND (entry_id,attempt) IN((%u,%u)" : ",(%u,%u)", list[i].entry,
			   list[i].attempts);
	js_sql_stmt(&sql, ") ORDER BY entry_id,attempt LIMIT %u", (uint64_t)n);
	js_sql_guard(&sql, n);
	if (earlier > 0) {
		js_sql_add(&sql, "DELETE FROM attempt WHERE stack_id=%u", id);
		add_entries(&sql, list, n);
		js_sql_stmt(&sql, " ORDER BY entry_id,attempt LIMIT %u", earlier);
		js_sql_guard(&sql, earlier);
	}
	js_sql_add(&sql, "DELETE FROM entry WHERE stack_id=%u", id);
	add_entries(&sql, list, n);
	js_sql_stmt(&sql, " ORDER BY entry_id LIMIT %u", (uint64_t)n);
	js_sql_guard(&sql, n);
	return js_db_commit(p->handle->db, &sql, lost, error);
}

struct remaining {
	struct done list[CHUNK];
	size_t n;
};

static void take_remaining(void *ctx, const struct js_row *row)
{
	struct remaining *r = ctx;

	if (row == NULL)
		r->n = 0;
	else if (r->n < CHUNK)
		r->list[r->n++] = (struct done){js_row_u64(row, 0), js_row_u64(row, 1), 0};
}

/* A guard said no: what of the chunk is still to go, at the same attempt?  (Nothing, too, if an earlier try of ours had
 * arrived.) */
static int read_still_done(struct pruning *p, const struct remaining *tried, struct remaining *r,
			   struct jobstack_error *error)
{
	struct js_sql sql = {0};
	size_t n = 0;
	int status = js_stack_find(p->handle, p->stack.name, &p->stack, error);

	if (status == 0 && p->stack.state == JOBSTACK_DROPPING)
		status = js_stack_refuse(p->handle, p->stack.name, error);
	if (status != 0)
		return status;
	js_sql_add(&sql, "SELECT entry_id,attempt FROM attempt WHERE stack_id=%u AND final=1", p->stack.id);
	add_entries(&sql, r->list, r->n);
	js_sql_stmt(&sql, " ORDER BY entry_id");
	status = js_db_query(p->handle->db, &sql, take_remaining, r, error);
	for (size_t i = 0; status == 0 && i < r->n; i++) {
		size_t at = js_span_find(tried->list, tried->n, sizeof(struct done), r->list[i].entry);

		if (at < tried->n && tried->list[at].entry == r->list[i].entry &&
		    tried->list[at].attempts == r->list[i].attempts)
			r->list[n++] = r->list[i];
	}
	r->n = n;
	return status;
}

static void count_pruned(struct pruning *p, const struct done *list, size_t n)
{
	p->result.entries += n;
	p->result.attempts += attempts_of(list, n);
}

static int prune_chunk(struct pruning *p, const struct done *list, size_t n, struct jobstack_error *error)
{
	struct remaining r = {.n = n};
	int status = 0, lost = 0;

	if (p->o->dry_run) {
		count_pruned(p, list, n);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		r.list[i] = list[i];
	for (unsigned race = 0; status == 0 && r.n > 0; race++) {
		uint64_t id = p->stack.id;
		struct remaining tried = r;

		if (race == RACES_MAX)
			return js_error_set(error, JOBSTACK_EBUG,
					    "entries of the stack \"%s\" from %" PRIu64
					    " on can't be removed, though they are done: run `jobstack check -s %s`",
					    p->stack.name, r.list[0].entry, p->stack.name);
		if (p->o->item != NULL)
			status = archive_entries(p, r.list, r.n, error);
		if (status == 0)
			status = remove_chunk(p, r.list, r.n, &lost, error);
		if (status == 0) {
			count_pruned(p, r.list, r.n);
			return 0;
		}
		if (status == JS_DB_GUARD)
			status = read_still_done(p, &tried, &r, error);
		if (status == 0 && p->stack.id != id)
			return js_stack_refuse_dropped(p->stack.name, error);
		if (status == 0 && lost && r.n == 0)
			count_pruned(p, tried.list, tried.n);
	}
	return status;
}

/* ----------------------------------------------------------------------------------------------------- all of it */

static int prune_page(struct pruning *p, struct jobstack_error *error)
{
	int status = read_done_page(p, error);

	for (size_t at = 0; status == 0 && at < p->n; at += CHUNK) {
		size_t n = p->n - at < CHUNK ? p->n - at : CHUNK;

		status = prune_chunk(p, p->list + at, n, error);
		if (status == 0 && p->o->progress != NULL &&
		    p->o->progress(p->o->ctx, p->list[at + n - 1].entry, p->end) != 0)
			status = refuse_stopped(p, error);
	}
	if (status == 0)
		status = js_leftover_look(p->left, p->low, p->high, p->o->dry_run ? p->before_us : -1, error);
	if (status == 0 && p->o->progress != NULL && p->o->progress(p->o->ctx, p->high, p->end) != 0)
		status = refuse_stopped(p, error);
	return status;
}

/* Reads how far to go in time and in numbers. */
static int read_bounds(struct pruning *p, uint64_t *now_us, struct jobstack_error *error)
{
	int status = js_handle_ask_number(p->handle, now_us, error,
					  "SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))");

	if (status == 0)
		status = js_handle_ask_number(p->handle, &p->end, error,
					      "SELECT COALESCE(MAX(entry_id),0) FROM attempt WHERE stack_id=%u",
					      p->stack.id);
	p->before_us = (int64_t)*now_us - p->o->older_us;
	if (p->before_us < 0)
		p->before_us = 0;
	return status;
}

static int prune_all(struct pruning *p, struct jobstack_error *error)
{
	uint64_t now_us = 0;
	int status = read_bounds(p, &now_us, error);

	if (status == 0)
		status = js_leftover_new(&p->left, p->handle, p->stack.id, p->before_us, (int64_t)now_us, error);
	while (status == 0 && p->low < p->end) {
		status = prune_page(p, error);
		p->low = p->high;
	}
	if (status == 0)
		status = js_leftover_remove(p->left, p->o->dry_run, &p->result, error);
	js_leftover_free(p->left);
	return status;
}

int jobstack_prune(struct jobstack *handle, const char *stack, const struct jobstack_prune_options *options,
		   struct jobstack_prune_result *result, struct jobstack_error *error)
{
	struct jobstack_prune_options o = JOBSTACK_PRUNE_OPTIONS_INIT;
	struct pruning *p = calloc(1, sizeof(*p));
	int status;

	if (p == NULL)
		return js_error_memory(error);
	p->handle = handle;
	p->o = &o;
	p->result = (struct jobstack_prune_result)JOBSTACK_PRUNE_RESULT_INIT;
	status = js_grow_begin(result, &p->result, "jobstack_prune_result", error);
	if (status == 0)
		status = js_grow_in(&o, options, "jobstack_prune_options", error);
	if (status == 0 && o.older_us < 0)
		status = js_error_set(error, JOBSTACK_EUSAGE, "jobstack_prune_options.older_us is negative");
	if (status == 0)
		status = js_stack_find(handle, stack, &p->stack, error);
	if (status == 0 && p->stack.state == JOBSTACK_DROPPING)
		status = js_stack_refuse(handle, stack, error);
	if (status == 0)
		status = prune_all(p, error);
	js_grow_out(result, &p->result);
	free(p);
	return status;
}

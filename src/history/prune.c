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
#include "base/array.h"
#include "base/clock.h"
#include "history/export.h"
#include "history/unreferenced.h"
#include "queue/set.h"
#include "history/stream.h"
#include "history/window.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 20000 /* attempts looked at by one query */
/* Entries in one transaction; and how many terms name them at most: intervals, and each attempt of those that have
 * several. */
#define CHUNK 5000
#define TERMS 500
#define RACES_MAX 50
#define KEYS 200 /* facts that are deleted at once */

struct done {
	uint64_t entry, attempts; /* the number of the last one is how many there are */
	int claimed;		  /* or for another reason not to be removed */
};

struct pruning {
	struct jobstack *handle;
	struct js_stack stack;
	const struct jobstack_prune_options *o;
	struct jobstack_prune_result result;
	int64_t before_us;	     /* what ended before this moment of the server's goes */
	struct js_windows windows;   /* where the attempts are that ended before then */
	uint64_t low, high, last;    /* the page: numbers above low, up to high; the last one of the window */
	uint64_t end;		     /* the last one there is */
	uint64_t read, read_attempt; /* attempts are read up to this one */
	struct js_unreferenced *unreferenced;
	struct js_export *reader; /* for the archive */
	size_t rows, n;
	struct done list[PAGE]; /* of the page */
	struct chunk {
		struct done list[CHUNK];
		size_t n;
	} still, tried; /* of the chunk, what is to go yet; what a try was made of */
};

static int refuse_stopped(const struct pruning *p, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_ESTOPPED,
			    "stopped: %" PRIu64 " %s of the stack \"%s\" had been removed, the others are unchanged",
			    p->result.entries, p->result.entries == 1 ? "entry" : "entries", p->stack.name);
}

/* --------------------------------------------------------------------------------------------------- what can go */

static void take_done(void *ctx, const struct js_row *row)
{
	struct pruning *p = ctx;

	if (row == NULL) {
		p->n = p->rows = 0;
		return;
	}
	p->rows++;
	p->read = js_row_u64(row, 0);
	p->read_attempt = js_row_u64(row, 1);
	if (js_row_u64(row, 2) != 0 && p->n < PAGE)
		p->list[p->n++] = (struct done){p->read, p->read_attempt, 0};
}

/* Marks the entries of the page that are in a claim. */
static void mark_claimed(void *ctx, const struct js_row *row)
{
	struct pruning *p = ctx;
	uint64_t ids[JS_IDS_MAX];
	struct js_set set;
	size_t i;

	if (row == NULL)
		return;
	js_set_read(&set, row, 0, ids); /* `jobstack check` reports what is wrong with it */
	i = js_span_find(p->list, p->n, sizeof(*p->list), set.first);
	for (; set.ids == NULL && i < p->n && p->list[i].entry - set.first < set.n; i++)
		p->list[i].claimed = 1;
	for (size_t k = 0; set.ids != NULL && k < set.n; k++) {
		i = js_span_find(p->list, p->n, sizeof(*p->list), ids[k]);
		if (i < p->n && p->list[i].entry == ids[k])
			p->list[i].claimed = 1;
	}
}

/* Takes the claimed entries out of a list.  Returns how many are left. */
static size_t drop_claimed(struct done *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!list[i].claimed)
			list[kept++] = list[i];
	return kept;
}

/* Removes claimed entries from the page. */
static int drop_claimed_of_page(struct pruning *p, struct jobstack_error *error)
{
	if (p->n == 0)
		return 0;
	JS_TRY(js_handle_ask(
		p->handle, mark_claimed, p, error,
		"SELECT lo,hi,ids FROM claim WHERE stack_id=%u AND (ids IS NOT NULL OR (hi>=%u AND lo<=%u))",
		p->stack.id, p->list[0].entry, p->list[p->n - 1].entry));
	p->n = drop_claimed(p->list, p->n);
	return 0;
}

/* Returns how many entries at the head of the list have numbers without a gap. */
static size_t count_consecutive(const struct done *list, size_t n)
{
	size_t i = 1;

	while (i < n && list[i].entry == list[0].entry + i)
		i++;
	return i;
}

/* Adds the condition that names the entries, by intervals: most entries that can go lie side by side, and a list of all
 * numbers would cost the server more than deleting the rows. */
static void entries_sql(struct js_sql *sql, const struct done *list, size_t n)
{
	/* the ends first: whatever plan the server has, it does not leave them */
	js_sql_add(sql, " AND entry_id BETWEEN %u AND %u", list[0].entry, list[n - 1].entry);
	if (count_consecutive(list, n) == n)
		return;
	for (size_t i = 0, run; i < n; i += run) {
		run = count_consecutive(list + i, n - i);
		js_sql_add(sql, i == 0 ? " AND (entry_id BETWEEN %u AND %u" : " OR entry_id BETWEEN %u AND %u",
			   list[i].entry, list[i + run - 1].entry);
	}
	js_sql_add(sql, ")");
}

/* Reads the next page, along the primary key of attempt.  What is read of its last entry may be a part: that entry
 * belongs to the next page then, where its final attempt is. */
static int read_done_page(struct pruning *p, struct jobstack_error *error)
{
	JS_TRY(js_handle_ask(
		p->handle, take_done, p, error,
		"SELECT entry_id,attempt,final=1 AND ended<%t FROM attempt WHERE stack_id=%u AND entry_id BETWEEN %u "
		"AND %u AND (entry_id>%u OR attempt>%u) ORDER BY entry_id,attempt LIMIT %u",
		p->before_us, p->stack.id, p->read, p->last, p->read, p->read_attempt, (uint64_t)PAGE));
	p->high = p->rows < PAGE ? p->last : p->read - 1;
	return drop_claimed_of_page(p, error);
}

/* --------------------------------------------------------------------------------------------------- the archive */

/* Gives an attempt to the caller, if its entry is in the chunk. */
static int archive_attempt(void *ctx, const struct jobstack_item *item)
{
	const struct pruning *p = ctx;
	const struct chunk *c = &p->still;
	size_t at = js_span_find(c->list, c->n, sizeof(*c->list), item->entry);

	return at < c->n && c->list[at].entry == item->entry ? p->o->item(p->o->ctx, item) : 0;
}

/* Gives the chunk to the caller.  If the connection is lost meanwhile, some attempts are given twice.  What lies
 * between the chunk's entries is read too: the chunks of a page do not overlap, so each attempt is read at most once.
 */
static int archive_chunk(struct pruning *p, struct jobstack_error *error)
{
	const struct chunk *c = &p->still;
	int status = js_export_range(p->reader, &p->stack, c->list[0].entry, c->list[c->n - 1].entry, error);

	if (status == 0 && p->o->keep != NULL && p->o->keep(p->o->ctx) != 0)
		status = JOBSTACK_ESTOPPED;
	return status == JOBSTACK_ESTOPPED ? refuse_stopped(p, error) : status;
}

/* ------------------------------------------------------------------------------------------------------- a chunk */

static uint64_t attempts_of(const struct done *list, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += list[i].attempts;
	return sum;
}

/* Returns how many entries at the head of the list go in one transaction. */
static size_t count_for_chunk(const struct done *list, size_t n)
{
	size_t i = 0;

	for (size_t terms = 0; i < n && i < CHUNK; i++) {
		terms += (size_t)(i == 0 || list[i].entry != list[i - 1].entry + 1);
		terms += list[i].attempts > 1 ? list[i].attempts : 0;
		if (i > 0 && terms > TERMS)
			break;
	}
	return i;
}

/* Deletes all attempts of the entries.  Each row is named, and so is its value of `final`.  A requeue at the same
 * moment changes one of these, and then fewer rows match than the guard wants. */
static void remove_attempts_sql(struct js_sql *sql, uint64_t id, const struct done *list, size_t n)
{
	uint64_t rows = attempts_of(list, n);

	js_sql_add(sql, "DELETE FROM attempt WHERE stack_id=%u", id);
	entries_sql(sql, list, n);
	js_sql_add(sql, rows > n ? " AND ((final=1 AND attempt=1" : " AND final=1 AND attempt=1");
	for (size_t i = 0, any = 0; i < n; i++)
		for (uint64_t k = 1; list[i].attempts > 1 && k <= list[i].attempts; k++)
			js_sql_add(sql, any++ == 0 ? ") OR (entry_id,attempt,final) IN((%u,%u,%u)" : ",(%u,%u,%u)",
				   list[i].entry, k, (uint64_t)(k == list[i].attempts));
	js_sql_stmt(sql, rows > n ? ")) ORDER BY entry_id,attempt LIMIT %u" : " ORDER BY entry_id,attempt LIMIT %u",
		    rows);
	js_sql_guard(sql, rows);
}

/* Each DELETE stops at its last row and does not read the next one, which may belong to a load whose client is frozen,
 * and be locked. */
static int remove_chunk(struct pruning *p, const struct done *list, size_t n, int *lost, struct jobstack_error *error)
{
	uint64_t id = p->stack.id;
	struct js_sql sql = {0};

	js_sql_must(&sql, "UPDATE stack SET done=done-%u,pruned=pruned+%u WHERE stack_id=%u AND state<3", (uint64_t)n,
		    (uint64_t)n, id);
	remove_attempts_sql(&sql, id, list, n);
	js_sql_add(&sql, "DELETE FROM entry WHERE stack_id=%u", id);
	entries_sql(&sql, list, n);
	js_sql_stmt(&sql, " ORDER BY entry_id LIMIT %u", (uint64_t)n);
	js_sql_guard(&sql, n);
	return js_db_commit(p->handle->db, &sql, lost, error);
}

/* At first all entries count as claimed, that is, as not to be removed; each row takes one out. */
static void mark_still_done(void *ctx, const struct js_row *row)
{
	struct chunk *c = ctx;
	size_t at = row == NULL ? c->n : js_span_find(c->list, c->n, sizeof(*c->list), js_row_u64(row, 0));

	for (size_t i = 0; row == NULL && i < c->n; i++)
		c->list[i].claimed = 1;
	if (at < c->n && c->list[at].entry == js_row_u64(row, 0) && c->list[at].attempts == js_row_u64(row, 1))
		c->list[at].claimed = 0;
}

/* A guard stopped the transaction: keeps the entries of the chunk that are still done, at the same attempt, for the
 * next try.  If an earlier try of ours had arrived, none is left. */
static int keep_still_done(struct pruning *p, struct jobstack_error *error)
{
	struct chunk *c = &p->still;
	struct js_sql sql = {0};

	JS_TRY(js_stack_find(p->handle, p->stack.name, &p->stack, error));
	if (p->stack.state == JOBSTACK_DROPPING)
		return js_stack_refuse(p->handle, p->stack.name, error);
	js_sql_add(&sql, "SELECT entry_id,attempt FROM attempt WHERE stack_id=%u AND final=1", p->stack.id);
	entries_sql(&sql, c->list, c->n);
	js_sql_stmt(&sql, " ORDER BY entry_id");
	JS_TRY(js_db_query(p->handle->db, &sql, mark_still_done, c, error));
	c->n = drop_claimed(c->list, c->n);
	return 0;
}

static void count_pruned(struct pruning *p, const struct done *list, size_t n)
{
	p->result.entries += n;
	p->result.attempts += attempts_of(list, n);
}

/* Removes a chunk, with retries without the entries that others have changed.  The archive gets the chunk before each
 * try: what is removed was kept before. */
static int prune_chunk(struct pruning *p, const struct done *list, size_t n, struct jobstack_error *error)
{
	struct chunk *left = &p->still, *tried = &p->tried;
	int status, lost = 0;

	if (p->o->dry_run) {
		count_pruned(p, list, n);
		return 0;
	}
	memcpy(left->list, list, n * sizeof(*list));
	left->n = n;
	for (unsigned race = 0; left->n > 0; race++) {
		uint64_t id = p->stack.id;

		*tried = *left;
		if (race == RACES_MAX)
			return js_error_set(error, JOBSTACK_EBUG,
					    "entries of the stack \"%s\" from %" PRIu64
					    " on can't be removed, though they are done: run `jobstack check -s %s`",
					    p->stack.name, left->list[0].entry, p->stack.name);
		if (p->o->item != NULL)
			JS_TRY(archive_chunk(p, error));
		status = remove_chunk(p, left->list, left->n, &lost, error);
		if (status == 0) {
			count_pruned(p, left->list, left->n);
			return 0;
		}
		if (status != JS_DB_GUARD)
			return status;
		JS_TRY(keep_still_done(p, error));
		if (p->stack.id != id)
			return js_stack_refuse_dropped(p->stack.name, error);
		if (lost && left->n == 0)
			count_pruned(p, tried->list, tried->n);
	}
	return 0;
}

/* ----------------------------------------------------------------------------------------------------- all of it */

static int report_prune_progress(const struct pruning *p, uint64_t entry, struct jobstack_error *error)
{
	return p->o->progress != NULL && p->o->progress(p->o->ctx, entry, p->end) != 0 ? refuse_stopped(p, error) : 0;
}

static int prune_page(struct pruning *p, struct jobstack_error *error)
{
	JS_TRY(read_done_page(p, error));
	for (size_t at = 0, n; at < p->n; at += n) {
		n = count_for_chunk(p->list + at, p->n - at);
		JS_TRY(prune_chunk(p, p->list + at, n, error));
		JS_TRY(report_prune_progress(p, p->list[at + n - 1].entry, error));
	}
	JS_TRY(js_unreferenced_exclude(p->unreferenced, p->low, p->high, p->o->dry_run ? p->before_us : -1, error));
	return report_prune_progress(p, p->high, error);
}

static int prune_window(struct pruning *p, uint64_t low, struct jobstack_error *error)
{
	int status = 0;

	p->last = p->last < p->end ? p->last : p->end;
	p->read = low;
	p->read_attempt = 0;
	for (p->low = low - 1; status == 0 && p->low < p->last; p->low = p->high)
		status = prune_page(p, error);
	return status;
}

/* Reads how far to go in time (by the server's clock) and in numbers. */
static int read_bounds(struct pruning *p, uint64_t *now_us, struct jobstack_error *error)
{
	JS_TRY(js_handle_ask_number(p->handle, now_us, error,
				    "SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',UTC_TIMESTAMP(6))"));
	p->before_us = (int64_t)*now_us - p->o->older_us;
	if (p->before_us < 0)
		p->before_us = 0;
	return js_handle_ask_number(p->handle, &p->end, error,
				    "SELECT COALESCE(MAX(entry_id),0) FROM attempt WHERE stack_id=%u", p->stack.id);
}

/* Numbers of facts. */
struct numbers {
	int64_t *at;
	size_t n, room;
	int failed;
};

static int has_number(const struct numbers *all, int64_t number)
{
	size_t i = 0;

	while (i < all->n && all->at[i] != number)
		i++;
	return i < all->n;
}

/* Adds the number of the row; that of a query which is run again is there already. */
static void take_number(void *ctx, const struct js_row *row)
{
	struct numbers *all = ctx;

	if (row == NULL || has_number(all, js_row_i64(row, 0)))
		return;
	all->failed |= js_array_grow(&all->at, &all->room, all->n + 1, sizeof(*all->at)) != 0;
	if (!all->failed)
		all->at[all->n++] = js_row_i64(row, 0);
}

/* Workers whose records stay: they live, or ended only a short time ago. */
#define YOUNG " FROM worker WHERE stack_id=%u AND (ended IS NULL OR ended>=%t)"

/* Finds the platforms of workers whose records stay. */
static int find_platforms(struct pruning *p, struct numbers *used, struct jobstack_error *error)
{
	return js_handle_ask(p->handle, take_number, used, error,
			     "SELECT DISTINCT CAST(JSON_EXTRACT(identity,'$.platform') AS SIGNED)" YOUNG, p->stack.id,
			     p->before_us);
}

/* Finds the lists of packages of their attempts, among all attempts that ended since the first of these workers began.
 */
static int find_packages(struct pruning *p, struct numbers *used, struct jobstack_error *error)
{
	uint64_t since_us, low, high = 0;

	JS_TRY(js_handle_ask_number(
		p->handle, &since_us, error,
		"SELECT TIMESTAMPDIFF(MICROSECOND,'1970-01-01',COALESCE(MIN(started),UTC_TIMESTAMP(6)))" YOUNG,
		p->stack.id, p->before_us));
	JS_TRY(js_windows_since(&p->windows, p->handle, &p->stack, (int64_t)since_us - JS_SECOND_US, error));
	while (js_windows_next(&p->windows, high, PAGE, &low, &high)) {
		JS_TRY(js_db_nap(p->handle->db, 0, error));
		JS_TRY(js_handle_ask(p->handle, take_number, used, error,
				     "SELECT DISTINCT packages FROM attempt WHERE stack_id=%u AND entry_id BETWEEN %u "
				     "AND %u AND packages>=0 AND worker_id IN(SELECT worker_id" YOUNG ")",
				     p->stack.id, low, high, p->stack.id, p->before_us));
	}
	return 0;
}

/* Deletes the facts of a kind that are old and not among USED. */
static int remove_facts(struct pruning *p, enum jobstack_fact_kind kind, const struct numbers *used, uint64_t *removed,
			struct jobstack_error *error)
{
	int64_t last = -1; /* the number of a fact is never negative */
	struct numbers page;
	int status = 0;

	do {
		struct js_sql sql = {0};
		size_t n = 0;

		page = (struct numbers){.n = 0};
		JS_THEN(status, js_db_nap(p->handle->db, 0, error));
		JS_THEN(status,
			js_handle_ask(p->handle, take_number, &page, error,
				      "SELECT fact FROM fact WHERE stack_id=%u AND kind=%u AND fact>%d AND seen<%t "
				      "ORDER BY fact LIMIT %u",
				      p->stack.id, (uint64_t)kind, last, p->before_us, (uint64_t)KEYS));
		for (size_t i = 0; i < page.n; i++) {
			last = page.at[i];
			if (!has_number(used, last))
				page.at[n++] = last;
		}
		js_sql_add(&sql, "DELETE FROM fact WHERE stack_id=%u AND kind=%u AND fact IN(NULL", p->stack.id,
			   (uint64_t)kind);
		js_sql_numbers(&sql, page.at, n);
		js_sql_stmt(&sql, ") AND seen<%t", p->before_us); /* it may have been told again meanwhile */
		if (status != 0 || n == 0 || p->o->dry_run)
			js_sql_free(&sql);
		else
			status = js_db_commit(p->handle->db, &sql, NULL, error);
		*removed += n;
		free(page.at);
	} while (status == 0 && page.n == KEYS);
	return page.failed ? js_error_memory(error) : status;
}

/* Removes facts that only old records name: platforms and lists of packages.  No worker's row is locked, so no worker
 * waits for this. */
static int prune_usage(struct pruning *p, struct jobstack_error *error)
{
	struct numbers platforms = {.n = 0}, packages = {.n = 0};
	int status = find_platforms(p, &platforms, error);

	JS_THEN(status, find_packages(p, &packages, error));
	if (platforms.failed || packages.failed)
		status = js_error_memory(error);
	JS_THEN(status, remove_facts(p, JOBSTACK_FACT_PLATFORM, &platforms, &p->result.platforms, error));
	JS_THEN(status, remove_facts(p, JOBSTACK_FACT_PACKAGES, &packages, &p->result.packages, error));
	free(platforms.at);
	free(packages.at);
	return status;
}

static int prune_all(struct pruning *p, struct jobstack_error *error)
{
	uint64_t now_us, low;
	int status;

	JS_TRY(read_bounds(p, &now_us, error));
	if (p->o->usage != 0)
		return prune_usage(p, error);
	JS_TRY(js_unreferenced_new(&p->unreferenced, p->handle, p->stack.id, p->before_us, (int64_t)now_us, error));
	status = js_windows_before(&p->windows, p->handle, &p->stack, p->before_us, error);
	while (status == 0 && js_windows_next(&p->windows, p->high, UINT64_MAX, &low, &p->last) && low <= p->end)
		status = prune_window(p, low, error);
	if (status == 0 && p->high < p->end)
		status = report_prune_progress(p, p->end, error);
	JS_THEN(status, js_unreferenced_remove(p->unreferenced, p->o->dry_run ? p->before_us : -1, &p->result, error));
	js_unreferenced_free(p->unreferenced);
	if (status == 0 && !p->o->dry_run && p->result.entries > 0)
		status = js_stream_prune(p->handle, p->stack.id, p->before_us, error);
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
	JS_THEN(status, js_grow_in(&o, options, "jobstack_prune_options", error));
	if (status == 0 && o.older_us < 0)
		status = js_error_set(error, JOBSTACK_EUSAGE, "jobstack_prune_options.older_us is negative");
	JS_THEN(status, js_stack_find(handle, stack, &p->stack, error));
	if (status == 0 && p->stack.state == JOBSTACK_DROPPING)
		status = js_stack_refuse(handle, stack, error);
	if (status == 0 && o.item != NULL && !o.dry_run)
		status = (p->reader = js_export_new(handle, archive_attempt, p)) == NULL ? js_error_memory(error) : 0;
	JS_THEN(status, prune_all(p, error));
	js_export_free(p->reader);
	js_grow_out(result, &p->result);
	js_windows_free(&p->windows);
	free(p);
	return status;
}

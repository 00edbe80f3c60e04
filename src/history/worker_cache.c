/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Workers by their number: a hash table with open addressing.  Promise: flat memory, however many workers there were:
 * when the table is full, it is emptied.  (Each pop of a script is a worker, so there may be millions.)
 */
#include "history/worker_cache.h"

#include "history/item.h"

#include <stdlib.h>
#include <string.h>

#define PLACES (2 * JS_WORKER_CACHE_MAX)

/* A worker, as js_item_read_worker reads it. */
struct cached_worker {
	uint64_t id;
	struct jobstack_item item; /* what items get of it */
	const char *log;
	void *memory; /* the row */
};

struct js_worker_cache {
	struct cached_worker worker[JS_WORKER_CACHE_MAX];
	size_t n;
	uint16_t place[PLACES]; /* by hash: one more than the index of a worker; 0: free */
	int failed;
};

struct js_worker_cache *js_worker_cache_new(void)
{
	return calloc(1, sizeof(struct js_worker_cache));
}

/* Items that point to a forgotten worker are no longer valid: js_worker_cache_read is called before a page is reported.
 */
static void forget_workers(struct js_worker_cache *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->worker[i].memory);
	c->n = 0;
	memset(c->place, 0, sizeof(c->place));
}

void js_worker_cache_free(struct js_worker_cache *c)
{
	if (c == NULL)
		return;
	forget_workers(c);
	free(c);
}

/* Returns the place where the worker is, or would go.  There are twice as many places as workers, so a search is short.
 */
static size_t find_place(const struct js_worker_cache *c, uint64_t worker)
{
	size_t at = (size_t)((worker * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % PLACES;

	while (c->place[at] != 0 && c->worker[c->place[at] - 1].id != worker)
		at = (at + 1) % PLACES;
	return at;
}

/* Copies ROW into a block of memory: where its columns are, their lengths, and their texts. */
static int copy_row(struct cached_worker *w, const struct js_row *row)
{
	size_t size = row->n * (sizeof(*row->col) + sizeof(*row->len));
	unsigned column = 0;
	unsigned long *len;
	const char **col;
	char *to;

	for (unsigned i = 0; i < row->n; i++)
		size += row->len[i] + 1;
	w->memory = malloc(size);
	if (w->memory == NULL)
		return -1;
	col = w->memory;
	len = (void *)(col + row->n);
	to = (void *)(len + row->n);
	for (unsigned i = 0; i < row->n; i++) {
		col[i] = row->col[i] == NULL ? NULL : memcpy(to, row->col[i], row->len[i] + 1);
		len[i] = row->len[i];
		to += row->len[i] + 1;
	}
	w->log = js_item_read_worker(&w->item, &(const struct js_row){0, row->n, col, len}, &column);
	return 0;
}

static void take_worker_row(void *ctx, const struct js_row *row)
{
	struct js_worker_cache *c = ctx;
	size_t place;

	if (row == NULL || c->n == JS_WORKER_CACHE_MAX || c->failed)
		return;
	place = find_place(c, js_row_u64(row, 0));
	if (c->place[place] != 0)
		return; /* from a try that was cut short */
	c->failed = copy_row(&c->worker[c->n], row) != 0;
	if (c->failed)
		return;
	c->worker[c->n].id = js_row_u64(row, 0);
	c->place[place] = (uint16_t)(++c->n);
}

/* Returns whether worker I of the list must be read.  One that stands there several times in a row counts once. */
static int is_missing(const struct js_worker_cache *c, const uint64_t *workers, size_t i)
{
	return workers[i] != 0 && (i == 0 || workers[i] != workers[i - 1]) && c->place[find_place(c, workers[i])] == 0;
}

static int read_missing_workers(struct js_worker_cache *c, struct jobstack *handle, const uint64_t *workers, size_t n,
				struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_add(&sql, "SELECT " JS_ITEM_WORKER " FROM worker w WHERE w.worker_id IN(NULL");
	for (size_t i = 0; i < n; i++)
		if (is_missing(c, workers, i))
			js_sql_add(&sql, ",%u", workers[i]);
	js_sql_stmt(&sql, ")");
	return js_db_query(handle->db, &sql, take_worker_row, c, error);
}

int js_worker_cache_read(struct js_worker_cache *c, struct jobstack *handle, const uint64_t *workers, size_t n,
			 struct jobstack_error *error)
{
	size_t missing = 0;

	c->failed = 0;
	for (size_t i = 0; i < n; i++)
		missing += (size_t)is_missing(c, workers, i);
	if (missing == 0)
		return 0;
	if (c->n + missing > JS_WORKER_CACHE_MAX)
		forget_workers(c);
	JS_TRY(read_missing_workers(c, handle, workers, n, error));
	return c->failed ? js_error_memory(error) : 0;
}

void js_worker_cache_fill(const struct js_worker_cache *c, struct jobstack_item *item)
{
	uint16_t place = item->worker == 0 ? 0 : c->place[find_place(c, item->worker)];

	if (place != 0)
		js_item_set_worker(item, &c->worker[place - 1].item, c->worker[place - 1].log);
}

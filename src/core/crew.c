/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Workers by their number.  Promise: flat memory, however many workers there were: when the table is full, it starts
 * anew.  (A script's pops are a worker each: there may be millions.)
 */
#include "core/crew.h"

#include "base/error.h"
#include "core/item.h"

#include <stdlib.h>
#include <string.h>

#define PLACES (2 * JS_CREW_MAX)

struct member {
	struct jobstack_item item; /* the worker's fields */
	const char *log;
	void *memory; /* their bytes */
};

struct js_crew {
	struct member member[JS_CREW_MAX];
	size_t n;
	uint16_t place[PLACES]; /* by hash: a member's index and 1, or 0 */
	int failed;
};

struct js_crew *js_crew_new(void)
{
	return calloc(1, sizeof(struct js_crew));
}

static void forget(struct js_crew *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->member[i].memory);
	c->n = 0;
	memset(c->place, 0, sizeof(c->place));
}

void js_crew_free(struct js_crew *c)
{
	if (c == NULL)
		return;
	forget(c);
	free(c);
}

/* The place where the worker is, or would go. */
static size_t find(const struct js_crew *c, uint64_t worker)
{
	size_t at = (size_t)((worker * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % PLACES;

	while (c->place[at] != 0 && c->member[c->place[at] - 1].item.worker != worker)
		at = (at + 1) % PLACES;
	return at;
}

/* Copies the row's texts, and lets the columns of a copy of it point there. */
static void take_worker(void *ctx, const struct js_row *row)
{
	struct js_crew *c = ctx;
	const char *col[32];
	struct js_row own = {0, row == NULL ? 0 : row->n, col, row == NULL ? NULL : row->len};
	struct member *m;
	unsigned column = 0;
	size_t size = 0;
	char *to;

	if (row == NULL || c->n == JS_CREW_MAX || c->failed || row->n > 32)
		return;
	if (c->place[find(c, js_row_u64(row, 0))] != 0)
		return; /* from a try that was cut short */
	for (unsigned i = 0; i < row->n; i++)
		size += row->len[i] + 1;
	m = &c->member[c->n];
	to = malloc(size);
	if (to == NULL) {
		c->failed = 1;
		return;
	}
	memset(m, 0, sizeof(*m));
	m->memory = to;
	for (unsigned i = 0; i < row->n; i++) {
		col[i] = row->col[i] == NULL ? NULL : to;
		if (col[i] != NULL)
			memcpy(to, row->col[i], row->len[i] + 1);
		to += row->len[i] + 1;
	}
	js_item_worker(&m->item, &own, &column);
	m->log = own.col[column];
	c->place[find(c, m->item.worker)] = (uint16_t)(c->n + 1);
	c->n++;
}

static int read_missing(struct js_crew *c, struct jobstack *handle, const uint64_t *workers, size_t n,
			struct jobstack_error *error)
{
	struct js_sql sql = {0};
	uint64_t last = 0;
	size_t asked = 0;
	int status = 0;

	js_sql_add(&sql, "SELECT " JS_ITEM_WORKER ",w.log FROM worker w WHERE w.worker_id IN(");
	for (size_t i = 0; i < n; i++) {
		if (workers[i] == 0 || workers[i] == last || c->place[find(c, workers[i])] != 0)
			continue;
		js_sql_add(&sql, asked++ == 0 ? "%u" : ",%u", workers[i]);
		last = workers[i];
	}
	js_sql_stmt(&sql, ")");
	if (asked > 0)
		status = js_db_query(handle->db, &sql, take_worker, c, error);
	return status;
}

int js_crew_read(struct js_crew *c, struct jobstack *handle, const uint64_t *workers, size_t n,
		 struct jobstack_error *error)
{
	size_t missing = 0;
	int status;

	c->failed = 0;
	for (size_t i = 0; i < n; i++)
		missing += workers[i] != 0 && (i == 0 || workers[i] != workers[i - 1]) &&
			   c->place[find(c, workers[i])] == 0;
	if (missing == 0)
		return 0;
	if (c->n + missing > JS_CREW_MAX)
		forget(c);
	status = read_missing(c, handle, workers, n, error);
	return status == 0 && c->failed ? js_error_memory(error) : status;
}

void js_crew_fill(const struct js_crew *c, struct jobstack_item *item)
{
	uint16_t place = item->worker == 0 ? 0 : c->place[find(c, item->worker)];
	const struct member *m;

	if (place == 0)
		return;
	m = &c->member[place - 1];
	item->node = m->item.node;
	item->host = m->item.host;
	item->cluster = m->item.cluster;
	item->job = m->item.job;
	item->array_job = m->item.array_job;
	item->array_task = m->item.array_task;
	item->step = m->item.step;
	item->account = m->item.account;
	item->qos = m->item.qos;
	item->partition = m->item.partition;
	item->user = m->item.user;
	item->cwd = m->item.cwd;
	item->argv = m->item.argv;
	item->slots = m->item.slots;
	if (item->log == NULL && item->log_at >= 0)
		item->log = m->log;
	if (item->err_log == NULL && item->err_at >= 0)
		item->err_log = m->log;
}

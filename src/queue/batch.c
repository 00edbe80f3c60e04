/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches.  Promise: a batch is whole, or there is none.
 *
 * A pop brings the claim and, in most cases, its datapaths in the reply of the step itself: js_batch_begin,
 * js_batch_add for each row, js_batch_end.  For a list, or after a lost reply, js_batch_read asks for them.
 */
#include "queue/batch.h"

#include "queue/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes of datapaths will come is not known beforehand, and one block per entry would be slow.  So the bytes
 * are gathered in one buffer, and the pointers are set at the end. */
struct batch_memory {
	struct js_buf bytes;
	struct jobstack_entry *entries;
};

void jobstack_batch_free(struct jobstack_batch *batch)
{
	struct batch_memory *m = batch == NULL ? NULL : batch->memory;
	int saved = errno;

	if (m != NULL) {
		js_buf_free(&m->bytes);
		free(m->entries);
		free(m);
	}
	if (batch != NULL) {
		batch->worker = batch->count = 0;
		batch->start_by_us = 0;
		batch->first = NULL;
		batch->memory = NULL;
	}
	errno = saved;
}

const struct jobstack_entry *jobstack_batch_entry(const struct jobstack_batch *batch, size_t i)
{
	return i < batch->count ? &batch->first[i] : NULL;
}

struct jobstack_batch js_batch_of(uint64_t worker)
{
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;

	batch.worker = worker;
	return batch;
}

int js_batch_begin(struct jobstack_batch *batch, uint64_t worker, size_t n)
{
	struct batch_memory *m = calloc(1, sizeof(*m));

	*batch = js_batch_of(worker);
	batch->memory = m;
	if (m == NULL)
		return -1;
	m->entries = calloc(n, sizeof(*m->entries));
	batch->first = m->entries;
	return m->entries == NULL ? -1 : 0;
}

void js_batch_add(struct jobstack_batch *batch, const struct js_claim *claim, const char *entry, const char *datapath,
		  size_t len)
{
	struct batch_memory *m = batch->memory;
	struct jobstack_entry *e;

	if (batch->count >= claim->n)
		return;
	e = &m->entries[batch->count++];
	*e = (struct jobstack_entry){
		sizeof(*e), strtoull(entry, NULL, 10), claim->attempt, claim->fails, claim->losses, NULL, len, 0};
	js_buf_add(&m->bytes, datapath, len);
	js_buf_char(&m->bytes, '\0');
}

int js_batch_end(struct jobstack_batch *batch)
{
	struct batch_memory *m = batch->memory;
	const char *p = m->bytes.data;

	for (size_t i = 0; i < batch->count; i++) {
		m->entries[i].datapath = p;
		p += m->entries[i].datapath_len + 1;
	}
	return m->bytes.failed ? -1 : 0;
}

/* A batch has at most JOBSTACK_POP_MAX entries, and is seldom read like this: a search through all of them will do. */
static void take_last_end(void *ctx, const struct js_row *row)
{
	const struct jobstack_batch *batch = ctx;
	struct batch_memory *m = batch->memory;

	for (size_t i = 0; row != NULL && i < batch->count; i++)
		if (m->entries[i].entry == js_row_u64(row, 0))
			m->entries[i].last_end_us = jobstack_now_us() - js_row_i64(row, 1);
}

int jobstack_worker_last_ends(struct jobstack_worker *w, const struct jobstack_batch *batch,
			      struct jobstack_error *error)
{
	uint64_t ids[JOBSTACK_POP_MAX];
	struct js_sql sql = {0};

	if (batch->count == 0 || batch->first->attempt < 2)
		return 0;
	for (size_t i = 0; i < batch->count; i++)
		ids[i] = batch->first[i].entry;
	/* attempts are numbered without a gap */
	js_sql_add(&sql,
		   "SELECT entry_id,TIMESTAMPDIFF(MICROSECOND,ended,UTC_TIMESTAMP(6)) FROM attempt WHERE stack_id=%u "
		   "AND attempt=%u",
		   w->stack.id, (uint64_t)batch->first->attempt - 1);
	js_sql_list(&sql, " AND entry_id IN(", ids, batch->count);
	js_sql_stmt(&sql, "");
	return js_db_query(w->handle->db, &sql, take_last_end, (void *)(uintptr_t)batch, error);
}

struct elsewhere {
	const uint64_t *entries;
	size_t n;
	unsigned char *found; /* one per entry: the bits that jobstack_worker_elsewhere documents */
};

static void take_elsewhere(void *ctx, const struct js_row *row)
{
	const struct elsewhere *e = ctx;

	for (size_t i = 0; row != NULL && i < e->n; i++)
		if (e->entries[i] == js_row_u64(row, 0))
			e->found[i] = (unsigned char)js_row_u64(row, 1);
}

int jobstack_worker_elsewhere(struct jobstack_worker *w, const uint64_t *entries, size_t n, unsigned char *found,
			      struct jobstack_error *error)
{
	struct elsewhere e = {entries, n, found};
	struct js_sql sql = {0};

	memset(found, 0, n);
	/* Outcomes are 0 done, 1 failed, 3 interrupted.  `away`: on another node than this worker's.  `bad`: a failure
	 * away, also one that did not count because of its node.  Only attempts since this worker began are read. */
	js_sql_add(&sql,
		   "SELECT entry_id,COALESCE(1+(MIN(IF(bad,node,NULL))<>MAX(IF(bad,node,NULL))),0)+4*COALESCE("
		   "MAX(IF(away AND outcome=0,attempt,NULL))>MAX(IF(away OR outcome=0,NULL,attempt)),0) FROM (SELECT "
		   "entry_id,attempt,outcome,node,node<>own away,node<>own AND (outcome=1 OR (outcome=3 AND cause=%u)) "
		   "bad FROM (SELECT a.entry_id,a.attempt,a.outcome,a.cause,w.node node,"
		   "m.node own FROM worker m STRAIGHT_JOIN attempt a FORCE INDEX(PRIMARY) "
		   "STRAIGHT_JOIN worker w ON w.worker_id=a.worker_id WHERE m.worker_id=%u AND a.ended>m.started AND "
		   "a.stack_id=%u",
		   (uint64_t)JOBSTACK_CAUSE_NODE, w->id, w->stack.id);
	js_sql_list(&sql, " AND a.entry_id IN(", entries, n);
	js_sql_stmt(&sql, ") r) t GROUP BY entry_id");
	return js_db_query(w->handle->db, &sql, take_elsewhere, &e, error);
}

struct batch_reading {
	const struct js_claim *claim;
	struct jobstack_batch *batch;
	uint64_t worker;
	int failed;
};

/* A query that is run again begins with a new batch. */
static void take_batch_entry(void *ctx, const struct js_row *row)
{
	struct batch_reading *r = ctx;

	if (row == NULL) {
		jobstack_batch_free(r->batch);
		r->failed = js_batch_begin(r->batch, r->worker, r->claim->n) != 0;
	} else if (!r->failed)
		js_batch_add(r->batch, r->claim, row->col[0], row->col[1], row->len[1]);
}

int js_batch_read(struct jobstack *handle, const struct js_stack *stack, uint64_t worker, const struct js_claim *claim,
		  struct jobstack_batch *batch, struct jobstack_error *error)
{
	struct batch_reading r = {claim, batch, worker, 0};
	struct js_sql sql = {0};
	int status;

	*batch = js_batch_of(worker);
	js_sql_add(&sql, "SELECT entry_id,datapath FROM entry WHERE stack_id=%u", stack->id);
	js_sql_list(&sql, " AND entry_id IN(", claim->id, claim->n);
	js_sql_stmt(&sql, " ORDER BY entry_id");
	status = js_db_query(handle->db, &sql, take_batch_entry, &r, error);
	if (status == 0 && (r.failed || js_batch_end(batch) != 0))
		status = js_error_memory(error);
	if (status == 0 && batch->count != claim->n)
		status = js_error_set(error, JOBSTACK_EBUG,
				      "%zu of %zu claimed entries have no datapath in the database",
				      claim->n - batch->count, claim->n);
	if (status != 0)
		jobstack_batch_free(batch);
	return status;
}

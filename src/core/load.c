/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading workers and their claims back from the ledger.  Promise: what js_worker_load gives is true for the seq it
 * gives; who acts on it does so behind a compare-and-set on that seq.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "core/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECOVER_TRIES 20

struct claims_read {
	struct js_claim *list;
	int bad;
};

#define CLAIM_COLUMNS "claim_no,lo,hi,ids,attempt,fails,losses,`rank`,claimed"

static void free_list(struct js_claim *list)
{
	while (list != NULL) {
		struct js_claim *claim = list;

		list = claim->next;
		js_claim_free(claim);
	}
}

static void take_claim(void *ctx, const struct js_row *row)
{
	struct claims_read *r = ctx;
	uint64_t ids[JS_IDS_MAX], lo, hi;
	struct js_claim *claim;
	int list;

	if (row == NULL) {
		free_list(r->list);
		*r = (struct claims_read){NULL, 0};
		return;
	}
	lo = js_row_u64(row, 1);
	hi = js_row_u64(row, 2);
	list = row->col[3] != NULL;
	if (hi < lo || hi - lo >= 10000000 ||
	    (list &&
	     (hi - lo >= JS_IDS_MAX || js_span_read_ids(row->col[3], row->len[3], lo, hi - lo + 1, ids) != 0))) {
		r->bad = 1;
		return;
	}
	claim = js_claim_new(js_row_u64(row, 0), list ? ids : NULL, lo, hi - lo + 1);
	if (claim == NULL) {
		r->bad = 1;
		return;
	}
	claim->attempt = (uint32_t)js_row_u64(row, 4);
	claim->fails = (uint32_t)js_row_u64(row, 5);
	claim->losses = (uint32_t)js_row_u64(row, 6);
	claim->rank = js_row_i64(row, 7);
	claim->claimed_us = js_row_time(row, 8);
	claim->next = r->list;
	r->list = claim;
}

static void take_closed(void *ctx, const struct js_row *row)
{
	struct js_claim *claim = ctx;
	size_t place;

	if (row == NULL)
		return;
	claim = js_claim_find(claim, js_row_u64(row, 0), (uint32_t)js_row_u64(row, 1), &place);
	if (claim != NULL && claim->mark[place] == JS_OPEN) {
		claim->mark[place] = JS_CLOSED;
		claim->open--;
	}
}

/* Marks what has an attempt row already. */
static int read_closed(struct jobstack_worker *w, struct js_claim *list, struct jobstack_error *error)
{
	int status = 0;

	for (struct js_claim *claim = list; status == 0 && claim != NULL; claim = claim->next) {
		struct js_sql sql = {0};

		js_sql_stmt(&sql,
			    "SELECT entry_id,attempt FROM attempt WHERE stack_id=%u AND entry_id BETWEEN %u AND %u AND "
			    "attempt=%u AND worker_id=%u",
			    w->stack.id, claim->id[0], claim->id[claim->n - 1], (uint64_t)claim->attempt, w->id);
		status = js_db_query(w->handle->db, &sql, take_closed, claim, error);
		js_sql_free(&sql);
	}
	return status;
}

int js_worker_read_claim(struct jobstack_worker *w, uint64_t no, struct js_claim **out, struct jobstack_error *error)
{
	struct claims_read r = {NULL, 0};
	struct js_sql sql = {0};
	int status;

	*out = NULL;
	js_sql_stmt(&sql, "SELECT " CLAIM_COLUMNS " FROM claim WHERE stack_id=%u AND worker_id=%u AND claim_no=%u",
		    w->stack.id, w->id, no);
	status = js_db_query(w->handle->db, &sql, take_claim, &r, error);
	js_sql_free(&sql);
	if (status == 0 && r.bad)
		status = js_error_set(error, JOBSTACK_EBUG, "a claim in the database makes no sense");
	if (status != 0) {
		free_list(r.list);
		return status;
	}
	*out = r.list;
	return r.list == NULL ? JOBSTACK_NOTHING : 0;
}

static void take_worker(void *ctx, const struct js_row *row)
{
	struct jobstack_worker *w = ctx;

	if (row == NULL || row->len[1] != sizeof(w->token))
		return;
	w->id = js_row_u64(row, 0);
	memcpy(w->token, row->col[1], sizeof(w->token));
	w->seq = js_row_u64(row, 2);
	w->script = js_row_u64(row, 3) != 0;
	w->lease_us = js_row_i64(row, 4);
	js_file_random(w->next, sizeof(w->next));
}

int js_worker_load(struct jobstack *handle, const struct js_stack *stack, uint64_t id, struct jobstack_worker **out,
		   struct jobstack_error *error)
{
	struct jobstack_worker *w = calloc(1, sizeof(*w));
	struct claims_read r = {NULL, 0};
	struct js_sql sql = {0};
	int status;

	*out = NULL;
	if (w == NULL)
		return js_error_memory(error);
	w->handle = handle;
	w->stack = *stack;
	w->born_us = -1; /* what is loaded remembers nothing to compare with */
	/* the seq first: if anything moves behind it, the compare-and-set on it will not match */
	js_sql_stmt(&sql,
		    "SELECT worker_id,token,seq,kind,lease_us FROM worker WHERE worker_id=%u AND stack_id=%u AND ended "
		    "IS NULL",
		    id, stack->id);
	status = js_db_query(handle->db, &sql, take_worker, w, error);
	if (status == 0 && w->id == 0)
		status = JOBSTACK_NOTHING;
	js_sql_reset(&sql);
	if (status == 0) {
		js_sql_stmt(&sql, "SELECT " CLAIM_COLUMNS " FROM claim WHERE stack_id=%u AND worker_id=%u", stack->id,
			    id);
		status = js_db_query(handle->db, &sql, take_claim, &r, error);
		w->claims = r.list;
	}
	js_sql_free(&sql);
	if (status == 0 && r.bad)
		status = js_error_set(error, JOBSTACK_EBUG, "a claim in the database makes no sense");
	if (status == 0)
		status = read_closed(w, w->claims, error);
	if (status != 0) {
		jobstack_worker_free(w);
		return status;
	}
	*out = w;
	return 0;
}

/* Who is to be recovered: the worker at this seq, or the one with this token wherever it is. */
struct victim {
	uint64_t worker, seq;
	const unsigned char *token; /* NULL: by seq */
};

/* One try; 1 if it has ended (*ENDED), or is not that one, or moved while it was read. */
static int recover_once(struct jobstack *handle, const struct js_stack *stack, const struct victim *victim,
			const char *reason, uint64_t *taken, int *ended, struct jobstack_error *error)
{
	struct js_worker_end end = {NULL, 0, reason, reason == NULL ? "the worker is gone" : reason};
	struct jobstack_worker *w;
	uint64_t open = 0;
	int status = js_worker_load(handle, stack, victim->worker, &w, error), is_it;

	*ended = status == JOBSTACK_NOTHING;
	if (status != 0)
		return status;
	is_it = victim->token != NULL ? memcmp(victim->token, w->token, sizeof(w->token)) == 0 : victim->seq == w->seq;
	*ended = victim->token != NULL && !is_it;
	for (const struct js_claim *claim = w->claims; claim != NULL; claim = claim->next)
		open += claim->open;
	status = is_it ? js_worker_finish(w, &end, error) : JOBSTACK_NOTHING;
	jobstack_worker_free(w);
	if (status == 0 && taken != NULL)
		*taken = open;
	return status;
}

static int recover(struct jobstack *handle, const char *stack, const struct victim *victim, const char *reason,
		   uint64_t *taken, struct jobstack_error *error)
{
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error), ended = 0, tries = 0;

	if (taken != NULL)
		*taken = 0;
	if (status != 0)
		return status;
	do /* a dead worker's last step can come between, and nothing after it */
		status = recover_once(handle, &s, victim, reason, taken, &ended, error);
	while (status == JOBSTACK_NOTHING && !ended && victim->token != NULL && ++tries < RECOVER_TRIES);
	return status;
}

int jobstack_recover(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq, const char *reason,
		     uint64_t *taken, struct jobstack_error *error)
{
	const struct victim victim = {worker, seq, NULL};

	return recover(handle, stack, &victim, reason, taken, error);
}

int jobstack_recover_own(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
			 const char *reason, uint64_t *taken, struct jobstack_error *error)
{
	const struct victim victim = {worker, 0, token};

	return recover(handle, stack, &victim, reason, taken, error);
}

int jobstack_suspect(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq, const char *suspicion,
		     struct jobstack_error *error)
{
	struct js_sql sql = {0};
	struct js_stack s;
	char text[256];
	int status = js_stack_find(handle, stack, &s, error);

	if (status != 0)
		return status;
	/* the seq goes with it: once the worker has moved, it says nothing any more */
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %s", seq, suspicion);
	js_sql_stmt(&sql, "UPDATE worker SET reason=%x WHERE worker_id=%u AND stack_id=%u AND seq=%u AND ended IS NULL",
		    (const void *)text, strlen(text), worker, s.id, seq);
	js_sql_guard(&sql, 1);
	status = js_db_transaction(handle->db, &sql, NULL, NULL, NULL, NULL, error);
	js_sql_free(&sql);
	return status == JS_DB_GUARD ? JOBSTACK_NOTHING : status;
}

/* What jobstack_suspect left, if it was said at this seq. */
static const char *suspicion(const char *text, uint64_t seq)
{
	char *end;

	if (text == NULL || strtoull(text, &end, 10) != seq || *end != ' ')
		return NULL;
	return end + 1;
}

/* Which of "entry:attempt:start,..." began first, and how long ago. */
static void oldest(const char *running, int64_t now_us, struct jobstack_worker_row *w)
{
	w->longest_us = -1;
	while (running != NULL && *running != '\0') {
		char *end;
		uint64_t entry = strtoull(running, &end, 10);
		int64_t start = *end == ':' && (end = strchr(end + 1, ':')) != NULL ? strtoll(end + 1, NULL, 10) : -1;

		if (start > 0 && now_us - start > w->longest_us) {
			w->longest = entry;
			w->longest_us = now_us - start;
		}
		running = strchr(running, ',');
		running = running == NULL ? NULL : running + 1;
	}
}

struct workers_call {
	jobstack_worker_fn *fn;
	void *ctx;
	int stopped;
};

static void take_worker_row(void *ctx, const struct js_row *row)
{
	struct workers_call *call = ctx;
	struct jobstack_worker_row w;
	unsigned c = 0;

	if (row == NULL || call->stopped)
		return;
	memset(&w, 0, sizeof(w));
	w.worker = js_row_u64(row, c++);
	w.node = row->col[c++];
	w.host = row->col[c++];
	w.boot = row->col[c++];
	w.user = row->col[c++];
	w.cluster = row->col[c++];
	w.job = row->col[c++];
	w.array_job = row->col[c++];
	w.array_task = row->col[c++];
	w.step = row->col[c++];
	w.log = row->col[c++];
	w.pid = js_row_u64(row, c++);
	w.pid_start = js_row_opt(row, c++);
	w.job_start_us = js_row_time(row, c++);
	w.seq = js_row_u64(row, c++);
	w.slots = js_row_u64(row, c++);
	w.done = js_row_u64(row, c++);
	w.dead = js_row_u64(row, c++);
	w.lease_us = js_row_i64(row, c++);
	w.silent_us = js_row_i64(row, c++);
	w.age_us = js_row_i64(row, c++);
	w.by_script = js_row_u64(row, c++) != 0;
	w.running = js_row_u64(row, c++);
	w.suspicion = suspicion(row->col[c++], w.seq);
	oldest(row->col[c], js_row_time(row, c + 1), &w);
	c += 2;
	if (w.by_script && row->col[c] != NULL) { /* one pop, one entry: it has run since */
		w.longest = js_row_u64(row, c);
		w.longest_us = w.age_us;
	}
	call->stopped = call->fn(call->ctx, &w) != 0;
}

int jobstack_workers(struct jobstack *handle, const char *stack, jobstack_worker_fn *fn, void *ctx,
		     struct jobstack_error *error)
{
	struct workers_call call = {fn, ctx, 0};
	struct js_sql sql = {0};
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error);

	if (status != 0)
		return status;
	js_sql_stmt(
		&sql,
		"SELECT w.worker_id,w.node,w.host,w.boot,w.user,w.slurm_cluster,w.slurm_job,w.slurm_array_job,"
		"w.slurm_array_task,w.slurm_step,w.log,w.pid,w.pid_start,w.slurm_start,w.seq,w.slots,w.done,w.dead,"
		"w.lease_us,TIMESTAMPDIFF(MICROSECOND,w.beat,UTC_TIMESTAMP(6)),"
		"TIMESTAMPDIFF(MICROSECOND,w.started,UTC_TIMESTAMP(6)),w.kind,"
		"COALESCE(c.n,0),"
		"w.reason,w.running,UTC_TIMESTAMP(6),IF(w.kind=1,(SELECT IF(d.ids IS "
		"NULL,d.lo,CONV(LEFT(d.ids,10),16,10)) FROM claim d FORCE INDEX(PRIMARY) WHERE d.stack_id=w.stack_id "
		"AND d.worker_id=w.worker_id AND d.lo=d.hi LIMIT 1),NULL) "
		/* the claims in one go along the key: to ask for each of a thousand workers' takes thrice as long */
		"FROM worker w LEFT JOIN (SELECT worker_id,SUM(open) n FROM claim FORCE INDEX(PRIMARY) WHERE "
		"stack_id=%u GROUP BY worker_id) c ON c.worker_id=w.worker_id WHERE w.stack_id=%u AND w.ended IS NULL "
		"ORDER BY w.worker_id",
		s.id, s.id);
	status = js_db_query(handle->db, &sql, take_worker_row, &call, error);
	js_sql_free(&sql);
	return status == 0 && call.stopped ? JOBSTACK_ESTOPPED : status;
}

static void take_idle(void *ctx, const struct js_row *row)
{
	struct jobstack_idle *idle = ctx;

	if (row == NULL)
		return;
	idle->state = (enum jobstack_stack_state)js_row_u64(row, 0);
	idle->ready = js_row_u64(row, 1);
	idle->waiting = js_row_u64(row, 2);
	idle->held = js_row_u64(row, 3);
	idle->next_due_us = js_row_opt(row, 4);
	idle->running = js_row_u64(row, 5);
	idle->workers = js_row_u64(row, 6);
	idle->eldest = row->col[7] == NULL || js_row_u64(row, 7) != 0;
	idle->pushers = js_row_u64(row, 8);
}

int jobstack_worker_idle(struct jobstack_worker *w, struct jobstack_idle *idle, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	memset(idle, 0, sizeof(*idle));
	idle->next_due_us = -1;
	js_sql_add(&sql,
		   "SELECT s.state,COALESCE(p.ready,0),COALESCE(p.waiting,0),COALESCE(p.held,0),p.due,"
		   "(SELECT COALESCE(SUM(open),0) FROM claim WHERE stack_id=%u AND worker_id<>%u),"
		   "(SELECT COUNT(*) FROM worker WHERE stack_id=%u AND ended IS NULL AND kind=0),"
		   "(SELECT MIN(worker_id) FROM worker WHERE stack_id=%u AND ended IS NULL AND kind=0 AND "
		   "beat>UTC_TIMESTAMP(6)-INTERVAL lease_us MICROSECOND)=%u,"
		   "(SELECT COUNT(*) FROM push WHERE stack_id=%u AND ended IS NULL AND "
		   "beat>UTC_TIMESTAMP(6)-INTERVAL 60 SECOND) "
		   "FROM stack s LEFT JOIN (SELECT %u stack_id,SUM(IF(class=0,hi-lo+1,0)) ready,"
		   "SUM(IF(class=1,hi-lo+1,0)) waiting,SUM(IF(class=2,hi-lo+1,0)) held,"
		   "GREATEST(0,TIMESTAMPDIFF(MICROSECOND,UTC_TIMESTAMP(6),MIN(IF(class<>1,NULL,IF(",
		   w->stack.id, w->id, w->stack.id, w->stack.id, w->id, w->stack.id, w->stack.id);
	js_span_due_sql(&sql, &w->stack);
	js_sql_stmt(&sql,
		    ",UTC_TIMESTAMP(6),due))))) due FROM span WHERE stack_id=%u) p ON p.stack_id=s.stack_id WHERE "
		    "s.stack_id=%u",
		    w->stack.id, w->stack.id);
	status = js_db_query(w->handle->db, &sql, take_idle, idle, error);
	js_sql_free(&sql);
	return status;
}

struct durations {
	int64_t *us;
	size_t n, max;
};

static void take_duration(void *ctx, const struct js_row *row)
{
	struct durations *d = ctx;

	if (row == NULL)
		d->n = 0;
	else if (d->n < d->max)
		d->us[d->n++] = js_row_i64(row, 0);
}

int jobstack_worker_durations(struct jobstack_worker *w, int64_t *us, size_t max, size_t *n,
			      struct jobstack_error *error)
{
	struct durations d = {us, 0, max};
	struct js_sql sql = {0};
	int status;

	/* the highest numbers that have attempts are those popped last (LIFO: the lowest); of the primary key, so many
	 * rows only */
	js_sql_stmt(&sql,
		    w->stack.lifo
			    ? "SELECT TIMESTAMPDIFF(MICROSECOND,started,ended) FROM (SELECT outcome,started,ended FROM "
			      "attempt WHERE stack_id=%u ORDER BY stack_id,entry_id,attempt LIMIT %u) a WHERE "
			      "outcome=0 AND started IS NOT NULL"
			    : "SELECT TIMESTAMPDIFF(MICROSECOND,started,ended) FROM (SELECT outcome,started,ended FROM "
			      "attempt WHERE stack_id=%u ORDER BY stack_id DESC,entry_id DESC,attempt DESC LIMIT %u) a "
			      "WHERE outcome=0 AND started IS NOT NULL",
		    w->stack.id, (uint64_t)max);
	status = js_db_query(w->handle->db, &sql, take_duration, &d, error);
	js_sql_free(&sql);
	*n = status == 0 ? d.n : 0;
	return status;
}

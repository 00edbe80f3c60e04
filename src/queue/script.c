/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pop, close and renew for scripts: the claim outlives the process that popped.  Promises: a pop whose reply was lost
 * is found again by its token, or prevented from happening later; a close names (entry, attempt), and repeating it is
 * harmless.
 *
 * A pop makes a row in `worker` (kind 1), with a long lease instead of heartbeats.  A close loads that row and takes a
 * step in its name, or ends it with the last entry.  Two closes of one pop may run at once.  Each step of such a worker
 * leaves a token of its own, so that each knows whether it was its step that moved seq (settle.c).
 */
#include "base/file.h"
#include "queue/batch.h"
#include "queue/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_LEASE_US INT64_C(43200000000) /* 12 hours */
#define RACES_MAX 50
#define POPS_MAX 5	      /* empty ones, while there is something */
#define START_WAIT_US 2000000 /* between two pops while max_starts allows none, at most */

/* Finds the worker row with this token: its number, or 0. */
static int find_token(struct jobstack *handle, const unsigned char token[16], uint64_t *id,
		      struct jobstack_error *error)
{
	int status = js_handle_ask_number(handle, id, error,
					  "SELECT worker_id FROM worker WHERE token=%k AND ended IS NULL", token);

	if (*id == UINT64_MAX)
		*id = 0;
	return status;
}

/* One transaction inserts the worker's row and pops.  If it takes nothing, it deletes the row again, so an empty stack
 * that is polled leaves none.  After a lost reply the packet has been sent again.  Then the first may still arrive,
 * and would pop for nobody: js_worker_void_lost_insert prevents that. */
static int pop_once(struct jobstack *handle, const struct js_stack *s, const struct jobstack_worker_options *o,
		    size_t k, struct jobstack_batch *batch, struct jobstack_error *error)
{
	struct jobstack_worker *w = NULL;
	unsigned char token[16];
	struct js_sql sql = {0};
	uint64_t id;
	int lost, status;

	js_file_random(token, sizeof(token));
	js_span_promote_sql(&sql, s); /* due retries first: there may be no worker to do it */
	JS_TRY(js_db_commit(handle->db, &sql, NULL, error));
	js_worker_insert_sql(&sql, s, token, 1, o);
	js_sql_guard(&sql, 1);
	js_sql_stmt(&sql, "SET @js_w=LAST_INSERT_ID()," JS_SPAN_RESET);
	if (s->limited)
		js_span_lock_limit(&sql, s);
	js_span_pop(&sql, s,
		    &(const struct js_pop){.k = (s->limited & JS_LIMIT_STARTS) != 0 ? 1 : k,
					   .claim_no = 1,
					   .start_us = JOBSTACK_START_LEAST});
	js_sql_stmt(&sql, "UPDATE worker SET seq=1 WHERE worker_id=@js_w");
	js_sql_count(&sql, 1);
	js_sql_piece(&sql, "IF @js_pos IS NULL THEN ");
	js_sql_stmt(&sql, "DELETE FROM worker WHERE worker_id=@js_w AND @js_pos IS NULL");
	js_sql_count(&sql, 1);
	js_sql_piece(&sql, "ELSE SET @js_sum=@js_sum+1;END IF;");
	status = js_db_commit(handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD) /* the stack is being dropped, or is gone */
		return JOBSTACK_NOTHING;
	if (status == JS_DB_DUPLICATE && !lost)
		return js_error_set(error, JOBSTACK_EBUG,
				    "the random identifier of this pop is in use already: try again");
	if (status != 0 && status != JS_DB_DUPLICATE)
		return status;
	JS_TRY(find_token(handle, token, &id, error));
	if (lost) {
		JS_TRY(js_worker_void_lost_insert(handle, s, id, token, 1, o, error));
		if (id == 0)
			JS_TRY(find_token(handle, token, &id, error));
	}
	if (id == 0)
		return JOBSTACK_NOTHING;
	JS_TRY(js_worker_load(handle, s, id, &w, error));
	status = w->claims != NULL ? js_batch_read(handle, s, id, w->claims, batch, error) : JOBSTACK_NOTHING;
	jobstack_worker_free(w);
	return status;
}

/* Returns 0 if there was something to pop after all, else JOBSTACK_NOTHING, or an error.  If all that it lacks is
 * max_starts, *WAIT_US becomes the time until that allows a start, else 0.  A pop that knew of no limit takes nothing
 * where there is one.  A pop that waited for the lock of a span whose priority was being changed finds
 * that the span is gone from where it looked.  And on MariaDB the statement that locks the span may have been skipped.
 */
static int has_more(struct jobstack *handle, const struct js_stack *s, uint64_t *wait_us, struct jobstack_error *error)
{
	JS_TRY(js_handle_ask_number(
		handle, wait_us, error,
		"SELECT IF(max_starts IS NULL,0,(SELECT " JS_SPAN_NEXT_START " FROM running_limit l WHERE "
		"l.stack_id=s.stack_id)) FROM stack s WHERE stack_id=%u AND state=0 AND EXISTS(SELECT 1 FROM span p "
		"WHERE "
		"p.stack_id=s.stack_id AND class=0) AND (max_running IS NULL OR (SELECT COALESCE(SUM(open),0) FROM "
		"claim c WHERE c.stack_id=s.stack_id)<max_running)",
		s->id));
	return *wait_us == UINT64_MAX ? JOBSTACK_NOTHING : 0;
}

int jobstack_pop(struct jobstack *handle, const char *stack, const struct jobstack_worker_options *options, size_t k,
		 struct jobstack_batch *batch, struct jobstack_error *error)
{
	struct jobstack_worker_options o = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_batch got = JOBSTACK_BATCH_INIT;
	struct js_stack s;
	uint64_t wait_us;
	int status;

	JS_TRY(js_grow_in(&o, options, "jobstack_worker_options", error));
	JS_TRY(js_grow_begin(batch, &got, "jobstack_batch", error));
	if (k < 1 || k > JOBSTACK_POP_MAX || batch == NULL)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "a pop needs a number of entries from 1 to %d, and a batch for them",
				    JOBSTACK_POP_MAX);
	if (o.lease_us <= 0)
		o.lease_us = SCRIPT_LEASE_US;
	status = js_stack_find(handle, stack, &s, error);
	for (int tries = 0; status == 0; tries++) {
		status = pop_once(handle, &s, &o, k, &got, error);
		if (status != JOBSTACK_NOTHING || tries == POPS_MAX)
			break;
		status = has_more(handle, &s, &wait_us, error);
		if (status == 0 && wait_us > 0) { /* others wait, too: they don't all come back at once */
			wait_us = wait_us < START_WAIT_US ? wait_us : START_WAIT_US;
			status = js_db_nap(handle->db, (int64_t)wait_us + jobstack_now_us() % JOBSTACK_START_LEAST,
					   error);
			tries = 0;
		}
		JS_THEN(status, js_stack_find(handle, stack, &s, error));
	}
	js_grow_out(batch, &got);
	return status;
}

/* What the database says of an entry and one of its attempts: who holds it, and how that attempt ended. */
struct entry_state {
	uint64_t worker, attempt;   /* of the claim; worker 0: none */
	int64_t outcome, exit_code; /* of the attempt asked about; outcome -1: none */
	int exists, newer;	    /* the entry is there; a later attempt than that is on record */
	unsigned claim_stmt, attempt_stmt, newer_stmt, entry_stmt;
	int64_t signal;
	int by_worker;
	char node[128];
};

static void take_entry_state(void *ctx, const struct js_row *row)
{
	struct entry_state *h = ctx;

	if (row == NULL) {
		h->worker = 0;
		h->outcome = -1;
		h->exists = h->newer = 0;
	} else if (row->stmt == h->claim_stmt) {
		h->worker = js_row_u64(row, 0);
		h->attempt = js_row_u64(row, 1);
		h->by_worker = js_row_u64(row, 2) == 0;
		(void)strncpy(h->node, row->col[3] == NULL ? "?" : row->col[3], sizeof(h->node) - 1);
	} else if (row->stmt == h->attempt_stmt) {
		h->outcome = js_row_i64(row, 0);
		h->exit_code = js_row_opt(row, 1);
		h->signal = js_row_i64(row, 2);
	} else if (row->stmt == h->newer_stmt)
		h->newer = js_row_u64(row, 0) != 0;
	else
		h->exists = 1;
}

static int read_entry_state(struct jobstack *handle, const struct js_stack *s, uint64_t entry, uint32_t attempt,
			    struct entry_state *h, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	memset(h, 0, sizeof(*h));
	/* the attempt is read before the claim: between the two it can only be closed, which the caller's step finds
	 * out */
	h->attempt_stmt = js_sql_stmt(
		&sql, "SELECT outcome,exit_code,signo FROM attempt WHERE stack_id=%u AND entry_id=%u AND attempt=%u",
		s->id, entry, (uint64_t)attempt);
	h->claim_stmt =
		js_sql_stmt(&sql,
			    "SELECT c.worker_id,c.attempt,w.kind,w.node FROM claim c JOIN worker w "
			    "USING(worker_id) WHERE c.stack_id=%u AND ((c.ids IS NULL AND %u BETWEEN c.lo AND c.hi) OR "
			    "LOCATE(CONCAT(LPAD(HEX(%u),10,'0'),','),c.ids)>0) AND NOT EXISTS(SELECT 1 FROM attempt a "
			    "WHERE a.stack_id=c.stack_id AND a.entry_id=%u AND a.attempt=c.attempt)",
			    s->id, entry, entry, entry);
	h->newer_stmt = js_sql_stmt(
		&sql, "SELECT EXISTS(SELECT 1 FROM attempt WHERE stack_id=%u AND entry_id=%u AND attempt>%u)", s->id,
		entry, (uint64_t)attempt);
	h->entry_stmt = js_sql_stmt(&sql, "SELECT 1 FROM entry WHERE stack_id=%u AND entry_id=%u", s->id, entry);
	return js_db_query(handle->db, &sql, take_entry_state, h, error);
}

/* Refuses with "entry 7, attempt 2, ...". */
static int refuse_attempt(const struct jobstack_outcome *o, int code, const char *words, struct jobstack_error *error)
{
	return js_error_set(error, code, "entry %" PRIu64 ", attempt %" PRIu32 ", %s", o->entry, o->attempt, words);
}

static int refuse_lease(const struct jobstack_outcome *o, const char *more, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_NOTHING, "the lease of entry %" PRIu64 ", attempt %" PRIu32 ", is gone%s",
			    o->entry, o->attempt, more);
}

/* Judges by what was read whether this outcome can be delivered: 2 if it can, 0 if it was closed with the same outcome
 * before, else the answer for the caller. */
static int judge_close(const struct entry_state *h, const char *stack, const struct jobstack_outcome *o,
		       struct jobstack_error *error)
{
	static const char *const word[] = {"done", "failed", "lost", "interrupted"};

	if (h->outcome >= 0) {
		if (h->outcome == (int64_t)o->verdict && h->exit_code == o->exit_code)
			return 0;
		if (h->outcome == JOBSTACK_LOST)
			return refuse_lease(o, ": its attempt was recorded as lost", error);
		return js_error_set(error, JOBSTACK_NOTHING,
				    "entry %" PRIu64 ", attempt %" PRIu32 ", was already closed as %s (exit %" PRId64
				    "): that outcome is kept",
				    o->entry, o->attempt, h->outcome < 4 ? word[h->outcome] : "?", h->exit_code);
	}
	if (!h->exists)
		return js_stack_refuse_entry(stack, o->entry, error);
	if (h->worker != 0 && h->attempt == o->attempt && !h->by_worker)
		return 2;
	if (h->worker != 0 && h->attempt == o->attempt)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "entry %" PRIu64 " is held by worker %" PRIu64 " on %s, which will close it",
				    o->entry, h->worker, h->node);
	if (h->newer || (h->worker != 0 && h->attempt > o->attempt))
		return refuse_lease(o, "", error);
	return refuse_attempt(o, JOBSTACK_EMISSING,
			      "was never popped, or the database was set back to a time before the pop", error);
}

/* Closes one entry that judge_close found closable: by a step, or, if it is the last that the pop holds, by the end of
 * its row.  JOBSTACK_NOTHING: somebody has changed it since it was read; it must be read again. */
static int close_held(struct jobstack *handle, const struct js_stack *s, const struct entry_state *h,
		      const struct jobstack_outcome *o, struct jobstack_error *error)
{
	struct jobstack_worker *w;
	size_t place;
	int status;

	JS_TRY(js_worker_load(handle, s, h->worker, &w, error));
	if (js_claim_find_marked(w->claims, o->entry, o->attempt, JS_OPEN, &place) == NULL)
		status = JOBSTACK_NOTHING;
	else if (js_claim_open(w->claims) == 1)
		status = js_worker_finish(w, &(const struct js_worker_end){.outcomes = o, .n = 1, .reason = "closed"},
					  error);
	else
		status = js_worker_step(w, &(const struct jobstack_step){.outcomes = o, .outcomes_n = 1}, NULL, NULL,
					error);
	jobstack_worker_free(w);
	return status;
}

static int close_all(struct jobstack *handle, const char *stack, const struct jobstack_outcome *outcomes, size_t n,
		     int *results, struct jobstack_error *error)
{
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error), first = 0, failed = 0;

	for (size_t i = 0; status == 0 && i < n; i++) {
		struct entry_state h;
		int result = 2;

		for (unsigned race = 0; status == 0 && result == 2; race++) {
			status = read_entry_state(handle, &s, outcomes[i].entry, outcomes[i].attempt, &h, error);
			if (status == 0)
				result = judge_close(&h, stack, &outcomes[i], error);
			if (status != 0 || result != 2)
				break;
			status = close_held(handle, &s, &h, &outcomes[i], error);
			if (status == 0)
				result = 0;
			else if (status == JOBSTACK_NOTHING && race < RACES_MAX)
				status = 0; /* another close of the same pop came between */
			else if (status == JOBSTACK_NOTHING)
				status = refuse_attempt(
					&outcomes[i], JOBSTACK_EBUG,
					"could not be closed: each try was refused, though nobody else holds it",
					error);
		}
		if (status != 0)
			break;
		if (results != NULL)
			results[i] = result;
		if (first == 0)
			first = result;
		failed |= outcomes[i].verdict == JOBSTACK_FAILED;
	}
	if (status == 0 && failed) { /* if this fails now, the next close does it */
		struct jobstack_error none = JOBSTACK_ERROR_INIT;

		(void)js_stack_halt(handle, &s, &none);
	}
	return status != 0 ? status : first;
}

int jobstack_close(struct jobstack *handle, const char *stack, const struct jobstack_outcome *outcomes, size_t n,
		   int *results, struct jobstack_error *error)
{
	struct js_outcomes all;
	int status = js_outcomes_take(&all, outcomes, n, error);

	JS_THEN(status, close_all(handle, stack, all.at, n, results, error));
	free(all.memory);
	return status;
}

int jobstack_renew(struct jobstack *handle, const char *stack, uint64_t entry, uint32_t attempt, int64_t lease_us,
		   struct jobstack_error *error)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	struct js_sql sql = {0};
	struct js_stack s;
	struct entry_state h;
	int status;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	JS_TRY(read_entry_state(handle, &s, entry, attempt, &h, error));
	o.entry = entry;
	o.attempt = attempt;
	if (h.outcome >= 0)
		return refuse_attempt(&o, JOBSTACK_NOTHING, "is closed already", error);
	status = judge_close(&h, stack, &o, error);
	if (status != 2)
		return status;
	js_sql_add(&sql, "UPDATE worker SET seq=seq+1,beat=UTC_TIMESTAMP(6)");
	if (lease_us > 0)
		js_sql_add(&sql, ",lease_us=%d", lease_us);
	js_sql_must(&sql, " WHERE worker_id=%u AND ended IS NULL", h.worker);
	status = js_db_commit(handle->db, &sql, NULL, error);
	if (status == JS_DB_GUARD)
		return refuse_lease(&o, "", error);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Replay: delivers outcomes of a worker that is gone, and ends its row.  Promises: only entries that this worker
 * holds are closed, behind the same fence as its own steps; outcomes of entries that were recovered meanwhile are
 * reported and change nothing; repeating it is harmless.
 *
 * The worker is loaded from the database, as in a recovery.  Its open entries are closed by steps in its name, and the
 * last transaction ends its row.  What became of each outcome is then read from the records: an outcome that was
 * delivered before looks the same, and one that came too late finds another record, or none.
 */
#include "base/attempt.h"
#include "queue/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RACES_MAX 50
#define FINISH_MAX 2000 /* outcomes in the transaction that ends the row; no worker holds more */
#define RECORDS_MAX 500 /* entries whose attempts are read at once */

/* What one call of jobstack_replay works with. */
struct replay {
	struct jobstack *handle;
	struct js_stack stack;
	uint64_t worker;
	const unsigned char *token;
	const struct jobstack_outcome *outcomes;
	size_t n;
	enum jobstack_cause cause; /* of what is lost */
	const char *lost;
	unsigned char *closed;	       /* one per outcome: closed by this call */
	struct jobstack_outcome *held; /* the outcomes of entries that the worker holds, */
	size_t *which, held_n;	       /* their places in `outcomes`, and how many they are */
	enum jobstack_replayed *results;
};

static int refuse_replay(const struct replay *r, const char *why, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_ECONFLICT,
			    "the outcomes of worker %" PRIu64
			    " of the stack \"%s\" can't be delivered: %s (has the database lost its "
			    "last transactions?): nothing was changed",
			    r->worker, r->stack.name, why);
}

/* The row has ended, or is not there.  Returns 0 if it has ended: somebody was faster, and the records tell the rest.
 * JOBSTACK_ECONFLICT if the database has never had it, or has lost it. */
static int check_ended(const struct replay *r, struct jobstack_error *error)
{
	uint64_t there;

	JS_TRY(js_handle_ask_number(r->handle, &there, error, "SELECT 1 FROM worker WHERE worker_id=%u AND stack_id=%u",
				    r->worker, r->stack.id));
	return there == UINT64_MAX ? refuse_replay(r, "the database does not know that worker", error) : 0;
}

/* Gathers the outcomes of entries that the worker still holds. */
static void gather_held(struct replay *r, struct jobstack_worker *w)
{
	r->held_n = 0;
	for (size_t i = 0; i < r->n; i++) {
		size_t place;
		struct js_claim *claim = js_claim_find(w->claims, r->outcomes[i].entry, r->outcomes[i].attempt, &place);

		if (claim == NULL || claim->mark[place] != JS_OPEN || r->outcomes[i].verdict == JOBSTACK_LOST)
			continue;
		claim->mark[place] = JS_CLOSING; /* a second outcome of the same entry is left out */
		r->which[r->held_n] = i;
		r->held[r->held_n++] = r->outcomes[i];
	}
	js_claim_settle(&w->claims, 0);
}

/* Closes what W holds and ends it.  JOBSTACK_NOTHING: somebody was there before; look again. */
static int deliver_to(struct replay *r, struct jobstack_worker *w, struct jobstack_error *error)
{
	struct js_worker_end end = {.cause = r->cause,
				    .reason = r->lost != NULL ? r->lost
							      : "its outcomes were delivered after it had ended",
				    .lost = r->lost};
	size_t at = 0;
	int status = 0;

	gather_held(r, w);
	while (status == 0 && r->held_n - at > FINISH_MAX) {
		const struct jobstack_step step = {.outcomes = r->held + at, .outcomes_n = FINISH_MAX};

		status = js_worker_step(w, &step, NULL, NULL, error);
		for (size_t i = 0; status == 0 && i < FINISH_MAX; i++)
			r->closed[r->which[at++]] = 1;
	}
	end.outcomes = r->held + at;
	end.n = r->held_n - at;
	JS_THEN(status, js_worker_finish(w, &end, error));
	for (; status == 0 && at < r->held_n; at++)
		r->closed[r->which[at]] = 1;
	return status;
}

/* Delivers what can be delivered, if the row has not ended.  If the worker moves in between, it is loaded again.  One
 * that keeps moving is alive. */
static int deliver_held(struct replay *r, struct jobstack_error *error)
{
	struct jobstack_worker *w;
	int status;

	for (unsigned race = 0; race < RACES_MAX; race++) {
		status = js_worker_load(r->handle, &r->stack, r->worker, &w, error);
		if (status == JOBSTACK_NOTHING)
			return check_ended(r, error);
		if (status != 0)
			return status;
		status = memcmp(w->token, r->token, sizeof(w->token)) == 0
				 ? deliver_to(r, w, error)
				 : refuse_replay(r, "its number belongs to another worker now", error);
		jobstack_worker_free(w);
		if (status != JOBSTACK_NOTHING)
			return status;
	}
	return js_error_set(error, JOBSTACK_ECONFLICT, "worker %" PRIu64 " is still running", r->worker);
}

/* A query for the records of N outcomes, from AT on. */
struct records {
	struct replay *r;
	size_t at, n;
};

/* Returns whether the record of this attempt is the very outcome.  What the command used is compared, too: after a
 * failover that lost commits, another worker may have this worker's number. */
static int is_same_outcome(const struct jobstack_outcome *o, const struct js_row *row)
{
	int alike = js_row_i64(row, 3) == (int64_t)o->verdict && js_row_opt(row, 4) == o->exit_code &&
		    js_row_opt(row, 5) == (o->signal > 0 ? o->signal : -1) && js_row_opt(row, 6) == o->log_at;
	unsigned c = 7;

#define USED_ALIKE(member, ...) alike = alike && js_row_opt(row, c++) == o->member;
	JS_ATTEMPT_USAGE(USED_ALIKE)
	return alike;
}

/* Compares a record with the outcomes that it may be of.  Without a record an outcome was too late, since what
 * recovered the entry has put it elsewhere; but an entry that never ran leaves none anyway. */
static void take_record(void *ctx, const struct js_row *row)
{
	const struct records *records = ctx;
	struct replay *r = records->r;

	for (size_t i = records->at; i < records->at + records->n; i++) {
		const struct jobstack_outcome *o = &r->outcomes[i];

		if (row == NULL) { /* what never ran leaves no record */
			r->results[i] = o->verdict == JOBSTACK_UNSTARTED ? JOBSTACK_REPLAYED_BEFORE : JOBSTACK_TOO_LATE;
			continue;
		}
		if (js_row_u64(row, 0) != o->entry || js_row_u64(row, 1) != o->attempt ||
		    js_row_u64(row, 2) != r->worker)
			continue;
		if (o->verdict == JOBSTACK_UNSTARTED)
			r->results[i] =
				js_row_i64(row, 3) == JOBSTACK_LOST ? JOBSTACK_TOO_LATE : JOBSTACK_REPLAYED_BEFORE;
		else
			r->results[i] = is_same_outcome(o, row) ? JOBSTACK_REPLAYED_BEFORE : JOBSTACK_TOO_LATE;
	}
}

/* Judges the outcomes that were not closed now by the records. */
static int judge_records(struct replay *r, struct jobstack_error *error)
{
	for (size_t at = 0; at < r->n; at += RECORDS_MAX) {
		struct records records = {r, at, r->n - at < RECORDS_MAX ? r->n - at : RECORDS_MAX};
		struct js_sql sql = {0};

		js_sql_add(&sql, "SELECT entry_id,attempt,worker_id,outcome,exit_code,signo,log_at");
		js_sql_add(&sql,
			   JS_ATTEMPT_USAGE(JS_COLUMN_NAME) " FROM attempt WHERE stack_id=%u AND entry_id IN(NULL",
			   r->stack.id);
		for (size_t i = at; i < at + records.n; i++)
			js_sql_add(&sql, ",%u", r->outcomes[i].entry);
		js_sql_stmt(&sql, ")");
		JS_TRY(js_db_query(r->handle->db, &sql, take_record, &records, error));
	}
	for (size_t i = 0; i < r->n; i++) /* what was closed, unless another outcome was there already */
		if (r->closed[i] && r->results[i] == JOBSTACK_REPLAYED_BEFORE)
			r->results[i] = JOBSTACK_REPLAYED;
	return 0;
}

int jobstack_replay(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
		    const struct jobstack_outcome *outcomes, size_t n, enum jobstack_cause cause, const char *lost,
		    enum jobstack_replayed *results, struct jobstack_error *error)
{
	struct replay r = {.handle = handle, .worker = worker, .token = token, .n = n, .cause = cause, .lost = lost};
	struct js_outcomes all;
	int status = js_outcomes_take(&all, outcomes, n, error), late = 0;

	r.outcomes = all.at;
	JS_THEN(status, js_stack_find(handle, stack, &r.stack, error));
	if (status != 0) {
		free(all.memory);
		return status;
	}
	r.closed = calloc(n + 1, 1);
	r.held = calloc(n + 1, sizeof(*r.held));
	r.which = calloc(n + 1, sizeof(*r.which));
	r.results = calloc(n + 1, sizeof(*r.results));
	if (r.closed == NULL || r.held == NULL || r.which == NULL || r.results == NULL)
		status = js_error_memory(error);
	JS_THEN(status, deliver_held(&r, error));
	JS_THEN(status, judge_records(&r, error));
	for (size_t i = 0; status == 0 && i < n; i++) {
		late |= r.results[i] == JOBSTACK_TOO_LATE;
		if (results != NULL)
			results[i] = r.results[i];
	}
	free(r.results);
	free(r.which);
	free(r.held);
	free(r.closed);
	free(all.memory);
	return status == 0 && late ? JOBSTACK_NOTHING : status;
}

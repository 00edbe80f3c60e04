/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The end of a worker: its own, or its recovery by others.  Promises: one transaction behind the same fence as its
 * steps closes all that it holds, moves its counts to the stack's row, and sets `ended`; of two ends at once, one
 * happens.
 */
#include "queue/worker.h"

#include <stdlib.h>
#include <string.h>

/* The end's packet: the stack row is locked first, because its counters take in the worker's.  The rest has a step's
 * order: fence, closed attempts, claims, attempts, set_aside, spans.
 *
 * The worker's `done` and `dead` are read into variables and added, in one transaction with `ended`.  status adds the
 * counters of workers that have not ended to the stack's, so at each moment an entry counts once. */
static int finish_sql(struct jobstack_worker *w, const struct js_closing *closing, const struct js_worker_end *end,
		      const struct js_claim_sums *sums, struct js_sql *sql, struct jobstack_error *error)
{
	size_t len = end->reason == NULL ? 0 : strlen(end->reason);
	struct js_closed_list closed = {0};

	js_closed_write(&closed.text, closing->outcomes, closing->n);
	js_claim_times(closing, &closed);
	js_stack_lock_sql(sql, w->stack.id);
	js_closed_take_sql(sql, w->id);
	js_sql_add(sql,
		   "UPDATE worker SET seq=seq+1,ended=UTC_TIMESTAMP(6),cause=%u,reason=%x,done=done+%u,dead=dead+%u,"
		   "running=NULL,newest=GREATEST(newest,%u),closed=NULL,token=%k WHERE worker_id=%u AND token=%k AND "
		   "seq=%u AND ended IS NULL",
		   (uint64_t)end->cause, (const void *)end->reason, len > 255 ? 255 : len, sums->done, sums->dead,
		   closed.newest, w->next, w->id, w->token, w->seq);
	/* It was loaded: a request to kill that came since must hold, too.  While seq is the same the column only
	 * grows, so its length shows whether it is the one that was read. */
	if (w->born_us < 0)
		js_sql_add(sql, " AND COALESCE(LENGTH(kills),0)=%u", w->kills_len);
	js_sql_stmt(sql, "");
	js_sql_guard(sql, 1);
	js_closed_store_sql(sql, &w->stack, (struct jobstack_seen){.worker = w->id, .seq = w->seq + 1}, &closed, 1);
	js_buf_free(&closed.text);
	js_claim_close_sql(closing, sql);
	/* signed: the stack's own counts are below zero when what living workers did was requeued, and the sum would be
	 * taken as unsigned, out of range (1690, as if a guard had said no) */
	js_sql_stmt(
		sql,
		"SELECT CAST(done AS SIGNED),CAST(dead AS SIGNED) INTO @js_lo,@js_hi FROM worker WHERE worker_id=%u",
		w->id);
	js_sql_count(sql, 1);
	js_sql_stmt(sql, "UPDATE stack SET done=done+@js_lo,dead=dead+@js_hi WHERE stack_id=%u", w->stack.id);
	js_sql_count(sql, 1);
	return js_claim_spans_sql(closing, sql, error);
}

/* One try, with the memory for its outcomes: those that END has; then, in a recovery, entries that somebody asked to
 * kill, which are dead; and then all the others, which are lost in a recovery, and else go back unstarted.
 * JS_DB_DUPLICATE: again, without some of them.  LOOKS: nothing is sent yet, and js_worker_skip looks which of them to
 * leave out. */
static int try_finish(struct jobstack_worker *w, const struct js_worker_end *end, int looks,
		      struct jobstack_outcome *all, struct jobstack_error *error)
{
	struct js_closing closing = {&w->stack, w->handle->db, w->id, w->claims, all, end->n, jobstack_now_us(), 0};
	char kills[sizeof(w->kills)]; /* js_kill_close cuts it */
	struct js_claim_sums sums;
	struct js_sql sql = {0};
	int lost = 0, status;

	for (size_t i = 0; i < end->n; i++)
		all[i] = end->outcomes[i];
	memcpy(kills, w->kills, sizeof(kills));
	JS_TRY(js_claim_mark_closing(w->claims, &w->stack, all, &closing.n, &sums, error));
	if (end->lost != NULL)
		closing.n += js_kill_close(kills, w->claims, all + closing.n, &sums);
	closing.n += js_claim_close_rest(w->claims, &w->stack, end->cause, end->lost, all + closing.n, &sums);
	status = looks ? JS_DB_DUPLICATE : finish_sql(w, &closing, end, &sums, &sql, error);
	JS_THEN(status, js_db_commit(w->handle->db, &sql, &lost, error));
	if (status == JS_DB_GUARD)
		status = js_worker_settle(w, lost, 1, error);
	js_claim_settle(&w->claims, status == 0);
	if (status == 0)
		w->seq++;
	if (end->closed != NULL)
		*end->closed = closing.n;
	js_sql_free(&sql);
	return status == JS_DB_DUPLICATE ? js_worker_skip(w, all, closing.n, end->lost != NULL, !looks, error) : status;
}

int js_worker_finish(struct jobstack_worker *w, const struct js_worker_end *end, struct jobstack_error *error)
{
	struct jobstack_outcome *all;
	int status;

	/* the first try of that step may still be committed, and would change what this end is made from */
	if (w->unsettled)
		return js_error_set(
			error, JOBSTACK_EUSAGE,
			"it is not known whether the last step was committed: repeat it before the worker ends");
	all = calloc(end->n + js_claim_open(w->claims) + 1, sizeof(*all));
	status = all == NULL ? js_error_memory(error) : try_finish(w, end, end->damaged, all, error);
	while (status == JS_DB_DUPLICATE)
		status = try_finish(w, end, 0, all, error);
	free(all);
	return status;
}

int jobstack_worker_end(struct jobstack_worker *w, const struct jobstack_outcome *outcomes, size_t n,
			enum jobstack_cause cause, const char *reason, struct jobstack_error *error)
{
	struct js_worker_end end = {.n = n, .cause = cause, .reason = reason};
	struct js_outcomes all;
	int status = js_outcomes_take(&all, outcomes, n, error);

	end.outcomes = all.at;
	JS_THEN(status, js_worker_settle_heartbeat(w, error));
	JS_THEN(status, js_worker_finish(w, &end, error));
	free(all.memory);
	return status;
}

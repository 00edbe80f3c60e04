/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Recovery of a worker that is known to be dead, and what is suspected of one.  Promise: a worker that has moved
 * since it was looked at keeps what it holds.
 *
 * Who is dead is decided elsewhere (src/death).  Here the worker is loaded, and its end is written in its place, behind
 * the same fence as its own steps: with the seq that was read when the proof was sought.  If the worker has taken a
 * step since, that seq is gone, and nothing happens.
 */
#include "queue/worker.h"

#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECOVER_TRIES 20 /* how often a worker that is named by its token may move in between */

/* The worker to recover: the one at this seq, or the one with this token at any seq. */
struct lost_worker {
	uint64_t worker, seq;
	const unsigned char *token; /* NULL: by seq */
	enum jobstack_cause cause;  /* of its loss */
};

/* One try.  Returns 1 if the worker has ended (*ENDED), or is another one, or has moved since: then its entries are not
 * lost. */
static int recover_once(struct jobstack *handle, const struct js_stack *stack, const struct lost_worker *who,
			const char *reason, uint64_t *taken, int *ended, struct jobstack_error *error)
{
	uint64_t closed;
	struct js_worker_end end = {.cause = who->cause,
				    .reason = reason,
				    .lost = reason == NULL ? "the worker is gone" : reason,
				    .closed = &closed};
	struct jobstack_worker *w;
	int status = js_worker_load(handle, stack, who->worker, &w, error), is_it;

	*ended = status == JOBSTACK_NOTHING;
	if (status != 0)
		return status;
	end.damaged = w->reopened;
	is_it = who->token != NULL ? memcmp(who->token, w->token, sizeof(w->token)) == 0 : who->seq == w->seq;
	*ended = who->token != NULL && !is_it;
	status = is_it ? js_worker_finish(w, &end, error) : JOBSTACK_NOTHING;
	jobstack_worker_free(w);
	if (status == 0 && taken != NULL)
		*taken = closed;
	return status;
}

static int recover_lost_worker(struct jobstack *handle, const char *stack, const struct lost_worker *who,
			       const char *reason, uint64_t *taken, struct jobstack_error *error)
{
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error), ended = 0, tries = 0;

	if (taken != NULL)
		*taken = 0;
	if (status != 0)
		return status;
	do /* a dead worker's last step can come between, and nothing after it */
		status = recover_once(handle, &s, who, reason, taken, &ended, error);
	while (status == JOBSTACK_NOTHING && !ended && who->token != NULL && ++tries < RECOVER_TRIES);
	return status;
}

int jobstack_recover(struct jobstack *handle, const char *stack, struct jobstack_seen seen, enum jobstack_cause cause,
		     const char *reason, uint64_t *taken, struct jobstack_error *error)
{
	const struct lost_worker who = {seen.worker, seen.seq, NULL, cause};

	return recover_lost_worker(handle, stack, &who, reason, taken, error);
}

int jobstack_recover_own(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
			 enum jobstack_cause cause, const char *reason, uint64_t *taken, struct jobstack_error *error)
{
	const struct lost_worker who = {worker, 0, token, cause};

	return recover_lost_worker(handle, stack, &who, reason, taken, error);
}

/* Makes a worker that has ended, or whose row was pruned, one that has not ended, so that it can be recovered like any
 * other.  Its counts go from the stack's row back to its own, since its end will add them again.  The new token is
 * ours: nobody else can take a step in this worker's name.  slots=0 marks the row for others (js_worker_skip): of two
 * claims that hold the same entry, that of a worker which never ended counts. */
static int reopen_worker(struct jobstack *handle, const struct js_stack *stack, uint64_t worker,
			 const unsigned char token[16], struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status, lost;

	js_stack_lock_sql(&sql, stack->id);
	js_sql_stmt(&sql,
		    "INSERT IGNORE INTO worker(worker_id,token,stack_id,kind,started,beat,ended,lease_us,slots) "
		    "VALUES(%u,%k,%u,0,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),1000000,0)",
		    worker, token, stack->id);
	js_sql_must(&sql,
		    "UPDATE worker SET ended=NULL,slots=0,seq=seq+1,token=%k,cause=NULL,reason=NULL,kills=NULL WHERE "
		    "worker_id=%u AND "
		    "stack_id=%u AND ended IS NOT NULL",
		    token, worker, stack->id);
	js_sql_stmt(
		&sql,
		"SELECT CAST(done AS SIGNED),CAST(dead AS SIGNED) INTO @js_lo,@js_hi FROM worker WHERE worker_id=%u",
		worker);
	js_sql_must(&sql, "UPDATE stack SET done=done-@js_lo,dead=dead-@js_hi WHERE stack_id=%u", stack->id);
	status = js_db_commit(handle->db, &sql, &lost, error);
	return status == JS_DB_GUARD ? (lost ? 0 : JOBSTACK_NOTHING) : status;
}

/* Claims of workers that have ended or are gone, as far as they can be read: their places are in order, and a list has
 * as many numbers as it says.  What can't be read stays, for `jobstack check`. */
#define LEFT                                                                                                           \
	" FROM stack s JOIN claim c ON c.stack_id=s.stack_id LEFT JOIN worker w ON w.worker_id=c.worker_id WHERE "     \
	"s.name=%s AND c.worker_id>%u AND (w.worker_id IS NULL OR (w.ended IS NOT NULL AND w.stack_id=s.stack_id)) "   \
	"AND c.hi>=c.lo AND IF(c.ids IS NULL,c.lo>0,c.hi<LENGTH(c.ids) DIV 11 AND UNHEX(REPLACE(c.ids,',','')) IS "    \
	"NOT NULL)"

int jobstack_recover_left(struct jobstack *handle, const char *stack, int dry_run, uint64_t *worker, uint64_t *taken,
			  struct jobstack_error *error)
{
	unsigned char token[16];
	struct lost_worker who = {.token = token, .cause = JOBSTACK_CAUSE_WORKER};
	struct js_stack s;
	int status;

	*taken = 0;
	JS_TRY(js_handle_ask_number(handle, &who.worker, error,
				    "SELECT c.worker_id" LEFT " ORDER BY c.worker_id LIMIT 1", stack, *worker));
	if (who.worker == UINT64_MAX)
		return JOBSTACK_NOTHING;
	*worker = who.worker;
	if (dry_run)
		return js_handle_ask_number(handle, taken, error, "SELECT SUM(c.open)" LEFT " AND c.worker_id=%u",
					    stack, who.worker - 1, who.worker);
	js_file_random(token, sizeof(token));
	JS_TRY(js_stack_find(handle, stack, &s, error));
	status = reopen_worker(handle, &s, who.worker, token, error);
	JS_THEN(status,
		recover_lost_worker(handle, stack, &who, "it had ended before, and left a claim behind", taken, error));
	return status < 0 ? status : 0; /* 1: somebody else was faster */
}

int jobstack_suspect(struct jobstack *handle, const char *stack, struct jobstack_seen seen, enum jobstack_cause cause,
		     const char *suspicion, struct jobstack_error *error)
{
	struct js_stack s;
	char text[256];
	int status;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	/* the seq goes with it: once the worker has moved, it says nothing any more */
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %s", seen.seq, suspicion);
	status = js_handle_change(
		handle, 1, NULL, error,
		"UPDATE worker SET cause=%u,reason=%s WHERE worker_id=%u AND stack_id=%u AND seq=%u AND ended IS NULL",
		(uint64_t)cause, (const char *)text, seen.worker, s.id, seen.seq);
	return status == JS_DB_GUARD ? JOBSTACK_NOTHING : status;
}

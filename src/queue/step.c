/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker's steps: each closes what has ended, claims what comes next, and is a heartbeat.  Promises: a step is one
 * transaction behind the fence (a compare-and-set on the worker's own row); a step whose reply was lost is settled by
 * the same compare-and-set (settle.c), never by a guess; a worker that was declared dead changes nothing any more.
 *
 * The packet, in the lock order:
 *
 *   1. the fence: UPDATE of the worker's row, and a guard; the list of closed attempts is stored with it
 *   2. with max_running: the row in `running_limit` is locked
 *   3. what was closed: claims, attempts, set_aside
 *   4. the pop: a span is locked and cut, and the claim is written
 *   5. spans for entries that go back
 *   6. COMMIT; then, in the same packet, reads: what was popped, and the stack's policy
 *
 * What a try can lead to, and what follows:
 *
 *   committed            the popped entries are taken from the reply
 *   JS_DB_GUARD          a guard stopped it: js_worker_settle finds out whether an earlier try had been committed.
 *                        If so, the popped entries are read from the database; if not, it says why (settle.c).
 *   JS_DB_DUPLICATE      a damaged ledger: again, without the outcomes that are there already (js_worker_skip)
 *   no answer            the step is unsettled: only the very same step may follow
 */
#include "queue/worker.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "queue/batch.h"
#include "queue/closed.h"
#include "queue/running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While a stack has more live workers than CROWD, each pop first takes one of LOCKS user locks.  So at most LOCKS pops
 * compete for row locks at once, which is enough to fill one flush to the disk.  A pop waits for its lock for at most
 * LOCK_WAIT_S, or a quarter of its lease. */
#define CROWD 32
#define LOCKS 16
#define LOCK_WAIT_S 5
/* How often a worker with quick steps reads the policy: it costs a fifth of a step. */
#define POLICY_US (JS_SECOND_US / 2)
/* Pops use shards from this many workers and this commit time on: below that, pops seldom wait for each other. */
#define SHARDS_FROM 4
#define SLOW_COMMIT_US 1000

/* A step that is under way: what it is made of, and what its tail brings. */
struct stepping {
	struct jobstack_worker *w;
	size_t k;     /* entries to claim */
	size_t fresh; /* as in jobstack_step */
	struct js_closing closing;
	struct js_pop pop;
	struct js_claim_sums sums;    /* what it adds to the worker's counters */
	struct js_buf running;	      /* the column's new value; without data it stays as it is */
	struct js_closed_list closed; /* the attempts that it closes */
	struct js_sql sql, tail;
	unsigned taken_stmt, entry_stmt, stack_stmt; /* numbers of the statements; 0: it is not there */
	struct jobstack_step_report *report;	     /* the caller's; may be NULL */
	struct js_claim *claim;			     /* what was popped; NULL: nothing */
	struct jobstack_batch *batch;		     /* the caller's; its datapaths */
	int memory, damaged;			     /* there was no memory for the claim; its list can't be read */
	int64_t next_start_us;			     /* as in struct jobstack_step_report */
};

/* Reads the row of js_span_taken_sql: what the pop took, and the stack's state, which comes with every pop. */
static void take_popped(struct stepping *s, const struct js_row *row)
{
	uint64_t ids[JS_IDS_MAX], first = js_row_u64(row, 1);
	size_t n = (size_t)js_row_u64(row, 2);
	int list = row->col[9] != NULL;
	struct js_claim *to;
	unsigned c = 3;

	s->w->stack.state = (enum jobstack_stack_state)js_row_u64(row, 7);
	s->w->stack.limited = (uint32_t)js_row_u64(row, 8);
	if (s->report != NULL) {
		s->report->state = s->w->stack.state;
		s->report->limited = (int)s->w->stack.limited;
	}
	s->next_start_us = row->n > 12 ? js_row_i64(row, 12) : -1;
	if (row->col[0] == NULL)
		return;
	s->damaged = list && (n > JS_IDS_MAX || js_span_read_ids(row->col[9], row->len[9], 0, n, ids) != 0);
	if (s->damaged)
		return;
	s->claim = to = js_claim_new(s->pop.claim_no, list ? ids : NULL, first, n);
	s->memory = to == NULL || js_batch_begin(s->batch, s->w->id, n) != 0;
	if (s->memory)
		return;
	JS_TAKEN_COLUMNS(JS_COLUMN_READ)
	to->claimed_us = js_db_wall_us(s->w->handle->db, jobstack_now_us());
	if (row->n > 10 && row->col[10] != NULL)
		js_batch_add(s->batch, to, row->col[10], row->col[11], row->len[11]);
}

/* What the caller is told of the stack; DUE: retries are due, which jobstack_promote would make ready. */
static struct jobstack_step_report report_of(const struct js_stack *stack, int due)
{
	return (struct jobstack_step_report){
		sizeof(struct jobstack_step_report),
		stack->state,
		due,
		stack->cwd[0] == '\0' ? NULL : stack->cwd,
		(int)stack->limited,
		NULL,
		stack->max_attempts,
		stack->max_losses,
		-1,
	};
}

/* Columns of the stack s, for the tail of a step.  Before them the row has its cwd, whether some entries are due, and
 * the worker's requests to kill. */
/* clang-format off */
#define POLICY_COLUMNS(X)                                                                                              \
	X(stack.state, "state", U32) X(stack.max_attempts, "max_attempts", U32) X(stack.max_losses, "max_losses", U32) \
	X(stack.retry_delay_us, "retry_delay_us", I64) X(stack.limited, "limited", U32)               \
	X(failing, "max_failures IS NOT NULL AND " JS_STACK_FAILING, FLAG)                                             \
	X(workers, "(SELECT COUNT(*) FROM (SELECT 1 FROM worker FORCE INDEX(worker_of_stack) WHERE stack_id=%u AND "   \
		   "ended IS NULL LIMIT %u) c)", U32)                                                                  \
	X(can_shard, "@@log_bin AND popping_order=0", FLAG)                                                       \
	X(took_us, "TIMESTAMPDIFF(MICROSECOND,@js_commit,SYSDATE(6))", I64)
/* clang-format on */

/* Updates what depends on the last reading of the policy: the mean time of a commit, of which a new reading makes a
 * quarter, and the number of shards.  There are none in a stack with a limit, whose pops wait for the row in
 * `running_limit` anyway, and none on a cluster, which has no user locks. */
static void note_commit_time(struct jobstack_worker *w)
{
	w->commit_us = w->commit_us == 0 ? w->took_us : w->commit_us + (w->took_us - w->commit_us) / 4;
	w->shards = w->can_shard && !w->stack.limited && w->workers >= SHARDS_FROM && w->commit_us >= SLOW_COMMIT_US &&
				    js_db_has_user_locks(w->handle->db)
			    ? JS_SPAN_SHARDS
			    : 0;
}

/* Reads the policy, which the worker keeps until the next reading. */
static void take_stack_row(struct stepping *s, const struct js_row *row)
{
	struct jobstack_worker *to = s->w;
	struct js_stack *stack = &to->stack;
	unsigned c = 3;

	to->policy_us = jobstack_now_us();
	POLICY_COLUMNS(JS_COLUMN_READ)
	note_commit_time(to);
	(void)snprintf(stack->cwd, sizeof(stack->cwd), "%s", row->col[0] == NULL ? "" : row->col[0]);
	(void)snprintf(to->kills, sizeof(to->kills), "%s", row->col[2] == NULL ? "" : row->col[2]);
	if (s->report != NULL)
		*s->report = report_of(stack, js_row_u64(row, 1) != 0);
}

/* Each try of a packet begins with ROW NULL: what an earlier try brought is forgotten. */
static void take_step_row(void *ctx, const struct js_row *row)
{
	struct stepping *s = ctx;

	if (row == NULL) {
		js_claim_free(s->claim);
		s->claim = NULL;
		s->memory = s->damaged = 0;
		s->next_start_us = -1;
		if (s->batch != NULL)
			jobstack_batch_free(s->batch);
	} else if (s->stack_stmt != 0 && row->stmt == s->stack_stmt)
		take_stack_row(s, row);
	else if (s->taken_stmt != 0 && row->stmt == s->taken_stmt)
		take_popped(s, row);
	else if (s->taken_stmt != 0 && row->stmt == s->entry_stmt && s->claim != NULL && !s->memory)
		js_batch_add(s->batch, s->claim, row->col[0], row->col[1], row->len[1]);
}

/* Where the list of closed attempts goes, for the stream.  If the column of the worker's row has space, it is appended
 * there.  Else the column and the list move to a row of the table `closed`.  A list that is longer than the column goes
 * to the table alone.  So does that of a worker that was loaded, because the length of its column is not known. */
static int list_goes_alone(const struct stepping *s)
{
	return s->w->born_us < 0 || s->closed.text.len > JS_CLOSED_COLUMN;
}

/* Only this worker appends to the column, so closed_len is what it holds, or more if a reader has emptied it. */
static int list_fits_row(const struct stepping *s)
{
	return !list_goes_alone(s) && s->w->closed_len + s->closed.text.len <= JS_CLOSED_COLUMN;
}

/* The fence: the first change of every step, and its guard.  The row is ours only as long as token and seq are those of
 * our last step, and nobody has ended it.  A recovery sets `ended`; a step of ours that arrives later matches nothing,
 * and the guard stops the packet before it has changed anything.  The UPDATE also locks the row, so a recovery that
 * begins now waits for this step, and then finds another seq.
 *
 * All that the step changes in the row is in this one statement: it is written once, and to a binary log once. */
static void step_fence_sql(struct stepping *s)
{
	const struct jobstack_worker *w = s->w;
	const struct js_buf *closed = &s->closed.text;
	struct js_sql *sql = &s->sql;
	int moves = closed->len > 0 && !list_fits_row(s) && !list_goes_alone(s);

	if (moves)
		js_closed_take_sql(sql, w->id);
	js_sql_add(sql, "UPDATE worker SET seq=seq+1,beat=UTC_TIMESTAMP(6)");
	if (s->sums.done > 0)
		js_sql_add(sql, ",done=done+%u", s->sums.done);
	if (s->sums.dead > 0)
		js_sql_add(sql, ",dead=dead+%u", s->sums.dead);
	if (s->running.data != NULL)
		js_sql_add(sql, ",running=%x", (const void *)s->running.data, s->running.len);
	if (moves)
		js_sql_add(sql, ",closed=NULL");
	else if (closed->len > 0 &&
		 !list_goes_alone(s)) /* SET works from left to right: first `oldest`, which looks at `closed` */
		js_sql_add(sql, ",oldest=IF(closed IS NULL,%u,LEAST(oldest,%u)),closed=CONCAT_WS('',closed,%x)",
			   s->closed.oldest, s->closed.oldest, (const void *)closed->data, closed->len);
	if (closed->len > 0)
		js_sql_add(sql, ",newest=GREATEST(newest,%u)", s->closed.newest);
	if (w->kills[0] != '\0' && !js_kill_is_open(w->kills, w->claims)) /* no entry that they name stays open */
		js_sql_add(sql, ",kills=IF(kills=%s,NULL,kills)", w->kills);
	if (w->script) /* others may close entries of the same pop: it must be visible whose step it was */
		js_sql_add(sql, ",token=%k", w->next);
	js_sql_stmt(sql, " WHERE worker_id=%u AND token=%k AND seq=%u AND ended IS NULL", w->id, w->token, w->seq);
	js_sql_guard_set(sql, 1, s->k > 0 ? JS_SPAN_RESET : NULL);
	if (closed->len > 0 && !list_fits_row(s))
		js_closed_store_sql(sql, &w->stack, (struct jobstack_seen){.worker = w->id, .seq = w->seq + 1},
				    &s->closed, moves);
	sql->text.failed |= closed->failed;
}

/* Names the user lock that this pop takes first: by its shard, so that pops of one span queue up for one lock; else by
 * the worker's number. */
static void add_user_lock(const struct jobstack_worker *w, const struct js_pop *pop, struct js_sql *sql)
{
	int64_t quarter = w->lease_us / (4 * JS_SECOND_US);

	if (w->workers > CROWD)
		js_sql_user_lock(sql, w->stack.id, 1 + (w->shards > 0 ? pop->shard : w->id) % LOCKS,
				 quarter < 1		 ? 1
				 : quarter < LOCK_WAIT_S ? (unsigned)quarter
							 : LOCK_WAIT_S);
}

/* Draws the shard of POP, independently of other draws and workers: one of shards + 1 numbers, of which the highest one
 * means the first span, in order, and the one below it that the pop may make shards. */
static void draw_shard(struct jobstack_worker *w, struct js_pop *pop)
{
	if (w->seed == 0)
		w->seed = w->id * 2654435761u + 88172645463325252u;
	pop->shards = w->shards;
	pop->shard = w->shards > 0 ? (unsigned)js_num_jitter(&w->seed, w->shards + 1) : 0;
}

/* Decides how this step pops, and under which number its claim will be found.  A new claim has the number seq + 1,
 * which is this step's own and never comes again; one in the row of a closed claim keeps that claim's number. */
static void plan_pop(struct stepping *s, uint64_t start_us)
{
	struct jobstack_worker *w = s->w;
	struct js_pop *pop = &s->pop;

	*pop = (struct js_pop){.k = s->k, .worker = w->id, .fresh = s->fresh, .start_us = start_us};
	draw_shard(w, pop);
	/* with a limit, pops lock others' claims: then a claim is locked before the span, as everywhere else.  A step
	 * that is repeated must look for its claim where the first try may have written it. */
	if (!w->unsettled)
		w->unsettled_reused = w->stack.limited ? 0 : js_claim_closed(w->claims);
	s->closing.reused = pop->reused = w->unsettled_reused;
	pop->claim_no = pop->reused != 0 ? pop->reused : w->seq + 1;
}

/* Writes the step's packet and tail; with POLICY the tail reads the policy.  The tail is read after the COMMIT, so no
 * lock is held meanwhile.  Its statements are numbered on from the packet's (js_db_transaction). */
static int step_sql(struct stepping *s, int policy, struct jobstack_error *error)
{
	const struct jobstack_worker *w = s->w;
	struct js_sql *sql = &s->sql, *tail = &s->tail;

	step_fence_sql(s);
	if (s->k > 0 && w->stack.limited)
		js_span_lock_limit(sql, &w->stack);
	js_claim_close_sql(&s->closing, sql);
	if (s->k > 0) {
		js_span_pop(sql, &w->stack, &s->pop);
		add_user_lock(w, &s->pop, sql);
	}
	JS_TRY(js_claim_spans_sql(&s->closing, sql, error));
	if (policy)
		js_sql_stmt(sql, "SET @js_commit=SYSDATE(6)");
	if (s->k > 0)
		js_span_taken_sql(tail, &w->stack, &s->pop);
	s->taken_stmt = s->k > 0 ? sql->statements + 1 : 0;
	s->entry_stmt = s->k > 1 ? sql->statements + 2 : 0;
	if (!policy)
		return 0;
	js_sql_add(tail,
		   "SELECT cwd,EXISTS(SELECT 1 FROM span FORCE INDEX(span_due) WHERE stack_id=%u AND class=1 AND ",
		   w->stack.id);
	js_span_due_sql(tail, &w->stack);
	js_sql_stmt(tail,
		    "),(SELECT kills FROM worker WHERE worker_id=%u)" POLICY_COLUMNS(
			    JS_COLUMN_NAME) " FROM stack s WHERE stack_id=%u",
		    w->id, w->stack.id, (uint64_t)CROWD + 1, w->stack.id);
	s->stack_stmt = sql->statements + tail->statements;
	return 0;
}

/* ------------------------------------------------------------------------------------------------------ the step */

/* After the COMMIT: makes the popped entries ours, from the reply or, if that was lost, by reading the claim.  From
 * here on the database has the claim.  If this fails, the step stays unsettled, and is repeated until the entries are
 * known: else nobody would run them before this worker is recovered. */
static int accept_popped(struct stepping *s, int from_reply, struct jobstack_error *error)
{
	struct jobstack_worker *w = s->w;
	int status;

	if (s->k == 0)
		return 0;
	if (!from_reply) {
		/* there is none if the pop took nothing */
		status = js_worker_read_claim(w, s->pop.claim_no, &s->claim, error);
		if (status != 0)
			return status == JOBSTACK_NOTHING ? 0 : status;
	} else if (s->damaged)
		return js_worker_refuse_claim(w, error);
	else if (s->memory)
		return js_error_why(error, JOBSTACK_EBUG, JOBSTACK_WHY_MEMORY,
				    "the popped entries could not be stored: out of memory?");
	else if (s->claim == NULL)
		return 0;
	/* a list comes without its datapaths (js_span_taken_sql) */
	if (!from_reply || s->batch->count < s->claim->n) {
		jobstack_batch_free(s->batch);
		JS_TRY(js_batch_read(w->handle, &w->stack, w->id, s->claim, s->batch, error));
	} else if (js_batch_end(s->batch) != 0)
		return js_error_memory(error);
	s->claim->next = w->claims;
	w->claims = s->claim;
	s->claim = NULL;
	return 0;
}

/* Pauses a stack that has reached max_failures. If that fails now, a later step does it. */
static void halt_failing_stack(struct jobstack_worker *w)
{
	struct jobstack_error none = JOBSTACK_ERROR_INIT;

	if (js_stack_halt(w->handle, &w->stack, &none) == 0)
		w->stack.state = JOBSTACK_PAUSED;
	w->failing = 0;
}

/* Returns 0 if the worker may take this step now, or JOBSTACK_EUSAGE.  While a step is unsettled, its first try may
 * still be committed.  A different step would be stopped by the fence then, and its outcomes could not be told from
 * those of the first try. */
static int check_step(const struct jobstack_worker *w, size_t n, size_t k, const struct jobstack_batch *batch,
		      struct jobstack_error *error)
{
	if (k > JOBSTACK_POP_MAX || (k > 0 && batch == NULL) ||
	    (w->unsettled && (n != w->unsettled_n || k != w->unsettled_k)))
		return js_error_set(error, JOBSTACK_EUSAGE,
				    w->unsettled ? "it is not known whether the last step was committed: repeat it "
						   "with the same arguments"
						 : "jobstack_step: the number of entries to claim must be 0 to %d, and "
						   "if it is not 0, a batch must be given",
				    JOBSTACK_POP_MAX);
	return 0;
}

/* After a committed step: follows the seq of the worker's row, and counts the lease's deadline from SENT.  That is when
 * the try was sent that changed seq, not when its answer came: others count the lease from when they see the new seq,
 * which is later. */
static void advance_worker(const struct stepping *s, int64_t sent)
{
	struct jobstack_worker *w = s->w;

	if (!list_goes_alone(s))
		w->closed_len = list_fits_row(s) ? w->closed_len + s->closed.text.len : 0;
	w->seq++;
	w->deadline_us = sent + w->lease_us;
	if (w->script) {
		memcpy(w->token, w->next, sizeof(w->token));
		js_file_random(w->next, sizeof(w->next));
	}
}

/* One try, with the memory for its outcomes.  JS_DB_DUPLICATE: again, without some of them.
 *
 * The marks of the entries are JS_CLOSING only within this function: if the step is known to be committed, they become
 * closed, and otherwise open again, so that a repeated step finds them as the first try did. */
static int try_step(struct jobstack_worker *w, const struct jobstack_step *step, struct jobstack_outcome *outcomes,
		    struct jobstack_batch *batch, struct jobstack_step_report *report, struct jobstack_error *error)
{
	size_t n = step->outcomes_n, kept = n, k = step->claim;
	int rated = k > 0 && (w->stack.limited & JS_LIMIT_STARTS) != 0;
	struct stepping s = {.w = w, .k = rated ? 1 : k, .fresh = step->fresh, .report = report, .batch = batch};
	int64_t sent = jobstack_now_us(), first = w->unsettled ? w->unsettled_us : sent;
	int status, lost = 0, committed = 0, policy = n + k == 0 || sent - w->policy_us >= POLICY_US;

	if (batch != NULL)
		*batch = js_batch_of(w->id);
	if (report != NULL)
		*report = report_of(&w->stack, 0);
	JS_TRY(check_step(w, n, k, batch, error));
	for (size_t i = 0; i < n; i++)
		outcomes[i] = step->outcomes[i];
	JS_TRY(js_claim_mark_closing(w->claims, &w->stack, outcomes, &kept, &s.sums, error));
	s.closing = (struct js_closing){&w->stack, w->handle->db, w->id, w->claims, outcomes, kept, sent, 0};
	if (k > 0)
		plan_pop(&s, js_span_start_us(step->start_us));
	if (n > 0)
		js_closed_write(&s.closed.text, outcomes, kept);
	js_claim_times(&s.closing, &s.closed);
	if (step->running != NULL)
		js_running_write(w->handle->db, step, w->commit_us, &s.running);
	status = step_sql(&s, policy || s.sums.dead > 0 /* are those too many? */, error);
	JS_THEN(status, js_db_transaction(w->handle->db, &s.sql, &s.tail, take_step_row, &s, &lost, error));
	committed = status == 0;
	if (status == JS_DB_GUARD)
		status = js_worker_settle(w, lost, 0, error);
	JS_THEN(status, accept_popped(&s, committed, error));
	/* a duplicate is tried again without some outcomes, and an earlier try may still arrive */
	w->unsettled = (status < 0 && (committed || lost || w->unsettled || status == JOBSTACK_ENODB)) ||
		       (status == JS_DB_DUPLICATE && (lost || w->unsettled));
	w->unsettled_us = first;
	w->unsettled_n = n;
	w->unsettled_k = k;
	js_claim_settle(&w->claims, status == 0);
	if (report != NULL && w->kills[0] != '\0')
		report->kills = w->kills;
	if (report != NULL)
		report->next_start_us = s.next_start_us;
	if (status == 0 && rated && batch->count > 0) /* the server's time of the claim was after SENT */
		batch->start_by_us = (committed ? sent : first) + (int64_t)s.pop.start_us;
	if (status == 0)
		advance_worker(&s, committed ? sent : first); /* the try that moved seq, or one before it */
	else if (batch != NULL)
		jobstack_batch_free(batch);
	if (status == 0 && w->failing && w->stack.state == JOBSTACK_OPEN) {
		halt_failing_stack(w);
		if (report != NULL)
			report->state = w->stack.state;
	}
	js_claim_free(s.claim);
	js_buf_free(&s.running);
	js_buf_free(&s.closed.text);
	js_sql_free(&s.tail);
	js_sql_free(&s.sql);
	return status == JS_DB_DUPLICATE ? js_worker_skip(w, outcomes, kept, 0, 1, error) : status;
}

int js_worker_step(struct jobstack_worker *w, const struct jobstack_step *step, struct jobstack_batch *batch,
		   struct jobstack_step_report *report, struct jobstack_error *error)
{
	struct jobstack_outcome *outcomes = calloc(step->outcomes_n + 1, sizeof(*outcomes));
	int status = outcomes == NULL ? js_error_memory(error) : JS_DB_DUPLICATE;

	while (status == JS_DB_DUPLICATE)
		status = try_step(w, step, outcomes, batch, report, error);
	free(outcomes);
	return status;
}

int js_worker_settle_heartbeat(struct jobstack_worker *w, struct jobstack_error *error)
{
	static const struct jobstack_step heartbeat = JOBSTACK_STEP_INIT;

	if (!w->unsettled || w->unsettled_n + w->unsettled_k > 0)
		return 0;
	return js_worker_step(w, &heartbeat, NULL, NULL, error);
}

/* A heartbeat that is unsettled may be followed by a step with outcomes, since it is repeated first: the caller of
 * jobstack_heartbeat need not know that it was not settled. */
int jobstack_step(struct jobstack_worker *w, const struct jobstack_step *given, struct jobstack_batch *batch,
		  struct jobstack_step_report *report, struct jobstack_error *error)
{
	static const struct jobstack_running no_running = JOBSTACK_RUNNING_INIT;
	struct jobstack_step step = JOBSTACK_STEP_INIT;
	struct jobstack_step_report told = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_batch got = JOBSTACK_BATCH_INIT;
	struct js_outcomes outcomes = {NULL, NULL};
	const void *running = NULL;
	void *running_memory = NULL;
	int status = js_grow_in(&step, given, "jobstack_step", error);

	JS_THEN(status, js_grow_begin(batch, &got, "jobstack_batch", error));
	JS_THEN(status, js_grow_begin(report, &told, "jobstack_step_report", error));
	JS_THEN(status, js_outcomes_take(&outcomes, step.outcomes, step.outcomes_n, error));
	JS_THEN(status, js_grow_array(&running, &running_memory, step.running, step.running_n, &no_running,
				      "jobstack_running", error));
	if (status == 0 && step.outcomes_n + step.claim > 0)
		status = js_worker_settle_heartbeat(w, error);
	if (status == 0) {
		step.outcomes = outcomes.at;
		step.running = running;
		status = js_worker_step(w, &step, batch == NULL ? NULL : &got, &told, error);
		js_grow_out(batch, &got);
		js_grow_out(report, &told);
	}
	free(running_memory);
	free(outcomes.memory);
	return status;
}

/* A step was sent when deadline_us - lease_us.  Before a third of the lease has passed since then, nothing is sent. */
int jobstack_heartbeat(struct jobstack_worker *w, const struct jobstack_running *running, size_t running_n,
		       int64_t *next_us, struct jobstack_error *error)
{
	struct jobstack_step step = JOBSTACK_STEP_INIT;
	int status = 0;

	step.running = running;
	step.running_n = running_n;
	if (jobstack_now_us() >= w->deadline_us - w->lease_us + w->lease_us / 3)
		status = jobstack_step(w, &step, NULL, NULL, error);
	if (next_us != NULL)
		*next_us = w->deadline_us - w->lease_us + w->lease_us / 3;
	return status;
}

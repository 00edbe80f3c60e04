/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The living workers of a stack, or those of a user in Slurm jobs.  Promise: one query, however many there are.
 */
#include "queue/identity.h"
#include "queue/running.h"
#include "queue/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns what jobstack_suspect has left, if it was written at this seq; else NULL: the worker has moved since. */
static const char *suspicion_at(const char *text, uint64_t seq)
{
	char *end;

	if (text == NULL || strtoull(text, &end, 10) != seq || *end != ' ')
		return NULL;
	return end + 1;
}

/* Reads what the worker tells of its steps, at the end of the column: "...,0:step:commit:waiting". */
static void read_step_cost(const char *running, struct jobstack_worker_row *w)
{
	const char *last = running == NULL ? NULL : strrchr(running, ',');

	last = last == NULL ? running : last + 1;
	if (last == NULL ||
	    sscanf(last, "0:%15" SCNu64 ":%15" SCNu64 ":%4" SCNu64, &w->step_us, &w->commit_us, &w->waiting) != 3)
		w->step_us = w->commit_us = w->waiting = 0;
}

/* Finds out which of "entry:attempt:start,..." began first, and how long ago. */
static void find_longest(const char *running, int64_t now_us, struct jobstack_worker_row *w)
{
	uint64_t entry;
	int64_t start;

	w->longest_us = -1;
	while (js_running_next(&running, &entry, &start))
		if (entry > 0 && start > 0 && now_us - start > w->longest_us) {
			w->longest = entry;
			w->longest_us = now_us - start;
		}
}

struct workers_call {
	jobstack_worker_fn *fn;
	void *ctx;
	const char *stack; /* NULL: it is in the row */
	int jobs;	   /* only those in Slurm jobs */
	int stopped;
};

/* Of a worker w, c.n being the entries that it holds. */
/* clang-format off */
#define WORKER_COLUMNS(X)                                                                                              \
	X(node, "w.node", TEXT) X(user, "w.user", TEXT)                                                                \
	X(worker, "w.worker_id", U64) X(seq, "w.seq", U64) X(slots, "w.slots", U64) X(done, "w.done", U64)             \
	X(dead, "w.dead", U64) X(lease_us, "w.lease_us", I64) X(by_script, "w.kind", FLAG) X(running, "c.n", U64)      \
	X(silent_us, "TIMESTAMPDIFF(MICROSECOND,w.beat,UTC_TIMESTAMP(6))", I64)                                        \
	X(age_us, "TIMESTAMPDIFF(MICROSECOND,w.started,UTC_TIMESTAMP(6))", I64) X(cause, "w.cause", U32)
/* clang-format on */

#define COPY(member) to->member = from->member;
#define IN_IDENTITY(X)                                                                                                 \
	X(host) X(boot) X(cluster) X(job) X(array_job) X(array_task) X(step) X(log) X(pid_start) X(job_start_us)

/* The column that says whether the worker's user lock is held; NULL: not known.  A script's pop has no connection, and
 * the servers of a cluster share no locks. */
#define CONNECTED ",IF(w.kind=0,1-IS_FREE_LOCK(" JS_WORKER_LOCK("w.token") "),NULL)"

/* js_identity_read decodes the JSON in place, so it is done once per row. */
static void take_worker_row(void *ctx, const struct js_row *row)
{
	struct workers_call *call = ctx;
	struct jobstack_worker_row w = {0}, *to = &w;
	struct js_identity identity, *from = &identity;
	unsigned c = 5;

	if (row == NULL || call->stopped)
		return;
	js_identity_read(js_row_own(row, 4), &identity);
	if (call->jobs && identity.job == NULL)
		return;
	IN_IDENTITY(COPY)
	w.pid = from->pid < 0 ? 0 : (uint64_t)from->pid;
	WORKER_COLUMNS(JS_COLUMN_READ)
	w.connected = js_row_opt(row, c++);
	w.stack = call->stack != NULL ? call->stack : js_row_text(row, c);
	w.suspicion = suspicion_at(row->col[0], w.seq);
	if (w.suspicion == NULL)
		w.cause = JOBSTACK_CAUSE_NONE;
	read_step_cost(row->col[1], &w);
	find_longest(row->col[1], js_row_time(row, 2), &w);
	if (w.by_script && row->col[3] != NULL) { /* one pop, one entry: it has run since */
		w.longest = js_row_u64(row, 3);
		w.longest_us = w.age_us;
	}
	call->stopped = call->fn(call->ctx, &w) != 0;
}

/* The columns of take_worker_row: five that are read by hand, those of WORKER_COLUMNS, and whether it is connected.  Of
 * a script's pop with one entry, that entry comes from its claim. */
static void select_workers(struct jobstack *handle, struct js_sql *sql)
{
	js_sql_add(sql,
		   "SELECT w.reason,w.running,UTC_TIMESTAMP(6),"
		   "IF(w.kind=1,(SELECT IF(d.ids IS NULL,d.lo,CONV(LEFT(d.ids,10),16,10)) FROM claim d FORCE "
		   "INDEX(PRIMARY) WHERE d.stack_id=w.stack_id AND d.worker_id=w.worker_id AND d.lo=d.hi LIMIT 1),NULL)"
		   ",w.identity");
	js_sql_add(sql, WORKER_COLUMNS(JS_COLUMN_NAME));
	js_sql_add(sql, js_db_has_user_locks(handle->db) ? CONNECTED : ",NULL");
}

static int read_workers(struct jobstack *handle, struct js_sql *sql, struct workers_call *call,
			struct jobstack_error *error)
{
	JS_TRY(js_db_query(handle->db, sql, take_worker_row, call, error));
	return call->stopped ? JOBSTACK_ESTOPPED : 0;
}

int jobstack_workers(struct jobstack *handle, const char *stack, jobstack_worker_fn *fn, void *ctx,
		     struct jobstack_error *error)
{
	struct workers_call call = {.fn = fn, .ctx = ctx, .stack = stack};
	struct js_sql sql = {0};
	struct js_stack s;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	select_workers(handle, &sql);
	/* the claims in one go along the key: to ask for each of a thousand workers' takes three times as long */
	js_sql_stmt(&sql,
		    " FROM worker w LEFT JOIN (SELECT worker_id,SUM(open) n FROM claim FORCE INDEX(PRIMARY) "
		    "WHERE stack_id=%u GROUP BY worker_id) c ON c.worker_id=w.worker_id "
		    "WHERE w.stack_id=%u AND w.ended IS NULL ORDER BY w.worker_id",
		    s.id, s.id);
	return read_workers(handle, &sql, &call, error);
}

int jobstack_job_workers(struct jobstack *handle, const char *user, jobstack_worker_fn *fn, void *ctx,
			 struct jobstack_error *error)
{
	struct workers_call call = {.fn = fn, .ctx = ctx, .jobs = 1};
	struct js_sql sql = {0};

	JS_TRY(js_schema_check(handle, error));
	select_workers(handle, &sql);
	/* all claims in one go: there is an entry in each at least, so they are few */
	js_sql_stmt(&sql,
		    ",s.name FROM stack s STRAIGHT_JOIN worker w FORCE INDEX(worker_of_stack) ON "
		    "w.stack_id=s.stack_id LEFT JOIN (SELECT worker_id,SUM(open) n FROM claim GROUP BY "
		    "worker_id) c ON c.worker_id=w.worker_id WHERE s.state<3 AND w.ended IS NULL AND "
		    "w.user=%s ORDER BY w.worker_id",
		    user);
	return read_workers(handle, &sql, &call, error);
}

static void take_bad_node(void *ctx, const struct js_row *row)
{
	struct workers_call *call = ctx;
	struct js_identity identity;

	if (row == NULL || call->stopped)
		return;
	js_identity_read(js_row_own(row, 2), &identity);
	call->stopped = call->fn(call->ctx, &(const struct jobstack_worker_row){
						    .worker = js_row_u64(row, 0),
						    .node = js_row_text(row, 1),
						    .job = identity.job,
						    .array_job = identity.array_job,
						    .silent_us = js_row_i64(row, 3),
						    .suspicion = js_row_text(row, 4),
					    }) != 0;
}

int jobstack_ended_bad(struct jobstack *handle, const char *stack, jobstack_worker_fn *fn, void *ctx,
		       struct jobstack_error *error)
{
	struct workers_call call = {.fn = fn, .ctx = ctx, .stack = stack};
	struct js_stack s;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	JS_TRY(js_handle_ask(
		handle, take_bad_node, &call, error,
		"SELECT w.worker_id,w.node,w.identity,TIMESTAMPDIFF("
		"MICROSECOND,f.seen,UTC_TIMESTAMP(6)),f.text FROM fact f FORCE INDEX(PRIMARY) STRAIGHT_JOIN "
		"worker w ON w.worker_id=f.fact WHERE f.stack_id=%u AND f.kind=%u AND "
		"f.seen>UTC_TIMESTAMP(6)-INTERVAL 1 DAY ORDER BY f.fact DESC LIMIT 1000",
		s.id, (uint64_t)JOBSTACK_FACT_BAD_NODE));
	return call.stopped ? JOBSTACK_ESTOPPED : 0;
}

/* What was started for a stack: facts of this kind, one per user and way, whose number is 4 * USER + WAY.  The text is
 * "JOB\0PUSHED\0CLUSTER\0LOG\0DIRECTORY\0", and then the words, each with a NUL behind it. */
#define START_KIND "4"
#define TEXT_MAX 65535 /* of a BLOB */

/* Of the worker that ended last (w) and what was started (f); the text of f is the last column. */
/* clang-format off */
#define LAST_COLUMNS(X)                                                                                                \
	X(stack, "s.name", TEXT)                                                                                       \
	X(ended_us, "GREATEST(0,TIMESTAMPDIFF(MICROSECOND,w.ended,UTC_TIMESTAMP(6)))", OPT)                            \
	X(node, "w.node", TEXT) X(cause, "w.cause", U32) X(reason, "w.reason", TEXT)                                   \
	X(closed, "w.done+w.dead", U64)                                                                                \
	X(in_job, "JSON_EXTRACT(w.identity,'$.job') IS NOT NULL", FLAG)                                                \
	X(job_us, "GREATEST(0,TIMESTAMPDIFF(MICROSECOND,f.seen,UTC_TIMESTAMP(6)))", OPT)                               \
	X(user, "f.fact DIV 4", U64) X(way, "MOD(f.fact,4)", U32) X(came, "w.started>=f.seen", FLAG)
/* clang-format on */

struct last_call {
	jobstack_last_fn *fn;
	void *ctx;
};

/* Returns the text in front of the next NUL of TEXT, which is moved behind it; "" at its end. */
static const char *next_part(struct jobstack_bytes *text)
{
	const char *part = text->data;
	size_t len = text->len > 0 ? strnlen(part, text->len) + 1 : 0;

	if (len == 0 || len > text->len)
		return "";
	*text = (struct jobstack_bytes){part + len, text->len - len};
	return part;
}

static void take_last(void *ctx, const struct js_row *row)
{
	const struct last_call *call = ctx;
	struct jobstack_last last, *to = &last;
	struct jobstack_bytes text;
	unsigned c = 1;

	if (row == NULL)
		return;
	LAST_COLUMNS(JS_COLUMN_READ)
	text = js_row_bytes(row, c);
	last.job = strtoull(next_part(&text), NULL, 10);
	last.pushed = strtoull(next_part(&text), NULL, 10);
	last.cluster = next_part(&text);
	last.log = next_part(&text);
	last.cwd = next_part(&text);
	last.words = text;
	call->fn(call->ctx, &last);
}

/* The worker that ended last, by the index worker_of_stack from its end; and what was started for the stack, of which
 * each user has one fact per way. */
int jobstack_last(struct jobstack *handle, const char *stack, jobstack_last_fn *fn, void *ctx,
		  struct jobstack_error *error)
{
	struct last_call call = {fn, ctx};
	struct js_sql sql = {0};
	struct js_stack s = {0};

	JS_TRY(stack == NULL ? js_schema_check(handle, error) : js_stack_find(handle, stack, &s, error));
	js_sql_add(&sql, "SELECT 1" LAST_COLUMNS(JS_COLUMN_NAME));
	js_sql_add(&sql,
		   ",f.text FROM stack s LEFT JOIN worker w ON w.worker_id=(SELECT worker_id FROM worker FORCE "
		   "INDEX(worker_of_stack) WHERE stack_id=%u AND ended IS NOT NULL ORDER BY ended DESC LIMIT 1) LEFT "
		   "JOIN fact f ON f.stack_id=s.stack_id AND f.kind=" START_KIND " WHERE ",
		   s.id);
	if (stack == NULL)
		js_sql_stmt(&sql, "f.kind IS NOT NULL");
	else
		js_sql_stmt(&sql, "s.stack_id=%u", s.id);
	return js_db_query(handle->db, &sql, take_last, &call, error);
}

int jobstack_note_start(struct jobstack *handle, const char *stack, const struct jobstack_last *start,
			struct jobstack_error *error)
{
	struct js_buf text = {0};
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error);

	js_buf_printf(&text, "%" PRIu64 "%c%" PRIu64 "%c%s%c%s%c%s%c", start->job, 0, start->pushed, 0, start->cluster,
		      0, start->log, 0, start->cwd, 0);
	if (text.len + start->words.len <= TEXT_MAX) /* else it can't be repeated */
		js_buf_add(&text, start->words.data, start->words.len);
	if (status == 0 && text.failed)
		status = js_error_memory(error);
	JS_THEN(status, js_handle_change(handle, 0, NULL, error,
					 "REPLACE INTO fact(stack_id,kind,fact,seen,text) SELECT "
					 "stack_id," START_KIND ",%u,UTC_TIMESTAMP(6),%x" JS_STACK_KEPT,
					 4 * start->user + (uint64_t)start->way, text.data, text.len, s.id));
	js_buf_free(&text);
	return status;
}

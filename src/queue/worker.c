/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker's row: its birth, and what is asked about it.  Promise: a first try whose reply was lost leaves no second
 * row.
 *
 * An INSERT has no row to compare with, so the token takes the place of the fence: it is random, and has a unique key.
 * A second try finds the row of the first (JS_DB_DUPLICATE).  What is left is a first try that arrives even later, when
 * the token may have changed: js_worker_void_lost_insert keeps it away.
 */
#include "queue/worker.h"

#include "base/clock.h"
#include "base/file.h"
#include "queue/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_US INT64_C(300000000) /* the default: five minutes */
#define IDLE_S 600		    /* after so long the server ends an idle connection (db/request.h) */
#define IDLE_MOST_S 31536000	    /* the most that wait_timeout can be */

/* What no query looks for is one JSON column (queue/identity.h), which both kinds of server want in utf8mb4. */
void js_worker_insert_sql(struct js_sql *sql, const struct js_stack *stack, const unsigned char token[16], int script,
			  const struct jobstack_worker_options *o)
{
	struct js_buf identity = {0};

	js_identity_write(o, &identity);
	sql->text.failed |= identity.failed;
	js_sql_add(sql, "INSERT INTO worker(token,stack_id,kind,started,beat,lease_us,slots,node,slurm_account,user,"
			"identity) ");
	js_sql_add(sql, "SELECT %k,%u,%u,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),%d,%u,", token, stack->id,
		   (uint64_t)(script != 0), o->lease_us > 0 ? o->lease_us : LEASE_US,
		   (uint64_t)(o->slots > 0 ? o->slots : 1));
	js_sql_add(sql, "%s,%s,%s,CONVERT(%x USING utf8mb4)", o->node != NULL ? o->node : o->host, o->account, o->user,
		   (const void *)identity.data, identity.len);
	js_buf_free(&identity);
	js_sql_stmt(sql, JS_STACK_KEPT, stack->id);
}

/* One transaction gives the live row a new token and inserts an ended row with the old one.  If the late packet arrives
 * in between, it waits for the unique key, and then fails on it. */
int js_worker_void_lost_insert(struct jobstack *handle, const struct js_stack *stack, uint64_t id,
			       unsigned char token[16], int script, const struct jobstack_worker_options *o,
			       struct jobstack_error *error)
{
	unsigned char fresh[16];
	struct js_sql sql = {0};
	int status;

	js_file_random(fresh, sizeof(fresh));
	if (id != 0) /* an earlier try of this packet may have done it */
		js_sql_must(&sql, "UPDATE worker SET token=%k WHERE worker_id=%u AND token IN(%k,%k)", fresh, id, token,
			    fresh);
	js_stack_mark_sql(&sql, stack->id);
	js_worker_insert_sql(&sql, stack, token, script, o);
	js_sql_guard(&sql, 1); /* it is not being dropped */
	js_sql_stmt(&sql, "UPDATE worker SET ended=UTC_TIMESTAMP(6),reason=%s WHERE token=%k",
		    id != 0 ? "blocks the first try of a pop, whose reply was lost" : "popped nothing", token);
	js_sql_count(&sql, 1);
	status = js_db_commit(handle->db, &sql, NULL, error);
	if (id != 0 && (status == 0 ||
			status == JS_DB_DUPLICATE)) /* an existing key is our own, from a try whose reply was lost */
		memcpy(token, fresh, sizeof(fresh));
	if (status == JS_DB_GUARD)
		return js_stack_refuse(handle, stack->name, error);
	return status == JS_DB_DUPLICATE ? 0 : status;
}

static void take_birth(void *ctx, const struct js_row *row)
{
	struct jobstack_worker *w = ctx;

	w->id = row == NULL ? 0 : js_row_u64(row, 0);
	w->born_us = row == NULL ? -1 : js_row_time(row, 1);
}

/* The lease is counted from before the INSERT was sent: others count it from when they see the row. */
int jobstack_worker_begin(struct jobstack *handle, const char *stack, const struct jobstack_worker_options *options,
			  struct jobstack_worker **out, struct jobstack_error *error)
{
	struct jobstack_worker_options o = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_worker *w = calloc(1, sizeof(*w));
	struct js_sql sql = {0};
	int64_t sent = jobstack_now_us();
	int status, lost;

	*out = NULL;
	if (w == NULL)
		return js_error_memory(error);
	status = js_grow_in(&o, options, "jobstack_worker_options", error);
	w->handle = handle;
	w->lease_us = o.lease_us > 0 ? o.lease_us : LEASE_US;
	js_file_random(w->token, sizeof(w->token));
	js_file_random(w->next, sizeof(w->next));
	JS_THEN(status, js_stack_find(handle, stack, &w->stack, error));
	if (status != 0)
		goto fail;
	js_stack_mark_sql(&sql, w->stack.id);
	js_worker_insert_sql(&sql, &w->stack, w->token, 0, &o);
	js_sql_guard(&sql, 1);
	status = js_db_commit(handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD)
		status = js_stack_refuse(handle, stack, error);
	if (status == JS_DB_DUPLICATE && lost) /* the try whose reply was lost had arrived */
		status = 0;
	JS_THEN(status, js_handle_ask(handle, take_birth, w, error,
				      "SELECT worker_id,started FROM worker WHERE token=%k", w->token));
	if (status == 0 && w->id == 0)
		status = js_error_set(error, JOBSTACK_EBUG, "the worker row vanished as soon as it was written");
	if (status == 0 && lost)
		status = js_worker_void_lost_insert(handle, &w->stack, w->id, w->token, 0, &o, error);
	if (status != 0)
		goto fail;
	w->deadline_us = sent + w->lease_us;
	*out = w;
	return 0;

fail:
	jobstack_worker_free(w);
	return status;
}

void jobstack_worker_free(struct jobstack_worker *w)
{
	int saved = errno;

	if (w == NULL)
		return;
	js_claim_free_all(w->claims);
	free(w);
	errno = saved;
}

uint64_t jobstack_worker_id(const struct jobstack_worker *w)
{
	return w->id;
}

int64_t jobstack_worker_lease_us(const struct jobstack_worker *w)
{
	return w->lease_us;
}

int64_t jobstack_worker_deadline_us(const struct jobstack_worker *w)
{
	return w->deadline_us;
}

void jobstack_worker_token(const struct jobstack_worker *worker, unsigned char token[16])
{
	memcpy(token, worker->token, sizeof(worker->token));
}

/* The lock belongs to the connection, so it is requested once for each, and no new connection is made only to request
 * it. wait_timeout is set to half of the lease, if that is longer than usual: heartbeats come in each third of it. */
int jobstack_worker_stay(struct jobstack_worker *w, struct jobstack_error *error)
{
	struct js_db *db = w->handle->db;
	uint64_t connection = js_db_may_stay(db), got = 0, idle_s = (uint64_t)(w->lease_us / (2 * JS_SECOND_US));
	struct js_sql sql = {0};
	int status;

	if (js_db_is_cut(db))
		return js_error_set(error, JOBSTACK_ENODB, "the connection has ended");
	if (connection == 0 || !js_db_has_user_locks(db))
		return JOBSTACK_NOTHING;
	if (connection == w->shown)
		return 0;
	if (idle_s > IDLE_S) /* heartbeats come in every third of the lease */
		js_sql_stmt(&sql, "SET @js_idle=%u", idle_s < IDLE_MOST_S ? idle_s : IDLE_MOST_S);
	js_sql_stmt(&sql, "SELECT " JS_ASK_FOR_LOCK(JS_WORKER_LOCK("%k")), w->token, w->token, (uint64_t)0);
	js_db_pin(db, 1); /* no new connection only for this */
	status = js_db_query(db, &sql, js_row_number, &got, error);
	js_db_pin(db, 0);
	w->shown = status == 0 && got == 1 ? connection : 0; /* else our last connection may still have it */
	return status == JS_DB_LOST ? js_error_set(error, JOBSTACK_ENODB, "the connection has ended") : status;
}

int jobstack_promote(struct jobstack_worker *w, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_span_promote_sql(&sql, &w->stack);
	return js_db_commit(w->handle->db, &sql, NULL, error);
}

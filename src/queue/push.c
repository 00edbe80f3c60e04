/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pushing.  Promises: a chunk is read whole before its transaction begins; it is there wholly or not at all, once,
 * whatever happens to the reply (a compare-and-set on the pusher's own row settles it); memory is flat; what an
 * atomic push wrote can be popped only when all of it is there, and is removed again if it fails.
 *
 * The row in `push` lives from the first chunk to the end:
 *
 *     begin_once     INSERT: from now on a drop is refused, and workers wait for more entries
 *     js_chunk_put   each part moves seq and pushed; js_push_beat shows life while no names come
 *     publish_push   `ended`: no part that is still under way can arrive any more; held spans become ready
 *
 * A push that fails ends its row all the same.  If it is atomic, js_discard removes what it wrote.
 */
#include "base/file.h"
#include "queue/pushing.h"

#include <stdlib.h>
#include <string.h>

#define DROPS_MAX 20		/* how often the stack may be dropped just before the push has its row */
#define AGE_US INT64_C(1000000) /* how long a name waits for others: workers may be waiting for it */

/* Writes the policy that the options give to the stack.  Without any, nothing is sent. */
static int set_policy(struct js_pushing *p, struct jobstack_error *error)
{
	const struct jobstack_push_options *o = p->options;
	struct js_sql sql = {0};
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	int status;

	JS_TRY(js_grow_in(&policy, o->policy, "jobstack_policy", error));
	policy.priority = JOBSTACK_PRIORITY_UNCHANGED; /* the names that come have their own */
	if (policy.max_attempts < 0 && policy.max_losses < 0 && policy.retry_delay_us < 0 && policy.max_running < 0 &&
	    policy.max_failures < 0 && policy.strict_order < 0 && policy.max_starts < 0)
		return 0;
	JS_TRY(js_stack_policy_sql(&sql, p->stack.id, &policy, error));
	status = js_db_commit(p->handle->db, &sql, NULL, error);
	return status == JS_DB_GUARD ? 0 : status; /* it is being dropped: the first chunk reports that */
}

/* Makes the stack and the row of this push.  The INSERT selects from the stack's row (JS_STACK_KEPT), so it fails if
 * the stack is being dropped, and a drop that begins now waits for it and then sees that somebody pushes. */
static int begin_once(struct js_pushing *p, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int lost, status;

	JS_TRY(js_stack_make(p->handle, p->stack_name, p->options, &p->stack, error));
	if (p->stack.state == JOBSTACK_DROPPING)
		return js_stack_refuse(p->handle, p->stack_name, error);
	JS_TRY(js_discard_abandoned(p->handle, &p->stack, error));
	JS_TRY(set_policy(p, error));
	if (p->options->unique)
		JS_TRY(js_unique_complete(p, error));
	js_file_random(p->token, sizeof(p->token));
	js_stack_mark_sql(&sql, p->stack.id);
	js_sql_must(&sql,
		    "INSERT INTO push(token,stack_id,atomic,started,beat,user,account) SELECT "
		    "%k,stack_id,%u,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),%s," JS_ACCOUNT JS_STACK_KEPT,
		    p->token, (uint64_t)(p->options->atomic != 0), p->handle->os_user, p->stack.id);
	status = js_db_commit(p->handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD)
		return js_stack_refuse(p->handle, p->stack_name, error);
	if (status != 0 && !(status == JS_DB_DUPLICATE && lost))
		return status;
	JS_TRY(js_handle_ask_number(p->handle, &p->push_id, error, "SELECT push_id FROM push WHERE token=%k",
				    p->token));
	JS_TRY(js_handle_ask_number(p->handle, &p->result.before, error, "SELECT pushed FROM stack WHERE stack_id=%u",
				    p->stack.id));
	p->beat_us = jobstack_now_us();
	p->begun = 1;
	return 0;
}

/* The first name has come, so the stack is needed. If it was dropped before our row was there, it is created again. */
static int begin_push(struct js_pushing *p, struct jobstack_error *error)
{
	int status;

	for (unsigned drops = 0; (status = begin_once(p, error)) == JOBSTACK_EMISSING && drops < DROPS_MAX; drops++)
		js_error_clear(error);
	return status;
}

/* Pushes the chunk, if there is one.  The chunk is empty afterwards, even if that failed: the push is over then. */
static int flush_chunk(struct js_pushing *p, struct jobstack_error *error)
{
	int status = 0;

	if (p->n > 0 && !p->begun)
		status = begin_push(p, error);
	if (status == 0 && p->bytes.failed)
		status = js_error_memory(error);
	JS_THEN(status, js_chunk_put(p, error));
	js_buf_reset(&p->bytes);
	p->n = 0;
	p->relative = 0;
	return status;
}

/* Returns whether the chunk is as large as it may be. */
static int is_chunk_full(const struct js_pushing *p)
{
	if (p->loads == JS_LOADS_YES)
		return p->n >= p->most || p->bytes.len >= JS_CHUNK_BYTES;
	return p->n >= JS_PART_NAMES || p->bytes.len >= JS_PART_BYTES;
}

/* Returns whether the names come so slowly that the workers which wait for them should not wait for a full chunk. */
static int is_chunk_old(const struct js_pushing *p)
{
	return p->n > 0 && jobstack_now_us() - p->first_us >= AGE_US;
}

/* There are more names than an INSERT takes, so it is worth asking the server whether it takes a LOAD.  That needs a
 * new connection, which a short push does without. */
static int ask_for_loads(struct js_pushing *p, struct jobstack_error *error)
{
	int status;

	if (!p->begun)
		JS_TRY(begin_push(p, error));
	p->most = p->stack.named ? JS_CHUNK_FIRST : JS_CHUNK_NAMES;
	status = js_db_loads_begin(p->handle->db, error);
	p->loads = status == 0 ? JS_LOADS_YES : JS_LOADS_NO;
	return status < 0 ? status : 0;
}

/* Adds one name to the chunk, with a NUL behind it.  The second NUL, which the buffer wants, is overwritten by the next
 * name. */
static int take_name(struct js_pushing *p, const struct jobstack_bytes *name, struct jobstack_error *error)
{
	const char *what = NULL;
	char *to;

	if (name->len == 0)
		what = "it is empty";
	else if (memchr(name->data, '\0', name->len) != NULL)
		what = "it has a NUL byte";
	else if (name->len > JOBSTACK_DATAPATH_MAX)
		return js_error_set(error, JOBSTACK_EINPUT, "it is %zu bytes long, and %d is the limit", name->len,
				    JOBSTACK_DATAPATH_MAX);
	else if (*(const char *)name->data != '/' && p->options->cwd == NULL)
		what = "it is a relative name, but no directory for relative names was given";
	if (what != NULL)
		return js_error_set(error, JOBSTACK_EINPUT, "%s", what);
	p->relative |= *(const char *)name->data != '/';
	to = js_buf_room(&p->bytes, name->len + 1);
	if (to == NULL)
		return js_error_memory(error);
	if (p->n == 0)
		p->first_us = jobstack_now_us();
	p->names[p->n++] = (struct js_pushed_name){p->bytes.len, (uint32_t)name->len, 0};
	memcpy(to, name->data, name->len);
	memset(to + name->len, 0, 2);
	p->bytes.len += name->len + 1;
	return 0;
}

/* Takes names until NEXT has no more: its 0 is a name, 1 the end, 2 that none has come for a while, negative a stop. */
static int push_all(struct js_pushing *p, jobstack_next_fn *next, void *ctx, struct jobstack_error *error)
{
	struct jobstack_bytes name;
	uint64_t number = 0;
	int status = 0, got;

	while (status == 0) {
		got = next(ctx, &name);
		if (got < 0)
			return js_error_set(error, JOBSTACK_ESTOPPED, "stopped");
		if (got == 0) {
			struct jobstack_error bad = JOBSTACK_ERROR_INIT;

			number++;
			status = take_name(p, &name, &bad);
			if (status != 0) { /* the names before it are good */
				int flushed = p->options->atomic ? 0 : flush_chunk(p, error);

				p->result.bad = number;
				if (flushed == 0)
					js_error_pass(error, &bad);
				return flushed != 0 ? flushed : status;
			}
		}
		if (status == 0 && p->loads == JS_LOADS_UNASKED && is_chunk_full(p))
			status = ask_for_loads(p, error);
		if (status == 0 && (got == 1 || (got == 2 && p->n > 0) || is_chunk_full(p) || is_chunk_old(p)))
			status = flush_chunk(p, error);
		if (got == 1)
			break;
		if (got == 2 && status == 0)
			status = js_push_beat(p, error);
	}
	return status;
}

/* Ends the pusher's row, and makes what an atomic push wrote ready: all its spans change their class in one
 * transaction, so workers see all entries or none.  p->parts says how many spans must change. */
static int publish_push(struct js_pushing *p, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status, lost = 0;

	js_sql_must(&sql,
		    "UPDATE push SET seq=seq+1,ended=UTC_TIMESTAMP(6) WHERE push_id=%u AND token=%k AND seq=%u AND "
		    "ended IS NULL",
		    p->push_id, p->token, p->seq);
	if (p->options->atomic) {
		js_sql_stmt(&sql, "UPDATE span SET class=0,push_id=NULL WHERE stack_id=%u AND class=2 AND push_id=%u",
			    p->stack.id, p->push_id);
		js_sql_count(&sql, p->parts);
	}
	status = js_db_commit(p->handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD && lost) { /* was it our own try? */
		uint64_t seq;

		status = js_handle_ask_number(p->handle, &seq, error,
					      "SELECT seq FROM push WHERE push_id=%u AND token=%k", p->push_id,
					      p->token);
		if (status == 0 && seq != p->seq + 1)
			status = JS_DB_GUARD;
	}
	if (status == JS_DB_GUARD)
		return js_chunk_refuse(p, error);
	return status;
}

int jobstack_push_from(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		       jobstack_next_fn *next, void *ctx, struct jobstack_push_result *result,
		       struct jobstack_error *error)
{
	struct jobstack_push_options o = JOBSTACK_PUSH_OPTIONS_INIT;
	struct js_pushing *p = calloc(1, sizeof(*p));
	int status;

	if (p == NULL)
		return js_error_memory(error);
	p->handle = handle;
	p->stack_name = stack;
	p->options = &o;
	p->result = (struct jobstack_push_result)JOBSTACK_PUSH_RESULT_INIT;
	status = js_grow_begin(result, &p->result, "jobstack_push_result", error);
	JS_THEN(status, js_grow_in(&o, options, "jobstack_push_options", error));
	JS_THEN(status, js_stack_check_name(stack, error));
	JS_THEN(status, js_schema_check(handle, error));
	JS_THEN(status, push_all(p, next, ctx, error));
	if (status == 0 && p->begun) {
		status = publish_push(p, error);
		if (status == 0)
			js_push_unlock(p);
	} else if (p->begun && p->options->atomic) {
		if (js_discard(p->handle, &p->stack, p->push_id, 0, NULL) == 0) {
			p->result.pushed = 0;
			js_push_unlock(p);
		}
	} else if (p->begun)
		(void)publish_push(p, NULL);
	js_db_loads_end(handle->db);
	if (status == 0 && !p->begun)
		status = JOBSTACK_NOTHING;
	js_grow_out(result, &p->result);
	js_buf_free(&p->bytes);
	free(p);
	return status;
}

struct many {
	const struct jobstack_bytes *datapaths;
	size_t n, at;
};

static int next_of_many(void *ctx, struct jobstack_bytes *datapath)
{
	struct many *m = ctx;

	if (m->at == m->n)
		return 1;
	*datapath = m->datapaths[m->at++];
	return 0;
}

int jobstack_push_many(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		       const struct jobstack_bytes *datapaths, size_t n, struct jobstack_push_result *result,
		       struct jobstack_error *error)
{
	struct many m = {datapaths, n, 0};

	return jobstack_push_from(handle, stack, options, next_of_many, &m, result, error);
}

int jobstack_push(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		  const char *datapath, struct jobstack_error *error)
{
	struct jobstack_bytes one = {datapath, strlen(datapath)};

	return jobstack_push_many(handle, stack, options, &one, 1, NULL, error);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pushing.  Promises: a chunk is read whole before its transaction begins; it is there wholly or not at all, once, whatever
 * happens to the reply (a compare-and-set on the pusher's own row settles it); memory is flat; what an atomic push wrote can
 * be popped only when all of it is there, and is taken away again if it fails.
 */
#define _GNU_SOURCE
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "core/core.h"
#include "core/discard.h"
#include "core/span.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_NAMES 2000
#define CHUNK_BYTES (512 * 1024)
#define BEAT_US INT64_C(20000000)
#define NAMING_STEP 5000
#define RACES_MAX 50

struct name {
	size_t at, len;
	int drop; /* known, or a second time in this chunk */
};

/* One push under way. */
struct pushing {
	struct jobstack *handle;
	const char *stack_name;
	const struct jobstack_push_options *options;
	struct js_stack stack;
	int begun;
	uint64_t push_id, seq;
	unsigned char token[16];
	int64_t beat_us;
	struct js_buf bytes;
	struct name names[CHUNK_NAMES];
	size_t n, dropped;
	int relative; /* the chunk has a relative name */
	struct jobstack_push_result result;
};

/* Writes the policy that the options give. */
static int set_policy(struct pushing *p, struct jobstack_error *error)
{
	const struct jobstack_push_options *o = p->options;
	struct js_sql sql = {0};
	int status;

	if (o->max_attempts < 0 && o->max_losses < 0 && o->retry_delay_us < 0)
		return 0;
	js_sql_add(&sql, "UPDATE stack SET name=name");
	if (o->max_attempts >= 0)
		js_sql_add(&sql, ",max_attempts=%d", (int64_t)o->max_attempts);
	if (o->max_losses >= 0)
		js_sql_add(&sql, ",max_losses=%d", (int64_t)o->max_losses);
	if (o->retry_delay_us >= 0)
		js_sql_add(&sql, ",retry_delay_us=%d", o->retry_delay_us);
	js_sql_stmt(&sql, " WHERE stack_id=%u", p->stack.id);
	status = js_db_transaction(p->handle->db, &sql, NULL, NULL, NULL, NULL, error);
	js_sql_free(&sql);
	return status;
}

/* Gives every entry of a stack its row in name, step by step, until none is left out. */
static int complete_names(struct pushing *p, struct jobstack_error *error)
{
	uint64_t left = 1;
	int status = 0;

	while (status == 0 && left > 0) {
		struct js_sql sql = {0};

		js_sql_stmt(&sql, "SET @js_lo=NULL");
		js_sql_stmt(&sql, "SELECT COALESCE(named,0) INTO @js_lo FROM stack WHERE stack_id=%u FOR UPDATE", p->stack.id);
		js_sql_stmt(&sql,
			    "INSERT IGNORE INTO name(stack_id,hash,entry_id) SELECT stack_id,UNHEX(SHA2(datapath,256)),entry_id FROM "
			    "entry WHERE stack_id=%u AND entry_id BETWEEN @js_lo+1 AND @js_lo+%u",
			    p->stack.id, (uint64_t)NAMING_STEP);
		js_sql_stmt(&sql, "UPDATE stack SET named=LEAST(tail,@js_lo+%u) WHERE stack_id=%u", (uint64_t)NAMING_STEP,
			    p->stack.id);
		status = js_db_transaction(p->handle->db, &sql, NULL, NULL, NULL, NULL, error);
		js_sql_free(&sql);
		if (status != 0)
			break;
		js_sql_stmt(&sql, "SELECT tail-named FROM stack WHERE stack_id=%u", p->stack.id);
		status = js_handle_number(p->handle, &sql, &left, error);
	}
	if (status == 0)
		p->stack.named = 1;
	return status;
}

/* The stack is needed: the first name has come. */
static int begin(struct pushing *p, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int lost, status = js_stack_make(p->handle, p->stack_name, p->options->lifo, &p->stack, error);

	if (status == 0)
		status = js_discard_abandoned(p->handle, p->stack.id, error);
	if (status == 0)
		status = set_policy(p, error);
	if (status == 0 && p->options->unique)
		status = complete_names(p, error);
	if (status != 0)
		return status;
	js_file_random(p->token, sizeof(p->token));
	js_sql_stmt(&sql,
		    "INSERT INTO push(token,stack_id,atomic,started,beat) VALUES(%x,%u,%u,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6))",
		    (const void *)p->token, (size_t)16, p->stack.id, (uint64_t)(p->options->atomic != 0));
	status = js_db_transaction(p->handle->db, &sql, NULL, NULL, NULL, &lost, error);
	js_sql_reset(&sql);
	if (status == JS_DB_DUPLICATE && lost)
		status = 0;
	if (status != 0) {
		js_sql_free(&sql);
		return status;
	}
	js_sql_stmt(&sql, "SELECT push_id FROM push WHERE token=%x", (const void *)p->token, (size_t)16);
	status = js_handle_number(p->handle, &sql, &p->push_id, error);
	js_sql_stmt(&sql, "SELECT pushed FROM stack WHERE stack_id=%u", p->stack.id);
	if (status == 0)
		status = js_handle_number(p->handle, &sql, &p->result.before, error);
	js_sql_free(&sql);
	p->beat_us = jobstack_now_us();
	p->begun = status == 0;
	return status;
}

/* ------------------------------------------------------------------------------------------------- duplicates in a chunk */

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct pushing *p = ctx;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	int c = compare_bytes(p->bytes.data + p->names[i].at, p->names[i].len, p->bytes.data + p->names[j].at, p->names[j].len);

	return c != 0 ? c : (i > j) - (i < j);
}

/* The chunk's names in order of their bytes. */
struct sorted {
	struct pushing *p;
	size_t *order;
};

static void drop(struct pushing *p, size_t i)
{
	p->dropped += (size_t)!p->names[i].drop;
	p->names[i].drop = 1;
}

/* A datapath that the stack has: drops it from the chunk, wherever it stands. */
static void take_known(void *ctx, const struct js_row *row)
{
	struct sorted *s = ctx;
	size_t low = 0, high = s->p->n;

	if (row == NULL)
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2, i = s->order[middle];

		if (compare_bytes(s->p->bytes.data + s->p->names[i].at, s->p->names[i].len, row->col[0], row->len[0]) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->p->n; low++) {
		const struct name *m = &s->p->names[s->order[low]];

		if (compare_bytes(s->p->bytes.data + m->at, m->len, row->col[0], row->len[0]) != 0)
			break;
		drop(s->p, s->order[low]);
	}
}

/* Drops from the chunk what the stack has, and second times. */
static int drop_known(struct pushing *p, struct jobstack_error *error)
{
	struct sorted s = {p, calloc(p->n, sizeof(size_t))};
	struct js_sql sql = {0};
	int status, any = 0;

	if (s.order == NULL)
		return js_error_memory(error);
	for (size_t i = 0; i < p->n; i++)
		s.order[i] = i;
	qsort_r(s.order, p->n, sizeof(*s.order), compare_names, p);
	for (size_t i = 1; i < p->n; i++) {
		const struct name *a = &p->names[s.order[i - 1]], *b = &p->names[s.order[i]];

		if (compare_bytes(p->bytes.data + a->at, a->len, p->bytes.data + b->at, b->len) == 0)
			drop(p, s.order[i]);
	}
	js_sql_add(&sql, "SELECT e.datapath FROM name n JOIN entry e ON e.stack_id=n.stack_id AND e.entry_id=n.entry_id "
			 "WHERE n.stack_id=%u AND n.hash IN(",
		   p->stack.id);
	for (size_t i = 0; i < p->n; i++)
		if (!p->names[i].drop)
			js_sql_add(&sql, any++ ? ",UNHEX(SHA2(%x,256))" : "UNHEX(SHA2(%x,256))",
				   (const void *)(p->bytes.data + p->names[i].at), p->names[i].len);
	js_sql_stmt(&sql, ")");
	status = any ? js_db_query(p->handle->db, &sql, take_known, &s, error) : 0;
	js_sql_free(&sql);
	free(s.order);
	return status;
}

/* ------------------------------------------------------------------------------------------------------------ the chunk */

/* The transaction of one chunk: the stack row first (it gives the numbers out), the pusher's fence, then the rows. */
static void chunk_sql(struct pushing *p, struct js_sql *sql)
{
	const struct jobstack_push_options *o = p->options;
	uint64_t n = p->n - p->dropped, i = 0;

	js_sql_add(sql, "UPDATE stack SET ");
	if (p->stack.named)
		js_sql_add(sql, "named=IF(named=tail,tail+%u,named),", n);
	if (p->relative)
		js_sql_add(sql, "cwd=%s,", o->cwd);
	js_sql_add(sql, "tail=tail+%u,pushed=pushed+%u WHERE stack_id=%u AND state IN(0,1) AND tail<=%u", n, n, p->stack.id,
		   (uint64_t)(JS_ENTRY_MAX - n));
	if (o->unique)
		js_sql_add(sql, " AND named=tail");
	if (p->relative)
		js_sql_add(sql, " AND (cwd IS NULL OR cwd=%s)", o->cwd);
	js_sql_add(sql, ";");
	js_sql_guard(sql, 1);
	js_sql_stmt(sql,
		    "UPDATE push SET seq=seq+1,pushed=pushed+%u,beat=UTC_TIMESTAMP(6) WHERE push_id=%u AND token=%x AND seq=%u AND "
		    "ended IS NULL",
		    n, p->push_id, (const void *)p->token, (size_t)16, p->seq);
	js_sql_guard(sql, 1);
	js_sql_stmt(sql, "SELECT tail-%u INTO @js_t FROM stack WHERE stack_id=%u", n, p->stack.id);
	js_sql_add(sql, "INSERT INTO entry(stack_id,entry_id,datapath) VALUES");
	for (size_t at = 0; at < p->n; at++)
		if (!p->names[at].drop) {
			i++;
			js_sql_add(sql, i == 1 ? "(%u,@js_t+%u,%x)" : ",(%u,@js_t+%u,%x)", p->stack.id, i,
				   (const void *)(p->bytes.data + p->names[at].at), p->names[at].len);
		}
	js_sql_add(sql, ";");
	if (p->stack.named)
		js_sql_stmt(sql,
			    o->unique ? "INSERT INTO name(stack_id,hash,entry_id) SELECT stack_id,UNHEX(SHA2(datapath,256)),entry_id "
					"FROM entry WHERE stack_id=%u AND entry_id BETWEEN @js_t+1 AND @js_t+%u"
				      : "INSERT IGNORE INTO name(stack_id,hash,entry_id) SELECT stack_id,UNHEX(SHA2(datapath,256)),"
					"entry_id FROM entry WHERE stack_id=%u AND entry_id BETWEEN @js_t+1 AND @js_t+%u",
			    p->stack.id, n);
	js_sql_add(sql,
		   "INSERT INTO span(stack_id,class,`rank`,pos,lo,hi,attempt,fails,losses,push_id) VALUES(%u,%u,%d,",
		   p->stack.id, (uint64_t)(o->atomic ? JS_HELD : JS_READY), -(int64_t)o->priority);
	js_sql_add(sql, p->stack.lifo ? "-CAST(@js_t+%u AS SIGNED)" : "@js_t+%u", p->stack.lifo ? (uint64_t)1 : n);
	js_sql_stmt(sql, ",@js_t+1,@js_t+%u,1,0,0,%n)", n, o->atomic ? (int64_t)p->push_id : -1);
}

/* A guard or a key stopped the chunk.  0: our try whose reply was lost had arrived; 2: try again; else the error. */
static int settle(struct pushing *p, int lost, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	uint64_t seq;
	int status;

	js_sql_stmt(&sql, "SELECT seq FROM push WHERE push_id=%u AND token=%x AND ended IS NULL", p->push_id,
		    (const void *)p->token, (size_t)16);
	status = js_handle_number(p->handle, &sql, &seq, error);
	if (status != 0)
		return status;
	if (seq == p->seq + 1 && lost)
		return 0;
	if (seq != p->seq)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "this push was silent for over %d minutes and was ended by another one", JS_DISCARD_MINUTES);
	status = js_stack_find(p->handle, p->stack_name, &p->stack, error);
	if (status != 0)
		return status;
	if (p->stack.state != JOBSTACK_OPEN && p->stack.state != JOBSTACK_PAUSED)
		return js_error_set(error, JOBSTACK_ECONFLICT, "the stack \"%s\" is cancelled: nothing can be pushed to it",
				    p->stack_name);
	if (p->relative && p->stack.cwd[0] != '\0' && strcmp(p->stack.cwd, p->options->cwd) != 0)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the relative names in the stack \"%s\" belong to %.300s, these to %.300s", p->stack_name,
				    p->stack.cwd, p->options->cwd);
	if (p->stack.tail > JS_ENTRY_MAX - CHUNK_NAMES)
		return js_error_set(error, JOBSTACK_ECONFLICT, "the stack \"%s\" has had as many entries as it can number",
				    p->stack_name);
	if (p->options->unique)
		status = complete_names(p, error);
	return status == 0 ? 2 : status;
}

static void empty_chunk(struct pushing *p)
{
	js_buf_reset(&p->bytes);
	p->n = p->dropped = 0;
	p->relative = 0;
}

/* Pushes the chunk, if there is one. */
static int flush(struct pushing *p, struct jobstack_error *error)
{
	int status = 0, lost = 0, now;

	if (p->n > 0 && !p->begun)
		status = begin(p, error);
	if (status == 0 && p->bytes.failed)
		status = js_error_memory(error);
	for (unsigned race = 0; status == 0 && p->n > p->dropped; race++) {
		struct js_sql sql = {0};

		if (p->options->unique)
			status = drop_known(p, error);
		if (status != 0 || p->n == p->dropped)
			break;
		chunk_sql(p, &sql);
		status = js_db_transaction(p->handle->db, &sql, NULL, NULL, NULL, &now, error);
		js_sql_free(&sql);
		lost |= now; /* an earlier try of this chunk may still arrive */
		if (status == JS_DB_GUARD || status == JS_DB_DUPLICATE)
			status = settle(p, lost, error);
		if (status == 2 && race < RACES_MAX) {
			status = 0;
			continue;
		}
		if (status == 2)
			status = js_error_set(error, JOBSTACK_EBUG, "a chunk kept meeting others that pushed the same names");
		if (status == 0) {
			p->seq++;
			p->beat_us = jobstack_now_us();
			p->result.pushed += p->n - p->dropped;
		}
		break;
	}
	if (status == 0)
		p->result.skipped += p->dropped;
	empty_chunk(p);
	return status;
}

/* A sign of life while no names come. */
static int beat(struct pushing *p, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	if (!p->begun || jobstack_now_us() - p->beat_us < BEAT_US)
		return 0;
	p->beat_us = jobstack_now_us();
	js_sql_stmt(&sql, "UPDATE push SET beat=UTC_TIMESTAMP(6) WHERE push_id=%u", p->push_id);
	status = js_db_transaction(p->handle->db, &sql, NULL, NULL, NULL, NULL, error);
	js_sql_free(&sql);
	return status;
}

/* Takes one name into the chunk. */
static int take_name(struct pushing *p, const struct jobstack_bytes *name, struct jobstack_error *error)
{
	const char *what = NULL;

	if (name->len == 0)
		what = "it is empty";
	else if (memchr(name->data, '\0', name->len) != NULL)
		what = "it has a NUL byte";
	else if (name->len > JOBSTACK_DATAPATH_MAX)
		return js_error_set(error, JOBSTACK_EINPUT, "it is %zu bytes long, and %d is the limit", name->len,
				    JOBSTACK_DATAPATH_MAX);
	else if (*(const char *)name->data != '/' && p->options->cwd == NULL)
		what = "it is a relative name, and no directory was given where those belong";
	if (what != NULL)
		return js_error_set(error, JOBSTACK_EINPUT, "%s", what);
	p->relative |= *(const char *)name->data != '/';
	p->names[p->n++] = (struct name){p->bytes.len, name->len, 0};
	js_buf_add(&p->bytes, name->data, name->len);
	return 0;
}

static int push_all(struct pushing *p, jobstack_next_fn *next, void *ctx, struct jobstack_error *error)
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
			if (status != 0) { /* what came before it is good */
				int flushed = p->options->atomic ? 0 : flush(p, error);

				p->result.bad = number;
				if (flushed == 0 && error != NULL && error->code == 0)
					*error = bad;
				return flushed != 0 ? flushed : status;
			}
		}
		if (got == 1 || (got == 2 && p->n > 0) || p->n == CHUNK_NAMES || p->bytes.len >= CHUNK_BYTES)
			status = flush(p, error);
		if (got == 1)
			break;
		if (got == 2 && status == 0)
			status = beat(p, error);
	}
	return status;
}

/* Ends the pusher's row, and makes what an atomic push wrote ready. */
static int publish(struct pushing *p, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status, lost = 0;

	js_sql_stmt(&sql, "UPDATE push SET seq=seq+1,ended=UTC_TIMESTAMP(6) WHERE push_id=%u AND token=%x AND seq=%u AND ended IS NULL",
		    p->push_id, (const void *)p->token, (size_t)16, p->seq);
	js_sql_guard(&sql, 1);
	if (p->options->atomic)
		js_sql_stmt(&sql, "UPDATE span SET class=0,push_id=NULL WHERE stack_id=%u AND class=2 AND push_id=%u", p->stack.id,
			    p->push_id);
	status = js_db_transaction(p->handle->db, &sql, NULL, NULL, NULL, &lost, error);
	js_sql_free(&sql);
	sql = (struct js_sql){0};
	if (status == JS_DB_GUARD && lost) { /* was it our own try? */
		uint64_t seq;

		js_sql_stmt(&sql, "SELECT seq FROM push WHERE push_id=%u AND token=%x", p->push_id, (const void *)p->token, (size_t)16);
		status = js_handle_number(p->handle, &sql, &seq, error);
		if (status == 0 && seq != p->seq + 1)
			status = JS_DB_GUARD;
	}
	if (status == JS_DB_GUARD)
		return js_error_set(error, JOBSTACK_ECONFLICT, "this push was ended by another one before it was done");
	return status;
}

int jobstack_push_from(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		       jobstack_next_fn *next, void *ctx, struct jobstack_push_result *result, struct jobstack_error *error)
{
	static const struct jobstack_push_options none = JOBSTACK_PUSH_OPTIONS_INIT;
	struct pushing *p = calloc(1, sizeof(*p));
	int status;

	if (result != NULL)
		*result = (struct jobstack_push_result){0, 0, 0, 0};
	if (p == NULL)
		return js_error_memory(error);
	p->handle = handle;
	p->stack_name = stack;
	p->options = options == NULL ? &none : options;
	status = p->options->size == sizeof(*options)
			 ? js_stack_check_name(stack, error)
			 : js_error_set(error, JOBSTACK_EUSAGE, "jobstack_push_options.size is not that of this library");
	if (status == 0)
		status = js_schema_check(handle, error);
	if (status == 0)
		status = push_all(p, next, ctx, error);
	if (status == 0 && p->begun)
		status = publish(p, error);
	else if (p->begun && p->options->atomic) {
		if (js_discard(p->handle, p->stack.id, p->push_id, 0, NULL) == 0)
			p->result.pushed = 0;
	} else if (p->begun)
		(void)publish(p, NULL);
	if (status == 0 && !p->begun)
		status = JOBSTACK_NOTHING;
	if (result != NULL)
		*result = p->result;
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

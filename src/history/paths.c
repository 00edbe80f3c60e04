/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where else a file was processed: the table `path`.  Promises: pushes pay nothing for it; only entries that can't be
 * withdrawn any more have a row, and none of them is ever missed below stack.indexed; flat memory.
 *
 * A row's hash is that of the absolute name.  It is computed by the server, also for names that are looked up.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/num.h"
#include "history/item.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Entries in a transaction at least and at most, and how long one should take. */
#define INDEXED_LEAST 65536
#define INDEXED_MOST 2097152
#define INDEX_US (5 * JS_SECOND_US)
#define SCANNED_AT_ONCE 500000
#define FILES_AT_ONCE 50000 /* about so many rows of path in one answer */

/* SQL for a name without "/./" and "//"; for the absolute name of entry e of stack s; for the hash of a name, as
 * path.hash has it. */
#define PLAIN(name) "REPLACE(REPLACE(" name ",'/./','/'),'//','/')"
#define ABSOLUTE PLAIN("IF(LEFT(e.datapath,1)='/',e.datapath,CONCAT(COALESCE(s.cwd,''),'/',e.datapath))")
#define HASHED(name) "CAST(LEFT(UNHEX(SHA2(" name ",256)),8) AS BINARY(8))"

struct stack_row {
	uint64_t id;		/* first, for js_num_order */
	uint64_t indexed, tail; /* the last entry that has a row in `path`; the last one that should have one */
	char name[JOBSTACK_STACK_MAX + 1];
};

struct stacks {
	struct stack_row *row;
	size_t n, room;
	uint64_t indexed; /* in all of them */
	int failed;
};

static void take_stack(void *ctx, const struct js_row *row)
{
	struct stacks *s = ctx;
	struct stack_row *to;

	if (row == NULL)
		s->n = 0;
	if (row == NULL || row->col[1] == NULL || row->len[1] > JOBSTACK_STACK_MAX || s->failed)
		return;
	s->failed = js_array_grow(&s->row, &s->room, s->n + 1, sizeof(*s->row)) != 0;
	if (s->failed)
		return;
	to = &s->row[s->n++];
	*to = (struct stack_row){.id = js_row_u64(row, 0), .indexed = js_row_u64(row, 2), .tail = js_row_u64(row, 3)};
	memcpy(to->name, row->col[1], row->len[1]);
}

/* Reads all stacks, in the order of their numbers, with CANARIES or without; or those with one of N names. */
static int read_stacks(struct jobstack *handle, const char *const *names, size_t n, int canaries, struct stacks *s,
		       struct jobstack_error *error)
{
	struct js_sql sql = {0};

	JS_TRY(js_schema_check(handle, error));
	js_sql_add(&sql, "SELECT stack_id,name,indexed,tail FROM stack WHERE state<3");
	if (!canaries)
		js_sql_add(&sql, " AND LEFT(name,%u)<>%s", (uint64_t)strlen(JOBSTACK_CANARY), JOBSTACK_CANARY);
	for (size_t i = 0; i < n; i++)
		js_sql_add(&sql, i == 0 ? " AND name IN(%s" : ",%s", names[i]);
	js_sql_stmt(&sql, n > 0 ? ") ORDER BY stack_id" : " ORDER BY stack_id");
	JS_TRY(js_db_query(handle->db, &sql, take_stack, s, error));
	for (size_t i = 0; i < s->n; i++)
		s->indexed += s->row[i].indexed;
	return s->failed ? js_error_memory(error) : 0;
}

/* ------------------------------------------------------------------------------------------------ up to date */

/* The query for a stack that has entries to index, and how far: below what a push --atomic holds, and may withdraw; and
 * below what a load may still bring, whose numbers are taken before its rows are there.  A push sends one chunk after
 * the other, so that is behind the last range that a live push has finished. */
#define SETTLED                                                                                                        \
	"SELECT stack_id,name,indexed,settled FROM (SELECT s.stack_id,s.name,s.indexed,LEAST(s.tail,"                  \
	"COALESCE((SELECT MIN(h.lo)-1 FROM span h WHERE h.stack_id=s.stack_id AND h.class=2),s.tail),"                 \
	"COALESCE((SELECT MIN(COALESCE((SELECT MAX(r.hi) FROM push_range r WHERE r.stack_id=u.stack_id AND "           \
	"r.push_id=u.push_id),0)) FROM push u WHERE u.stack_id=s.stack_id AND u.ended IS NULL AND "                    \
	"u.beat>UTC_TIMESTAMP(6)-INTERVAL 1 HOUR),s.tail)) settled FROM stack s WHERE s.state<3 AND "                  \
	"s.indexed<s.tail) t WHERE indexed<settled LIMIT 1"

/* Indexes entries up to number TO.  The more at once, the faster: the hashes are inserted in their order. */
static int index_entries(struct jobstack *handle, const struct stack_row *s, uint64_t to, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	js_sql_stmt(&sql,
		    "INSERT IGNORE INTO path(stack_id,hash,entry_id) SELECT e.stack_id," HASHED(
			    ABSOLUTE) " h,e.entry_id FROM entry e JOIN stack s ON s.stack_id=e.stack_id WHERE "
				      "e.stack_id=%u AND e.entry_id BETWEEN %u AND %u ORDER BY h,e.entry_id",
		    s->id, s->indexed + 1, to);
	/* last, because pushes wait for the stack's row */
	js_sql_must(&sql, "UPDATE stack SET indexed=%u WHERE stack_id=%u AND indexed=%u AND state<3", to, s->id,
		    s->indexed);
	status = js_db_commit(handle->db, &sql, NULL, error);
	return status == JS_DB_GUARD ? 0 : status; /* somebody else was faster, or it is being dropped */
}

int jobstack_index(struct jobstack *handle, jobstack_progress_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct stacks s = {.n = 0};
	uint64_t size = INDEXED_LEAST;
	int status = js_schema_check(handle, error);

	while (status == 0) {
		int64_t begin = js_clock_mono_us(), took;
		uint64_t to;

		status = js_handle_ask(handle, take_stack, &s, error, SETTLED);
		if (status != 0 || s.n == 0)
			break;
		to = s.row->tail;
		status = js_db_nap(handle->db, 0, error);
		if (s.row->tail - s.row->indexed > size) { /* behind the last entry there is nothing to index */
			JS_THEN(status, js_stack_last(handle, s.row->id, &to, error));
			to = to <= s.row->indexed + size ? s.row->tail : s.row->indexed + size;
		}
		JS_THEN(status, index_entries(handle, s.row, to, error));
		took = js_clock_mono_us() - begin;
		if (took < INDEX_US / 2 && size < INDEXED_MOST)
			size *= 2;
		else if (took > INDEX_US && size > INDEXED_LEAST)
			size /= 2;
		if (status == 0 && fn != NULL && fn(ctx, to, s.row->tail) != 0)
			status = js_error_set(error, JOBSTACK_ESTOPPED, "stopped");
	}
	free(s.row);
	return status;
}

/* ---------------------------------------------------------------------------------------------------- one file */

struct telling {
	jobstack_history_fn *fn;
	void *ctx;
	uint64_t told;
	int stopped;
};

/* Columns: the stack's name, the entry, its datapath, the version of the program (a fact's text), an attempt and its
 * worker. */
static void take_item(void *ctx, const struct js_row *row)
{
	struct telling *t = ctx;
	struct jobstack_item i = {.state = JOBSTACK_IS_DONE};
	unsigned c = 4;

	if (row == NULL || row->col[0] == NULL || t->stopped)
		return;
	i.entry = js_row_u64(row, 1);
	i.datapath = js_row_bytes(row, 2);
	js_item_attempt(&i, row, &c);
	js_item_worker(&i, row, &c);
	t->told++;
	t->stopped = t->fn(t->ctx, row->col[0], row->col[3], &i) != 0;
}

/* Reads what the index has of these names, by the primary keys; or, from number LOW on, some entries of stack S that
 * are not in the index.  A hash of eight bytes may be that of another name, so the names are compared as well. */
static int read_items(struct jobstack *handle, const struct jobstack_bytes *names, size_t n, const struct stack_row *s,
		      uint64_t low, struct telling *t, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_add(&sql, s != NULL ? "SELECT STRAIGHT_JOIN s.name,e" : "SELECT STRAIGHT_JOIN s.name,p");
	js_sql_add(&sql, ".entry_id,e.datapath,f.text," JS_ITEM_ATTEMPT "," JS_ITEM_WORKER " FROM (SELECT",
		   (uint64_t)0);
	for (size_t i = 0; i < n; i++)
		js_sql_add(&sql, i == 0 ? " " PLAIN("%x") " name" : " UNION SELECT " PLAIN("%x"), names[i].data,
			   names[i].len);
	if (s != NULL)
		js_sql_add(&sql,
			   ") n JOIN stack s ON s.stack_id=%u JOIN entry e ON e.stack_id=s.stack_id AND e.entry_id "
			   "BETWEEN %u AND %u",
			   s->id, low, low + SCANNED_AT_ONCE - 1);
	else
		js_sql_add(&sql,
			   ") n JOIN stack s JOIN path p ON p.stack_id=s.stack_id AND p.hash=" HASHED(
				   "n.name") " LEFT JOIN entry e ON e.stack_id=p.stack_id AND e.entry_id=p.entry_id");
	js_sql_stmt(&sql,
		    " LEFT JOIN attempt a ON a.stack_id=e.stack_id AND a.entry_id=e.entry_id LEFT JOIN worker w ON "
		    "w.worker_id=a.worker_id LEFT JOIN fact f ON f.stack_id=a.stack_id AND f.kind=0 AND "
		    "f.fact=a.program WHERE s.state<3 AND (e.entry_id IS NULL OR " ABSOLUTE
		    "=n.name) ORDER BY a.ended IS NULL,COALESCE(a.started,a.ended),s.stack_id,a.entry_id");
	return js_db_query(handle->db, &sql, take_item, t, error);
}

int jobstack_history(struct jobstack *handle, const struct jobstack_bytes *names, size_t n, jobstack_history_fn *fn,
		     void *ctx, struct jobstack_error *error)
{
	struct telling t = {fn, ctx, 0, 0};
	struct stacks s = {.n = 0};
	int status = read_stacks(handle, NULL, 0, 1, &s, error);

	JS_THEN(status, read_items(handle, names, n, NULL, 0, &t, error));
	for (size_t i = 0; i < s.n; i++) {
		if (status == 0 && s.row[i].indexed < s.row[i].tail)
			status = js_stack_last(handle, s.row[i].id, &s.row[i].tail, error);
		for (uint64_t low = s.row[i].indexed + 1; status == 0 && !t.stopped && low <= s.row[i].tail;
		     low += SCANNED_AT_ONCE) {
			status = js_db_nap(handle->db, 0, error);
			JS_THEN(status, read_items(handle, names, n, &s.row[i], low, &t, error));
		}
	}
	free(s.row);
	return status != 0 ? status : t.stopped ? JOBSTACK_ESTOPPED : t.told > 0 ? 0 : JOBSTACK_NOTHING;
}

/* --------------------------------------------------------------------------------------------------- many files */

/* The file whose rows are coming: its rows are gathered until another hash comes. */
struct gathering {
	const struct stacks *stacks;
	jobstack_file_fn *fn;
	void *ctx;
	unsigned char hash[8];
	struct jobstack_run *run;
	size_t n, room;
	struct js_buf name;
	int stopped, failed;
};

/* The rows of one file are complete: gives them to the caller. */
static void report_file(struct gathering *g)
{
	struct jobstack_file file = {{g->name.data, g->name.len}, g->run, g->n};

	if (g->n > 0 && !g->stopped && !g->failed)
		g->stopped = g->fn(g->ctx, &file) != 0;
	g->n = 0;
	js_buf_reset(&g->name);
}

static void take_run(void *ctx, const struct js_row *row)
{
	struct gathering *g = ctx;
	const struct stacks *s = g->stacks;
	uint64_t id = row == NULL ? 0 : js_row_u64(row, 1);
	size_t at = js_array_lower(s->row, s->n, sizeof(*s->row), &id, js_num_order);
	struct jobstack_run *to;

	if (row == NULL)
		g->n = 0;
	if (row == NULL || row->len[0] != sizeof(g->hash) || at == s->n)
		return;
	if (g->n > 0 && memcmp(g->hash, row->col[0], sizeof(g->hash)) != 0)
		report_file(g);
	if (js_array_grow(&g->run, &g->room, g->n + 1, sizeof(*g->run)) != 0) {
		g->failed = 1;
		return;
	}
	memcpy(g->hash, row->col[0], sizeof(g->hash));
	to = &g->run[g->n++];
	*to = (struct jobstack_run){s->row[at].name,	     js_row_u64(row, 2),  (uint32_t)js_row_u64(row, 4),
				    (int)js_row_opt(row, 5), js_row_time(row, 6), js_row_time(row, 7),
				    js_row_opt(row, 8),	     js_row_opt(row, 9)};
	if (g->name.len == 0 && row->col[3] != NULL)
		js_buf_add(&g->name, row->col[3], row->len[3]);
}

/* Adds the condition on the stacks, and on the hashes from LOW to HIGH: the primary key of path.  Hashes are compared
 * as bytes, so numbers are written with the highest byte first. */
static void add_window(struct js_sql *sql, const struct stacks *s, uint64_t low, uint64_t high)
{
	uint64_t from = htobe64(low), to = htobe64(high);

	for (size_t i = 0; i < s->n; i++)
		js_sql_add(sql, i == 0 ? " WHERE p.stack_id IN(%u" : ",%u", s->row[i].id);
	js_sql_add(sql, ") AND p.hash BETWEEN %x AND %x", (const void *)&from, sizeof(from), (const void *)&to,
		   sizeof(to));
}

/* Reads files that have several entries, with their names (REPEATED); or the attempts of all files. */
static int read_window(struct jobstack *handle, struct gathering *g, int repeated, uint64_t low, uint64_t high,
		       struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_add(&sql, "SELECT STRAIGHT_JOIN p.hash,p.stack_id,p.entry_id,");
	if (repeated) {
		js_sql_add(&sql, ABSOLUTE ",0,NULL,NULL,NULL,NULL,NULL FROM (SELECT p.hash FROM path p");
		add_window(&sql, g->stacks, low, high);
		js_sql_add(&sql, " GROUP BY p.hash HAVING COUNT(*)>1) d JOIN stack s JOIN path p ON "
				 "p.stack_id=s.stack_id AND p.hash=d.hash LEFT JOIN entry e ON e.stack_id=p.stack_id "
				 "AND e.entry_id=p.entry_id");
	} else
		js_sql_add(&sql, "NULL,a.attempt,a.outcome,a.started,a.ended,a.read_bytes,a.write_bytes FROM path p "
				 "JOIN attempt a ON a.stack_id=p.stack_id AND a.entry_id=p.entry_id");
	add_window(&sql, g->stacks, low, high);
	js_sql_stmt(&sql, repeated ? " ORDER BY p.hash,p.stack_id,p.entry_id" : " ORDER BY p.hash,a.started");
	JS_TRY(js_db_query(handle->db, &sql, take_run, g, error));
	report_file(g);
	return g->failed || g->name.failed ? js_error_memory(error) : 0;
}

/* The hashes are read window by window, each with about FILES_AT_ONCE rows: hashes are even, so a share of their range
 * is the same share of the files.  With `most`, only the beginning of the range is read, as a sample. */
int jobstack_files(struct jobstack *handle, const struct jobstack_files_options *options, jobstack_file_fn *fn,
		   void *ctx, double *share, struct jobstack_error *error)
{
	struct jobstack_files_options o = JOBSTACK_FILES_OPTIONS_INIT;
	struct stacks s = {.n = 0};
	struct gathering g = {.stacks = &s, .fn = fn, .ctx = ctx};
	int status = js_grow_in(&o, options, "jobstack_files_options", error);
	uint64_t last = UINT64_MAX, step;
	double part = 1;

	JS_THEN(status, read_stacks(handle, o.stacks, o.stacks_n, o.stacks_n > 0, &s, error));
	if (o.most > 0 && s.indexed > o.most) {
		part = (double)o.most / (double)s.indexed;
		last = (uint64_t)(part * 0x1p64);
	}
	s.indexed = o.most > 0 && s.indexed > o.most ? o.most : s.indexed;
	step = last / (s.indexed / FILES_AT_ONCE + 1) + 1;
	for (uint64_t from = 0, to; status == 0 && !g.stopped && s.indexed > 0; from = to + 1) {
		to = step == 0 || last - from < step ? last : from + step - 1;
		status = js_db_nap(handle->db, 0, error);
		JS_THEN(status, read_window(handle, &g, o.most == 0, from, to, error));
		if (to == last)
			break;
	}
	if (share != NULL)
		*share = part;
	free(g.run);
	js_buf_free(&g.name);
	free(s.row);
	return status == 0 && g.stopped ? JOBSTACK_ESTOPPED : status;
}

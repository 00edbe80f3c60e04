/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream of attempts.  Promises: each attempt is in exactly one block, once.  A block never changes.  When a block
 * is visible, so are all blocks with lower numbers.  DESIGN.md, "The stream", explains why.
 *
 * A list of attempts is in one of three places, and only ever moves down:
 *
 *     worker.closed   appended to by each step of the worker that closes attempts, in the UPDATE that is its fence
 *     closed          a row, once the column is full, the worker ends, or a list is too long for it
 *     stream          a block, once a reader has gathered lists: js_stream_gather
 *
 * Each move is one transaction.  That into the stream has a guard for each source (a column must still begin with what
 * was read; all rows must still be there) and a primary key for its result, the block's number.  So of two readers that
 * gather the same lists one is stopped, and begins again.
 */
#include "history/stream.h"

#include "base/array.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 250	/* columns, and rows of `closed`, that make a block, at most */
#define BLOCK_MAX 65536 /* bytes of a block; its last piece may exceed it */
#define RACES_MAX 100	/* tries to make a block that others get in the way of */
#define RACE_US 5000	/* how long to wait after each */
#define LOOK 500	/* attempts looked for by one query */

/* -------------------------------------------------------------------------------------------------------- as text */

static int order_by_entry(const void *a, const void *b)
{
	const struct js_attempt_id *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* "7:1," or "9-12:2,": entries, a colon, and the number of their attempt. */
int js_stream_next(const char **text, struct js_stream_range *r)
{
	char *end;

	r->first = r->last = strtoull(*text, &end, 10);
	if (*end == '-')
		r->last = strtoull(end + 1, &end, 10);
	if (end == *text || *end != ':' || r->last < r->first)
		return 0;
	r->attempt = strtoull(end + 1, &end, 10);
	*text = end + 1;
	return *end == ',';
}

/* Reads a block: its number, its list and, where that is selected, its newest second.  A range of BLOCK_MAX entries or
 * more is taken for damage: it must not lead to a list that fills the memory. */
static void take_block(void *ctx, const struct js_row *row)
{
	struct js_stream_block *b = ctx;
	struct js_stream_range r;
	const char *text;

	if (row == NULL) {
		b->n = 0;
		b->no = 0;
		b->failed = b->damaged = 0;
		return;
	}
	b->no = js_row_u64(row, 0);
	b->newest = row->n > 2 ? js_row_u64(row, 2) : 0;
	for (text = row->col[1]; *text != '\0' && !b->failed && !b->damaged;) {
		b->damaged = !js_stream_next(&text, &r) || r.last - r.first >= BLOCK_MAX;
		if (b->damaged ||
		    js_array_grow(&b->list, &b->room, b->n + (r.last - r.first) + 1, sizeof(*b->list)) != 0) {
			b->failed = !b->damaged;
			return;
		}
		for (; r.first <= r.last; r.first++)
			b->list[b->n++] = (struct js_attempt_id){r.first, r.attempt};
	}
	if (b->n > 1)
		qsort(b->list, b->n, sizeof(*b->list), order_by_entry);
}

/* Returns 0 for a block that was read, JOBSTACK_NOTHING if there was none, or an error. */
static int check_block(const struct js_stream_block *b, struct jobstack_error *error)
{
	if (b->failed)
		return js_error_memory(error);
	if (b->damaged)
		return js_error_set(error, JOBSTACK_EBUG, "block %" PRIu64 " of the stream is damaged", b->no);
	return b->no == 0 ? JOBSTACK_NOTHING : 0;
}

int js_stream_read(struct jobstack *handle, uint64_t stack_id, uint64_t no, struct js_stream_block *b,
		   struct jobstack_error *error)
{
	JS_TRY(js_handle_ask(handle, take_block, b, error,
			     "SELECT no,list FROM stream FORCE INDEX(PRIMARY) WHERE stack_id=%u AND no>=%u ORDER BY no "
			     "LIMIT 1",
			     stack_id, no));
	return check_block(b, error);
}

/* ---------------------------------------------------------------------------------------------- making the blocks */

/* What a block is made of: a piece of a worker's row (seq 0), or a row of `closed`. */
struct piece {
	uint64_t worker, seq;
	size_t at, len; /* in the text */
};

struct gathering {
	struct js_buf text; /* the lists, one after the other: the block's list */
	struct piece piece[2 * PIECES];
	size_t n, columns;	 /* pieces; those of workers' rows come first */
	uint64_t oldest, newest; /* of all pieces, in seconds since 1970 */
};

static void take_piece(void *ctx, const struct js_row *row)
{
	struct gathering *g = ctx;

	if (row == NULL) {
		g->n = g->columns = 0;
		g->oldest = JS_CLOSED_FAR;
		g->newest = 0;
		js_buf_reset(&g->text);
		return;
	}
	if (g->n == 2 * PIECES || g->text.len >= BLOCK_MAX)
		return; /* the rest is the next block's */
	g->piece[g->n] = (struct piece){js_row_u64(row, 0), js_row_u64(row, 1), g->text.len, row->len[2]};
	g->columns += g->piece[g->n++].seq == 0;
	js_buf_add(&g->text, row->col[2], row->len[2]);
	g->oldest = js_row_u64(row, 3) < g->oldest ? js_row_u64(row, 3) : g->oldest;
	g->newest = js_row_u64(row, 4) > g->newest ? js_row_u64(row, 4) : g->newest;
}

/* Removes the pieces from where they were read.  A worker may have appended to its column since: that stays.  The first
 * guard counts the columns that still begin with what was read: one that has moved to the table meanwhile does not.
 * The second counts the rows.  The columns come first, in the lock order (worker before closed). */
static void remove_pieces_sql(const struct gathering *g, uint64_t stack_id, struct js_sql *sql)
{
	if (g->columns > 0) {
		js_sql_add(sql, "UPDATE worker SET closed=NULLIF(SUBSTR(closed,1+CASE worker_id");
		for (size_t i = 0; i < g->columns; i++)
			js_sql_add(sql, " WHEN %u THEN %u", g->piece[i].worker, (uint64_t)g->piece[i].len);
		js_sql_add(sql, " END),'') WHERE ");
		for (size_t i = 0; i < g->columns; i++)
			js_sql_add(sql,
				   i == 0 ? "(worker_id=%u AND LEFT(closed,%u)=%x)"
					  : " OR (worker_id=%u AND LEFT(closed,%u)=%x)",
				   g->piece[i].worker, (uint64_t)g->piece[i].len,
				   (const void *)(g->text.data + g->piece[i].at), g->piece[i].len);
		js_sql_stmt(sql, "");
		js_sql_guard(sql, g->columns);
	}
	if (g->n > g->columns) {
		js_sql_add(sql, "DELETE FROM closed WHERE stack_id=%u AND (0", stack_id);
		for (size_t i = g->columns; i < g->n; i++)
			js_sql_add(sql, " OR (worker_id=%u AND seq=%u)", g->piece[i].worker, g->piece[i].seq);
		js_sql_stmt(sql, ")");
		js_sql_guard(sql, g->n - g->columns);
	}
}

/* One try, with the lists of at most COLUMNS workers.  Returns JS_DB_GUARD or JS_DB_DUPLICATE if another program was
 * faster; JOBSTACK_NOTHING if there is nothing to gather.
 *
 * The number of the new block follows from that of the newest one, which must be read after the lists.  If it were read
 * before them, another reader could make a block in between, and a caller that is told "all is in blocks up to LAST"
 * would miss that block. */
static int gather_once(struct gathering *g, struct jobstack *handle, uint64_t stack_id, uint64_t columns,
		       uint64_t *last, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	/* one statement, so that a list that moves from a worker's row to the table meanwhile is seen once */
	JS_TRY(js_handle_ask(
		handle, take_piece, g, error,
		"SELECT worker_id,0,closed,oldest,newest FROM (SELECT worker_id,closed,oldest,newest FROM worker FORCE "
		"INDEX(worker_of_stack) WHERE stack_id=%u AND ended IS NULL AND closed IS NOT NULL ORDER BY "
		"worker_id LIMIT %u) w UNION ALL SELECT worker_id,seq,list,oldest,newest FROM (SELECT "
		"worker_id,seq,list,oldest,newest FROM closed WHERE stack_id=%u ORDER BY worker_id,seq LIMIT %u) c",
		stack_id, columns, stack_id, (uint64_t)PIECES));
	if (g->text.failed)
		return js_error_memory(error);
	/* asked after that: a list that others have moved meanwhile is in this block or an earlier one */
	JS_TRY(js_handle_ask_number(handle, last, error, "SELECT COALESCE(MAX(no),0) FROM stream WHERE stack_id=%u",
				    stack_id));
	if (g->n == 0)
		return JOBSTACK_NOTHING;
	remove_pieces_sql(g, stack_id, &sql);
	sql.races = 1; /* a guard that stops this was right, most likely: it is not sent again */
	js_sql_stmt(&sql, "INSERT INTO stream(stack_id,no,oldest,newest,list) VALUES(%u,%u,%u,%u,%x)", stack_id,
		    *last + 1, g->oldest, g->newest, (const void *)g->text.data, g->text.len);
	return js_db_commit(handle->db, &sql, NULL, error);
}

int js_stream_gather(struct jobstack *handle, uint64_t stack_id, uint64_t *last, struct jobstack_error *error)
{
	struct gathering *g = calloc(1, sizeof(*g));
	int status = g == NULL ? js_error_memory(error) : 0;

	for (unsigned race = 0; status == 0; race++) {
		/* Fewer columns after each try, down to one: a column that its worker empties between the read and the
		 * transaction spoils the block.  Many quick workers would spoil each block with all of theirs. */
		status = gather_once(g, handle, stack_id, race < 7 ? PIECES >> race : 1, last, error);
		if (status != JS_DB_GUARD && status != JS_DB_DUPLICATE)
			break;
		/* a worker has emptied its row, or another reader made the block (or our own packet, sent twice) */
		status = race < RACES_MAX ? js_db_nap(handle->db, RACE_US, error)
					  : js_error_set(error, JOBSTACK_ECONFLICT,
							 "the newest attempts can't be read, because other programs "
							 "keep changing them: try again");
	}
	if (g != NULL)
		js_buf_free(&g->text);
	free(g);
	return status;
}

/* ------------------------------------------------------------------------------------------------------- removing */

/* Finds out whether any attempt of the block exists, by the primary key, LOOK at a time. */
static int has_attempts(struct jobstack *handle, uint64_t stack_id, const struct js_stream_block *b, int *has,
			struct jobstack_error *error)
{
	*has = 0;
	for (size_t at = 0; at < b->n && !*has; at += LOOK) {
		struct js_sql sql = {0};
		uint64_t found;

		js_sql_add(&sql, "SELECT 1 FROM attempt WHERE stack_id=%u AND (0", stack_id);
		for (size_t i = at; i < b->n && i < at + LOOK; i++)
			js_sql_add(&sql, " OR (entry_id=%u AND attempt=%u)", b->list[i].entry, b->list[i].attempt);
		js_sql_stmt(&sql, ") LIMIT 1");
		JS_TRY(js_db_query(handle->db, &sql, js_row_number, &found, error));
		*has = found != UINT64_MAX;
	}
	return 0;
}

/* Removes those of the blocks up to LAST whose newest attempts ended in the second TO or before, if none of their
 * attempts exists any more.  Blocks are visited in the order of their newest second, by the index stream_newest: so the
 * place is (second, number), and both are remembered. */
static int prune_blocks(struct jobstack *handle, uint64_t stack_id, uint64_t last, uint64_t to,
			struct jobstack_error *error)
{
	struct js_stream_block b = {0};
	uint64_t no = 0, from = 0;
	int has, status;

	do {
		status = js_handle_ask(handle, take_block, &b, error,
				       "SELECT no,list,newest FROM stream FORCE INDEX(stream_newest) WHERE stack_id=%u "
				       "AND newest BETWEEN %u AND %u AND (newest>%u OR no>%u) AND no<=%u ORDER BY "
				       "newest,no LIMIT 1",
				       stack_id, from, to, from, no, last);
		JS_THEN(status, check_block(&b, error));
		if (status != 0)
			break;
		no = b.no;
		from = b.newest;
		status = has_attempts(handle, stack_id, &b, &has, error);
		if (status == 0 && !has)
			status = js_handle_change(handle, 0, NULL, error,
						  "DELETE FROM stream WHERE stack_id=%u AND no=%u", stack_id, no);
	} while (status == 0);
	free(b.list);
	return status == JOBSTACK_NOTHING ? 0 : status;
}

int js_stream_prune(struct jobstack *handle, uint64_t stack_id, int64_t before_us, struct jobstack_error *error)
{
	uint64_t last = 0, rows = 0, newest = js_closed_second(before_us);
	int status;

	/* About as many blocks as there are lists for now.  Workers add lists all the time, so a loop until nothing is
	 * left might never end. */
	status = js_handle_ask_number(handle, &rows, error, "SELECT COUNT(*) FROM closed WHERE stack_id=%u", stack_id);
	for (uint64_t blocks = rows / PIECES + 10; status == 0 && blocks > 0; blocks--)
		status = js_stream_gather(handle, stack_id, &last, error);
	if (last == 0 || status < 0)
		return status < 0 ? status : 0;
	return prune_blocks(handle, stack_id, last - 1, newest, error);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The chunk of a push.  Promises: it is there wholly or not at all, once, whatever happens to the reply (a
 * compare-and-set on the pusher's own row settles it); a client that freezes holds no lock that others wait for.
 *
 * A small chunk is an INSERT in one packet, which the server can do without us.  For a large one it has to fetch the
 * names from us in the middle of the transaction, so there nothing is locked before they have arrived: the numbers are
 * taken in an earlier transaction, and stay unused if the LOAD fails.  The rows of unique names are written between
 * that and the lock of the stack, since they take long.
 *
 *     INSERT (one transaction)                       LOAD (two)
 *     stack: numbers, counter, checks                stack: numbers, checks; COMMIT
 *     push: the fence                                entry: the LOAD, and a guard that counts its rows
 *     entry                                          name, in the order of the hashes
 *     name                                           stack: counter, checks again
 *     push_range, span                               push: the fence
 *                                                    push_range, span
 *
 * A part is settled as a step of a worker is (settle.c): the fence moves push.seq by one, so after a lost reply the
 * same part is sent again, and the guard at the fence tells whether the first try had arrived.  That holds only while
 * the second try is the same.  After a LOAD whose reply was lost, INSERTs follow.  So void_lost_load makes sure first
 * that the LOAD can't arrive any more.
 */
#include "queue/pushing.h"

#include "base/clock.h"
#include "queue/span.h"

#include <string.h>

#define RACES_MAX 50		    /* tries of a part that others get in the way of */
#define LOADS_MAX 2		    /* a LOAD is tried again so often; then INSERTs follow */
#define SHORT_US (JS_SECOND_US / 2) /* a LOAD that took less time makes the next one larger */
#define LONG_US (2 * JS_SECOND_US)  /* one that took more makes it smaller */

/* The pusher's fence: others end a push that they take for dead, and then it matches nothing.  It also tells whether a
 * try whose reply was lost has arrived. */
static void push_fence_sql(const struct js_pushing *p, struct js_sql *sql, uint64_t n)
{
	js_sql_must(sql,
		    "UPDATE push SET seq=seq+1,pushed=pushed+%u,beat=UTC_TIMESTAMP(6) WHERE push_id=%u AND token=%k "
		    "AND seq=%u AND ended IS NULL",
		    n, p->push_id, p->token, p->seq);
}

/* What an update of the stack's row does for N entries: it takes numbers for them, or counts them as pushed, or both.
 */
enum does { TAKES_NUMBERS = 1, ADDS_ENTRIES = 2 };

/* All that must be true of the stack is in this statement's WHERE, and a guard follows:
 *
 *   - it is neither cancelled nor being dropped, and has numbers left;
 *   - for a --unique push: each entry of the stack has a row in `name` (`named` is the last one that has);
 *   - of a LOAD that writes no names: no --unique push has begun since we looked;
 *   - its relative names belong to the same directory as ours.
 *
 * settle_chunk finds out which of these failed. */
static void chunk_stack_sql(const struct js_pushing *p, struct js_sql *sql, uint64_t n, unsigned does)
{
	const struct jobstack_push_options *o = p->options;
	int relative = p->relative && (does & ADDS_ENTRIES);

	js_sql_add(sql, "UPDATE stack SET ");
	if (relative)
		js_sql_add(sql, "cwd=%s,", o->cwd);
	if ((does & TAKES_NUMBERS) && p->stack.named)
		js_sql_add(sql, "named=IF(named=tail,tail+%u,named),", n);
	if (does & TAKES_NUMBERS)
		js_sql_add(sql, "tail=tail+%u", n);
	if (does & ADDS_ENTRIES)
		js_sql_add(sql, does & TAKES_NUMBERS ? ",pushed=pushed+%u" : "pushed=pushed+%u", n);
	js_sql_add(sql, " WHERE stack_id=%u AND state IN(0,1)", p->stack.id);
	if (does & TAKES_NUMBERS)
		js_sql_add(sql, " AND tail<=%u", (uint64_t)(JS_ENTRY_MAX - n));
	if (o->unique)
		js_sql_add(sql, " AND named=tail");
	if (!p->stack.named && does != (TAKES_NUMBERS | ADDS_ENTRIES))
		js_sql_add(sql, " AND named IS NULL");
	if (relative)
		js_sql_add(sql, " AND (cwd IS NULL OR cwd=%s)", o->cwd);
	js_sql_add(sql, ";");
	js_sql_guard(sql, 1);
}

/* Inserts one span for the N entries after @js_t, and the range that says which push they belong to. */
static void chunk_span_sql(const struct js_pushing *p, struct js_sql *sql, uint64_t n)
{
	const struct jobstack_push_options *o = p->options;

	js_sql_stmt(sql, "INSERT INTO push_range(stack_id,lo,hi,push_id) VALUES(%u,@js_t+1,@js_t+%u,%u)", p->stack.id,
		    n, p->push_id);
	js_span_fresh(sql, &p->stack, o->atomic ? JS_HELD : JS_READY, -(int64_t)o->priority, n,
		      o->atomic ? (int64_t)p->push_id : -1);
}

/* Writes the packet of a part that is sent by INSERT: the stack's row comes first, since it gives the numbers out, then
 * the pusher's fence, then the rows. */
static void part_sql(const struct js_pushing *p, struct js_sql *sql)
{
	uint64_t n = p->to - p->from - p->dropped, i = 0;

	chunk_stack_sql(p, sql, n, TAKES_NUMBERS | ADDS_ENTRIES);
	push_fence_sql(p, sql, n);
	js_sql_stmt(sql, "SELECT tail-%u INTO @js_t FROM stack WHERE stack_id=%u", n, p->stack.id);
	js_sql_add(sql, "INSERT INTO entry(stack_id,entry_id,datapath) VALUES");
	for (size_t at = p->from; at < p->to; at++)
		if (!p->names[at].drop) {
			i++;
			js_sql_add(sql, i == 1 ? "(%u,@js_t+%u,%x)" : ",(%u,@js_t+%u,%x)", p->stack.id, i,
				   (const void *)(p->bytes.data + p->names[at].at), (size_t)p->names[at].len);
		}
	js_sql_add(sql, ";");
	if (p->stack.named)
		js_unique_names_sql(p, sql, n, 0);
	chunk_span_sql(p, sql, n);
}

/* Writes the packet of a chunk that is sent by LOAD.  First it takes the numbers, so that the stack is not locked while
 * the names arrive.  Then the rows are loaded, during which nothing is locked that others need.  Where names are
 * unique, their rows follow: by then the server has all that it needs from us, and only a push of the same name waits
 * for such a row.  The quick statements come last.
 *
 * A field and a line both end with NUL, the one byte that no name holds, and nothing escapes or encloses.  A LOAD from
 * a client turns its errors into warnings, so the guard counts the rows.  If the stack has unique names by now, and we
 * did not know, the LOAD must not go through, because it adds no rows to the table name. */
static void load_sql(const struct js_pushing *p, struct js_sql *sql)
{
	uint64_t n = p->n;

	js_push_lock_sql(p, sql);
	chunk_stack_sql(p, sql, n, TAKES_NUMBERS);
	js_sql_stmt(sql, "SELECT tail-%u,tail-%u INTO @js_t,@js_e FROM stack WHERE stack_id=%u", n, n, p->stack.id);
	js_sql_stmt(sql, "COMMIT");
	js_sql_stmt(sql, "START TRANSACTION");
	js_sql_stmt(sql,
		    "LOAD DATA LOCAL INFILE 'chunk' INTO TABLE entry CHARACTER SET binary FIELDS TERMINATED BY x'00' "
		    "ESCAPED BY '' LINES TERMINATED BY x'00' (datapath) SET stack_id=%u,entry_id=(@js_e:=@js_e+1)",
		    p->stack.id);
	js_sql_guard(sql, n);
	if (p->stack.named)
		js_unique_names_sql(p, sql, n, 1);
	chunk_stack_sql(p, sql, n, ADDS_ENTRIES);
	push_fence_sql(p, sql, n);
	chunk_span_sql(p, sql, n);
}

/* The row tells why the fence stopped us.  If it is there with our seq, or a later one, another push has ended it. With
 * a lower seq it has forgotten a chunk that was confirmed: the database was set back.  If it is gone, it was pruned, if
 * this push had been silent for so long that others may end it; else the database was set back. */
int js_chunk_refuse(const struct js_pushing *p, struct jobstack_error *error)
{
	int silent = jobstack_now_us() - p->beat_us >= JS_DISCARD_MINUTES * 60 * JS_SECOND_US;
	uint64_t seq;

	JS_TRY(js_handle_ask_number(p->handle, &seq, error, "SELECT seq FROM push WHERE push_id=%u AND token=%k",
				    p->push_id, p->token));
	if (seq == UINT64_MAX ? silent : seq >= p->seq)
		return js_error_set(
			error, JOBSTACK_ECONFLICT,
			"this push had lost its connection, or had been silent for too long, so another push ended it");
	return js_error_set(error, JOBSTACK_ECONFLICT,
			    JS_SET_BACK "it no longer has %sthis push: push the names again with --unique",
			    seq == UINT64_MAX ? "" : "the last names of ");
}

/* A guard or a key stopped the chunk.  0: our try whose reply was lost had arrived; 2: try again; else the error.  The
 * checks come in the order in which one explains the next: a stack that is gone has no push, and a push that is over
 * need not look at the stack's state. */
static int settle_chunk(struct js_pushing *p, int lost, struct jobstack_error *error)
{
	uint64_t seq, id = p->stack.id;
	int status;

	JS_TRY(js_handle_ask_number(p->handle, &seq, error,
				    "SELECT seq FROM push WHERE push_id=%u AND token=%k AND ended IS NULL", p->push_id,
				    p->token));
	if (seq == p->seq + 1 && lost)
		return 0;
	status = js_stack_look(p->handle, p->stack_name, &p->stack, error);
	if (status == JOBSTACK_NOTHING || (status == 0 && p->stack.id != id))
		return js_stack_refuse_gone(p->stack_name, error);
	if (status != 0)
		return status;
	if (p->stack.state == JOBSTACK_DROPPING)
		return js_stack_refuse(p->handle, p->stack_name, error);
	if (seq != p->seq)
		return js_chunk_refuse(p, error);
	if (p->stack.state != JOBSTACK_OPEN && p->stack.state != JOBSTACK_PAUSED)
		return js_stack_refuse_state(p->stack_name, JOBSTACK_CANCELLED, ": nothing can be pushed to it", error);
	if (p->relative && p->stack.cwd[0] != '\0' && strcmp(p->stack.cwd, p->options->cwd) != 0)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the relative names in the stack \"%s\" were pushed in %.300s, those of this push "
				    "are from %.300s",
				    p->stack_name, p->stack.cwd, p->options->cwd);
	if (p->stack.tail > JS_ENTRY_MAX - (p->to - p->from))
		return js_stack_refuse_full(p->stack_name, error);
	if (p->options->unique)
		JS_TRY(js_unique_complete(p, error));
	return 2;
}

/* The part is there: follows the seq of the push's row. */
static void count_part(struct js_pushing *p)
{
	p->seq++;
	p->parts++;
	p->beat_us = jobstack_now_us();
	p->result.pushed += p->to - p->from - p->dropped;
	p->result.skipped += p->dropped;
}

/* The reply to a LOAD was lost, and the next transaction will be a different one, so the fence alone would not show
 * which of the two arrived. Advances the fence without adding names.  0: the LOAD had arrived; 2: it never will. */
static int void_lost_load(struct js_pushing *p, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	uint64_t pushed;
	int status;

	push_fence_sql(p, &sql, 0);
	status = js_db_commit(p->handle->db, &sql, NULL, error);
	if (status < 0)
		return status;
	JS_TRY(js_handle_ask_number(
		p->handle, &pushed, error,
		"SELECT pushed FROM push WHERE push_id=%u AND token=%k AND seq=%u AND ended IS NULL", p->push_id,
		p->token, p->seq + 1));
	if (pushed == UINT64_MAX)
		return settle_chunk(p, 0, error); /* which says why */
	if (pushed > p->result.pushed)
		return 0;
	p->seq++;
	return 2;
}

/* Takes the dropped names out of the chunk, which is one part: a LOAD sends the bytes as they lie in memory. */
static void close_gaps(struct js_pushing *p)
{
	size_t n = 0, len = 0;

	for (size_t i = 0; p->dropped > 0 && i < p->n; i++) {
		struct js_pushed_name name = p->names[i];

		if (name.drop)
			continue;
		memmove(p->bytes.data + len, p->bytes.data + name.at, name.len + 1);
		name.at = len;
		p->names[n++] = name;
		len += name.len + 1;
	}
	if (p->dropped == 0)
		return;
	p->result.skipped += p->dropped;
	p->dropped = 0;
	p->bytes.len = len;
	p->n = p->to = n;
}

/* A LOAD that writes names takes longer, the less of the table `name` is in the server's memory, and a push of the same
 * names waits for it.  So its size follows from the time that the last one took. */
static void choose_most(struct js_pushing *p, int64_t took_us)
{
	if (took_us < SHORT_US && p->most < JS_CHUNK_NAMES)
		p->most *= 2;
	else if (took_us > LONG_US && p->most > JS_CHUNK_FIRST)
		p->most /= 2;
}

/* Sends the part once.  *LOST is as js_db_transaction has it. */
static int send_part(struct js_pushing *p, int load, int *lost, struct jobstack_error *error)
{
	int64_t began_us = js_clock_mono_us();
	struct js_sql sql = {0};
	int status;

	if (!load) {
		part_sql(p, &sql);
		return js_db_commit(p->handle->db, &sql, lost, error);
	}
	close_gaps(p);
	load_sql(p, &sql);
	status = js_db_load(p->handle->db, &sql, p->bytes.data, p->bytes.len, lost, error);
	if (status == 0 && p->stack.named)
		choose_most(p, js_clock_mono_us() - began_us);
	return status;
}

/* Puts the part onto the stack.  After a part that had only new names, the next is tried without asking which of its
 * names are known: a known one fails on its key, and then the part is checked.  JOBSTACK_NOTHING, of a LOAD: this chunk
 * and all later ones must be sent by INSERT. */
static int put_part(struct js_pushing *p, int load, struct jobstack_error *error)
{
	int status, lost = 0, now, refused, ask;
	uint64_t holder = 0, held = 0;

	for (unsigned race = 0; race < RACES_MAX; race++) {
		status = 0;
		ask = race > 0 || !p->all_new;
		if (p->options->unique && (ask || load))
			status = js_unique_drop(p, ask, &holder, &held, error);
		if (status == 0 && holder != 0) {
			status = js_held_names_wait(p, holder, held, error);
			if (status == 0)
				continue;
		}
		if (status != 0)
			return status;
		if (p->to - p->from == p->dropped) {
			p->result.skipped += p->dropped;
			return 0;
		}
		status = send_part(p, load, &now, error);
		lost |= now; /* an earlier try of this part may still arrive, whatever became of this one */
		refused = load && (status == JS_DB_NO_LOAD || race >= LOADS_MAX);
		if (status == JS_DB_GUARD || status == JS_DB_DUPLICATE)
			status = settle_chunk(p, lost, error);
		else if (status == JS_DB_NO_LOAD)
			status = 2;
		/* what follows is not the same LOAD, but INSERTs */
		if (status == 2 && load && lost)
			status = void_lost_load(p, error);
		if (status == 0)
			count_part(p);
		if (status != 2)
			return status;
		if (refused || (load && lost)) {
			p->loads = JS_LOADS_NO;
			js_db_loads_end(p->handle->db);
			return JOBSTACK_NOTHING;
		}
	}
	return js_error_set(
		error, JOBSTACK_EBUG,
		"gave up: other pushes of the same names got in the way each time; push again when they have ended");
}

/* Chooses the next part: as much as one INSERT takes. */
static void next_part(struct js_pushing *p)
{
	size_t end;

	p->from = p->to;
	p->dropped = 0;
	end = p->names[p->from].at + JS_PART_BYTES;
	while (p->to < p->n && p->to - p->from < JS_PART_NAMES && p->names[p->to].at < end)
		p->to++;
}

int js_chunk_put(struct js_pushing *p, struct jobstack_error *error)
{
	int status = JOBSTACK_NOTHING;

	JS_TRY(js_push_lock(p, error));
	if (p->loads == JS_LOADS_YES &&
	    (p->n > JS_PART_NAMES || p->bytes.len > JS_PART_BYTES + JOBSTACK_DATAPATH_MAX)) {
		p->from = p->dropped = 0;
		p->to = p->n;
		status = put_part(p, 1, error);
	}
	if (status != JOBSTACK_NOTHING)
		return status;
	for (p->to = 0; p->to < p->n;) {
		next_part(p);
		JS_TRY(put_part(p, 0, error));
	}
	return 0;
}

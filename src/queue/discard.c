/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Removes what an atomic push wrote and will never publish.  Promises: it removes one piece after the other, each with
 * its entries, its names and its part of the stack's count in one transaction.  So if it is interrupted, the next call
 * continues, and if two processes do it at once, each piece is removed once.  A piece locks the stack's row for about
 * PIECE_US: removing names takes long if their table is larger than the server's memory.
 */
#include "queue/pushing.h"

#include "base/clock.h"

#define PIECE_MOST 1000 /* entries */
#define PIECE_US (JS_SECOND_US / 5)

/* A held span: one for each part of the push. */
struct held {
	int64_t pos; /* negative in a last-in-first-out stack; 0: the push holds nothing more */
	uint64_t lo, hi;
};

/* The names of the piece's entries, with the entries' own numbers: a name whose row belongs to another entry stays. The
 * LIMIT makes the inner SELECT a table of its own, and ends it at the piece's last row. */
#define NAMES_OF_PIECE                                                                                                 \
	" FROM name n JOIN (SELECT UNHEX(SHA2(datapath,256)) hash,entry_id FROM entry WHERE stack_id=%u AND entry_id " \
	"BETWEEN %u AND %u ORDER BY entry_id LIMIT %u) e ON n.hash=e.hash AND n.entry_id=e.entry_id WHERE "            \
	"n.stack_id=%u"

static void take_held(void *ctx, const struct js_row *row)
{
	struct held *h = ctx;

	*h = row == NULL ? (struct held){0} : (struct held){js_row_i64(row, 0), js_row_u64(row, 1), js_row_u64(row, 2)};
}

/* Removes one piece, of at most MOST entries, of what push ID holds, with its entries and names.  Returns
 * JOBSTACK_NOTHING if the push holds nothing more. */
static int discard_piece(struct jobstack *handle, const struct js_stack *stack, uint64_t id, uint64_t most,
			 struct jobstack_error *error)
{
	struct js_sql sql = {0};
	uint64_t n, lo, hi;
	struct held h, rest;
	int status;

	JS_TRY(js_handle_ask(handle, take_held, &h, error,
			     "SELECT pos,lo,hi FROM span WHERE stack_id=%u AND class=2 AND push_id=%u ORDER BY "
			     "`rank`,pos LIMIT 1",
			     stack->id, id));
	if (h.pos == 0)
		return JOBSTACK_NOTHING;
	/* off the end that a pop would move, since the key has the other one */
	n = h.hi - h.lo < most ? h.hi - h.lo + 1 : most;
	lo = h.pos < 0 ? h.hi - n + 1 : h.lo;
	hi = lo + n - 1;
	rest = h.pos < 0 ? (struct held){h.pos, h.lo, lo - 1} : (struct held){h.pos, hi + 1, h.hi};
	/* the stack first, as the naming of entries does: these must not get names while they are removed */
	js_stack_lock_sql(&sql, stack->id);
	for (int of_span = 0; of_span < 2; of_span++) {
		js_sql_add(&sql, rest.lo > rest.hi ? "DELETE FROM " : "UPDATE ");
		js_sql_add(&sql, of_span ? "span" : "push_range");
		if (rest.lo <= rest.hi)
			js_sql_add(&sql, " SET lo=%u,hi=%u", rest.lo, rest.hi);
		js_sql_add(&sql, " WHERE stack_id=%u AND lo=%u AND hi=%u", stack->id, h.lo, h.hi);
		js_sql_add(&sql, of_span ? " AND class=2 AND push_id=%u AND pos=%d;" : " AND push_id=%u;", id, h.pos);
	}
	js_sql_guard(&sql, 1);
	/* the piece has exactly N rows: a statement that stops there does not read the next row, which may belong to a
	 * load whose client is frozen, and be locked */
	js_sql_stmt(&sql, "DELETE n" NAMES_OF_PIECE, stack->id, lo, hi, n, stack->id);
	/* a name can belong to another entry, so how many there are is not known: none may be left */
	js_sql_stmt(&sql, "SET @js_n=NULL");
	js_sql_stmt(&sql, "SELECT COUNT(*) INTO @js_n" NAMES_OF_PIECE, stack->id, lo, hi, n, stack->id);
	js_sql_only(&sql, JS_SQL_BLOCKS);
	js_sql_stmt(&sql, "SET @js_sum=@js_sum+@js_n");
	js_sql_stmt(&sql,
		    "DELETE FROM entry WHERE stack_id=%u AND entry_id BETWEEN %u AND %u ORDER BY entry_id LIMIT %u",
		    stack->id, lo, hi, n);
	js_sql_count(&sql, n);
	/* a removed name may have been pushed again meanwhile, by a push without --unique that left the row to these
	 * entries: the next unique push names all later entries again */
	js_sql_stmt(&sql, "UPDATE stack SET pushed=pushed-%u,named=COALESCE(LEAST(named,%u),named) WHERE stack_id=%u",
		    n, lo - 1, stack->id);
	js_sql_count(&sql, 1);
	js_sql_stmt(&sql, "UPDATE push SET beat=UTC_TIMESTAMP(6) WHERE push_id=%u",
		    id); /* shows that the removal goes on */
	status = js_db_commit(handle->db, &sql, NULL, error);
	return status == JS_DB_GUARD ? 0 : status; /* another call was faster, or our own try whose reply was lost */
}

/* A piece that took long makes the next one smaller: while it runs, its transaction locks the stack's row. */
int js_discard_held(struct jobstack *handle, const struct js_stack *stack, uint64_t id, struct jobstack_error *error)
{
	uint64_t most = PIECE_MOST;
	int status = 0;

	while (status == 0) {
		int64_t began_us = js_clock_mono_us(), took_us;

		status = discard_piece(handle, stack, id, most, error);
		took_us = js_clock_mono_us() - began_us;
		if (took_us > PIECE_US && most > 1)
			most /= 2;
		else if (took_us < PIECE_US / 4)
			most = 2 * most < PIECE_MOST ? 2 * most : PIECE_MOST;
	}
	return status == JOBSTACK_NOTHING ? 0 : status;
}

int js_discard_dead(struct jobstack *handle, const struct js_stack *stack, uint64_t id, uint64_t seq, int64_t beat_us,
		    struct jobstack_error *error)
{
	int status = js_handle_change(handle, 1, NULL, error,
				      "UPDATE push SET ended=UTC_TIMESTAMP(6),beat=UTC_TIMESTAMP(6) WHERE push_id=%u "
				      "AND seq=%u AND beat=%t AND ended IS NULL",
				      id, seq, beat_us);

	if (status != 0)
		return status == JS_DB_GUARD ? JOBSTACK_NOTHING : status;
	return js_discard_held(handle, stack, id, error);
}

/* Without ONLY_SILENT the row may have ended already: by a try whose reply was lost, or by a removal that was
 * interrupted. */
int js_discard(struct jobstack *handle, const struct js_stack *stack, uint64_t id, int only_silent,
	       struct jobstack_error *error)
{
	int status = js_handle_change(handle, 1, NULL, error,
				      "UPDATE push SET ended=UTC_TIMESTAMP(6),beat=UTC_TIMESTAMP(6) WHERE push_id=%u "
				      "AND (%u OR (ended IS NULL AND "
				      "beat<UTC_TIMESTAMP(6)-INTERVAL %u MINUTE))",
				      id, (uint64_t)!only_silent, (uint64_t)JS_DISCARD_MINUTES);

	if (status == JS_DB_GUARD)
		return 0;
	return status == 0 ? js_discard_held(handle, stack, id, error) : status;
}

int js_discard_abandoned(struct jobstack *handle, const struct js_stack *stack, struct jobstack_error *error)
{
	/* an atomic push that died: one that has been silent for long, or one whose removal was interrupted.  If
	 * another process is removing it now, this push need not wait for that */
	static const char *const find[] = {
		"SELECT push_id FROM push WHERE stack_id=%u AND atomic=1 AND ended IS NULL AND "
		"beat<UTC_TIMESTAMP(6)-INTERVAL %u MINUTE LIMIT 1",
		"SELECT s.push_id FROM span s JOIN push p ON p.push_id=s.push_id WHERE s.stack_id=%u AND s.class=2 AND "
		"p.ended IS NOT NULL AND p.beat<UTC_TIMESTAMP(6)-INTERVAL 60 SECOND LIMIT 1"};

	for (int ended = 0; ended < 2; ended++)
		for (uint64_t id = 0; id != UINT64_MAX;) {
			JS_TRY(js_handle_ask_number(handle, &id, error, find[ended], stack->id,
						    (uint64_t)JS_DISCARD_MINUTES));
			if (id != UINT64_MAX)
				JS_TRY(js_discard(handle, stack, id, !ended, error));
		}
	return 0;
}

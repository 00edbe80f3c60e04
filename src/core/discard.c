/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Removing what an atomic push wrote and will never publish.  Promise: span by span, each with its entries and
 * names and the stack's count in one transaction; if it is interrupted, the next call continues.
 */
#include "core/pushing.h"

static void take_pos(void *ctx, const struct js_row *row)
{
	*(int64_t *)ctx = row == NULL ? 0 : js_row_i64(row, 0);
}

/* Removes one held span of push ID, with its entries and names; JOBSTACK_NOTHING if there is none. */
static int discard_one(struct jobstack *handle, uint64_t stack, uint64_t id, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int64_t pos; /* negative in a last-in-first-out stack, and never 0 */
	uint64_t n;

	JS_TRY(js_handle_ask(handle, take_pos, &pos, error,
			     "SELECT MIN(pos) FROM span WHERE stack_id=%u AND class=2 AND push_id=%u", stack, id));
	if (pos == 0)
		return JOBSTACK_NOTHING;
	JS_TRY(js_handle_ask_number(
		handle, &n, error,
		"SELECT COALESCE(SUM(hi-lo+1),0) FROM span WHERE stack_id=%u AND class=2 AND push_id=%u AND pos=%d",
		stack, id, pos));
	js_stack_lock_sql(&sql, stack);
	js_sql_stmt(&sql, "SET @js_lo=NULL,@js_hi=NULL");
	js_sql_stmt(&sql,
		    "SELECT lo,hi INTO @js_lo,@js_hi FROM span WHERE stack_id=%u AND class=2 AND push_id=%u AND pos=%d "
		    "FOR UPDATE",
		    stack, id, pos);
	/* a held span is one interval that nobody cuts, so it has exactly N rows: a statement that stops there does
	 * not read the next row, which may belong to a load whose client is frozen, and be locked */
	js_sql_stmt(&sql,
		    "DELETE n FROM name n JOIN (SELECT UNHEX(SHA2(datapath,256)) hash,entry_id FROM entry WHERE "
		    "stack_id=%u AND entry_id BETWEEN @js_lo AND @js_hi ORDER BY entry_id LIMIT %u) e ON n.hash=e.hash "
		    "AND n.entry_id=e.entry_id WHERE n.stack_id=%u",
		    stack, n, stack);
	js_sql_stmt(
		&sql,
		"DELETE FROM entry WHERE stack_id=%u AND entry_id BETWEEN @js_lo AND @js_hi ORDER BY entry_id LIMIT %u",
		stack, n);
	js_sql_stmt(&sql, "DELETE FROM push_range WHERE stack_id=%u AND lo=@js_lo AND hi=@js_hi", stack);
	/* a removed name may have been pushed again meanwhile, by a push without --unique that left the row to these
	 * entries: the next unique push names all later entries again */
	js_sql_stmt(&sql,
		    "UPDATE stack SET pushed=pushed-COALESCE(@js_hi-@js_lo+1,0),"
		    "named=COALESCE(LEAST(named,@js_lo-1),named) WHERE stack_id=%u",
		    stack);
	js_sql_stmt(&sql, "DELETE FROM span WHERE stack_id=%u AND class=2 AND push_id=%u AND lo=@js_lo AND hi=@js_hi",
		    stack, id);
	return js_db_commit(handle->db, &sql, NULL, error);
}

int js_discard_held(struct jobstack *handle, uint64_t stack, uint64_t id, struct jobstack_error *error)
{
	int status = 0;

	while (status == 0)
		status = discard_one(handle, stack, id, error);
	return status == JOBSTACK_NOTHING ? 0 : status;
}

int js_discard_dead(struct jobstack *handle, uint64_t stack, uint64_t id, uint64_t seq, int64_t beat_us,
		    struct jobstack_error *error)
{
	int status = js_handle_change(
		handle, 1, NULL, error,
		"UPDATE push SET ended=UTC_TIMESTAMP(6) WHERE push_id=%u AND seq=%u AND beat=%t AND ended IS NULL", id,
		seq, beat_us);

	if (status != 0)
		return status == JS_DB_GUARD ? JOBSTACK_NOTHING : status;
	return js_discard_held(handle, stack, id, error);
}

int js_discard(struct jobstack *handle, uint64_t stack, uint64_t id, int only_silent, struct jobstack_error *error)
{
	int status = js_handle_change(
		handle, 1, NULL, error,
		"UPDATE push SET ended=UTC_TIMESTAMP(6) WHERE push_id=%u AND (%u OR (ended IS NULL AND "
		"beat<UTC_TIMESTAMP(6)-INTERVAL %u MINUTE))",
		id, (uint64_t)!only_silent, (uint64_t)JS_DISCARD_MINUTES);

	if (status == JS_DB_GUARD)
		return 0;
	return status == 0 ? js_discard_held(handle, stack, id, error) : status;
}

int js_discard_abandoned(struct jobstack *handle, uint64_t stack, struct jobstack_error *error)
{
	/* an atomic push that died: one that has been silent for long, or one whose removal was interrupted */
	static const char *const find[] = {
		"SELECT push_id FROM push WHERE stack_id=%u AND atomic=1 AND ended IS NULL AND "
		"beat<UTC_TIMESTAMP(6)-INTERVAL %u MINUTE LIMIT 1",
		"SELECT s.push_id FROM span s JOIN push p ON p.push_id=s.push_id WHERE s.stack_id=%u AND s.class=2 AND "
		"p.ended IS NOT NULL LIMIT 1"};

	for (int ended = 0; ended < 2; ended++)
		for (uint64_t id = 0; id != UINT64_MAX;) {
			JS_TRY(js_handle_ask_number(handle, &id, error, find[ended], stack,
						    (uint64_t)JS_DISCARD_MINUTES));
			if (id != UINT64_MAX)
				JS_TRY(js_discard(handle, stack, id, !ended, error));
		}
	return 0;
}

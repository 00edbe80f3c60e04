/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Steering a stack: its state and its policy.  Promises: each change is one transaction on the stack's own row, so that
 * two people who steer at once get one change after the other; a pop that begins after a change goes by it.  Only the
 * priority is changed after that, some spans at a time, so that no pop waits for all of them.
 */
#include "queue/queue.h"
#include "queue/span.h"

#include <inttypes.h>
#include <string.h>

#define NOTE_MAX 255
#define MOVED_AT_ONCE 500 /* spans */
#define STARTS_MOST_US (INT64_C(366) * 86400 * 1000000)

/* Refuses to open a stack that the next step would pause again.  Returns 0 if it may be opened. */
static int check_failures(struct jobstack *handle, const struct js_stack *s, struct jobstack_error *error)
{
	uint64_t limit;

	JS_TRY(js_handle_ask_number(handle, &limit, error,
				    "SELECT max_failures FROM stack s WHERE stack_id=%u AND " JS_STACK_FAILING, s->id));
	return limit == UINT64_MAX
		       ? 0
		       : js_error_why(error, JOBSTACK_ECONFLICT, JOBSTACK_WHY_MAX_FAILURES,
				      "the stack \"%s\" has reached its max-failures (%" PRIu64 "), at which it pauses",
				      s->name, limit);
}

int jobstack_set_state(struct jobstack *handle, const char *stack, enum jobstack_stack_state state, const char *note,
		       struct jobstack_error *error)
{
	struct js_stack s;
	size_t len = note == NULL || state == JOBSTACK_OPEN ? 0 : strlen(note);
	int status;

	if (state != JOBSTACK_OPEN && state != JOBSTACK_PAUSED && state != JOBSTACK_CANCELLED)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "a stack can be set open, paused or cancelled; jobstack_drop drops it");
	JS_TRY(js_stack_find(handle, stack, &s, error));
	if (state == JOBSTACK_OPEN)
		JS_TRY(check_failures(handle, &s, error));
	status = js_handle_change(handle, 1, NULL, error,
				  "UPDATE stack SET state=%u,note=%x WHERE stack_id=%u AND state<3", (uint64_t)state,
				  len == 0 ? NULL : (const void *)note, len > NOTE_MAX ? NOTE_MAX : len, s.id);
	return status == JS_DB_GUARD ? js_stack_refuse(handle, stack, error) : status;
}

int js_stack_halt(struct jobstack *handle, const struct js_stack *stack, struct jobstack_error *error)
{
	return js_handle_change(
		handle, 0, NULL, error,
		"UPDATE stack s SET state=1,note=CONCAT('max-failures: ',max_failures,' entries are dead') WHERE "
		"stack_id=%u AND state=0 AND max_failures IS NOT NULL AND " JS_STACK_FAILING,
		stack->id);
}

/* Adds an assignment, unless VALUE is negative: then the policy does not say anything about it. */
static void set_policy_number(struct js_sql *sql, const char *assignment, int64_t value)
{
	if (value >= 0)
		js_sql_add(sql, assignment, value);
}

int js_stack_policy_sql(struct js_sql *sql, uint64_t stack_id, const struct jobstack_policy *p,
			struct jobstack_error *error)
{
	int64_t interval_us;

	if (p->max_attempts == 0 || p->max_losses == 0 || p->max_running < -1 || p->max_failures < -1 ||
	    p->retry_delay_us < -1 || p->strict_order > 1 || p->max_starts < -1 ||
	    (p->max_starts > 0 && (p->starts_us < 1 || p->starts_us > STARTS_MOST_US)))
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "max-attempts and max-losses must be at least 1, no limit can be negative, "
				    "strict-order is 0 or 1, and starts are limited per time of at most 366 days");
	js_sql_add(sql, "UPDATE stack SET stack_id=stack_id");
	set_policy_number(sql, ",max_attempts=%d", p->max_attempts);
	set_policy_number(sql, ",max_losses=%d", p->max_losses);
	set_policy_number(sql, ",retry_delay_us=%d", p->retry_delay_us);
	set_policy_number(sql, ",max_running=NULLIF(%d,0)", p->max_running);
	set_policy_number(sql, ",max_starts=NULLIF(%d,0)", p->max_starts);
	set_policy_number(sql, ",starts_us=%d", p->max_starts > 0 ? p->starts_us : -1);
	if (p->max_running >= 0 || p->max_starts >= 0)
		js_sql_add(sql, ",limited=(max_running IS NOT NULL)+2*(max_starts IS NOT NULL)");
	set_policy_number(sql, ",max_failures=NULLIF(%d,0)", p->max_failures);
	set_policy_number(sql, ",popping_order=IF(popping_order=2,2,%d)", p->strict_order);
	js_sql_must(sql, " WHERE stack_id=%u AND state<3", stack_id);
	if (p->max_running > 0) /* the row to lock is there when the limit can be seen, and stays when it is lifted */
		js_sql_stmt(sql, "INSERT IGNORE INTO running_limit(stack_id) VALUES(%u)", stack_id);
	if (p->max_starts > 0) { /* after a change the next start waits no longer than it would by the new rate */
		interval_us = (p->starts_us + JOBSTACK_START_LEAST + p->max_starts - 1) / p->max_starts;
		js_sql_stmt(sql,
			    "INSERT INTO running_limit(stack_id,interval_us) VALUES(%u,%d) ON DUPLICATE KEY UPDATE "
			    "interval_us=%d,next_start=LEAST(next_start,UTC_TIMESTAMP(6)+INTERVAL %d MICROSECOND)",
			    stack_id, interval_us, interval_us, interval_us);
	}
	return 0;
}

/* Moves the spans of a class that stand behind RANK, or with LOWER before it, to RANK.  What is to stand further ahead
 * moves from the front, and what is to stand further back from the back.  So between two transactions the next entry is
 * the one that would be next without the change, if all spans had the same priority.
 *
 * The rank is part of the key, so each span moves to another place in the index.  A pop that waits for the lock of such
 * a span finds nothing where it looked, and looks again. */
static int move_spans(struct jobstack *handle, const struct js_stack *s, uint64_t class, int64_t rank, int lower,
		      struct jobstack_error *error)
{
	const char *query = lower ? "SELECT COUNT(*) FROM span WHERE stack_id=%u AND class=%u AND `rank`<%d"
				  : "SELECT COUNT(*) FROM span WHERE stack_id=%u AND class=%u AND `rank`>%d";
	uint64_t left;

	JS_TRY(js_handle_ask_number(handle, &left, error, query, s->id, class, rank));
	while (left > 0) {
		struct js_sql sql = {0}, tail = {0};
		uint64_t moved;

		JS_TRY(js_db_nap(handle->db, 0, error));
		js_sql_stmt(&sql,
			    lower ? "UPDATE span FORCE INDEX(PRIMARY) SET `rank`=%d WHERE stack_id=%u AND class=%u AND "
				    "`rank`<%d ORDER BY `rank` DESC,pos DESC LIMIT %u"
				  : "UPDATE span FORCE INDEX(PRIMARY) SET `rank`=%d WHERE stack_id=%u AND class=%u AND "
				    "`rank`>%d ORDER BY `rank`,pos LIMIT %u",
			    rank, s->id, class, rank, left < MOVED_AT_ONCE ? left : (uint64_t)MOVED_AT_ONCE);
		js_sql_stmt(&sql, "SET @js_n=ROW_COUNT()");
		js_sql_stmt(&tail, "SELECT @js_n");
		JS_TRY(js_db_transaction(handle->db, &sql, &tail, js_row_number, &moved, NULL, error));
		left -= moved < left ? moved : left;
		if (moved == 0) /* others were faster, or the server skipped the UPDATE */
			JS_TRY(js_handle_ask_number(handle, &left, error, query, s->id, class, rank));
	}
	return 0;
}

/* Waiting spans before ready ones, because one whose retry becomes due meanwhile becomes ready. */
static int set_priority(struct jobstack *handle, const struct js_stack *s, int32_t priority,
			struct jobstack_error *error)
{
	for (uint64_t class = JS_HELD + 1; class -- > JS_READY;) {
		JS_TRY(move_spans(handle, s, class, -(int64_t)priority, 0, error));
		JS_TRY(move_spans(handle, s, class, -(int64_t)priority, 1, error));
	}
	return 0;
}

int jobstack_set_policy(struct jobstack *handle, const char *stack, const struct jobstack_policy *policy,
			struct jobstack_error *error)
{
	struct jobstack_policy p = JOBSTACK_POLICY_INIT;
	struct js_sql sql = {0};
	struct js_stack s;
	int status;

	JS_TRY(js_grow_in(&p, policy, "jobstack_policy", error));
	JS_TRY(js_stack_find(handle, stack, &s, error));
	JS_TRY(js_stack_policy_sql(&sql, s.id, &p, error));
	status = js_db_commit(handle->db, &sql, NULL, error);
	if (status == 0 && p.priority != JOBSTACK_PRIORITY_UNCHANGED)
		status = set_priority(handle, &s, p.priority, error);
	return status == JS_DB_GUARD ? js_stack_refuse(handle, stack, error) : status;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stacks: finding and making them, their ledger.  Promise: status is one SELECT, exact at any depth.
 */
#define _GNU_SOURCE
#include "core/stack.h"

#include "base/error.h"
#include "core/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int js_stack_check_name(const char *name, struct jobstack_error *error)
{
	static const char more[] = ".,_-+=@:";
	size_t len = name == NULL ? 0 : strlen(name);
	int good = len > 0 && len <= JOBSTACK_STACK_MAX && name[0] != '-' && name[0] != '.';

	for (size_t i = 0; good && i < len; i++) {
		char c = name[i];

		good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		       strchr(more, c) != NULL;
	}
	if (good)
		return 0;
	return js_error_set(error, JOBSTACK_EUSAGE,
			    "\"%.150s\" is not a valid stack name: use letters, digits and %s, at most %d of them, and "
			    "begin with neither - nor .",
			    name == NULL ? "" : name, more, JOBSTACK_STACK_MAX);
}

int js_stack_refuse_missing(const char *name, struct jobstack_error *error)
{
	return js_error_why(error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_STACK, "there is no stack \"%s\"", name);
}

int js_stack_refuse_state(const char *name, enum jobstack_stack_state state, const char *more,
			  struct jobstack_error *error)
{
	int cancelled = state == JOBSTACK_CANCELLED;

	return js_error_why(error, JOBSTACK_ECONFLICT, cancelled ? JOBSTACK_WHY_CANCELLED : JOBSTACK_WHY_DROPPING,
			    "the stack \"%s\" is %s%s", name, cancelled ? "cancelled" : "being dropped", more);
}

int js_stack_refuse_gone(const char *name, struct jobstack_error *error)
{
	return js_error_set(
		error, JOBSTACK_ECONFLICT,
		"the stack \"%s\" is gone: it was dropped, or the database was set back to a time before it "
		"was created",
		name);
}

int js_stack_refuse_dropped(const char *name, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_ECONFLICT, "the stack \"%s\" was dropped meanwhile", name);
}

int js_stack_refuse_full(const char *name, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_ECONFLICT, "the stack \"%s\" has used up its entry numbers", name);
}

int js_stack_refuse_entry(const char *name, uint64_t entry, struct jobstack_error *error)
{
	return js_error_why(error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_ENTRY,
			    "there is no entry %" PRIu64 " in the stack \"%s\"", entry, name);
}

static void take_stack(void *ctx, const struct js_row *row)
{
	struct js_stack *s = ctx;

	if (row == NULL) {
		s->id = 0;
		return;
	}
	s->id = js_row_u64(row, 0);
	s->tail = js_row_u64(row, 1);
	s->state = (enum jobstack_stack_state)js_row_u64(row, 2);
	s->lifo = js_row_u64(row, 3) != 0;
	s->max_attempts = (uint32_t)js_row_u64(row, 4);
	s->max_losses = (uint32_t)js_row_u64(row, 5);
	s->retry_delay_us = js_row_i64(row, 6);
	s->named = row->col[7] != NULL;
	s->limited = js_row_u64(row, 8) != 0;
	(void)snprintf(s->cwd, sizeof(s->cwd), "%s", row->col[9] == NULL ? "" : row->col[9]);
}

int js_stack_find(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error)
{
	int status = js_stack_check_name(name, error);

	if (status == 0)
		status = js_schema_check(handle, error);
	if (status != 0)
		return status;
	if (name != stack->name) /* it may be read anew */
		(void)snprintf(stack->name, sizeof(stack->name), "%s", name);
	status = js_handle_ask(
		handle, take_stack, stack, error,
		"SELECT stack_id,tail,state,lifo,max_attempts,max_losses,retry_delay_us,named,max_running IS NOT "
		"NULL,cwd FROM stack WHERE name=%s",
		name);
	return status == 0 && stack->id == 0 ? js_stack_refuse_missing(name, error) : status;
}

void js_stack_mark_sql(struct js_sql *sql, uint64_t id)
{
	js_sql_only(sql, JS_SQL_CLUSTER);
	js_sql_stmt(sql, "UPDATE stack SET locked=locked+1 WHERE stack_id=%u AND state<3", id);
}

void js_stack_lock_sql(struct js_sql *sql, uint64_t id)
{
	js_sql_stmt(sql, "SELECT stack_id INTO @js_state FROM stack WHERE stack_id=%u FOR UPDATE", id);
	js_stack_mark_sql(sql, id);
}

int js_stack_refuse(struct jobstack *handle, const char *name, struct jobstack_error *error)
{
	struct js_stack s;
	int status = js_stack_find(handle, name, &s, error);

	if (status == 0 && s.state != JOBSTACK_DROPPING)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the stack \"%s\" was dropped and created again at the same moment: try again",
				    name);
	return status != 0 ? status : js_stack_refuse_state(name, s.state, "", error);
}

int js_stack_make(struct jobstack *handle, const char *name, int lifo, struct js_stack *stack,
		  struct jobstack_error *error)
{
	struct jobstack_error none = JOBSTACK_ERROR_INIT;
	int status = js_stack_find(handle, name, stack, &none);

	if (status == JOBSTACK_EMISSING) {
		/* IGNORE: somebody else may make it at the same moment, which is just as well */
		status = js_handle_ask(handle, NULL, NULL, error,
				       "INSERT IGNORE INTO stack(name,lifo,created) VALUES(%s,%u,UTC_TIMESTAMP(6))",
				       name, (uint64_t)(lifo != 0));
		return status == 0 ? js_stack_find(handle, name, stack, error) : status;
	}
	if (status != 0)
		js_error_pass(error, &none);
	return status;
}

struct status_call {
	jobstack_status_fn *fn;
	void *ctx;
	int found, stopped;
};

static void take_status(void *ctx, const struct js_row *row)
{
	struct status_call *call = ctx;
	struct jobstack_status s;
	uint64_t slot_us;
	unsigned c = 0;

	if (row == NULL) {
		call->found = 0;
		return;
	}
	memset(&s, 0, sizeof(s));
	s.stack_id = js_row_u64(row, c++);
	s.stack = row->col[c++];
	s.state = (enum jobstack_stack_state)js_row_u64(row, c++);
	s.pushed = js_row_u64(row, c++);
	s.cwd = row->col[c++];
	s.max_attempts = (uint32_t)js_row_u64(row, c++);
	s.max_losses = (uint32_t)js_row_u64(row, c++);
	s.retry_delay_us = js_row_i64(row, c++);
	s.ready = js_row_u64(row, c++);
	s.waiting = js_row_u64(row, c++);
	s.held = js_row_u64(row, c++);
	s.next_due_us = js_row_opt(row, c++);
	s.running = js_row_u64(row, c++);
	s.done = js_row_u64(row, c++);
	s.dead = js_row_u64(row, c++);
	s.workers = js_row_u64(row, c++);
	s.slots = js_row_u64(row, c++);
	s.busy = js_row_u64(row, c++);
	s.silent = js_row_u64(row, c++);
	s.ended = js_row_u64(row, c++);
	slot_us = js_row_u64(row, c++);
	s.rate = slot_us == 0 ? 0 : (double)s.ended * 1e6 / (double)slot_us * (double)s.busy;
	s.pushers = js_row_u64(row, c++);
	s.max_running = js_row_i64(row, c++);
	s.max_failures = js_row_i64(row, c++);
	s.moved = js_row_u64(row, c++);
	s.pruned = js_row_u64(row, c++);
	s.note = row->col[c++];
	if (s.state == JOBSTACK_DROPPING) { /* what was in line is gone already */
		s.cancelled = s.pushed - s.done - s.dead - s.moved - s.pruned;
		s.ready = s.waiting = s.held = 0;
	} else if (s.state == JOBSTACK_CANCELLED) {
		s.cancelled = s.ready + s.waiting + s.held;
		s.ready = s.waiting = s.held = 0;
	}
	call->found = 1;
	if (!call->stopped)
		call->stopped = call->fn(call->ctx, &s) != 0;
}

/* Keeps a subquery to the one stack that is asked for, so that its size is all that counts. */
static void add_stack_condition(struct js_sql *sql, const char *stack)
{
	if (stack != NULL)
		js_sql_add(sql, " AND stack_id=(SELECT stack_id FROM stack WHERE name=%s)", stack);
}

int jobstack_status(struct jobstack *handle, const char *stack, jobstack_status_fn *fn, void *ctx,
		    struct jobstack_error *error)
{
	struct status_call call = {fn, ctx, 0, 0};
	struct js_sql sql = {0};
	int status = stack == NULL ? 0 : js_stack_check_name(stack, error);

	if (status == 0)
		status = js_schema_check(handle, error);
	if (status != 0)
		return status;
	js_sql_add(&sql,
		   "SELECT s.stack_id,s.name,s.state,s.pushed,s.cwd,s.max_attempts,s.max_losses,s.retry_delay_us,"
		   "COALESCE(p.ready,0),COALESCE(p.waiting,0),COALESCE(p.held,0),p.due,COALESCE(c.running,0),"
		   "s.done+COALESCE(w.done,0),s.dead+COALESCE(w.dead,0),COALESCE(w.workers,0),COALESCE(w.slots,0),"
		   "COALESCE(w.busy,0),COALESCE(w.silent,0),COALESCE(w.ended,0),COALESCE(w.slot_us,0),"
		   "(SELECT COUNT(*) FROM push u WHERE u.stack_id=s.stack_id AND u.ended IS NULL AND "
		   "u.beat>UTC_TIMESTAMP(6)-INTERVAL 60 SECOND),s.max_running,s.max_failures,s.moved,s.pruned,s.note "
		   "FROM stack s "
		   "LEFT JOIN (SELECT stack_id,SUM(IF(class=0,hi-lo+1,0)) ready,SUM(IF(class=1,hi-lo+1,0)) waiting,"
		   "SUM(IF(class=2,hi-lo+1,0)) held,"
		   "GREATEST(0,TIMESTAMPDIFF(MICROSECOND,UTC_TIMESTAMP(6),MIN(IF(class=1,due,NULL)))) due "
		   "FROM span WHERE 1=1");
	add_stack_condition(&sql, stack);
	js_sql_add(&sql, " GROUP BY stack_id) p ON p.stack_id=s.stack_id "
			 "LEFT JOIN (SELECT stack_id,SUM(open) running FROM claim WHERE 1=1");
	add_stack_condition(&sql, stack);
	js_sql_add(&sql,
		   " GROUP BY stack_id) c ON c.stack_id=s.stack_id "
		   "LEFT JOIN (SELECT w.stack_id,COUNT(*) workers,SUM(w.slots) slots,SUM(w.done) done,SUM(w.dead) dead,"
		   "SUM(LEAST(w.slots,COALESCE(h.open,0))) busy,SUM(w.beat<UTC_TIMESTAMP(6)-INTERVAL w.lease_us "
		   "MICROSECOND) silent,SUM(IF(w.kind=0 AND h.open>0,w.done+w.dead,0)) ended,SUM(IF(w.kind=0 AND "
		   "h.open>0,w.slots*GREATEST(1000,TIMESTAMPDIFF(MICROSECOND,w.started,UTC_TIMESTAMP(6))),0)) slot_us "
		   "FROM worker w LEFT JOIN (SELECT worker_id,SUM(open) open FROM claim WHERE 1=1");
	add_stack_condition(&sql, stack);
	/* rate and busy: the workers that hold entries only, since one that lingers says nothing of the pace */
	js_sql_add(&sql, " GROUP BY stack_id,worker_id) h ON h.worker_id=w.worker_id WHERE w.ended IS NULL");
	add_stack_condition(&sql, stack);
	js_sql_add(&sql, " GROUP BY w.stack_id) w ON w.stack_id=s.stack_id");
	if (stack != NULL)
		js_sql_add(&sql, " WHERE s.name=%s", stack);
	js_sql_stmt(&sql, " ORDER BY s.name");
	status = js_db_query(handle->db, &sql, take_status, &call, error);
	if (status != 0)
		return status;
	if (stack != NULL && !call.found)
		return js_stack_refuse_missing(stack, error);
	return call.stopped ? JOBSTACK_ESTOPPED : 0;
}

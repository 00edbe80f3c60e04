/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Moving dead entries to another stack.  Promises: the right to move an entry is the state of its row, from dead
 * to moved, in the transaction that makes the other stack's entry; so it is moved once, and stands in one of the
 * two at every moment.  Both stacks' rows are locked first, in the order of their numbers: two who move in opposite
 * directions do not wait for each other in a circle.
 */
#include "queue/requeue.h"

#include <string.h>

struct moving {
	struct js_requeue r; /* the first member: the functions get this */
	struct js_stack to;  /* where they go; id 0: this stack does not exist yet */
	const char *to_name;
};

/* Checks by both stacks' rows, as they were read, whether entries may be moved.  The transaction checks it again. */
static int check_target(const struct moving *m, struct jobstack_error *error)
{
	const struct js_stack *from = &m->r.from, *to = &m->to;

	if (to->id == 0)
		return 0;
	if (to->state == JOBSTACK_CANCELLED || to->state == JOBSTACK_DROPPING)
		return js_stack_refuse_state(to->name, to->state, ": nothing can be pushed to it", error);
	if (to->tail > JS_ENTRY_MAX - JS_GROUP_MAX)
		return js_stack_refuse_full(to->name, error);
	if (m->r.group.relative && to->cwd[0] != '\0' && strcmp(from->cwd, to->cwd) != 0)
		return js_error_set(
			error, JOBSTACK_ECONFLICT,
			"the relative names in the stack \"%s\" were pushed in %.300s, those in \"%s\" in %.300s",
			to->name, to->cwd, from->name, from->cwd);
	return 0;
}

/* Finds the other stack, if it is there, and checks it. */
static int find_target(struct js_requeue *r, struct jobstack_error *error)
{
	struct moving *m = (struct moving *)r;
	int status = js_stack_look(r->handle, m->to_name, &m->to, error);

	r->names |= r->from.cwd[0] != '\0';
	if (status == JOBSTACK_NOTHING)
		m->to.id = 0;
	return status == 0		    ? check_target(m, error)
	       : status == JOBSTACK_NOTHING ? js_stack_check_new(m->to_name, error)
					    : status;
}

/* Makes the other stack: last in, first out if this one is, and with its policy of retries.  strict-order, max-running
 * and max-failures are not taken over: these are about the work in this stack. */
static int make_target(struct moving *m, struct jobstack_error *error)
{
	/* IGNORE: somebody else may make it at the same moment, which is just as well */
	JS_TRY(js_handle_ask(
		m->r.handle, NULL, NULL, error,
		"INSERT IGNORE INTO "
		"stack(name,popping_order,created,max_attempts,max_losses,retry_delay_us,created_by,account) "
		"SELECT "
		"%s,IF(popping_order=2,2,0),UTC_TIMESTAMP(6),max_attempts,max_losses,retry_delay_us,%s," JS_ACCOUNT
		" FROM stack WHERE stack_id=%u",
		m->to_name, m->r.handle->os_user, m->r.from.id));
	return js_stack_find(m->r.handle, m->to_name, &m->to, error);
}

/* Changes the two stacks' rows: N dead entries fewer here, N more entries there, with numbers from @js_t+1 on. */
static void stacks_sql(const struct moving *m, struct js_sql *sql, uint64_t n)
{
	const struct js_stack *from = &m->r.from, *to = &m->to;
	int up = from->id < to->id, relative = m->r.group.relative;

	js_stack_lock_sql(sql, up ? from->id : to->id);
	js_stack_lock_sql(sql, up ? to->id : from->id);
	js_sql_must(sql, "UPDATE stack SET dead=dead-%u,moved=moved+%u WHERE stack_id=%u AND state<3", n, n, from->id);
	js_sql_add(sql, "UPDATE stack SET ");
	if (relative)
		js_sql_add(sql, "cwd=%s,", from->cwd);
	js_sql_add(sql,
		   "named=IF(named=tail,tail+%u,named),tail=tail+%u,pushed=pushed+%u WHERE stack_id=%u AND state "
		   "IN(0,1) AND tail<=%u",
		   n, n, n, to->id, (uint64_t)(JS_ENTRY_MAX - n));
	if (relative)
		js_sql_add(sql, " AND (cwd IS NULL OR cwd=%s)", from->cwd);
	js_sql_add(sql, ";");
	js_sql_guard(sql, 1);
	js_sql_stmt(sql, "SELECT tail-%u INTO @js_t FROM stack WHERE stack_id=%u", n, to->id);
}

/* Adds the condition that names the entries of the group, as they were when they were chosen: not one that came back
 * since and is dead again, for another reason. */
static void moved_dead_sql(const struct js_group *g, struct js_sql *sql)
{
	if (g->mixed) {
		js_sql_list(sql, " AND attempt=ELT(FIELD(entry_id,", g->ids, g->n);
		js_sql_list(sql, ",", g->attempts, g->n);
	} else
		js_sql_add(sql, " AND attempt=%u", g->attempts[0]);
	js_sql_list(sql, " AND entry_id IN(", g->ids, g->n);
	js_sql_add(sql, ";");
}

static int settle_move(struct moving *m, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_add(&sql, "SELECT COUNT(*) FROM set_aside WHERE stack_id=%u AND to_stack=%u", m->r.from.id, m->to.id);
	moved_dead_sql(&m->r.group, &sql);
	return js_requeue_settle(&m->r, &sql, m->r.group.n, error);
}

static int move_group(struct js_requeue *r, struct jobstack_error *error)
{
	struct moving *m = (struct moving *)r;
	const struct js_group *g = &r->group;
	uint64_t n = g->n;
	struct js_sql sql = {0};
	int lost, status;

	JS_TRY(check_target(m, error));
	if (r->dry_run)
		return 0;
	if (m->to.id == 0)
		JS_TRY(make_target(m, error));
	stacks_sql(m, &sql, n);
	js_sql_list(&sql, "UPDATE set_aside SET to_entry=@js_t+FIELD(entry_id,", g->ids, g->n);
	js_sql_add(&sql, ",to_stack=%u,state=2 WHERE stack_id=%u AND state=0", m->to.id, r->from.id);
	moved_dead_sql(g, &sql);
	js_sql_guard(&sql, n);
	js_sql_add(
		&sql,
		"INSERT INTO entry(stack_id,entry_id,datapath) SELECT STRAIGHT_JOIN %u,d.to_entry,e.datapath FROM "
		"set_aside d JOIN entry e ON e.stack_id=d.stack_id AND e.entry_id=d.entry_id WHERE d.stack_id=%u AND "
		"d.to_stack=%u",
		m->to.id, r->from.id, m->to.id);
	js_sql_list(&sql, " AND d.entry_id IN(", g->ids, g->n);
	js_sql_add(&sql, ";");
	js_sql_guard(&sql, n);
	/* as for any push that is not unique: a name that is there stays that of the entry which brought it */
	js_sql_stmt(
		&sql,
		"INSERT IGNORE INTO name(stack_id,hash,entry_id) SELECT STRAIGHT_JOIN "
		"e.stack_id,UNHEX(SHA2(e.datapath,256)),e.entry_id FROM stack s JOIN entry e ON e.stack_id=s.stack_id "
		"WHERE s.stack_id=%u AND s.named IS NOT NULL AND e.entry_id BETWEEN @js_t+1 AND @js_t+%u",
		m->to.id, n);
	js_span_fresh(&sql, &m->to, JS_READY, g->rank, n, -1);
	status = js_db_commit(r->handle->db, &sql, &lost, error);
	if (status == JS_DB_GUARD)
		return lost ? settle_move(m, error) : JOBSTACK_NOTHING;
	return status == JS_DB_DUPLICATE
		       ? js_error_set(error, JOBSTACK_EBUG, "the stack \"%s\" has assigned a number twice", m->to.name)
		       : status;
}

int jobstack_move(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		  const struct jobstack_move_options *options, struct jobstack_requeue_result *result,
		  struct jobstack_error *error)
{
	struct jobstack_move_options o = JOBSTACK_MOVE_OPTIONS_INIT;
	struct moving m = {.r = {.able = JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST,
				 .only = "dead entries can be moved to another stack",
				 .unnamed = JOBSTACK_IS_DEAD,
				 .refuses = JOBSTACK_DROPPING,
				 .mixes = 1,
				 .put = move_group,
				 .check = find_target}};
	int status = js_requeue_begin(&m.r, handle, filter, result, error);

	JS_THEN(status, js_grow_in(&o, options, "jobstack_move_options", error));
	m.r.dry_run = o.dry_run;
	m.to_name = o.to;
	JS_THEN(status, js_stack_check_name(stack, error));
	JS_THEN(status, js_stack_check_name(o.to, error));
	if (status == 0 && strcmp(o.to, stack) == 0)
		status = js_error_set(error, JOBSTACK_EUSAGE, "the entries are already in the stack \"%s\"", stack);
	JS_THEN(status, js_requeue_run(&m.r, stack, error));
	js_grow_out(result, &m.r.result);
	return status;
}

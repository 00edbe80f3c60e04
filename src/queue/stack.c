/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stacks: finding and making them, their ledger.  Promise: status is one SELECT, exact at any depth.
 */
#include "queue/queue.h"

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

/* clang-format off */
#define STACK_COLUMNS(X)                                                                                               \
	X(id, "stack_id", U64) X(tail, "tail", U64) X(state, "state", U32) X(lifo, "popping_order=2", FLAG)            \
	X(max_attempts, "max_attempts", U32) X(max_losses, "max_losses", U32) X(retry_delay_us, "retry_delay_us", I64) \
	X(named, "named IS NOT NULL", FLAG) X(limited, "limited", U32)
/* clang-format on */

/* id 0: there is no such stack. */
static void take_stack(void *ctx, const struct js_row *row)
{
	struct js_stack *to = ctx;
	unsigned c = 1;

	to->id = 0;
	if (row == NULL)
		return;
	STACK_COLUMNS(JS_COLUMN_READ)
	(void)snprintf(to->cwd, sizeof(to->cwd), "%s", row->col[0] == NULL ? "" : row->col[0]);
}

int js_stack_find(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error)
{
	JS_TRY(js_stack_check_name(name, error));
	JS_TRY(js_schema_check(handle, error));
	if (name != stack->name) /* it may be read again */
		(void)snprintf(stack->name, sizeof(stack->name), "%s", name);
	JS_TRY(js_handle_ask(handle, take_stack, stack, error,
			     "SELECT cwd" STACK_COLUMNS(JS_COLUMN_NAME) " FROM stack WHERE name=%s", name));
	return stack->id == 0 ? js_stack_refuse_missing(name, error) : 0;
}

int js_stack_last(struct jobstack *handle, uint64_t id, uint64_t *last, struct jobstack_error *error)
{
	uint64_t found;

	JS_TRY(js_handle_ask_number(handle, &found, error,
				    "SELECT COALESCE(MAX(entry_id),0) FROM entry WHERE stack_id=%u", id));
	*last = found < *last ? found : *last;
	return 0;
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

	JS_TRY(js_stack_find(handle, name, &s, error));
	if (s.state == JOBSTACK_DROPPING)
		return js_stack_refuse_state(name, s.state, "", error);
	return js_error_set(error, JOBSTACK_ECONFLICT,
			    "the stack \"%s\" was dropped and created again at the same moment: try again", name);
}

int js_stack_look(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error)
{
	struct jobstack_error none = JOBSTACK_ERROR_INIT;
	int status = js_stack_find(handle, name, stack, &none);

	if (status == JOBSTACK_EMISSING)
		return JOBSTACK_NOTHING;
	if (status != 0)
		js_error_pass(error, &none);
	return status;
}

/* An origin as it is stored: of the bytes %x the SHA-256, which fits a unique key. */
#define ORIGIN "UNHEX(SHA2(%x,256))"

int js_stack_check_new(const char *name, struct jobstack_error *error)
{
	if (strchr(name, ',') == NULL && strcmp(name, "@") != 0 && name[strspn(name, "0123456789")] != '\0')
		return 0;
	return js_error_set(error, JOBSTACK_EUSAGE,
			    "a new stack can't be called \"%s\": a comma separates names, @ alone means your newest "
			    "stack, and a number an entry",
			    name);
}

/* The unique keys of name and origin decide between two who make a stack at the same moment.  With IGNORE the loser
 * gets no error, but reads the stack that is there, and finds out whether it has the origin that was asked for. */
int js_stack_make(struct jobstack *handle, const char *name, const struct jobstack_push_options *options,
		  struct js_stack *stack, struct jobstack_error *error)
{
	const struct jobstack_bytes none = {NULL, 0}, *origin = options->origin == NULL ? &none : options->origin;
	int status = js_stack_look(handle, name, stack, error);
	uint64_t ours = 1;

	if (status == JOBSTACK_NOTHING) {
		JS_TRY(js_stack_check_new(name, error));
		/* IGNORE: somebody else may make it at the same moment, which is just as well */
		JS_TRY(js_handle_ask(handle, NULL, NULL, error,
				     "INSERT IGNORE INTO stack(name,popping_order,created,created_by,account,origin) "
				     "VALUES(%s,%u,UTC_TIMESTAMP(6),%s," JS_ACCOUNT "," ORIGIN ")",
				     name, (uint64_t)(options->lifo != 0 ? 2 : 0), handle->os_user, origin->data,
				     origin->len));
		status = js_stack_look(handle, name, stack, error);
	}
	if (status >= 0 && origin->data != NULL)
		JS_TRY(js_handle_ask_number(handle, &ours, error,
					    "SELECT COUNT(*) FROM stack WHERE name=%s AND origin=" ORIGIN, name,
					    origin->data, origin->len));
	if (ours == 0)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the stack \"%s\" was created for another command, or this command got another "
				    "stack at the same moment: try again",
				    name);
	return status == JOBSTACK_NOTHING ? js_stack_refuse_missing(name, error) : status;
}

static void take_name(void *ctx, const struct js_row *row)
{
	(void)snprintf(ctx, JOBSTACK_STACK_MAX + 1, "%s", row == NULL || row->col[0] == NULL ? "" : row->col[0]);
}

int jobstack_newest(struct jobstack *handle, char name[JOBSTACK_STACK_MAX + 1], struct jobstack_error *error)
{
	JS_TRY(js_schema_check(handle, error));
	JS_TRY(js_handle_ask(handle, take_name, name, error,
			     "SELECT name FROM stack WHERE (created_by=%s AND state<3 AND LEFT(name,%u)<>%s) OR "
			     "name='@' ORDER BY name='@' DESC,stack_id DESC LIMIT 1",
			     handle->os_user, (uint64_t)strlen(JOBSTACK_CANARY), JOBSTACK_CANARY));
	return name[0] == '\0' ? JOBSTACK_NOTHING : 0;
}

int jobstack_of_origin(struct jobstack *handle, struct jobstack_bytes origin, const char *base,
		       char name[JOBSTACK_STACK_MAX + 1], struct jobstack_error *error)
{
	uint64_t behind = strlen(base) + 2, n;

	JS_TRY(js_schema_check(handle, error));
	JS_TRY(js_handle_ask(handle, take_name, name, error, "SELECT name FROM stack WHERE origin=" ORIGIN, origin.data,
			     origin.len));
	if (name[0] != '\0')
		return 0;
	/* what is no number counts as 0, or as the number with which it begins: then some number is left out */
	JS_TRY(js_handle_ask_number(handle, &n, error,
				    "SELECT COALESCE(MAX(CAST(SUBSTR(name,%u,9) AS UNSIGNED)),0)+1 FROM stack WHERE "
				    "LEFT(name,%u)=CONCAT(%s,'-')",
				    behind, behind - 1, base));
	(void)snprintf(name, JOBSTACK_STACK_MAX + 1, "%s-%" PRIu64, base, n);
	JS_TRY(js_stack_check_name(name, error));
	return JOBSTACK_NOTHING;
}

struct pushed_by {
	char *account;	      /* 256 bytes */
	uint64_t entry, last; /* the entry that is asked about; the last one of its range */
	int found;
};

static void take_pushed_by(void *ctx, const struct js_row *row)
{
	struct pushed_by *p = ctx;

	if (row == NULL || row->col[1] == NULL || js_row_u64(row, 0) < p->entry)
		return;
	p->found = 1;
	p->last = js_row_u64(row, 0);
	(void)snprintf(p->account, 256, "%s", js_row_u64(row, 2) ? "" : row->col[1]);
}

/* The primary key of push_range serves it: its rows don't overlap, so the one with the highest `lo` up to the entry is
 * the only one that can hold it. */
int jobstack_pushed_by(struct jobstack *handle, const char *stack, uint64_t entry, char account[256], uint64_t *last,
		       struct jobstack_error *error)
{
	struct pushed_by p = {account, entry, entry, 0};

	account[0] = '\0';
	JS_TRY(js_stack_check_name(stack, error));
	JS_TRY(js_schema_check(handle, error));
	JS_TRY(js_handle_ask(handle, take_pushed_by, &p, error,
			     "SELECT r.hi,p.account,p.account=" JS_ACCOUNT
			     " FROM push_range r LEFT JOIN push p ON p.push_id=r.push_id WHERE r.stack_id=(SELECT "
			     "stack_id FROM stack WHERE name=%s) AND r.lo<=%u ORDER BY r.lo DESC LIMIT 1",
			     stack, entry));
	*last = p.last;
	return p.found ? 0 : JOBSTACK_NOTHING;
}

struct status_call {
	jobstack_status_fn *fn;
	void *ctx;
	int found, stopped;
};

/* The newest row of an index on (stack_id, ended): when the last worker, or the last push, has ended. */
#define LAST_END(table)                                                                                                \
	"COALESCE((SELECT k.ended FROM " table                                                                         \
	" k WHERE k.stack_id=s.stack_id ORDER BY k.ended DESC LIMIT 1),s.created)"

/* Of a stack s, its spans p, claims c and live workers w.  slot_us, which comes before these, is the time that the
 * slots of workers with entries have had: `ended` divided by it is the rate of a slot. */
/* clang-format off */
#define STATUS_COLUMNS(X)                                                                                              \
	X(stack_id, "s.stack_id", U64) X(stack, "s.name", TEXT) X(state, "s.state", U32) X(pushed, "s.pushed", U64)    \
	X(cwd, "s.cwd", TEXT) X(max_attempts, "s.max_attempts", U32) X(max_losses, "s.max_losses", U32)                \
	X(retry_delay_us, "s.retry_delay_us", I64) X(ready, "p.ready", U64) X(waiting, "p.waiting", U64)               \
	X(held, "p.held", U64) X(next_due_us, "p.due", OPT) X(running, "c.running", U64)                               \
	X(done, "s.done+COALESCE(w.done,0)", U64) X(dead, "s.dead+COALESCE(w.dead,0)", U64)                            \
	X(workers, "w.workers", U64) X(slots, "w.slots", U64) X(busy, "w.busy", U64) X(silent, "w.silent", U64)        \
	X(ended, "w.ended", U64)                                                                                       \
	X(pushers, "(SELECT COUNT(*) FROM push u WHERE u.stack_id=s.stack_id AND u.ended IS NULL AND "                 \
		   "u.beat>UTC_TIMESTAMP(6)-INTERVAL 60 SECOND)", U64)                                                 \
	X(max_running, "s.max_running", I64) X(max_failures, "s.max_failures", I64) X(moved, "s.moved", U64)           \
	X(pruned, "s.pruned", U64) X(note, "s.note", TEXT)                                          \
	X(cancelled, "s.cancelled", U64) X(strict_order, "s.popping_order>0", U64)                                     \
	X(idle_us, "TIMESTAMPDIFF(MICROSECOND,GREATEST(s.created," LAST_END("worker") "," LAST_END("push") "),"        \
		   "UTC_TIMESTAMP(6))", I64)                                                                           \
	X(max_starts, "s.max_starts", I64) X(starts_us, "s.starts_us", I64)
/* clang-format on */

/* Of a stack that is cancelled or being dropped, nothing is ready or waiting any more: what is left in its spans is
 * shown as cancelled. */
static void take_status(void *ctx, const struct js_row *row)
{
	struct status_call *call = ctx;
	struct jobstack_status s = {0}, *to = &s;
	uint64_t slot_us;
	unsigned c = 1;

	call->found = row != NULL;
	if (row == NULL)
		return;
	STATUS_COLUMNS(JS_COLUMN_READ)
	slot_us = js_row_u64(row, 0);
	if (s.workers > 0 || s.pushers > 0 || s.idle_us < 0)
		s.idle_us = 0;
	s.rate = slot_us == 0 ? 0 : (double)s.ended * 1e6 / (double)slot_us * (double)s.busy;
	if (s.state == JOBSTACK_DROPPING) { /* nobody gets what is left of its spans */
		s.cancelled = s.pushed - s.done - s.dead - s.moved - s.pruned;
		s.ready = s.waiting = s.held = 0;
		s.next_due_us = -1;
	} else if (s.state == JOBSTACK_CANCELLED) {
		s.cancelled += s.ready + s.waiting + s.held;
		s.ready = s.waiting = s.held = 0;
	}
	if (!call->stopped)
		call->stopped = call->fn(call->ctx, to) != 0;
}

/* Keeps a subquery to the one stack that is asked for, so that its size is all that counts. */
static void add_stack_condition(struct js_sql *sql, const char *stack)
{
	if (stack != NULL)
		js_sql_add(sql, " AND stack_id=(SELECT stack_id FROM stack WHERE name=%s)", stack);
}

/* One SELECT, so that all numbers belong to one moment.  A stack's own counters have what ended workers did; those of
 * live workers are added here.  Ready, waiting, held and running entries are sums over spans and claims, most of which
 * are intervals, so the depth of a stack does not matter. */
int jobstack_status(struct jobstack *handle, const char *stack, jobstack_status_fn *fn, void *ctx,
		    struct jobstack_error *error)
{
	struct status_call call = {fn, ctx, 0, 0};
	struct js_sql sql = {0};

	if (stack != NULL)
		JS_TRY(js_stack_check_name(stack, error));
	JS_TRY(js_schema_check(handle, error));
	js_sql_add(&sql, "SELECT w.slot_us" STATUS_COLUMNS(JS_COLUMN_NAME) " FROM stack s ");
	js_sql_add(&sql,
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
	JS_TRY(js_db_query(handle->db, &sql, take_status, &call, error));
	if (stack != NULL && !call.found)
		return js_stack_refuse_missing(stack, error);
	return call.stopped ? JOBSTACK_ESTOPPED : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of this room share: the handle, a stack as the protocol needs it, numbers of schema columns.
 */
#ifndef JS_CORE_CORE_H
#define JS_CORE_CORE_H

#include "db/db.h"
#include "jobstack/jobstack.h"

struct jobstack {
	struct js_db *db;
	int schema_known; /* the schema was looked at and fits */
};

/* The stack row, but for its counters. */
struct js_stack {
	uint64_t id, tail;
	enum jobstack_stack_state state;
	int lifo;
	int limited; /* max_running is set: whoever pops passes the gate */
	uint32_t max_attempts, max_losses;
	int64_t retry_delay_us;
	int named;	/* some push was --unique */
	char cwd[4097]; /* "" if the stack has no relative names */
	char name[JOBSTACK_STACK_MAX + 1];
};

/* Of "stack s": so many are dead that it is to be paused, if it is not NULL. */
#define JS_STACK_FAILING                                                                                               \
	"s.dead+(SELECT COALESCE(SUM(w.dead),0) FROM worker w WHERE w.stack_id=s.stack_id AND w.ended IS "             \
	"NULL)>=s.max_failures"

/* Looks the schema up, once a handle: 0, or JOBSTACK_ESCHEMA. */
int js_schema_check(struct jobstack *handle, struct jobstack_error *error);

/* Runs SQL, frees it, and gives the number that it selects; UINT64_MAX if there is no row. */
int js_handle_number(struct jobstack *handle, struct js_sql *sql, uint64_t *number, struct jobstack_error *error);

/* Is it a stack's name?  0, or JOBSTACK_EUSAGE. */
int js_stack_check_name(const char *name, struct jobstack_error *error);

/* Reads the stack NAME: 0, JOBSTACK_EUSAGE for what is no name, JOBSTACK_EMISSING, or a database error. */
int js_stack_find(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error);

/* The same, created if it is not there, with LIFO for a new one. */
int js_stack_make(struct jobstack *handle, const char *name, int lifo, struct js_stack *stack,
		  struct jobstack_error *error);

/* Tells why a guard found the stack NAME not to be had: it is being dropped (ECONFLICT), or is gone (EMISSING). */
int js_stack_refuse(struct jobstack *handle, const char *name, struct jobstack_error *error);

/* How errors begin that say so. */
#define JS_SET_BACK                                                                                                    \
	"the database was set back to an earlier state (a restored backup, or a failover that lost commits): "

/* Locks the stack's row, for a transaction.  On a cluster whose servers all take writes a lock is known to its own
 * server only.  What two of them settle is who changes a row, so there the row is changed as well. */
void js_stack_lock_sql(struct js_sql *sql, uint64_t id);

/* The second half of that, before a statement that locks the row itself.  Nothing is sent to a single server. */
void js_stack_mark_sql(struct js_sql *sql, uint64_t id);

/* What an INSERT of a row of stack %u selects from: nothing once the stack is being dropped, which waits for who was
 * before it.  js_stack_mark_sql comes first. */
#define JS_STACK_KEPT " FROM stack WHERE stack_id=%u AND state<3 LOCK IN SHARE MODE"

/* Adds the statements that change the stack's policy, for a transaction.  0, or JOBSTACK_EUSAGE. */
int js_stack_policy_sql(struct js_sql *sql, uint64_t stack_id, const struct jobstack_policy *policy,
			struct jobstack_error *error);

/* Pauses an open stack that has max_failures and so many dead entries. */
int js_stack_halt(struct jobstack *handle, const struct js_stack *stack, struct jobstack_error *error);

#endif

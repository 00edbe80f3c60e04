/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack as the protocol needs it.
 */
#pragma once

#include "core/handle.h"

/* The stack row, but for its counters. */
struct js_stack {
	uint64_t id, tail;
	enum jobstack_stack_state state;
	int lifo;
	int limited; /* max_running is set: whoever pops locks the row in `gate` first */
	uint32_t max_attempts, max_losses;
	int64_t retry_delay_us;
	int named;	/* some push was --unique */
	char cwd[4097]; /* "" if the stack has no relative names */
	char name[JOBSTACK_STACK_MAX + 1];
};

/* Is it a stack's name?  0, or JOBSTACK_EUSAGE. */
int js_stack_check_name(const char *name, struct jobstack_error *error);

/* Reads the stack NAME: 0, JOBSTACK_EUSAGE for what is no name, JOBSTACK_EMISSING, or a database error. */
int js_stack_find(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error);

/* The same; a stack that does not exist is JOBSTACK_NOTHING, and no error. */
int js_stack_look(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error);

/* The same, created if it does not exist, with LIFO for a new one. */
int js_stack_make(struct jobstack *handle, const char *name, int lifo, struct js_stack *stack,
		  struct jobstack_error *error);

/* Tells why a guard found the stack NAME not to be had: it is being dropped (ECONFLICT), or is gone (EMISSING). */
int js_stack_refuse(struct jobstack *handle, const char *name, struct jobstack_error *error);

/* Errors that several have: each fills ERROR and gives the code.  The stack NAME does not exist; is STATE (cancelled or
 * being dropped), and MORE; is gone, or was made anew, since it was found; has no number left; has no such ENTRY. */
int js_stack_refuse_missing(const char *name, struct jobstack_error *error);
int js_stack_refuse_state(const char *name, enum jobstack_stack_state state, const char *more,
			  struct jobstack_error *error);
int js_stack_refuse_gone(const char *name, struct jobstack_error *error);
int js_stack_refuse_dropped(const char *name, struct jobstack_error *error);
int js_stack_refuse_full(const char *name, struct jobstack_error *error);
int js_stack_refuse_entry(const char *name, uint64_t entry, struct jobstack_error *error);

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

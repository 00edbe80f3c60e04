/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What most files of this layer need: the handle and single queries on it, the schema's version, and stacks as the
 * protocol needs them.
 */
#pragma once

#include "base/error.h"
#include "base/grow.h"
#include "db/db.h"

struct jobstack {
	struct js_db *db;
	char *os_user;
	int schema_known; /* the schema was looked at and fits */
};

/* Runs the statement FORMAT, as js_sql_stmt has it, outside of a transaction, or in the view that is open (js_db_view):
 * FN gets its rows. */
int js_handle_ask(struct jobstack *handle, js_row_fn *fn, void *ctx, struct jobstack_error *error, const char *format,
		  ...);

/* Gives the number that the statement selects (uint64_t *NUMBER); UINT64_MAX if there is no row. */
#define js_handle_ask_number(handle, number, error, ...)                                                               \
	js_handle_ask((handle), js_row_number, (number), (error), __VA_ARGS__)

/* Runs the statement as a transaction, with a guard for at least ROWS rows (0: no guard): see js_db_commit. */
int js_handle_change(struct jobstack *handle, uint64_t rows, int *lost, struct jobstack_error *error,
		     const char *format, ...);

/* Checks the schema's version, once per handle: 0, or JOBSTACK_ESCHEMA. */
int js_schema_check(struct jobstack *handle, struct jobstack_error *error);

/* Cuts the next statement off *TEXT, which is of the folder schema/, without its semicolon: 1, or 0 at the end or if
 * STATEMENT has failed. A statement ends with a semicolon at the end of a line; lines that begin with -- are comments.
 */
int js_schema_next(const char **text, struct js_buf *statement);

extern const char js_check_sql[]; /* schema/check.sql */

/* The column `limited`, which a pop must know: max_running is set; max_starts is. */
enum { JS_LIMIT_RUNNING = 1, JS_LIMIT_STARTS = 2 };

/* A row of `stack`, without its counters. */
struct js_stack {
	uint64_t id, tail;
	enum jobstack_stack_state state;
	int lifo;
	uint32_t limited; /* JS_LIMIT_... or 0; if it is not, a pop first locks the row in `running_limit` */
	uint32_t max_attempts, max_losses;
	int64_t retry_delay_us;
	int named;	/* some push was --unique */
	char cwd[4097]; /* "" if the stack has no relative names */
	char name[JOBSTACK_STACK_MAX + 1];
};

/* Checks whether it is a stack's name.  Returns 0, or JOBSTACK_EUSAGE. */
int js_stack_check_name(const char *name, struct jobstack_error *error);

/* Reads the stack NAME: 0, JOBSTACK_EUSAGE for an invalid name, JOBSTACK_EMISSING, or a database error. */
int js_stack_find(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error);

/* The same, but returns JOBSTACK_NOTHING, without an error, if the stack does not exist. */
int js_stack_look(struct jobstack *handle, const char *name, struct js_stack *stack, struct jobstack_error *error);

/* Lowers *LAST to the highest number of an entry that stack ID has.  Otherwise a damaged `tail` would make callers scan
 * numbers that no entry has. */
int js_stack_last(struct jobstack *handle, uint64_t id, uint64_t *last, struct jobstack_error *error);

/* Checks whether a new stack may have this valid name.  Returns 0, or JOBSTACK_EUSAGE. */
int js_stack_check_new(const char *name, struct jobstack_error *error);

/* Reads the stack NAME as js_stack_find does, but creates it if it does not exist, with the order and the origin of
 * OPTIONS. */
int js_stack_make(struct jobstack *handle, const char *name, const struct jobstack_push_options *options,
		  struct js_stack *stack, struct jobstack_error *error);

/* The account that the server knows this connection by, as it is stored: "user@%". */
#define JS_ACCOUNT "LEFT(CAST(CURRENT_USER() AS BINARY),255)"

/* Asks for the user lock of that name, and waits for %u seconds: 1 if this connection has it then.  A lock that a
 * connection gets twice must be released twice, so it is not requested again. */
#define JS_ASK_FOR_LOCK(name) "IF(IS_USED_LOCK(" name ")=CONNECTION_ID(),1,GET_LOCK(" name ",%u))"

/* Fills ERROR after a guard that the stack NAME did not pass: it is being dropped (ECONFLICT), or is gone (EMISSING).
 */
int js_stack_refuse(struct jobstack *handle, const char *name, struct jobstack_error *error);

/* Errors of several functions: each fills ERROR and returns the code. The stack NAME does not exist; is STATE
 * (cancelled or being dropped), followed by MORE; is gone, or was created again, since it was found; has no number
 * left; has no such ENTRY. */
int js_stack_refuse_missing(const char *name, struct jobstack_error *error);
int js_stack_refuse_state(const char *name, enum jobstack_stack_state state, const char *more,
			  struct jobstack_error *error);
int js_stack_refuse_gone(const char *name, struct jobstack_error *error);
int js_stack_refuse_dropped(const char *name, struct jobstack_error *error);
int js_stack_refuse_full(const char *name, struct jobstack_error *error);
int js_stack_refuse_entry(const char *name, uint64_t entry, struct jobstack_error *error);

/* The beginning of errors about a database that was set back. */
#define JS_SET_BACK                                                                                                    \
	"the database was set back to an earlier state (a restored backup, or a failover that lost commits): "

/* Locks the stack's row, for a transaction.  On a cluster whose servers all take writes a lock is known only to its
 * own server, and only changes of the same row exclude each other. So there the row is changed as well. */
void js_stack_lock_sql(struct js_sql *sql, uint64_t id);

/* Adds only that change, before a statement that locks the row itself.  Nothing is sent to a single server. */
void js_stack_mark_sql(struct js_sql *sql, uint64_t id);

/* The end of an INSERT ... SELECT of a row that belongs to stack %u.  Once the stack is being dropped, it selects
 * nothing; and a drop waits for an INSERT that came before it, because of the shared lock.  js_stack_mark_sql comes
 * first. */
#define JS_STACK_KEPT " FROM stack WHERE stack_id=%u AND state<3 LOCK IN SHARE MODE"

/* A condition on "stack s": true if it has as many dead entries as max_failures allows; NULL without max_failures. */
#define JS_STACK_FAILING                                                                                               \
	"s.dead+(SELECT COALESCE(SUM(w.dead),0) FROM worker w WHERE w.stack_id=s.stack_id AND w.ended IS "             \
	"NULL)>=s.max_failures"

/* Adds the statements that change the stack's policy, for a transaction.  0, or JOBSTACK_EUSAGE. */
int js_stack_policy_sql(struct js_sql *sql, uint64_t stack_id, const struct jobstack_policy *policy,
			struct jobstack_error *error);

/* Pauses an open stack that has as many dead entries as its max_failures. */
int js_stack_halt(struct jobstack *handle, const struct js_stack *stack, struct jobstack_error *error);

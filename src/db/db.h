/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection, and transactions on it.  The only layer that knows <mysql.h>.
 *
 * A transaction is one packet: everything from START TRANSACTION to COMMIT goes to the server together, so that a
 * client that freezes holds no lock.  What is retried is the transaction, never the statement.
 *
 * Assumed of the server, here and nowhere else: MySQL 8.0 and later or MariaDB 10.5 and later; user variables; an out
 * of range BIGINT UNSIGNED is error 1690; multi-statement packets stop at the first error.
 */
#pragma once

#include "base/log.h"
#include "db/row.h"
#include "db/sql.h"
#include "jobstack/jobstack.h"

struct js_db;

/* Makes a connection object from the public options, and connects.  Free it with js_db_free. */
int js_db_open(struct js_db **db, const struct jobstack_options *options, struct jobstack_error *error);
void js_db_free(struct js_db *db);

/* Closes the connection, if there is one; the next packet connects again. */
void js_db_disconnect(struct js_db *db);

/* The same, but only while the server is short of connections.  Looks whether it is, every few seconds. */
void js_db_disconnect_if_crowded(struct js_db *db);

/* Returns whether an idle connection may stay open for long: it is there, and fewer than half of the server's
 * connections were in use at the last look.  Gives a number that no other connection of DB has had, or 0. */
uint64_t js_db_may_stay(const struct js_db *db);

/* Returns whether there was a connection, and the server has ended it.  Does not wait. */
int js_db_is_cut(const struct js_db *db);

void js_db_describe(struct js_db *db, char *text, size_t size);
const struct js_log *js_db_log(const struct js_db *db);

/* The server's clock at a moment of this host's CLOCK_BOOTTIME, in microseconds since 1970, from a reading at connect.
 */
int64_t js_db_wall_us(const struct js_db *db, int64_t mono_us);

/* The schema's tables were found: if one is missing later, a call retries for ten seconds before it is an error. */
void js_db_expect_tables(struct js_db *db);

/* While ON, a lost connection is not replaced: js_db_query and js_db_schema return JS_DB_LOST then. For statements
 * that depend on the connection itself: a user lock, user variables. */
void js_db_pin(struct js_db *db, int on);

/* How a packet ended, beside 0 and negative codes. */
enum { JS_DB_GUARD = 2, JS_DB_DUPLICATE = 3, JS_DB_LOST = 4, JS_DB_NO_LOAD = 5 };

/* Each function that runs a packet also frees it, whatever the result; it can be filled again.
 *
 * Runs the packet as one transaction: START TRANSACTION and COMMIT are put around it.  TAIL (may be NULL) is run after
 * the COMMIT, in the same packet; its statements are numbered on.  Deadlocks, lock timeouts and snapshot conflicts
 * start it again from its beginning, for as long as the patience of the options or ten seconds, whichever is longer;
 * then it is JOBSTACK_ENODB with the server's number (1205, 1213).  A lost connection, or a server that became
 * read-only, leads to a new connection, within the patience, and it is run again. Returns 0; JS_DB_GUARD if a guard
 * stopped it, JS_DB_DUPLICATE if a primary or unique key did (nothing has changed in either case by this try); or a
 * negative code.  *LOST (may be NULL) is 1 if in an earlier try the connection went after the packet was sent: then
 * that try may have been committed, and a guard or duplicate must be settled by who asked. */
int js_db_transaction(struct js_db *db, struct js_sql *packet, struct js_sql *tail, js_row_fn *fn, void *ctx, int *lost,
		      struct jobstack_error *error);

/* The same for a packet without rows. */
int js_db_commit(struct js_db *db, struct js_sql *packet, int *lost, struct jobstack_error *error);

/* Loads: LOAD DATA LOCAL INFILE of bytes in our memory, the fastest way to bring many rows.  js_db_loads_begin asks
 * the server whether it takes them: 0, JOBSTACK_NOTHING if not, or a negative code.  If it does, the next packet
 * connects again, with the capability that the protocol needs for it. js_db_loads_end closes that connection; without
 * a begin it does nothing. */
int js_db_loads_begin(struct js_db *db, struct jobstack_error *error);
void js_db_loads_end(struct js_db *db);

/* The same as js_db_transaction, with one LOAD DATA LOCAL INFILE in the packet, whatever file it names: it gets the
 * LEN bytes of DATA.  JS_DB_NO_LOAD: the server, or something on the way to it, refuses the load; this try has changed
 * nothing, and *LOST is as above.  While no load has gone through yet, every fault counts as that, except a conflict of
 * locks, a guard and a key. */
int js_db_load(struct js_db *db, struct js_sql *packet, const char *data, size_t len, int *lost,
	       struct jobstack_error *error);

/* How long a call can take: its patience (or the ten seconds) is over, the try that is under way then ends (a frozen
 * server is abandoned after 30 s of silence), and there is one last round over the hosts.  A round takes at most 10 s
 * with one host, 5 s for each of two to four, 24 s for eight, or the file's connect_timeout for each; what the name
 * server takes, and a host that freezes in the middle of the handshake (30 s), come on top. */

/* Runs statements that only read, or DDL, without a transaction around them; after a lost connection all of them are
 * run again on a new one. */
int js_db_query(struct js_db *db, struct js_sql *packet, js_row_fn *fn, void *ctx, struct jobstack_error *error);

/* Calls BODY in one read-only transaction, with one view of the data as it is at that moment; no lock is taken.  BODY
 * asks with js_db_query, which then may return JS_DB_LOST, and returns what that returned unless it was 0.  When the
 * view is lost (the connection went), BODY is called again from its beginning in a new one, within the patience of the
 * options for each loss: what it read before must be forgotten. */
typedef int js_view_fn(void *ctx, struct jobstack_error *error);
int js_db_view(struct js_db *db, js_view_fn *body, void *ctx, struct jobstack_error *error);

/* Returns whether the server has user locks (GET_LOCK) that all clients see.  A cluster has none. */
int js_db_has_user_locks(const struct js_db *db);

/* Stops DB for good, or with NULL all of them, also those that are opened later: waits end.  Safe in signal handlers
 * and in other threads. */
void js_db_stop(struct js_db *db);

/* Sleeps; JOBSTACK_ESTOPPED if DB was stopped.  With 0, in each round of a loop over data, it only looks. */
int js_db_nap(struct js_db *db, int64_t us, struct jobstack_error *error);

/* Runs one statement whose text comes from a schema file of this program, not from outside. */
int js_db_schema(struct js_db *db, const char *statement, size_t len, struct jobstack_error *error);

/* Creates the database of the options if it does not exist; then *CREATED is 1. */
int js_db_create(struct js_db *db, int *created, struct jobstack_error *error);

/* The server's number of the last error; 0: none. */
unsigned js_db_errno(const struct js_db *db);

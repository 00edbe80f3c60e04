/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Connections, and packets run again until they went through.  Promise: only a whole transaction is ever repeated.
 *
 * A packet (run_exchange):
 *
 *     prepare_try       connects if there is no connection, and writes the request for that server
 *     js_exchange_send  sends it and reads the answers; without an error that is all
 *     may_try_again     cleans up: rolls back, or closes the connection; decides by the fault and the time
 *     final_status      what the caller gets if not
 *
 * Three moments limit the tries: after an outage the patience of the options; after a conflict of locks the same, but
 * ten seconds at least; while a table is missing ten seconds.
 *
 * A statement alone is never repeated.  After a deadlock the server has rolled back the whole transaction, so the
 * statements before would silently be missing.  A stop (js_db_stop) ends the waits, but not a packet that is under way:
 * whether that was committed would not be known.
 */
#include "db/db.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "db/connect.h"
#include "db/exchange.h"
#include "db/login.h"
#include "db/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFLICT_US (10 * JS_SECOND_US) /* lock conflicts are retried at least this long: three lock waits */
/* The longest wait between two tries: by then the other transaction has ended. */
#define CONFLICT_WAIT_US (JS_SECOND_US / 5)
#define GONE_WAIT_US (2 * JS_SECOND_US)
#define GUARDS_MAX 4	 /* tries that one guard stops: some 10 ms */
#define SKIPS_MAX 12	 /* ... and that the guard of the sum does: a second or two, less than a quarter of any lease */
#define VIEWS_MAX 20	 /* times that a long reading is begun again */
#define NO_DATABASE 1049 /* the server's number for a database that does not exist */

/* ---------------------------------------------------------------------------------------------------- connections */

/* Copies a text of the caller's, or NULL. */
static int copy_option_text(char **to, const char *from)
{
	*to = from == NULL ? NULL : strdup(from);
	return from != NULL && *to == NULL ? -1 : 0;
}

/* The connector's own start is not safe in two threads at once. */
static void start_connector(void)
{
	(void)mysql_library_init(0, NULL, NULL);
	js_login_start();
}

int js_db_open(struct js_db **out, const struct jobstack_options *options, struct jobstack_error *error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct js_db *db = calloc(1, sizeof(*db));
	int status;

	*out = NULL;
	(void)pthread_once(&once, start_connector);
	if (db == NULL)
		return js_error_memory(error);
	db->log = (struct js_log){options->log, options->log_ctx};
	db->patience_us = options->patience_us;
	db->first_us = options->first_us;
	db->crowd_us = options->crowd_us > options->patience_us ? options->crowd_us : options->patience_us;
	if (db->first_us > db->crowd_us)
		db->crowd_us = db->first_us;
	db->port = options->port;
	js_file_random(&db->jitter, sizeof(db->jitter));
	db->jitter |= 1;
	if (copy_option_text(&db->defaults_file, options->defaults_file) != 0 ||
	    copy_option_text(&db->host, options->host) != 0 || copy_option_text(&db->socket, options->socket) != 0 ||
	    copy_option_text(&db->user, options->user) != 0 ||
	    copy_option_text(&db->password, options->password) != 0 ||
	    copy_option_text(&db->database, options->database) != 0) {
		status = js_error_memory(error);
		goto fail;
	}
	status = js_connect(db, js_clock_mono_us() + db->crowd_us, error);
	if (status == JOBSTACK_ESCHEMA && db->last_errno == NO_DATABASE) {
		/* the database itself is missing: `init` creates it, everything else will say so */
		js_error_clear(error);
		db->no_database = 1;
		status = js_connect(db, js_clock_mono_us() + db->crowd_us, error);
	}
	if (status != 0)
		goto fail;
	*out = db;
	return 0;

fail:
	js_db_free(db);
	return status;
}

void js_db_free(struct js_db *db)
{
	int saved = errno;

	if (db == NULL)
		return;
	js_session_end(db);
	if (db->password != NULL)
		explicit_bzero(db->password, strlen(db->password));
	free(db->defaults_file);
	free(db->host);
	free(db->socket);
	free(db->user);
	free(db->password);
	free(db->database);
	free(db);
	errno = saved;
}

void js_db_disconnect(struct js_db *db)
{
	js_session_end(db);
}

void js_db_disconnect_if_crowded(struct js_db *db)
{
	js_session_end_if_crowded(db);
}

uint64_t js_db_may_stay(const struct js_db *db)
{
	return db->my != NULL && db->roomy ? db->number : 0;
}

int js_db_is_cut(const struct js_db *db)
{
	return db->my != NULL && js_connect_is_over(db);
}

void js_db_describe(struct js_db *db, char *text, size_t size)
{
	const char *cipher = db->my == NULL ? NULL : mysql_get_ssl_cipher(db->my);

	(void)snprintf(text, size, "%s, %s%s", db->where, cipher != NULL ? "TLS " : "no TLS",
		       cipher != NULL ? cipher : "");
}

int js_db_create(struct js_db *db, int *created, struct jobstack_error *error)
{
	char statement[600], *p = statement;

	*created = 0;
	if (!db->no_database)
		return 0;
	/* a name can't be a hex literal; as an identifier in backticks only a backtick means anything */
	p += sprintf(p, "CREATE DATABASE IF NOT EXISTS `");
	for (const char *c = db->name; *c != '\0'; c++) {
		if (*c == '`')
			*p++ = '`';
		*p++ = *c;
	}
	*p++ = '`';
	*p = '\0';
	JS_TRY(js_db_schema(db, statement, strlen(statement), error));
	*created = 1;
	db->no_database = 0;
	js_session_end(db);
	return js_connect(db, 0, error);
}

unsigned js_db_errno(const struct js_db *db)
{
	return db->last_errno;
}

const struct js_log *js_db_log(const struct js_db *db)
{
	return &db->log;
}

int64_t js_db_wall_us(const struct js_db *db, int64_t mono_us)
{
	return db->wall_us + (mono_us - db->mono_us);
}

void js_db_expect_tables(struct js_db *db)
{
	db->has_tables = 1;
}

void js_db_pin(struct js_db *db, int on)
{
	db->pinned = on;
}

int js_db_has_user_locks(const struct js_db *db)
{
	return !db->cluster;
}

/* -------------------------------------------------------------------------------------------------------- packets */

/* The moments (js_clock_mono_us) until which a packet is run again. */
struct limits {
	int64_t away_us;     /* after an outage */
	int64_t conflict_us; /* after a conflict of locks */
	int64_t table_us;    /* while a table is missing */
};

/* Returns whether a table is missing that was there before.  Somebody may be replacing it for a moment (an online
 * schema change). */
static int is_table_replaced(const struct js_db *db, const struct js_exchange *x)
{
	return x->number == JS_FAULT_NO_TABLE && db->has_tables;
}

/* Returns whether it is the LOAD in it that does not go through.  Until one did, whatever goes wrong may be because of
 * it: a proxy or a firewall that does not know such a request may close the connection.  Faults that show that the
 * server has understood the packet are no sign of that. */
static int is_no_load(const struct js_db *db, const struct js_exchange *x)
{
	if (x->load == NULL)
		return 0;
	return x->fault == JS_FAULT_NO_LOAD ||
	       (!db->loaded && x->fault != JS_FAULT_AGAIN && x->fault != JS_FAULT_KILLED &&
		x->fault != JS_FAULT_GUARD && x->fault != JS_FAULT_DUPLICATE);
}

/* Makes sure, before each try, that there is a connection, and that the request is written for the server there. */
static int prepare_try(struct js_db *db, struct js_exchange *x, const struct limits *limits,
		       struct jobstack_error *error)
{
	int status;

	if (db->my == NULL && db->pinned)
		return JS_DB_LOST;
	status = db->my != NULL ? 0 : js_connect(db, limits->away_us, error);
	return status == 0 ? js_exchange_write(db, x, error) : status;
}

/* Returns whether a guard stopped it only because MariaDB may have skipped the statement that the guard looks at.  So
 * only a guard that stops it again and again is believed.  (Servers without blocks skip nothing.)  A packet with
 * `races` is not repeated: there a guard mostly means that somebody else was faster. */
static int may_have_been_skipped(const struct js_db *db, struct js_exchange *x)
{
	if (x->fault == JS_FAULT_SKIPPED)
		return ++x->skipped < SKIPS_MAX;
	return x->fault == JS_FAULT_GUARD && x->request.blocks && !x->packet->races && !js_db_is_stopped(db) &&
	       ++x->stopped < GUARDS_MAX;
}

/* Cleans up after a try that failed.  Returns whether to try again. */
static int may_try_again(struct js_db *db, struct js_exchange *x, const struct limits *limits)
{
	if (js_fault_is_away(x->number)) {
		js_log(&db->log, JOBSTACK_LOG_INFO, "the connection to %s was lost: %s", db->where, db->last_error);
		js_session_end(db);
		return !db->pinned && js_clock_mono_us() <= limits->away_us && !is_no_load(db, x);
	}
	js_exchange_roll_back(db, x);
	if (is_table_replaced(db, x)) {
		js_log(&db->log, JOBSTACK_LOG_INFO, "a table is missing, trying again: %s", db->last_error);
		return js_clock_mono_us() < limits->table_us;
	}
	if ((x->fault != JS_FAULT_AGAIN && x->fault != JS_FAULT_KILLED && !may_have_been_skipped(db, x)) ||
	    js_clock_mono_us() >= limits->conflict_us)
		return 0;
	js_log(&db->log, JOBSTACK_LOG_DEBUG, "running the transaction again: %s (%u)", db->last_error, x->number);
	return 1;
}

/* Returns what the last try, which failed, means for the caller: a JS_DB_ status that the caller settles, or an error.
 */
static int final_status(const struct js_db *db, const struct js_exchange *x, struct jobstack_error *error)
{
	if (db->pinned && js_fault_is_away(x->number))
		return JS_DB_LOST;
	if (is_no_load(db, x)) {
		js_log(&db->log, JOBSTACK_LOG_INFO, "%s does not accept LOAD DATA LOCAL: %s (%u)", db->where,
		       db->last_error, x->number);
		return JS_DB_NO_LOAD;
	}
	if (x->transaction && x->fault == JS_FAULT_GUARD)
		return JS_DB_GUARD;
	if (x->transaction && x->fault == JS_FAULT_DUPLICATE)
		return JS_DB_DUPLICATE;
	if (x->fault == JS_FAULT_SKIPPED)
		return js_error_why(
			error, JOBSTACK_EBUG, JOBSTACK_WHY_DAMAGED,
			"the database %s does not have the rows that this change needs, so nothing was changed",
			db->where);
	return js_fault_fill(x->number, db->last_error, db->where, error);
}

/* Tries until it went through, or may not be tried again.  *LOST adds up over all tries: if any of them may have been
 * committed, a guard that stops a later one may be that one's doing. */
static int run_exchange(struct js_db *db, struct js_exchange *x, int *lost, struct jobstack_error *error)
{
	int64_t start = js_clock_mono_us(), conflict = db->patience_us > CONFLICT_US ? db->patience_us : CONFLICT_US;
	const struct limits limits = {start + db->patience_us, start + conflict, start + CONFLICT_US};
	int status;

	*lost = 0;
	for (unsigned tries = 0;; tries++) {
		if (js_db_is_stopped(db) && tries > 0)
			return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while the database %s did not answer",
					    db->where);
		status = prepare_try(db, x, &limits, error);
		if (status != 0)
			return status;
		js_exchange_send(db, x);
		if (x->fault == JS_FAULT_NONE) {
			db->loaded |= x->load != NULL;
			return 0;
		}
		*lost |= js_exchange_may_be_committed(x) || js_fault_is_away(x->number);
		if (!may_try_again(db, x, &limits))
			return final_status(db, x, error);
		js_connect_back_off(db, tries, js_fault_is_away(x->number) ? GONE_WAIT_US : CONFLICT_WAIT_US);
	}
}

/* Tries a query in the open view.  It is not repeated here: the transaction has ended with the error, or with the
 * connection, and with it the moment that the view shows.  js_db_view begins again. */
static int query_view(struct js_db *db, struct js_exchange *x, struct jobstack_error *error)
{
	if (js_db_is_stopped(db))
		return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while reading from the database %s", db->where);
	if (db->my == NULL)
		return JS_DB_LOST;
	JS_TRY(js_exchange_write(db, x, error));
	js_exchange_send(db, x);
	if (x->fault == JS_FAULT_NONE)
		return 0;
	if (x->fault == JS_FAULT_GONE || x->fault == JS_FAULT_AGAIN || x->fault == JS_FAULT_KILLED ||
	    is_table_replaced(db, x)) {
		js_session_end(db);
		return JS_DB_LOST;
	}
	js_exchange_roll_back(db, x);
	return js_fault_fill(x->number, db->last_error, db->where, error);
}

/* Runs it, in the view if one is open, and frees what it is made of, whatever the result. */
static int run_and_free(struct js_db *db, struct js_exchange *x, struct js_sql *packet, int *lost,
			struct jobstack_error *error)
{
	int unsaid, status;

	x->packet = packet;
	status = db->viewing ? query_view(db, x, error) : run_exchange(db, x, lost != NULL ? lost : &unsaid, error);
	js_request_free(&x->request);
	if (packet != NULL)
		js_sql_free(packet);
	return status;
}

int js_db_transaction(struct js_db *db, struct js_sql *packet, struct js_sql *tail, js_row_fn *fn, void *ctx, int *lost,
		      struct jobstack_error *error)
{
	struct js_exchange x = {.tail = tail, .transaction = 1, .fn = fn, .ctx = ctx};
	int status = run_and_free(db, &x, packet, lost, error);

	if (tail != NULL)
		js_sql_free(tail);
	return status;
}

int js_db_commit(struct js_db *db, struct js_sql *packet, int *lost, struct jobstack_error *error)
{
	return js_db_transaction(db, packet, NULL, NULL, NULL, lost, error);
}

int js_db_load(struct js_db *db, struct js_sql *packet, const char *data, size_t len, int *lost,
	       struct jobstack_error *error)
{
	struct js_exchange x = {.transaction = 1, .load = data, .load_len = len};

	return run_and_free(db, &x, packet, lost, error);
}

int js_db_query(struct js_db *db, struct js_sql *packet, js_row_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct js_exchange x = {.fn = fn, .ctx = ctx};

	return run_and_free(db, &x, packet, NULL, error);
}

int js_db_schema(struct js_db *db, const char *statement, size_t len, struct jobstack_error *error)
{
	struct js_exchange x = {.transaction = 0};

	js_buf_add(&x.request.text, statement, len);
	return run_and_free(db, &x, NULL, NULL, error);
}

/* Reads a view once, from its beginning to its end.  SET TRANSACTION holds for the next transaction only; the session
 * stays READ COMMITTED.  After a failure the connection is closed, since the transaction may still be open. */
static int view_once(struct js_db *db, js_view_fn *body, void *ctx, struct jobstack_error *error)
{
	struct js_sql begin = {0}, end = {0};
	int status;

	db->viewing = 1;
	js_sql_stmt(&begin, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	js_sql_stmt(&begin, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
	status = js_db_query(db, &begin, NULL, NULL, error);
	JS_THEN(status, body(ctx, error));
	if (status == 0) {
		js_sql_stmt(&end, "COMMIT"); /* if this is lost, what was read stays valid */
		(void)js_db_query(db, &end, NULL, NULL, NULL);
	} else
		js_session_end(db);
	db->viewing = 0;
	return status;
}

int js_db_view(struct js_db *db, js_view_fn *body, void *ctx, struct jobstack_error *error)
{
	int status;

	for (unsigned tries = 0;; tries++) {
		status = db->my != NULL ? 0 : js_connect(db, js_clock_mono_us() + db->patience_us, error);
		JS_THEN(status, view_once(db, body, ctx, error));
		if (status != JS_DB_LOST)
			return status;
		if (tries >= VIEWS_MAX)
			return js_fault_fill(db->last_errno, db->last_error, db->where, error);
		js_log(&db->log, JOBSTACK_LOG_INFO, "the read transaction on %s was lost, reading again: %s", db->where,
		       db->last_error);
		js_connect_back_off(db, tries, GONE_WAIT_US);
	}
}

/* The capability is said at the login, so the connection is made anew.  It lasts only as long as loads are sent: a
 * server that is compromised later finds no connection that would serve it a file. */
int js_db_loads_begin(struct js_db *db, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	uint64_t takes;

	js_sql_stmt(&sql, "SELECT @@global.local_infile");
	JS_TRY(js_db_query(db, &sql, js_row_number, &takes, error));
	if (takes != 1)
		return JOBSTACK_NOTHING;
	db->loads = 1;
	db->loaded = 0;
	js_session_end(db);
	return 0;
}

void js_db_loads_end(struct js_db *db)
{
	if (!db->loads)
		return;
	db->loads = 0;
	js_session_end(db);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packets, transactions and their retries.  Promises: only a whole transaction is ever repeated; after any error the
 * connection is rolled back or gone; an error text holds the server's words, never what we sent.
 */
#define _GNU_SOURCE
#include "db/db.h"

#include "base/clock.h"
#include "base/error.h"
#include "db/connect.h"
#include "db/errand.h"
#include "db/login.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFLICT_US (10 * JS_SECOND_US) /* lock conflicts are retried so long at least: three lock waits */
#define CONFLICT_WAIT_US                                                                                               \
	(JS_SECOND_US / 5) /* between two tries at most: the one who had the lock is through by then                   \
			    */
#define GONE_WAIT_US (2 * JS_SECOND_US)
/* Our number for an answer of another shape than was asked for; like the connectors' own, it ends the connection. */
#define MALFORMED 2999
#define VIEWS_MAX 20	   /* times that a long reading is begun anew */
#define VIEW_OUTDATED 1412 /* a table was changed behind the view */

/* What an error number of the server or connector means to a transaction. */
enum fault {
	FAULT_NONE,
	FAULT_GUARD,
	FAULT_DUPLICATE,
	FAULT_AGAIN,
	FAULT_KILLED,
	FAULT_SETTING,
	FAULT_MALFORMED,
	FAULT_GONE,
	FAULT_CROWD,
	FAULT_READ_ONLY,
	FAULT_PERMISSION,
	FAULT_UNTRUSTED,
	FAULT_SCHEMA,
	FAULT_FULL,
	FAULT_NO_LOAD,
	FAULT_OTHER
};

static enum fault classify(unsigned number)
{
	static const struct {
		unsigned number;
		enum fault fault;
	} known[] = {
		{0, FAULT_NONE},
		{1690, FAULT_GUARD}, /* out of range: a guard */
		{1062, FAULT_DUPLICATE},
		{1213, FAULT_AGAIN}, /* deadlock; Galera says it at COMMIT */
		{1205, FAULT_AGAIN}, /* lock wait timeout: only the statement is gone, hence the ROLLBACK */
		{3797, FAULT_AGAIN},
		{3798, FAULT_AGAIN}, /* Group Replication: what is before a read did not come in time */
		{1020, FAULT_AGAIN}, /* MariaDB's snapshot isolation */
		{1637, FAULT_AGAIN}, /* too many active transactions */
		{3058, FAULT_AGAIN}, /* a deadlock of user locks */
		{3100, FAULT_AGAIN},
		{3101, FAULT_AGAIN}, /* Group Replication, at COMMIT */
		{MALFORMED, FAULT_MALFORMED},
		{1317, FAULT_KILLED}, /* KILL QUERY, by a person or a watchdog */
		{1969, FAULT_KILLED},
		{3024, FAULT_KILLED},  /* max_statement_time; max_execution_time */
		{1028, FAULT_KILLED},  /* the same, while it sorted */
		{1665, FAULT_SETTING}, /* STATEMENT format with READ COMMITTED */
		/* max_allowed_packet */
		{JS_DB_PACKET, FAULT_SETTING},
		{1162, FAULT_SETTING},
		{1301, FAULT_SETTING},
		{2020, FAULT_SETTING},
		{JS_DB_READ_ONLY, FAULT_READ_ONLY},
		{1836, FAULT_READ_ONLY},
		{1792, FAULT_READ_ONLY}, /* a failover */
		{3032, FAULT_GONE},	 /* offline mode */
		{1047, FAULT_GONE},	 /* Galera: this node is not, or not yet, one of the cluster */
		{1152, FAULT_GONE},
		{1184, FAULT_GONE},
		{2012, FAULT_GONE},
		{2027, FAULT_GONE},
		{1180, FAULT_GONE},
		{2002, FAULT_GONE},
		{2003, FAULT_GONE},
		{2006, FAULT_GONE},
		{2013, FAULT_GONE},
		{2055, FAULT_GONE},
		{2005, FAULT_GONE},  /* the name server may come back too */
		{2026, FAULT_GONE},  /* TLS error: a server that goes down in the handshake says it */
		{1053, FAULT_GONE},  /* shutdown in progress */
		{1040, FAULT_CROWD}, /* too many connections */
		{1203, FAULT_CROWD},
		{1226, FAULT_CROWD}, /* the user's connections are used up */
		{1129, FAULT_GONE},  /* host blocked */
		{1927, FAULT_GONE},
		{4031, FAULT_GONE},
		{1158, FAULT_GONE},
		{1159, FAULT_GONE},
		{1160, FAULT_GONE},
		{1161, FAULT_GONE},
		{1156, FAULT_GONE}, /* out of step: what a server's last word looks like that gave up while we sent
				       (MySQL 9) */
		{1044, FAULT_PERMISSION},
		{1045, FAULT_PERMISSION},
		{1142, FAULT_PERMISSION},
		{1143, FAULT_PERMISSION},
		{1227, FAULT_PERMISSION},
		{1370, FAULT_PERMISSION},
		{1698, FAULT_PERMISSION},
		{1820, FAULT_PERMISSION},
		{3159, FAULT_PERMISSION},
		{4151, FAULT_PERMISSION},
		{1130, FAULT_PERMISSION},
		{2059, FAULT_PERMISSION}, /* a login plugin that this connector does not have */
		{JS_LOGIN_REFUSED, FAULT_UNTRUSTED},
		{1146, FAULT_SCHEMA},
		{1054, FAULT_SCHEMA},
		{1049, FAULT_SCHEMA},
		{1046, FAULT_SCHEMA},
		{1148, FAULT_NO_LOAD}, /* older servers' word for it */
		{3948, FAULT_NO_LOAD},
		{3950, FAULT_NO_LOAD},
		{4166, FAULT_NO_LOAD},		    /* switched off, or a client without */
		{JS_INFILE_REFUSED, FAULT_NO_LOAD}, /* we refuse */
		{1114, FAULT_FULL},
		{1021, FAULT_FULL},
		{3, FAULT_FULL},
		{1026, FAULT_FULL},
		{1030, FAULT_FULL},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].number == number)
			return known[i].fault;
	return FAULT_OTHER;
}

int js_db_failure(unsigned number, const char *text, const char *where, struct jobstack_error *error)
{
	static const struct {
		int code;
		const char *what;
	} word[] = {
		[FAULT_NONE] = {JOBSTACK_EBUG, "failed without a reason"},
		[FAULT_GUARD] = {JOBSTACK_EBUG, "stopped by a guard nobody asked about"},
		[FAULT_DUPLICATE] = {JOBSTACK_EBUG, "stopped by a key nobody asked about"},
		[FAULT_AGAIN] = {JOBSTACK_ENODB, "kept the transaction from going through, again and again"},
		[FAULT_KILLED] = {JOBSTACK_ENODB, "ended our statement again and again (KILL QUERY, or a time limit)"},
		[FAULT_SETTING] = {JOBSTACK_ENODB, "has a setting that keeps jobstack from working"},
		[FAULT_MALFORMED] = {JOBSTACK_ENODB, "gave an answer that is malformed"},
		[FAULT_GONE] = {JOBSTACK_ENODB, "can't be reached"},
		[FAULT_CROWD] = {JOBSTACK_ENODB, "has no connection to spare"},
		[FAULT_READ_ONLY] = {JOBSTACK_ENODB, "can't be written"},
		[FAULT_PERMISSION] = {JOBSTACK_EPERM, "does not permit it"},
		[FAULT_UNTRUSTED] = {JOBSTACK_EPERM, "does not get the password"},
		[FAULT_SCHEMA] = {JOBSTACK_ESCHEMA, "has no schema of ours, or another one"},
		[FAULT_FULL] = {JOBSTACK_ENODB, "has no room left on its disk, or can't write it"},
		[FAULT_NO_LOAD] = {JOBSTACK_EBUG, "was not given a load it asked for, or did not take it"},
		[FAULT_OTHER] = {JOBSTACK_EBUG, "answered with an error we did not expect"},
	};
	/* "running with the --... option" is said of others, too */
	int other = number == JS_DB_READ_ONLY && strstr(text, "read") == NULL;
	enum fault fault = other ? FAULT_SETTING : classify(number);
	int fresh = error != NULL && error->code == 0;

	js_error_set(error, word[fault].code, "the database %s %s: %s (%u)", where, word[fault].what, text, number);
	if (fresh)
		error->server_errno = number;
	return word[fault].code;
}

int js_db_is_gone(unsigned number)
{
	enum fault fault = classify(number);

	return fault == FAULT_GONE || fault == FAULT_CROWD || fault == FAULT_READ_ONLY;
}

int js_db_is_killed(unsigned number)
{
	return classify(number) == FAULT_KILLED;
}

int js_db_is_crowd(unsigned number)
{
	return classify(number) == FAULT_CROWD;
}

/* Hands the rows of the answer A (NULL: not known which) to FN, each with as many columns as were asked for: those who
 * take rows read them without a look at their number.  Returns the error number, 0 for none. */
static unsigned take_rows(struct js_db *db, const struct js_answer *a, js_row_fn *fn, void *ctx)
{
	MYSQL_RES *result = mysql_store_result(db->my);
	struct js_row row = {.stmt = a != NULL ? a->stmt : 0};
	MYSQL_ROW columns;

	if (result == NULL) /* 1690 in a guard shows here, while mysql_next_result just says "no more" */
		return mysql_errno(db->my);
	row.n = mysql_num_fields(result);
	if (a != NULL && a->kind == JS_ANSWER_STMT && row.n != a->columns) {
		(void)snprintf(db->last_error, sizeof(db->last_error), "%u columns instead of %u", row.n, a->columns);
		mysql_free_result(result);
		return MALFORMED;
	}
	while (fn != NULL && a != NULL && a->kind == JS_ANSWER_STMT && (columns = mysql_fetch_row(result)) != NULL) {
		row.col = (const char *const *)columns;
		row.len = mysql_fetch_lengths(result);
		fn(ctx, &row);
	}
	mysql_free_result(result);
	return 0;
}

/* Sends E and reads all its answers; FN has the rows of the packet's statements.  Returns the error number; the error's
 * text stays in db->my, or is in db->last_error if it is MALFORMED. */
static unsigned exchange(struct js_db *db, const struct js_errand *e, js_row_fn *fn, void *ctx, unsigned *answered)
{
	MYSQL *my = db->my;
	unsigned number;
	int more;

	*answered = 0;
	if (mysql_real_query(my, e->text.data, (unsigned long)e->text.len) != 0)
		return mysql_errno(my);
	do {
		const struct js_answer *a = *answered < e->n ? js_errand_answer(e, *answered) : NULL;

		number = take_rows(db, a, fn, ctx);
		if (number != 0)
			return number;
		(*answered)++;
		more = mysql_next_result(my);
		if (more > 0)
			return mysql_errno(my) != 0 ? mysql_errno(my) : 2013;
	} while (more == 0);
	return mysql_errno(my); /* "no more" is also said of a load that was refused */
}

/* Leaves the connection without a transaction, or without a connection. */
static void roll_back(struct js_db *db, const struct js_errand *after)
{
	struct js_errand e = {0};
	unsigned answered;

	while (db->my != NULL && mysql_more_results(db->my)) {
		MYSQL_RES *result;

		if (mysql_next_result(db->my) != 0)
			break;
		result = mysql_store_result(db->my);
		if (result != NULL)
			mysql_free_result(result);
	}
	js_buf_str(&e.text, "ROLLBACK");
	if (after->end.len > 0) {
		js_buf_char(&e.text, ';');
		js_buf_add(&e.text, after->end.data, after->end.len - 1);
	}
	if (db->my != NULL && (e.text.failed || after->end.failed || exchange(db, &e, NULL, NULL, &answered) != 0))
		js_db_rest(db);
	js_errand_free(&e);
}

/* Waits before try number TRIES, longer each time and never twice the same, so that many clients spread out. */
static void back_off(struct js_db *db, unsigned tries, int64_t longest_us)
{
	int64_t us = 1000 << (tries < 14 ? tries : 14);

	if (us > longest_us)
		us = longest_us;
	js_clock_nap(us / 2 + (int64_t)(js_db_jitter(db) % (uint64_t)(us / 2 + 1)), db->stop);
}

/* What is to be sent: PACKET, and whether as a transaction.  PACKET NULL: the text stands in the errand already. */
struct task {
	const struct js_sql *packet, *tail;
	int transaction;
	const char *load; /* what the packet's LOAD gets; NULL: it has none */
	size_t load_len;
	struct js_errand e;
};

/* It is written once for each kind of server, of which one may follow another. */
static void write_errand(const struct js_db *db, struct task *t)
{
	int blocks = db->blocks && t->load == NULL; /* a block may not hold a LOAD */
	int same = !t->transaction || (t->e.blocks == blocks && t->e.cluster == db->cluster);

	if (t->packet == NULL || (t->e.text.len > 0 && same))
		return;
	if (t->transaction)
		js_errand_transaction(&t->e, t->packet, t->tail, blocks, db->cluster ? NULL : db->name);
	else
		js_errand_plain(&t->e, t->packet);
}

/* Sends it once.  An answer that ends early, with no error in it, is no answer: the COMMIT may not have been reached.
 * After an error of the connector's own it may not know where in the answers it stands. */
static unsigned send_once(struct js_db *db, const struct task *t, js_row_fn *fn, void *ctx, unsigned *answered)
{
	unsigned number;

	js_infile_offer(&db->infile, t->load, t->load_len);
	number = exchange(db, &t->e, fn, ctx, answered);
	js_infile_offer(&db->infile, NULL, 0);
	if (number != MALFORMED || mysql_errno(db->my) != 0)
		(void)strncpy(db->last_error, mysql_error(db->my), sizeof(db->last_error) - 1);
	if (number == 0 && t->e.n != 0 && *answered != t->e.n) {
		number = 2013;
		(void)snprintf(db->last_error, sizeof(db->last_error), "it gave %u of %u answers", *answered, t->e.n);
	}
	db->last_errno = number;
	if (number >= 2000 && number < 3000)
		js_db_rest(db);
	return number;
}

/* A 1690 is a guard's no only where a guard stands: known by its place or, in a block, by its words. */
static enum fault fault_of(const struct js_db *db, const struct js_errand *e, unsigned number, unsigned answered)
{
	enum fault fault = classify(number);
	const struct js_answer *a = answered < e->n ? js_errand_answer(e, answered) : NULL;

	if (fault != FAULT_GUARD)
		return fault;
	if (e->blocks && a != NULL && !(a->kind == JS_ANSWER_STMT && a->guard))
		return strstr(db->last_error, "row_count()") == NULL ? FAULT_OTHER : fault;
	return a != NULL && a->kind == JS_ANSWER_STMT && a->guard ? fault : FAULT_OTHER;
}

/* May a transaction that ended with this error have been committed all the same?  By an error behind the COMMIT, or one
 * of the connector's own. */
static int may_be_in(const struct js_errand *e, unsigned number, enum fault fault, unsigned answered)
{
	if (number >= 2000 && number < 3000)
		return 1;
	if (answered < e->commit_from || e->commit_from == e->n)
		return 0;
	if (fault == FAULT_KILLED) /* the kill may have come just behind what the COMMIT did */
		return 1;
	if (e->blocks &&
	    answered <=
		    e->commit_to) /* which of the block's it was is not told; behind the COMMIT are only plain reads */
		return fault != FAULT_GUARD && fault != FAULT_DUPLICATE && fault != FAULT_AGAIN;
	return answered > e->commit_to;
}

/* Is it the LOAD in it that does not go through?  Until one did, whatever goes wrong may be because of it. */
static int is_no_load(const struct js_db *db, const struct task *t, enum fault fault)
{
	if (t->load == NULL)
		return 0;
	return fault == FAULT_NO_LOAD ||
	       (!db->loaded && fault != FAULT_AGAIN && fault != FAULT_KILLED && fault != FAULT_GUARD);
}

/* The server would answer it by ending the connection, which says nothing. */
static int too_large(struct js_db *db, size_t len, struct jobstack_error *error)
{
	char text[120];

	db->last_errno = JS_DB_PACKET;
	(void)snprintf(text, sizeof(text), "max_allowed_packet=%zu, but the statement to send has %zu bytes",
		       db->packet_most, len + 1);
	return js_db_failure(JS_DB_PACKET, text, db->where, error);
}

/* One try after another until it went through. */
static int run(struct js_db *db, struct task *t, js_row_fn *fn, void *ctx, int *lost, struct jobstack_error *error)
{
	int64_t start = js_clock_mono_us(), until = start + db->patience_us;
	int64_t conflict_until = start + (db->patience_us > CONFLICT_US ? db->patience_us : CONFLICT_US);
	unsigned number = 0, answered;
	enum fault fault;

	if (lost != NULL)
		*lost = 0;
	for (unsigned tries = 0;; tries++) {
		if (db->stop != NULL && *db->stop != 0 && tries > 0)
			return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while the database %s did not answer",
					    db->where);
		if (db->my == NULL && db->pinned)
			return JS_DB_LOST;
		if (db->my == NULL) {
			int status = js_db_connect(db, until, error);

			if (status != 0)
				return status;
		}
		write_errand(db, t);
		if (t->e.text.failed)
			return js_error_memory(error);
		if (t->e.text.len >= db->packet_most)
			return too_large(db, t->e.text.len, error);
		if (fn != NULL)
			fn(ctx, NULL);
		number = send_once(db, t, fn, ctx, &answered);
		fault = fault_of(db, &t->e, number, answered);
		if (fault == FAULT_NONE) {
			db->loaded |= t->load != NULL;
			return 0;
		}
		if (lost != NULL && may_be_in(&t->e, number, fault, answered))
			*lost = 1;
		if (js_db_is_gone(number)) {
			if (lost != NULL)
				*lost = 1;
			js_log(&db->log, JOBSTACK_LOG_INFO, "the connection to %s was lost: %s", db->where,
			       db->last_error);
			js_db_rest(db);
			if (db->pinned)
				return JS_DB_LOST;
			if (js_clock_mono_us() > until || is_no_load(db, t, fault))
				break;
		} else {
			roll_back(db, &t->e);
			if ((fault != FAULT_AGAIN && fault != FAULT_KILLED) || js_clock_mono_us() >= conflict_until)
				break;
			js_log(&db->log, JOBSTACK_LOG_DEBUG, "transaction again: %s (%u)", db->last_error, number);
		}
		back_off(db, tries, js_db_is_gone(number) ? GONE_WAIT_US : CONFLICT_WAIT_US);
	}
	if (is_no_load(db, t, fault)) {
		js_log(&db->log, JOBSTACK_LOG_INFO, "%s takes no LOAD DATA LOCAL: %s (%u)", db->where, db->last_error,
		       number);
		return JS_DB_NO_LOAD;
	}
	if (fault == FAULT_GUARD)
		return JS_DB_GUARD;
	if (fault == FAULT_DUPLICATE)
		return JS_DB_DUPLICATE;
	return js_db_failure(number, db->last_error, db->where, error);
}

int js_db_transaction(struct js_db *db, const struct js_sql *packet, const struct js_sql *tail, js_row_fn *fn,
		      void *ctx, int *lost, struct jobstack_error *error)
{
	struct task t = {.packet = packet, .tail = tail, .transaction = 1};
	int status = run(db, &t, fn, ctx, lost, error);

	js_errand_free(&t.e);
	return status;
}

int js_db_load(struct js_db *db, const struct js_sql *packet, const char *data, size_t len, int *lost,
	       struct jobstack_error *error)
{
	struct task t = {.packet = packet, .transaction = 1, .load = data, .load_len = len};
	int status = run(db, &t, NULL, NULL, lost, error);

	js_errand_free(&t.e);
	return status;
}

int js_db_query(struct js_db *db, const struct js_sql *packet, js_row_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct task t = {.packet = packet};
	int status = run(db, &t, fn, ctx, NULL, error);

	js_errand_free(&t.e);
	return status > 0 && status != JS_DB_LOST ? js_db_failure(db->last_errno, db->last_error, db->where, error)
						  : status;
}

void js_db_pin(struct js_db *db, int on)
{
	db->pinned = on;
}

int js_db_has_user_locks(const struct js_db *db)
{
	return !db->cluster;
}

int js_db_nap(struct js_db *db, int64_t us, struct jobstack_error *error)
{
	js_clock_nap(us, db->stop);
	return db->stop != NULL && *db->stop != 0 ? js_error_set(error, JOBSTACK_ESTOPPED, "stopped") : 0;
}

int js_db_look(struct js_db *db, const struct js_sql *packet, js_row_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct task t = {.packet = packet};
	unsigned answered;
	enum fault fault;
	int status;

	if (db->stop != NULL && *db->stop != 0)
		return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while reading from the database %s", db->where);
	if (db->my == NULL)
		return JS_DB_LOST;
	write_errand(db, &t);
	if (t.e.text.failed) {
		js_errand_free(&t.e);
		return js_error_memory(error);
	}
	if (fn != NULL)
		fn(ctx, NULL);
	fault = classify(send_once(db, &t, fn, ctx, &answered));
	status = fault == FAULT_NONE ? 0 : JS_DB_LOST;
	if (fault == FAULT_GONE || fault == FAULT_AGAIN || fault == FAULT_KILLED || db->last_errno == VIEW_OUTDATED)
		js_db_rest(db);
	else if (fault != FAULT_NONE) {
		roll_back(db, &t.e);
		status = js_db_failure(db->last_errno, db->last_error, db->where, error);
	}
	js_errand_free(&t.e);
	return status;
}

/* One try at a view, from its beginning to its end. */
static int view_once(struct js_db *db, js_db_view_fn *body, void *ctx, struct jobstack_error *error)
{
	struct js_sql begin = {0}, end = {0};
	int status;

	js_sql_stmt(&begin, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	js_sql_stmt(&begin, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
	js_sql_stmt(&end, "COMMIT");
	status = js_db_look(db, &begin, NULL, NULL, error);
	if (status == 0)
		status = body(ctx, error);
	if (status == 0) /* what was read was read: it takes nothing from that if the end gets lost */
		(void)js_db_look(db, &end, NULL, NULL, NULL);
	else
		js_db_rest(db);
	js_sql_free(&begin);
	js_sql_free(&end);
	return status;
}

int js_db_view(struct js_db *db, js_db_view_fn *body, void *ctx, struct jobstack_error *error)
{
	int status;

	for (unsigned tries = 0;; tries++) {
		status = db->my != NULL ? 0 : js_db_connect(db, js_clock_mono_us() + db->patience_us, error);
		if (status != 0)
			return status;
		status = view_once(db, body, ctx, error);
		if (status != JS_DB_LOST)
			return status;
		if (tries >= VIEWS_MAX)
			return js_db_failure(db->last_errno, db->last_error, db->where, error);
		js_log(&db->log, JOBSTACK_LOG_INFO, "the view of %s was lost: reading anew: %s", db->where,
		       db->last_error);
		back_off(db, tries, 2 * JS_SECOND_US);
	}
}

int js_db_schema(struct js_db *db, const char *statement, size_t len, struct jobstack_error *error)
{
	struct task t = {.packet = NULL};
	int status;

	js_buf_add(&t.e.text, statement, len);
	status = run(db, &t, NULL, NULL, NULL, error);
	js_errand_free(&t.e);
	return status > 0 && status != JS_DB_LOST ? js_db_failure(db->last_errno, db->last_error, db->where, error)
						  : status;
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

uint64_t js_row_u64(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? 0 : strtoull(row->col[col], NULL, 10);
}

int64_t js_row_i64(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? 0 : strtoll(row->col[col], NULL, 10);
}

int64_t js_row_opt(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? -1 : strtoll(row->col[col], NULL, 10);
}

int64_t js_row_time(const struct js_row *row, unsigned col)
{
	return js_clock_parse(row->col[col]);
}

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

#include <mysql.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 200
#define COLUMNS_MAX 64

/* What an error number of the server or connector means to a transaction. */
enum fault { FAULT_NONE, FAULT_GUARD, FAULT_DUPLICATE, FAULT_AGAIN, FAULT_GONE, FAULT_PERMISSION, FAULT_SCHEMA, FAULT_FULL,
	     FAULT_OTHER };

static enum fault classify(unsigned number)
{
	static const struct {
		unsigned number;
		enum fault fault;
	} known[] = {
		{0, FAULT_NONE},
		{1690, FAULT_GUARD},	  /* out of range: a guard */
		{1062, FAULT_DUPLICATE},
		{1213, FAULT_AGAIN},	  /* deadlock; Galera says it at COMMIT */
		{1205, FAULT_AGAIN},	  /* lock wait timeout: only the statement is gone, hence the ROLLBACK */
		{1020, FAULT_AGAIN},	  /* MariaDB's snapshot isolation */
		{1047, FAULT_AGAIN},	  /* Galera: not ready yet */
		{1637, FAULT_AGAIN},	  /* too many active transactions */
		{3100, FAULT_AGAIN},	  {3101, FAULT_AGAIN}, /* Group Replication, at COMMIT */
		{1290, FAULT_GONE},	  {1836, FAULT_GONE}, {1792, FAULT_GONE}, {3032, FAULT_GONE}, /* read-only: a failover */
		{1152, FAULT_GONE},	  {1184, FAULT_GONE}, {2012, FAULT_GONE}, {2027, FAULT_GONE}, {1180, FAULT_GONE},
		{2002, FAULT_GONE},	  {2003, FAULT_GONE}, {2006, FAULT_GONE}, {2013, FAULT_GONE}, {2055, FAULT_GONE},
		{2005, FAULT_GONE},	  /* the name server may come back too */
		{2026, FAULT_GONE},	  /* TLS error: a server that goes down in the handshake says it */
		{1053, FAULT_GONE},	  /* shutdown in progress */
		{1040, FAULT_GONE},	  /* too many connections */
		{1129, FAULT_GONE},	  /* host blocked */
		{1203, FAULT_GONE},	  {1226, FAULT_GONE}, /* the user's connections are used up */
		{1927, FAULT_GONE},	  {1317, FAULT_GONE}, {4031, FAULT_GONE}, {1158, FAULT_GONE}, {1159, FAULT_GONE},
		{1160, FAULT_GONE},	  {1161, FAULT_GONE},
		{1044, FAULT_PERMISSION}, {1045, FAULT_PERMISSION}, {1142, FAULT_PERMISSION}, {1143, FAULT_PERMISSION},
		{1227, FAULT_PERMISSION}, {1370, FAULT_PERMISSION}, {1698, FAULT_PERMISSION}, {1820, FAULT_PERMISSION},
		{3159, FAULT_PERMISSION}, {4151, FAULT_PERMISSION}, {1130, FAULT_PERMISSION},
		{1146, FAULT_SCHEMA},	  {1054, FAULT_SCHEMA}, {1049, FAULT_SCHEMA}, {1046, FAULT_SCHEMA},
		{1114, FAULT_FULL},	  {1021, FAULT_FULL}, {3, FAULT_FULL}, {1026, FAULT_FULL}, {1030, FAULT_FULL},
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
		[FAULT_GONE] = {JOBSTACK_ENODB, "can't be reached"},
		[FAULT_PERMISSION] = {JOBSTACK_EPERM, "does not permit it"},
		[FAULT_SCHEMA] = {JOBSTACK_ESCHEMA, "has no schema of ours, or another one"},
		[FAULT_FULL] = {JOBSTACK_ENODB, "has no room left on its disk, or can't write it"},
		[FAULT_OTHER] = {JOBSTACK_EBUG, "answered with an error we did not expect"},
	};
	enum fault fault = classify(number);
	int fresh = error != NULL && error->code == 0;

	js_error_set(error, word[fault].code, "the database %s %s: %s (%u)", where, word[fault].what, text, number);
	if (fresh)
		error->server_errno = number;
	return word[fault].code;
}

int js_db_is_gone(unsigned number)
{
	return classify(number) == FAULT_GONE;
}

/* Hands the rows of one result to FN.  Returns the error number, 0 for none. */
static unsigned take_rows(MYSQL *my, unsigned stmt, js_row_fn *fn, void *ctx)
{
	MYSQL_RES *result = mysql_store_result(my);
	struct js_row row = {.stmt = stmt};
	MYSQL_ROW columns;

	if (result == NULL) /* 1690 in a guard shows here, while mysql_next_result just says "no more" */
		return mysql_errno(my);
	row.n = mysql_num_fields(result);
	while ((columns = mysql_fetch_row(result)) != NULL) {
		const char *col[COLUMNS_MAX];

		for (unsigned i = 0; i < row.n && i < COLUMNS_MAX; i++)
			col[i] = columns[i];
		row.col = col;
		row.len = mysql_fetch_lengths(result);
		if (fn != NULL && row.n <= COLUMNS_MAX)
			fn(ctx, &row);
	}
	mysql_free_result(result);
	return 0;
}

/* Sends TEXT and reads all its answers.  Statement FIRST of the packet has the number 0 for FN.  Returns the error number;
 * the error's text stays in MY. */
static unsigned exchange(MYSQL *my, const struct js_buf *text, unsigned skip, js_row_fn *fn, void *ctx, unsigned *answered)
{
	unsigned stmt = 0, number;
	int more;

	*answered = 0;
	if (mysql_real_query(my, text->data, (unsigned long)text->len) != 0)
		return mysql_errno(my);
	do {
		number = take_rows(my, stmt - skip, stmt >= skip ? fn : NULL, ctx);
		if (number != 0)
			return number;
		*answered = ++stmt;
		more = mysql_next_result(my);
		if (more > 0)
			return mysql_errno(my) != 0 ? mysql_errno(my) : 2013;
	} while (more == 0);
	return 0;
}

/* Leaves the connection without a transaction, or without a connection. */
static void roll_back(struct js_db *db)
{
	struct js_buf text = {0};
	unsigned answered;

	while (db->my != NULL && mysql_more_results(db->my)) {
		MYSQL_RES *result;

		if (mysql_next_result(db->my) != 0)
			break;
		result = mysql_store_result(db->my);
		if (result != NULL)
			mysql_free_result(result);
	}
	js_buf_str(&text, "ROLLBACK");
	if (db->my != NULL && (text.failed || exchange(db->my, &text, 0, NULL, NULL, &answered) != 0))
		js_db_rest(db);
	js_buf_free(&text);
}

/* Waits before try number TRIES, longer each time and never twice the same, so that many clients spread out. */
static void back_off(struct js_db *db, unsigned tries, int64_t longest_us)
{
	int64_t us = 1000 << (tries < 14 ? tries : 14);

	if (us > longest_us)
		us = longest_us;
	js_clock_nap(us / 2 + (int64_t)(js_db_jitter(db) % (uint64_t)(us / 2 + 1)), db->stop);
}

/* One try after another until the text went through.  SKIP: statements at its start that the caller did not write. */
static int run(struct js_db *db, const struct js_buf *text, unsigned skip, unsigned commit, js_row_fn *fn, void *ctx,
	       int *lost, struct jobstack_error *error)
{
	int64_t until = js_clock_mono_us() + db->patience_us;
	unsigned number = 0, answered;
	enum fault fault;

	if (lost != NULL)
		*lost = 0;
	if (text->failed)
		return js_error_memory(error);
	for (unsigned tries = 0;; tries++) {
		if (db->stop != NULL && *db->stop != 0 && tries > 0)
			return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while the database %s did not answer",
					    db->where);
		if (db->my == NULL) {
			int status = js_db_connect(db, until, error);

			if (status != 0)
				return status;
		}
		if (fn != NULL)
			fn(ctx, NULL);
		number = exchange(db->my, text, skip, fn, ctx, &answered);
		db->last_errno = number;
		fault = classify(number);
		if (fault == FAULT_NONE)
			return 0;
		(void)strncpy(db->last_error, mysql_error(db->my), sizeof(db->last_error) - 1);
		/* an error behind the COMMIT, or one of the connector's own, does not undo a commit */
		if (lost != NULL && ((commit > 0 && answered >= commit) || (number >= 2000 && number < 3000)))
			*lost = 1;
		if (fault == FAULT_GONE) {
			if (lost != NULL)
				*lost = 1;
			js_log(&db->log, JOBSTACK_LOG_INFO, "the connection to %s was lost: %s", db->where,
			       db->last_error);
			js_db_rest(db);
			if (js_clock_mono_us() > until)
				break;
		} else {
			roll_back(db);
			if (fault != FAULT_AGAIN || tries >= TRIES_MAX)
				break;
			js_log(&db->log, JOBSTACK_LOG_DEBUG, "transaction again: %s (%u)", db->last_error, number);
		}
		back_off(db, tries, 2 * JS_SECOND_US);
	}
	if (fault == FAULT_GUARD)
		return JS_DB_GUARD;
	if (fault == FAULT_DUPLICATE)
		return JS_DB_DUPLICATE;
	return js_db_failure(number, db->last_error, db->where, error);
}

int js_db_transaction(struct js_db *db, const struct js_sql *packet, const struct js_sql *tail, js_row_fn *fn, void *ctx,
		      int *lost, struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status;

	js_buf_str(&text, "START TRANSACTION;");
	js_buf_add(&text, packet->text.data, packet->text.len);
	js_buf_str(&text, "COMMIT;");
	if (tail != NULL)
		js_buf_add(&text, tail->text.data, tail->text.len);
	text.failed |= packet->text.failed | (tail != NULL && tail->text.failed);
	if (text.len > 0 && text.data[text.len - 1] == ';') /* an empty last statement would be an error */
		text.len--;
	status = run(db, &text, 1, packet->statements + 2, fn, ctx, lost, error);
	js_buf_free(&text);
	return status;
}

int js_db_query(struct js_db *db, const struct js_sql *packet, js_row_fn *fn, void *ctx, struct jobstack_error *error)
{
	struct js_buf text = packet->text;
	int status;

	if (text.len > 0 && text.data[text.len - 1] == ';')
		text.len--;
	status = run(db, &text, 0, 0, fn, ctx, NULL, error);
	return status > 0 ? js_db_failure(db->last_errno, db->last_error, db->where, error) : status;
}

int js_db_schema(struct js_db *db, const char *statement, size_t len, struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status;

	js_buf_add(&text, statement, len);
	status = run(db, &text, 0, 0, NULL, NULL, NULL, error);
	js_buf_free(&text);
	return status;
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

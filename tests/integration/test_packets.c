/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packets against a real server: a guard's no is an answer, the same error from anything else is a fault; an answer that ends
 * early is no answer, and may be behind a commit.
 */
#define _GNU_SOURCE
#include "integration/says.h"

#include "base/clock.h"
#include "db/db.h"

static struct js_db *db;

static void count_rows(void *ctx, const struct js_row *row)
{
	uint64_t *n = ctx;

	*n = row == NULL ? 0 : *n + 1;
}

/* One statement as a packet, behind BEFORE as a guarded one where that is asked for. */
static struct js_sql packet(const char *before, uint64_t guarded, const char *statement)
{
	struct js_sql sql = {0};

	if (before != NULL) {
		(void)js_sql_stmt(&sql, before);
		js_sql_guard(&sql, guarded);
	}
	(void)js_sql_stmt(&sql, statement);
	return sql;
}

static int transact(struct js_sql sql, int *lost, uint64_t *rows)
{
	int status = js_db_transaction(db, &sql, NULL, count_rows, rows, lost, &e);

	js_sql_free(&sql);
	return status;
}

static int ask(struct js_sql sql)
{
	uint64_t rows = 0;
	int status = js_db_query(db, &sql, count_rows, &rows, &e);

	js_sql_free(&sql);
	return status;
}

static uint64_t marks(void)
{
	struct js_sql sql = packet(NULL, 0, "SELECT n FROM mark");
	uint64_t rows = 0;

	OK(js_db_query(db, &sql, count_rows, &rows, &e));
	js_sql_free(&sql);
	return rows;
}

static void guards(void **state)
{
	uint64_t rows = 0, before = marks();
	int lost = -1;

	(void)state;
	OK(transact(packet("INSERT INTO mark VALUES(1)", 1, "SELECT 1"), &lost, &rows));
	assert_int_equal(lost, 0);
	assert_int_equal(rows, 1); /* a guard's yes is no row */
	assert_int_equal(marks(), before + 1);
	GIVES(JS_DB_GUARD, transact(packet("INSERT INTO mark VALUES(2)", 2, "SELECT 1"), &lost, &rows));
	assert_int_equal(lost, 0);
	assert_int_equal(marks(), before + 1);
}

/* The error is the guards' own, and no guard has given it. */
static void nobody_asked(void **state)
{
	static const char zero_less_one[] = "SELECT CAST(0 AS UNSIGNED)-1";
	uint64_t rows = 0, before = marks();
	int lost = -1;

	(void)state;
	GIVES(JOBSTACK_EBUG, transact(packet("INSERT INTO mark VALUES(3)", 1, zero_less_one), &lost, &rows));
	assert_non_null(strstr(e.text, "nobody asked about")); /* lost may be said: a block does not tell where it ended */
	GIVES(JOBSTACK_EBUG, transact(packet(NULL, 0, zero_less_one), &lost, &rows));
	GIVES(JOBSTACK_EBUG, ask(packet(NULL, 0, zero_less_one)));
	assert_int_equal(marks(), before);
}

/* An answer of fewer statements than were sent: it may have been committed, so it was lost; and it is tried again until patience
 * ends. */
static void short_answers(void **state)
{
	struct js_sql sql = packet("INSERT INTO mark VALUES(4)", 1, "SELECT 1");
	uint64_t rows = 0, before = marks();
	int lost = -1;

	(void)state;
	sql.statements++;
	sql.rows[sql.rows_n++] = 3;
	GIVES(JOBSTACK_ENODB, transact(sql, &lost, &rows));
	assert_int_equal(lost, 1);
	assert_int_equal(js_db_errno(db), 2013);
	assert_non_null(strstr(e.text, "it gave "));
	assert_true(marks() > before + 1);
	sql = packet(NULL, 0, "SELECT 1");
	sql.statements++;
	GIVES(JOBSTACK_ENODB, ask(sql));
	assert_non_null(strstr(e.text, "it gave 1 of 2 answers"));
}

static int short_view(void *ctx, struct jobstack_error *error)
{
	struct js_sql sql = packet(NULL, 0, "SELECT 1");
	unsigned *tries = ctx;
	uint64_t rows = 0;
	int status;

	sql.statements += (*tries)++ == 0;
	status = js_db_look(db, &sql, count_rows, &rows, error);
	js_sql_free(&sql);
	return status;
}

/* A view whose answer ended early is read anew. */
static void views(void **state)
{
	unsigned tries = 0;

	(void)state;
	OK(js_db_view(db, short_view, &tries, &e));
	assert_int_equal(tries, 2);
}

static int begin(void **state)
{
	struct jobstack_options options = test_options();

	(void)state;
	options.patience_us = JS_SECOND_US;
	OK(js_db_open(&db, &options, &e));
	OK(ask(packet(NULL, 0, "CREATE TABLE mark(n INT) ENGINE=InnoDB")));
	return 0;
}

static int end(void **state)
{
	(void)state;
	js_db_free(db);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(guards), cmocka_unit_test(nobody_asked), cmocka_unit_test(short_answers),
					   cmocka_unit_test(views)};

	return cmocka_run_group_tests(tests, begin, end);
}

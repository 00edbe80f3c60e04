/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packets against a real server: a guard's no is an answer, the same error from anything else is a fault; an answer
 * that ends early is no answer, and may be behind a commit; a user lock ends with its transaction.
 */
#define _GNU_SOURCE
#include "integration/says.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "db/db.h"
#include "db/state.h"

#include <pthread.h>
#include <stdatomic.h>

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
	assert_non_null(
		strstr(e.text, "should not have failed")); /* lost may be said: a block does not tell where it ended */
	GIVES(JOBSTACK_EBUG, transact(packet(NULL, 0, zero_less_one), &lost, &rows));
	GIVES(JOBSTACK_EBUG, ask(packet(NULL, 0, zero_less_one)));
	assert_int_equal(marks(), before);
}

static void take_number(void *ctx, const struct js_row *row)
{
	*(int *)ctx = row == NULL ? -1 : (int)js_row_i64(row, 0);
}

static void take_status(void *ctx, const struct js_row *row)
{
	if (row != NULL)
		*(int64_t *)ctx = js_row_i64(row, 1);
}

static void take_hash(void *ctx, const struct js_row *row)
{
	uint32_t *h = ctx;

	*h = row == NULL ? 0 : (uint32_t)js_num_hash(JS_NUM_HASH, row->col[0], strlen(row->col[0]));
}

/* Adds a statement that tells whether somebody has user lock 3 of 7. */
static void ask_lock(struct js_sql *sql)
{
	static uint32_t hash;
	struct js_sql name = {0};
	char text[64];

	if (hash == 0) {
		(void)js_sql_stmt(&name, "SELECT DATABASE()");
		OK(js_db_query(db, &name, take_hash, &hash, &e));
		js_sql_free(&name);
	}
	(void)snprintf(text, sizeof(text), "jobstack.%x.7.3", (unsigned)hash);
	(void)js_sql_stmt(sql, "SELECT IS_USED_LOCK(%s) IS NOT NULL", text);
}

static void nobody_has_it(void)
{
	struct js_sql sql = {0};
	int taken;

	ask_lock(&sql);
	OK(js_db_query(db, &sql, take_number, &taken, &e));
	assert_int_equal(taken, 0);
	js_sql_free(&sql);
}

/* A user lock lasts as long as the transaction, however that ends. */
static void user_locks(void **state)
{
	static char name[4000];
	struct js_sql sql = {0};
	uint64_t rows = 0;
	int taken = -1, lost;

	(void)state;
	ask_lock(&sql);
	js_sql_user_lock(&sql, 7, 3, 5);
	OK(js_db_transaction(db, &sql, NULL, take_number, &taken, NULL, &e));
	assert_int_equal(taken, 1);
	js_sql_free(&sql);
	nobody_has_it();
	sql = packet("INSERT INTO mark VALUES(5)", 2, "SELECT 1"); /* a guard's no */
	js_sql_user_lock(&sql, 7, 3, 5);
	GIVES(JS_DB_GUARD, transact(sql, &lost, &rows));
	nobody_has_it();
	sql = packet("INSERT INTO mark VALUES(5)", 1, "INSERT INTO mark_key VALUES(1)"); /* a key's no */
	js_sql_user_lock(&sql, 7, 3, 5);
	GIVES(JS_DB_DUPLICATE, transact(sql, &lost, &rows));
	nobody_has_it();
	sql = (struct js_sql){0};
	memset(name, 'n', sizeof(name) - 1); /* between two blocks, where there are blocks */
	(void)js_sql_stmt(&sql, "INSERT INTO mark_key SELECT 1 FROM DUAL WHERE %s IS NOT NULL", name);
	js_sql_user_lock(&sql, 7, 3, 5);
	GIVES(JS_DB_DUPLICATE, js_db_transaction(db, &sql, NULL, NULL, NULL, &lost, &e));
	js_sql_free(&sql);
	nobody_has_it();
}

/* One answer more is expected than there will be. */
static void promise_more(struct js_sql *sql)
{
	struct js_sql_mark mark = {sql->text.len, JS_SQL_ROWS, 0};

	js_buf_add(&sql->marks, &mark, sizeof(mark));
	sql->statements++;
}

/* An answer of fewer statements than were sent: it may have been committed, so it was lost; and it is tried again until
 * patience ends. */
static void short_answers(void **state)
{
	struct js_sql sql = packet("INSERT INTO mark VALUES(4)", 1, "SELECT 1");
	uint64_t rows = 0, before = marks();
	int lost = -1;

	(void)state;
	promise_more(&sql);
	GIVES(JOBSTACK_ENODB, transact(sql, &lost, &rows));
	assert_int_equal(lost, 1);
	assert_int_equal(js_db_errno(db), 2013);
	assert_non_null(strstr(e.text, "it sent "));
	assert_true(marks() > before + 1);
	sql = packet(NULL, 0, "SELECT 1");
	promise_more(&sql);
	GIVES(JOBSTACK_ENODB, ask(sql));
	assert_non_null(strstr(e.text, "it sent 3 of 4 answers"));
}

static int short_view(void *ctx, struct jobstack_error *error)
{
	struct js_sql sql = packet(NULL, 0, "SELECT 1");
	unsigned *tries = ctx;
	uint64_t rows = 0;
	int status;

	if ((*tries)++ == 0)
		promise_more(&sql);
	status = js_db_query(db, &sql, count_rows, &rows, error);
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

/* How many blocks this connection has executed by their name. */
static int64_t executed(void)
{
	struct js_sql sql = packet(NULL, 0, "SHOW SESSION STATUS LIKE 'Com_execute_sql'");
	int64_t n = -1;

	OK(js_db_query(db, &sql, take_status, &n, &e));
	js_sql_free(&sql);
	return n;
}

/* Inserts a row with TEXT and, unless it is negative, N; what is read back is compared. */
static void keep(const char *text, int64_t n)
{
	struct js_sql sql = {0}, tail = {0};
	uint64_t rows = 0;
	int lost;

	(void)js_sql_stmt(&sql, "INSERT INTO kept(text,n,at) VALUES(%s,%n,%t)", text, n, INT64_C(1753000000123456));
	js_sql_guard(&sql, 1);
	(void)js_sql_stmt(
		&tail,
		"SELECT 1 FROM (SELECT * FROM kept ORDER BY id DESC LIMIT %u) k WHERE text<=>%s AND n<=>%n AND "
		"at=%t",
		UINT64_C(1), text, n, INT64_C(1753000000123456));
	OK(js_db_transaction(db, &sql, &tail, count_rows, &rows, &lost, &e));
	assert_int_equal(rows, 1);
}

/* A large statement is sent between two blocks, and the second begins with its guard.  It is repeated, so that both are
 * executed by their names: the guard counts the rows of the statement before the EXECUTE. */
static void guard_large(void)
{
	static char large[1500];
	int64_t first = executed();
	int lost;

	memset(large, 'l', sizeof(large) - 1);
	for (uint64_t i = 0; i < 8; i++) {
		struct js_sql sql = {0};

		(void)js_sql_stmt(&sql, "UPDATE kept SET text=%s WHERE id=%u", large, i % 2);
		js_sql_guard(&sql, 1);
		(void)js_sql_stmt(&sql, "UPDATE kept SET n=n+1 WHERE id=%u", UINT64_C(1));
		if (i % 2 == 1)
			OK(js_db_commit(db, &sql, &lost, &e));
		else
			GIVES(JS_DB_GUARD, js_db_commit(db, &sql, &lost, &e));
		assert_int_equal(lost, 0);
	}
	assert_true(executed() >= first + 7);
}

/* A block that comes again is sent by its name: with all kinds of values, with a guard that says no, after the server
 * has lost it, and after its table was altered. */
static void prepared(void **state)
{
	uint64_t rows = 0, before;
	int64_t first;
	int lost;

	(void)state;
	OK(ask(packet(NULL, 0,
		      "CREATE TABLE kept(id BIGINT AUTO_INCREMENT PRIMARY KEY,text VARBINARY(2000),n BIGINT,at "
		      "DATETIME(6)) ENGINE=InnoDB")));
	js_db_disconnect(db); /* so that the first block of the next connection is number 0 */
	first = executed();
	keep("a", 1);
	assert_int_equal(executed(), first);
	keep("it's", INT64_MAX);
	if (executed() == first) { /* MySQL, and MariaDB before 10.6, prepare no blocks */
		keep("", 0);
		assert_int_equal(executed(), first);
		return;
	}
	keep("", 0);
	keep(NULL, -1);
	keep("\\\xff?", 7);
	assert_int_equal(executed(), first + 4);
	guard_large();
	first = executed() - 4;
	OK(ask(packet(NULL, 0, "ALTER TABLE kept ADD COLUMN more INT")));
	keep("b", 2);
	/* of another client, where a proxy shares connections */
	OK(ask(packet(NULL, 0, "PREPARE js_commit_0 FROM 'BEGIN NOT ATOMIC DELETE FROM kept;COMMIT;END'")));
	keep("c", 3);
	assert_int_equal(executed(), first + 6);
	assert_int_equal(mysql_reset_connection(db->my), 0); /* what such a proxy may do: nothing is left */
	first = executed();
	keep("d", 4);
	assert_int_equal(executed(), first + 1); /* in vain, so it was sent as text, as all are from now on */
	keep("e", 5);
	assert_int_equal(executed(), first + 1);
	js_db_disconnect(db);
	before = marks();
	for (uint64_t i = 1; i < 4; i++) {
		OK(transact(packet("INSERT INTO mark VALUES(5)", 1, "SELECT 1"), &lost, &rows));
		GIVES(JS_DB_GUARD, transact(packet("INSERT INTO mark VALUES(5)", 2, "SELECT 1"), &lost, &rows));
		assert_int_equal(lost, 0);
		assert_int_equal(marks(), before + i);
	}
}

/* How many connections were lost within a packet. */
static unsigned losses;

static void count_losses(void *ctx, enum jobstack_level level, const char *text)
{
	(void)ctx;
	(void)level;
	losses += strstr(text, "was lost") != NULL;
}

/* The connection whose statements are killed; 0: no more. */
static atomic_ulong target;

static void *kill_often(void *ctx)
{
	struct js_db *other = ctx;
	uint64_t jitter = 1;
	unsigned long id;

	while ((id = atomic_load(&target)) != 0) {
		char text[60];

		(void)snprintf(text, sizeof(text), "KILL QUERY %lu", id);
		(void)mysql_query(other->my, text);
		js_clock_nap((int64_t)js_num_jitter(&jitter, 2000), NULL);
	}
	return NULL;
}

/* A kill that ends a packet between two statements leaves the server waiting for the next command, with the transaction
 * open, while its last answer says that more follow.  Such a connection ends soon, and the packet is run again. */
static void killed_between(void **state)
{
	struct jobstack_options options = test_options();
	int64_t until = js_clock_mono_us() + 100 * JS_SECOND_US, tried = 0;
	struct js_db *other = NULL;
	static char large[1500];
	uint64_t rows;
	pthread_t killer;

	(void)state;
	memset(large, 'l', sizeof(large) - 1);
	OK(js_db_open(&other, &options, &e));
	atomic_store(&target, 1);
	assert_int_equal(pthread_create(&killer, NULL, kill_often, other), 0);
	for (losses = 0; losses == 0 && js_clock_mono_us() < until;) {
		struct js_sql sql = packet("INSERT INTO mark VALUES(6)", 1, "SELECT 1");

		for (int i = 0; i < 8; i++) /* each is sent on its own */
			(void)js_sql_stmt(&sql, "INSERT INTO mark SELECT 7 FROM DUAL WHERE %s IS NULL", large);
		atomic_store(&target, db->my != NULL ? mysql_thread_id(db->my) : 1);
		tried = js_clock_mono_us();
		if (js_db_transaction(db, &sql, NULL, count_rows, &rows, NULL, &e) != 0)
			js_error_clear(&e); /* killed again and again */
		js_sql_free(&sql);
	}
	tried = js_clock_mono_us() - tried;
	atomic_store(&target, 0);
	(void)pthread_join(killer, NULL);
	js_db_free(other);
	assert_int_equal(losses, 1);
	if (tried > 20 * JS_SECOND_US)
		fail_msg("it hung for %d ms", (int)(tried / 1000));
}

static int begin(void **state)
{
	struct jobstack_options options = test_options();

	(void)state;
	options.patience_us = 3 * JS_SECOND_US; /* time for a second try */
	options.log = count_losses;
	OK(js_db_open(&db, &options, &e));
	OK(ask(packet(NULL, 0, "CREATE TABLE mark(n INT) ENGINE=InnoDB")));
	OK(ask(packet(NULL, 0, "CREATE TABLE mark_key(n INT PRIMARY KEY) ENGINE=InnoDB")));
	OK(ask(packet(NULL, 0, "INSERT INTO mark_key VALUES(1)")));
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(guards),	    cmocka_unit_test(nobody_asked),
					   cmocka_unit_test(short_answers), cmocka_unit_test(views),
					   cmocka_unit_test(user_locks),    cmocka_unit_test(prepared),
					   cmocka_unit_test(killed_between)};

	return cmocka_run_group_tests(tests, begin, end);
}

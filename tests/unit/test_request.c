/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What goes over the wire for a packet, and which answer belongs to which statement: as single statements, and as
 * blocks.
 */
#include "db/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HURRY JS_REQUEST_HURRY
#define REST JS_REQUEST_REST
#define LOCK_NAME "'jobstack.b53ba1e3.7.3'"

static struct js_request e;
static struct js_sql packet, tail;

static int begin(void **state)
{
	(void)state;
	(void)js_sql_stmt(&packet, "UPDATE a");
	js_sql_guard(&packet, 1);
	js_sql_piece(&packet, "IF @x THEN ");
	(void)js_sql_stmt(&packet, "DELETE b");
	js_sql_piece(&packet, "END IF;");
	js_sql_only(&packet, JS_SQL_BLOCKS);
	(void)js_sql_stmt(&packet, "INSERT c");
	js_sql_only(&packet, JS_SQL_SINGLE);
	(void)js_sql_stmt(&packet, "INSERT d");
	(void)js_sql_stmt(&packet, "SELECT e");
	(void)js_sql_stmt(&tail, "SELECT f");
	return 0;
}

static int end(void **state)
{
	(void)state;
	js_request_free(&e);
	js_sql_free(&packet);
	js_sql_free(&tail);
	return 0;
}

static void answer_is(unsigned number, int kind, unsigned stmt, int guard)
{
	assert_true(number < e.n);
	assert_int_equal(js_request_answer(&e, number)->kind, kind);
	assert_int_equal(js_request_answer(&e, number)->stmt, stmt);
	assert_int_equal(js_request_answer(&e, number)->guard, guard);
}

static void single(void **state)
{
	(void)state;
	js_request_transaction(&e, &packet, &tail, 0, "db");
	assert_string_equal(e.text.data, HURRY "START TRANSACTION;UPDATE a;SET @js_guard=CAST(ROW_COUNT()>=1 AS "
					       "UNSIGNED)-1;DELETE b;INSERT d;SELECT e;COMMIT;SELECT f;" REST);
	assert_int_equal(e.text.len, strlen(e.text.data) - 1); /* the last semicolon is not sent */
	assert_int_equal(e.n, 10);
	answer_is(0, JS_ANSWER_QUIET, 0, 0);
	answer_is(1, JS_ANSWER_QUIET, 0, 0);
	answer_is(2, JS_ANSWER_STMT, 0, 0);
	answer_is(3, JS_ANSWER_STMT, 1, 1);
	answer_is(4, JS_ANSWER_STMT, 3, 0);
	answer_is(5, JS_ANSWER_STMT, 6, 0);
	answer_is(6, JS_ANSWER_STMT, 7, 0);
	answer_is(7, JS_ANSWER_QUIET, 0, 0);
	answer_is(8, JS_ANSWER_STMT, 9, 0);
	answer_is(9, JS_ANSWER_QUIET, 0, 0);
	assert_int_equal(e.commit_from, 7);
	assert_int_equal(e.commit_to, 7);
	assert_int_equal(e.end.len, 0);
}

static void block(void **state)
{
	(void)state;
	js_request_transaction(&e, &packet, &tail, 1, "db");
	assert_string_equal(e.text.data,
			    "BEGIN NOT ATOMIC START TRANSACTION;UPDATE a;SET @js_guard=CAST(ROW_COUNT()>=1 AS "
			    "UNSIGNED)-1;IF @x THEN DELETE b;END IF;INSERT c;SELECT e;COMMIT;SELECT f;END;");
	assert_int_equal(e.n, 3);
	answer_is(0, JS_ANSWER_STMT, 7, 0);
	answer_is(1, JS_ANSWER_STMT, 9, 0);
	answer_is(2, JS_ANSWER_BLOCK, 0, 0);
	assert_int_equal(e.commit_from, 0);
	assert_int_equal(e.commit_to, 2);
}

/* A large statement stands between two blocks; the COMMIT is in the second.  Where a kill can end the packet between
 * statements, the server does not wait for long. */
static void large(void **state)
{
	static const char first[] = "BEGIN NOT ATOMIC " HURRY "START TRANSACTION;UPDATE a;END;INSERT x'";
	static const char last[] = "';BEGIN NOT ATOMIC UPDATE b;COMMIT;" REST "END;";
	static char name[3000];
	struct js_sql sql = {0};

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	(void)js_sql_stmt(&sql, "UPDATE a");
	(void)js_sql_stmt(&sql, "INSERT %s", name);
	(void)js_sql_stmt(&sql, "UPDATE b");
	js_request_transaction(&e, &sql, NULL, 1, NULL);
	assert_memory_equal(e.text.data, first, strlen(first));
	assert_string_equal(strrchr(e.text.data, '\''), last);
	assert_int_equal(e.n, 3);
	answer_is(0, JS_ANSWER_BLOCK, 0, 0);
	answer_is(1, JS_ANSWER_STMT, 1, 0);
	answer_is(2, JS_ANSWER_BLOCK, 0, 0);
	assert_int_equal(e.commit_from, 2);
	assert_int_equal(e.commit_to, 2);
	js_sql_free(&sql);
}

/* Rows that are counted: only in blocks; those of a cluster only there; of two branches once. */
static void counted(void **state)
{
	struct js_sql sql = {0};

	(void)state;
	js_sql_only(&sql, JS_SQL_CLUSTER);
	(void)js_sql_stmt(&sql, "UPDATE a");
	js_sql_count(&sql, 1);
	js_sql_piece(&sql, "IF @x THEN ");
	(void)js_sql_stmt(&sql, "DELETE b");
	js_sql_count(&sql, 2);
	js_sql_piece(&sql, "ELSE ");
	(void)js_sql_stmt(&sql, "DELETE c");
	js_sql_count(&sql, 0);
	js_sql_piece(&sql, "END IF;");
	js_request_transaction(&e, &sql, NULL, 1, "db");
	assert_string_equal(e.text.data, "BEGIN NOT ATOMIC START TRANSACTION;SET @js_sum=0;IF @x THEN DELETE b;SET "
					 "@js_sum=@js_sum+ROW_COUNT();ELSE DELETE c;SET @js_sum=@js_sum+ROW_COUNT();"
					 "END IF;SET @js_guard=CAST(@js_sum<=>2 AS UNSIGNED)-1;COMMIT;END;");
	js_request_transaction(&e, &sql, NULL, 1, NULL);
	assert_non_null(strstr(e.text.data, "UPDATE a;SET @js_sum=@js_sum+ROW_COUNT();IF @x"));
	assert_non_null(strstr(e.text.data, "CAST(@js_sum<=>3 AS"));
	js_request_transaction(&e, &sql, NULL, 0, "db");
	assert_null(strstr(e.text.data, "js_sum"));
	js_sql_free(&sql);
}

/* What is for a cluster alone. */
static void cluster(void **state)
{
	struct js_sql sql = {0};

	(void)state;
	(void)js_sql_stmt(&sql, "SELECT a INTO @js_a");
	js_sql_only(&sql, JS_SQL_CLUSTER);
	(void)js_sql_stmt(&sql, "UPDATE a");
	(void)js_sql_stmt(&sql, "SELECT b");
	js_request_transaction(&e, &sql, NULL, 0, "db");
	assert_string_equal(e.text.data, HURRY "START TRANSACTION;SELECT a INTO @js_a;SELECT b;COMMIT;" REST);
	answer_is(3, JS_ANSWER_STMT, 2, 0);
	js_request_transaction(&e, &sql, NULL, 0, NULL);
	assert_string_equal(e.text.data, HURRY "START TRANSACTION;SELECT a INTO @js_a;UPDATE a;SELECT b;COMMIT;" REST);
	answer_is(4, JS_ANSWER_STMT, 2, 0);
	js_request_transaction(&e, &sql, &tail, 1, NULL); /* what comes behind the COMMIT waits for nobody */
	assert_string_equal(e.text.data, "BEGIN NOT ATOMIC START TRANSACTION;SELECT a INTO @js_a;UPDATE a;SELECT "
					 "b;COMMIT;SET STATEMENT wsrep_sync_wait=0 FOR SELECT f;END;");
	js_sql_free(&sql);
}

/* The user lock is asked for before anything is locked, and released behind the COMMIT, or after an error. */
static void user_locks(void **state)
{
	struct js_sql sql = {0};

	(void)state;
	(void)js_sql_stmt(&sql, "UPDATE a");
	js_sql_user_lock(&sql, 7, 3, 5);
	js_request_transaction(&e, &sql, &tail, 0, "db");
	assert_string_equal(e.text.data, HURRY "DO GET_LOCK(" LOCK_NAME
					       ",5);START TRANSACTION;UPDATE a;COMMIT;DO RELEASE_LOCK(" LOCK_NAME
					       ");SELECT f;" REST);
	assert_int_equal(e.n, 8);
	answer_is(3, JS_ANSWER_STMT, 0, 0);
	assert_int_equal(e.commit_to, 4);
	answer_is(6, JS_ANSWER_STMT, 2, 0);
	assert_string_equal(e.end.data, "DO RELEASE_LOCK(" LOCK_NAME ");");
	js_request_transaction(&e, &sql, NULL, 1, "db");
	assert_string_equal(
		e.text.data,
		"BEGIN NOT ATOMIC DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;DO RELEASE_LOCK(" LOCK_NAME
		");RESIGNAL;END;DO GET_LOCK(" LOCK_NAME
		",5);START TRANSACTION;UPDATE a;COMMIT;DO RELEASE_LOCK(" LOCK_NAME ");END;");
	assert_int_equal(e.n, 1);
	js_request_transaction(&e, &sql, NULL, 0, NULL); /* a server that has none */
	assert_string_equal(e.text.data, HURRY "START TRANSACTION;UPDATE a;COMMIT;" REST);
	assert_int_equal(e.end.len, 0);
	js_sql_free(&sql);
}

static void queries(void **state)
{
	struct js_sql sql = {0};

	(void)state;
	(void)js_sql_stmt(&sql, "SELECT f");
	(void)js_sql_stmt(&sql, "SELECT g");
	js_request_plain(&e, &tail);
	assert_string_equal(e.text.data, "SELECT f;");
	assert_int_equal(e.n, 1);
	answer_is(0, JS_ANSWER_STMT, 0, 0);
	assert_int_equal(e.commit_from, e.n);
	js_request_plain(&e, &sql);
	assert_string_equal(e.text.data, HURRY "SELECT f;SELECT g;" REST);
	assert_int_equal(e.n, 4);
	answer_is(2, JS_ANSWER_STMT, 1, 0);
	assert_int_equal(e.commit_from, e.n);
	js_sql_free(&sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(single),  cmocka_unit_test(block),
					   cmocka_unit_test(large),   cmocka_unit_test(user_locks),
					   cmocka_unit_test(counted), cmocka_unit_test(cluster),
					   cmocka_unit_test(queries)};

	return cmocka_run_group_tests(tests, begin, end);
}

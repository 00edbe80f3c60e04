/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A migration whose connection is lost, or that is not alone, at each of its statements.  It is held there in the
 * proxy; meanwhile an administrator ends its connection (and with that its lock and its variables), or another node
 * makes the same change, as the nodes of a cluster do, which share no user locks.  It must go through, wholly.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

static char first_only[4200]; /* a schema's directory with the first migration alone */

/* The tables that later migrations change, each with a copy as it was before. */
static const char *const changed[] = {"stack", "attempt", "dead", "gate"};

/* The first version, empty.  It is made once; later only what the migrations change is put back. */
static void first_version(void)
{
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		(void)sql(holder, "DROP TABLE %s", changed[i]);
		(void)sql(holder, "CREATE TABLE %s LIKE first_%s", changed[i], changed[i]);
	}
	(void)sql(holder, "DELETE FROM jobstack_version WHERE version>1");
}

static void make_first_version(void)
{
	static const char *const table[] = {"stack", "push",	"name", "entry",	   "span", "worker", "gate",
					    "claim", "attempt", "dead", "jobstack_version"};
	struct jobstack *one = open_one();

	(void)sql(holder, "DROP VIEW IF EXISTS JobManagement");
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		(void)sql(holder, "DROP TABLE IF EXISTS %s", table[i]);
	GIVES(JOBSTACK_EFILE, jobstack_init(one, first_only, NULL, &e)); /* there is no second file */
	jobstack_free(one);
	assert_int_equal(sql(holder, "SELECT MAX(version) FROM jobstack_version"), 1);
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
		(void)sql(holder, "CREATE TABLE first_%s LIKE %s", changed[i], changed[i]);
}

static void *init_thread(void *ctx)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_init_report report = JOBSTACK_INIT_REPORT_INIT;
	int *status = ctx;
	struct jobstack *one = proxy_handle(&between);

	*status = jobstack_init(one, schema(), &report, &error);
	if (*status != 0)
		(void)fprintf(stderr, "init: %s\n", error.text);
	else if (report.before != 1 || report.after != jobstack_schema_version())
		*status = 1;
	jobstack_free(one);
	return NULL;
}

/* Begins an init, and holds it at the packet with SIGN, or the SKIPth behind that. */
static pthread_t hold_init(const char *sign, unsigned skip, int *status)
{
	pthread_t thread;

	proxy_arm_for(&between, sign);
	(void)pthread_mutex_lock(&between.lock);
	between.skip = skip;
	(void)pthread_mutex_unlock(&between.lock);
	assert_int_equal(pthread_create(&thread, NULL, init_thread, status), 0);
	proxy_caught(&between);
	return thread;
}

static void whole(pthread_t thread, const int *status)
{
	(void)pthread_join(thread, NULL);
	assert_int_equal(*status, 0);
	assert_int_equal(sql(holder, "SELECT MAX(version) FROM jobstack_version"), jobstack_schema_version());
	assert_int_equal(sql(holder,
			     "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema=DATABASE() AND "
			     "column_name IN('max_running','pruned','err_tail','err_at','to_stack','to_entry','locked',"
			     "'major_faults','peak_kib') "
			     "AND table_name NOT LIKE 'first\\_%%'"),
			 10);
}

/* The connection is ended at each kind of statement, for the first table and for the last, and at the version's row. */
static void connection_lost(void **state)
{
	static const char *const sign[] = {"SET @ddl", "PREPARE ddl FROM", "EXECUTE ddl", "DEALLOCATE"};
	int status;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		pthread_t thread;

		first_version();
		thread = i < 8 ? hold_init(sign[i % 4], i / 4 * 6, &status)
			       : hold_init("INSERT IGNORE INTO jobstack_version", 0, &status);
		(void)sql(observer, "KILL CONNECTION %" PRIu64,
			  sql(observer,
			      "SELECT id FROM information_schema.processlist WHERE db='%s' AND id<>%lu ORDER BY id "
			      "DESC LIMIT 1",
			      database(), mysql_thread_id(holder)));
		proxy_drop_client(&between);
		proxy_finish(&between);
		whole(thread, &status);
	}
}

/* Another node changes the table between our look at it and our change: 1060, and 1091 for the columns that go. */
static void another_node(void **state)
{
	static const char *const change[] = {
		("ALTER TABLE stack ADD COLUMN max_running BIGINT UNSIGNED NULL, ADD COLUMN max_failures BIGINT "
		 "UNSIGNED NULL, ADD COLUMN moved BIGINT UNSIGNED NOT NULL DEFAULT 0, ADD COLUMN pruned BIGINT "
		 "UNSIGNED NOT NULL DEFAULT 0"),
		("ALTER TABLE attempt ADD COLUMN err_tail VARBINARY(4096) NULL, ADD COLUMN err_log VARBINARY(4096) "
		 "NULL, ADD COLUMN err_at BIGINT NULL"),
		"ALTER TABLE dead ADD COLUMN to_stack BIGINT UNSIGNED NULL, ADD COLUMN to_entry BIGINT UNSIGNED NULL",
		"ALTER TABLE gate DROP COLUMN max_running, DROP COLUMN running",
		"ALTER TABLE stack ADD COLUMN locked BIGINT UNSIGNED NOT NULL DEFAULT 0",
		"ALTER TABLE gate ADD COLUMN locked BIGINT UNSIGNED NOT NULL DEFAULT 0",
		"ALTER TABLE attempt ADD COLUMN major_faults BIGINT NULL"};
	int status;

	(void)state;
	for (unsigned i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		pthread_t thread;

		first_version();
		thread = hold_init("EXECUTE ddl", i, &status);
		(void)sql(holder, "%s", change[i]);
		proxy_resume(&between);
		whole(thread, &status);
	}
}

static int begin(void **state)
{
	static char text[13000];

	(void)lost_setup(state);
	(void)snprintf(first_only, sizeof(first_only), "%s/first", getenv("JOBSTACK_TEST_DIR"));
	(void)snprintf(text, sizeof(text), "mkdir %s && cp %s/0001_* %s/", first_only, schema(), first_only);
	if (system(text) != 0)
		return 1;
	make_first_version();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(connection_lost), cmocka_unit_test(another_node)};

	return cmocka_run_group_tests(tests, begin, lost_teardown);
}

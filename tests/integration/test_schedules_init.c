/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A migration whose connection is lost, or that is not alone, at each of its statements.  It is held there in the
 * proxy; meanwhile an administrator ends its connection (and with that its lock and its variables), or another node
 * makes the same change, as the nodes of a cluster do, which share no user locks.  It must go through, wholly.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

static char made_up[4200]; /* the directory of a migration that was made up for tests */

/* The tables that it changes, each with a copy as it was before. */
static const char *const changed[] = {"stack", "attempt", "running_limit"};

static void earlier_version(void)
{
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		(void)sql(holder, "DROP TABLE %s", changed[i]);
		(void)sql(holder, "CREATE TABLE %s LIKE first_%s", changed[i], changed[i]);
	}
	(void)sql(holder, "DELETE FROM jobstack_version WHERE version>12");
}

static void make_earlier_version(void)
{
	(void)sql(holder, "ALTER TABLE stack DROP COLUMN max_running, DROP COLUMN max_failures");
	(void)sql(holder, "ALTER TABLE attempt DROP COLUMN major_faults");
	(void)sql(holder, "ALTER TABLE running_limit ADD COLUMN running BIGINT UNSIGNED NOT NULL DEFAULT 0");
	(void)sql(holder, "UPDATE jobstack_version SET version=12");
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
		(void)sql(holder, "CREATE TABLE first_%s LIKE %s", changed[i], changed[i]);
}

static void *init_thread(void *ctx)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_init_report report = JOBSTACK_INIT_REPORT_INIT;
	int *status = ctx;
	struct jobstack *one = proxy_handle(&between);

	*status = jobstack_init(one, made_up, &report, &error);
	if (*status != 0)
		(void)fprintf(stderr, "init: %s\n", error.text);
	else if (report.before != 12 || report.after != jobstack_schema_version())
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
			     "column_name IN('max_running','max_failures','major_faults','running') "
			     "AND table_name NOT LIKE 'first\\_%%'"),
			 4); /* the last one is that of worker */
}

/* The connection is ended at each kind of statement, for the first table and for the last, and at the version's row. */
static void connection_lost(void **state)
{
	static const char *const sign[] = {"SET @ddl", "PREPARE ddl FROM", "EXECUTE ddl", "DEALLOCATE"};
	int status;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		pthread_t thread;

		earlier_version();
		thread = i < 8 ? hold_init(sign[i % 4], i / 4 * 2, &status)
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

/* Another node changes the table between our look at it and our change: 1060, and 1091 for a column that goes. */
static void another_node(void **state)
{
	static const char *const change[] = {
		("ALTER TABLE stack ADD COLUMN max_running BIGINT UNSIGNED NULL, ADD COLUMN max_failures BIGINT "
		 "UNSIGNED NULL"),
		"ALTER TABLE attempt ADD COLUMN major_faults BIGINT NULL",
		"ALTER TABLE running_limit DROP COLUMN running"};
	int status;

	(void)state;
	for (unsigned i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		pthread_t thread;

		earlier_version();
		thread = hold_init("EXECUTE ddl", i, &status);
		(void)sql(holder, "%s", change[i]);
		proxy_resume(&between);
		whole(thread, &status);
	}
}

static int begin(void **state)
{
	(void)lost_setup(state);
	(void)snprintf(made_up, sizeof(made_up), "%s/tests/integration/made_up", getenv("JOBSTACK_SOURCE"));
	make_earlier_version();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(connection_lost), cmocka_unit_test(another_node)};

	return cmocka_run_group_tests(tests, begin, lost_teardown);
}

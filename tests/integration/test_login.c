/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Logins of several threads at once, in processes that have not loaded the login plugin yet.
 */
#define _GNU_SOURCE
#include "integration/schedule.h"

#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 40
#define THREADS 8

static const char *user; /* NULL: that of the option file */
static pthread_barrier_t all_there;

static void *log_in(void *ctx)
{
	struct jobstack_options o = JOBSTACK_OPTIONS_INIT;
	struct jobstack_error *error = ctx;
	struct jobstack *one;

	o.defaults_file = getenv("JOBSTACK_TEST_CNF");
	o.user = user;
	o.password = user;
	(void)pthread_barrier_wait(&all_there);
	if (jobstack_open(&one, &o, error) == 0)
		jobstack_free(one);
	return NULL;
}

/* In a child: all its threads log in at the same moment.  Returns how many could not. */
static int log_in_at_once(void)
{
	struct jobstack_error error[THREADS] = {{0}};
	pthread_t thread[THREADS];
	int bad = 0;

	(void)pthread_barrier_init(&all_there, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, log_in, &error[i]) != 0)
			abort();
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(thread[i], NULL);
		if (error[i].code != 0) {
			print_error("%s\n", error[i].text);
			bad++;
		}
	}
	return bad;
}

static void at_once(void **state)
{
	int bad = 0, status;

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0)
			_exit(log_in_at_once());
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		bad += WEXITSTATUS(status) != 0;
	}
	if (bad > 0)
		fail_msg("in %d of %d processes a login failed", bad, PROCESSES);
}

/* A user whose plugin MariaDB's connector loads at the first login.  MySQL's users are such, and Oracle's connector has
 * no plugin for MariaDB's. */
static int make_user(void **state)
{
	static char name[104];

	(void)state;
	holder = plain(0);
	observer = plain(1);
	(void)snprintf(name, sizeof(name), "%s_ed", database());
#if defined(MARIADB_BASE_VERSION) || defined(MARIADB_PACKAGE_VERSION)
	if (strstr(mysql_get_server_info(observer), "MariaDB") != NULL)
		user = name;
#endif
	if (user == NULL)
		return 0;
	(void)mysql_query(observer, "INSTALL SONAME 'auth_ed25519'"); /* an error: it has it already */
	(void)sql(observer, "CREATE USER '%s'@'%%' IDENTIFIED VIA ed25519 USING PASSWORD('%s')", user, user);
	(void)sql(observer, "GRANT ALL ON %s.* TO '%s'@'%%'", database(), user);
	return 0;
}

static int drop_user(void **state)
{
	(void)state;
	if (user != NULL)
		(void)sql(observer, "DROP USER '%s'@'%%'", user);
	mysql_close(holder);
	mysql_close(observer);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(at_once)};

	return cmocka_run_group_tests(tests, make_user, drop_user);
}

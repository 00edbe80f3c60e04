/* SPDX-License-Identifier: BSD-2-Clause
 *
 * db without a server: packets hold nothing but our text, numbers and hexadecimal literals; the option-file reader.
 */
#define _GNU_SOURCE
#include "db/option.h"
#include "db/sql.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void packets(void **state)
{
	struct js_sql sql = {0};
	unsigned char all[256];

	(void)state;
	assert_int_equal(
		js_sql_stmt(&sql, "A %u %d %d %n %n", UINT64_MAX, (int64_t)-5, INT64_MIN, (int64_t)-1, (int64_t)7), 0);
	assert_string_equal(sql.text.data, "A 18446744073709551615 -5 -9223372036854775808 NULL 7;");
	js_sql_free(&sql);
	js_sql_add(&sql, "%s%s%x%x", "a'b\\", (const char *)NULL, (const void *)"", (size_t)0, (const void *)NULL,
		   (size_t)0);
	assert_string_equal(sql.text.data, "x'6127625C'NULLx''NULL");
	js_sql_free(&sql);
	js_sql_add(&sql, "%t %t", INT64_C(1795242011123456), (int64_t)-1);
	assert_string_equal(sql.text.data, "20261121062011.123456 NULL");
	js_sql_free(&sql);
	for (int i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	js_sql_add(&sql, "%x", (const void *)all, sizeof(all));
	assert_int_equal(sql.text.len, 515);
	assert_int_equal(strspn(sql.text.data + 2, "0123456789ABCDEF"), 512);
	js_sql_free(&sql);
	assert_int_equal(js_sql_stmt(&sql, "ONE"), 0);
	js_sql_add(&sql, "TW");
	js_sql_add(&sql, "O;");
	assert_int_equal(js_sql_stmt(&sql, "THREE"), 2);
	js_sql_guard(&sql, 3);
	assert_int_equal(sql.statements, 4);
	js_sql_free(&sql);
}

static char path[64];

static int read_text(const char *text, mode_t mode, struct js_option *o, struct jobstack_error *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
	*o = (struct js_option){0};
	*e = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	return js_option_read(path, o, e);
}

static void option_files(void **state)
{
	struct js_option o;
	struct jobstack_error e;

	(void)state;
	assert_int_equal(
		read_text("# a comment\n; another\n[mysqld]\nport=1\n[client]\nhost = \"db1, db2\" # "
			  "here\nport=3307\nuser='me'\n"
			  "password=a\\\\b\\sc#d\n[jobstack]\ndatabase=spectra\nport=3308\n[client]\nuser=later\n",
			  0600, &o, &e),
		0);
	assert_int_equal(o.hosts.n, 2);
	assert_string_equal(o.hosts.at[0].name, "db1");
	assert_string_equal(o.hosts.at[1].name, "db2");
	assert_int_equal(o.port, 3308);
	assert_string_equal(o.user, "later");
	assert_string_equal(o.password, "a\\b c");
	assert_string_equal(o.database, "spectra");
	assert_int_equal(o.tls_said, 0);
	js_option_free(&o);
	assert_int_equal(
		read_text("[client]\npassword=\"with # in it\"\nssl-mode=VERIFY_IDENTITY\nssl_ca=/ca\n", 0600, &o, &e),
		0);
	assert_string_equal(o.password, "with # in it");
	assert_int_equal(o.tls, JS_TLS_VERIFY_IDENTITY);
	assert_string_equal(o.ssl_ca, "/ca");
	js_option_free(&o);
	assert_int_equal(read_text("[client]\nssl\n", 0644, &o, &e), 0);
	assert_int_equal(o.tls, JS_TLS_REQUIRED);
	js_option_free(&o);
	assert_int_equal(read_text("[client]\nskip-ssl\n", 0644, &o, &e), 0);
	assert_int_equal(o.tls, JS_TLS_OFF);
	js_option_free(&o);
	assert_int_equal(read_text("[client]\nssl-verify-server-cert\n", 0644, &o, &e), 0);
	assert_int_equal(o.tls, JS_TLS_VERIFY_IDENTITY);
	js_option_free(&o);
	assert_int_equal(read_text("", 0644, &o, &e), 0);
	assert_int_equal(o.hosts.n, 0);
}

static void option_files_refused(void **state)
{
	struct js_option o;
	struct jobstack_error e;

	(void)state;
	assert_int_equal(read_text("[client]\npassword=hunter2\n", 0644, &o, &e), JOBSTACK_EPERM);
	assert_non_null(strstr(e.text, "chmod 600"));
	assert_null(strstr(e.text, "hunter2"));
	js_option_free(&o);
	assert_int_equal(read_text("[client]\npassword=hunter2\n", 0640, &o, &e), JOBSTACK_EPERM);
	js_option_free(&o);
	assert_int_equal(read_text("[client]\nport=99999\n", 0600, &o, &e), JOBSTACK_EUSAGE);
	assert_non_null(strstr(e.text, "line 2"));
	js_option_free(&o);
	assert_int_equal(read_text("[client\n", 0600, &o, &e), JOBSTACK_EUSAGE);
	js_option_free(&o);
	assert_int_equal(read_text("[client]\nssl-mode=MAYBE\n", 0600, &o, &e), JOBSTACK_EUSAGE);
	js_option_free(&o);
	assert_int_equal(read_text("# no group\nhost=db\n[client]\n", 0600, &o, &e), JOBSTACK_EUSAGE);
	assert_non_null(strstr(e.text, "line 2: it is in no group"));
	js_option_free(&o);
	assert_int_equal(read_text("[client]\nhots=a\n[jobstack]\nloose-hots=a\nhots=hunter2\n", 0600, &o, &e),
			 JOBSTACK_EUSAGE);
	assert_non_null(strstr(e.text, "line 5: the group [jobstack] takes only host"));
	assert_null(strstr(e.text, "hunter2"));
	js_option_free(&o);
	/* nothing behind it: the next line is not its key */
	assert_int_equal(read_text("[jobstack]\nloose\nhost=db\n", 0600, &o, &e), JOBSTACK_EUSAGE);
	assert_non_null(strstr(e.text, "line 2: the group [jobstack] takes only host"));
	js_option_free(&o);
	assert_int_equal(read_text("!include /nosuch/file.cnf\n", 0600, &o, &e), JOBSTACK_EFILE);
	js_option_free(&o);
	o = (struct js_option){0};
	e = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_option_read("/nosuch/file.cnf", &o, &e), JOBSTACK_EFILE);
	assert_non_null(strstr(e.text, "/nosuch/file.cnf"));
	js_option_free(&o);
}

static void option_files_include(void **state)
{
	struct js_option o;
	struct jobstack_error e;
	char text[128];

	(void)state;
	(void)snprintf(text, sizeof(text), "!include %s\n", path); /* itself, for ever */
	assert_int_equal(read_text(text, 0600, &o, &e), JOBSTACK_EUSAGE);
	assert_non_null(strstr(e.text, "5 deep"));
	js_option_free(&o);
}

/* A file answers for the password in it, and not for that of one it includes. */
static void option_files_include_secret(void **state)
{
	char including[sizeof(path) + 8], text[128];
	struct js_option o = {0};
	struct jobstack_error e = JOBSTACK_ERROR_INIT;
	FILE *f;

	(void)state;
	(void)snprintf(including, sizeof(including), "%s.outer", path);
	(void)snprintf(text, sizeof(text), "!include %s\n[client]\nuser=me\n", path);
	f = fopen(including, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fchmod(fileno(f), 0644), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(read_text("[client]\npassword=hunter2\n", 0600, &o, &e), 0);
	js_option_free(&o);
	assert_int_equal(js_option_read(including, &o, &e), 0);
	assert_string_equal(o.password, "hunter2");
	js_option_free(&o);
	assert_int_equal(read_text("[client]\npassword=hunter2\n", 0644, &o, &e), JOBSTACK_EPERM);
	js_option_free(&o);
	e = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_option_read(including, &o, &e), JOBSTACK_EPERM);
	assert_null(strstr(e.text, ".outer")); /* it is the other one that must be closed */
	js_option_free(&o);
	assert_int_equal(unlink(including), 0);
}

/* Backslashes, quotes and comments, as my_print_defaults reads them. */
static void option_files_comments(void **state)
{
	struct js_option o;
	struct jobstack_error e;

	(void)state;
	assert_int_equal(
		read_text("[client]\nuser=a\\#b\nsocket=it\\'s # c\npassword=\"x\\\" # y\" # z\ndatabase=a\\\\#b\n",
			  0600, &o, &e),
		0);
	assert_string_equal(o.user, "a\\");
	assert_string_equal(o.socket, "it's # c");
	assert_string_equal(o.password, "x\" # y");
	assert_string_equal(o.database, "a\\");
	js_option_free(&o);
}

/* HOSTS as "name name:port ...". */
static const char *hosts_text(const struct js_hosts *hosts)
{
	static char text[JS_HOSTS_MAX * (JS_HOST_NAME + 8)];
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < hosts->n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s/%u", i > 0 ? " " : "",
					 hosts->at[i].name, hosts->at[i].port);
	return text;
}

static void host_lists(void **state)
{
	static const struct {
		const char *list, *hosts;
	} good[] = {
		{"", ""},
		{"  ", ""},
		{"a", "a/0"},
		{"a,b,c", "a/0 b/0 c/0"},
		{" a ,\tb:1 , c:65535\r", "a/0 b/1 c/65535"},
		{"10.0.0.1:3307,db-2.example.org", "10.0.0.1/3307 db-2.example.org/0"},
		{"[2001:db8::1]:3306,[::1],::1,fe80::2", "2001:db8::1/3306 ::1/0 ::1/0 fe80::2/0"},
		{"[fe80::1%eth0]:99", "fe80::1%eth0/99"},
		{"localhost:3306,localhost", "localhost/3306 localhost/0"},
		{"1,2,3,4,5,6,7,8", "1/0 2/0 3/0 4/0 5/0 6/0 7/0 8/0"},
	};
	struct js_hosts hosts = {0};
	struct js_host host = {"b", 1};
	char name[JS_HOST_NAME + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_null(js_hosts_read(&hosts, good[i].list));
		assert_string_equal(hosts_text(&hosts), good[i].hosts);
	}
	memset(name, 'x', sizeof(name) - 1);
	name[JS_HOST_NAME - 1] = '\0'; /* the longest */
	assert_null(js_hosts_read(&hosts, name));
	assert_string_equal(hosts.at[0].name, name);
	assert_null(js_hosts_read(&hosts, "a,b:2,b:1"));
	assert_int_equal(js_hosts_find(&hosts, &host), 2);
	host.port = 3;
	assert_int_equal(js_hosts_find(&hosts, &host), 0);
}

static void host_lists_refused(void **state)
{
	static const struct {
		const char *list, *why;
	} bad[] = {
		{",", "missing"},      {"a,,b", "missing"},
		{"a,", "missing"},     {",a", "missing"},
		{"a, ,b", "missing"},  {"a:", "port"},
		{"a:0", "port"},       {"a:65536", "port"},
		{"a:-1", "port"},      {"a:33x", "port"},
		{"a: 1", "port"},      {":3306", "without a host"},
		{"a b", "character"},  {"a/b", "character"},
		{"a;b", "character"},  {"me@a", "character"},
		{"a:1:2", "IPv6"},     {"x:y:z", "IPv6"},
		{"[::1", "brackets"},  {"[::1]x", "brackets"},
		{"[::1]:", "port"},    {"[]", "brackets"},
		{"[a]:1", "brackets"}, {"[::1]:0", "port"},
		{"a[::1]", "IPv6"},    {"1,2,3,4,5,6,7,8,9", "more than 8"},
	};
	struct js_hosts hosts = {0};
	struct js_option o;
	struct jobstack_error e;
	char name[JS_HOST_NAME + 32];

	(void)state;
	assert_null(js_hosts_read(&hosts, "kept"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *why = js_hosts_read(&hosts, bad[i].list);

		assert_non_null(why);
		if (strstr(why, bad[i].why) == NULL)
			fail_msg("\"%s\": %s", bad[i].list, why);
		assert_string_equal(hosts_text(&hosts), "kept/0");
	}
	memset(name, 'x', sizeof(name));
	name[JS_HOST_NAME] = '\0'; /* one too long; and far too long */
	assert_string_equal(js_hosts_read(&hosts, name), "a host is longer than 255 bytes");
	name[JS_HOST_NAME] = 'x';
	name[sizeof(name) - 1] = '\0';
	assert_string_equal(js_hosts_read(&hosts, name), "a host is longer than 255 bytes");
	assert_int_equal(read_text("[client]\nuser=me\nhost=a,,b\n", 0600, &o, &e), JOBSTACK_EUSAGE);
	assert_non_null(strstr(e.text, "line 3"));
	assert_non_null(strstr(e.text, "missing next to a comma"));
	js_option_free(&o);
	assert_int_equal(read_text("[client]\nhost\n", 0600, &o, &e), JOBSTACK_EUSAGE);
	js_option_free(&o);
}

static int begin(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/jobstack-unit-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(packets),
					   cmocka_unit_test(option_files),
					   cmocka_unit_test(option_files_refused),
					   cmocka_unit_test(option_files_include),
					   cmocka_unit_test(option_files_include_secret),
					   cmocka_unit_test(option_files_comments),
					   cmocka_unit_test(host_lists),
					   cmocka_unit_test(host_lists_refused)};

	return cmocka_run_group_tests(tests, begin, end);
}

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
	assert_int_equal(js_sql_stmt(&sql, "A %u %d %d %n %n", UINT64_MAX, (int64_t)-5, INT64_MIN, (int64_t)-1, (int64_t)7), 0);
	assert_string_equal(sql.text.data, "A 18446744073709551615 -5 -9223372036854775808 NULL 7;");
	js_sql_reset(&sql);
	js_sql_add(&sql, "%s%s%x%x", "a'b\\", (const char *)NULL, (const void *)"", (size_t)0, (const void *)NULL, (size_t)0);
	assert_string_equal(sql.text.data, "x'6127625C'NULLx''NULL");
	js_sql_reset(&sql);
	js_sql_add(&sql, "%t %t", INT64_C(1795242011123456), (int64_t)-1);
	assert_string_equal(sql.text.data, "'2026-11-21 06:20:11.123456' NULL");
	js_sql_reset(&sql);
	for (int i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	js_sql_add(&sql, "%x", (const void *)all, sizeof(all));
	assert_int_equal(sql.text.len, 515);
	assert_int_equal(strspn(sql.text.data + 2, "0123456789ABCDEF"), 512);
	js_sql_reset(&sql);
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
	assert_int_equal(read_text("# a comment\n; another\n[mysqld]\nport=1\n[client]\nhost = \"db 1\" # here\nport=3307\nuser='me'\n"
				   "password=a\\\\b\\sc#d\n[jobstack]\ndatabase=spectra\nport=3308\n[client]\nuser=later\n",
				   0600, &o, &e),
			 0);
	assert_string_equal(o.host, "db 1");
	assert_int_equal(o.port, 3308);
	assert_string_equal(o.user, "later");
	assert_string_equal(o.password, "a\\b c");
	assert_string_equal(o.database, "spectra");
	assert_int_equal(o.tls_said, 0);
	js_option_free(&o);
	assert_int_equal(read_text("[client]\npassword=\"with # in it\"\nssl-mode=VERIFY_IDENTITY\nssl_ca=/ca\n", 0600, &o, &e), 0);
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
	assert_null(o.host);
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
	assert_non_null(strstr(e.text, "deeply"));
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(packets), cmocka_unit_test(option_files),
					   cmocka_unit_test(option_files_refused), cmocka_unit_test(option_files_include)};

	return cmocka_run_group_tests(tests, begin, end);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Option files.  The first byte says which mode the file has; the rest is its text.  It is read twice
 * and gives the same; numbers are in their range; a password that others can read is refused; errors
 * have words, in one line, and no password in them.
 *
 * The reader follows !include.  The process stands in a directory of its own with a few files to
 * include, and a text that names anything elsewhere is passed over: no other file of this machine is
 * read.
 */
#define _GNU_SOURCE
#include "db/option.h"
#include "fuzz/fuzz.h"

#include <ctype.h>
#include <dirent.h>

#define INPUT "input.cnf"

static char dir[4096];

static void remove_dir(void)
{
	static const char *const files[] = {INPUT, "more.cnf", "secret.cnf", "d/1.cnf", "d/2.cnf", "d/3.txt"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(files[i]);
	(void)rmdir("d");
	(void)rmdir(dir);
}

static void make_dir(void)
{
	static const char more[] = "[client]\nport=1234\n!include secret.cnf\n[jobstack]\nuser=more\n",
			  secret[] = "[client]\npassword=included-secret\n", one[] = "[client]\ndatabase=one\n",
			  two[] = "[jobstack]\nssl-mode=REQUIRED\n";
	const char *base = getenv("TMPDIR");

	(void)snprintf(dir, sizeof(dir), "%s/jobstack-fuzz-XXXXXX", base != NULL ? base : "/tmp");
	need(mkdtemp(dir) != NULL && chdir(dir) == 0 && mkdir("d", 0700) == 0);
	(void)atexit(remove_dir);
	fuzz_file("more.cnf", more, strlen(more), 0644);
	fuzz_file("secret.cnf", secret, strlen(secret), 0600);
	fuzz_file("d/1.cnf", one, strlen(one), 0644);
	fuzz_file("d/2.cnf", two, strlen(two), 0644);
	fuzz_file("d/3.txt", "no option file", 14, 0644);
}

/* Is anything included but what lies in our directory?  (The reader takes names as they are, without quotes.) */
static int leaves(const char *text)
{
	for (const char *p = text; (p = strstr(p, "!include")) != NULL; p++) {
		size_t line = strcspn(p, "\n");

		if (memchr(p, '/', line) != NULL || memmem(p, line, "..", 2) != NULL)
			return 1;
	}
	return 0;
}

static int same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int same(const struct js_option *a, const struct js_option *b)
{
	return same_text(a->socket, b->socket) && same_text(a->user, b->user) && same_text(a->password, b->password) &&
	       same_text(a->database, b->database) && same_text(a->ssl_ca, b->ssl_ca) &&
	       same_text(a->ssl_capath, b->ssl_capath) && same_text(a->ssl_cert, b->ssl_cert) &&
	       same_text(a->ssl_key, b->ssl_key) && a->port == b->port && a->tls == b->tls &&
	       a->tls_said == b->tls_said && a->connect_timeout == b->connect_timeout &&
	       memcmp(&a->hosts, &b->hosts, sizeof(a->hosts)) == 0;
}

/* A password that can't be anything else: other words may stand in an error for another reason (a key, a file). */
static int secret(const char *text, const char *password)
{
	const char *first = password == NULL || strncmp(password, "hunter2-", 8) != 0 ? NULL : strstr(text, password);

	return first != NULL && strstr(first + 1, password) == NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT, later = JOBSTACK_ERROR_INIT;
	struct js_option option = {0}, again = {0};
	int open_to_all, status;
	char *text;

	if (dir[0] == '\0')
		make_dir();
	if (size == 0)
		return 0;
	open_to_all = *data % 2;
	text = fuzz_text(data + 1, size - 1);
	if (strlen(text) < size - 1 ? memmem(data, size, "!include", 8) != NULL : leaves(text))
		goto out;
	fuzz_file(INPUT, data + 1, size - 1, open_to_all ? 0644 : 0600);
	status = js_option_read(INPUT, &option, &error);
	need(js_option_read(INPUT, &again, &later) == status && same(&option, &again));
	need(strcmp(error.text, later.text) == 0 && (status == 0) == (error.text[0] == '\0') && error.code == status);
	need(status == 0 || status == JOBSTACK_EUSAGE || status == JOBSTACK_EPERM || status == JOBSTACK_EFILE);
	need(option.port <= 65535 && option.connect_timeout <= 3600 && option.tls <= JS_TLS_VERIFY_IDENTITY);
	for (const char *p = error.text; *p != '\0'; p++)
		need(!iscntrl((unsigned char)*p));
	if (status != 0 && secret(text, option.password))
		need(strstr(error.text, option.password) == NULL);
	if (status == 0 && open_to_all && option.password != NULL && option.password[0] != '\0')
		need(strcmp(option.password, "included-secret") == 0); /* that one is in a file of its own */
	js_option_free(&option);
	js_option_free(&again);
out:
	free(text);
	return 0;
}

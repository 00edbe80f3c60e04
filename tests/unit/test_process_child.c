/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Child processes: what they inherit, what they print, how they end.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/file.h"
#include "proc/child.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_US (60 * JS_SECOND_US)

static struct jobstack_error error;
static struct js_buf out, err;
static int status;

/* Runs SCRIPT in a shell. */
static int run(const char *script, struct js_child child, int64_t limit_us)
{
	const char *const argv[] = {"sh", "-c", script, NULL};

	memset(&error, 0, sizeof(error));
	js_buf_reset(&out);
	js_buf_reset(&err);
	js_buf_str(&out, "");
	js_buf_str(&err, "");
	child.argv = argv;
	return js_child_run(&child, &out, &err, limit_us, &status, &error);
}

static void test_output(void **state)
{
	struct js_buf input = {0};

	(void)state;
	js_buf_str(&input, "in\n");
	assert_int_equal(run("cat; echo err >&2; exit 3", (struct js_child){.input = &input}, LIMIT_US), 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	assert_string_equal(out.data, "in\n");
	assert_string_equal(err.data, "err\n");
	assert_int_equal(run("cat; kill -9 $$", (struct js_child){0}, 0), 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(out.len, 0); /* its input is empty */
	assert_int_equal(run("head -c 5000000 /dev/zero", (struct js_child){0}, LIMIT_US), 0);
	assert_true(out.len >= 4 << 20 && out.len < (4 << 20) + 4096); /* the rest was read, and left out */
	js_buf_free(&input);
}

static void test_failures(void **state)
{
	const char *const missing[] = {"no-such-program", NULL}, *const file[] = {"/etc/passwd", NULL};

	(void)state;
	memset(&error, 0, sizeof(error));
	assert_int_equal(js_child_start(&(struct js_child){.argv = missing}, &error), JOBSTACK_EMISSING);
	assert_string_equal(error.text, "no-such-program can't be run: it is not in $PATH");
	memset(&error, 0, sizeof(error));
	assert_int_equal(js_child_start(&(struct js_child){.argv = file}, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, "/etc/passwd can't be run: Permission denied"));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
}

static const char *refuse(const void *arg)
{
	errno = EPERM;
	return arg;
}

static void test_enter(void **state)
{
	(void)state;
	assert_int_equal(run("echo", (struct js_child){.enter = refuse, .arg = "asking"}, LIMIT_US), JOBSTACK_EFILE);
	assert_string_equal(error.text, "sh can't be run: asking: Operation not permitted");
}

/* The group that wrote its number into what was printed has no process any more. */
static void check_group_gone(void)
{
	pid_t group = (pid_t)strtol(out.data, NULL, 10);
	int64_t until = js_clock_mono_us() + LIMIT_US;

	assert_true(group > 1);
	while (kill(-group, 0) == 0 && js_clock_mono_us() < until) /* init has to collect what it adopted */
		js_clock_nap(1000, NULL);
	assert_int_equal(kill(-group, 0), -1);
}

/* One that hangs is ended with its group, after half a second; on a slow machine later, when it has said its group. */
static void check_limit(struct js_child child)
{
	int64_t limit_us = JS_SECOND_US / 2;

	do {
		assert_int_equal(run("echo $$; sleep 1000 & sleep 1000", child, limit_us), JOBSTACK_EFILE);
		assert_non_null(strstr(error.text, "sh did not end within "));
		limit_us *= 4;
	} while (out.len == 0 && limit_us < LIMIT_US);
	check_group_gone();
}

static void test_limit(void **state)
{
	static const volatile int stop = 1;

	(void)state;
	check_limit((struct js_child){0});
	check_limit((struct js_child){.group = JS_CHILD_SESSION});
	assert_int_equal(run("sleep 1000", (struct js_child){.stop = &stop}, LIMIT_US), JOBSTACK_ESTOPPED);
}

static unsigned long long ignored_now(enum js_child_ignored ignored)
{
	assert_int_equal(run("sed -n 's/SigIgn:[[:space:]]*//p' /proc/self/status",
			     (struct js_child){.ignored = ignored}, LIMIT_US),
			 0);
	return strtoull(out.data, NULL, 16);
}

static void test_signals(void **state)
{
	static const int numbers[] = {SIGHUP, SIGUSR1, SIGPIPE};
	const unsigned long long hup = 1ull << (SIGHUP - 1), usr1 = 1ull << (SIGUSR1 - 1);
	sigset_t set;

	(void)state;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < 3; i++)
		(void)signal(numbers[i], SIG_IGN);
	assert_int_equal(ignored_now(JS_CHILD_IGNORED_ALL), hup | usr1);
	assert_int_equal(ignored_now(JS_CHILD_IGNORED_NOHUP), hup);
	assert_int_equal(ignored_now(JS_CHILD_IGNORED_NONE), 0);
	assert_int_equal(run("sed -n 's/SigBlk:[[:space:]]*//p' /proc/self/status", (struct js_child){0}, LIMIT_US), 0);
	assert_int_equal(strtoull(out.data, NULL, 16), 0);
	for (size_t i = 0; i < 3; i++)
		(void)signal(numbers[i], SIG_DFL);
}

static void test_descriptors(void **state)
{
	int open_one = open("/dev/null", O_RDONLY), inherited = dup2(open_one, 7);

	(void)state;
	assert_int_equal(inherited, 7);
	assert_int_equal(run("test -e /proc/self/fd/7", (struct js_child){0}, LIMIT_US), 0);
	assert_int_equal(status, 0);
	assert_int_equal(run("test -e /proc/self/fd/7", (struct js_child){.shut_others = 1}, LIMIT_US), 0);
	assert_int_not_equal(status, 0);
	assert_int_equal(run("test -e /proc/self/fd/3 && ! test -e /proc/self/fd/7",
			     (struct js_child){.shut_others = 1, .extra = 7}, LIMIT_US),
			 0);
	assert_int_equal(status, 0);
	(void)close(7);
	(void)close(open_one);
}

static void test_paths(void **state)
{
	const char *search = "/a::/b";
	struct js_buf file = {0};

	(void)state;
	assert_int_equal(js_child_next_path(&search, "x", &file), 1);
	assert_string_equal(file.data, "/a/x");
	assert_int_equal(js_child_next_path(&search, "x", &file), 1);
	assert_string_equal(file.data, "./x");
	assert_int_equal(js_child_next_path(&search, "x", &file), 1);
	assert_string_equal(file.data, "/b/x");
	assert_int_equal(js_child_next_path(&search, "x", &file), 0);
	js_buf_free(&file);
	assert_true(js_child_is_in_path("sh") && !js_child_is_in_path("no-such-program"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output), cmocka_unit_test(test_failures), cmocka_unit_test(test_enter),
		cmocka_unit_test(test_limit),  cmocka_unit_test(test_signals),	cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

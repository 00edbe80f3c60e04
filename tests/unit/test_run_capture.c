/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Capturing what commands print: real processes, real files.
 */
#define _GNU_SOURCE
#include "run_commands.h"

/* Copies what was captured, as a worker prints it. */
static int copy_capture(int out, int err)
{
	struct js_kept kept[2];

	if (js_capture_look(capture, kept) != 0)
		return -1;
	return js_kept_copy(&kept[0], out, NULL) < 0 || js_kept_copy(&kept[1], err, NULL) < 0 ? -1 : 0;
}

static void test_capture_reuse(void **state)
{
	struct stat st;
	int out, err;
	ino_t first[2];

	(void)state;
	(void)run("true");
	js_capture_files(capture, &out, &err);
	(void)fstat(out, &st);
	first[0] = st.st_ino;
	(void)fstat(err, &st);
	first[1] = st.st_ino;
	assert_int_equal(st.st_nlink, 0);
	(void)run("echo x >&2"); /* the same files: they had stayed empty */
	js_capture_files(capture, &out, &err);
	(void)fstat(out, &st);
	assert_int_equal(st.st_ino, first[0]);
	(void)fstat(err, &st);
	assert_int_equal(st.st_ino, first[1]);
	expect_captured("", "x\n");
	(void)run("echo y"); /* standard error was written to: another file */
	expect_captured("y\n", "");
	(void)run("true");
	expect_captured("", "");
}

/* A process that left the group and lives on writes into its own entry's file, not into the next one's. */
static void test_capture_straggler(void **state)
{
	struct js_reaped r;
	char go[256], script[1024];

	(void)state;
	(void)snprintf(go, sizeof(go), "%s/go", dir);
	(void)snprintf(script, sizeof(script),
		       "echo first; setsid sh -c 'echo up > %s/up; while [ ! -e %s ]; do sleep 0.01; done; echo late; "
		       "echo done > %s/late' & while [ ! -s %s/up ]; do sleep 0.01; done",
		       dir, go, dir, dir);
	r = run(script);
	assert_int_equal(r.exit_code, 0);
	expect_captured("first\n", "");
	r = run("echo second");
	write_file("go", "", 0644);
	wait_for(access("late", F_OK) == 0);
	expect_captured("second\n", "");
}

static void test_capture_fails(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_capture *bad;
	int out, err;

	(void)state;
	assert_int_equal(js_capture_new(&bad, "/proc/none", NULL), 0);
	js_capture_files(bad, &out, &err);
	assert_int_equal(out, -1);
	assert_int_equal(js_capture_begin(bad, &out, &err, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, "/proc/none"));
	js_capture_free(bad);
}

static void test_capture_copy(void **state)
{
	struct js_buf text = {0};
	int fd[2], file = open("both", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char got[64];
	ssize_t n;

	(void)state;
	(void)run("echo out; echo err >&2");
	assert_int_equal(copy_capture(file, file), 0);
	assert_int_equal(copy_capture(file, file), 0);
	content(file, &text);
	assert_string_equal(text.data, "out\nerr\nout\nerr\n");
	(void)close(file);
	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(copy_capture(fd[1], fd[1]), 0);
	n = read(fd[0], got, sizeof(got));
	assert_int_equal(n, 8);
	assert_memory_equal(got, "out\nerr\n", 8);
	(void)close(fd[0]);
	assert_int_equal(copy_capture(fd[1], fd[1]), -1);
	assert_int_equal(errno, EPIPE);
	(void)close(fd[1]);
	fd[0] = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(copy_capture(fd[0], fd[0]), -1);
	assert_int_equal(errno, ENOSPC);
	(void)close(fd[0]);
	js_buf_free(&text);
}

/* A reader that is slow, behind a pipe that does not block: everything arrives. */
static void test_capture_copy_slow(void **state)
{
	int fd[2], status;
	pid_t reader;

	(void)state;
	(void)run("head -c 3000000 /dev/zero");
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	reader = fork();
	if (reader == 0) {
		char block[4096];
		size_t total = 0;
		ssize_t n;

		(void)close(fd[1]);
		while ((n = read(fd[0], block, sizeof(block))) > 0)
			total += (size_t)n;
		_exit(total == 3000000 ? 0 : 1);
	}
	(void)close(fd[0]);
	assert_int_equal(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(copy_capture(fd[1], 2), 0);
	(void)close(fd[1]);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

static void test_open(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct stat st;
	int fd;

	(void)state;
	(void)umask(022);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(js_capture_open("o/p/q.log", &fd, NULL), 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_size, 0);
		assert_int_equal(st.st_mode & 0777, 0644);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		assert_int_equal(write(fd, "x", 1), 1);
		(void)close(fd);
	}
	assert_int_equal(js_capture_open("q.log", &fd, NULL), 0);
	(void)close(fd);
	assert_int_equal(js_capture_open("o/p/q.log/r", &fd, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, "o/p/q.log/r"));
	error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_capture_open("q.log/r/s", &fd, &error), JOBSTACK_EFILE);
	assert_int_equal(js_capture_open("o/p", &fd, NULL), JOBSTACK_EFILE);
	assert_int_equal(js_capture_open("/proc/no/such", &fd, NULL), JOBSTACK_EFILE);
	/* a link: the user's own is followed, another user's is not */
	assert_int_equal(symlink("o/p/q.log", "link"), 0);
	assert_int_equal(js_capture_open("link", &fd, NULL), 0);
	assert_int_equal(write(fd, "kept", 4), 4);
	(void)close(fd);
	if (geteuid() == 0) { /* nobody else can give it away */
		assert_int_equal(lchown("link", 4711, 4711), 0);
		error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
		assert_int_equal(js_capture_open("link", &fd, &error), JOBSTACK_EFILE);
		assert_string_equal(error.text, "can't write link: it is a symbolic link of another user");
	}
	assert_int_equal(stat("o/p/q.log", &st), 0);
	assert_int_equal(st.st_size, 4);
}

static void test_tail(void **state)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char tail[JS_KEPT_TAIL];
	size_t n;

	(void)state;
	(void)run("echo out; echo one >&2; printf two >&2");
	assert_int_equal(copy_capture(null, null), 0);
	n = js_capture_tail(capture, 1, tail);
	assert_int_equal(n, 7);
	assert_memory_equal(tail, "one\ntwo", 7);
	(void)run("seq 10000 19999 >&2"); /* from the beginning of a line */
	assert_int_equal(copy_capture(null, null), 0);
	n = js_capture_tail(capture, 1, tail);
	assert_int_equal(n, 682 * 6);
	assert_memory_equal(tail, "19318\n", 6);
	assert_memory_equal(tail + n - 6, "19999\n", 6);
	(void)run("head -c 9000 /dev/zero | tr '\\0' x >&2"); /* there is none */
	assert_int_equal(copy_capture(null, null), 0);
	assert_int_equal(js_capture_tail(capture, 1, tail), JS_KEPT_TAIL);
	write_file("own", "a\nb\n", 0644);
	assert_int_equal(js_kept_tail_of("own", tail), 4);
	assert_int_equal(js_kept_tail_of("nosuch", tail), 0);
	assert_int_equal(js_kept_tail_of("/dev/zero", tail), 0);
	assert_int_equal(js_kept_tail_of(".", tail), 0);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(js_kept_tail_of("pipe", tail), 0);
	(void)close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capture_reuse),
		cmocka_unit_test(test_capture_straggler),
		cmocka_unit_test(test_capture_fails),
		cmocka_unit_test(test_capture_copy),
		cmocka_unit_test(test_capture_copy_slow),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_tail),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

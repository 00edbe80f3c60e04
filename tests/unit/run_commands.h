/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the tests of src/exec that start real commands share: a directory of their own, one slot, and waiting.
 */
#ifndef TEST_RUN_H
#define TEST_RUN_H

#include "base/clock.h"
#include "base/file.h"
#include "exec/capture.h"
#include "exec/env.h"
#include "exec/reap.h"
#include "exec/spawn.h"
#include "exec/template.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BOUND_US (100 * JS_SECOND_US)

static char dir[] = "/tmp/jobstack-test-XXXXXX";
static struct js_spawn *spawn;
static struct js_capture *capture;
static const struct js_template_values values = {"data/a\nb\\.nc", 12, 17, 2, 1, "st", 5};

static inline int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(js_spawn_new(&spawn, getenv("PATH"), NULL), 0);
	assert_int_equal(js_capture_new(&capture, dir, NULL), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

static inline int teardown(void **state)
{
	char *const rm[] = {(char *)(uintptr_t) "rm", (char *)(uintptr_t) "-rf", dir, NULL};
	int status;
	pid_t pid;

	(void)state;
	js_spawn_free(spawn);
	js_capture_free(capture);
	js_spawn_free(NULL);
	js_capture_free(NULL);
	js_packlog_free(NULL);
	assert_int_equal(chdir("/"), 0);
	pid = fork();
	if (pid == 0) {
		(void)execvp(rm[0], rm);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Starts a script with what it prints going to the capture, or to the given files. */
static inline pid_t start_to(const char *script, int out, int err)
{
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)script, NULL};

	return js_spawn_start(spawn, "/bin/sh", argv, environ, out, err);
}

static inline pid_t start(const char *script)
{
	int out, err;

	assert_int_equal(js_capture_begin(capture, &out, &err, NULL), 0);
	return start_to(script, out, err);
}

/* Waits for the end of PID. */
static inline struct js_reaped collect(pid_t pid)
{
	int64_t until = js_clock_mono_us() + BOUND_US;
	struct js_reaped r;

	while (js_reap_next(&r) != 0) {
		assert_true(js_clock_mono_us() < until);
		js_clock_nap(500, NULL);
	}
	assert_int_equal(r.pid, pid);
	return r;
}

static inline struct js_reaped run(const char *script)
{
	pid_t pid = start(script);

	assert_true(pid > 0);
	return collect(pid);
}

/* Waits until COND (which may have effects) holds. */
#define wait_for(cond)                                                                                                 \
	do {                                                                                                           \
		int64_t until_ = js_clock_mono_us() + BOUND_US;                                                        \
		while (!(cond)) {                                                                                      \
			assert_true(js_clock_mono_us() < until_);                                                      \
			js_clock_nap(500, NULL);                                                                       \
		}                                                                                                      \
	} while (0)

static inline void content(int fd, struct js_buf *buf)
{
	char path[64];

	js_buf_reset(buf);
	js_buf_str(buf, "");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(js_file_read(path, buf), 0);
}

static inline void expect_captured(const char *out, const char *err)
{
	struct js_buf buf = {0};
	int fd[2];

	js_capture_files(capture, &fd[0], &fd[1]);
	content(fd[0], &buf);
	assert_string_equal(buf.data, out);
	content(fd[1], &buf);
	assert_string_equal(buf.data, err);
	js_buf_free(&buf);
}

static inline size_t open_files(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static inline void write_file(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(js_file_replace(path, mode, text, strlen(text)), 0);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the tests of questions to Slurm share: a directory of their own, the place of the module in it, and the proof
 * that no child has run this program's exit handlers.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "slurm/query.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
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

static char dir[] = "/tmp/jobstack-test-XXXXXX";
static struct js_slurm_where where = {dir, 0, NULL};
static int exits; /* written to by a handler that must never run in a child */

static inline void at_exit(void)
{
	(void)js_file_write_all(exits, "x", 1);
}

static inline int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(setenv("JOBSTACK_SLURM", "module", 1), 0);
	assert_int_equal(unsetenv("SLURM_CONF"), 0);
	exits = open("exits", O_WRONLY | O_CREAT | O_APPEND, 0600);
	assert_true(exits >= 0);
	return atexit(at_exit);
}

static inline int teardown(void **state)
{
	static const char *const files[] = {"exits", "module.c", "jobstack_slurm.so", "squeue", "scontrol", "alive"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(files[i]);
	assert_int_equal(chdir("/"), 0);
	return rmdir(dir);
}

static inline void expect(uint32_t id, int rc, const char *text)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job job;

	assert_int_equal(js_slurm_job(&where, id, &job, &error), rc);
	assert_int_equal(job.found, rc == 0);
	assert_string_equal(error.text, text);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
}

static inline void step_is(const struct js_slurm_step *s, int listed, int at_node, int down)
{
	assert_int_equal(s->listed, listed);
	assert_int_equal(s->at_node, at_node);
	assert_int_equal(s->down, down);
}

/* No child has run this program's exit handlers, whatever the module did. */
static inline void test_no_side_effects(void **state)
{
	struct js_buf text = {0};

	(void)state;
	assert_int_equal(js_file_read("exits", &text), 0);
	assert_int_equal(text.len, 0);
	js_buf_free(&text);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asking Slurm through modules that misbehave: none, garbage, another version, one that exits, crashes, hangs.
 * They are compiled here, with the compiler $CC or cc.  (The real module needs a real Slurm.)
 */
#define _GNU_SOURCE
#include "slurm_query.h"

static void compile(const char *source)
{
	const char *cc = getenv("CC");
	char *argv[] = {(char *)(uintptr_t)(cc != NULL ? cc : "cc"),
			(char *)(uintptr_t) "-shared",
			(char *)(uintptr_t) "-fPIC",
			(char *)(uintptr_t) "-o",
			(char *)(uintptr_t) "jobstack_slurm.so",
			(char *)(uintptr_t) "module.c",
			NULL};
	int status;
	pid_t pid;

	assert_int_equal(js_file_replace("module.c", 0600, source, strlen(source)), 0);
	pid = fork();
	if (pid == 0) {
		(void)execvp(argv[0], argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A module whose answer depends on the job's number. */
static void compile_actor(unsigned abi, size_t size)
{
	struct js_buf source = {0};

	js_buf_printf(
		&source,
		"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
		"static void bye(void) { fprintf(stderr, \"bye\\n\"); }\n"
		"static int job(unsigned id, void *out, char *error, size_t n) {\n"
		"memset(out, 0, %zu);\nswitch (id) {\n"
		"case 1: *(int *)out = 1; strcpy((char *)out + %zu, \"RUNNING\"); puts(\"noise\"); return 0;\n"
		"case 2: return 0;\n"
		"case 3: snprintf(error, n, \"no controller\"); return -1;\n"
		"case 4: fputs(\"first\\n\\nfatal: no configuration\\n\", stderr); exit(1);\n"
		"case 5: atexit(bye); exit(0);\n"
		"case 6: abort();\n"
		"case 7: for (;;) pause();\n"
		"case 8: for (;;) fputs(\"error: again\\n\", stderr);\n"
		"default: close(0); close(1); close(2); _exit(0); }}\n"
		"static int user(unsigned uid, const unsigned *ids, size_t k, char *out, char *error, size_t n) {\n"
		"for (size_t i = 0; i < k; i++) { memset(out + i * %zu, 0, %zu); if (ids[i] == uid) *(int *)(out + i * "
		"%zu) = 1; }\n"
		"return uid == 3 ? snprintf(error, n, \"no user\"), -1 : 0; }\n"
		"struct step { unsigned job, step; char node[256]; int look, listed, at_node, down; };\n"
		"static int steps(struct step *s, size_t k, char *error, size_t n) {\n"
		"if (s->job == 3) { snprintf(error, n, \"no steps\"); return -1; }\n"
		"for (size_t i = 0; i < k; i++) { s[i].listed = s[i].step == 1; s[i].down = s[i].step == 2; }\n return "
		"0; }\n"
		"static int at_node(struct step *s, char *error, size_t n) {\n"
		"if (s->step == 7) for (;;) pause();\n if (s->step == 6) abort();\n s->at_node = s->step == 4; return "
		"0; }\n"
		"static int conf(long long *c, char *error, size_t n) { c[0] = 5; strcpy((char *)(c + 1), "
		"\"lab\"); return 0; }\n"
		"static int queued(unsigned uid, const char *stack, void (*tell)(void *, const void *), void *ctx, "
		"char *error, size_t n) {\n"
		"static char q[%zu];\n if (uid == 3) { snprintf(error, n, \"no user\"); return -1; }\n if (uid == 6) "
		"abort();\n"
		"for (unsigned i = 1; i <= uid; i++) { *(unsigned *)q = i; strcpy(q + %zu, stack); tell(ctx, q); }\n "
		"return 0; }\n"
		"struct { unsigned abi, job, step, conf, queued, version; int (*a)(unsigned, void *, char *, size_t);\n"
		"int (*b)(unsigned, const unsigned *, size_t, char *, char *, size_t); int (*c)(struct step *, size_t, "
		"char *, size_t);\n"
		"int (*d)(struct step *, char *, size_t); int (*e)(long long *, char *, size_t);\n"
		"int (*f)(unsigned, const char *, void (*)(void *, const void *), void *, char *, size_t); }\n"
		"jobstack_slurm_ops = {%u, %zu, sizeof(struct step), %zu, %zu, 0, job, user, steps, at_node, conf, "
		"queued};\n",
		sizeof(struct js_slurm_job), offsetof(struct js_slurm_job, state), sizeof(struct js_slurm_job),
		sizeof(struct js_slurm_job), sizeof(struct js_slurm_job), sizeof(struct js_slurm_queued),
		offsetof(struct js_slurm_queued, reason), abi, size, sizeof(struct js_slurm_conf),
		sizeof(struct js_slurm_queued));
	compile(source.data);
	js_buf_free(&source);
}

static void test_no_module(void **state)
{
	const struct js_slurm_where nowhere = {"/proc/none", 0, NULL};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job job;
	struct js_buf found = {0};

	(void)state;
	assert_int_equal(js_slurm_job(&nowhere, 1, &job, &error), JOBSTACK_EMISSING);
	assert_string_equal(error.text, "can't find jobstack's Slurm plugin jobstack_slurm.so (looked in /proc/none)");
	assert_int_equal(js_slurm_job(&nowhere, 1, &job, NULL), JOBSTACK_EMISSING);
	assert_int_equal(js_file_replace("jobstack_slurm.so", 0600, "garbage", 7), 0);
	assert_int_equal(js_slurm_find(&where, &found, NULL), 0);
	assert_memory_equal(found.data, dir, strlen(dir));
	js_buf_free(&found);
	error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_slurm_job(&where, 1, &job, &error), JOBSTACK_ECONFLICT);
	assert_non_null(strstr(error.text, "jobstack's Slurm plugin can't be opened"));
}

static void test_wrong_version(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job job;

	(void)state;
	compile_actor(JS_SLURM_ABI + 1, sizeof(struct js_slurm_job));
	assert_int_equal(js_slurm_job(&where, 1, &job, &error), JOBSTACK_ECONFLICT);
	assert_non_null(strstr(error.text, "another version"));
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job) + 8);
	assert_int_equal(js_slurm_job(&where, 1, &job, NULL), JOBSTACK_ECONFLICT);
	compile("int x;\n");
	assert_int_equal(js_slurm_job(&where, 1, &job, NULL), JOBSTACK_ECONFLICT);
}

static void test_answers(void **state)
{
	struct js_slurm_job job;

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	assert_int_equal(js_slurm_job(&where, 1, &job, NULL), 0);
	assert_string_equal(job.state, "RUNNING");
	expect(1, 0, "");
	expect(2, 1, "");
	expect(3, JOBSTACK_EFILE, "Slurm: no controller");
	expect(4, JOBSTACK_EFILE, "libslurm gave no answer: fatal: no configuration");
	expect(5, JOBSTACK_EFILE, "libslurm gave no answer: bye");
	expect(6, JOBSTACK_EFILE, "libslurm was ended by signal 6");
	expect(9, JOBSTACK_EFILE, "libslurm gave no answer");
}

static void test_limit(void **state)
{
	int64_t begin;

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	where.limit_us = 300000;
	begin = js_clock_mono_us();
	expect(7, JOBSTACK_EFILE, "Slurm did not answer within 0.3 s"); /* by itself it would never end */
	where.limit_us = 0;
	assert_true(js_clock_mono_us() - begin >= 300000);
}

/* One that floods its standard error is stopped as well. */
static void test_flood(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job job;

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	where.limit_us = JS_SECOND_US;
	do { /* it has to have begun by then, under valgrind and on a slow machine, too */
		where.limit_us *= 2;
		error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
		assert_int_equal(js_slurm_job(&where, 8, &job, &error), JOBSTACK_EFILE);
	} while (strstr(error.text, " s: err") == NULL && where.limit_us < 60 * JS_SECOND_US);
	where.limit_us = 0;
	assert_non_null(strstr(error.text, "Slurm did not answer within "));
	assert_non_null(strstr(error.text, " s: err"));
}

static void test_several(void **state)
{
	static const uint32_t ids[] = {1, 2, 1, 6, 1};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job jobs[5];

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	assert_int_equal(js_slurm_jobs(&where, JS_SLURM_ANYBODY, ids, 3, jobs, NULL), 0);
	assert_int_equal(jobs[0].found, 1);
	assert_int_equal(jobs[1].found, 0);
	assert_int_equal(jobs[2].found, 1);
	assert_int_equal(js_slurm_jobs(&where, JS_SLURM_ANYBODY, ids, 5, jobs, &error), JOBSTACK_EFILE);
	assert_int_equal(jobs[2].found, 1);
	assert_int_equal(jobs[3].found, 0);
	assert_int_equal(jobs[4].found, 0);
	assert_int_equal(js_slurm_jobs(&where, JS_SLURM_ANYBODY, ids, 0, jobs, NULL), 0);
}

/* One question for all jobs of a user. */
static void test_user(void **state)
{
	static const uint32_t ids[] = {1, 2, 1}, none[] = {3, 3};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job jobs[3];

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	assert_int_equal(js_slurm_jobs(&where, 1, ids, 3, jobs, NULL), 0);
	assert_int_equal(jobs[0].found, 1);
	assert_int_equal(jobs[1].found, 0);
	assert_int_equal(jobs[2].found, 1);
	assert_int_equal(js_slurm_jobs(&where, 3, none, 2, jobs, &error), JOBSTACK_EFILE);
	assert_string_equal(error.text, "Slurm: no user");
	assert_int_equal(jobs[0].found, 0);
}

/* What a node does not say in time, or dies of, is not known, and no error; what the controller does not say is one. */
static void test_steps(void **state)
{
	static const struct js_slurm_step asked[] = {{.job = 1, .step = 1}, {.job = 1, .step = 2},
						     {.job = 1, .step = 3}, {.job = 1, .step = 4},
						     {.job = 1, .step = 7}, {.job = 1, .step = 3}};
	struct js_slurm_step steps[6];
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int status;

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	where.limit_us = JS_SECOND_US / 2;
	do { /* a slow machine may not come to the one that hangs */
		where.limit_us *= 2;
		memcpy(steps, asked, sizeof(steps));
		status = js_slurm_steps(&where, steps, 6, &error);
	} while ((status != 0 || steps[3].at_node < 0) && where.limit_us < 60 * JS_SECOND_US);
	assert_int_equal(status, 0);
	step_is(&steps[0], 1, -1, 0);
	step_is(&steps[1], 0, -1, 1);
	step_is(&steps[2], 0, 0, 0);
	step_is(&steps[3], 0, 1, 0);
	step_is(&steps[4], 0, -1, 0);
	step_is(&steps[5], 0, -1, 0); /* it stands behind the one that hangs */
	where.limit_us = 0;
	steps[4].step = 6;
	assert_int_equal(js_slurm_steps(&where, steps, 6, &error), 0);
	step_is(&steps[3], 0, 1, 0);
	step_is(&steps[4], 0, -1, 0);
	steps[0].job = 3;
	assert_int_equal(js_slurm_steps(&where, steps, 6, &error), JOBSTACK_EFILE);
	assert_string_equal(error.text, "Slurm: no steps");
	step_is(&steps[2], -1, -1, -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_conf(void **state)
{
	struct js_slurm_conf conf;

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	assert_int_equal(js_slurm_conf(&where, &conf, NULL), 0);
	assert_int_equal(conf.kill_wait_us, 5);
	assert_string_equal(conf.cluster, "lab");
}

/* Another cluster has jobs with the same numbers: its answers do not count. */
static void test_cluster(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static const uint32_t ids[] = {1, 2};
	struct js_slurm_job jobs[2];

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	where.cluster = "lab";
	expect(1, 0, "");
	where.cluster = "";
	expect(1, 0, "");
	where.cluster = "la";
	(void)setenv("SLURM_CONF", "/dev/null", 1);
	expect(1, JOBSTACK_ECONFLICT,
	       "the cluster that answers is \"lab\", not \"la\": type `unset SLURM_CONF`, or set it to the slurm.conf "
	       "of "
	       "\"la\"");
	(void)unsetenv("SLURM_CONF");
	expect(1, JOBSTACK_ECONFLICT,
	       "the cluster that answers is \"lab\", not \"la\": set SLURM_CONF to the slurm.conf of \"la\", or use a "
	       "host of that cluster");
	assert_int_equal(js_slurm_jobs(&where, 1, ids, 2, jobs, &error), JOBSTACK_ECONFLICT);
	assert_int_equal(jobs[0].found, 0);
	where.cluster = NULL;
}

/* The jobs of a stack: as many as there are, of which only so many are kept. */
static void test_queued(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_queued job[2];
	size_t n = 9;

	(void)state;
	compile_actor(JS_SLURM_ABI, sizeof(struct js_slurm_job));
	assert_int_equal(js_slurm_queued(&where, 0, "s", job, 2, &n, &error), 0);
	assert_int_equal(n, 0);
	assert_int_equal(js_slurm_queued(&where, 5, "mystack", job, 2, &n, &error), 0);
	assert_int_equal(n, 5);
	assert_int_equal(job[0].job, 0); /* none has ended */
	assert_int_equal(job[1].job, 1);
	assert_string_equal(job[1].reason, "mystack");
	assert_int_equal(js_slurm_queued(&where, 3, "s", job, 2, &n, &error), JOBSTACK_EFILE);
	assert_string_equal(error.text, "Slurm: no user");
	error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_slurm_queued(&where, 6, "s", job, 2, &n, &error), JOBSTACK_EFILE);
	assert_non_null(strstr(error.text, "ended by signal 6"));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_module), cmocka_unit_test(test_wrong_version),
		cmocka_unit_test(test_queued),	  cmocka_unit_test(test_answers),
		cmocka_unit_test(test_limit),	  cmocka_unit_test(test_flood),
		cmocka_unit_test(test_several),	  cmocka_unit_test(test_user),
		cmocka_unit_test(test_steps),	  cmocka_unit_test(test_conf),
		cmocka_unit_test(test_cluster),	  cmocka_unit_test(test_no_side_effects),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

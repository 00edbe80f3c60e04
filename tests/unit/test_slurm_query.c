/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asking Slurm through modules that misbehave: none, garbage, another version, one that exits, crashes, hangs.
 * They are compiled here, with the compiler $CC or cc.  (The real module needs a real Slurm.)  And through a squeue
 * that is a site's wrapper script: it greets, prints nothing, is cut off, lies about steps, hangs.
 */
#define _GNU_SOURCE
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

static void at_exit(void)
{
	(void)js_file_write_all(exits, "x", 1);
}

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

static int setup(void **state)
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

static int teardown(void **state)
{
	static const char *const files[] = {"exits", "module.c", "jobstack_slurm.so", "squeue", "scontrol", "alive"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlink(files[i]);
	assert_int_equal(chdir("/"), 0);
	return rmdir(dir);
}

static void expect(uint32_t id, int rc, const char *text)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job job;

	assert_int_equal(js_slurm_job(&where, id, &job, &error), rc);
	assert_int_equal(job.found, rc == 0);
	assert_string_equal(error.text, text);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
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

static void step_is(const struct js_slurm_step *s, int listed, int at_node, int down)
{
	assert_int_equal(s->listed, listed);
	assert_int_equal(s->at_node, at_node);
	assert_int_equal(s->down, down);
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

/* No child has run this program's exit handlers, whatever the module did. */
static void test_no_side_effects(void **state)
{
	struct js_buf text = {0};

	(void)state;
	assert_int_equal(js_file_read("exits", &text), 0);
	assert_int_equal(text.len, 0);
	js_buf_free(&text);
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

static char *path; /* $PATH, as it was */

/* Only Slurm's commands are asked, and $PATH begins with ours. */
static int use_commands(void **state)
{
	struct js_buf ours = {0};

	(void)state;
	path = strdup(getenv("PATH"));
	js_buf_printf(&ours, "%s:%s", dir, path);
	assert_int_equal(setenv("PATH", ours.data, 1), 0);
	js_buf_free(&ours);
	return setenv("JOBSTACK_SLURM", "commands", 1);
}

static int use_module(void **state)
{
	(void)state;
	where.limit_us = 0; /* a failed test may have left one */
	assert_int_equal(setenv("PATH", path, 1), 0);
	free(path);
	return setenv("JOBSTACK_SLURM", "module", 1);
}

static void wrap_command(const char *name, const char *lines)
{
	struct js_buf script = {0};

	js_buf_printf(&script, "#!/bin/sh\n%s\n", lines);
	assert_int_equal(js_file_replace(name, 0700, script.data, script.len), 0);
	js_buf_free(&script);
}

static void wrap_squeue(const char *lines)
{
	wrap_command("squeue", lines);
}

#define M "@/jobstack/@"
#define HEAD "echo 'JOBID  " M "STATE " M "R" M "E" M "A" M "S" M "B" M "E" M "H" M "'\n"
#define ROW_UNTIL(id, state, end)                                                                                      \
	"echo '" id "  " M state "  " M "1 " M "9 " M "7 " M "1000 " M "2000 " M end M "n1 " M "'\n"
#define ROW(id, state) ROW_UNTIL(id, state, "NONE ")
#define UNREADABLE "Slurm: squeue printed nothing that jobstack can read (exit status 0)"

/* The job's state as squeue gives it proves nothing. */
static void job_goes_on(const char *script, int has_begun)
{
	struct js_slurm_job job;

	wrap_squeue(script);
	assert_int_equal(js_slurm_job(&where, 5, &job, NULL), 0);
	assert_int_equal(job.terminal, 0);
	assert_int_equal(job.exit_code, -1);
	assert_true(has_begun ? job.start_us == 2000 * JS_SECOND_US : job.start_us == -1);
	assert_int_equal(job.end_us, -1);
}

static void test_command_answers(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_step step = {.job = 5, .step = 0, .node = "n1", .look = 1};
	struct js_slurm_queued queued[3];
	struct js_slurm_job job;
	size_t n;

	(void)state;
	wrap_squeue("echo 'Welcome @ the cluster'; echo 'note: @x@' >&2\n" HEAD ROW("6", "FAILED")
			    ROW("5", "CANCELLED") "echo Bye");
	assert_int_equal(js_slurm_job(&where, 5, &job, NULL), 0);
	assert_string_equal(job.state, "CANCELLED");
	assert_int_equal(job.terminal, 1);
	assert_int_equal(job.restarts, 1);
	assert_int_equal(job.signal, 9);
	assert_int_equal(job.array_job, 7);
	assert_true(job.start_us == 2000 * JS_SECOND_US && job.end_us == -1);
	assert_string_equal(job.batch_host, "n1");
	/* from Slurm 24.11 on, at the latest, two numbers */
	wrap_squeue(HEAD "echo '5 " M "FAILED " M "1 " M "3:0 " M "7 " M "1000 " M "2000 " M "NONE " M "n1 " M "'\n");
	assert_int_equal(js_slurm_job(&where, 5, &job, NULL), 0);
	assert_int_equal(job.exit_code, 3);
	assert_int_equal(job.signal, 0);
	wrap_squeue(HEAD "echo '5 " M "FAILED " M "1 " M "0:15 " M "7 " M "1000 " M "2000 " M "NONE " M "n1 " M "'\n");
	assert_int_equal(js_slurm_job(&where, 5, &job, NULL), 0);
	assert_int_equal(job.exit_code, -1);
	assert_int_equal(job.signal, 15);
	job_goes_on(HEAD ROW("5", "COMPLETING"), 1);
	job_goes_on(HEAD ROW("5", "STOPPED"), 1);
	job_goes_on(HEAD ROW("5", "SIGNALING"), 1);
	job_goes_on(HEAD ROW("5", "STAGE_OUT"), 1);
	job_goes_on(HEAD ROW("5", "A_STATE_TO_COME"), 1);
	job_goes_on(HEAD ROW("5", "REQUEUE_HOLD"), 0);
	job_goes_on(HEAD ROW("5", "SPECIAL_EXIT"), 0);
	job_goes_on(HEAD ROW("5", "RESV_DEL_HOLD"), 0);
	wrap_squeue(HEAD ROW_UNTIL("5", "RUNNING", "9999 "));
	assert_int_equal(js_slurm_job(&where, 5, &job, NULL), 0);
	assert_true(job.end_us == 9999 * JS_SECOND_US);
	wrap_squeue("echo asked >&2; exit 1"); /* of steps, squeue is not asked: it proves nothing */
	wrap_command("scontrol", "echo 'NodeName=n1 Boards=1 State=IDLE Reason=DOWN* State=DOWN'; exit 1");
	assert_int_equal(js_slurm_steps(&where, &step, 1, &error), 0);
	step_is(&step, -1, -1, 0); /* no node's word: no proof */
	wrap_command("scontrol", "echo 'Welcome State=DOWN'; echo 'NodeName=n1 Boards=1 State=IDLE*+DRAIN Reason=x'");
	assert_int_equal(js_slurm_steps(&where, &step, 1, NULL), 0);
	step_is(&step, -1, -1, 1);
	step.look = 0; /* nothing is asked */
	assert_int_equal(js_slurm_steps(&where, &step, 1, NULL), 0);
	step_is(&step, -1, -1, -1);
	/* what users may write: a separator, and lines of their own */
	wrap_squeue("echo 'JOBID" M "T" M "F" M "K" M "S" M "P" M "R" M "N" M "C" M "'\n"
		    "printf '7" M "RUNNING" M "7" M "N/A" M "9" M "p" M "None" M "a@b" M "one\\ntwo" M "\\n'\n"
		    "echo '8" M "COMPLETING" M "8" M "N/A" M "9" M "p" M "None" M "jobstack-a@b" M "(null)" M "'\n"
		    "echo '9" M "REQUEUE_HOLD" M "9" M "0-9%2" M "N/A" M "p" M "held" M "jobstack-a@b" M "" M "'\n");
	assert_int_equal(js_slurm_queued(&where, 0, "a@b", queued, 3, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(queued[0].job, 0);
	assert_int_equal(queued[1].job, 8); /* it may come back */
	assert_int_equal(queued[1].pending, 0);
	assert_int_equal(queued[2].job, 9);
	assert_int_equal(queued[2].pending, 1);
	assert_string_equal(queued[2].tasks, "0-9%2");
}

/* Sites limit how often squeue may be called: one call for all jobs, whosever they are. */
static void test_command_once(void **state)
{
	static const uint32_t ids[] = {5, 8, 6};
	struct js_slurm_job jobs[3];
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	(void)state;
	wrap_squeue("case \"$*\" in *--user*) exit 1;; *--jobs=5,8,6) ;; *) exit 1;; esac\n"
		    "if [ -e alive ]; then echo 'once in two minutes only' >&2; exit 1; fi; : >alive\n" HEAD ROW(
			    "5", "FAILED") ROW("7", "FAILED") ROW("6", "RUNNING"));
	assert_int_equal(js_slurm_jobs(&where, JS_SLURM_ANYBODY, ids, 3, jobs, NULL), 0);
	assert_int_equal(jobs[0].terminal, 1);
	assert_int_equal(jobs[1].found, 0);
	assert_string_equal(jobs[2].state, "RUNNING");
	assert_int_equal(js_slurm_jobs(&where, JS_SLURM_ANYBODY, ids, 3, jobs, &error), JOBSTACK_EFILE);
	assert_string_equal(error.text, "Slurm: squeue: once in two minutes only");
	assert_int_equal(jobs[0].found, 0);
	assert_int_equal(unlink("alive"), 0);
}

static void test_command_failures(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_conf conf;

	(void)state;
	wrap_squeue(HEAD);
	expect(5, 1, "");
	wrap_squeue("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
	expect(5, 1, "");
	wrap_squeue(":"); /* no head line: no answer */
	expect(5, JOBSTACK_EFILE, UNREADABLE);
	wrap_squeue("echo 'once in two minutes only' >&2; echo >&2; exit 1");
	expect(5, JOBSTACK_EFILE, "Slurm: squeue: once in two minutes only");
	wrap_squeue(HEAD ROW("5", "FAILED") "exit 3");
	expect(5, JOBSTACK_EFILE, "Slurm: squeue printed nothing that jobstack can read (exit status 3)");
	wrap_squeue(HEAD ROW("5", "FAILED") "kill -9 $$");
	expect(5, JOBSTACK_EFILE, "Slurm: squeue was ended by signal 9");
	wrap_squeue(HEAD "printf '5 " M "FAILED " M "1'\n");
	expect(5, JOBSTACK_EFILE, UNREADABLE);
	wrap_squeue(HEAD "echo '5 " M "FAILED " M "1'\n");
	expect(5, JOBSTACK_EFILE, UNREADABLE);
	wrap_squeue(HEAD "echo '5 " M "FAILED " M "1 " M "'\n" ROW("6", "FAILED"));
	expect(5, JOBSTACK_EFILE, UNREADABLE);
	wrap_squeue(HEAD ROW("5", "FAILED") "yes | head -c 5000000\n");
	expect(5, JOBSTACK_EFILE, "Slurm: squeue printed more than 4 MiB");
	where.cluster = "a";
	wrap_squeue(HEAD ROW("5", "FAILED"));
	wrap_command("scontrol", "echo 'ClusterName             = b'");
	expect(5, JOBSTACK_ECONFLICT,
	       "the cluster that answers is \"b\", not \"a\": set SLURM_CONF to the slurm.conf of \"a\", or use a "
	       "host of that cluster");
	wrap_command("scontrol", "echo 'Welcome to ClusterName = a'; exit 1");
	expect(5, JOBSTACK_EFILE, "Slurm: scontrol printed nothing that jobstack can read (exit status 1)");
	wrap_command("scontrol", "echo Hello; echo 'ClusterName             = a'");
	expect(5, 0, "");
	where.cluster = NULL;
	wrap_command("scontrol", "echo 'scontrol: fatal: Could not establish a configuration source' >&2; exit 1");
	assert_int_equal(js_slurm_conf(&where, &conf, &error), JOBSTACK_EFILE);
	assert_int_equal(error.server_errno, JS_WHY_NO_SLURM_CONFIG);
	assert_string_equal(error.text, "Slurm: scontrol: fatal: Could not establish a configuration source");
}

/* What squeue finds around it: none of our variables or descriptors. */
static void test_command_surroundings(void **state)
{
	static char longest[300];

	(void)state;
	(void)snprintf(longest, sizeof(longest), "SQUEUE_%0200d", 0);
	assert_int_equal(setenv(longest, "x", 1), 0);
	assert_int_equal(setenv("SQUEUE_FORMAT", "%i", 1), 0);
	assert_int_equal(setenv("SQUEUE_SORT", "i", 1), 0);
	wrap_squeue("[ \"$SLURM_TIME_FORMAT\" = %s ] && [ $LC_ALL = C ] && ! env | grep -q ^SQUEUE_ &&\n"
		    "[ ! -e /proc/$$/fd/3 ] || exit 1\n" HEAD ROW("5", "COMPLETING"));
	expect(5, 0, "");
	assert_string_equal(getenv("SQUEUE_FORMAT"), "%i");
	assert_int_equal(unsetenv("SQUEUE_FORMAT"), 0);
	assert_int_equal(unsetenv("SQUEUE_SORT"), 0);
	assert_int_equal(unsetenv(longest), 0);
}

/* Nothing that squeue has started is left, even if it ignores TERM and we end the child that waits for it. */
static void test_command_hangs(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job job;
	struct pollfd left;
	int begun;
	char byte, limit[64];

	(void)state;
	assert_int_equal(mkfifo("alive", 0600), 0);
	left = (struct pollfd){open("alive", O_RDONLY | O_NONBLOCK | O_CLOEXEC), POLLIN, 0};
	assert_true(left.fd >= 0);
	where.limit_us = JS_SECOND_US / 2;
	wrap_squeue("exec 9>alive; printf x >&9; trap '' TERM; sleep 60 & sleep 60; sleep 60");
	do { /* squeue must have started before the limit ends, which takes longer under valgrind */
		where.limit_us *= 2;
		error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
		assert_int_equal(js_slurm_job(&where, 5, &job, &error), JOBSTACK_EFILE);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
		js_num_duration_text(where.limit_us, limit, sizeof(limit));
		begun = read(left.fd, &byte, 1) == 1 && strstr(error.text, "Slurm did not answer within ") != NULL;
	} while (!begun && where.limit_us < 60 * JS_SECOND_US);
	assert_true(begun);
	assert_string_equal(error.text + strlen("Slurm did not answer within "), limit);
	assert_int_equal(poll(&left, 1, 20000), 1);
	assert_int_equal(read(left.fd, &byte, 1), 0); /* nobody has it open */
	assert_int_equal(close(left.fd), 0);
	/* squeue gets only a part of the limit.  On a busy machine the rest may run out first. */
	wrap_squeue("sleep 60");
	where.limit_us = JS_SECOND_US;
	do {
		error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
		assert_int_equal(js_slurm_job(&where, 5, &job, &error), JOBSTACK_EFILE);
		where.limit_us *= 2;
	} while (strstr(error.text, "Slurm: squeue did not end within ") == NULL && where.limit_us < 60 * JS_SECOND_US);
	assert_non_null(strstr(error.text, "Slurm: squeue did not end within "));
	where.limit_us = 0;
}

/* A plugin that does not fit, and no squeue either: the plugin is what can be mended. */
static void test_command_missing(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_slurm_job job;

	(void)state;
	(void)unlink("squeue");
	assert_int_equal(js_file_replace("jobstack_slurm.so", 0600, "garbage", 7), 0);
	assert_int_equal(setenv("PATH", dir, 1), 0);
	assert_int_equal(unsetenv("JOBSTACK_SLURM"), 0);
	assert_int_equal(js_slurm_job(&where, 5, &job, &error), JOBSTACK_ECONFLICT);
	assert_non_null(strstr(error.text, "jobstack's Slurm plugin can't be opened"));
	wrap_squeue(HEAD);
	expect(5, 1, "");
	assert_int_equal(setenv("JOBSTACK_SLURM", "commands", 1), 0);
	(void)unlink("squeue");
	expect(5, JOBSTACK_EFILE, "Slurm: squeue can't be run: it is not in $PATH");
}

#define COMMAND_TEST(test) cmocka_unit_test_setup_teardown(test, use_commands, use_module)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_module),
		cmocka_unit_test(test_wrong_version),
		cmocka_unit_test(test_queued),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_conf),
		cmocka_unit_test(test_cluster),
		COMMAND_TEST(test_command_answers),
		COMMAND_TEST(test_command_once),
		COMMAND_TEST(test_command_failures),
		COMMAND_TEST(test_command_surroundings),
		COMMAND_TEST(test_command_hangs),
		COMMAND_TEST(test_command_missing),
		cmocka_unit_test(test_no_side_effects),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

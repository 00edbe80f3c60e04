/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asking Slurm by its commands, through a squeue that is a site's wrapper script: it greets, prints nothing, is cut
 * off, lies about steps, hangs.
 */
#define _GNU_SOURCE
#include "slurm_query.h"

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
		COMMAND_TEST(test_command_answers),	COMMAND_TEST(test_command_once),
		COMMAND_TEST(test_command_failures),	COMMAND_TEST(test_command_surroundings),
		COMMAND_TEST(test_command_hangs),	COMMAND_TEST(test_command_missing),
		cmocka_unit_test(test_no_side_effects),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

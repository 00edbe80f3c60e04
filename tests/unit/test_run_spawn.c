/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting commands and collecting them: real processes.
 */
#define _GNU_SOURCE
#include "run_commands.h"
#include "proc/cgroup.h"
#include "proc/proc.h"

/* ------------------------------------------------------------------------------------------ finding and starting */

static void test_resolve(void **state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_buf found = {0};

	(void)state;
	assert_int_equal(js_file_mkdirs("p1/adir", 0777), 0);
	assert_int_equal(js_file_mkdirs("p2", 0777), 0);
	write_file("p1/plain", "x", 0644);
	write_file("p1/prog", "#!/bin/sh\n", 0755);
	write_file("p2/plain", "#!/bin/sh\n", 0755);
	write_file("here", "#!/bin/sh\n", 0755);
	assert_int_equal(js_spawn_resolve("prog", "p0:p2:p1", &found, NULL), 0);
	assert_string_equal(found.data, "p1/prog");
	assert_int_equal(js_spawn_resolve("plain", "p1:p2", &found, NULL), 0); /* looks on */
	assert_string_equal(found.data, "p2/plain");
	assert_int_equal(js_spawn_resolve("here", "p1::p2", &found, NULL), 0);
	assert_string_equal(found.data, "./here");
	assert_int_equal(js_spawn_resolve("p1/prog", NULL, &found, NULL), 0);
	assert_string_equal(found.data, "p1/prog");
	assert_int_equal(js_spawn_resolve("sh", NULL, &found, NULL), 0);
	assert_string_equal(found.data, "/bin/sh");
	assert_int_equal(js_spawn_resolve("plain", "p1", &found, &error), JOBSTACK_EFILE);
	assert_int_equal(errno, EACCES);
	assert_non_null(strstr(error.text, "can't run plain: not executable"));
	error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_spawn_resolve("nothing", "p1:p2", &found, &error), JOBSTACK_EFILE);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(error.text, "can't run nothing: not found in p1:p2");
	error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	assert_int_equal(js_spawn_resolve("p1/adir", NULL, &found, &error), JOBSTACK_EFILE);
	assert_int_equal(errno, EISDIR);
	assert_non_null(strstr(error.text, "directory"));
	assert_int_equal(js_spawn_resolve("adir", "p1", &found, NULL), JOBSTACK_EFILE);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(js_spawn_resolve("p1/prog/x", NULL, &found, NULL), JOBSTACK_EFILE);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(chmod("p2", 0), 0); /* a directory that can't be looked into: not found (root finds it) */
	assert_int_equal(js_spawn_resolve("plain", "p2", &found, NULL), geteuid() == 0 ? 0 : JOBSTACK_EFILE);
	assert_int_equal(geteuid() == 0 ? ENOENT : errno, ENOENT);
	assert_int_equal(chmod("p2", 0700), 0);
	assert_int_equal(js_spawn_resolve("", "p1", &found, NULL), JOBSTACK_EFILE);
	js_buf_free(&found);
}

static void test_exec_failures(void **state)
{
	static const struct {
		const char *path, *text;
		mode_t mode;
		int err;
	} rows[] = {{"./missing", NULL, 0, ENOENT},
		    {"./noexec", "#!/bin/sh\n", 0644, EACCES},
		    {"./nointerpreter", "#!/proc/none\n", 0755, ENOENT},
		    {".", NULL, 0, EACCES}};
	char *nowhere[] = {(char *)(uintptr_t) "jobstack-no-such", NULL};
	size_t files = open_files();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jobstack_error error = JOBSTACK_ERROR_INIT;
		char *argv[] = {(char *)(uintptr_t)rows[i].path, NULL};
		struct js_reaped r;
		pid_t pid;

		if (rows[i].text != NULL)
			write_file(rows[i].path, rows[i].text, rows[i].mode);
		pid = js_spawn_start(spawn, rows[i].path, argv, environ, 1, 2);
		assert_int_equal(pid, -rows[i].err);
		assert_true(js_spawn_is_command(-pid));
		assert_int_equal(js_spawn_error(rows[i].path, -pid, &error), JOBSTACK_EFILE);
		assert_non_null(strstr(error.text, rows[i].path));
		assert_int_equal(js_reap_next(&r), 1); /* no child is left */
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
		assert_int_equal(errno, ECHILD);
	}
	assert_int_equal(js_spawn_start(spawn, NULL, nowhere, environ, 1, 2), -ENOENT);
	assert_false(js_spawn_is_command(EAGAIN));
	assert_false(js_spawn_is_command(ENOMEM));
	assert_false(js_spawn_is_command(E2BIG));
	assert_int_equal(open_files(), files);
}

static void test_too_long(void **state)
{
	size_t len = 256 * 1024; /* over the kernel's limit for one argument */
	char *word = malloc(len + 1);

	(void)state;
	assert_non_null(word);
	memset(word, 'x', len);
	word[len] = '\0';
	assert_int_equal(js_spawn_start(spawn, "/bin/true", (char *[]){word, word, NULL}, environ, 1, 2), -E2BIG);
	free(word);
}

/* A pause between the decision to start a command and its start: the child reads the clocks again. */
static void test_bound(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "touch", (char *)(uintptr_t) "ran-too-late", NULL};
	int64_t wall_us = js_clock_wall_us() - js_clock_mono_us();
	struct js_clock_bound bound = {js_clock_mono_us(), wall_us}; /* the lease is over */
	struct js_reaped r;

	(void)state;
	js_spawn_bind(&bound);
	assert_int_equal(js_spawn_start(spawn, NULL, argv, environ, 1, 2), -ETIME);
	assert_false(js_spawn_is_command(ETIME));
	bound.until_us = INT64_MAX;
	for (int sign = -1; sign <= 1; sign += 2) { /* the wall clock has leapt */
		bound.wall_us = wall_us + sign * 60 * JS_SECOND_US;
		assert_int_equal(js_spawn_start(spawn, NULL, argv, environ, 1, 2), -ETIME);
	}
	assert_int_equal(js_reap_next(&r), 1); /* no child is left */
	assert_int_equal(access("ran-too-late", F_OK), -1);
	js_spawn_bind(NULL);
	assert_int_equal(run("exit 5").exit_code, 5);
}

static void test_exit_and_signal(void **state)
{
	struct js_reaped r;
	int64_t before = js_clock_mono_us();

	(void)state;
	r = run("exit 0");
	assert_int_equal(r.exit_code, 0);
	assert_int_equal(r.signal, 0);
	assert_true(r.ended_us >= before && r.ended_us <= js_clock_mono_us());
	assert_int_equal(run("exit 127").exit_code, 127); /* its own, not ours */
	assert_int_equal(run("exit 255").exit_code, 255);
	r = run("kill -SEGV $$");
	assert_int_equal(r.exit_code, -1);
	assert_int_equal(r.signal, SIGSEGV);
	assert_int_equal(js_reap_next(&r), 1);
}

/* Descriptors above 2 that every child of this process gets, from whoever started the test. */
static int inherited(void)
{
	int n = 0;

	for (int fd = 3; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) == 0;
	return n;
}

/* What a command finds: stdin, group, signals, descriptors, environment. */
static void test_surroundings(void **state)
{
	/* ls has one more open, the directory it reads; signals 32 and 33 are the C library's own */
	static const char script[] = "readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; "
				     "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'; "
				     "echo $JOBSTACK_ENTRY $JOBSTACK_ATTEMPT $JOBSTACK_SLOT $JOBSTACK_STACK "
				     "$JOBSTACK_WORKER; printf %s \"$JOBSTACK_DATAPATH\"; "
				     "set -- $(cat /proc/$$/stat); echo \"$$ $5\" >&2";
	char *argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)script, NULL};
	sigset_t mask, old;
	struct js_env *env;
	struct js_buf expected = {0};
	/* what was opened since js_spawn_new is not the command's, marked or not */
	int out, err, given = inherited(),
		      leak[] = {open("/dev/null", O_RDONLY | O_CLOEXEC), open("/dev/null", O_RDONLY)};
	const char *ignored;
	struct js_buf got = {0};
	pid_t pid;

	(void)state;
	assert_true(leak[0] >= 0 && leak[1] >= 0);
	(void)sigfillset(&mask);
	(void)sigprocmask(SIG_SETMASK, &mask, &old);
	(void)signal(SIGUSR1, SIG_IGN);
	js_spawn_look_signals(spawn);
	assert_int_equal(js_env_new(&env, environ, NULL), 0);
	assert_int_equal(js_capture_begin(capture, &out, &err, NULL), 0);
	pid = js_spawn_start(spawn, "/bin/sh", argv, js_env_for(env, &values), out, err);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	(void)signal(SIGUSR1, SIG_DFL);
	js_spawn_look_signals(spawn);
	assert_true(pid > 0);
	assert_int_equal(collect(pid).exit_code, 0);
	js_buf_printf(&expected, "%ld %ld\n", (long)pid, (long)pid);
	content(err, &got);
	assert_string_equal(got.data, expected.data);
	content(out, &got);
	ignored = strstr(got.data, "180000000") != NULL ? "0000000180000000" : "0000000000000000";
	js_buf_reset(&expected);
	js_buf_printf(&expected, "/dev/null\n%d\nSigBlk:0000000000000000\nSigIgn:%s\n17 2 1 st 5\ndata/a\nb\\.nc",
		      4 + given, ignored);
	assert_string_equal(got.data, expected.data);
	js_buf_free(&expected);
	js_buf_free(&got);
	js_env_free(env);
	(void)close(leak[0]);
	(void)close(leak[1]);
}

/* Descriptors 0 to 2 as targets, in any order, are not mixed up. */
static void test_low_descriptors(void **state)
{
	struct js_reaped r;
	int out, err, keep[2] = {dup(1), dup(2)};
	pid_t pid;

	(void)state;
	assert_int_equal(js_capture_begin(capture, &out, &err, NULL), 0);
	(void)fflush(NULL);
	assert_int_equal(dup2(out, 2), 2);
	assert_int_equal(dup2(err, 1), 1);
	pid = start_to("echo out; echo err >&2", 2, 1);
	assert_int_equal(dup2(keep[0], 1), 1);
	assert_int_equal(dup2(keep[1], 2), 2);
	(void)close(keep[0]);
	(void)close(keep[1]);
	assert_true(pid > 0);
	r = collect(pid);
	assert_int_equal(r.exit_code, 0);
	expect_captured("out\n", "err\n");
}

static void test_script_without_interpreter(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "noline", (char *)(uintptr_t) "a b", (char *)(uintptr_t) "c", NULL};
	int out, err;
	pid_t pid;

	(void)state;
	write_file("noline", "printf '[%s]' \"$0\" \"$@\"\n", 0755);
	assert_int_equal(js_capture_begin(capture, &out, &err, NULL), 0);
	pid = js_spawn_start(spawn, "./noline", argv, environ, out, err);
	assert_true(pid > 0);
	assert_int_equal(collect(pid).exit_code, 0);
	expect_captured("[./noline][a b][c]", "");
}

static void test_kill(void **state)
{
	struct js_reaped r;
	pid_t pid;

	(void)state;
	pid = start("sleep 300 & sleep 300; exit 1");
	assert_true(pid > 0);
	assert_int_equal(js_spawn_kill(pid, SIGTERM), 0);
	r = collect(pid);
	assert_int_equal(r.signal, SIGTERM);
	wait_for(kill(-pid, 0) != 0);
	assert_int_equal(js_spawn_kill(pid, SIGTERM), 0); /* nobody there */
	assert_int_equal(js_spawn_kill(0, SIGTERM), -EINVAL);
	assert_int_equal(js_spawn_kill(-1, SIGTERM), -EINVAL);
	assert_int_equal(js_spawn_kill(1, SIGTERM), -EINVAL);
}

static void test_cancel(void **state)
{
	char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
			(char *)(uintptr_t) "touch ran; exec sleep 1000", NULL};
	struct js_spawn_stop stop = {0, 0, 0};
	struct js_reaped r = {0};
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int64_t until = js_clock_mono_us() + BOUND_US;
	pid_t pid;

	(void)state;
	js_spawn_use_stop(&stop);
	js_spawn_cancel(&stop);
	assert_int_equal(js_spawn_start(spawn, argv[0], argv, environ, null, null), -ECANCELED);
	assert_int_equal(access("ran", F_OK), -1);
	assert_int_equal(js_reap_next(&r), 1);
	stop = (struct js_spawn_stop){0, 0, 0};
	pid = js_spawn_start(spawn, argv[0], argv, environ, null, null);
	assert_true(pid > 0 && stop.born == pid);
	assert_int_equal(js_reap_one(pid, &r), 1);
	js_spawn_cancel(&stop);
	while (js_reap_one(pid, &r) != 0 && js_clock_mono_us() < until)
		js_clock_nap(JS_SECOND_US / 1000, NULL);
	assert_int_equal(r.signal, SIGKILL);
	js_spawn_use_stop(NULL);
	(void)close(null);
}

static void test_stragglers(void **state)
{
	struct js_buf text = {0};
	int out, err;
	pid_t leader, straggler;

	(void)state;
	leader = start("trap '' TERM HUP; (trap '' TERM HUP; exec sleep 300) & echo $!; exit 4");
	assert_true(leader > 0);
	assert_int_equal(collect(leader).exit_code, 4);
	js_capture_files(capture, &out, &err);
	content(out, &text);
	straggler = (pid_t)atol(text.data);
	assert_true(straggler > 1);
	wait_for(js_proc_start(straggler) < 0);
	js_buf_free(&text);
}

static void test_usage(void **state)
{
	struct js_reaped r;

	(void)state;
	/* the shell's child does it: waited-for children count */
	r = run("dd if=/dev/zero of=/dev/null bs=1048576 count=64 2>/dev/null; "
		"i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done");
	assert_int_equal(r.exit_code, 0);
	assert_true(r.user_us + r.system_us > 1000);
	assert_true(r.user_us + r.system_us < BOUND_US);
	assert_true(r.maxrss_kib > 500);
	assert_true(r.read_bytes >= 64 * 1048576);
	assert_true(r.write_bytes >= 64 * 1048576);
	assert_true(r.read_bytes < 2 * 64 * 1048576);
	assert_true(r.major_faults >= 0);
	r = run("head -c 50000000 /dev/zero | tail -n 1 | wc -c"); /* tail keeps it all */
	assert_true(r.maxrss_kib > 40000);
}

static void test_many_at_once(void **state)
{
	pid_t pids[40];
	int out, err, left = 40;
	int64_t until = js_clock_mono_us() + BOUND_US;
	struct js_reaped r;

	(void)state;
	assert_int_equal(js_capture_begin(capture, &out, &err, NULL), 0);
	for (int i = 0; i < 40; i++) {
		char script[32];

		(void)snprintf(script, sizeof(script), "exit %d", i);
		pids[i] = start_to(script, out, err);
		assert_true(pids[i] > 0);
	}
	while (left > 0) {
		assert_true(js_clock_mono_us() < until);
		if (js_reap_next(&r) != 0) {
			js_clock_nap(500, NULL);
			continue;
		}
		for (int i = 0; i < 40; i++)
			if (pids[i] == r.pid) {
				assert_int_equal(r.exit_code, i);
				left--;
			}
	}
	assert_int_equal(js_reap_next(&r), 1);
}

/* ------------------------------------------------------------------------------------------------- out of memory */

static void fake_proc(const char *cgroup, const char *mountinfo)
{
	assert_int_equal(js_file_mkdirs("proc", 0777), 0);
	write_file("proc/cgroup", cgroup, 0644);
	write_file("proc/mountinfo", mountinfo, 0644);
}

static void test_oom(void **state)
{
	const struct js_reaped killed = {.signal = SIGKILL, .exit_code = -1, .ended_us = 1000};
	const struct js_reaped by_shell = {.exit_code = 137, .ended_us = 1000};
	const struct js_reaped late = {.signal = SIGKILL, .exit_code = -1, .ended_us = 60 * JS_SECOND_US};
	const struct js_reaped other = {.exit_code = 1, .ended_us = 1000};
	struct js_reap_oom oom;

	(void)state;
	assert_int_equal(js_file_mkdirs("cg2/job/step", 0777), 0);
	write_file("cg2/job/step/memory.events", "low 0\noom 3\noom_kill 3\noom_group_kill 0\n", 0644);
	fake_proc("1:name=systemd:/x\n0::/job/step\n",
		  "20 1 0:5 / /proc rw - proc proc rw\n30 1 0:6 / cg2 rw,nosuid shared:4 - cgroup2 cgroup rw\n");
	js_reap_oom_begin(&oom, "proc");
	assert_string_equal(oom.file, "cg2/job/step/memory.events");
	assert_int_equal(js_reap_was_oom(&oom, &killed), 0);
	write_file("cg2/job/step/memory.events", "low 0\noom 9\noom_kill 5\n", 0644);
	assert_int_equal(js_reap_was_oom(&oom, &other), 0);
	assert_int_equal(js_reap_was_oom(&oom, &by_shell), 1);
	assert_int_equal(js_reap_was_oom(&oom, &killed), 1); /* the second of the two */
	assert_int_equal(js_reap_was_oom(&oom, &killed), 0);
	write_file("cg2/job/step/memory.events", "oom_kill 7\n", 0644);
	assert_int_equal(js_reap_was_oom(&oom, &killed), 1);
	assert_int_equal(js_reap_was_oom(&oom, &late), 0); /* too late to be of the same time */
	js_reap_oom_end(&oom);
	/* version 1, of which a container sees a part */
	assert_int_equal(js_file_mkdirs("cg1/step", 0777), 0);
	write_file("cg1/step/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 0644);
	fake_proc("4:cpu,memory:/docker/x/step\n0::/\n",
		  "31 1 0:6 /docker/x cg1 rw - cgroup cgroup rw,cpu,memory\n30 1 0:6 / cg2 rw - cgroup2 cgroup rw\n");
	js_reap_oom_begin(&oom, "proc");
	assert_string_equal(oom.file, "cg1/step/memory.oom_control");
	assert_int_equal(oom.seen, 1);
	js_reap_oom_end(&oom);
	fake_proc("0::/nowhere\n", "30 1 0:6 / cg2 rw - cgroup2 cgroup rw\n");
	js_reap_oom_begin(&oom, "proc");
	assert_null(oom.file);
	assert_int_equal(js_reap_was_oom(&oom, &killed), 0);
	js_reap_oom_end(&oom);
	js_reap_oom_begin(&oom, "no/such/proc");
	assert_null(oom.file);
	js_reap_oom_end(&oom);
	js_reap_oom_begin(&oom, "/proc/self"); /* whatever this machine has */
	js_reap_oom_end(&oom);
}

static void test_cpu_quota(void **state)
{
	(void)state;
	assert_int_equal(js_file_mkdirs("cpu2/job/step", 0777), 0);
	fake_proc("0::/job/step\n", "30 1 0:6 / cpu2 rw - cgroup2 cgroup rw\n");
	assert_int_equal(js_cgroup_cpus("proc"), 0);
	write_file("cpu2/job/step/cpu.max", "max 100000\n", 0644);
	assert_int_equal(js_cgroup_cpus("proc"), 0);
	write_file("cpu2/job/cpu.max", "350000 100000\n", 0644); /* that of a parent counts, too */
	assert_int_equal(js_cgroup_cpus("proc"), 3);
	write_file("cpu2/job/step/cpu.max", "50000 100000\n", 0644);
	assert_int_equal(js_cgroup_cpus("proc"), 1);
	/* version 1, of which a container sees a part under another name */
	assert_int_equal(js_file_mkdirs("cpu1", 0777), 0);
	write_file("cpu1/cpu.cfs_quota_us", "-1\n", 0644);
	write_file("cpu1/cpu.cfs_period_us", "100000\n", 0644);
	fake_proc("4:cpu,cpuacct:/docker/x\n0::/job/step\n",
		  "31 1 0:6 / cpu1 rw - cgroup cgroup rw,cpu,cpuacct\n30 1 0:6 / cpu2 rw - cgroup2 cgroup rw\n");
	assert_int_equal(js_cgroup_cpus("proc"), 0);
	write_file("cpu1/cpu.cfs_quota_us", "200000\n", 0644);
	assert_int_equal(js_cgroup_cpus("proc"), 2);
	assert_int_equal(js_cgroup_cpus("no/such/proc"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_exec_failures),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_exit_and_signal),
		cmocka_unit_test(test_surroundings),
		cmocka_unit_test(test_low_descriptors),
		cmocka_unit_test(test_script_without_interpreter),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_stragglers),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_oom),
		cmocka_unit_test(test_cpu_quota),
	};

	(void)dup2(STDIN_FILENO, 9); /* a descriptor that commands inherit */
	return cmocka_run_group_tests(tests, setup, teardown);
}

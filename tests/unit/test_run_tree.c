/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes by their parents: real processes, real orphans.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "exec/spawn.h"
#include "exec/tree.h"
#include "proc/proc.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_US (100 * JS_SECOND_US)
#define MANY 400

/* Starts a child that waits for ever; with DEEP, one that does so below a middle process that has ended, in a session
 * of its own.  Gives the pid of what waits. */
static pid_t start_waiting(int deep)
{
	int tell[2];
	pid_t pid, middle;

	assert_int_equal(pipe(tell), 0);
	middle = fork();
	assert_true(middle >= 0);
	if (middle == 0) {
		if (deep) {
			(void)setsid();
			if (fork() != 0)
				_exit(0);
		}
		pid = getpid();
		if (write(tell[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
			_exit(1);
		(void)close(tell[1]);
		for (;;)
			(void)pause();
	}
	(void)close(tell[1]);
	assert_int_equal(read(tell[0], &pid, sizeof(pid)), sizeof(pid));
	(void)close(tell[0]);
	if (deep)
		assert_int_equal(waitpid(middle, NULL, 0), middle);
	return pid;
}

static int list; /* the kernel's, or -1: as where it keeps none */

static int has_child(pid_t pid)
{
	pid_t pids[64];
	size_t n = js_tree_children(list, pids, 64);

	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return 1;
	return 0;
}

static void await_child(pid_t pid)
{
	int64_t until = js_clock_mono_us() + PATIENCE_US;

	while (!has_child(pid) && js_clock_mono_us() < until)
		js_clock_nap(1000, NULL);
	assert_true(has_child(pid));
}

static void orphans_come_to_the_subreaper(void)
{
	pid_t orphan;
	int status;

	assert_int_equal(js_tree_adopt(), 0);
	orphan = start_waiting(1);
	await_child(orphan);
	assert_int_equal(kill(orphan, SIGKILL), 0);
	assert_int_equal(waitpid(orphan, &status, 0), orphan);
	assert_true(WIFSIGNALED(status));
	assert_false(has_child(orphan));
}

static void test_orphans_come_to_the_subreaper(void **state)
{
	(void)state;
	list = js_tree_open();
	orphans_come_to_the_subreaper();
	if (list >= 0)
		(void)close(list);
	list = -1;
	orphans_come_to_the_subreaper();
}

/* More children than one read of the list takes; and no more are returned than fit. */
static void test_many_children(void **state)
{
	pid_t pids[MANY + 64], started[MANY];
	size_t n, found = 0;

	(void)state;
	list = js_tree_open();
	for (size_t i = 0; i < MANY; i++)
		started[i] = start_waiting(0);
	n = js_tree_children(list, pids, MANY + 64);
	for (size_t i = 0; i < MANY; i++)
		for (size_t j = 0; j < n; j++)
			found += pids[j] == started[i];
	assert_int_equal(found, MANY);
	assert_int_equal(js_tree_children(list, pids, 3), 3);
	assert_int_equal(js_tree_children(list, pids, 0), 0);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(kill(started[i], SIGKILL), 0);
		assert_int_equal(waitpid(started[i], NULL, 0), started[i]);
	}
	assert_int_equal(js_tree_children(list, pids, MANY), n - MANY);
	if (list >= 0)
		(void)close(list);
	list = -1;
}

static int no(const void *ctx)
{
	(void)ctx;
	return 0;
}

static void test_kill_takes_all_below(void **state)
{
	pid_t root, child, beside;
	int tell[2], status;

	(void)state;
	assert_int_equal(js_tree_adopt(), 0);
	beside = start_waiting(0);
	assert_int_equal(pipe(tell), 0);
	root = fork();
	assert_true(root >= 0);
	if (root == 0) { /* as a worker: a subreaper with children near and far */
		(void)js_tree_adopt();
		(void)start_waiting(0);
		child = start_waiting(1);
		if (write(tell[1], &child, sizeof(child)) != (ssize_t)sizeof(child))
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(tell[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(js_tree_kill(root, no, NULL), 0);
	assert_true(js_tree_kill(root, NULL, NULL) >= 2);
	for (int64_t until = js_clock_mono_us() + PATIENCE_US;
	     js_tree_kill(root, NULL, NULL) > 0 && js_clock_mono_us() < until;)
		js_clock_nap(1000, NULL);
	assert_int_equal(js_tree_kill(root, NULL, NULL), 0);
	assert_int_equal(kill(root, 0), 0); /* the root itself is spared, and who is not below it */
	assert_int_equal(waitpid(root, &status, WNOHANG), 0);
	assert_int_equal(waitpid(beside, &status, WNOHANG), 0);
	assert_int_equal(kill(root, SIGKILL) | kill(beside, SIGKILL), 0);
	assert_int_equal(waitpid(root, &status, 0), root);
	assert_int_equal(waitpid(beside, &status, 0), beside);
	(void)close(tell[0]);
	(void)close(tell[1]);
}

static pid_t start_command(char *const envp[])
{
	char sleeper[] = "sleep", forever[] = "1000";
	char *argv[] = {sleeper, forever, NULL};
	struct js_spawn *spawn;
	pid_t pid;

	assert_int_equal(js_spawn_new(&spawn, getenv("PATH"), NULL), 0);
	pid = js_spawn_start(spawn, NULL, argv, envp, 1, 2);
	assert_true(pid > 0);
	js_spawn_free(spawn);
	return pid;
}

static void test_whose_command(void **state)
{
	char worker[] = "JOBSTACK_WORKER=7", entry[] = "JOBSTACK_ENTRY=18446744073709551614",
	     attempt[] = "JOBSTACK_ATTEMPT=3";
	char *whole[] = {worker, entry, attempt, NULL}, *part[] = {worker, attempt, NULL};
	uint64_t w = 0, e = 0;
	uint32_t a = 0;
	pid_t pid = start_command(whole);

	int64_t until = js_clock_mono_us() + PATIENCE_US;

	(void)state;
	while (js_tree_entry(pid, &w, &e, &a) != 0 && js_clock_mono_us() < until)
		js_clock_nap(1000, NULL); /* exec goes on for a moment after vfork has come back */
	assert_int_equal(js_tree_entry(pid, &w, &e, &a), 0);
	assert_int_equal(w, 7);
	assert_int_equal(e, UINT64_C(18446744073709551614));
	assert_int_equal(a, 3);
	assert_int_equal(js_spawn_kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(js_tree_entry(pid, &w, &e, &a), -1);
	pid = start_command(part);
	js_clock_nap(50000, NULL);
	assert_int_equal(js_tree_entry(pid, &w, &e, &a), -1);
	assert_int_equal(js_spawn_kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static uint64_t started(pid_t pid)
{
	struct js_proc proc;

	return js_proc_read(pid, &proc) == 0 ? proc.started : 0;
}

/* Who is younger was started at a later tick, or at the same; who is dead keeps its age until it is collected. */
static void test_age(void **state)
{
	pid_t first = start_waiting(0), later;
	uint64_t age = started(first), other;
	int64_t until = js_clock_mono_us() + PATIENCE_US;

	(void)state;
	assert_true(age > 0 && started(getpid()) > 0 && started(getpid()) <= age);
	do {
		later = start_waiting(0);
		other = started(later);
		assert_true(other >= age);
		assert_int_equal(kill(later, SIGKILL), 0);
		assert_int_equal(waitpid(later, NULL, 0), later);
	} while (other == age && js_clock_mono_us() < until);
	assert_true(other > age);
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)first, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(started(first), age);
	assert_int_equal(waitpid(first, NULL, 0), first);
	assert_int_equal(started(first), 0);
}

/* Who starts a command and is killed takes it along. */
static void test_a_command_dies_with_its_starter(void **state)
{
	char *none[] = {NULL};
	int tell[2], status;
	pid_t starter, command;

	(void)state;
	assert_int_equal(js_tree_adopt(), 0);
	assert_int_equal(pipe(tell), 0);
	starter = fork();
	assert_true(starter >= 0);
	if (starter == 0) {
		command = start_command(none);
		if (write(tell[1], &command, sizeof(command)) != (ssize_t)sizeof(command))
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(tell[0], &command, sizeof(command)), sizeof(command));
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(waitpid(starter, &status, 0), starter);
	assert_int_equal(waitpid(command, &status, 0), command); /* it is ours now */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	(void)close(tell[0]);
	(void)close(tell[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orphans_come_to_the_subreaper),
		cmocka_unit_test(test_many_children),
		cmocka_unit_test(test_kill_takes_all_below),
		cmocka_unit_test(test_whose_command),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_a_command_dies_with_its_starter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

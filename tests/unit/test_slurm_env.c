/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the environment tells of a Slurm job, from environments made up here.
 */
#define _GNU_SOURCE
#include "proc/cgroup.h"
#include "slurm/env.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* LIST: NAME, value, NAME, value, NULL. */
static void read_env(struct js_slurm_env *env, const char *const list[])
{
	assert_int_equal(clearenv(), 0);
	for (; *list != NULL; list += 2)
		assert_int_equal(setenv(list[0], list[1], 1), 0);
	js_slurm_env_read(env);
}

static void test_outside(void **state)
{
	struct js_slurm_env env;
	char host[256] = "";

	(void)state;
	read_env(&env, (const char *const[]){NULL});
	assert_int_equal(env.in_slurm, 0);
	assert_null(env.job);
	assert_null(env.cluster);
	assert_null(env.array_job);
	assert_null(env.array_task);
	assert_null(env.step);
	assert_null(env.account);
	assert_null(env.qos);
	assert_null(env.partition);
	assert_int_equal(env.job_id, -1);
	assert_int_equal(env.start_us, -1);
	assert_int_equal(env.end_us, -1);
	assert_int_equal(env.cpus_per_task, -1);
	assert_int_equal(env.restarts, 0);
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_string_equal(env.node, host);
}

static void test_inside(void **state)
{
	static const char *const list[] = {"SLURM_JOB_ID",
					   "12",
					   "SLURM_CLUSTER_NAME",
					   "lab",
					   "SLURM_ARRAY_JOB_ID",
					   "10",
					   "SLURM_ARRAY_TASK_ID",
					   "3",
					   "SLURM_STEP_ID",
					   "0",
					   "SLURMD_NODENAME",
					   "n4",
					   "SLURM_JOB_ACCOUNT",
					   "acc",
					   "SLURM_JOB_QOS",
					   "normal",
					   "SLURM_JOB_PARTITION",
					   "p",
					   "SLURM_JOB_START_TIME",
					   "1795245039",
					   "SLURM_JOB_END_TIME",
					   "1795245639",
					   "SLURM_CPUS_PER_TASK",
					   "4",
					   "SLURM_RESTART_COUNT",
					   "2",
					   NULL};
	struct js_slurm_env env;

	(void)state;
	read_env(&env, list);
	assert_int_equal(env.in_slurm, 1);
	assert_string_equal(env.job, "12");
	assert_int_equal(env.job_id, 12);
	assert_string_equal(env.cluster, "lab");
	assert_string_equal(env.array_job, "10");
	assert_string_equal(env.array_task, "3");
	assert_string_equal(env.step, "0");
	assert_string_equal(env.node, "n4");
	assert_string_equal(env.account, "acc");
	assert_string_equal(env.qos, "normal");
	assert_string_equal(env.partition, "p");
	assert_int_equal(env.start_us, INT64_C(1795245039000000));
	assert_int_equal(env.end_us, INT64_C(1795245639000000));
	assert_int_equal(env.cpus_per_task, 4);
	assert_int_equal(env.restarts, 2);
}

static void test_old_and_bad(void **state)
{
	struct js_slurm_env env;

	(void)state;
	read_env(&env, (const char *const[]){"SLURM_JOBID", "7", "SLURM_STEPID", "1", "SLURM_JOB_QOS", "", NULL});
	assert_int_equal(env.in_slurm, 1);
	assert_string_equal(env.job, "7");
	assert_string_equal(env.step, "1");
	assert_null(env.qos);
	read_env(&env, (const char *const[]){"SLURM_JOB_ID", "x", "SLURM_JOB_END_TIME", "soon", "SLURM_JOB_START_TIME",
					     "0", "SLURM_CPUS_PER_TASK", "-4", "SLURM_RESTART_COUNT", "many", NULL});
	assert_int_equal(env.in_slurm, 0);
	assert_int_equal(env.end_us, -1);
	assert_int_equal(env.start_us, -1);
	assert_int_equal(env.cpus_per_task, -1);
	assert_int_equal(env.restarts, 0);
	read_env(&env, (const char *const[]){"SLURM_JOB_ID", "4294967296", "SLURM_JOB_END_TIME", "9223372036854775807",
					     NULL});
	assert_int_equal(env.in_slurm, 0);
	assert_int_equal(env.end_us, -1);
}

static void expect_slots_at(const char *job, int is_login, int64_t cpus_per_task, unsigned cpus, unsigned slots,
			    const char *why)
{
	struct js_slurm_env env;
	char text[128];

	read_env(&env, (const char *const[]){"SLURM_JOB_ID", job, NULL});
	env.cpus_per_task = cpus_per_task;
	assert_int_equal(js_slurm_slots(&env, cpus, is_login, text, sizeof(text)), slots);
	assert_string_equal(text, why);
}

static void expect_slots(int64_t cpus_per_task, unsigned cpus, unsigned slots, const char *why)
{
	expect_slots_at("1", 0, cpus_per_task, cpus, slots, why);
}

static void test_slots_outside_jobs(void **state)
{
	(void)state;
	expect_slots_at("", 0, -1, 8, 8, "8 slots: one per CPU");
	expect_slots_at("", 0, -1, 1, 1, "1 slot: one per CPU");
	expect_slots_at("", 1, -1, 8, 4, "4 slots: no more on a login node");
	expect_slots_at("", 1, -1, 4, 4, "4 slots: one per CPU");
	expect_slots_at("", 1, 8, 16, 8, "8 slots: SLURM_CPUS_PER_TASK=8");
	expect_slots_at("1", 1, -1, 8, 1, "1 slot: SLURM_CPUS_PER_TASK is not set");
}

static void test_slots(void **state)
{
	(void)state;
	expect_slots(4, 2, 2, "2 slots: SLURM_CPUS_PER_TASK=4, but only 2 CPUs are available");
	expect_slots(4, 1, 1, "1 slot: SLURM_CPUS_PER_TASK=4, but only 1 CPU is available");
	expect_slots(4, 8, 4, "4 slots: SLURM_CPUS_PER_TASK=4");
	expect_slots(1, 8, 1, "1 slot: SLURM_CPUS_PER_TASK=1");
	expect_slots(-1, 8, 1, "1 slot: SLURM_CPUS_PER_TASK is not set");
}

/* The CPUs follow the affinity mask. */
static void test_cpus(void **state)
{
	unsigned quota = js_cgroup_cpus("/proc/self"), all;
	cpu_set_t before, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	all = (unsigned)CPU_COUNT(&before);
	assert_int_equal(js_slurm_cpus(), quota > 0 && quota < all ? quota : all);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(js_slurm_cpus(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_old_and_bad),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_slots_outside_jobs),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

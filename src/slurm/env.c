/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the environment tells of a Slurm job.  Promise: a variable that is not what it should be counts as not set.
 */
#define _GNU_SOURCE
#include "slurm/env.h"

#include "base/clock.h"
#include "base/num.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The variable NAME, or OTHER (may be NULL) which older releases set; NULL if neither is there or says anything. */
static const char *get_text(const char *(*get)(const char *name), const char *name, const char *other)
{
	const char *value = get(name);

	if ((value == NULL || value[0] == '\0') && other != NULL)
		value = get(other);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

static int64_t parse_env_number(const char *value, int64_t low, int64_t high, int64_t none)
{
	int64_t n;

	return value != NULL && js_num_i64(value, low, high, &n) == 0 ? n : none;
}

/* Seconds since 1970 as microseconds, or -1. */
static int64_t read_seconds(const char *value)
{
	int64_t seconds = parse_env_number(value, 1, INT64_MAX / JS_SECOND_US, -1);

	return seconds < 0 ? -1 : seconds * JS_SECOND_US;
}

void js_slurm_env_read(struct js_slurm_env *env, const char *(*get)(const char *name))
{
	memset(env, 0, sizeof(*env));
	env->job = get_text(get, "SLURM_JOB_ID", "SLURM_JOBID");
	env->job_id = parse_env_number(env->job, 1, UINT32_MAX, -1);
	env->in_slurm = env->job_id >= 0;
	env->cluster = get_text(get, "SLURM_CLUSTER_NAME", NULL);
	env->array_job = get_text(get, "SLURM_ARRAY_JOB_ID", NULL);
	env->array_task = get_text(get, "SLURM_ARRAY_TASK_ID", NULL);
	env->step = get_text(get, "SLURM_STEP_ID", "SLURM_STEPID");
	env->account = get_text(get, "SLURM_JOB_ACCOUNT", NULL);
	env->qos = get_text(get, "SLURM_JOB_QOS", NULL);
	env->partition = get_text(get, "SLURM_JOB_PARTITION", NULL);
	env->start_us = read_seconds(get_text(get, "SLURM_JOB_START_TIME", NULL));
	env->end_us = read_seconds(get_text(get, "SLURM_JOB_END_TIME", NULL));
	env->cpus_per_task = parse_env_number(get_text(get, "SLURM_CPUS_PER_TASK", NULL), 1, INT32_MAX, -1);
	env->restarts = parse_env_number(get_text(get, "SLURM_RESTART_COUNT", NULL), 0, INT32_MAX, 0);
	env->node = get_text(get, "SLURMD_NODENAME", NULL);
	if (env->node != NULL)
		return;
	if (gethostname(env->host, sizeof(env->host) - 1) != 0)
		env->host[0] = '\0';
	env->node = env->host;
}

unsigned js_slurm_cpus(void)
{
	unsigned cpus = 0;

	/* the mask must be as large as the kernel's, which only trying tells */
	for (size_t n = 1024; n <= 1024 * 1024 && cpus == 0; n *= 2) {
		size_t size = CPU_ALLOC_SIZE(n);
		cpu_set_t *set = CPU_ALLOC(n);

		if (set == NULL)
			break;
		if (sched_getaffinity(0, size, set) == 0)
			cpus = (unsigned)CPU_COUNT_S(size, set);
		CPU_FREE(set);
	}
	return cpus > 0 ? cpus : 1;
}

unsigned js_slurm_slots(const struct js_slurm_env *env, unsigned cpus, char *why, size_t size)
{
	int64_t wanted = env->cpus_per_task;
	unsigned slots;

	if (wanted < 0)
		slots = 1;
	else
		slots = (uint64_t)wanted < cpus ? (unsigned)wanted : cpus;
	if (slots < 1)
		slots = 1;
	if (wanted < 0)
		(void)snprintf(why, size, "1 slot: SLURM_CPUS_PER_TASK is not set");
	else if ((uint64_t)wanted > cpus)
		(void)snprintf(why, size, "%u slot%s: SLURM_CPUS_PER_TASK=%lld, but only %u CPU%s available", slots,
			       slots == 1 ? "" : "s", (long long)wanted, cpus, cpus == 1 ? " is" : "s are");
	else
		(void)snprintf(why, size, "%u slot%s: SLURM_CPUS_PER_TASK=%lld", slots, slots == 1 ? "" : "s",
			       (long long)wanted);
	return slots;
}

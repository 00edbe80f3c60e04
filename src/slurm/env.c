/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the environment tells of a Slurm job.  Promise: a variable that is not what it should be counts as not set.
 */
#include "slurm/env.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "proc/cgroup.h"
#include "proc/proc.h"

#include <inttypes.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variable NAME, or OTHER (may be NULL) which older releases set; NULL if neither is there or says anything. */
static const char *get_text(const char *name, const char *other)
{
	const char *value = getenv(name);

	if ((value == NULL || value[0] == '\0') && other != NULL)
		value = getenv(other);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The number that the variable NAME has, if it is one from LOW to HIGH; else UNSET. */
static int64_t get_number(const char *name, int64_t low, int64_t high, int64_t unset)
{
	const char *value = getenv(name);
	int64_t n;

	return value != NULL && js_num_i64(value, low, high, &n) == 0 ? n : unset;
}

/* Seconds since 1970 as microseconds, or -1. */
static int64_t get_time(const char *name)
{
	int64_t seconds = get_number(name, 1, INT64_MAX / JS_SECOND_US, -1);

	return seconds < 0 ? -1 : seconds * JS_SECOND_US;
}

/* The job's memory on a node in MiB; -1: not known, or all that there is. */
static int64_t get_memory(void)
{
	int64_t of_cpu = get_number("SLURM_MEM_PER_CPU", 1, INT32_MAX, -1);
	int64_t cpus = get_number("SLURM_CPUS_ON_NODE", 1, INT32_MAX, -1);

	return get_number("SLURM_MEM_PER_NODE", 1, INT64_MAX, of_cpu < 0 || cpus < 0 ? -1 : of_cpu * cpus);
}

/* Slurm 20.11 sets fewer of these than later releases.  What is not set stays NULL or -1. */
void js_slurm_env_read(struct js_slurm_env *env)
{
	memset(env, 0, sizeof(*env));
	env->job = get_text("SLURM_JOB_ID", "SLURM_JOBID");
	env->job_id = env->job != NULL && js_num_i64(env->job, 1, UINT32_MAX, &env->job_id) == 0 ? env->job_id : -1;
	env->in_slurm = env->job_id >= 0;
	env->cluster = get_text("SLURM_CLUSTER_NAME", NULL);
	env->array_job = get_text("SLURM_ARRAY_JOB_ID", NULL);
	env->array_task = get_text("SLURM_ARRAY_TASK_ID", NULL);
	if (env->array_task != NULL && env->array_task[strspn(env->array_task, "0123456789")] != '\0')
		env->array_task = NULL; /* below another worker it is no number (exec/env.h) */
	env->step = get_text("SLURM_STEP_ID", "SLURM_STEPID");
	env->account = get_text("SLURM_JOB_ACCOUNT", NULL);
	env->qos = get_text("SLURM_JOB_QOS", NULL);
	env->partition = get_text("SLURM_JOB_PARTITION", NULL);
	env->start_us = get_time("SLURM_JOB_START_TIME");
	env->end_us = get_time("SLURM_JOB_END_TIME");
	env->cpus_per_task = get_number("SLURM_CPUS_PER_TASK", 1, INT32_MAX, -1);
	env->nodes = get_number("SLURM_JOB_NUM_NODES", 1, INT32_MAX, get_number("SLURM_NNODES", 1, INT32_MAX, -1));
	env->memory_mib = get_memory();
	env->restarts = get_number("SLURM_RESTART_COUNT", 0, INT32_MAX, 0);
	env->node = get_text("SLURMD_NODENAME", NULL);
	if (env->node != NULL)
		return;
	if (gethostname(env->host, sizeof(env->host) - 1) != 0)
		env->host[0] = '\0';
	env->node = env->host;
}

unsigned js_slurm_cpus(void)
{
	unsigned cpus = 0, quota;

	/* the mask must be as large as the kernel's, whose size is not known */
	for (size_t n = 1024; n <= 1024 * 1024 && cpus == 0; n *= 2) {
		size_t size = CPU_ALLOC_SIZE(n);
		cpu_set_t *set = CPU_ALLOC(n);

		if (set == NULL)
			break;
		if (sched_getaffinity(0, size, set) == 0)
			cpus = (unsigned)CPU_COUNT_S(size, set);
		CPU_FREE(set);
	}
	quota = js_cgroup_cpus("/proc/self");
	if (quota > 0 && quota < cpus)
		cpus = quota;
	return cpus > 0 ? cpus : 1;
}

unsigned js_slurm_slots(const struct js_slurm_env *env, unsigned cpus, int is_login, char *why, size_t size)
{
	int64_t given = env->cpus_per_task; /* -1, or at least 1 */
	int64_t wanted = given >= 0 ? given : env->in_slurm ? 1 : is_login ? JS_SLURM_LOGIN_SLOTS : cpus;
	unsigned slots = wanted < cpus ? (unsigned)wanted : cpus;
	char limit[64] = "";

	if (given > cpus)
		(void)snprintf(limit, sizeof(limit), ", but only %u CPU%s available", cpus,
			       cpus == 1 ? " is" : "s are");
	if (given >= 0)
		(void)snprintf(why, size, "%u slot%s: SLURM_CPUS_PER_TASK=%lld%s", slots, slots == 1 ? "" : "s",
			       (long long)given, limit);
	else if (env->in_slurm)
		(void)snprintf(why, size, "1 slot: SLURM_CPUS_PER_TASK is not set");
	else if (slots < cpus)
		(void)snprintf(why, size, "%u slots: no more on a login node", slots);
	else
		(void)snprintf(why, size, "%u slot%s: one per CPU", slots, slots == 1 ? "" : "s");
	return slots;
}

#define SLURM_INTERACTIVE 0xfffffffaull /* the step of salloc's shell on a node */

/* Finds the step of this process, by the slurmstepd above it.  The environment may name a step of another job: sbatch
 * hands on the SLURM_STEP_ID of where it was called.  Returns 0 if there is no slurmstepd above. */
static int find_step(int64_t job, char step[32])
{
	char path[64], name[32];
	struct js_buf text = {0};
	pid_t pid = getppid();
	struct js_proc proc;
	int64_t of_job;
	int found = 0;

	step[0] = '\0';
	for (int up = 0; up < 64 && pid > 1 && !found; up++) {
		js_buf_reset(&text);
		(void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
		if (js_file_read(path, &text) != 0)
			break;
		found = strncmp(text.data, "slurmstepd: [", 13) == 0;
		if (!found)
			pid = js_proc_read(pid, &proc) == 0 ? proc.parent : -1;
	}
	if (found && sscanf(text.data, "slurmstepd: [%" SCNd64 ".%31[^]]", &of_job, name) == 2 && of_job == job &&
	    strncmp(name, "batch", 5) != 0 && strncmp(name, "extern", 6) != 0)
		(void)snprintf(step, 32, "%llu",
			       strncmp(name, "interactive", 11) == 0 ? SLURM_INTERACTIVE : strtoull(name, NULL, 10));
	js_buf_free(&text);
	return found;
}

/* The step's number in the environment counts only if no slurmstepd is found above: see find_step. */
void js_slurm_identify(struct js_slurm_identity *id, struct jobstack_worker_options *o)
{
	const struct passwd *me = getpwuid(geteuid());

	memset(id, 0, sizeof(*id));
	js_slurm_env_read(&id->env);
	if (gethostname(id->host, sizeof(id->host) - 1) == 0)
		o->host = id->host;
	js_proc_space(id->boot);
	o->boot = id->boot[0] == '\0' ? NULL : id->boot;
	if (me != NULL) {
		(void)snprintf(id->user, sizeof(id->user), "%s", me->pw_name);
		o->user = id->user;
	}
	o->cwd = getcwd(id->cwd, sizeof(id->cwd));
	o->pid = (int64_t)getpid();
	o->pid_start = js_proc_start(getpid());
	o->node = id->env.node[0] == '\0' ? NULL : id->env.node;
	o->job_start_us = id->env.start_us;
	o->cluster = id->env.cluster;
	o->job = id->env.job;
	o->array_job = id->env.array_job;
	o->array_task = id->env.array_task;
	o->step = id->env.step;
	if (id->env.in_slurm && find_step(id->env.job_id, id->step))
		o->step = id->step[0] != '\0' ? id->step : NULL;
	o->account = id->env.account;
	o->qos = id->env.qos;
	o->partition = id->env.partition;
	o->memory_mib = id->env.memory_mib;
	o->nodes = id->env.nodes;
}

static void set_number_variable(const char *name, int64_t n, int replace)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, n > 1 ? n : 1);
	(void)setenv(name, text, replace);
}

/* Removes variables.  NAMES: each with a NUL, and one more at the end. */
static void unset_variables(const char *names)
{
	for (; *names != '\0'; names += strlen(names) + 1)
		(void)unsetenv(names);
}

/* What Slurm said of the whole job, or of the worker's step, becomes what a slot has.  `tasks` would make srun start as
 * many tasks as the job has workers; `binding` would put the commands of all slots on the same CPUs. */
void js_slurm_share(const struct js_slurm_env *env, const char *step, unsigned slots)
{
	static const char tasks[] = "SLURM_NTASKS\0SLURM_NPROCS\0SLURM_NTASKS_PER_NODE\0SLURM_NTASKS_PER_CORE\0"
				    "SLURM_NTASKS_PER_SOCKET\0SLURM_NTASKS_PER_GPU\0SLURM_STEP_NUM_TASKS\0"
				    "SLURM_STEP_TASKS_PER_NODE\0SLURM_DISTRIBUTION\0SRUN_CPUS_PER_TASK\0";
	static const char binding[] = "SLURM_CPU_BIND\0SLURM_CPU_BIND_VERBOSE\0SLURM_CPU_BIND_TYPE\0"
				      "SLURM_CPU_BIND_LIST\0SLURM_OVERLAP\0SLURM_EXACT\0";
	const char *memory = getenv("SLURM_MEM_PER_NODE"), *workers = getenv("SLURM_TASKS_PER_NODE"),
		   *on_node = getenv("SLURM_CPUS_ON_NODE");
	int nested = getenv("JOBSTACK_SLOT") != NULL; /* what is inherited is a slot's share already */
	int in_step = step != NULL && !nested && strtoull(step, NULL, 10) != SLURM_INTERACTIVE;
	int holds = in_step && getenv("SLURM_OVERLAP") == NULL, binds = getenv("SLURM_CPU_BIND") != NULL;
	int64_t here = in_step && workers != NULL ? strtol(workers, NULL, 10) : 1; /* on this node: "2(x3)" */
	int64_t cpus =
		in_step || on_node == NULL || env->cpus_per_task > 0 ? env->cpus_per_task : strtol(on_node, NULL, 10);

	if (!env->in_slurm)
		return;
	unset_variables(tasks);
	if (in_step || slots > 1) { /* else the command has the whole job, perhaps on several nodes */
		if (memory != NULL) /* with all of it, the steps of two slots would wait for each other */
			set_number_variable("SLURM_MEM_PER_NODE",
					    strtoll(memory, NULL, 10) / ((here > 1 ? here : 1) * slots), 1);
		set_number_variable("SLURM_NNODES", 1, 1);
		set_number_variable("SLURM_JOB_NUM_NODES", 1, 1);
		set_number_variable("SLURM_TASKS_PER_NODE", cpus / slots, 1); /* srun ignores it, mpirun wants it */
		set_number_variable("SLURM_CPUS_PER_TASK", cpus / slots, 1);
	}
	if (in_step || slots > 1 || env->cpus_per_task > 0)
		set_number_variable("OMP_NUM_THREADS", cpus / slots, 0);
	if (nested)
		return;
	unset_variables(binding);
	set_number_variable(holds ? "SLURM_OVERLAP" : "SLURM_EXACT", 1, 1);
	if (holds && binds)
		(void)setenv("SLURM_CPU_BIND", "none", 1); /* else the steps of all slots get the first CPUs */
}

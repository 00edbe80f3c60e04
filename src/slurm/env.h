/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the environment tells of the Slurm job that this process is in, and who this process is.  Asks nobody.
 */
#pragma once

#include "jobstack/jobstack.h"

/* Texts are NULL, numbers -1 where the environment does not tell.  The texts are the environment's, and live as long.
 */
struct js_slurm_env {
	int in_slurm; /* there is a job number */
	const char *cluster, *job, *array_job, *array_task, *step;
	const char *account, *qos, *partition;
	const char *node;	  /* Slurm's name of the node, else the host's, else ""; never NULL */
	int64_t job_id;		  /* JOB as a number */
	int64_t start_us, end_us; /* of the job, since 1970; Slurm 23.02 and later */
	int64_t cpus_per_task;
	int64_t memory_mib; /* that the job may use on this node */
	int64_t nodes;
	int64_t restarts; /* how often the job was requeued; 0 if never */
	char host[256];	  /* NODE's memory, if it is the host's name: don't copy the struct, or mend NODE */
};

/* Reads it. */
void js_slurm_env_read(struct js_slurm_env *env);

/* The CPUs that this process may use, by sched_getaffinity and the quota of its cgroup; at least 1. */
unsigned js_slurm_cpus(void);

/* How many slots a worker has by default, of CPUS (js_slurm_cpus): SLURM_CPUS_PER_TASK, or one in a job without it.
 * Elsewhere all of them; if that IS_LOGIN, a host where jobs are submitted, at most JS_SLURM_LOGIN_SLOTS. WHY (SIZE
 * bytes) explains it: "2 slots: SLURM_CPUS_PER_TASK=4, but only 2 CPUs are available". */
#define JS_SLURM_LOGIN_SLOTS 4
unsigned js_slurm_slots(const struct js_slurm_env *env, unsigned cpus, int is_login, char *why, size_t size);

/* Who this process is, for its row in the table of workers. */
struct js_slurm_identity {
	struct js_slurm_env env;
	char host[256], boot[64], user[64], step[32], cwd[4097];
};

/* Fills what OPTIONS says about the process: host, boot, process, user, Slurm job.  The texts are IDENTITY's and the
 * environment's, and live as long.  What is not known is left out. */
void js_slurm_identify(struct js_slurm_identity *identity, struct jobstack_worker_options *options);

/* Changes the environment for the commands of a worker with SLOTS slots in the step STEP (NULL: of the batch script),
 * so that srun and mpirun start what the command asks for, not as many tasks as the job has workers.  CPUs and memory
 * are the slot's share, but in a batch script with one slot the command has the whole job.  Below another worker, what
 * that one set stays.  A step of srun holds the CPUs of the job, and steps of commands must overlap it.  If it was
 * made with SLURM_OVERLAP, as in the batch script itself, it holds none: Slurm gives each step CPUs of its own. */
void js_slurm_share(const struct js_slurm_env *env, const char *step, unsigned slots);

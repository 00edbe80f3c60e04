/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One question to Slurm and the child that asks it.
 */
#pragma once

#include "slurm/query.h"

#include <sys/types.h>

/* What is asked: JOBS, STEPS or STACK's, else the configuration.  The child writes into its copy of them. */
struct js_slurm_question {
	const char *module; /* its file */
	uint32_t uid;
	const uint32_t *job_ids;
	struct js_slurm_job *jobs;
	struct js_slurm_step *steps;
	size_t n;
	const char *stack;		/* its jobs, of which the last answer has job 0 */
	struct js_slurm_answer *answer; /* memory from which the child writes its answers */
};

/* What the child says of one, through a pipe. */
struct js_slurm_answer {
	int32_t code; /* 0, or a JOBSTACK_E code */
	char text[600];
	uint64_t i; /* of which step */
	union {
		struct js_slurm_job job;
		struct js_slurm_step step;
		struct js_slurm_conf conf;
		struct js_slurm_queued queued;
	};
};

/* The child.  Start it as {.pid = -1}. */
struct js_slurm_asking {
	pid_t pid;
	int answers, said; /* the pipes with its answers, and with what libslurm prints */
	char last[300];	   /* of what libslurm printed: the last line */
	size_t last_len;
	int line_ended;
};

/* Starts the child. */
int js_slurm_asking_begin(struct js_slurm_asking *asking, const struct js_slurm_question *question,
			  struct jobstack_error *error);

/* Waits for the next answer.  Returns 1 if it is there, 0 if the child has ended without, -1 at the moment UNTIL. */
int js_slurm_asking_next(struct js_slurm_asking *asking, int64_t until, struct js_slurm_answer *answer);

/* Ends the child, if it has not ended (GONE), and collects it.  Returns how it ended as wait tells, or -1 if that is
 * not known. */
int js_slurm_asking_end(struct js_slurm_asking *asking, int gone);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The private server in a chain of Slurm jobs: when its server is up, each job submits the next one, which waits for
 * its end.
 *
 * Beside the server's directory are DIR.sbatch, the script; DIR.job-N.log, the messages of job N; and DIR.jobs, the
 * numbers of the jobs that may exist, and in a second line their cluster, if it is known.  The chain exists as long as
 * DIR.jobs does: removing the file ends the chain, and a job whose number is not in it ends.
 */
#pragma once

#include "base/clock.h"
#include "server/server.h"
#include "slurm/query.h"

/* a shorter wall time leaves no time between the start and the stop of the server */
#define CHAIN_WALL_US (240 * JS_SECOND_US)

/* Returns DIR with SUFFIX behind it, in a static buffer. */
const char *chain_beside(const char *dir, const char *suffix);

struct chain {
	char jobs[64];	   /* the numbers of its jobs, separated by blanks; "": there is no chain */
	char cluster[128]; /* their Slurm cluster; "": not known */
};

void chain_read(const char *dir, struct chain *chain);
int chain_write(const char *dir, const char *jobs, const char *cluster);

/* Returns the path of the messages of the chain's last job, in a static buffer; NULL if there are none. */
const char *chain_last_log(const char *dir);

/* Asks Slurm for the job JOB of CLUSTER (NULL or "": any), for at most LIMIT.  Returns what js_slurm_job returns; also
 * 1 if JOB is not a number. */
int chain_ask(const char *job, const char *cluster, int64_t limit_us, struct js_slurm_job *out,
	      struct jobstack_error *error);

/* Returns the name of the cluster that sbatch and scancel reach; "" if it does not say. */
const char *chain_cluster(void);

/* In a job, before the start: waits until Slurm has proven that the server of the last job is gone.  Returns 0 if the
 * server should be started, with s->ended_job set if that proof allows it; 1 if the chain was ended. */
int chain_begin(struct server *s);

/* Called when the server is up: submits the next job by the words s->successor.  A failure is only told. */
void chain_submit_next(struct server *s);

/* Called when the server has ended after LIVED_US, cleanly (WELL) or not: decides whether the chain continues. */
void chain_end(struct server *s, int well, int64_t lived_us);

/* Ends the chain and its server.  Returns 1 if the server is stopped; 0 if there is no chain, or its job could not be
 * signalled: then stop the server like any other; or a negative code. */
int chain_stop(struct server *s);

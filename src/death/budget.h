/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Questions to slurmctld that programs ask by themselves.  All programs of a user share them through the ledger: at
 * most one is asked in the time that the site sets, and none while a stored answer can be used.  What a person asks is
 * not limited.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "slurm/env.h"
#include "slurm/query.h"

#include <stdint.h>

#define JS_BUDGET_NEVER INT64_MAX	   /* nothing is asked */
#define JS_BUDGET_HOUR INT64_C(3600000000) /* an answer that a program needs when it starts is valid for so long */

/* Who asks: a cluster's user. */
struct js_budget {
	struct jobstack *handle;
	struct js_slurm_where where;
	const char *cluster; /* $SLURM_CLUSTER_NAME; NULL or "": not known */
	int64_t every_us;    /* the least time between two questions */
};

/* A reservation of the next question about all the user's jobs.  WHAT is "jobs", or "jobs, by commands" for programs
 * without the Slurm plugin: these have questions of their own, so that they never delay the others. */
struct js_reservation {
	const char *what;
	int64_t age_us; /* since the last question; INT64_MAX: there was none, or it lies in the future */
	char token[33];
};

/* Finds out whether a question is due.  Returns 0: it is; 1: it is not; or a negative code.  Fills AGE_US, and changes
 * nothing.  The cluster must be known. */
int js_budget_is_due(const struct js_budget *budget, struct js_reservation *reservation, struct jobstack_error *error);

/* Reserves the question, and fills TOKEN.  Returns 0: the caller is to ask now; 1: another program was quicker; or a
 * negative code. */
int js_budget_reserve(const struct js_budget *budget, struct js_reservation *reservation, struct jobstack_error *error);

/* To be called if Slurm did not answer: other programs may ask after a quarter of the usual time. */
void js_budget_release(const struct js_budget *budget, const struct js_reservation *reservation);

/* Fills CONF with the cluster's name and KillWait, as of an hour ago at most.  If another program is asking Slurm just
 * now, waits some seconds for its answer.  Outside of a job the answer may come from a host that only looks like the
 * same place, so the name must be compared again.  Returns 0, or a negative code with ERROR: it is not known. */
int js_budget_conf(const struct js_budget *budget, struct js_slurm_conf *conf, struct jobstack_error *error);

/* When the caller's own job begins and ends (-1: not known), as of VALID_US ago at most.  The rest of *JOB is not
 * filled.  Results as above. */
int js_budget_job(const struct js_budget *budget, const struct js_slurm_env *env, int64_t valid_us,
		  struct js_slurm_job *job, struct jobstack_error *error);

/* A stack's jobs.  Given are the stack, the user UID, and JOB, the newest job that is known: an answer from before it
 * is not used.  Filled are: LIVE, how many jobs with the stack's name wait or run; QUEUED, one of them in words ("":
 * there is none); and STATE of the newest that has ended since JOB ("": Slurm does not know it, or not any more).  The
 * answer is EVERY_US old at most.  Results as above. */
struct js_budget_stack {
	const char *stack;
	uint64_t uid, job;
	int64_t live;
	char *queued, *state; /* given, with room for JS_BUDGET_WORDS and 64 bytes */
};
#define JS_BUDGET_WORDS 200
int js_budget_stack(const struct js_budget *budget, struct js_budget_stack *jobs, struct jobstack_error *error);

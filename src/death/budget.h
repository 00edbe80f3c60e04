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

/* The right to ask about all the user's jobs.  WHAT is "jobs", or "jobs, by commands" for programs without the Slurm
 * plugin: these have a right of their own, so that they never delay the others. */
struct js_permit {
	const char *what;
	int64_t age_us; /* since the last question; INT64_MAX: there was none, or it lies in the future */
	char token[33];
};

/* Finds out whether it could be taken: 0; 1: it is not due; or a negative code.  Fills AGE_US, and changes nothing. The
 * cluster must be known. */
int js_permit_look(const struct js_budget *budget, struct js_permit *permit, struct jobstack_error *error);

/* Takes it: 0, and the caller is to ask now; 1: others were quicker; or a negative code. */
int js_permit_take(const struct js_budget *budget, struct js_permit *permit, struct jobstack_error *error);

/* Slurm did not answer the caller, which had taken it: others may ask in a quarter of the time. */
void js_permit_fail(const struct js_budget *budget, const struct js_permit *permit);

/* How the cluster is set up, as of an hour ago at most: only the cluster's name and KillWait.  Another program's answer
 * is waited for, for some seconds.  Outside of a job it may be the answer of what only seems to be the same place, so
 * the name must be compared again.  0, or a negative code with ERROR: it is not known. */
int js_budget_conf(const struct js_budget *budget, struct js_slurm_conf *conf, struct jobstack_error *error);

/* When the caller's own job begins and ends (-1: not known), as of VALID_US ago at most.  The rest of *JOB is not
 * filled.  Results as above. */
int js_budget_job(const struct js_budget *budget, const struct js_slurm_env *env, int64_t valid_us,
		  struct js_slurm_job *job, struct jobstack_error *error);

/* A stack's jobs: of user UID, by their names; JOB is the newest that is known, so that an answer from before it is not
 * used.  The rest is filled: how many wait or run, one of them in words ("": none), and the state of the newest that
 * has ended since JOB ("": Slurm does not know it, or not any more).  As of EVERY_US ago at most.  Results as above. */
struct js_budget_stack {
	const char *stack;
	uint64_t uid, job;
	int64_t live;
	char *queued, *state; /* given, with room for JS_BUDGET_WORDS and 64 bytes */
};
#define JS_BUDGET_WORDS 200
int js_budget_stack(const struct js_budget *budget, struct js_budget_stack *jobs, struct jobstack_error *error);

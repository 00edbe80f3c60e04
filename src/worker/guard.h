/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The time guard: nothing is started that will not finish before the Slurm job ends.  It knows when that is, and learns
 * how long entries of this stack take.
 */
#pragma once

#include "slurm/env.h"
#include "worker/config.h"

#include <stddef.h>
#include <stdint.h>

#define GUARD_SAMPLE 256 /* durations that are remembered, the latest ones */

struct guard {
	int64_t begin_us, end_us; /* moments: the job's; end 0: it has none, or nobody knows it; begin 0: not known */
	int64_t margin_us;	  /* so long before the end nothing is to run any more */
	int64_t timeout_us;	  /* no entry takes longer; 0: no such limit */
	int64_t sample[GUARD_SAMPLE];
	size_t n, next;
	int64_t longest_us; /* of the sample */
};

/* Asks when the job ends, which may take seconds; outside of Slurm there is no guard.  *JOB_START_US gets what tells
 * this job from another of its number, if it was asked for.  Returns how long Slurm waits between TERM and KILL (0: not
 * in Slurm); by default its own default. ERROR is filled if the end can't be found out: then there is no guard. */
int64_t guard_ask(struct guard *guard, const struct config *config, const struct js_slurm_env *env,
		  const char *module_dir, int64_t *job_start_us, struct jobstack_error *error);

/* An entry was done in US microseconds. */
void guard_learn(struct guard *guard, int64_t us);

/* What 95 of 100 entries need at most, by the sample; 0 if nothing is known. */
int64_t guard_need_us(const struct guard *guard);

/* The moment from which on nothing more is to be started; INT64_MAX: never. */
int64_t guard_closes_us(const struct guard *guard);

/* Is the job's time over? */
int guard_is_over(const struct guard *guard, int64_t now_us);

/* Has an entry that ran from STARTED until now, when the job ends, had so much of the job's time that it can't be done
 * in one such job?  (It began in the first tenth.) */
int guard_never_fits(const struct guard *guard, int64_t started_us, int64_t now_us);

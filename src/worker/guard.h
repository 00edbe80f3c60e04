/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The time guard: nothing is started that will not finish before the Slurm job ends.  It knows when that is, and learns
 * how long entries of this stack take.
 */
#pragma once

#include "slurm/env.h"
#include "death/budget.h"
#include "worker/config.h"

#include <stddef.h>
#include <stdint.h>

#define GUARD_SAMPLE 256 /* so many durations are remembered */

struct guard {
	int64_t begin_us,
		end_us;	    /* of the job, as moments; end 0: it has none, or it is not known; begin 0: not known */
	int64_t margin_us;  /* no command may run in this time before the end */
	int64_t timeout_us; /* no entry takes longer; 0: no limit */
	int64_t sample[GUARD_SAMPLE];
	size_t n, next;
	int64_t longest_us; /* in the sample */
};

/* Asks when the job ends, as BUDGET allows, which may take seconds; outside of Slurm there is no guard.  If Slurm was
 * asked, *JOB_START_US gets the job's start, which distinguishes this job from another one with its number.  Returns
 * how long Slurm waits between TERM and KILL; 0 outside of Slurm.  If the end can't be found out, ERROR is filled, and
 * there is no guard. */
int64_t guard_ask(struct guard *guard, const struct config *config, const struct js_slurm_env *env,
		  const struct js_budget *budget, int64_t *job_start_us, struct jobstack_error *error);

/* Notes that an entry was done in US microseconds. */
void guard_learn(struct guard *guard, int64_t us);

/* Returns how long 95 of 100 entries take at most, by the sample; 0: not known. */
int64_t guard_need_us(const struct guard *guard);

/* Returns the moment from which on nothing is started any more; INT64_MAX: there is none. */
int64_t guard_closes_us(const struct guard *guard);

/* Returns whether the job's time is over. */
int guard_is_over(const struct guard *guard, int64_t now_us);

/* Returns whether an entry that ran from STARTED until the job's end, which is now, had so much of the job's time that
 * it will not finish in another job either: it began in the first tenth. */
int guard_never_fits(const struct guard *guard, int64_t started_us, int64_t now_us);

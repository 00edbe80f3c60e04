/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The time guard.  Promise: without an end of the job it costs nothing and forbids nothing.
 */
#include "worker/guard.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

#define KILL_WAIT_US (30 * JS_SECOND_US) /* Slurm's own default */
#define MARGIN_US (5 * JS_SECOND_US)
#define NEAR_US (5 * JS_SECOND_US) /* Slurm's signal may come a little before the end as we know it */

/* The environment says when the job ends where Slurm is new enough to set it; else Slurm is asked.  Wall times become
 * moments of this machine's own clock at once, so that a clock that is set later changes nothing. */
int64_t guard_ask(struct guard *guard, const struct config *config, const struct js_slurm_env *env,
		  const struct js_budget *budget, int64_t *job_start_us, struct jobstack_error *error)
{
	int64_t now = js_clock_mono_us(), wall = js_clock_wall_us(), begin = env->start_us, end = env->end_us,
		kill_wait_us;
	struct js_slurm_job job;
	struct js_slurm_conf conf;

	if (!env->in_slurm)
		return 0;
	kill_wait_us =
		js_budget_conf(budget, &conf, error) == 0 && conf.kill_wait_us > 0 ? conf.kill_wait_us : KILL_WAIT_US;
	js_error_clear(error);
	if ((end < 0 || begin < 0) && js_budget_job(budget, env, JS_BUDGET_HOUR, &job, error) == 0) {
		begin = job.start_us;
		end = job.end_us;
		*job_start_us = job.start_us;
	}
	*guard = (struct guard){.margin_us = config->margin_us >= 0 ? config->margin_us : config->grace_us + MARGIN_US,
				.timeout_us = config->timeout_us,
				.begin_us = begin > 0 ? now - (wall - begin) : 0,
				.end_us = end > 0 ? now + (end - wall) : 0};
	return kill_wait_us;
}

/* The sample is a ring.  LONGEST_US is kept up to date, as it is read before each start. */
void guard_learn(struct guard *g, int64_t us)
{
	int64_t old = g->sample[g->next];

	g->sample[g->next] = us;
	g->next = (g->next + 1) % GUARD_SAMPLE;
	if (g->n < GUARD_SAMPLE)
		g->n++;
	else if (old == g->longest_us) { /* it may have been the only one of that length */
		g->longest_us = 0;
		for (size_t i = 0; i < g->n; i++)
			if (g->sample[i] > g->longest_us)
				g->longest_us = g->sample[i];
	}
	if (us > g->longest_us)
		g->longest_us = us;
}

/* The 95th percentile of the sample (nearest rank).  A command can't take longer than --timeout, whatever was seen
 * before. */
int64_t guard_need_us(const struct guard *g)
{
	int64_t sorted[GUARD_SAMPLE], need; /* no duration is negative */

	if (g->n == 0)
		return 0;
	memcpy(sorted, g->sample, g->n * sizeof(sorted[0]));
	qsort(sorted, g->n, sizeof(sorted[0]), js_num_order);
	need = sorted[(g->n * 95 + 99) / 100 - 1];
	return g->timeout_us > 0 && g->timeout_us < need ? g->timeout_us : need;
}

int64_t guard_closes_us(const struct guard *g)
{
	int64_t now = js_clock_mono_us();

	if (g->end_us == 0)
		return INT64_MAX;
	/* far from the end the longest one will do: no need to sort at each start */
	if (now + g->longest_us + g->margin_us + JS_SECOND_US < g->end_us)
		return g->end_us - g->margin_us - g->longest_us;
	return g->end_us - g->margin_us - guard_need_us(g);
}

int guard_is_over(const struct guard *g, int64_t now_us)
{
	return g->end_us != 0 && now_us >= g->end_us - NEAR_US;
}

/* An entry that began later may finish in the next job, where it has more time. */
int guard_never_fits(const struct guard *g, int64_t started_us, int64_t now_us)
{
	return guard_is_over(g, now_us) && g->begin_us != 0 &&
	       started_us - g->begin_us <= (g->end_us - g->begin_us) / 10;
}

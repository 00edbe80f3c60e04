/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the next run should request.  Promise: each number is on the safe side of what was measured, and is a round
 * number.
 */
#include "insight/advice.h"

#include "base/clock.h"

#include <string.h>

#define MINUTE (60 * JS_SECOND_US)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define MIB UINT64_C(1024) /* in KiB */

/* Rounds up to a multiple of STEP, if the number is at most BELOW (0: any number). */
struct rounding {
	uint64_t below, step;
};

static uint64_t round_up(uint64_t n, const struct rounding *r)
{
	while (r->below != 0 && n > r->below)
		r++;
	return n == 0 ? r->step : (n + r->step - 1) / r->step * r->step;
}

static const struct rounding wall[] = {{HOUR, 5 * MINUTE}, {6 * HOUR, 15 * MINUTE}, {48 * HOUR, HOUR}, {0, 6 * HOUR}};
static const struct rounding limit[] = {
	{MINUTE, 10 * JS_SECOND_US}, {HOUR, MINUTE}, {10 * HOUR, 10 * MINUTE}, {0, HOUR}};
static const struct rounding size[] = {{1024 * MIB, 64 * MIB}, {8192 * MIB, 256 * MIB}, {0, 1024 * MIB}};

static uint64_t larger(double a, double b)
{
	return (uint64_t)(a > b ? a : b);
}

/* Memory: the p99 plus a fifth; and, if the largest is at most twice the p99, the largest plus a tenth.  Entries that
 * need more than twice the p99 belong on bigger nodes: not every slot should have that much. */
static void advise_memory(struct insight_advice *a, const struct insight_tally *t)
{
	double p99 = (double)js_sketch_quantile(&t->rss_kib, 0.99), max = (double)t->rss_kib.max;

	if (t->rss_kib.n == 0)
		return;
	a->mem_kib = round_up(larger(1.2 * p99, max <= 2 * p99 ? 1.1 * max : 0), size);
	a->mem_over = js_sketch_between(&t->rss_kib, a->mem_kib + 1, UINT64_MAX);
}

/* Wall time, the largest of: the longest entry plus a quarter; twice the p99; ten times the mean, but at most a day,
 * which few sites refuse.  With ten times the mean, what a job interrupts or leaves idle at its end (half an entry per
 * slot, on average) is at most a twentieth of it.  A job must also last for the wanted wall time plus a fifth. */
static void advise_time(struct insight_advice *a, const struct insight_tally *t, int64_t within_us)
{
	uint64_t us = larger(1.25 * (double)a->longest_us, 2 * (double)a->p99_us);
	double mean = 10 * js_sketch_mean(&t->done_us);

	us = larger((double)us, mean < (double)DAY ? mean : (double)DAY);
	if (within_us > 0)
		us = larger((double)us, 1.2 * (double)within_us);
	a->time_us = (int64_t)round_up(us, wall);
	a->timeout_us = (int64_t)round_up(larger(1.5 * (double)a->longest_us, 3 * (double)a->p99_us), limit);
}

void insight_advice_make(struct insight_advice *a, const struct insight_tally *t, uint64_t left, int64_t within_us)
{
	double busy = t->cpu_of_us > 0 ? t->cpu_us / t->cpu_of_us : 0;

	memset(a, 0, sizeof(*a));
	a->slots = t->slots > 0 ? t->slots : 1;
	a->cpus = busy <= 1.1 ? 1 : (uint32_t)(busy + 0.9);
	a->known = t->done_us.n > 0;
	a->few = t->done_us.n < INSIGHT_FEW;
	advise_memory(a, t);
	if (!a->known)
		return;
	a->longest_us = (int64_t)t->done_us.max;
	a->p99_us = (int64_t)js_sketch_quantile(&t->done_us, 0.99);
	a->are_left = left > 0;
	a->entries = left > 0 ? left : t->n[JOBSTACK_DONE];
	a->work_us = insight_time(t->us) / (double)t->n[JOBSTACK_DONE] * (double)a->entries;
	advise_time(a, t, within_us);
}

/* At the end some slots are idle while others finish their last entry; the p99 is taken as the time that this lasts. */
uint64_t insight_advice_workers(const struct insight_advice *a, int64_t within_us)
{
	double usable = (double)(within_us - a->p99_us), n;

	if (!a->known || within_us <= a->longest_us || usable <= 0)
		return 0;
	n = a->work_us / ((double)a->slots * usable);
	if (n > (double)a->entries / a->slots)
		n = (double)a->entries / a->slots; /* no more slots than entries */
	return (uint64_t)n + ((double)(uint64_t)n < n || n < 1);
}

int64_t insight_advice_takes(const struct insight_advice *a, uint64_t workers)
{
	return (int64_t)(a->work_us / ((double)a->slots * (double)workers)) + a->p99_us;
}

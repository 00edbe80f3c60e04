/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of a report.  Promise: each number that it recommends is on the safe side of what was measured,
 * and is a round number.
 */
#include "figures/report.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SURE 3.0 /* standard errors */
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

/* Returns the larger one as a whole number. */
static uint64_t larger_of(double a, double b)
{
	return (uint64_t)(a > b ? a : b);
}

/* Recommends memory: the p99 plus a fifth; and, if the largest is at most twice the p99, the largest plus a tenth.
 * Entries that need more than twice the p99 belong on bigger nodes: not every slot should have that much. */
static void recommend_memory(struct figures_recommendation *a, const struct figures_tally *t)
{
	double p99 = (double)js_sketch_quantile(&t->rss_kib, 0.99), max = (double)t->rss_kib.max;

	if (t->rss_kib.n == 0)
		return;
	a->mem_kib = round_up(larger_of(1.2 * p99, max <= 2 * p99 ? 1.1 * max : 0), size);
	a->mem_over = js_sketch_between(&t->rss_kib, a->mem_kib + 1, UINT64_MAX);
}

/* Recommends a wall time, the largest of: the longest entry plus a quarter; twice the p99; ten times the mean, but at
 * most a day, which few sites refuse.  With ten times the mean, what a job interrupts or leaves idle at its end (half
 * an entry per slot, on average) is at most a twentieth of it.  A job must also last for the wanted wall time plus a
 * fifth. */
static void recommend_time(struct figures_recommendation *a, const struct figures_tally *t, int64_t within_us)
{
	uint64_t us = larger_of(1.25 * (double)a->longest_us, 2 * (double)a->p99_us);
	double mean = 10 * js_sketch_mean(&t->done_us);

	us = larger_of((double)us, mean < (double)DAY ? mean : (double)DAY);
	if (within_us > 0)
		us = larger_of((double)us, 1.2 * (double)within_us);
	a->time_us = (int64_t)round_up(us, wall);
	a->timeout_us = (int64_t)round_up(larger_of(1.5 * (double)a->longest_us, 3 * (double)a->p99_us), limit);
}

/* Makes the recommendations from the tally.  LEFT: how many entries have not ended; if there are none, the next run is
 * taken to be as large as this one.  The work per entry includes what failed attempts cost.  WITHIN_US: the wanted wall
 * time, or -1. */
static void make_recommendation(struct figures_recommendation *a, const struct figures_tally *t, uint64_t left,
				int64_t within_us)
{
	double busy = t->cpu_of_us > 0 ? t->cpu_us / t->cpu_of_us : 0;

	memset(a, 0, sizeof(*a));
	a->slots = t->slots > 0 ? t->slots : 1;
	a->cpus = busy <= 1.1 ? 1 : (uint32_t)(busy + 0.9);
	a->known = t->done_us.n > 0;
	a->few = t->done_us.n < FIGURES_FEW;
	recommend_memory(a, t);
	if (!a->known)
		return;
	a->longest_us = (int64_t)t->done_us.max;
	a->p99_us = (int64_t)js_sketch_quantile(&t->done_us, 0.99);
	a->are_left = left > 0;
	a->entries = left > 0 ? left : t->n[JOBSTACK_DONE];
	a->work_us = figures_time(t->us) / (double)t->n[JOBSTACK_DONE] * (double)a->entries;
	recommend_time(a, t, within_us);
}

/* At the end some slots are idle while others finish their last entry; the p99 is taken as the time that this lasts. */
uint64_t figures_recommendation_workers(const struct figures_recommendation *a, int64_t within_us)
{
	double usable = (double)(within_us - a->p99_us), n;

	if (!a->known || within_us <= a->longest_us || usable <= 0)
		return 0;
	n = a->work_us / ((double)a->slots * usable);
	if (n > (double)a->entries / a->slots)
		n = (double)a->entries / a->slots; /* no more slots than entries */
	return (uint64_t)n + ((double)(uint64_t)n < n || n < 1);
}

int64_t figures_recommendation_takes(const struct figures_recommendation *a, uint64_t workers)
{
	return (int64_t)(a->work_us / ((double)a->slots * (double)workers)) + a->p99_us;
}

int figures_report_so_far(const struct figures_report *r)
{
	return figures_stack_left(&r->stack.s) > 0 && r->stack.s.state != JOBSTACK_CANCELLED;
}

/* Bars without an attempt are kept, up to that of the longest: gaps are part of the picture. */
size_t figures_report_histogram(const struct js_sketch *us, struct figures_bar bar[FIGURES_BARS])
{
	static const int64_t s = JS_SECOND_US;
	const int64_t edge[FIGURES_BARS + 1] = {0,	   1000,       2000,	   5000,	10000,	   20000,
						50000,	   100000,     200000,	   500000,	s,	   2 * s,
						5 * s,	   10 * s,     30 * s,	   60 * s,	120 * s,   300 * s,
						600 * s,   1800 * s,   3600 * s,   7200 * s,	18000 * s, 43200 * s,
						86400 * s, 172800 * s, 604800 * s, 2592000 * s, INT64_MAX};
	size_t n = 0;

	for (; n < FIGURES_BARS && us->n > 0 && (uint64_t)edge[n] <= us->max; n++)
		bar[n] = (struct figures_bar){edge[n], edge[n + 1],
					      js_sketch_between(us, (uint64_t)edge[n], (uint64_t)edge[n + 1] - 1)};
	return n;
}

/* The rules depend on the wanted time, so they are applied anew for each time that is tried. */
uint64_t figures_report_request(const struct figures_report *r, struct figures_recommendation *a, int64_t *within_us)
{
	static const int64_t minutes[] = {10, 60, 8 * 60, 24 * 60};
	uint64_t left = figures_report_so_far(r) ? figures_stack_left(&r->stack.s) : 0, workers = 0;

	*a = r->recommendation;
	*within_us = r->wanted_us;
	if (r->wanted_us >= 0)
		return figures_recommendation_workers(a, r->wanted_us);
	for (size_t i = 0; i < 4 && (workers == 0 || workers > r->tally->node_n); i++) {
		*within_us = minutes[i] * 60 * JS_SECOND_US;
		make_recommendation(a, r->tally, left, *within_us);
		workers = figures_recommendation_workers(a, *within_us);
	}
	if (workers == 0)
		*a = r->recommendation;
	return workers;
}

/* The stack's counters say how many entries are done now, the timeline how many of them ended in its steps.  What the
 * timeline does not have (it was done before --since, or its attempts are pruned) was done before the first step.  An
 * entry that runs is counted by its time: RUNNING is the average over the step. */
size_t figures_report_steps(const struct figures_report *r, struct figures_step step[FIGURES_REPORT_STEPS],
			    int64_t *step_us)
{
	const struct jobstack_status *s = &r->stack.s;
	const struct js_timeline *l = &r->tally->timeline; /* it fits */
	uint64_t all = s->pushed - s->moved, done = s->done + s->pruned, failed = 0, count = r->tally->n[JOBSTACK_DONE];
	size_t from, to;

	*step_us = l->step_us;
	if (js_timeline_range(l, &from, &to) != 0)
		return 0;
	done -= count < done ? count : done; /* what was done before, or has no attempts any more */
	for (size_t i = from; i <= to; i++) {
		const uint64_t *c = l->count[i];
		double busy = (double)c[FIGURES_BUSY] / (double)l->step_us;
		uint64_t rest, at_once = (uint64_t)(busy + .5);

		done += c[FIGURES_DONE];
		failed += c[FIGURES_FAILED];
		/* what was pushed later counts as left from the beginning: the stack does not know when its entries
		 * came */
		rest = all > done + failed ? all - done - failed : 0;
		step[i - from] = (struct figures_step){
			.from_us = (l->first + (int64_t)i) * l->step_us,
			.done = c[FIGURES_DONE],
			.not_done = c[FIGURES_NOT_DONE],
			.all_done = done,
			.failed = failed,
			.left = rest > at_once ? rest - at_once : 0,
			.at_work = rest > at_once ? at_once : rest,
			.running = busy,
			.workers = r->tally->worker_n < FIGURES_WORKERS ? (double)c[FIGURES_WORKER] / (double)l->step_us
									: -1,
		};
	}
	return to - from + 1;
}

/* Returns Wilson's confidence bound of the share PART / ALL: the lower one if SIDE is -1, the upper one if it is 1.
 * Unlike the mean plus or minus its error, it is right for few attempts and for shares near 0, too. */
static double share_bound(double part, double all, int side)
{
	double z2 = SURE * SURE, p = part / all;

	return (p + z2 / (2 * all) + side * SURE * sqrt(p * (1 - p) / all + z2 / (4 * all * all))) / (1 + z2 / all);
}

static double count_bad(const struct figures_tally_node *n)
{
	return (double)(n->n[JOBSTACK_FAILED] + n->n[JOBSTACK_LOST]);
}

/* Sets FAILS of each node whose share of failed and lost attempts is more than twice that elsewhere, even if both are
 * off by three standard errors.  Sets SLOW of each node whose done attempts take over a quarter longer than elsewhere,
 * even if its own mean is off by three standard errors. */
static void judge_nodes(struct figures_tally *t)
{
	struct figures_tally_node *node = t->node;
	size_t n = t->node_n;
	double bad = 0, ended = 0, done = 0, us = 0;

	for (size_t i = 0; i < n; i++) { /* an interrupted attempt says nothing about its node */
		bad += count_bad(&node[i]);
		ended += count_bad(&node[i]) + (double)node[i].n[JOBSTACK_DONE];
		done += (double)node[i].took.n;
		us += node[i].took.mean * (double)node[i].took.n;
	}
	for (size_t i = 0; i < n; i++) {
		struct figures_tally_node *one = &node[i];
		double here = count_bad(one) + (double)one->n[JOBSTACK_DONE], took = (double)one->took.n;

		one->fails =
			here > 0 && ended > here &&
			share_bound(count_bad(one), here, -1) > 2 * share_bound(bad - count_bad(one), ended - here, 1);
		if (one->took.n < 2 || done <= took)
			continue;
		one->slow = one->took.mean - SURE * sqrt(one->took.squares / (took - 1) / took) >
			    1.25 * (us - one->took.mean * took) / (done - took);
	}
}

static int read_attempts(struct jobstack *handle, const char *name, struct figures_report *r, struct figures_pass *pass,
			 struct jobstack_error *error)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;

	o.since_us = r->since_us;
	o.within_us = r->within_us;
	o.no_datapath = 1;
	JS_TRY(figures_tally_read(handle, name, &o, pass, error));
	judge_nodes(r->tally);
	figures_tally_end(r->tally);
	js_timeline_fit(&r->tally->timeline, FIGURES_REPORT_STEPS);
	return 0;
}

static int copy_slowest_datapath(void *ctx, const struct jobstack_item *item)
{
	struct figures_report *r = ctx;

	for (size_t i = 0; i < r->tally->slow_n; i++)
		if (r->tally->slow[i].entry == item->entry && r->slow[i].len == 0)
			js_buf_add(&r->slow[i], item->datapath.data, item->datapath.len);
	return 0;
}

/* Only the slowest attempts need datapaths, so the pass over all attempts reads none. */
static int read_slowest_datapaths(struct jobstack *handle, const char *name, struct figures_report *r,
				  struct jobstack_error *error)
{
	uint64_t entry[FIGURES_SLOWEST];

	for (size_t i = 0; i < r->tally->slow_n; i++)
		entry[i] = r->tally->slow[i].entry;
	qsort(entry, r->tally->slow_n, sizeof(entry[0]), js_num_order);
	return jobstack_datapaths(handle, name, entry, r->tally->slow_n, copy_slowest_datapath, r, error);
}

/* Adds the attempts of a list to the package that its LINE names: "NAME VERSION".  0, or -1: out of memory. */
static int add_package(struct figures_packages *all, const char *line, const struct figures_tally_list *list)
{
	struct figures_package new = {.entries = 0};
	int name = (int)strcspn(line, " \n"), version = (int)strcspn(line, "\n") - name;
	size_t i = 0;

	(void)snprintf(new.name, sizeof(new.name), "%.*s", name, line);
	(void)snprintf(new.version, sizeof(new.version), "%.*s", version > 0 ? version - 1 : 0, line + name + 1);
	while (i < all->n && (strcmp(all->at[i].name, new.name) != 0 || strcmp(all->at[i].version, new.version) != 0))
		i++;
	if (i == all->n) {
		if (js_array_grow(&all->at, &all->capacity, i + 1, sizeof(new)) != 0)
			return -1;
		all->at[all->n++] = new;
	}
	all->at[i].entries += list->n;
	for (size_t byte = 0; byte < sizeof(list->nodes); byte++)
		all->at[i].on[byte] |= list->nodes[byte];
	return 0;
}

/* Orders packages by their attempts, the most first, then by name and version. */
static int compare_packages(const void *a, const void *b)
{
	const struct figures_package *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (x->entries != y->entries)
		return x->entries > y->entries ? -1 : 1;
	return names != 0 ? names : strcmp(x->version, y->version);
}

/* Counts which Python packages the attempts imported.  Attempts that imported the same list have its number, so each
 * list is read once.  With --share, packages that are not public are counted only in MORE.  0, or -1: out of memory. */
static int count_packages(struct figures_report *r)
{
	const struct figures_tally_list *list = r->tally->packages;
	struct figures_packages *all = &r->packages;
	size_t n = 0;

	for (size_t i = 0; i < FIGURES_LISTS && list[i].number != 0; i++) {
		const char *line = figures_facts_text(&r->facts, JOBSTACK_FACT_PACKAGES, list[i].number);

		for (; line != NULL && *line != '\0'; line += strcspn(line, "\n"), line += *line != '\0')
			if (add_package(all, line, &list[i]) != 0)
				return -1;
	}
	if (all->n > 0)
		qsort(all->at, all->n, sizeof(*all->at), compare_packages);
	for (size_t i = 0; i < all->n; i++) {
		struct figures_package *one = &all->at[i];

		if (n == FIGURES_PACKAGES || (figures_share_hides(r->share, FIGURES_SHARE_PACKAGES) &&
					      !r->share->is_public(r->share->ctx, one->name)))
			continue;
		for (size_t byte = 0; byte < sizeof(one->on); byte++)
			one->nodes += (uint64_t)__builtin_popcount(one->on[byte]);
		all->at[n++] = *one;
	}
	all->more = all->n - n;
	all->n = n;
	return 0;
}

/* Removes what is to be left out.  It is called when all figures have been read, so no view can show it. */
static int remove_hidden(const struct figures_share *share, struct figures_report *r, struct jobstack_error *error)
{
	for (size_t i = 0; i < FIGURES_SLOWEST && figures_share_hides(share, FIGURES_SHARE_DATAPATHS); i++)
		js_buf_free(&r->slow[i]);
	if (figures_share_hides(share, FIGURES_SHARE_DATAPATHS))
		js_buf_free(&r->stack.cwd);
	if (figures_share_hides(share, FIGURES_SHARE_MESSAGES))
		js_buf_free(&r->stack.note);
	if (figures_share_hides(share, FIGURES_SHARE_USERS)) {
		r->tally->user_n = 0;
		r->tally->more_users = 0;
	}
	figures_share_failures(share, &r->failures);
	return figures_share_facts(share, &r->facts) == 0 ? 0 : js_error_memory(error);
}

/* Reads the attempts in one pass; everything else is a query of its own, of constant length.  Why nobody works is not
 * part of a shared report, since it quotes a log and a reason. */
int figures_report_read(struct jobstack *handle, const char *name, struct figures_report *r,
			figures_progress_fn *progress, void *ctx, struct jobstack_error *error)
{
	struct figures_pass pass = {r->tally = figures_tally_new(), progress, ctx};
	int status = r->tally == NULL ? js_error_memory(error) : figures_stack_read(handle, name, &r->stack, error);

	JS_THEN(status, read_attempts(handle, name, r, &pass, error));
	JS_THEN(status, read_slowest_datapaths(handle, name, r, error));
	JS_THEN(status, figures_facts_read(&r->facts, handle, name, error));
	if (status == 0 && count_packages(r) != 0)
		status = js_error_memory(error);
	if (status == 0 && figures_report_so_far(r))
		status = jobstack_pace(handle, name, &r->pace, error);
	if (status == 0 && r->share == NULL)
		status = figures_idle_read(handle, name, &r->stack.s, &r->idle, error);
	if (status == 0 && r->stack.s.dead > 0)
		status = figures_failures_read(handle, name, NULL, &r->failures, error);
	JS_THEN(status, remove_hidden(r->share, r, error));
	if (status == 0)
		make_recommendation(&r->recommendation, r->tally,
				    figures_report_so_far(r) ? figures_stack_left(&r->stack.s) : 0, r->wanted_us);
	return status;
}

void figures_report_free(struct figures_report *r)
{
	figures_tally_free(r->tally);
	figures_stack_free(&r->stack);
	figures_facts_free(&r->facts);
	free(r->packages.at);
	for (size_t i = 0; i < FIGURES_SLOWEST; i++)
		js_buf_free(&r->slow[i]);
}

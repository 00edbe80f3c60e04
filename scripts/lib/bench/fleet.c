/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-fleet [-f CNF] [-P PORT] -s STACK -t WORKERS -n SLOTS -c SECONDS -d SECONDS [-w SECONDS]
 *
 * A fleet of workers in one process: each is a thread with a connection of its own, takes the steps that a real worker
 * would (src/worker/batching.c decides), and has SLOTS slots whose commands only sleep, -c seconds, up to a tenth more
 * or less.  A slot starts its next entry in the moment in which its command ends, if one was claimed by then; otherwise
 * in the moment in which a step brings one.  That is computed, not waited for, so a few cores can be a fleet.
 * After -w seconds of warming up it measures for the rest of -d.  Prints a line of JSON: the share of slot time that is
 * busy, steps per second, and how long a step takes.
 */
#define _GNU_SOURCE
#include "crew.h"
#include "jobstack/jobstack.h"
#include "worker/batching.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_MAX 256
#define LINE_MAX_N (4 * JOBSTACK_POP_MAX + SLOTS_MAX)
#define STEPS_MAX 100000 /* per worker, whose times are kept */
#define DRY_US 200000
#define NAP_US 100000 /* the crew must be able to stop */

static struct crew_orders orders = CREW_ORDERS_INIT;
static unsigned slots_n = 1;
static double command_s = 1, warm_s;
static _Atomic int64_t from_us, to_us; /* what is measured */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double busy_us;
static uint64_t steps, entries;
static int64_t *took;

struct hand {
	struct jobstack *handle;
	struct jobstack_worker *worker;
	struct jobstack_running running[SLOTS_MAX];
	int64_t end_us[SLOTS_MAX];
	uint64_t line[LINE_MAX_N]; /* claimed, not started: a ring */
	uint32_t attempt[LINE_MAX_N];
	size_t first, queued, busy;
	struct jobstack_outcome results[LINE_MAX_N];
	size_t results_n;
	int64_t oldest_us, dry_us, looked_us;
	struct jobstack_idle idle;
	double mean_us, step_us, busy_us;
	uint64_t finished, held, max_losses, claimed, entries, steps, seed;
	int limited;
	int64_t *took;
};

static int complain(const struct jobstack_error *error)
{
	crew_complain("bench-fleet", error->text[0] != 0 ? error->text : "the worker was given up");
	return -1;
}

/* Up to a tenth more or less. */
static int64_t next_duration(struct hand *h)
{
	h->seed = h->seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(command_s * 1e6 * (0.9 + 0.2 * (double)(h->seed >> 40) / (double)(1 << 24)));
}

static void count_busy(struct hand *h, int64_t start, int64_t end)
{
	int64_t from = from_us, to = to_us;

	start = start < from ? from : start;
	end = end > to ? to : end;
	if (from != 0 && end > start)
		h->busy_us += (double)(end - start);
}

static void start_entry(struct hand *h, size_t i, int64_t at)
{
	h->running[i] = (struct jobstack_running){sizeof(h->running[i]), h->line[h->first], h->attempt[h->first], at};
	h->end_us[i] = at + next_duration(h);
	h->first = (h->first + 1) % LINE_MAX_N;
	h->queued--;
	h->busy++;
}

static void end_entry(struct hand *h, size_t i)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	double ran = (double)(h->end_us[i] - h->running[i].started_us);

	o.entry = h->running[i].entry;
	o.attempt = h->running[i].attempt;
	o.exit_code = 0;
	o.started_us = h->running[i].started_us;
	o.ended_us = h->end_us[i];
	o.user_us = 600;
	o.system_us = 400;
	o.maxrss_kib = 1600;
	o.log_at = (int64_t)o.entry * 100;
	o.log_out = 20;
	o.log_err = 0;
	if (h->results_n == 0)
		h->oldest_us = o.ended_us;
	h->results[h->results_n++] = o;
	h->mean_us = h->mean_us <= 0 ? ran : h->mean_us + (ran - h->mean_us) / 16;
	h->finished++;
	h->busy--;
	count_busy(h, o.started_us, o.ended_us);
	h->running[i].entry = 0;
}

/* Lets time pass until NOW; what is free then starts what is claimed. Returns when the next command ends. */
static int64_t advance(struct hand *h, int64_t now)
{
	for (;;) {
		size_t next = SLOTS_MAX;

		for (size_t i = 0; i < slots_n; i++)
			if (h->running[i].entry != 0 && (next == SLOTS_MAX || h->end_us[i] < h->end_us[next]))
				next = i;
		if (next == SLOTS_MAX || h->end_us[next] > now)
			break;
		end_entry(h, next);
		if (h->queued > 0)
			start_entry(h, next, h->end_us[next]);
	}
	for (size_t i = 0; i < slots_n && h->queued > 0; i++)
		if (h->running[i].entry == 0)
			start_entry(h, i, now);
	now = INT64_MAX;
	for (size_t i = 0; i < slots_n; i++)
		if (h->running[i].entry != 0 && h->end_us[i] < now)
			now = h->end_us[i];
	return now;
}

static int look(struct hand *h)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	h->idle = (struct jobstack_idle)JOBSTACK_IDLE_INIT;
	h->looked_us = jobstack_now_us();
	h->claimed = 0;
	return jobstack_worker_idle(h->worker, &h->idle, &error) == 0 ? 0 : complain(&error);
}

static int step(struct hand *h, const struct batching_plan *plan, _Atomic uint64_t *closed)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_step what = JOBSTACK_STEP_INIT;
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_running running[SLOTS_MAX];
	int64_t sent = jobstack_now_us(), now;
	size_t n = h->results_n < JOBSTACK_POP_MAX ? h->results_n : JOBSTACK_POP_MAX;

	what.outcomes = h->results;
	what.outcomes_n = n;
	what.claim = sent >= h->dry_us ? plan->claim : 0;
	what.fresh = (size_t)plan->fresh;
	what.running = running;
	for (size_t i = 0; i < slots_n; i++)
		if (h->running[i].entry != 0)
			running[what.running_n++] = h->running[i];
	if (jobstack_step(h->worker, &what, &batch, &report, &error) != 0)
		return complain(&error);
	now = jobstack_now_us();
	(void)advance(h, now - 1); /* what ended meanwhile found only what was claimed before */
	h->results_n -= n;
	memmove(h->results, h->results + n, h->results_n * sizeof(*h->results));
	if (h->results_n > 0)
		h->oldest_us = h->results[0].ended_us;
	batching_note_step(&h->step_us, now - sent);
	h->claimed += batch.count;
	for (size_t i = 0; i < batch.count; i++) {
		size_t at = (h->first + h->queued++) % LINE_MAX_N;

		h->line[at] = jobstack_batch_entry(&batch, i)->entry;
		h->attempt[at] = jobstack_batch_entry(&batch, i)->attempt;
	}
	if (what.claim > 0 && batch.count == 0 && what.fresh)
		h->held = h->finished;
	else if (what.claim > 0 && batch.count == 0)
		h->dry_us = now + DRY_US;
	jobstack_batch_free(&batch);
	h->limited = report.limited;
	h->max_losses = report.max_losses;
	crew_add(closed, n);
	if (from_us != 0 && sent >= from_us && now <= to_us) {
		if (h->steps < STEPS_MAX)
			h->took[h->steps] = now - sent;
		h->steps++;
		h->entries += n;
	}
	return 0;
}

static struct batching_plan plan_of(const struct hand *h, int64_t now)
{
	const struct batching b = {
		.now_us = now,
		.slot = h->running,
		.slots = slots_n,
		.running = h->busy,
		.queued = h->queued,
		.mean_us = h->mean_us,
		.step_us = h->step_us,
		.finished = h->finished,
		.ready = h->idle.ready,
		.workers = h->idle.workers,
		.most = JOBSTACK_POP_MAX,
		.limited = h->limited,
		.no_ahead = h->max_losses < 2,
		.held = h->finished == h->held,
	};

	return batching_plan(&b);
}

static void nap_until(int64_t at, int64_t now)
{
	int64_t us = at - now > NAP_US ? NAP_US : at - now;
	struct timespec t = {0, us * 1000};

	if (us > 0)
		nanosleep(&t, NULL);
}

static int work(void *state, _Atomic uint64_t *closed)
{
	struct hand *h = state;
	int64_t now = jobstack_now_us(), until, zero = 0;
	struct batching_plan plan;

	if (from_us == 0 && atomic_compare_exchange_strong(&to_us, &zero, 1)) {
		to_us = now + (int64_t)(command_s * 1e12); /* until the end, see end() */
		from_us = now + (int64_t)(warm_s * 1e6);
	}
	until = advance(h, now);
	plan = plan_of(h, now);
	if (now < h->dry_us)
		plan.claim = 0;
	if ((plan.claim > 0 && plan.due) ||
	    (h->results_n > 0 && (h->results_n >= JOBSTACK_POP_MAX || now >= h->oldest_us + plan.gather_us))) {
		if (step(h, &plan, closed) != 0)
			return -1;
		if (now - h->looked_us >=
		    batching_look_us(h->idle.ready, h->idle.workers, h->claimed, slots_n, h->mean_us))
			return look(h);
		return 0;
	}
	until = plan.look_us < until ? plan.look_us : until;
	until = h->dry_us > now && h->dry_us < until ? h->dry_us : until;
	if (h->results_n > 0 && h->oldest_us + plan.gather_us < until)
		until = h->oldest_us + plan.gather_us;
	nap_until(until, now);
	return 0;
}

static void end(void *state)
{
	int64_t now = jobstack_now_us(), zero = 0;
	static _Atomic int64_t over;
	struct hand *h = state;

	atomic_compare_exchange_strong(&over, &zero, now); /* the same end for all */
	pthread_mutex_lock(&lock);
	if (to_us > over)
		to_us = over;
	(void)advance(h, over);
	for (size_t i = 0; i < slots_n; i++)
		if (h->running[i].entry != 0)
			count_busy(h, h->running[i].started_us, over);
	busy_us += h->busy_us;
	took = realloc(took, (steps + h->steps + 1) * sizeof(*took));
	for (size_t i = 0; took != NULL && i < h->steps && i < STEPS_MAX; i++)
		took[steps++] = h->took[i];
	entries += h->entries;
	pthread_mutex_unlock(&lock);
	/* its row stays: a thousand ends would only make the next run wait; the stack is dropped */
	jobstack_disconnect(h->handle);
}

static void *begin(unsigned index)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack_worker_options who = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_step nothing = JOBSTACK_STEP_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct hand *h = calloc(1, sizeof(*h));

	if (h == NULL || (h->took = malloc(STEPS_MAX * sizeof(*h->took))) == NULL)
		return NULL;
	h->seed = index * 2654435761u + 1;
	h->max_losses = 5;
	options.defaults_file = orders.cnf;
	options.port = orders.port;
	options.patience_us = 60000000;
	who.host = "bench";
	who.user = "bench";
	who.log = "/dev/null";
	/* as a real worker: the first step is a heartbeat, which reads the policy */
	if (jobstack_open(&h->handle, &options, &error) != 0 ||
	    jobstack_worker_begin(h->handle, orders.stack, &who, &h->worker, &error) != 0 ||
	    jobstack_step(h->worker, &nothing, NULL, NULL, &error) != 0) {
		complain(&error);
		return NULL;
	}
	return h;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const struct crew_trade trade = {begin, work, end};
	struct crew_result result = {0};
	double measured;
	int c;

	while ((c = getopt(argc, argv, CREW_OPTIONS "n:c:w:")) != -1)
		switch (c) {
		case 'n': slots_n = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'c': command_s = strtod(optarg, NULL); break;
		case 'w': warm_s = strtod(optarg, NULL); break;
		default:
			if (crew_order(&orders, c) != 0)
				return 2;
		}
	if (orders.stack == NULL || orders.threads == 0 || slots_n == 0 || slots_n > SLOTS_MAX || command_s <= 0 ||
	    orders.seconds <= warm_s) {
		fprintf(stderr,
			"usage: bench-fleet [-f CNF] [-P PORT] -s STACK -t WORKERS -n SLOTS -c SECONDS -d SECONDS "
			"[-w SECONDS]\n");
		return 2;
	}
	if (crew_run(&trade, &orders, &result) != 0)
		_exit(1);
	pthread_mutex_lock(&lock);
	measured = (double)(to_us - from_us) / 1e6;
	qsort(took, steps, sizeof(*took), by_size);
	printf("{\"seconds\": %.3f, \"busy\": %.5f, \"entries\": %.1f, \"steps\": %.1f, \"p50_ms\": %.2f, \"p99_ms\": "
	       "%.2f, "
	       "\"failed\": %u, \"left\": %u}\n",
	       measured, busy_us / 1e6 / (measured * orders.threads * slots_n), (double)entries / measured,
	       (double)steps / measured, steps > 0 ? (double)took[steps / 2] / 1e3 : 0,
	       steps > 0 ? (double)took[steps * 99 / 100] / 1e3 : 0, result.failed, result.left);
	fflush(stdout);
	_exit(0);
}

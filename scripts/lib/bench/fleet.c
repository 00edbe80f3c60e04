/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-fleet [-f CNF] [-P PORT] -s STACK | -D DATABASE -t WORKERS -n SLOTS -c SECONDS -d SECONDS [-w SECONDS]
 *             [-S PID]
 *
 * A fleet of workers in one process: each is a thread with a connection of its own, takes the steps that a real worker
 * would (src/worker/batching.c decides), and has SLOTS slots whose commands only sleep, -c seconds, up to a tenth more
 * or less.  A slot starts its next entry in the moment in which its command ends, if one was claimed by then; otherwise
 * in the moment in which a step brings one.  That is computed, not waited for, so a few cores can be a fleet.
 * After -w seconds of warming up it measures for the rest of -d.  Prints a line of JSON: the share of slot time that is
 * busy, steps per second, how long a step takes, and how many cores the server (process PID) uses.
 *
 * With -D the same fleet is served by a queue with one row per entry (rowqueue.h).  Its workers decide the same way,
 * and always see that more is ready than they need.  A step closes the gathered rows, and then claims the next ones.
 * They hold their first rows before the clock starts, since that queue would stand still if all claimed at once.
 */
#define _GNU_SOURCE
#include "crew.h"
#include "jobstack/jobstack.h"
#include "rowqueue.h"
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
#define PLENTY 1000000000 /* ready entries, as a worker of the row queue sees them */
#define NAP_US 100000	  /* the crew must be able to stop */

static struct crew_orders orders = CREW_ORDERS_INIT;
static unsigned slots_n = 1;
static double command_s = 1, warm_s;
static const char *database; /* of the row queue */
static long server_pid;
static _Atomic double server_s; /* CPU time it has used while it was measured */
static int64_t from_us, to_us;	/* what is measured; set once, by the first that works */

struct hand {
	pthread_mutex_t lock; /* held except during a step or a nap: sum_up also counts who is still waiting then */
	struct jobstack *handle;
	struct jobstack_worker *worker;
	struct rowqueue *rows; /* instead of these two */
	struct jobstack_running running[SLOTS_MAX];
	int64_t end_us[SLOTS_MAX];
	uint64_t line[LINE_MAX_N]; /* claimed, not started: a ring */
	uint32_t attempt[LINE_MAX_N];
	size_t first, queued, busy;
	struct jobstack_outcome results[LINE_MAX_N];
	size_t results_n;
	uint64_t taken[JOBSTACK_POP_MAX]; /* by the latest step */
	uint32_t taken_attempt[JOBSTACK_POP_MAX];
	size_t taken_n;
	int64_t oldest_us, dry_us, looked_us, sent_us; /* sent_us: not 0 while it waits for a step */
	struct jobstack_idle idle;
	double mean_us, busy_us;
	struct batching_step step;
	struct batching_wait wait;
	uint64_t finished, held, max_losses, claimed, entries, steps, unanswered, seed;
	int limited;
	int64_t *took;
};

static struct hand **hands; /* by index */

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
	start = start < from_us ? from_us : start;
	end = end > to_us ? to_us : end;
	if (end > start)
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
	h->running[i].started_us = h->end_us[i]; /* free since then */
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

/* A step of the API: closes the first N results and claims up to CLAIM entries. */
static int take_step(struct hand *h, size_t n, size_t claim, int fresh)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_step what = JOBSTACK_STEP_INIT;
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_running running[SLOTS_MAX];

	what.outcomes = h->results;
	what.outcomes_n = n;
	what.claim = claim;
	what.fresh = (size_t)fresh;
	what.running = running;
	what.step_us = (uint64_t)h->step.mean_us;
	what.waiting = (uint64_t)(1000 * h->wait.share);
	for (size_t i = 0; i < slots_n; i++)
		if (h->running[i].entry != 0)
			running[what.running_n++] = h->running[i];
	if (jobstack_step(h->worker, &what, &batch, &report, &error) != 0)
		return complain(&error);
	for (h->taken_n = 0; h->taken_n < batch.count; h->taken_n++) {
		h->taken[h->taken_n] = jobstack_batch_entry(&batch, h->taken_n)->entry;
		h->taken_attempt[h->taken_n] = jobstack_batch_entry(&batch, h->taken_n)->attempt;
	}
	jobstack_batch_free(&batch);
	h->limited = report.limited;
	h->max_losses = report.max_losses;
	return 0;
}

/* The same in a row queue. */
static int take_rows_step(struct hand *h, size_t n, size_t claim)
{
	uint64_t ids[JOBSTACK_POP_MAX];

	for (size_t i = 0; i < n; i++)
		ids[i] = h->results[i].entry;
	h->taken_n = 0;
	if (rowqueue_close(h->rows, ids, n) != 0)
		return -1;
	return claim > 0 ? rowqueue_claim(h->rows, claim, h->taken, &h->taken_n) : 0;
}

/* What was taken is to be started. */
static void line_up(struct hand *h)
{
	h->claimed += h->taken_n;
	for (size_t i = 0; i < h->taken_n; i++) {
		size_t at = (h->first + h->queued++) % LINE_MAX_N;

		h->line[at] = h->taken[i];
		h->attempt[at] = h->taken_attempt[i];
	}
}

/* Notes a step that has taken until NOW, if that is in the time that is measured.  One that took longer counts as
 * unanswered, and as long as it had taken by the end. */
static void note_step(struct hand *h, int64_t now, size_t closed)
{
	if (now < from_us || h->sent_us >= to_us || h->steps == STEPS_MAX)
		return;
	h->took[h->steps++] = (now < to_us ? now : to_us) - h->sent_us;
	if (now < to_us)
		h->entries += closed;
	else
		h->unanswered++;
}

static int step(struct hand *h, const struct batching_plan *plan, _Atomic uint64_t *closed)
{
	size_t n = h->results_n < JOBSTACK_POP_MAX ? h->results_n : JOBSTACK_POP_MAX, claim;
	struct batching_waited waited;
	int64_t now;
	int status;

	h->sent_us = jobstack_now_us();
	claim = h->sent_us >= h->dry_us ? plan->claim : 0;
	pthread_mutex_unlock(&h->lock);
	status = h->rows != NULL ? take_rows_step(h, n, claim) : take_step(h, n, claim, plan->fresh);
	pthread_mutex_lock(&h->lock);
	if (status != 0) {
		h->sent_us = 0;
		return -1;
	}
	now = jobstack_now_us();
	(void)advance(h, now - 1); /* what ended meanwhile found only what was claimed before */
	h->results_n -= n;
	memmove(h->results, h->results + n, h->results_n * sizeof(*h->results));
	if (h->results_n > 0)
		h->oldest_us = h->results[0].ended_us;
	batching_note_step(&h->step, now - h->sent_us);
	waited = (struct batching_waited){h->running, slots_n, h->queued, claim, h->taken_n, h->sent_us, now};
	batching_note_wait(&h->wait, &waited);
	line_up(h);
	if (claim > 0 && h->taken_n == 0 && plan->fresh && h->rows == NULL)
		h->held = h->finished;
	else if (claim > 0 && h->taken_n == 0)
		h->dry_us = now + DRY_US;
	crew_add(closed, n);
	note_step(h, now, n);
	h->sent_us = 0;
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
		.step = h->step,
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

static void nap_until(struct hand *h, int64_t at, int64_t now)
{
	int64_t us = at - now > NAP_US ? NAP_US : at - now;
	struct timespec t = {0, us * 1000};

	if (us <= 0)
		return;
	pthread_mutex_unlock(&h->lock);
	nanosleep(&t, NULL);
	pthread_mutex_lock(&h->lock);
}

static double cpu_seconds(void)
{
	unsigned long user = 0, kernel = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", server_pid);
	if (server_pid == 0 || (f = fopen(path, "r")) == NULL)
		return 0;
	if (fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
		user = kernel = 0;
	fclose(f);
	return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static void sleep_until(int64_t at)
{
	int64_t us = at - jobstack_now_us();
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	if (us > 0)
		nanosleep(&t, NULL);
}

/* In a thread of its own: all workers may be waiting for the server. */
static void *watch_server(void *unused)
{
	double before;

	sleep_until(from_us);
	before = cpu_seconds();
	sleep_until(to_us);
	server_s = cpu_seconds() - before;
	return unused;
}

static void set_off(void)
{
	int64_t now = jobstack_now_us();
	pthread_t thread;

	from_us = now + (int64_t)(warm_s * 1e6);
	to_us = now + (int64_t)(orders.seconds * 1e6);
	if (pthread_create(&thread, NULL, watch_server, NULL) != 0)
		abort();
}

static int do_next(struct hand *h, _Atomic uint64_t *closed)
{
	int64_t now = jobstack_now_us(), until = advance(h, now);
	struct batching_plan plan = plan_of(h, now);

	if (now < h->dry_us)
		plan.claim = 0;
	if ((plan.claim > 0 && plan.due) ||
	    (h->results_n > 0 && (h->results_n >= JOBSTACK_POP_MAX || now >= h->oldest_us + plan.gather_us))) {
		if (step(h, &plan, closed) != 0)
			return -1;
		if (h->rows == NULL && now - h->looked_us >= batching_look_us(h->idle.ready, h->idle.workers,
									      h->claimed, slots_n, h->mean_us))
			return look(h);
		return 0;
	}
	until = plan.look_us < until ? plan.look_us : until;
	until = h->dry_us > now && h->dry_us < until ? h->dry_us : until;
	if (h->results_n > 0 && h->oldest_us + plan.gather_us < until)
		until = h->oldest_us + plan.gather_us;
	nap_until(h, until, now);
	return 0;
}

static int work(void *state, _Atomic uint64_t *closed)
{
	static pthread_once_t off = PTHREAD_ONCE_INIT;
	struct hand *h = state;
	int status;

	pthread_once(&off, set_off);
	pthread_mutex_lock(&h->lock);
	status = do_next(h, closed);
	pthread_mutex_unlock(&h->lock);
	return status;
}

static void end(void *state)
{
	struct hand *h = state;

	/* its row stays: a thousand ends would only make the next run wait; h stays for sum_up */
	if (h->rows != NULL)
		rowqueue_free(h->rows);
	else
		jobstack_disconnect(h->handle);
}

/* Connects as a real worker does: the first step is a heartbeat, which reads the policy. */
static int begin_worker(struct hand *h)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack_worker_options who = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_step nothing = JOBSTACK_STEP_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	options.defaults_file = orders.cnf;
	options.port = orders.port;
	options.patience_us = 60000000;
	who.host = "bench";
	who.user = "bench";
	who.log = "/dev/null";
	if (jobstack_open(&h->handle, &options, &error) != 0 ||
	    jobstack_worker_begin(h->handle, orders.stack, &who, &h->worker, &error) != 0 ||
	    jobstack_step(h->worker, &nothing, NULL, NULL, &error) != 0)
		return complain(&error);
	return 0;
}

static int begin_rows(struct hand *h, unsigned index)
{
	h->idle.ready = PLENTY;
	h->idle.workers = orders.threads;
	if (rowqueue_open(&h->rows, orders.cnf, orders.port, database, index) != 0 ||
	    rowqueue_claim(h->rows, slots_n, h->taken, &h->taken_n) != 0)
		return -1;
	line_up(h);
	return 0;
}

static void *begin(unsigned index)
{
	struct hand *h = calloc(1, sizeof(*h));

	if (h == NULL || (h->took = malloc(STEPS_MAX * sizeof(*h->took))) == NULL)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	h->seed = index * 2654435761u + 1;
	h->max_losses = 5;
	if ((database != NULL ? begin_rows(h, index) : begin_worker(h)) != 0)
		return NULL;
	hands[index] = h;
	return h;
}

struct sum {
	double busy_us;
	uint64_t steps, unanswered, entries;
	int64_t *took;
};

/* Adds what H has done until the end, whether or not it has an answer by now. */
static void sum_up(struct hand *h, struct sum *sum)
{
	pthread_mutex_lock(&h->lock);
	(void)advance(h, to_us);
	for (size_t i = 0; i < slots_n; i++)
		if (h->running[i].entry != 0)
			count_busy(h, h->running[i].started_us, to_us);
	if (h->sent_us != 0)
		note_step(h, to_us, 0);
	sum->busy_us += h->busy_us;
	memcpy(sum->took + sum->steps, h->took, h->steps * sizeof(*h->took));
	sum->steps += h->steps;
	sum->unanswered += h->unanswered;
	sum->entries += h->entries;
	pthread_mutex_unlock(&h->lock);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void report(const struct crew_result *result)
{
	double measured = (double)(to_us - from_us) / 1e6;
	struct sum sum = {0};
	uint64_t most = 0;

	for (unsigned i = 0; i < orders.threads; i++)
		most += hands[i]->steps + 2;
	if ((sum.took = malloc(most * sizeof(*sum.took))) == NULL)
		abort();
	for (unsigned i = 0; i < orders.threads; i++)
		sum_up(hands[i], &sum);
	qsort(sum.took, sum.steps, sizeof(*sum.took), by_size);
	printf("{\"seconds\": %.3f, \"busy\": %.5f, \"entries\": %.1f, \"steps\": %.1f, \"p50_ms\": %.2f, \"p99_ms\": "
	       "%.2f, \"server_cores\": %.3f, \"failed\": %u, \"left\": %u}\n",
	       measured, sum.busy_us / 1e6 / (measured * orders.threads * slots_n), (double)sum.entries / measured,
	       (double)(sum.steps - sum.unanswered) / measured,
	       sum.steps > 0 ? (double)sum.took[sum.steps / 2] / 1e3 : 0,
	       sum.steps > 0 ? (double)sum.took[sum.steps * 99 / 100] / 1e3 : 0, server_s / measured, result->failed,
	       result->left);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct crew_trade trade = {begin, work, end};
	struct crew_result result = {0};
	int c;

	while ((c = getopt(argc, argv, CREW_OPTIONS "n:c:w:D:S:")) != -1)
		switch (c) {
		case 'n': slots_n = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'c': command_s = strtod(optarg, NULL); break;
		case 'w': warm_s = strtod(optarg, NULL); break;
		case 'D': database = optarg; break;
		case 'S': server_pid = strtol(optarg, NULL, 10); break;
		default:
			if (crew_order(&orders, c) != 0)
				return 2;
		}
	if ((orders.stack == NULL) == (database == NULL) || orders.threads == 0 || slots_n == 0 ||
	    slots_n > SLOTS_MAX || command_s <= 0 || orders.seconds <= warm_s) {
		fprintf(stderr, "usage: bench-fleet [-f CNF] [-P PORT] -s STACK | -D DATABASE -t WORKERS -n SLOTS "
				"-c SECONDS -d SECONDS [-w SECONDS] [-S PID]\n");
		return 2;
	}
	if ((hands = calloc(orders.threads, sizeof(struct hand *))) == NULL || crew_run(&trade, &orders, &result) != 0)
		_exit(1);
	report(&result);
	_exit(0);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-ledger [-f CNF] [-P PORT] -s STACK -t THREADS -k K -d SECONDS [-x]
 *
 * Closes and claims through the public API: each thread is a worker of its own over a connection of its own, and each
 * of its steps closes the last K entries as done and claims the next K.  What a real worker tells of an entry is told
 * here too. With -x every entry with an odd number fails for good: that makes the stacks whose dead are requeued.
 * Prints a line of JSON (see crew.h).
 */
#define _GNU_SOURCE
#include "crew.h"
#include "jobstack/jobstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EMPTY_MAX 3 /* so many empty answers in a row mean that nothing is left */

static struct crew_orders orders = CREW_ORDERS_INIT;
static unsigned k = 1;
static int fail_odd;

struct hand {
	struct jobstack *handle;
	struct jobstack_worker *worker;
	struct jobstack_batch batch;
	struct jobstack_outcome outcomes[JOBSTACK_POP_MAX];
	unsigned empty;
};

static int complain(const struct jobstack_error *error)
{
	crew_complain("bench-ledger", error->text[0] != 0 ? error->text : "the worker was given up");
	return -1;
}

static size_t fill(struct hand *h)
{
	int64_t now = jobstack_now_us();

	for (size_t i = 0; i < h->batch.count; i++) {
		struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;

		o.entry = jobstack_batch_entry(&h->batch, i)->entry;
		o.attempt = jobstack_batch_entry(&h->batch, i)->attempt;
		o.exit_code = 0;
		if (fail_odd && o.entry % 2 == 1) {
			o.verdict = JOBSTACK_FAILED;
			o.fatal = 1;
			o.exit_code = 1;
		}
		o.started_us = now - 1000;
		o.ended_us = now;
		o.user_us = 600;
		o.system_us = 400;
		o.maxrss_kib = 1600;
		o.log_at = (int64_t)o.entry * 100;
		o.log_out = 20;
		o.log_err = 0;
		h->outcomes[i] = o;
	}
	return h->batch.count;
}

static int step(struct hand *h, size_t take)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	size_t n = fill(h);
	struct jobstack_step what = JOBSTACK_STEP_INIT;
	struct jobstack_batch next = JOBSTACK_BATCH_INIT;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	int status;

	what.outcomes = h->outcomes;
	what.outcomes_n = n;
	what.claim = take;
	status = jobstack_step(h->worker, &what, &next, &report, &error);
	if (status != 0)
		return complain(&error);
	jobstack_batch_free(&h->batch);
	h->batch = next;
	return 0;
}

static void end(void *state)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct hand *h = state;

	if (h->worker != NULL)
		jobstack_worker_end(h->worker, NULL, 0, JOBSTACK_CAUSE_NONE, NULL,
				    &error); /* what it holds goes back, and counts as no failure */
	jobstack_batch_free(&h->batch);
	jobstack_worker_free(h->worker);
	jobstack_free(h->handle);
	free(h);
}

static void *begin(unsigned index)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack_worker_options who = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct hand *h = calloc(1, sizeof(*h));

	(void)index;
	if (h == NULL)
		return NULL;
	options.defaults_file = orders.cnf;
	options.port = orders.port;
	options.patience_us = 20000000;
	who.host = "bench";
	who.user = "bench";
	who.log = "/dev/null";
	if (jobstack_open(&h->handle, &options, &error) != 0 ||
	    jobstack_worker_begin(h->handle, orders.stack, &who, &h->worker, &error) != 0) {
		complain(&error);
		end(h);
		return NULL;
	}
	if (step(h, k) != 0) {
		end(h);
		return NULL;
	}
	return h;
}

static int work(void *state, _Atomic uint64_t *closed)
{
	struct hand *h = state;
	unsigned n = (unsigned)h->batch.count;

	if (step(h, k) != 0)
		return -1;
	crew_add(closed, n);
	h->empty = h->batch.count == 0 ? h->empty + 1 : 0;
	return h->empty >= EMPTY_MAX;
}

int main(int argc, char **argv)
{
	static const struct crew_trade trade = {begin, work, end};
	struct crew_result result = {0};
	int c;

	while ((c = getopt(argc, argv, CREW_OPTIONS "k:x")) != -1)
		switch (c) {
		case 'k': k = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'x': fail_odd = 1; break;
		default:
			if (crew_order(&orders, c) != 0)
				return 2;
		}
	if (orders.stack == NULL || orders.threads == 0 || k == 0 || k > JOBSTACK_POP_MAX || orders.seconds <= 0) {
		fprintf(stderr, "usage: bench-ledger [-f CNF] [-P PORT] -s STACK -t THREADS -k K -d SECONDS [-x]\n");
		return 2;
	}
	if (crew_run(&trade, &orders, &result) != 0)
		_exit(1); /* not exit: threads may be on their way, in a client library that is then taken down */
	crew_end(&result);
}

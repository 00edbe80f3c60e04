/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-depth pops CNF N STACK...        N one-entry steps on each stack, in turn; each closes the last entry as done
 * and claims the next one; times of a step in microseconds, by stack bench-depth status CNF N WORKERS STACK N times
 * jobstack_status of the stack (and jobstack_workers), while WORKERS workers that hold an entry each are alive in it
 *
 * One client, one connection, the public API.  The stacks are asked one after the other, and each time another one
 * first, so that whatever the machine does beside hits all of them alike.  Prints a line of JSON.
 */
#define _GNU_SOURCE
#include "jobstack/jobstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct place {
	const char *stack;
	struct jobstack_worker *worker;
	struct jobstack_batch batch;
	double *us;
	size_t n;
};

static struct jobstack *handle;
static struct jobstack_error error;

static void must(int status, const char *what)
{
	if (status == 0)
		return;
	fprintf(stderr, "bench-depth: %s: %s (%d)\n", what, error.text, status);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *name, double *us, size_t n, const char *after)
{
	qsort(us, n, sizeof(*us), by_size);
	printf("\"%s\": {\"n\": %zu, \"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f}%s", name, n, us[n / 2],
	       us[n * 99 / 100], us[n - 1], after);
}

static struct jobstack_worker *begin(const char *stack)
{
	struct jobstack_worker_options who = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_worker *worker = NULL;

	who.host = "bench";
	who.user = "bench";
	must(jobstack_worker_begin(handle, stack, &who, &worker, &error), stack);
	return worker;
}

static void end(struct jobstack_worker *worker)
{
	must(jobstack_worker_end(worker, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &error), "the end of a worker");
	jobstack_worker_free(worker);
}

/* Closes what is held and claims one. */
static void step(struct place *p)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	struct jobstack_step step = JOBSTACK_STEP_INIT;
	struct jobstack_batch next = JOBSTACK_BATCH_INIT;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	size_t n = p->batch.count;

	if (n > 0) {
		o.entry = jobstack_batch_entry(&p->batch, 0)->entry;
		o.attempt = jobstack_batch_entry(&p->batch, 0)->attempt;
		o.exit_code = 0;
	}
	step.outcomes = &o;
	step.outcomes_n = n;
	step.claim = 1;
	must(jobstack_step(p->worker, &step, &next, &report, &error), p->stack);
	jobstack_batch_free(&p->batch);
	p->batch = next;
	if (p->batch.count != 1) {
		fprintf(stderr, "bench-depth: %s: nothing is left\n", p->stack);
		exit(1);
	}
}

static void pops(size_t n, size_t stacks, char **names)
{
	struct place *places = calloc(stacks, sizeof(*places));

	must(places == NULL, "memory");
	for (size_t i = 0; i < stacks; i++) {
		places[i].stack = names[i];
		places[i].us = calloc(n, sizeof(double));
		must(places[i].us == NULL, "memory");
		places[i].worker = begin(names[i]);
		step(&places[i]);
	}
	for (size_t round = 0; round < n; round++)
		for (size_t i = 0; i < stacks; i++) {
			struct place *p = &places[(i + round) % stacks];
			double began = now_us();

			step(p);
			p->us[p->n++] = now_us() - began;
		}
	printf("{");
	for (size_t i = 0; i < stacks; i++) {
		print_times(places[i].stack, places[i].us, places[i].n, i + 1 < stacks ? ", " : "}\n");
		jobstack_batch_free(&places[i].batch);
		end(places[i].worker);
		free(places[i].us);
	}
	free(places);
}

static int take_status(void *ctx, const struct jobstack_status *status)
{
	*(uint64_t *)ctx = status->workers;
	return 0;
}

static int take_worker(void *ctx, const struct jobstack_worker_row *row)
{
	*(uint64_t *)ctx += row->worker > 0;
	return 0;
}

static void status_of(size_t n, size_t workers, char *stack)
{
	struct place *places = calloc(workers, sizeof(*places));
	double *one = calloc(n, sizeof(*one)), *both = calloc(n, sizeof(*both)), began;
	uint64_t alive = 0, rows = 0;

	must(places == NULL || one == NULL || both == NULL, "memory");
	for (size_t i = 0; i < workers; i++) {
		places[i].stack = stack;
		places[i].worker = begin(stack);
		step(&places[i]);
	}
	for (size_t i = 0; i < n; i++) {
		began = now_us();
		must(jobstack_status(handle, stack, take_status, &alive, &error), "status");
		one[i] = now_us() - began;
		rows = 0;
		must(jobstack_workers(handle, stack, take_worker, &rows, &error), "workers");
		both[i] = now_us() - began;
	}
	if (alive < workers || rows < workers) {
		fprintf(stderr, "bench-depth: %zu workers began, but status tells of %llu and %llu\n", workers,
			(unsigned long long)alive, (unsigned long long)rows);
		exit(1);
	}
	printf("{\"workers\": %zu, ", workers);
	print_times("status", one, n, ", ");
	print_times("with_workers", both, n, "}\n");
	fflush(stdout);
	/* They stay while the caller measures what it wants of its own: until our input ends. */
	while (getchar() != EOF)
		;
	for (size_t i = 0; i < workers; i++) {
		jobstack_batch_free(&places[i].batch);
		end(places[i].worker);
	}
	free(places);
	free(one);
	free(both);
}

int main(int argc, char **argv)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	size_t n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	int about_status = argc == 6 && strcmp(argv[1], "status") == 0;

	if (n == 0 || (!about_status && (argc < 5 || strcmp(argv[1], "pops") != 0))) {
		fprintf(stderr, "usage: bench-depth pops CNF N STACK... | bench-depth status CNF N WORKERS STACK\n");
		return 2;
	}
	options.defaults_file = argv[2];
	must(jobstack_open(&handle, &options, &error), "connecting");
	if (about_status)
		status_of(n, strtoul(argv[4], NULL, 10), argv[5]);
	else
		pops(n, (size_t)argc - 4, argv + 4);
	jobstack_free(handle);
	return 0;
}

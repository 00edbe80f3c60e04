/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-rows -f CNF [-P PORT] -D DATABASE -t THREADS -k K -d SECONDS
 *
 * The other side of bench-ledger: a queue with one row per entry (rowqueue.h).  Each thread closes the K entries that
 * it holds, and claims the next K.  Prints a line of JSON (see crew.h).
 */
#define _GNU_SOURCE
#include "crew.h"
#include "rowqueue.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EMPTY_MAX 3

static struct crew_orders orders = CREW_ORDERS_INIT;
static const char *database;
static unsigned k = 1;

struct hand {
	struct rowqueue *queue;
	uint64_t ids[ROWQUEUE_MAX]; /* what is held */
	size_t n;
	unsigned empty;
};

static void end(void *state)
{
	struct hand *h = state;

	if (h->queue != NULL)
		(void)rowqueue_return(h->queue, h->ids, h->n);
	rowqueue_free(h->queue);
	free(h);
}

static void *begin(unsigned index)
{
	struct hand *h = calloc(1, sizeof(*h));

	if (h == NULL)
		abort();
	if (rowqueue_open(&h->queue, orders.cnf, orders.port, database, index) != 0 ||
	    rowqueue_claim(h->queue, k, h->ids, &h->n) != 0) {
		h->n = 0;
		end(h);
		return NULL;
	}
	return h;
}

static int work(void *state, _Atomic uint64_t *closed)
{
	struct hand *h = state;

	if (rowqueue_close(h->queue, h->ids, h->n) != 0)
		return -1;
	crew_add(closed, h->n);
	if (rowqueue_claim(h->queue, k, h->ids, &h->n) != 0) {
		h->n = 0;
		return -1;
	}
	h->empty = h->n == 0 ? h->empty + 1 : 0;
	return h->empty >= EMPTY_MAX;
}

int main(int argc, char **argv)
{
	static const struct crew_trade trade = {begin, work, end};
	struct crew_result result = {0};
	int c;

	while ((c = getopt(argc, argv, CREW_OPTIONS "D:k:")) != -1)
		switch (c) {
		case 'D': database = optarg; break;
		case 'k': k = (unsigned)strtoul(optarg, NULL, 10); break;
		default:
			if (crew_order(&orders, c) != 0)
				return 2;
		}
	if (orders.cnf == NULL || database == NULL || orders.threads == 0 || k == 0 || k > ROWQUEUE_MAX ||
	    orders.seconds <= 0) {
		fprintf(stderr, "usage: bench-rows -f CNF [-P PORT] -D DATABASE -t THREADS -k K -d SECONDS\n");
		return 2;
	}
	if (crew_run(&trade, &orders, &result) != 0)
		_exit(1); /* not exit: threads may be on their way, in a client library that is then taken down */
	crew_end(&result);
}

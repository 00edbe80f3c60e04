/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A crew: N threads that do the same over and over, each over a connection of its own, counted over one stretch of
 * time. Both sides of a comparison are driven by it, so that what is measured around them is the same.
 *
 * Promise: the clock starts when every thread has begun (connected, and holding its first entries), and what is counted
 * is what was committed between two looks at the clock; beginnings and ends are not in it.
 */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <stdatomic.h>
#include <stdint.h>

struct crew_trade {
	/* Begins thread INDEX: connects and claims.  NULL after a failure, which it has told on stderr. */
	void *(*begin)(unsigned index);
	/* One round: closes what is held and claims the next.  To *CLOSED it adds what it closed, once that is
	 * committed (only this thread writes there, others read: use crew_add).  0; 1: nothing is left; negative after
	 * a failure, which it has told (crew_complain). */
	int (*round)(void *state, _Atomic uint64_t *closed);
	/* Ends the thread, whatever it holds. */
	void (*end)(void *state);
};

/* What all trades are told: -f CNF, -P PORT, -s STACK, -t THREADS, -d SECONDS. */
struct crew_orders {
	const char *cnf, *stack;
	unsigned port, threads;
	double seconds;
};
#define CREW_OPTIONS "f:P:s:t:d:"
#define CREW_ORDERS_INIT                                                                                               \
	{                                                                                                              \
		NULL, NULL, 0, 1, 1                                                                                    \
	}

/* Takes option C of getopt into ORDERS.  Returns 0, or -1 if C is another option. */
int crew_order(struct crew_orders *orders, int c);

struct crew_result {
	double seconds;
	uint64_t closed, rounds;
	unsigned failed; /* threads that gave up; the others went on, and what they closed counts */
	unsigned left;	 /* threads that had not ended ten seconds after they were told to */
	int dry;	 /* it was stopped by somebody finding nothing, before the time was over */
};

static inline void crew_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Tells on stderr what has failed, but only the first time: of a thousand threads the others say the same. */
void crew_complain(const char *who, const char *words);

/* Runs as many threads of TRADE as ORDERS say, for as long, or until nothing is left, or until the last has failed.  If
 * there have been fewer rounds than threads by then, it goes on until there are, for at most twice as long.  0; -1: not
 * all could begin. */
int crew_run(const struct crew_trade *trade, const struct crew_orders *orders, struct crew_result *result);

/* Prints RESULT as one line of JSON and ends the process, and with it what has not ended: a server that is swamped may
 * take minutes for what a thousand clients have already asked of it, and the clock has stopped. */
_Noreturn void crew_end(const struct crew_result *result);

#endif

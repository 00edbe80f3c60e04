/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A crew: N threads that do the same over and over, each over a connection of its own, counted over one stretch of time.
 * Both sides of a comparison are driven by it, so that what is measured around them is the same.
 *
 * Promise: the clock starts when every thread has begun (connected, and holding its first entries), and what is counted is
 * what was committed between two looks at the clock; beginnings and ends are not in it.
 */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <stdint.h>

struct crew_trade {
	/* Begins thread INDEX: connects and claims.  NULL after a failure, which it has told on stderr. */
	void *(*begin)(unsigned index);
	/* One round: closes what is held and claims the next.  *CLOSED: entries closed and committed.  0; 1: nothing is left;
	 * negative after a failure, which it has told. */
	int (*round)(void *state, unsigned *closed);
	/* Ends the thread, whatever it holds. */
	void (*end)(void *state);
};

struct crew_result {
	double seconds;
	uint64_t closed, rounds;
	int dry; /* it was stopped by somebody finding nothing, before the time was over */
};

/* Runs THREADS of TRADE for SECONDS, or until nothing is left.  0, or -1 after a failure. */
int crew_run(const struct crew_trade *trade, unsigned threads, double seconds, struct crew_result *result);

/* Prints RESULT as one line of JSON. */
void crew_print(const struct crew_result *result);

#endif

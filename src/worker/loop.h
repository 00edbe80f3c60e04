/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The relay: one loop, and as many threads as it takes to keep it going round.  One thread runs the loop.  It says so
 * before it calls what may hang (a file system that is away), and again when that has returned.  If it does not
 * return soon, another thread runs the loop from its top, and the first gets the loop back when its call is over.
 * So only the thread hangs that made the call. As long as nothing hangs this costs two atomic operations for each
 * call: no other thread is woken.
 *
 * The rule for the loop's code: between relay_leave and relay_return it touches only what it has marked as its own
 * before; after relay_return all else may have changed, as another thread may have run the loop meanwhile.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <pthread.h>
#include <stdatomic.h>

struct relay {
	/* given, before relay_run */
	int (*loop)(void *ctx);	  /* calls relay_next_round at the top of each round; returns what relay_run returns */
	void (*nudge)(void *ctx); /* makes the loop begin a new round soon */
	void *ctx;
	/* its own */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for the loop's threads */
	pthread_cond_t watch;	/* for the thread in relay_run */
	_Atomic unsigned
		owner; /* the number of the thread that runs the loop; 0: that thread is in a call that may hang */
	_Atomic unsigned calls; /* how many such calls there have been */
	_Atomic int returned;	/* how many threads have returned from their call and wait for the loop */
	_Atomic int dozing;	/* relay_run sleeps until it is woken */
	unsigned threads, spares, parked, numbers;
	int wanted; /* a spare thread should take the loop */
	int over, status;
};

/* Runs the loop, in other threads, until it returns, and returns its value; or a negative code with ERROR: no thread
 * could be started.  Threads that hang or are parked remain when this returns, but touch nothing any more. */
int relay_run(struct relay *relay, struct jobstack_error *error);

/* In the loop: at its top; before and after a call that may hang. */
void relay_next_round(struct relay *relay);
void relay_leave(struct relay *relay);
void relay_return(struct relay *relay);

/* In the loop, after relay_return: the result of this thread is no longer needed.  Does not return. */
_Noreturn void relay_park(struct relay *relay);

/* In the loop: relay_run does not wait for a thread that is in a call. */
void relay_abandon(struct relay *relay);

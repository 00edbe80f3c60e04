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
	int (*loop)(void *ctx);	  /* its value is that of relay_run; calls relay_next_round at its top */
	void (*nudge)(void *ctx); /* makes the loop come to its top soon */
	void *ctx;
	/* its own */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for the loop's threads */
	pthread_cond_t watch;	/* for the thread in relay_run */
	_Atomic unsigned owner; /* the number of the thread that runs the loop; 0: it is in a call that may hang */
	_Atomic unsigned calls; /* how many such calls there were */
	_Atomic int returned;	/* so many threads have come back from their call, and wait for the loop */
	_Atomic int dozing;	/* relay_run sleeps until it is woken */
	unsigned threads, spares, parked, numbers;
	int wanted; /* a spare thread is to take the loop */
	int over, status;
};

/* Runs the loop, in threads of its own, until it returns; gives its value, or a negative code with ERROR: no
 * thread could be started.  Threads that hang or are parked stay when this returns, and none of them touches
 * anything any more. */
int relay_run(struct relay *relay, struct jobstack_error *error);

/* In the loop: at its top; before and after a call that may hang. */
void relay_next_round(struct relay *relay);
void relay_leave(struct relay *relay);
void relay_return(struct relay *relay);

/* In the loop, after relay_return: nobody waits for this thread's result any more.  Does not return. */
_Noreturn void relay_park(struct relay *relay);

/* In the loop: a thread that is in a call is not waited for at the end. */
void relay_abandon(struct relay *relay);

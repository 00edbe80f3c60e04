/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's loop, and as many threads as it takes to keep it going.  One thread at a time runs the loop.  It
 * releases the loop before it makes a call that may hang (into a file system that is away), and takes it again when the
 * call has returned.  If the call does not return soon, another thread runs the loop from its top; the first one gets
 * the loop back when its call is over.  So only the thread hangs that made the call.  As long as nothing hangs, a call
 * costs a few atomic operations; only the first one after a pause wakes another thread, the one that watches.
 *
 * A thread of the loop is in one of these states:
 *
 *   runs       it runs the loop: OWNER is its number
 *   calls      it is in a call: OWNER is 0, or, if the call hangs, the number of the thread that took the loop
 *   returned   its call has returned, and it waits until it gets the loop back
 *   spare      it waits until the loop needs a thread: a call hangs, and no thread has returned
 *   parked     its call returned after the slot had been abandoned: it waits for ever
 *
 * The rule for the loop's code: between loop_begin_call and loop_end_call it touches only what it has marked as its own
 * before; after loop_end_call all else may have changed, as another thread may have run the loop meanwhile.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <pthread.h>
#include <stdatomic.h>

struct loop {
	/* given, before loop_run */
	int (*run)(void *ctx);	  /* calls loop_next_round at the top of each round; returns what loop_run returns */
	void (*nudge)(void *ctx); /* wakes the loop, so that it begins a new round soon */
	void *ctx;
	/* its own */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for the loop's threads */
	pthread_cond_t watch;	/* for the thread in loop_run */
	_Atomic unsigned
		owner; /* the number of the thread that runs the loop; 0: that thread is in a call that may hang */
	_Atomic unsigned calls; /* how many such calls there have been */
	_Atomic int returned;	/* how many threads have returned from their call and wait for the loop */
	_Atomic int dozing;	/* loop_run sleeps until it is woken */
	/* how many threads there are, in any state; of these, the spare ones, and those for which loop_run does not
	 * wait, since their call hangs; and the number of the youngest thread */
	unsigned threads, spares, parked, numbers;
	int wanted; /* a spare thread should take the loop */
	int over, status;
};

/* Runs the loop, in other threads, until it returns, and returns its value; or a negative code with ERROR: no thread
 * could be started.  Threads that hang or are parked remain when this returns, but touch nothing any more. */
int loop_run(struct loop *loop, struct jobstack_error *error);

/* In the loop: at its top, where a thread whose call has returned takes over; before and after a call that may hang. */
void loop_next_round(struct loop *loop);
void loop_begin_call(struct loop *loop);
void loop_end_call(struct loop *loop);

/* In the loop, after loop_end_call: the result of this thread is no longer needed.  Does not return. */
_Noreturn void loop_park_thread(struct loop *loop);

/* In the loop: loop_run does not wait for a thread that is in a call. */
void loop_abandon_call(struct loop *loop);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The relay.  Promises: one thread at a time runs the loop; a call that hangs holds it up for at most two ticks;
 * while nothing is called, nobody wakes.
 *
 * No thread of the loop ends before the loop does: the kernel would kill the commands that it has started
 * (PR_SET_PDEATHSIG).
 */
#include "worker/loop.h"

#include "base/clock.h"
#include "base/error.h"

#define TICK_US (JS_SECOND_US / 4) /* a call that takes from one tick to the next hangs */

static _Thread_local unsigned my_number;

/* Takes the loop if no thread runs it. */
static int try_take_loop(struct relay *r)
{
	unsigned nobody = 0;

	return atomic_compare_exchange_strong(&r->owner, &nobody, my_number);
}

/* Hands the loop to a thread that waits for it, with the lock held. */
static void drop_loop(struct relay *r)
{
	(void)atomic_fetch_add(&r->calls, 1);
	atomic_store(&r->owner, 0);
	(void)pthread_cond_broadcast(&r->changed);
}

/* Waits until the loop needs a thread, with the lock held.  0: it is over. */
static int wait_as_spare(struct relay *r)
{
	r->spares++;
	while (!r->over && !(r->wanted && try_take_loop(r)))
		(void)pthread_cond_wait(&r->changed, &r->lock);
	r->spares--;
	if (!r->over)
		r->wanted = 0;
	return !r->over;
}

/* A thread ends; with the lock held, which is released. */
static void end_thread(struct relay *r)
{
	r->threads--;
	(void)pthread_cond_signal(&r->watch);
	(void)pthread_mutex_unlock(&r->lock);
}

static void *run_loop_thread(void *arg)
{
	struct relay *r = arg;
	int status;

	(void)pthread_mutex_lock(&r->lock);
	my_number = ++r->numbers;
	(void)pthread_setname_np(pthread_self(), "jobstack-loop");
	if (!wait_as_spare(r)) {
		end_thread(r);
		return NULL;
	}
	(void)pthread_mutex_unlock(&r->lock);
	status = r->loop(r->ctx);
	(void)pthread_mutex_lock(&r->lock);
	if (!r->over) { /* the loop keeps its owner: a thread that returns from its call waits for ever */
		r->over = 1;
		r->status = status;
		(void)pthread_cond_broadcast(&r->changed);
	}
	end_thread(r);
	return NULL;
}

void relay_next_round(struct relay *r)
{
	int goes_on;

	if (atomic_load(&r->returned) == 0)
		return;
	(void)pthread_mutex_lock(&r->lock);
	r->wanted = 0; /* threads that have returned come before a spare thread */
	drop_loop(r);
	goes_on = wait_as_spare(r);
	if (goes_on) {
		(void)pthread_mutex_unlock(&r->lock);
		return;
	}
	end_thread(r);
	pthread_exit(NULL);
}

void relay_leave(struct relay *r)
{
	/* only the thread that runs the loop writes it */
	atomic_store_explicit(&r->calls, atomic_load_explicit(&r->calls, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_store(&r->owner, 0);
	if (!atomic_load(&r->dozing))
		return;
	(void)pthread_mutex_lock(&r->lock);
	(void)pthread_cond_signal(&r->watch);
	(void)pthread_mutex_unlock(&r->lock);
}

void relay_return(struct relay *r)
{
	if (try_take_loop(r))
		return;
	(void)pthread_mutex_lock(&r->lock);
	(void)atomic_fetch_add(&r->returned, 1);
	r->nudge(r->ctx);
	while (!try_take_loop(r))
		(void)pthread_cond_wait(&r->changed, &r->lock);
	(void)atomic_fetch_sub(&r->returned, 1);
	(void)pthread_mutex_unlock(&r->lock);
}

void relay_park(struct relay *r)
{
	(void)pthread_mutex_lock(&r->lock);
	drop_loop(r);
	r->wanted = 1;
	(void)pthread_cond_signal(&r->watch); /* there may be no spare thread to take the loop */
	for (;;)
		(void)pthread_cond_wait(&r->changed, &r->lock);
}

void relay_abandon(struct relay *r)
{
	(void)pthread_mutex_lock(&r->lock);
	r->parked++;
	(void)pthread_mutex_unlock(&r->lock);
}

static int add_thread(struct relay *r)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc = pthread_attr_init(&attr);

	if (rc != 0)
		return -1;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, run_loop_thread, r);
	(void)pthread_attr_destroy(&attr);
	if (rc != 0)
		return -1;
	r->threads++;
	return 0;
}

/* No thread runs the loop: one that has returned takes it, or a spare thread, or a new one.  With the lock held. */
static void pass_loop(struct relay *r)
{
	if (atomic_load(&r->returned) == 0) {
		r->wanted = 1;
		if (r->spares == 0) /* if that fails, it is tried again at the next tick */
			(void)add_thread(r);
	}
	(void)pthread_cond_broadcast(&r->changed);
}

/* Sees to it that a thread runs the loop; with the lock held. */
static void watch_loop(struct relay *r)
{
	unsigned seen = atomic_load(&r->calls), away = 0;

	while (!r->over) {
		unsigned calls = atomic_load(&r->calls);
		struct timespec tick;

		if (away && calls == seen && atomic_load(&r->owner) == 0)
			pass_loop(r);
		away = atomic_load(&r->owner) == 0;
		if (!away && calls == seen) { /* no call for a tick: sleep until there is one */
			atomic_store(&r->dozing, 1);
			if (atomic_load(&r->calls) == seen && atomic_load(&r->owner) != 0)
				(void)pthread_cond_wait(&r->watch, &r->lock);
			atomic_store(&r->dozing, 0);
		} else {
			tick = js_clock_deadline(js_clock_mono_us() + TICK_US);
			(void)pthread_cond_timedwait(&r->watch, &r->lock, &tick);
		}
		seen = calls;
	}
}

int relay_run(struct relay *r, struct jobstack_error *error)
{
	int status = 0;

	if (pthread_mutex_init(&r->lock, NULL) != 0 || js_clock_cond_init(&r->watch) != 0 ||
	    js_clock_cond_init(&r->changed) != 0)
		return js_error_memory(error);
	(void)pthread_mutex_lock(&r->lock);
	r->wanted = 1;
	if (add_thread(r) != 0)
		status = js_error_set(error, JOBSTACK_EBUG, "can't start a thread");
	else {
		watch_loop(r);
		while (r->threads > r->parked)
			(void)pthread_cond_wait(&r->watch, &r->lock);
		status = r->status;
	}
	(void)pthread_mutex_unlock(&r->lock);
	return status;
}

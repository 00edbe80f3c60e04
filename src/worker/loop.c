/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads for one loop.  Promises: one thread at a time runs the loop; a call that hangs holds it up for at most two
 * ticks; while nothing is called, nobody wakes.
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
static int try_take_loop(struct loop *l)
{
	unsigned nobody = 0;

	return atomic_compare_exchange_strong(&l->owner, &nobody, my_number);
}

/* Releases the loop and wakes all that wait for it, with the lock held.  It counts as a call, so that watch_loop waits
 * another tick before it passes the loop on. */
static void drop_loop(struct loop *l)
{
	(void)atomic_fetch_add(&l->calls, 1);
	atomic_store(&l->owner, 0);
	(void)pthread_cond_broadcast(&l->changed);
}

/* Waits until the loop needs a thread, with the lock held.  0: it is over. */
static int wait_as_spare(struct loop *l)
{
	l->spares++;
	while (!l->over && !(l->wanted && try_take_loop(l)))
		(void)pthread_cond_wait(&l->changed, &l->lock);
	l->spares--;
	if (!l->over)
		l->wanted = 0;
	return !l->over;
}

/* A thread ends; with the lock held, which is released. */
static void end_thread(struct loop *l)
{
	l->threads--;
	(void)pthread_cond_signal(&l->watch);
	(void)pthread_mutex_unlock(&l->lock);
}

/* The threads of the loop.  Each begins as a spare one. */
static void *run_loop_thread(void *arg)
{
	struct loop *l = arg;
	int status;

	(void)pthread_mutex_lock(&l->lock);
	my_number = ++l->numbers;
	(void)pthread_setname_np(pthread_self(), "jobstack-loop");
	if (!wait_as_spare(l)) {
		end_thread(l);
		return NULL;
	}
	(void)pthread_mutex_unlock(&l->lock);
	status = l->run(l->ctx);
	(void)pthread_mutex_lock(&l->lock);
	if (!l->over) { /* the loop keeps its owner: a thread that returns from its call waits for ever */
		l->over = 1;
		l->status = status;
		(void)pthread_cond_broadcast(&l->changed);
	}
	end_thread(l);
	return NULL;
}

/* The usual case takes no lock.  If a thread has returned from its call, this thread gives it the loop, and becomes a
 * spare one: until that thread goes on, its slot is busy. */
void loop_next_round(struct loop *l)
{
	int goes_on;

	if (atomic_load(&l->returned) == 0)
		return;
	(void)pthread_mutex_lock(&l->lock);
	l->wanted = 0; /* threads that have returned come before a spare thread */
	drop_loop(l);
	goes_on = wait_as_spare(l);
	if (goes_on) {
		(void)pthread_mutex_unlock(&l->lock);
		return;
	}
	end_thread(l);
	pthread_exit(NULL);
}

void loop_begin_call(struct loop *l)
{
	/* Only the thread that runs the loop counts, so no atomic addition is needed.  The count changes before OWNER
	 * does: who sees OWNER as 0 sees this call's number, too. */
	atomic_store_explicit(&l->calls, atomic_load_explicit(&l->calls, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_store(&l->owner, 0);
	/* watch_loop sets DOZING and then reads OWNER; here it is the other way round.  So at least one of the two sees
	 * what the other has written, and a call never begins unwatched. */
	if (!atomic_load(&l->dozing))
		return;
	(void)pthread_mutex_lock(&l->lock);
	(void)pthread_cond_signal(&l->watch);
	(void)pthread_mutex_unlock(&l->lock);
}

void loop_end_call(struct loop *l)
{
	if (try_take_loop(l))
		return;
	(void)pthread_mutex_lock(&l->lock);
	/* another thread runs the loop: it lets go at the top of its next round (loop_next_round) */
	(void)atomic_fetch_add(&l->returned, 1);
	l->nudge(l->ctx);
	while (!try_take_loop(l))
		(void)pthread_cond_wait(&l->changed, &l->lock);
	(void)atomic_fetch_sub(&l->returned, 1);
	(void)pthread_mutex_unlock(&l->lock);
}

/* Any thread that waits for the loop may take it; this one only stays so that the kernel does not kill what it has
 * started. */
void loop_park_thread(struct loop *l)
{
	(void)pthread_mutex_lock(&l->lock);
	drop_loop(l);
	l->wanted = 1;
	(void)pthread_cond_signal(&l->watch); /* there may be no spare thread to take the loop */
	for (;;)
		(void)pthread_cond_wait(&l->changed, &l->lock);
}

void loop_abandon_call(struct loop *l)
{
	(void)pthread_mutex_lock(&l->lock);
	l->parked++;
	(void)pthread_mutex_unlock(&l->lock);
}

/* With the lock held.  Threads are detached: one that hangs in a call could never be joined. */
static int add_thread(struct loop *l)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc = pthread_attr_init(&attr);

	if (rc != 0)
		return -1;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, run_loop_thread, l);
	(void)pthread_attr_destroy(&attr);
	if (rc != 0)
		return -1;
	l->threads++;
	return 0;
}

/* No thread runs the loop: one that has returned takes it, or a spare thread, or a new one.  With the lock held. */
static void pass_loop(struct loop *l)
{
	if (atomic_load(&l->returned) == 0) {
		l->wanted = 1;
		if (l->spares == 0) /* if that fails, it is tried again at the next tick */
			(void)add_thread(l);
	}
	(void)pthread_cond_broadcast(&l->changed);
}

/* Sees to it that a thread runs the loop, with the lock held.  A call hangs if at two ticks in a row the loop has no
 * owner and no other call has begun in between. */
static void watch_loop(struct loop *l)
{
	unsigned seen = atomic_load(&l->calls), away = 0;

	while (!l->over) {
		unsigned calls = atomic_load(&l->calls);
		struct timespec tick;

		if (away && calls == seen && atomic_load(&l->owner) == 0)
			pass_loop(l);
		away = atomic_load(&l->owner) == 0;
		if (!away && calls == seen) { /* no call for a tick: sleep until there is one */
			atomic_store(&l->dozing, 1);
			if (atomic_load(&l->calls) == seen && atomic_load(&l->owner) != 0)
				(void)pthread_cond_wait(&l->watch, &l->lock);
			atomic_store(&l->dozing, 0);
		} else {
			tick = js_clock_deadline(js_clock_mono_us() + TICK_US);
			(void)pthread_cond_timedwait(&l->watch, &l->lock, &tick);
		}
		seen = calls;
	}
}

int loop_run(struct loop *l, struct jobstack_error *error)
{
	int status = 0;

	if (pthread_mutex_init(&l->lock, NULL) != 0 || js_clock_cond_init(&l->watch) != 0 ||
	    js_clock_cond_init(&l->changed) != 0)
		return js_error_memory(error);
	(void)pthread_mutex_lock(&l->lock);
	l->wanted = 1;
	if (add_thread(l) != 0)
		status = js_error_set(error, JOBSTACK_EBUG, "can't start a thread");
	else {
		watch_loop(l);
		while (l->threads > l->parked)
			(void)pthread_cond_wait(&l->watch, &l->lock);
		status = l->status;
	}
	(void)pthread_mutex_unlock(&l->lock);
	return status;
}

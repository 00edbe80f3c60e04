/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A crew.  See crew.h.
 */
#define _GNU_SOURCE
#include "crew.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)512 * 1024) /* a thousand of them shall not need a gigabyte */
#define GO_HOME_S 10
#define LONGER 2 /* times the seconds, if rounds are so slow */
#define LOOK_NS 100000000
#define AT_THE_DOOR 8 /* so many connect at once: a storm of logins is not what is measured */

struct crew {
	const struct crew_trade *trade;
	pthread_mutex_t lock;
	pthread_cond_t changed;	 /* for who counts: a member is ready, has failed, or found nothing */
	pthread_cond_t gone_off; /* for the members: go is set (not the same, or each arrival would wake all) */
	unsigned ready, unbegun, failed;
	int go, dry;
	atomic_int stop;
	sem_t door;
};

struct member {
	struct crew *crew;
	unsigned index;
	pthread_t thread;
	_Alignas(64) _Atomic uint64_t closed; /* a line of the cache each: only its thread writes it */
	_Atomic uint64_t rounds;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void crew_complain(const char *who, const char *words)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&told))
		fprintf(stderr, "%s: %s\n", who, words);
}

static void tell(struct crew *crew, int dry, int failed)
{
	pthread_mutex_lock(&crew->lock);
	crew->dry |= dry;
	crew->failed += (unsigned)failed;
	pthread_cond_signal(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

static void *member_main(void *arg)
{
	struct member *me = arg;
	struct crew *crew = me->crew;
	int status = 0;
	void *state;

	sem_wait(&crew->door);
	state = atomic_load(&crew->stop) ? NULL : crew->trade->begin(me->index);
	sem_post(&crew->door);
	pthread_mutex_lock(&crew->lock);
	if (state == NULL)
		crew->unbegun++;
	crew->ready++;
	pthread_cond_signal(&crew->changed);
	while (!crew->go)
		pthread_cond_wait(&crew->gone_off, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
	if (state == NULL)
		return NULL;
	while (status == 0 && !atomic_load_explicit(&crew->stop, memory_order_relaxed)) {
		status = crew->trade->round(state, &me->closed);
		crew_add(&me->rounds, 1);
	}
	if (status != 0)
		tell(crew, status > 0, status < 0);
	sem_wait(&crew->door);
	crew->trade->end(state);
	sem_post(&crew->door);
	return NULL;
}

static void count(const struct member *members, unsigned n, uint64_t *closed, uint64_t *rounds)
{
	*closed = *rounds = 0;
	for (unsigned i = 0; i < n; i++) {
		*closed += atomic_load_explicit(&members[i].closed, memory_order_relaxed);
		*rounds += atomic_load_explicit(&members[i].rounds, memory_order_relaxed);
	}
}

/* Waits until all have begun, lets them go, and counts. */
static void watch(struct crew *crew, struct member *members, unsigned n, double seconds, struct crew_result *r)
{
	uint64_t closed, rounds;
	struct timespec until;
	int64_t began, end, last;

	pthread_mutex_lock(&crew->lock);
	while (crew->ready < n)
		pthread_cond_wait(&crew->changed, &crew->lock);
	crew->go = 1;
	pthread_cond_broadcast(&crew->gone_off);
	began = now_ns();
	last = began + (int64_t)(seconds * LONGER * 1e9);
	for (end = began + (int64_t)(seconds * 1e9); !crew->dry && crew->unbegun == 0 && crew->failed < n;
	     end += LOOK_NS) {
		until = (struct timespec){end / 1000000000, end % 1000000000};
		while (!crew->dry && crew->failed < n &&
		       pthread_cond_timedwait(&crew->changed, &crew->lock, &until) != ETIMEDOUT)
			;
		count(members, n, &closed, &rounds);
		if (rounds >= n || end >= last)
			break;
	}
	count(members, n, &closed, &rounds);
	r->seconds = (double)(now_ns() - began) / 1e9;
	r->closed = closed;
	r->rounds = rounds;
	r->dry = crew->dry;
	r->failed = crew->failed;
	pthread_mutex_unlock(&crew->lock);
	atomic_store(&crew->stop, 1);
}

int crew_order(struct crew_orders *o, int c)
{
	switch (c) {
	case 'f': o->cnf = optarg; return 0;
	case 'P': o->port = (unsigned)strtoul(optarg, NULL, 10); return 0;
	case 's': o->stack = optarg; return 0;
	case 't': o->threads = (unsigned)strtoul(optarg, NULL, 10); return 0;
	case 'd': o->seconds = strtod(optarg, NULL); return 0;
	default: return -1;
	}
}

int crew_run(const struct crew_trade *trade, const struct crew_orders *orders, struct crew_result *result)
{
	unsigned threads = orders->threads;
	static struct crew crew = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* threads that are left may still look at it */
	struct member *members = aligned_alloc(64, threads * sizeof(*members));
	struct timespec until;
	pthread_condattr_t clock;
	pthread_attr_t attr;

	if (members == NULL)
		return -1;
	crew.trade = trade;
	memset(members, 0, threads * sizeof(*members));
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&crew.changed, &clock);
	pthread_cond_init(&crew.gone_off, NULL);
	sem_init(&crew.door, 0, AT_THE_DOOR);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned i = 0; i < threads; i++) {
		members[i].crew = &crew;
		members[i].index = i;
		if ((errno = pthread_create(&members[i].thread, &attr, member_main, &members[i])) != 0) {
			perror("pthread_create");
			exit(1);
		}
	}
	watch(&crew, members, threads, orders->seconds, result);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GO_HOME_S;
	for (unsigned i = 0; i < threads; i++)
		result->left += pthread_timedjoin_np(members[i].thread, NULL, &until) != 0;
	return crew.unbegun == 0 ? 0 : -1;
}

_Noreturn void crew_end(const struct crew_result *r)
{
	printf("{\"seconds\": %.6f, \"closed\": %llu, \"rounds\": %llu, \"failed\": %u, \"left\": %u, \"dry\": %s, "
	       "\"rate\": %.3f}\n",
	       r->seconds, (unsigned long long)r->closed, (unsigned long long)r->rounds, r->failed, r->left,
	       r->dry ? "true" : "false", r->seconds > 0 ? (double)r->closed / r->seconds : 0);
	fflush(stdout);
	_exit(0);
}

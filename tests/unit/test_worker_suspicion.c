/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a node is bad: the questions one by one, and a simulation.  It has a list, workers on nodes of their own, and
 * what the ledger would read; what they conclude is src/worker/suspicion.c itself.  In a thousand runs of each kind no
 * worker of a good node may end, no stack that a node could finish may be paused, and nothing may be dead but what
 * fails everywhere.
 */
#include "worker/suspicion.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ENTRIES 1100
#define NODES 4
#define ATTEMPTS 3
#define CLAIM 500
#define RETRY_US (5 * JS_SECOND_US)
#define RUNS 1000
#if defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static uint64_t seed;

static double chance(void) /* xorshift64 */
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}

struct kind {
	const char *name;
	int nodes, bad;	  /* of the nodes, the first BAD ones are bad... */
	double from;	  /* ... since this share of the list was done */
	double random;	  /* this share of all attempts fails */
	int block, least; /* a block of at least LEAST bad entries, up to so many: at the head (1), in the middle (2) */
};

enum place { READY, WAITING, CLAIMED, DONE, DEAD };

struct entry {
	enum place place;
	int64_t due;
	int bad;
	unsigned fails, attempts;
	unsigned failed_on; /* a set of nodes */
	unsigned last_on;   /* where its last attempt was, if it was done; 0: it was not */
};

struct node {
	struct suspicion run;
	int64_t at, began, look_at, slow_until; /* the next event */
	int runs, fails, entry[CLAIM], n, next; /* what it has claimed */
	int far, ended;
};

static struct {
	const struct kind *kind;
	struct entry entry[ENTRIES];
	struct node node[NODES];
	int low, done, dead, over, paused, bad_left, healthy_ended, bad_ended;
	int64_t now, due, good_us, fail_us; /* due: the next of those that wait, or earlier */
	int waiting[ENTRIES], waiting_n; /* the entries that wait, in any order: counting places would take most time */
} sim;

static int is_bad_node(int n)
{
	return n < sim.kind->bad && sim.done >= (int)(sim.kind->from * ENTRIES);
}

/* The first READY entries. */
static void claim_entries(struct node *w, int most)
{
	int kept = 0;

	w->n = w->next = 0;
	if (sim.due <= sim.now) {
		sim.due = INT64_MAX;
		for (int i = 0; i < sim.waiting_n; i++) {
			int at = sim.waiting[i];
			struct entry *e = &sim.entry[at];

			if (e->due <= sim.now) {
				e->place = READY;
				sim.low = at < sim.low ? at : sim.low;
				continue;
			}
			sim.waiting[kept++] = at;
			if (e->due < sim.due)
				sim.due = e->due;
		}
		sim.waiting_n = kept;
	}
	while (sim.low < ENTRIES && sim.entry[sim.low].place != READY)
		sim.low++;
	for (int i = sim.low; i < ENTRIES && w->n < most; i++)
		if (sim.entry[i].place == READY) {
			sim.entry[i].place = CLAIMED;
			w->entry[w->n++] = i;
		}
}

static void give_back(struct node *w, int from, int to)
{
	for (int i = from; i < to; i++) {
		sim.entry[w->entry[i]].place = READY;
		sim.low = w->entry[i] < sim.low ? w->entry[i] : sim.low;
	}
}

static void end_node(int n)
{
	struct node *w = &sim.node[n];

	give_back(w, w->next, w->n);
	w->ended = 1;
	sim.bad_ended += is_bad_node(n);
	sim.healthy_ended += !is_bad_node(n);
}

static void slow_down(struct node *w)
{
	int64_t wait = suspicion_wait_us(&w->run);

	w->slow_until = wait > 0 ? sim.now + wait : 0;
}

/* As the ledger does (src/worker/neighbours.c). */
static void look(int n)
{
	struct node *w = &sim.node[n];
	struct suspicion *s = &w->run;
	unsigned found = 0, failed = 0, busy = 0, alive = 0, bit = 1u << n;
	int tried = sim.dead + sim.waiting_n, ready = ENTRIES - sim.done - tried;

	if (!suspicion_asks(s) || w->ended)
		return;
	w->look_at = sim.now + JS_SECOND_US;
	for (int i = 0; i < sim.kind->nodes; i++) {
		struct node *o = &sim.node[i];

		if (o->ended)
			continue;
		alive += i != n;
		busy += (unsigned)(o->runs && suspicion_may_work(s, sim.now, sim.now - o->began + 1, sim.now));
	}
	suspicion_see(s, alive, busy, (uint64_t)sim.done, (uint64_t)tried, sim.now);
	for (unsigned i = 0; i < s->n && s->others > 0; i++) {
		const struct entry *e = &sim.entry[s->entry[i] - 1];

		found += (e->last_on & ~bit) != 0;
		failed += e->last_on == 0 && (e->failed_on & ~bit) != 0;
	}
	slow_down(w);
	if (s->others > 0 && suspicion_is_bad(s, found, failed, sim.now))
		end_node(n);
	else if (suspicion_is_hopeless(s, (uint64_t)ready))
		sim.paused = 1;
}

static void end_entry(int n)
{
	struct node *w = &sim.node[n];
	struct suspicion *s = &w->run;
	struct entry *e = &sim.entry[w->entry[w->next++]];

	w->runs = 0;
	e->attempts++;
	suspicion_note(s, (uint64_t)(e - sim.entry) + 1, w->far, w->fails, w->began, sim.now);
	slow_down(w);
	if (!w->fails) {
		e->place = DONE;
		e->last_on = 1u << n;
		sim.done++;
		return;
	}
	if (w->slow_until > 0 || suspicion_goes_far(s)) {
		give_back(w, w->next, w->n);
		w->n = w->next;
	}
	e->place = WAITING;
	sim.waiting[sim.waiting_n++] = (int)(e - sim.entry);
	if (suspicion_asks(s) && !s->looked)
		look(n);
	if (suspicion_spares(s, 0) && !suspicion_costs(s, (unsigned)__builtin_popcount(e->failed_on & ~(1u << n)))) {
		unsigned more = e->attempts - 1 - e->fails;

		e->due = sim.now + (int64_t)((double)(RETRY_US << (more < 10 ? more : 10)) / 4 * (0.75 + chance() / 2));
	} else {
		e->due = sim.now + (int64_t)((double)(RETRY_US << e->fails) * (0.75 + chance() / 2));
		if (++e->fails == ATTEMPTS) {
			e->place = DEAD;
			sim.waiting_n--; /* it is the last one */
			sim.dead++;
			sim.bad_left -= e->bad;
		}
	}
	e->failed_on |= 1u << n;
	if (e->place == WAITING && e->due < sim.due)
		sim.due = e->due;
}

static void start_entry(int n)
{
	struct node *w = &sim.node[n];
	int64_t batch = JS_SECOND_US / sim.good_us;

	if (w->next == w->n) {
		int left = (ENTRIES - sim.done - sim.dead) / (2 * sim.kind->nodes);

		if (batch > left)
			batch = left;
		w->far = suspicion_goes_far(&w->run);
		claim_entries(w, w->far				  ? CLAIM
				 : w->slow_until > 0 || batch < 1 ? 1
				 : batch < CLAIM		  ? (int)batch
								  : CLAIM);
		if (w->far && w->n > 1) {
			give_back(w, 0, w->n - 1);
			w->next = w->n - 1;
		}
		if (w->n == 0) {
			w->at = sim.now + JS_SECOND_US / 2 + (int64_t)(chance() * 1e6);
			return;
		}
	}
	w->runs = 1;
	w->began = sim.now;
	slow_down(w);
	w->fails = is_bad_node(n) || sim.entry[w->entry[w->next]].bad || chance() < sim.kind->random;
	w->at = sim.now + 1 + (int64_t)((double)(w->fails ? sim.fail_us : sim.good_us) * (0.5 + chance()));
}

static void step(int n)
{
	struct node *w = &sim.node[n];

	if (w->runs) {
		end_entry(n);
		w->at = w->slow_until > sim.now ? w->slow_until : sim.now + 1000;
	} else
		start_entry(n);
	if (sim.now >= w->look_at)
		look(n);
}

/* One run, to its end or until it is paused.  Returns how long it took. */
static int64_t simulate(const struct kind *kind)
{
	int block = kind->least + (int)(chance() * (501 - kind->least)), at = kind->block == 1 ? 0 : ENTRIES / 4;

	memset(&sim, 0, sizeof(sim));
	sim.kind = kind;
	sim.due = INT64_MAX;
	sim.good_us = INT64_C(5000) << (int)(chance() * 20); /* 5 ms to 44 minutes */
	sim.fail_us = chance() < 0.5 ? 3000 : sim.good_us;
	for (int i = 0; kind->block != 0 && i < block; i++)
		sim.entry[at + i].bad = 1;
	for (int i = 0; i < kind->nodes; i++)
		sim.node[i].at = (int64_t)(chance() * 1e6);
	while (sim.done + sim.dead < ENTRIES && !sim.paused) {
		int first = -1;

		for (int i = 0; i < kind->nodes; i++)
			if (!sim.node[i].ended && (first < 0 || sim.node[i].at < sim.node[first].at))
				first = i;
		assert_true(first >= 0);
		sim.now = sim.node[first].at;
		assert_true(sim.now < 400 * 86400 * JS_SECOND_US);
		step(first);
	}
	return sim.now;
}

static const struct kind kinds[] = {
	{"30 % random failures", 4, 0, 0, 0.3, 0, 0},
	{"the same, alone", 1, 0, 0, 0.3, 0, 0},
	{"a block at the head", 4, 0, 0, 0, 1, 20},
	{"the same, alone", 1, 0, 0, 0, 1, 20},
	{"a block in the middle", 4, 0, 0, 0, 2, 20},
	{"the same, alone", 1, 0, 0, 0, 2, 20},
	{"a block at the head and 30 % random failures", 4, 0, 0, 0.3, 1, 20},
	{"a block in the middle and 30 % random failures", 4, 0, 0, 0.3, 2, 20},
	{"one of four nodes bad", 4, 1, 0, 0, 0, 0},
	{"one of four nodes bad later", 4, 1, 0.3, 0, 0, 0},
	{"two of four nodes bad", 4, 2, 0, 0, 0, 0},
	{"two of four nodes bad later", 4, 2, 0.3, 0, 0, 0},
	{"two of four nodes bad, and a block at the head", 4, 2, 0, 0, 1, 20},
	{"two of four nodes bad later, and a block in the middle", 4, 2, 0.3, 0, 2, 20},
};

static void good_nodes_go_on(void **state)
{
	int runs = getenv("JOBSTACK_UNDER_VALGRIND") != NULL ? 10 : SANITIZED ? 50 : RUNS;

	(void)state;
	seed = 20261127;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		int healthy = 0, paused = 0, dead = 0, bad = 0, bad_ended = 0;

		for (int i = 0; i < runs; i++) {
			(void)simulate(&kinds[k]);
			for (int j = 0; j < ENTRIES && kinds[k].random == 0; j++)
				dead += sim.entry[j].place == DEAD && !sim.entry[j].bad;
			healthy += sim.healthy_ended;
			paused += sim.paused;
			if (sim.now > 180 * JS_SECOND_US) { /* in less time there is not enough to see */
				bad += kinds[k].bad;
				bad_ended += sim.bad_ended;
			}
		}
		print_message("%s: %d healthy workers ended, %d stacks paused, %d good entries dead, %d of %d bad "
			      "nodes found\n",
			      kinds[k].name, healthy, paused, dead, bad_ended, bad);
		assert_true(healthy == 0 && paused == 0 && dead <= (1 + runs / 50) * (kinds[k].bad > 0) &&
			    3 * bad_ended >= bad);
	}
}

static void nothing_works(void **state)
{
	static const struct kind all = {"all nodes bad", 4, 4, 0, 0, 0, 0},
				 one = {"the only node bad", 1, 1, 0, 0, 0, 0};

	(void)state;
	seed = 1;
	for (int i = 0; i < 100; i++) {
		(void)simulate(&all);
		if (!sim.paused || sim.dead >= 20 || sim.bad_ended > 0)
			fail_msg("%d paused, %d dead, %d ended", sim.paused, sim.dead, sim.bad_ended);
		(void)simulate(&one);
		if (!sim.paused || sim.dead >= 20)
			fail_msg("%d paused, %d dead, good %ld fail %ld after %ld", sim.paused, sim.dead, sim.good_us,
				 sim.fail_us, sim.now);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(good_nodes_go_on), cmocka_unit_test(nothing_works)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

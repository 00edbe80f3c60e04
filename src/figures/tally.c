/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One pass over the attempts.  Promise: memory does not grow with their number.  Quantiles are sketches; each list has
 * a limit, and its last line adds up the rest.
 */
#include "figures/tally.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS "(others)"

void figures_spread_add(struct figures_spread *s, double value)
{
	double from_mean = value - s->mean;

	s->mean += from_mean / (double)++s->n;
	s->squares += from_mean * (value - s->mean);
}

double figures_spread_cv(const struct figures_spread *s)
{
	return s->n < 2 || s->mean <= 0 ? -1 : sqrt(s->squares / (double)(s->n - 1)) / s->mean;
}

struct figures_tally *figures_tally_new(void)
{
	struct figures_tally *t = calloc(1, sizeof(*t));

	if (t != NULL)
		t->first_us = t->last_us = t->failed_us = -1;
	return t;
}

void figures_tally_free(struct figures_tally *t)
{
	if (t == NULL)
		return;
	free(t->node);
	free(t);
}

uint64_t figures_attempts(const uint64_t n[FIGURES_OUTCOMES])
{
	return n[JOBSTACK_DONE] + n[JOBSTACK_FAILED] + n[JOBSTACK_LOST] + n[JOBSTACK_INTERRUPTED];
}

double figures_time(const double us[FIGURES_OUTCOMES])
{
	return us[JOBSTACK_DONE] + us[JOBSTACK_FAILED] + us[JOBSTACK_LOST] + us[JOBSTACK_INTERRUPTED];
}

double figures_node_busy(const struct figures_tally_node *n)
{
	int known = n->timed > 0 && n->last_us > n->first_us;

	return known ? figures_time(n->us) / (double)(n->last_us - n->first_us) : -1;
}

double figures_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

int64_t figures_took(const struct jobstack_item *i)
{
	int runs = i->outcome < 0 && i->state == JOBSTACK_IS_RUNNING;
	int64_t end = runs ? js_clock_wall_us() : i->ended_us;

	if (i->started_us < 0 || end < 0)
		return -1;
	return end > i->started_us ? end - i->started_us : 0;
}

/* Returns the bytes that an attempt read and wrote; -1: unknown. */
static double sum_bytes(const struct jobstack_item *i)
{
	return i->read_bytes >= 0 && i->write_bytes >= 0 ? (double)i->read_bytes + (double)i->write_bytes : -1;
}

/* Adds to how long done attempts took, and to how many bytes they read and wrote per second. */
static void add_speed(struct figures_spread *took, struct figures_spread *moved, const struct jobstack_item *i,
		      int64_t us)
{
	if (i->outcome != JOBSTACK_DONE || us <= 0)
		return;
	figures_spread_add(took, (double)us);
	if (sum_bytes(i) >= 0)
		figures_spread_add(moved, sum_bytes(i) * 1e6 / (double)us);
}

/* Widens the time from FIRST to LAST by an attempt.  One that never started counts with its end. */
static void widen_span(int64_t *first, int64_t *last, const struct jobstack_item *i)
{
	int64_t from = i->started_us >= 0 ? i->started_us : i->ended_us;

	if (from >= 0 && (*first < 0 || from < *first))
		*first = from;
	if (i->ended_us > *last)
		*last = i->ended_us;
}

/* -------------------------------------------------------------------------------------------------------- causes */

/* Writes why an attempt was not done, in words that are the same for all attempts with this cause. */
static void format_cause(const struct jobstack_item *i, char words[FIGURES_WORDS])
{
	static const char *const known[JOBSTACK_CAUSES] = {
		[JOBSTACK_CAUSE_TIMEOUT] = "timeout",
		[JOBSTACK_CAUSE_MEMORY] = "out of memory",
		[JOBSTACK_CAUSE_KILLED] = "killed by a user",
		[JOBSTACK_CAUSE_RESULT] = "exit 0, but no --creates file, or no --persistent answer",
		[JOBSTACK_CAUSE_START] = "it could not be run",
		[JOBSTACK_CAUSE_OUTPUT] = "its output could not be kept",
		[JOBSTACK_CAUSE_WALL_TIME] = "wall time",
		[JOBSTACK_CAUSE_STOPPED] = "the worker was told to end by a signal",
		[JOBSTACK_CAUSE_LEASE] = "the lease could not be kept",
		[JOBSTACK_CAUSE_NODE_FAILED] = "node failed",
		[JOBSTACK_CAUSE_PREEMPTED] = "preempted",
		[JOBSTACK_CAUSE_CANCELLED] = "cancelled",
		[JOBSTACK_CAUSE_WORKER] = "its worker was gone",
	};

	if (i->cause < JOBSTACK_CAUSES && known[i->cause] != NULL)
		(void)snprintf(words, FIGURES_WORDS, "%s", known[i->cause]);
	else if (i->signal > 0)
		(void)snprintf(words, FIGURES_WORDS, "signal %" PRId32, i->signal);
	else if (i->exit_code > 0)
		(void)snprintf(words, FIGURES_WORDS, "exit %" PRId32, i->exit_code);
	else
		(void)snprintf(words, FIGURES_WORDS, "another reason");
}

/* Adds an attempt to the group of its outcome and cause.  When all places are taken, the last one becomes that of all
 * others. */
static void tally_cause(struct figures_tally *t, const struct jobstack_item *i, int64_t us)
{
	char words[FIGURES_WORDS];
	struct figures_tally_cause *c;
	size_t at = 0;

	format_cause(i, words);
	while (at < t->cause_n && (t->cause[at].outcome != i->outcome || strcmp(t->cause[at].words, words) != 0))
		at++;
	if (at == FIGURES_CAUSES) {
		at = FIGURES_CAUSES - 1;
		t->cause[at].outcome = -1;
		(void)snprintf(t->cause[at].words, FIGURES_WORDS, "%s", OTHERS);
	}
	c = &t->cause[at];
	if (at == t->cause_n) {
		t->cause_n++;
		c->outcome = i->outcome;
		memcpy(c->words, words, sizeof(words));
	}
	c->n++;
	c->us += us > 0 ? (double)us : 0;
}

/* --------------------------------------------------------------------------------------------------------- nodes */

/* Returns the index of the node NAME, which is added if it is new.  PLACE is a hash table with open addressing, four
 * times as large as the number of nodes.  When there are too many nodes, further ones are one node called OTHERS. */
static size_t find_node(struct figures_tally *t, const char *name)
{
	size_t places = sizeof(t->place) / sizeof(t->place[0]),
	       at = (size_t)(js_num_hash(JS_NUM_HASH, name, strlen(name)) % places);

	while (t->place[at] != 0 && strcmp(t->node[t->place[at] - 1].name, name) != 0)
		at = (at + 1) % places;
	if (t->place[at] != 0)
		return t->place[at] - 1;
	if (t->node_n == FIGURES_NODES - 1 && strcmp(name, OTHERS) != 0)
		return find_node(t, OTHERS);
	if (js_array_grow(&t->node, &t->node_capacity, t->node_n + 1, sizeof(*t->node)) != 0) {
		t->failed = 1;
		return 0;
	}
	memset(&t->node[t->node_n], 0, sizeof(t->node[0]));
	memcpy(t->node[t->node_n].name, name, strlen(name) + 1);
	t->node[t->node_n].first_us = t->node[t->node_n].last_us = -1;
	if (t->heat_n < FIGURES_HEAT && strcmp(name, OTHERS) != 0)
		t->node[t->node_n].heat = ++t->heat_n;
	t->place[at] = (uint32_t)(t->node_n + 1);
	return t->node_n++;
}

/* Adds an attempt to its node.  Attempts come by entry, and workers take neighbouring entries, so mostly the node is
 * that of the attempt before. */
static void tally_node(struct figures_tally *t, const struct jobstack_item *i, int64_t us)
{
	char name[FIGURES_WORDS];
	struct figures_tally_node *node;
	int outcome = i->outcome;

	if (i->worker == 0 || i->worker != t->last_worker) { /* mostly it is the last attempt's worker */
		(void)snprintf(name, sizeof(name), "%s", i->node != NULL ? i->node : "?");
		t->last_node = find_node(t, name);
		t->last_worker = i->worker;
	}
	if (t->failed)
		return;
	node = &t->node[t->last_node];
	if (i->cause == JOBSTACK_CAUSE_NODE)
		outcome = JOBSTACK_FAILED; /* the node's fault */
	node->n[outcome]++;
	node->us[outcome] += us > 0 ? (double)us : 0;
	node->timed += us >= 0;
	if (i->slots > node->slots)
		node->slots = i->slots;
	widen_span(&node->first_us, &node->last_us, i);
	add_speed(&node->took, &node->moved, i, us);
	if (node->heat > 0 && us > 0)
		js_timeline_add_time(&t->heat[node->heat - 1], i->started_us, i->ended_us, FIGURES_BUSY);
}

/* Notes when a worker was seen first and last.  The multiplier (Knuth's, 2^64 divided by the golden ratio) spreads
 * neighbouring numbers over the table. */
static void tally_worker(struct figures_tally *t, const struct jobstack_item *i)
{
	size_t at = (size_t)(i->worker * UINT64_C(0x9E3779B97F4A7C15) >> 32) % FIGURES_WORKERS;

	if (i->worker == 0 || t->worker_n == FIGURES_WORKERS)
		return;
	if (t->at_worker == NULL || t->at_worker->worker != i->worker) {
		while (t->worker[at].worker != 0 && t->worker[at].worker != i->worker)
			at = (at + 1) % FIGURES_WORKERS;
		t->at_worker = &t->worker[at];
	}
	if (t->at_worker->worker == 0) {
		*t->at_worker = (struct figures_tally_worker){i->worker, -1, -1};
		if (++t->worker_n == FIGURES_WORKERS)
			return;
	}
	widen_span(&t->at_worker->first_us, &t->at_worker->last_us, i);
}

/* ---------------------------------------------------------------------------------------------------------- rest */

static void tally_user(struct figures_tally *t, const char *user)
{
	size_t at = 0;

	if (user == NULL)
		return;
	while (at < t->user_n && strncmp(t->user[at], user, FIGURES_WORDS - 1) != 0)
		at++;
	if (at == FIGURES_USERS)
		t->more_users = 1;
	else if (at == t->user_n)
		(void)snprintf(t->user[t->user_n++], FIGURES_WORDS, "%s", user);
}

/* Inserts an attempt among the slowest, if it is one of them. */
static void tally_slow(struct figures_tally *t, const struct jobstack_item *i, int64_t us)
{
	size_t at = t->slow_n;

	if (us < 0 || (i->outcome != JOBSTACK_DONE && i->outcome != JOBSTACK_FAILED) ||
	    (at == FIGURES_SLOWEST && us <= t->slow[at - 1].us))
		return;
	if (at == FIGURES_SLOWEST)
		at--;
	else
		t->slow_n++;
	for (; at > 0 && t->slow[at - 1].us < us; at--)
		t->slow[at] = t->slow[at - 1];
	t->slow[at] =
		(struct figures_tally_slow){.entry = i->entry, .attempt = i->attempt, .outcome = i->outcome, .us = us};
	(void)snprintf(t->slow[at].node, FIGURES_WORDS, "%s", i->node != NULL ? i->node : "?");
}

/* Returns the class: 0 for no bytes, 1 for less than 1 KiB, and one more for each factor of four. */
static unsigned size_class(int64_t bytes)
{
	unsigned class = bytes > 0;

	for (int64_t size = 1024; class > 0 && class < FIGURES_SIZES - 1 && bytes >= size; size *= 4)
		class ++;
	return class;
}

double figures_size_from(unsigned class)
{
	double size = class == 0 ? 0 : class == 1 ? 1 : 1024;

	for (unsigned i = 2; i < class; i++)
		size *= 4;
	return size;
}

int figures_kind(int64_t read_bytes, int64_t write_bytes)
{
	double read = (double)read_bytes, written = (double)write_bytes;

	if (read_bytes < 0 || write_bytes < 0 || read + written < 65536)
		return -1;
	return read >= 3 * written ? FIGURES_READS : written >= 3 * read ? FIGURES_WRITES : FIGURES_BOTH;
}

/* Adds what an attempt mostly did, and how many bytes that were. */
static void tally_kind(struct figures_tally *t, const struct jobstack_item *i)
{
	int kind = figures_kind(i->read_bytes, i->write_bytes);
	int64_t most = kind == FIGURES_READS ? i->read_bytes : i->write_bytes;

	if (kind >= 0)
		t->kind[kind]++;
	if (kind < 0 || kind == FIGURES_BOTH)
		return;
	js_sketch_add(&t->kind_bytes[kind], most);
	/* the paper's |R-W|/(R+W) >= 0.9 is the same as max(R,W)/(R+W) >= 0.95 */
	t->one_way[kind] += (double)most >= .95 * sum_bytes(i);
}

/* Adds an attempt to those with the same fact.  Facts beyond the places are not counted. */
static void tally_fact(struct figures_tally_fact fact[FIGURES_FACTS], int64_t number, const struct jobstack_item *i,
		       int64_t us)
{
	size_t at = 0;

	while (at < FIGURES_FACTS && fact[at].number != 0 && fact[at].number != number)
		at++;
	if (at == FIGURES_FACTS || number <= 0)
		return;
	fact[at].number = number;
	fact[at].n++;
	fact[at].done += i->outcome == JOBSTACK_DONE;
	fact[at].us += us > 0 ? (double)us : 0;
	if (sum_bytes(i) >= 0)
		fact[at].bytes += sum_bytes(i);
	add_speed(&fact[at].took, &fact[at].moved, i, us);
}

/* Adds an attempt, and the node that tally_node has just found for it, to those that imported this list of packages. */
static void tally_packages(struct figures_tally *t, int64_t number)
{
	size_t at = 0;

	while (at < FIGURES_LISTS && t->packages[at].number != 0 && t->packages[at].number != number)
		at++;
	if (at == FIGURES_LISTS || number <= 0)
		return;
	t->packages[at].number = number;
	t->packages[at].n++;
	t->packages[at].nodes[t->last_node / 8] |= (unsigned char)(1u << t->last_node % 8);
}

static void tally_usage(struct figures_tally *t, const struct jobstack_item *i, int64_t us)
{
	tally_fact(t->mount, i->mount, i, us);
	tally_fact(t->program, i->program, i, us);
	if (i->maxrss_kib >= 0)
		js_sketch_add(&t->rss_kib, i->maxrss_kib);
	if (i->peak_kib >= 0)
		js_sketch_add(&t->peak_kib, i->peak_kib);
	if (i->user_us >= 0 && i->system_us >= 0 && us >= 0) {
		t->cpu_us += (double)i->user_us + (double)i->system_us;
		t->cpu_of_us += (double)us;
		t->cpu_n++;
	}
	if (sum_bytes(i) >= 0) {
		t->read_bytes += (double)i->read_bytes;
		t->write_bytes += (double)i->write_bytes;
		t->bytes_n++;
		tally_kind(t, i);
		t->bytes[size_class(i->read_bytes)][size_class(i->write_bytes)]++;
	}
}

/* Called when the entry that was read last has no more attempts: if its last one failed or was lost, the entry counts
 * as failed from then on. */
static void end_entry(struct figures_tally *t)
{
	if (t->failed_us >= 0)
		js_timeline_add(&t->timeline, t->failed_us, FIGURES_FAILED);
	t->failed_us = -1;
}

/* Adds an attempt to what is counted over time.  That an entry failed is known only when its next attempt, or the next
 * entry, comes; until then FAILED_US has the time. */
static void tally_time(struct figures_tally *t, const struct jobstack_item *i, int64_t us)
{
	int hour = (int)(i->started_us / (3600 * JS_SECOND_US) % 24);

	if (i->entry != t->last_entry)
		end_entry(t);
	t->failed_us = i->outcome == JOBSTACK_FAILED || i->outcome == JOBSTACK_LOST ? i->ended_us : -1;
	widen_span(&t->first_us, &t->last_us, i);
	if (i->ended_us >= 0)
		js_timeline_add(&t->timeline, i->ended_us,
				i->outcome == JOBSTACK_DONE ? FIGURES_DONE : FIGURES_NOT_DONE);
	if (us > 0)
		js_timeline_add_time(&t->timeline, i->started_us, i->ended_us, FIGURES_BUSY);
	tally_worker(t, i);
	if (us > 0)
		add_speed(&t->took[hour], &t->moved[hour], i, us);
}

/* Adds an attempt.  They come in the order of their entries' numbers, and those of an entry in their order. */
static void tally_attempt(struct figures_tally *t, const struct jobstack_item *i)
{
	int64_t us = figures_took(i);

	if (i->outcome < 0 || i->outcome >= FIGURES_OUTCOMES)
		return;
	t->entries += i->entry != t->last_entry;
	tally_time(t, i, us);
	t->last_entry = i->entry;
	t->n[i->outcome]++;
	t->us[i->outcome] += us > 0 ? (double)us : 0;
	t->untimed += us < 0;
	if (i->outcome == JOBSTACK_DONE && us >= 0)
		js_sketch_add(&t->done_us, us);
	if (i->outcome != JOBSTACK_DONE)
		tally_cause(t, i, us);
	t->timeouts += i->cause == JOBSTACK_CAUSE_TIMEOUT;
	t->no_memory += i->cause == JOBSTACK_CAUSE_MEMORY;
	if (i->slots > t->slots)
		t->slots = i->slots;
	tally_usage(t, i, us);
	if (i->worker == 0 || i->worker != t->last_worker)
		tally_user(t, i->user);
	tally_node(t, i, us);
	if (!t->failed)
		tally_packages(t, i->packages);
	tally_slow(t, i, us);
}

static int tally_item(void *ctx, const struct jobstack_item *item)
{
	struct figures_pass *p = ctx;

	tally_attempt(p->tally, item);
	return p->tally->failed || p->progress(p->ctx, figures_attempts(p->tally->n));
}

int figures_tally_read(struct jobstack *handle, const char *stack, const struct jobstack_export_options *options,
		       struct figures_pass *pass, struct jobstack_error *error)
{
	int status = jobstack_export(handle, stack, options, tally_item, pass, error);

	if (!pass->tally->failed)
		return status;
	js_error_clear(error);
	return js_error_memory(error);
}

static int compare_cause_times(const void *a, const void *b)
{
	const struct figures_tally_cause *x = a, *y = b;

	if (x->us < y->us || x->us > y->us)
		return x->us < y->us ? 1 : -1;
	return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->words, y->words);
}

static int compare_nodes(const void *a, const void *b)
{
	const struct figures_tally_node *x = a, *y = b;
	int bad_x = 2 * x->fails + x->slow, bad_y = 2 * y->fails + y->slow;

	return bad_x != bad_y ? bad_y - bad_x : strverscmp(x->name, y->name);
}

static int compare_fact_times(const void *a, const void *b)
{
	const struct figures_tally_fact *x = a, *y = b;

	return (x->us < y->us) - (x->us > y->us);
}

/* The spans of the workers are known only now, when all attempts have come. */
void figures_tally_end(struct figures_tally *t)
{
	if (t->cause_n > 0)
		qsort(t->cause, t->cause_n, sizeof(t->cause[0]), compare_cause_times);
	if (t->node_n > 0)
		qsort(t->node, t->node_n, sizeof(t->node[0]), compare_nodes);
	for (struct figures_tally_fact *fact = t->mount; fact != NULL; fact = fact == t->mount ? t->program : NULL) {
		size_t n = 0;

		while (n < FIGURES_FACTS && fact[n].number != 0)
			n++;
		qsort(fact, n, sizeof(*fact), compare_fact_times);
	}
	end_entry(t);
	for (size_t i = 0; i < FIGURES_WORKERS && t->worker_n < FIGURES_WORKERS; i++)
		if (t->worker[i].worker != 0 && t->worker[i].first_us >= 0)
			js_timeline_add_time(&t->timeline, t->worker[i].first_us, t->worker[i].last_us, FIGURES_WORKER);
	memset(t->place, 0, sizeof(t->place)); /* the order has changed */
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The observer with its memory (src/death) against a real server: who is silent for a whole lease on our own clock, and
 * who only seems so: to the server's clock, over a gap, or until a heart beats.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include "base/clock.h"
#include "death/death.h"

#include <unistd.h>

#define LEASE_US (2 * JS_SECOND_US)

static struct js_observer_result result;
static char told[800], reason[300];
static unsigned told_n;

static void take_case(void *ctx, const struct js_observer_case *c)
{
	(void)ctx;
	if (c->verdict == JS_OBSERVER_SUSPECT)
		return;
	told_n++;
	js_observer_words(c, told, sizeof(told));
	(void)snprintf(reason, sizeof(reason), "%s", c->reason);
}

static struct js_observer *watcher(const char *stack, uint64_t self)
{
	struct js_observer_options options = {.self = self, .report = take_case};
	struct js_observer *watch;

	told_n = 0;
	OK(js_observer_new(&watch, h, stack, &options, &e));
	return watch;
}

/* A worker that holds one entry. */
static struct jobstack_worker *worker(const char *stack, int64_t lease_us)
{
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	options.lease_us = lease_us;
	options.node = "n3";
	OK(jobstack_push(h, stack, NULL, "/x", &e));
	OK(jobstack_worker_begin(h, stack, &options, &w, &e));
	OK(take_step(w, NULL, 0, 1, &b, NULL, &e));
	assert_int_equal(b.count, 1);
	jobstack_batch_free(&b);
	return w;
}

static void look_once(struct js_observer *watch, uint64_t workers)
{
	OK(js_observer_look(watch, &result, &e));
	assert_int_equal(result.workers, workers);
	assert_true(result.next_us <= result.latest_us || result.workers > 0);
}

/* Looks when a look is wanted, until somebody was taken back from, or UNTIL.  Returns whether somebody was. */
static int watch_on(struct js_observer *watch, int64_t until)
{
	do {
		OK(js_observer_look(watch, &result, &e));
		if (result.workers > 0)
			return 1;
		js_clock_nap((result.next_us < until ? result.next_us : until) - jobstack_now_us(), NULL);
	} while (jobstack_now_us() < until);
	return 0;
}

/* It is taken back, but not before a whole lease has passed since SINCE. */
static void taken_after(struct js_observer *watch, int64_t since)
{
	assert_true(watch_on(watch, jobstack_now_us() + 60 * JS_SECOND_US));
	assert_true(jobstack_now_us() - since >= LEASE_US);
	assert_true(result.workers == 1 && result.entries == 1 && told_n == 1);
}

static void silence(void **state)
{
	struct js_observer *watch = watcher("silence", 0);
	struct jobstack_worker *w = worker("silence", LEASE_US);
	int64_t since = jobstack_now_us();

	(void)state;
	look_once(watch, 0);
	assert_int_equal(result.others, 1);
	taken_after(watch, since);
	assert_int_equal(result.others, 0);
	assert_non_null(strstr(reason, " s, longer than its lease"));
	assert_non_null(strstr(told, "on n3: silent for "));
	assert_non_null(strstr(told, ": 1 entry requeued"));
	look("silence");
	assert_true(st.ready == 1 && st.workers == 0);
	GIVES(JOBSTACK_NOTHING, take_step(w, NULL, 0, 0, NULL, NULL, &e)); /* it is fenced */
	look_once(watch, 0);
	jobstack_worker_free(w);
	js_observer_free(watch);
}

/* A server whose clock was set forward says that everybody is silent for long: what counts is what we have seen. */
static void first_look(void **state)
{
	struct jobstack_worker *w = worker("first", LEASE_US);
	struct js_observer *watch;
	int64_t since;

	(void)state;
	js_clock_nap(LEASE_US * 3 / 2, NULL);
	watch = watcher("first", 0);
	since = jobstack_now_us();
	look_once(watch, 0);
	assert_int_equal(result.suspects, 1);
	taken_after(watch, since);
	jobstack_worker_free(w);
	js_observer_free(watch);
}

static void gaps(void **state)
{
	struct jobstack_worker *w = worker("gap", LEASE_US), *v;
	struct js_observer *watch = watcher("gap", 0);
	int64_t since;

	(void)state;
	look_once(watch, 0);
	js_clock_nap(LEASE_US * 3 / 2, NULL); /* who knows what happened meanwhile */
	since = jobstack_now_us();
	look_once(watch, 0);
	taken_after(watch, since);
	jobstack_worker_free(w);
	told_n = 0;
	v = worker("gap", LEASE_US);
	assert_int_equal(watch_on(watch, jobstack_now_us() + LEASE_US / 2), 0);
	js_observer_gap(watch);
	since = jobstack_now_us();
	taken_after(watch, since);
	jobstack_worker_free(v);
	js_observer_free(watch);
}

static void heartbeat(void **state)
{
	struct jobstack_worker *w = worker("heart", LEASE_US);
	struct js_observer *watch = watcher("heart", 0), *own = watcher("heart", jobstack_worker_id(w));
	int64_t since;

	(void)state;
	assert_int_equal(watch_on(watch, jobstack_now_us() + LEASE_US / 2), 0);
	since = jobstack_now_us();
	OK(take_step(w, NULL, 0, 0, NULL, NULL, &e));
	look_once(own, 0);
	assert_int_equal(result.others, 0);
	taken_after(watch, since);
	jobstack_worker_free(w);
	js_observer_free(own);
	js_observer_free(watch);
}

/* What somebody left in the ledger becomes the beginning of the reason, unless the worker has moved since. */
static void suspicion(void **state)
{
	struct jobstack_worker *w = worker("words", LEASE_US);
	struct js_observer *watch = watcher("words", 0);

	(void)state;
	GIVES(JOBSTACK_NOTHING,
	      jobstack_suspect(h, "words", jobstack_worker_id(w), 7, JOBSTACK_CAUSE_NODE_FAILED, "too late", &e));
	OK(jobstack_suspect(h, "words", jobstack_worker_id(w), 1, JOBSTACK_CAUSE_NODE_FAILED, "node failed (n3)", &e));
	assert_true(watch_on(watch, jobstack_now_us() + 60 * JS_SECOND_US));
	assert_memory_equal(reason, "node failed (n3): silent for ", 29);
	assert_null(strstr(reason, "longer"));
	jobstack_worker_free(w);
	told_n = 0;
	w = worker("words", LEASE_US);
	OK(jobstack_suspect(h, "words", jobstack_worker_id(w), 1, JOBSTACK_CAUSE_NODE_FAILED, "node failed (n3)", &e));
	OK(take_step(w, NULL, 0, 0, NULL, NULL, &e));
	assert_true(watch_on(watch, jobstack_now_us() + 60 * JS_SECOND_US));
	assert_memory_equal(reason, "silent for ", 11);
	jobstack_worker_free(w);
	js_observer_free(watch);
}

/* A script's pop has no heart: its lease by the server's clock, seen twice. */
static void scripts(void **state)
{
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct js_observer *watch = watcher("script", 0);
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	int64_t since;

	(void)state;
	OK(jobstack_push(h, "script", NULL, "/x", &e));
	options.lease_us = 60 * JS_SECOND_US;
	OK(jobstack_pop(h, "script", &options, 1, &b, &e));
	look_once(watch, 0);
	js_clock_nap(5 * JS_SECOND_US / 2, NULL);
	look_once(watch, 0); /* within its lease it may be as silent as it likes */
	assert_int_equal(result.suspects, 0);
	OK(jobstack_renew(h, "script", jobstack_batch_entry(&b, 0)->entry, 1, JS_SECOND_US / 2, &e));
	since = jobstack_now_us();
	look_once(watch, 0);
	assert_true(watch_on(watch, jobstack_now_us() + 60 * JS_SECOND_US));
	assert_true(jobstack_now_us() - since >= 2 * JS_SECOND_US);
	assert_int_equal(result.entries, 1);
	jobstack_batch_free(&b);
	js_observer_free(watch);
}

/* A confirming round is wanted now and then while somebody else is silent, and of a lone worker never. */
static void confirming(void **state)
{
	struct jobstack_worker *w = worker("confirm", 600 * JS_SECOND_US);
	struct js_observer *watch = watcher("confirm", 0), *own = watcher("confirm", jobstack_worker_id(w));
	int64_t until = jobstack_now_us() + 60 * JS_SECOND_US, asked = 0;
	int wanted = 0;

	(void)state;
	while (!wanted && jobstack_now_us() < until) {
		asked = jobstack_now_us();
		look_once(watch, 0);
		wanted = result.confirm;
		look_once(own, 0);
		assert_false(result.confirm);
		if (!wanted)
			js_clock_nap(JS_SECOND_US, NULL);
	}
	assert_true(wanted);
	look_once(watch, 0);
	assert_true(!result.confirm || jobstack_now_us() > asked + JS_SECOND_US); /* it was wanted just now */
	assert_true(result.next_us > asked + JS_SECOND_US);
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	js_observer_free(own);
	js_observer_free(watch);
}

/* Nothing is wanted of a silent worker while its connection is there, until half its lease is over; as soon as the
 * connection has ended, a confirming round is. */
static void connected(void **state)
{
	struct jobstack *own = open_one();
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct js_observer *watch = watcher("connected", 0);
	struct jobstack_worker *w, *v = worker("frozen", 20 * JS_SECOND_US);
	int64_t until;

	(void)state;
	options.lease_us = 3600 * JS_SECOND_US;
	OK(jobstack_push(h, "connected", NULL, "/x", &e));
	OK(jobstack_worker_begin(own, "connected", &options, &w, &e));
	OK(jobstack_worker_stay(w, &e));
	OK(jobstack_worker_stay(w, &e)); /* a lock that is asked for twice would have to be released twice */
	OK(jobstack_worker_stay(v, &e));
	until = jobstack_now_us() + 10 * JS_SECOND_US; /* in which three rounds are planned */
	while (jobstack_now_us() < until) {
		look_once(watch, 0);
		assert_false(result.confirm);
		js_clock_nap(JS_SECOND_US / 2, NULL);
	}
	jobstack_disconnect(own);
	GIVES(JOBSTACK_NOTHING, jobstack_worker_stay(w, &e)); /* it does not connect for that */
	until = jobstack_now_us() + 60 * JS_SECOND_US;
	do {
		assert_true(jobstack_now_us() < until);
		look_once(watch, 0);
		js_clock_nap(JS_SECOND_US / 2, NULL);
	} while (!result.confirm);
	OK(take_step(w, NULL, 0, 0, NULL, NULL, &e)); /* which connects */
	OK(jobstack_worker_stay(w, &e));
	js_observer_free(watch);
	watch = watcher("frozen", 0);
	until = jobstack_now_us() + 60 * JS_SECOND_US;
	do {
		assert_true(jobstack_now_us() < until);
		OK(js_observer_look(watch, &result, &e));
		js_clock_nap(JS_SECOND_US / 2, NULL);
	} while (!result.confirm && result.workers == 0);
	assert_true(result.confirm);
	jobstack_worker_free(w);
	jobstack_worker_free(v);
	jobstack_free(own);
	js_observer_free(watch);
}

static void no_stack(void **state)
{
	struct js_observer *watch = watcher("nosuch", 0);
	struct js_observer_options options = {0};

	(void)state;
	GIVES(JOBSTACK_EMISSING, js_observer_look(watch, &result, &e));
	GIVES(JOBSTACK_EMISSING, js_observer_confirm(h, "nosuch", &options, NULL, &e));
	js_observer_free(watch);
	js_observer_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence),    cmocka_unit_test(first_look), cmocka_unit_test(gaps),
		cmocka_unit_test(heartbeat),  cmocka_unit_test(suspicion),  cmocka_unit_test(scripts),
		cmocka_unit_test(confirming), cmocka_unit_test(connected),  cmocka_unit_test(no_stack)};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

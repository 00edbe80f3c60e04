/* SPDX-License-Identifier: BSD-2-Clause
 *
 * KILL QUERY at the wrong moment: MariaDB skips a statement of a block, without an error, and goes on to the COMMIT.
 * Workers step, scripts pop and an atomic push is published, while the query of each connection is killed hundreds of
 * times a second.  Nothing may be in two hands, and afterwards the ledger balances.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include "base/clock.h"
#include "base/num.h"
#include "queue/worker.h"

#include <pthread.h>
#include <stdatomic.h>

#define N 40000 /* more than are popped */
#define THREADS 4
#define K 4
#define LIMIT 5
#define RATE 4 /* starts in RATE_US */
#define RATE_US 100000
#define STARTS_MAX 10000

static const char *stack;	   /* all work on it */
static unsigned shards;		   /* with so many */
static atomic_uint in_hand[N + 1]; /* by entry */
static atomic_int in_hands, most_in_hands, doubled, over, kills;
static const char *failed[THREADS + 1];
static int64_t starts[STARTS_MAX]; /* when entries with a rate were started */
static atomic_int starts_n;

static void note_failure(size_t thread, const char *what, const struct jobstack_error *error)
{
	char *text;

	if (failed[thread] == NULL && asprintf(&text, "%s: %s", what, error->text) > 0)
		failed[thread] = text;
}

/* Kills the query of each connection of this account, until COUNT queries were. */
static void take_id(void *ctx, const struct js_row *row)
{
	struct {
		uint64_t id[64];
		size_t n;
	} *ids = ctx;

	if (row == NULL)
		ids->n = 0;
	else if (ids->n < 64)
		ids->id[ids->n++] = js_row_u64(row, 0);
}

static void *kill_queries(void *ctx)
{
	struct jobstack_options options = test_options();
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack *handle = NULL;
	const int most = *(const int *)ctx;
	uint64_t dice = 1;
	struct {
		uint64_t id[64];
		size_t n;
	} ids;

	if (jobstack_open(&handle, &options, &error) != 0)
		note_failure(THREADS, "the killer can't connect", &error);
	while (failed[THREADS] == NULL && kills < most && !over) {
		if (js_handle_ask(handle, take_id, &ids, &error,
				  "SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND "
				  "user=SUBSTRING_INDEX(USER(),'@',1) AND command<>'Sleep'") != 0)
			note_failure(THREADS, "the killer can't see the connections", &error);
		for (size_t i = 0; i < ids.n; i++) {
			struct jobstack_error gone = JOBSTACK_ERROR_INIT; /* it may have ended */

			kills += js_handle_ask(handle, NULL, NULL, &gone, "KILL QUERY %u", ids.id[i]) == 0;
		}
		js_clock_nap((int64_t)js_num_jitter(&dice, 4000), NULL);
	}
	over = 1;
	jobstack_free(handle);
	return NULL;
}

static void take_in_hand(const struct jobstack_batch *batch)
{
	int n = atomic_fetch_add(&in_hands, (int)batch->count) + (int)batch->count, most = most_in_hands;

	while (n > most && !atomic_compare_exchange_weak(&most_in_hands, &most, n))
		;
	for (size_t i = 0; i < batch->count; i++)
		doubled += (int)atomic_fetch_add(&in_hand[jobstack_batch_entry(batch, i)->entry], 1);
}

/* The entry may be another worker's as soon as the step is committed, which is before we know. */
static void let_go(uint64_t entry)
{
	(void)atomic_fetch_sub(&in_hand[entry], 1);
	(void)atomic_fetch_sub(&in_hands, 1);
}

/* Starts what may be started, as late as it happens to be. */
static void note_start(const struct jobstack_batch *batch)
{
	int64_t now = jobstack_now_us();

	if (batch->count > 0 && now < batch->start_by_us)
		starts[atomic_fetch_add(&starts_n, 1) % STARTS_MAX] = now;
}

static int compare_starts(const void *a, const void *b)
{
	return js_num_order(a, b);
}

struct held {
	uint64_t entry;
	uint32_t attempt;
};

/* One worker's life, of some hundred steps.  Each closes about half of what it holds. */
static int live(struct jobstack *handle, uint64_t *dice, struct jobstack_error *error)
{
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct held held[8 * K];
	struct jobstack_outcome out[8 * K];
	struct jobstack_worker *w = NULL;
	size_t n = 0, closing, steps = 50 + js_num_jitter(dice, 300);
	int status = jobstack_worker_begin(handle, stack, &options, &w, error);

	for (; status == 0 && steps > 0 && !over; steps--) {
		struct jobstack_step step = JOBSTACK_STEP_INIT;
		struct jobstack_batch batch = JOBSTACK_BATCH_INIT;

		w->shards = shards;
		for (size_t i = closing = 0; i < n;) {
			if (js_num_jitter(dice, 3) == 0) {
				i++;
				continue;
			}
			out[closing] = outcome(held[i].entry, held[i].attempt, JOBSTACK_DONE, 0);
			switch (js_num_jitter(dice, 8)) {
			case 0: out[closing].verdict = JOBSTACK_UNSTARTED; break;
			case 1: out[closing].verdict = JOBSTACK_FAILED; break;
			default: break;
			}
			let_go(held[i].entry);
			closing++;
			held[i] = held[--n];
		}
		step.outcomes = out;
		step.outcomes_n = closing;
		step.claim = n < 7 * K ? 1 + js_num_jitter(dice, K) : 0;
		status = jobstack_step(w, &step, &batch, NULL, error);
		if (status != 0)
			break;
		note_start(&batch);
		take_in_hand(&batch);
		for (size_t i = 0; i < batch.count; i++)
			held[n++] = (struct held){jobstack_batch_entry(&batch, i)->entry,
						  jobstack_batch_entry(&batch, i)->attempt};
		jobstack_batch_free(&batch);
	}
	for (size_t i = 0; i < n; i++)
		let_go(held[i].entry);
	JS_THEN(status, jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, error));
	jobstack_worker_free(w);
	return status;
}

/* A script: pops, and closes. */
static int pop(struct jobstack *handle, uint64_t *dice, struct jobstack_error *error)
{
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	struct jobstack_outcome out[K];
	int status = jobstack_pop(handle, stack, NULL, 1 + js_num_jitter(dice, K), &batch, error);

	if (status != 0)
		return status == JOBSTACK_NOTHING ? 0 : status;
	take_in_hand(&batch);
	for (size_t i = 0; i < batch.count; i++) {
		const struct jobstack_entry *entry = jobstack_batch_entry(&batch, i);

		out[i] = outcome(entry->entry, entry->attempt, JOBSTACK_DONE, 0);
		let_go(entry->entry);
	}
	status = jobstack_close(handle, stack, out, batch.count, NULL, error);
	jobstack_batch_free(&batch);
	return status;
}

static void *work(void *ctx)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_options options = test_options();
	struct jobstack *handle = NULL;
	const size_t me = *(const size_t *)ctx;
	uint64_t dice = me + 1;
	int status = jobstack_open(&handle, &options, &error);

	while (status == 0 && !over)
		status = me == THREADS - 1 ? pop(handle, &dice, &error) : live(handle, &dice, &error);
	over = 1;
	if (status != 0)
		note_failure(me, me == THREADS - 1 ? "a script" : "a worker", &error);
	jobstack_free(handle);
	return NULL;
}

static int say(void *ctx, const struct jobstack_finding *f)
{
	(void)ctx;
	print_message("check: entry %llu: %s\n", (unsigned long long)f->entry, f->text);
	return 0;
}

/* While so many queries are killed. */
static void storm(const char *name, int most, unsigned with_shards, int limit, int64_t rate)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	pthread_t thread[THREADS], killer;
	size_t number[THREADS];

	policy.max_attempts = 1000;
	policy.retry_delay_us = 0;
	if (limit > 0)
		policy.max_running = limit;
	policy.max_starts = rate;
	policy.starts_us = RATE_US;
	push.policy = &policy;
	push_numbered(name, &push, N);
	stack = name;
	shards = with_shards;
	over = doubled = kills = most_in_hands = 0;
	for (size_t i = 0; i < THREADS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&thread[i], NULL, work, &number[i]), 0);
	}
	assert_int_equal(pthread_create(&killer, NULL, kill_queries, &most), 0);
	for (size_t i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	over = 1;
	(void)pthread_join(killer, NULL);
	look(name);
	print_message("%s: %d kills, %llu done, %d at most in hand\n", name, (int)kills, (unsigned long long)st.done,
		      (int)most_in_hands);
	for (size_t i = 0; i <= THREADS; i++)
		if (failed[i] != NULL)
			fail_msg("%s", failed[i]);
	assert_int_equal(doubled, 0);
	assert_int_equal(in_hands, 0);
	assert_int_equal(st.running, 0);
	assert_true(st.done > 0 && st.ready > 0 && (limit == 0 || most_in_hands <= limit));
	OK(jobstack_check(h, name, say, NULL, NULL, &e));
}

static void plain(void **state)
{
	(void)state;
	storm("plain", 4000, 0, 0, -1);
}

static void with_shards(void **state)
{
	(void)state;
	storm("shards", 2000, JS_SPAN_SHARDS, 0, -1);
}

static void limited(void **state)
{
	(void)state;
	storm("limited", 2000, 0, LIMIT, -1);
}

/* Of all starts RATE + 1 are never closer than RATE_US.  (A script's pop starts nothing here, but counts as a start.)
 */
static void rated(void **state)
{
	(void)state;
	storm("rated", 1500, 0, LIMIT, RATE);
	qsort(starts, (size_t)starts_n, sizeof(starts[0]), compare_starts);
	print_message("%d starts\n", (int)starts_n);
	assert_true(starts_n > 2 * RATE && starts_n < STARTS_MAX);
	for (int i = RATE; i < starts_n; i++)
		assert_true(starts[i] - starts[i - RATE] >= RATE_US);
}

/* One way to change a claim whose row is not there: nothing happens, and the step fails. */
static void change_missing_claim(const char *name, size_t closing, enum jobstack_verdict verdict, size_t claim)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	struct jobstack_outcome out[3];
	struct jobstack_worker *w = NULL;
	struct js_stack s;
	uint64_t n;

	push_numbered(name, &push, 10);
	OK(jobstack_worker_begin(h, name, &options, &w, &e));
	OK(take_step(w, NULL, 0, 3, &batch, NULL, &e));
	assert_int_equal(batch.count, 3);
	jobstack_batch_free(&batch);
	OK(js_stack_find(h, name, &s, &e));
	OK(js_handle_change(h, 1, NULL, &e, "DELETE FROM claim WHERE stack_id=%u", s.id));
	for (size_t i = 0; i < closing; i++)
		out[i] = outcome(i + 1, 1, verdict, 0);
	REFUSES(JOBSTACK_EBUG, JOBSTACK_WHY_DAMAGED, take_step(w, out, closing, claim, &batch, NULL, &e));
	assert_non_null(strstr(e.text, "does not have the rows"));
	OK(js_handle_ask_number(h, &n, &e, "SELECT COUNT(*) FROM attempt WHERE stack_id=%u", s.id));
	assert_int_equal(n, 0);
	OK(js_handle_ask_number(h, &n, &e, "SELECT SUM(hi-lo+1) FROM span WHERE stack_id=%u", s.id));
	assert_int_equal(n, 7);
	jobstack_worker_free(w);
}

static void missing_rows(void **state)
{
	uint64_t maria;

	(void)state;
	OK(js_handle_ask_number(h, &maria, &e, "SELECT VERSION() LIKE x'254D61726961444225'"));
	if (!maria) /* MySQL skips nothing, and is asked for no sum */
		return;
	change_missing_claim("whole", 3, JOBSTACK_DONE, 0);
	change_missing_claim("part", 1, JOBSTACK_DONE, 0);
	change_missing_claim("back", 1, JOBSTACK_UNSTARTED, 0);
	change_missing_claim("reused", 3, JOBSTACK_DONE, 1);
	change_missing_claim("beside", 1, JOBSTACK_DONE, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain), cmocka_unit_test(with_shards),	 cmocka_unit_test(limited),
		cmocka_unit_test(rated), cmocka_unit_test(missing_rows),
	};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

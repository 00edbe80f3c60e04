/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pops from shards: each entry once, in about their order, priority exactly; nothing that was lost before is in a shard
 * or claimed ahead.  A new claim in the row of one that is closed.  Whether a worker uses shards depends on the server,
 * so here they are switched on by hand.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include "base/num.h"
#include "queue/worker.h"

#include <pthread.h>
#include <stdatomic.h>

#define N 6000
#define THREADS 8
#define K 3

static atomic_uint popped[N + 1];
static _Atomic uint64_t sequence, farthest;

static struct jobstack_worker *begin(struct jobstack *handle, const char *stack, struct jobstack_error *error)
{
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_worker *w = NULL;

	options.host = "test";
	options.user = "test";
	return jobstack_worker_begin(handle, stack, &options, &w, error) == 0 ? w : NULL;
}

/* One step from shard SHARD (JS_SPAN_SHARDS: in order), or one that is drawn (-1). */
static int step_from(struct jobstack_worker *w, int shard, const struct jobstack_step *step,
		     struct jobstack_batch *batch, struct jobstack_error *error)
{
	w->shards = JS_SPAN_SHARDS;
	if (shard >= 0) /* the seed's state that draws it */
		for (w->seed = 1;; w->seed++) {
			uint64_t seed = w->seed;

			if (js_num_jitter(&seed, JS_SPAN_SHARDS + 1) == (unsigned)shard)
				break;
		}
	return jobstack_step(w, step, batch, NULL, error);
}

static int pop_from(struct jobstack_worker *w, int shard, size_t k, struct jobstack_batch *batch)
{
	struct jobstack_step step = JOBSTACK_STEP_INIT;

	step.claim = k;
	return step_from(w, shard, &step, batch, &e);
}

static void note(const struct jobstack_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		uint64_t entry = jobstack_batch_entry(batch, i)->entry, at = atomic_fetch_add(&sequence, 1) + 1;
		uint64_t far = entry > at ? entry - at : at - entry, before = farthest;

		(void)atomic_fetch_add(&popped[entry], 1);
		while (far > before && !atomic_compare_exchange_weak(&farthest, &before, far))
			;
	}
}

static void *work(void *ctx)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_options options = test_options();
	struct jobstack_outcome done[K];
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	struct jobstack *handle = NULL;
	struct jobstack_worker *w;
	const char **failed = ctx;
	size_t n = 0;

	w = jobstack_open(&handle, &options, &error) == 0 ? begin(handle, "shards", &error) : NULL;
	while (w != NULL) {
		struct jobstack_step step = JOBSTACK_STEP_INIT;

		step.outcomes = done;
		step.outcomes_n = n;
		step.claim = K;
		if (step_from(w, -1, &step, &batch, &error) != 0)
			break;
		n = batch.count;
		note(&batch);
		for (size_t i = 0; i < n; i++)
			done[i] = outcome(jobstack_batch_entry(&batch, i)->entry, 1, JOBSTACK_DONE, 0);
		jobstack_batch_free(&batch);
		if (n == 0)
			break;
	}
	if (w == NULL || error.code != 0 || jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &error) != 0)
		*failed = strdup(error.text);
	jobstack_worker_free(w);
	jobstack_free(handle);
	return NULL;
}

static void each_once(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	pthread_t thread[THREADS];
	const char *failed[THREADS] = {NULL};

	(void)state;
	push_numbered("shards", &push, N);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work, &failed[i]), 0);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		if (failed[i] != NULL)
			fail_msg("a worker failed: %s", failed[i]);
	for (size_t i = 1; i <= N; i++)
		assert_int_equal(popped[i], 1);
	look("shards");
	assert_true(st.done == N && st.ready == 0 && st.running == 0);
	/* all shards together, and once more while the last of them empties */
	print_message("farthest from its place: %d\n", (int)farthest);
	assert_true(farthest < 2 * JS_SPAN_SHARDS * JS_SPAN_SHARD_POPS * K);
	assert_true(farthest > JS_SPAN_SHARD_POPS * K); /* shards were in use */
}

static uint64_t count(const char *stack, const char *where)
{
	struct jobstack *one = open_one();
	struct js_stack s;
	uint64_t n = 0;

	OK(js_stack_find(one, stack, &s, &e));
	OK(strcmp(where, "shards") == 0
		   ? js_handle_ask_number(one, &n, &e, "SELECT COUNT(*) FROM span WHERE stack_id=%u AND shard=1", s.id)
		   : js_handle_ask_number(one, &n, &e,
					  "SELECT COUNT(*) FROM span WHERE stack_id=%u AND shard=1 AND losses>0",
					  s.id));
	jobstack_free(one);
	return n;
}

static void order_and_priority(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_worker *w;

	(void)state;
	push_numbered("rank", &push, 5000);
	w = begin(h, "rank", &e);
	assert_non_null(w);
	OK(pop_from(w, JS_SPAN_SHARDS - 1, 1, &b)); /* there are no shards yet: from the long span, which is then cut */
	assert_true(b.count == 1 && jobstack_batch_entry(&b, 0)->entry == 1);
	jobstack_batch_free(&b);
	assert_int_equal(count("rank", "shards"), JS_SPAN_SHARDS);
	OK(pop_from(w, 5, 1, &b));
	assert_int_equal(jobstack_batch_entry(&b, 0)->entry, 2 + 5 * JS_SPAN_SHARD_POPS);
	jobstack_batch_free(&b);
	OK(pop_from(w, JS_SPAN_SHARDS, 2, &b)); /* in order */
	assert_true(b.count == 2 && jobstack_batch_entry(&b, 0)->entry == 2);
	jobstack_batch_free(&b);
	push.priority = 5;
	push_numbered("rank", &push, 40);
	for (int i = 0; i < 40; i++) { /* whatever is drawn */
		OK(pop_from(w, -1, 1, &b));
		assert_true(b.count == 1 && jobstack_batch_entry(&b, 0)->entry > 5000);
		jobstack_batch_free(&b);
	}
	OK(pop_from(w, 0, 1, &b));
	assert_int_equal(jobstack_batch_entry(&b, 0)->entry, 4);
	jobstack_batch_free(&b);
	OK(jobstack_set_state(h, "rank", JOBSTACK_PAUSED, NULL, &e));
	OK(pop_from(w, 3, 1, &b));
	assert_int_equal(b.count, 0);
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	look("rank");
	assert_true(st.ready == 5040);
}

static void lost_before(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_step step = JOBSTACK_STEP_INIT;
	struct jobstack_worker *w, *dead;

	(void)state;
	push_numbered("lost", &push, 2000);
	dead = begin(h, "lost", &e);
	assert_non_null(dead);
	OK(pop_from(dead, 0, 500, &b)); /* an interval of 500 that comes back */
	assert_int_equal(b.count, 500);
	jobstack_batch_free(&b);
	OK(jobstack_recover(h, "lost", (struct jobstack_seen){jobstack_worker_id(dead), dead->seq},
			    JOBSTACK_CAUSE_WORKER, "for the test", NULL, &e));
	jobstack_worker_free(dead);
	w = begin(h, "lost", &e);
	assert_non_null(w);
	step.claim = 4;
	step.fresh = 1; /* they come first, and are not claimed ahead */
	OK(step_from(w, JS_SPAN_SHARDS, &step, &b, &e));
	assert_int_equal(b.count, 0);
	for (int shard = 0; shard <= JS_SPAN_SHARDS; shard++) {
		OK(pop_from(w, shard, 4, &b));
		assert_true(b.count == 1 || jobstack_batch_entry(&b, 0)->losses == 0);
		jobstack_batch_free(&b);
	}
	assert_int_equal(count("lost", "lost shards"), 0);
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	look("lost");
	assert_true(st.ready == 2000);
}

static uint64_t pop_one(struct jobstack_worker *w, int shard)
{
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	uint64_t one;

	OK(pop_from(w, shard, 1, &b));
	assert_int_equal(b.count, 1);
	one = jobstack_batch_entry(&b, 0)->entry;
	jobstack_batch_free(&b);
	return one;
}

/* A step finds that the claim is gone into whose row it would write the new one.  (Only somebody with an SQL client can
 * bring that about.)  It changes nothing. */
static void claim_is_gone(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_outcome done = outcome(1, 1, JOBSTACK_DONE, 0);
	struct jobstack_step step = JOBSTACK_STEP_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_worker *w;
	struct js_stack s;
	uint64_t n;

	(void)state;
	push_numbered("gone", &push, 100);
	w = begin(h, "gone", &e);
	assert_non_null(w);
	assert_int_equal(pop_one(w, JS_SPAN_SHARDS), 1);
	OK(js_stack_find(h, "gone", &s, &e));
	OK(js_handle_change(h, 0, NULL, &e, "DELETE FROM claim WHERE stack_id=%u", s.id));
	step.outcomes = &done;
	step.outcomes_n = 1;
	step.claim = 1;
	/* MariaDB: the sum of the rows differs, again and again; MySQL: a guard takes the worker for fenced */
	assert_true(step_from(w, JS_SPAN_SHARDS, &step, &b, &e) != 0);
	assert_int_equal(b.count, 0);
	OK(js_handle_ask_number(h, &n, &e, "SELECT SUM(hi-lo+1) FROM span WHERE stack_id=%u", s.id));
	assert_int_equal(n, 99);
	OK(js_handle_ask_number(h, &n, &e, "SELECT COUNT(*) FROM attempt WHERE stack_id=%u", s.id));
	assert_int_equal(n, 0);
	jobstack_worker_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_once), cmocka_unit_test(order_and_priority),
					   cmocka_unit_test(lost_before), cmocka_unit_test(claim_is_gone)};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

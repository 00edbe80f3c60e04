/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack_replay against a real server: outcomes of a worker that is gone.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include <pthread.h>

#define MANY 5000

static enum jobstack_replayed results[MANY];

static void balance(const char *stack, uint64_t done, uint64_t dead, uint64_t ready, uint64_t waiting, uint64_t running)
{
	look(stack);
	if (st.done != done || st.dead != dead || st.ready != ready || st.waiting != waiting || st.running != running)
		fail_msg("%s: done %d, dead %d, ready %d, waiting %d, running %d", stack, (int)st.done, (int)st.dead,
			 (int)st.ready, (int)st.waiting, (int)st.running);
}

/* N entries, and a worker that has claimed them all, with what is needed to speak for it when it is gone. */
struct gone {
	const char *stack;
	struct jobstack_worker *worker;
	uint64_t id;
	unsigned char token[16];
	struct jobstack_outcome o[MANY];
	size_t n;
};

static struct gone *claim(const char *stack, size_t n)
{
	struct jobstack_push_options po = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_bytes *v = calloc(n, sizeof(*v));
	struct gone *g = calloc(1, sizeof(*g));

	assert_non_null(v);
	assert_non_null(g);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct jobstack_bytes){"/d", 2};
	OK(jobstack_push_many(h, stack, &po, v, n, NULL, &e));
	free(v);
	g->stack = stack;
	OK(jobstack_worker_begin(h, stack, NULL, &g->worker, &e));
	while (g->n < n) {
		struct jobstack_batch batch = JOBSTACK_BATCH_INIT;

		OK(take_step(g->worker, NULL, 0, JOBSTACK_POP_MAX, &batch, NULL, &e));
		assert_true(batch.count > 0);
		for (size_t i = 0; i < batch.count; i++) {
			struct jobstack_outcome *o = &g->o[g->n++];

			*o = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
			o->entry = jobstack_batch_entry(&batch, i)->entry;
			o->attempt = jobstack_batch_entry(&batch, i)->attempt;
			o->exit_code = 0;
			o->user_us = (int64_t)i;
			o->started_us = jobstack_now_us() - 2000000;
			o->ended_us = jobstack_now_us();
		}
		jobstack_batch_free(&batch);
	}
	g->id = jobstack_worker_id(g->worker);
	jobstack_worker_token(g->worker, g->token);
	return g;
}

static void forget(struct gone *g)
{
	jobstack_worker_free(g->worker);
	free(g);
}

#define REPLAY(g, from, count, lost)                                                                                   \
	jobstack_replay(h, (g)->stack, (g)->id, (g)->token, (g)->o + (from), (count), JOBSTACK_CAUSE_WORKER, (lost),   \
			results, &e)

/* Every verdict; what it held beyond goes back; again is harmless; and the worker, should it wake, is fenced. */
static void each_verdict(void **state)
{
	struct gone *g = claim("each", 7);
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;

	(void)state;
	g->o[1].verdict = JOBSTACK_FAILED;
	g->o[1].exit_code = 3;
	g->o[2].verdict = JOBSTACK_FAILED;
	g->o[2].fatal = 1;
	g->o[3].verdict = JOBSTACK_INTERRUPTED;
	g->o[3].signal = 15;
	g->o[4].verdict = JOBSTACK_UNSTARTED;
	OK(REPLAY(g, 0, 5, NULL));
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(results[i], JOBSTACK_REPLAYED);
	balance("each", 1, 1, 4, 1, 0);
	assert_true(st.workers == 0);
	OK(REPLAY(g, 0, 5, NULL));
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(results[i], JOBSTACK_REPLAYED_BEFORE);
	balance("each", 1, 1, 4, 1, 0);
	GIVES(1, take_step(g->worker, g->o + 5, 2, 0, NULL, &report, &e));
	balance("each", 1, 1, 4, 1, 0);
	forget(g);
}

static int take_last(void *ctx, const struct jobstack_item *item)
{
	*(struct jobstack_item *)ctx = *item;
	return 0;
}

/* Nobody knows what became of the rest: it is lost, for the reason given. */
static void rest_is_lost(void **state)
{
	struct gone *g = claim("rest", 2);
	struct jobstack_item item;

	(void)state;
	g->o[0].started_us = -5000000; /* before this host was booted */
	g->o[0].ended_us = -4000000;
	OK(REPLAY(g, 0, 1, "it was killed"));
	balance("rest", 1, 0, 1, 0, 0);
	OK(jobstack_attempts(h, "rest", g->o[1].entry, take_last, &item, &e));
	assert_int_equal(item.outcome, JOBSTACK_LOST);
	OK(jobstack_attempts(h, "rest", g->o[0].entry, take_last, &item, &e));
	assert_true(item.ended_us - item.started_us == 1000000);
	GIVES(1, REPLAY(g, 0, 2, "it was killed"));
	assert_int_equal(results[0], JOBSTACK_REPLAYED_BEFORE);
	assert_int_equal(results[1], JOBSTACK_TOO_LATE);
	forget(g);
}

/* What the worker had delivered itself is told from what it had not, and from what ended otherwise. */
static void part_was_delivered(void **state)
{
	struct gone *g = claim("part", 4);

	(void)state;
	OK(take_step(g->worker, g->o, 2, 0, NULL, NULL, &e));
	g->o[1].exit_code = 9; /* not what it had said */
	GIVES(1, REPLAY(g, 0, 3, NULL));
	assert_int_equal(results[0], JOBSTACK_REPLAYED_BEFORE);
	assert_int_equal(results[1], JOBSTACK_TOO_LATE);
	assert_int_equal(results[2], JOBSTACK_REPLAYED);
	balance("part", 3, 0, 1, 0, 0);
	forget(g);
}

static int take_seq(void *ctx, const struct jobstack_worker_row *w)
{
	*(uint64_t *)ctx = w->seq;
	return 0;
}

/* Given up meanwhile, and run again by others: nothing changes. */
static void too_late(void **state)
{
	struct gone *g = claim("late", 3), *other;
	uint64_t seq = 0, taken;

	(void)state;
	g->o[2].verdict = JOBSTACK_UNSTARTED;
	OK(jobstack_workers(h, "late", take_seq, &seq, &e));
	OK(jobstack_recover(h, "late", (struct jobstack_seen){g->id, seq}, JOBSTACK_CAUSE_WORKER, "silent", &taken,
			    &e));
	assert_true(taken == 3);
	GIVES(1, REPLAY(g, 0, 3, NULL));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(results[i], JOBSTACK_TOO_LATE);
	balance("late", 0, 0, 3, 0, 0);
	other = claim("late", 1); /* gets one of the old ones, or the new one */
	GIVES(1, REPLAY(g, 0, 3, "again"));
	OK(REPLAY(other, 0, other->n, NULL));
	GIVES(1, REPLAY(g, 0, 3, "again"));
	OK(jobstack_status(h, "late", take_status, NULL, &e));
	assert_true(st.done == other->n && st.running == 0);
	forget(other);
	forget(g);
}

/* Not that worker, not that stack. */
static void refused(void **state)
{
	struct gone *g = claim("mine", 2), *other = claim("yours", 1);

	(void)state;
	g->token[15] ^= 1;
	GIVES(JOBSTACK_ECONFLICT, REPLAY(g, 0, 2, NULL));
	assert_non_null(strstr(e.text, "its number belongs to another worker now"));
	g->token[15] ^= 1;
	g->stack = "yours";
	GIVES(JOBSTACK_ECONFLICT, REPLAY(g, 0, 2, NULL));
	assert_non_null(strstr(e.text, "does not know that worker"));
	g->stack = "nobody's";
	GIVES(JOBSTACK_EUSAGE, REPLAY(g, 0, 2, NULL));
	g->stack = "nowhere";
	GIVES(JOBSTACK_EMISSING, REPLAY(g, 0, 2, NULL));
	g->stack = "mine";
	balance("mine", 0, 0, 0, 0, 2);
	balance("yours", 0, 0, 0, 0, 1);
	OK(REPLAY(g, 0, 2, NULL));
	OK(jobstack_worker_end(other->worker, other->o, 1, JOBSTACK_CAUSE_NONE, NULL, &e));
	OK(REPLAY(other, 0, 1, NULL)); /* it has ended well: all was delivered before */
	assert_int_equal(results[0], JOBSTACK_REPLAYED_BEFORE);
	forget(other);
	forget(g);
}

static void odd_ones(void **state)
{
	struct gone *g = claim("odd", 3);

	(void)state;
	g->o[1] = g->o[0]; /* twice the same */
	GIVES(0, REPLAY(g, 0, 2, NULL));
	assert_int_equal(results[0], JOBSTACK_REPLAYED);
	balance("odd", 1, 0, 2, 0, 0);
	g->o[2].entry = 12345; /* never heard of */
	GIVES(1, REPLAY(g, 2, 1, NULL));
	OK(REPLAY(g, 0, 0, NULL));
	balance("odd", 1, 0, 2, 0, 0);
	forget(g);
}

/* More than one transaction takes; and several who deliver the same at once. */
static void *replay_all(void *arg)
{
	struct gone *g = arg;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	enum jobstack_replayed *mine = calloc(MANY, sizeof(*mine));
	struct jobstack_options options = test_options();
	struct jobstack *one = NULL;
	size_t *closed = calloc(1, sizeof(*closed));

	if (mine == NULL || closed == NULL || jobstack_open(&one, &options, &error) != 0 ||
	    jobstack_replay(one, g->stack, g->id, g->token, g->o, g->n, JOBSTACK_CAUSE_WORKER, NULL, mine, &error) !=
		    0) {
		(void)fprintf(stderr, "a replay: %s\n", error.text);
		free(closed);
		closed = NULL;
	}
	for (size_t i = 0; closed != NULL && i < g->n; i++)
		*closed += mine[i] == JOBSTACK_REPLAYED;
	jobstack_free(one);
	free(mine);
	return closed;
}

static void many_at_once(void **state)
{
	struct gone *g = claim("many", MANY);
	pthread_t thread[4];
	size_t closed = 0;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, replay_all, g), 0);
	for (size_t i = 0; i < 4; i++) {
		void *by = NULL;

		assert_int_equal(pthread_join(thread[i], &by), 0);
		assert_non_null(by);
		closed += *(size_t *)by;
		free(by);
	}
	assert_true(closed == MANY); /* each one by one of them */
	balance("many", MANY, 0, 0, 0, 0);
	forget(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_verdict), cmocka_unit_test(rest_is_lost), cmocka_unit_test(part_was_delivered),
		cmocka_unit_test(too_late),	cmocka_unit_test(refused),	cmocka_unit_test(odd_ones),
		cmocka_unit_test(many_at_once)};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What an export since some time reports is exactly what a full reading reports of that time, and what prune takes away
 * is all that is older, wherever the lists of the stream are and whatever clocks were.  Entries have numbers far apart,
 * so that a list that was not read is noticed.
 */
#define _GNU_SOURCE
#include "integration/schedule.h"

#include <stdatomic.h>
#include <unistd.h>

#define DAY_US INT64_C(86400000000)
#define HELD 40 /* entries of a worker */
#define CREW 5
#define OPERATIONS 200
#define ITEMS 40000

/* ---------------------------------------------------------------------------------------------- two ways to read */

struct seen {
	uint64_t entry, attempt;
	int64_t ended_us;
	int outcome;
};
struct reading {
	size_t n;
	struct seen at[ITEMS];
};
static struct reading all, some;

static int take_seen(void *ctx, const struct jobstack_item *item)
{
	struct reading *r = ctx;

	assert_true(r->n < ITEMS);
	r->at[r->n++] = (struct seen){item->entry, item->attempt, item->ended_us, item->outcome};
	return 0;
}

static void read_since(struct jobstack *handle, const char *stack, int64_t since_us, unsigned outcomes,
		       struct reading *r)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	o.since_us = since_us;
	o.outcomes = outcomes;
	o.no_datapath = 1;
	r->n = 0;
	if (jobstack_export(handle, stack, &o, take_seen, r, &error) != 0)
		fail_msg("export: %s", error.text);
}

/* ALL was just read: SOME is that part of it, in the same order. */
static void compare_since(const char *stack, int64_t since_us, unsigned outcomes)
{
	size_t n = 0;

	read_since(h, stack, since_us, outcomes, &some);
	for (size_t i = 0; i < all.n; i++) {
		if (all.at[i].ended_us < since_us || (outcomes != 0 && (outcomes & 1u << all.at[i].outcome) == 0))
			continue;
		if (n == some.n || some.at[n].entry != all.at[i].entry || some.at[n].attempt != all.at[i].attempt)
			fail_msg("since %" PRId64 ": attempt %" PRIu64 " of entry %" PRIu64 " is missing", since_us,
				 all.at[i].attempt, all.at[i].entry);
		n++;
	}
	assert_int_equal(n, some.n);
}

/* Pushes N entries, each up to SPREAD numbers behind the one before. */
static void push_scattered(const char *stack, const struct jobstack_push_options *o, size_t n, uint64_t spread,
			   uint64_t *state)
{
	for (size_t i = 0; i < n; i++) {
		push_numbered(stack, o, 1);
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		(void)sql(holder, "UPDATE stack SET tail=tail+%" PRIu64 " WHERE name='%s'", (*state >> 33) % spread,
			  stack);
	}
}

/* ------------------------------------------------------------------------------------------------- anything at all */

struct hand {
	struct jobstack_worker *worker;
	struct jobstack_outcome held[HELD];
	size_t n;
};
static struct hand crew[CREW];
static uint64_t state, pruned;

static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

/* An outcome of an entry, as of a clock that may have been set in between. */
static struct jobstack_outcome any_outcome(const struct jobstack_entry *entry)
{
	static const enum jobstack_verdict verdicts[] = {JOBSTACK_DONE,	  JOBSTACK_DONE,	JOBSTACK_DONE,
							 JOBSTACK_FAILED, JOBSTACK_INTERRUPTED, JOBSTACK_UNSTARTED};
	struct jobstack_outcome o = outcome(entry->entry, entry->attempt, verdicts[draw(6)], 0);

	if (o.verdict == JOBSTACK_FAILED)
		o.exit_code = 1;
	if (draw(3) > 0)
		o.ended_us = jobstack_now_us() + (int64_t)draw(6 * 86400) * 1000000 - 3 * DAY_US;
	if (draw(3) > 0)
		o.started_us = jobstack_now_us() + (int64_t)draw(6 * 86400) * 1000000 - 3 * DAY_US;
	return o;
}

static size_t add_batch(struct jobstack_outcome *to, struct jobstack_batch *b)
{
	size_t n = b->count;

	for (size_t i = 0; i < n; i++)
		to[i] = any_outcome(jobstack_batch_entry(b, i));
	jobstack_batch_free(b);
	return n;
}

static void step_any(struct hand *w, const char *stack)
{
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	size_t close = w->n == 0 ? 0 : draw(w->n + 1), k = draw(HELD - w->n + close + 1);

	if (w->worker == NULL)
		OK(jobstack_worker_begin(h, stack, NULL, &w->worker, &e));
	OK(take_step(w->worker, w->held, close, k, k > 0 ? &b : NULL, NULL, &e));
	memmove(w->held, w->held + close, (w->n - close) * sizeof(w->held[0]));
	w->n -= close;
	if (k > 0)
		w->n += add_batch(w->held + w->n, &b);
}

/* A worker ends by itself, is recovered, or what it could not deliver is replayed. */
static void end_any(struct hand *w, const char *stack)
{
	unsigned char token[16];
	uint64_t id;
	int status;

	if (w->worker == NULL)
		return;
	id = jobstack_worker_id(w->worker);
	jobstack_worker_token(w->worker, token);
	switch (draw(3)) {
	case 0: OK(jobstack_worker_end(w->worker, w->held, draw(w->n + 1), JOBSTACK_CAUSE_NONE, "over", &e)); break;
	case 1: OK(jobstack_recover_own(h, stack, id, token, JOBSTACK_CAUSE_WORKER, "silent", NULL, &e)); break;
	default:
		status = jobstack_replay(h, stack, id, token, w->held, draw(w->n + 1), JOBSTACK_CAUSE_WORKER,
					 draw(2) ? "gone" : NULL, NULL, &e);
		assert_int_equal(status, 0);
	}
	jobstack_worker_free(w->worker);
	*w = (struct hand){NULL, {{0}}, 0};
}

static void script_any(const char *stack)
{
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_outcome o[HELD];
	size_t n;

	if (jobstack_pop(h, stack, NULL, 1 + draw(9), &b, &e) != 0)
		return;
	n = add_batch(o, &b);
	OK(jobstack_close(h, stack, o, n / 2, NULL, &e)); /* the rest stays with it, or comes later */
	if (draw(2))
		OK(jobstack_close(h, stack, o + n / 2, n - n / 2, NULL, &e));
}

static void requeue_any(const char *stack)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	uint64_t entries[3];
	size_t n = 0;

	f.states = JOBSTACK_IS_DONE | JOBSTACK_IS_DEAD;
	f.entries = entries;
	for (size_t i = 0; i < 3 && all.n > 0; i++) {
		uint64_t entry = all.at[draw(all.n)].entry;

		if (n == 0 || entry > entries[n - 1])
			entries[n++] = entry;
	}
	f.entries_n = n;
	if (n > 0)
		(void)jobstack_requeue(h, stack, &f, 0, NULL, &e);
}

static int ignore(void *ctx, const struct jobstack_item *item)
{
	(void)item;
	return draw(*(uint64_t *)ctx) == 0; /* a reader may leave at any time */
}

/* Lists become blocks. */
static void gather_any(const char *stack)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;
	uint64_t patience = 5000;

	o.after = "0";
	(void)jobstack_export(h, stack, &o, ignore, &patience, &e);
}

/* A second prune, after all `oldest` are set to 0, reads everything.  It must find nothing that the first one missed.
 */
static void prune_any(const char *stack)
{
	struct jobstack_prune_options o = JOBSTACK_PRUNE_OPTIONS_INIT;
	struct jobstack_prune_result some_of = JOBSTACK_PRUNE_RESULT_INIT, rest = JOBSTACK_PRUNE_RESULT_INIT;
	uint64_t id = id_of(stack);
	int64_t began = jobstack_now_us();

	/* rows of workers go only an hour after their end */
	(void)sql(holder, "UPDATE worker SET ended=ended-INTERVAL 1 DAY WHERE stack_id=%" PRIu64, id);
	o.older_us = (int64_t)draw(3 * 24) * DAY_US / 24;
	OK(jobstack_prune(h, stack, &o, &some_of, &e));
	pruned += some_of.entries;
	if (draw(2) == 0)
		return;
	(void)sql(holder, "UPDATE worker SET oldest=0 WHERE stack_id=%" PRIu64, id);
	(void)sql(holder, "UPDATE closed SET oldest=0 WHERE stack_id=%" PRIu64, id);
	(void)sql(holder, "UPDATE stream SET oldest=0 WHERE stack_id=%" PRIu64, id);
	o.older_us += jobstack_now_us() - began + 1000000;
	OK(jobstack_prune(h, stack, &o, &rest, &e));
	if (rest.entries > 0)
		fail_msg("prune left %" PRIu64 " entries that are older than %" PRId64 " us", rest.entries, o.older_us);
	assert_int_equal(sql(holder,
			     "SELECT COUNT(*) FROM attempt a LEFT JOIN worker w ON w.worker_id=a.worker_id WHERE "
			     "a.stack_id=%" PRIu64 " AND w.worker_id IS NULL",
			     id),
			 0);
}

static void anything(void **unused)
{
	static const char stack[] = "anything";
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	const char *seed = getenv("JOBSTACK_TEST_SEED");
	size_t seen = 0;

	(void)unused;
	state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)jobstack_now_us() ^ ((uint64_t)getpid() << 32);
	print_message("JOBSTACK_TEST_SEED=%" PRIu64 "\n", state);
	push.policy = &policy;
	policy.retry_delay_us = 0;
	policy.max_attempts = 2;
	for (size_t i = 0; i < OPERATIONS; i++) {
		struct hand *w = &crew[draw(CREW)];

		switch (i % 50 == 0 ? 12 : draw(12)) {
		default: step_any(w, stack); break;
		case 5: end_any(w, stack); break;
		case 6:
		case 7: script_any(stack); break;
		case 8: requeue_any(stack); break;
		case 9: gather_any(stack); break;
		case 10: draw(2) == 0 ? prune_any(stack) : gather_any(stack); break;
		case 12: push_scattered(stack, &push, 25, 6000, &state);
		}
		read_since(h, stack, -1, 0, &all);
		seen += all.n;
		for (size_t k = 0; k < 2 && all.n > 0; k++) {
			int64_t at = all.at[draw(all.n)].ended_us + (int64_t)draw(3) - 1;

			compare_since(stack, at, draw(3) > 0 ? 0 : 1u << draw(4));
		}
	}
	for (size_t i = 0; i < 20 && pruned == 0; i++) /* few prunes were drawn, and none of them of a long time */
		prune_any(stack);
	assert_true(seen > OPERATIONS && pruned > 0);
	OK(jobstack_check(h, stack, print_finding, (void *)(uintptr_t)stack, NULL, &e));
	for (size_t i = 0; i < CREW; i++)
		jobstack_worker_free(crew[i].worker);
	(void)sql(holder, "UPDATE jobstack_version SET installed=UTC_TIMESTAMP(6)");
}

/* ----------------------------------------------------------------------------------------- a page and its last entry
 */

/* A page of 2,048 attempts ends inside the last entry, which has three. */
static void last_of_a_page(void **unused)
{
	static struct jobstack_outcome o[2049];
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_worker *w;

	(void)unused;
	push.policy = &policy;
	policy.retry_delay_us = 0;
	policy.max_attempts = 3;
	push_numbered("page", &push, 2047);
	OK(jobstack_worker_begin(h, "page", NULL, &w, &e));
	for (size_t done = 0; done < 2049;) {
		struct jobstack_batch b = JOBSTACK_BATCH_INIT;
		size_t n;

		OK(jobstack_promote(w, &e));
		OK(take_step(w, NULL, 0, JOBSTACK_POP_MAX, &b, NULL, &e));
		n = b.count;
		for (size_t i = 0; i < n; i++) {
			const struct jobstack_entry *one = jobstack_batch_entry(&b, i);

			o[i] = outcome(one->entry, one->attempt, JOBSTACK_DONE, 0);
			if (one->entry == 2047 && one->attempt < 3)
				o[i] = outcome(one->entry, one->attempt, JOBSTACK_FAILED, 1);
		}
		OK(take_step(w, o, n, 0, NULL, NULL, &e));
		jobstack_batch_free(&b);
		done += n;
	}
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	read_since(h, "page", -1, 0, &all);
	assert_int_equal(all.n, 2049);
	compare_since("page", 1, 0);
	compare_since("page", all.at[2048].ended_us, 0);
	assert_int_equal(some.at[some.n - 1].attempt, 3);
}

/* Closes the next entry of STACK as ended HOURS ago: by a step of W, or by a script. */
static void close_ago(struct jobstack_worker *w, const char *stack, int64_t hours)
{
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_outcome o;

	OK(w != NULL ? take_step(w, NULL, 0, 1, &b, NULL, &e) : jobstack_pop(h, stack, NULL, 1, &b, &e));
	assert_int_equal(b.count, 1);
	o = outcome(jobstack_batch_entry(&b, 0)->entry, 1, JOBSTACK_DONE, 0);
	jobstack_batch_free(&b);
	o.started_us = o.ended_us = jobstack_now_us() - hours * DAY_US / 24;
	OK(w != NULL ? take_step(w, &o, 1, 0, NULL, NULL, &e) : jobstack_close(h, stack, &o, 1, NULL, &e));
}

static uint64_t prune_older(const char *stack, int64_t hours)
{
	struct jobstack_prune_options o = JOBSTACK_PRUNE_OPTIONS_INIT;
	struct jobstack_prune_result r = JOBSTACK_PRUNE_RESULT_INIT;

	o.older_us = hours * DAY_US / 24 - DAY_US / 48;
	OK(jobstack_prune(h, stack, &o, &r, &e));
	return r.entries;
}

/* Each attempt is in a list of its own: in the table `closed`, in the column of a living worker, in a block. */
static void each_its_list(void **unused)
{
	static const char stack[] = "each";
	struct jobstack_worker *w[20];
	uint64_t spread = 5, patience = UINT64_MAX;
	struct jobstack_export_options follow = JOBSTACK_EXPORT_OPTIONS_INIT;

	(void)unused;
	push_scattered(stack, NULL, 60, 9000, &spread);
	for (int64_t i = 1; i <= 20; i++) {
		close_ago(NULL, stack, i);
		OK(jobstack_worker_begin(h, stack, NULL, &w[i - 1], &e));
		close_ago(w[i - 1], stack, i);
	}
	for (int64_t i = 20; i > 10; i--)
		assert_int_equal(prune_older(stack, i), 2); /* one of a script, one of a worker */
	follow.after = "0";
	for (int64_t i = 30; i > 20; i--) {
		close_ago(NULL, stack, i);
		OK(jobstack_export(h, stack, &follow, ignore, &patience, &e)); /* it becomes a block */
	}
	assert_true(sql(holder, "SELECT COUNT(*) FROM stream WHERE stack_id=%" PRIu64, id_of(stack)) >= 10);
	for (int64_t i = 30; i > 20; i--)
		assert_int_equal(prune_older(stack, i), 1);
	for (int64_t i = 10; i > 0; i--) /* these became a block, too */
		assert_int_equal(prune_older(stack, i), 2);
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM attempt WHERE stack_id=%" PRIu64, id_of(stack)), 0);
	for (size_t i = 0; i < 20; i++) {
		OK(jobstack_worker_end(w[i], NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
		jobstack_worker_free(w[i]);
	}
}

/* A list that can't be read: everything is looked at. */
static void damaged(void **unused)
{
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_outcome o[HELD];
	uint64_t spread = 77;
	size_t n;

	(void)unused;
	push_scattered("damaged", NULL, 8, 9000, &spread);
	for (size_t i = 0; i < 8; i++) {
		OK(jobstack_pop(h, "damaged", NULL, 1, &b, &e));
		n = b.count;
		for (size_t k = 0; k < n; k++)
			o[k] = outcome(jobstack_batch_entry(&b, k)->entry, 1, JOBSTACK_DONE, 0);
		jobstack_batch_free(&b);
		OK(jobstack_close(h, "damaged", o, n, NULL, &e));
	}
	(void)sql(holder, "UPDATE closed SET list='1:1,x' WHERE stack_id=%" PRIu64, id_of("damaged"));
	read_since(h, "damaged", -1, 0, &all);
	assert_int_equal(all.n, 8);
	compare_since("damaged", 1, 0);
}

/* More lists than one query reads, all with the same newest second. */
static void many_lists(void **unused)
{
	uint64_t id;

	(void)unused;
	push_numbered("many", NULL, 900);
	id = id_of("many");
	(void)sql(holder, "UPDATE entry SET entry_id=entry_id*3000 WHERE stack_id=%" PRIu64, id);
	(void)sql(holder,
		  "INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) SELECT "
		  "stack_id,entry_id,1,1,0,0,FROM_UNIXTIME(1800000000+entry_id/3000%%7/8) FROM entry WHERE "
		  "stack_id=%" PRIu64,
		  id);
	(void)sql(holder,
		  "INSERT INTO closed(stack_id,worker_id,seq,oldest,newest,list) SELECT "
		  "stack_id,entry_id%%6000/3000+1,entry_id,0,"
		  "1800000000,CONCAT(entry_id,':1,') FROM attempt WHERE stack_id=%" PRIu64 " AND entry_id<=1350000",
		  id);
	(void)sql(holder,
		  "INSERT INTO stream(stack_id,no,oldest,newest,list) SELECT stack_id,entry_id,0,1800000000,"
		  "CONCAT(entry_id,':1,') FROM attempt WHERE stack_id=%" PRIu64 " AND entry_id>1350000",
		  id);
	(void)sql(holder, "UPDATE stack SET tail=2700000 WHERE stack_id=%" PRIu64, id);
	read_since(h, "many", -1, 0, &all);
	assert_int_equal(all.n, 900);
	compare_since("many", 1, 0);
	compare_since("many", INT64_C(1800000000500000), 0);
	assert_in_range(some.n, 300, 600);
	compare_since("many", INT64_C(1800000001000000), 0);
	assert_int_equal(some.n, 0);
}

/* ------------------------------------------------------------------------------------------ while lists are moving */

#define MOVES 100 /* entries */
static atomic_uint recorded, over_now;

static void *record_on(void *ctx)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack *handle = open_one();
	struct jobstack_worker *w = NULL;
	int status = 0;

	for (unsigned k = 0; status == 0; k++) {
		struct jobstack_batch b = JOBSTACK_BATCH_INIT;
		struct jobstack_outcome o;

		if (w == NULL)
			status = jobstack_worker_begin(handle, ctx, NULL, &w, &error);
		if (status == 0)
			status = take_step(w, NULL, 0, 1, &b, NULL, &error);
		if (status != 0 || b.count == 0)
			break;
		o = outcome(jobstack_batch_entry(&b, 0)->entry, 1, JOBSTACK_DONE, 0);
		jobstack_batch_free(&b);
		status = take_step(w, &o, 1, 0, NULL, NULL, &error);
		if (status == 0)
			(void)atomic_fetch_add(&recorded, 1);
		if (status == 0 && k % 7 == 6) {
			status = jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &error);
			jobstack_worker_free(w);
			w = NULL;
		}
	}
	if (status != 0)
		print_error("recording: %d, %s\n", status, error.text);
	jobstack_worker_free(w);
	jobstack_free(handle);
	return NULL;
}

static void *gather_on(void *ctx)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack *handle = open_one();
	uint64_t patience = UINT64_MAX;

	o.after = "0";
	while (atomic_load(&over_now) == 0)
		if (jobstack_export(handle, ctx, &o, ignore, &patience, &error) != 0) {
			print_error("gathering: %s\n", error.text);
			break;
		}
	jobstack_free(handle);
	return NULL;
}

/* What was recorded before the call is there, while its lists move. */
static void moving(void **unused)
{
	static char stack[] = "moving";
	pthread_t recorder[2], gatherer;
	uint64_t spread = 7;
	size_t looks = 0;

	(void)unused;
	state = 1;
	push_scattered(stack, NULL, MOVES, 9000, &spread);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&recorder[i], NULL, record_on, stack), 0);
	assert_int_equal(pthread_create(&gatherer, NULL, gather_on, stack), 0);
	for (unsigned before = 0; before < MOVES; looks++) {
		int64_t until = jobstack_now_us() + BOUND_US;

		before = atomic_load(&recorded);
		read_since(h, stack, 1, 0, &some);
		if (some.n < before)
			fail_msg("%zu attempts since then, %u were recorded before", some.n, before);
		for (size_t i = 1; i < some.n; i++)
			assert_true(some.at[i].entry > some.at[i - 1].entry);
		assert_true(jobstack_now_us() < until);
	}
	atomic_store(&over_now, 1);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_join(recorder[i], NULL), 0);
	assert_int_equal(pthread_join(gatherer, NULL), 0);
	assert_int_equal(atomic_load(&recorded), MOVES);
	print_message("# %zu looks\n", looks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {SCHEDULE(last_of_a_page), SCHEDULE(each_its_list), SCHEDULE(damaged),
					   SCHEDULE(many_lists),     SCHEDULE(moving),	      SCHEDULE(anything)};

	return cmocka_run_group_tests(tests, schedule_setup, schedule_teardown);
}

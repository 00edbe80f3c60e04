/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public API against a real server: what fails, where, how fast it goes, and names by number.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#define N 1300 /* more than a page */

static struct jobstack_failure seen[300];
static char seen_text[300][300];
static size_t seen_n, enough;

static int take_failure(void *ctx, const struct jobstack_failure *f)
{
	(void)ctx;
	assert_true(seen_n < 300);
	assert_true(seen_n == 0 || seen[seen_n - 1].count >= f->count);
	(void)snprintf(seen_text[seen_n], sizeof(seen_text[0]), "%s/%s", f->node == NULL ? "" : f->node,
		       f->reason == NULL ? "" : f->reason);
	seen[seen_n++] = *f;
	return seen_n == enough;
}

static void failures(const char *stack, const struct jobstack_failures_options *o, struct jobstack_failures_report *r)
{
	seen_n = enough = 0;
	OK(jobstack_failures(h, stack, o, take_failure, NULL, r, &e));
}

/* Worker NODE takes K entries; those whose number REST leaves 0 fail with CODE and REASON, the others are done. */
static void work(const char *stack, const char *node, size_t k, uint64_t rest, int code, const char *reason)
{
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_outcome o[500];
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	options.node = node;
	OK(jobstack_worker_begin(h, stack, &options, &w, &e));
	for (size_t left = k; left > 0; left -= k) {
		OK(take_step(w, NULL, 0, left < 500 ? left : 500, &b, NULL, &e));
		assert_true(b.count > 0);
		for (size_t i = 0; i < b.count; i++) {
			int failed = jobstack_batch_entry(&b, i)->entry % rest == 0;

			o[i] = outcome(jobstack_batch_entry(&b, i)->entry, jobstack_batch_entry(&b, i)->attempt,
				       failed ? JOBSTACK_FAILED : JOBSTACK_DONE, failed ? code : 0);
			o[i].reason = failed ? reason : NULL;
		}
		OK(take_step(w, o, b.count, 0, NULL, NULL, &e));
		k = b.count;
		jobstack_batch_free(&b);
	}
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
}

static int take_bad(void *ctx, const struct jobstack_bad_node *bad)
{
	*(struct jobstack_bad_node *)ctx = *bad;
	assert_string_equal(bad->node, "n3");
	return 0;
}

static void groups(void **state)
{
	struct jobstack_failures_options o = JOBSTACK_FAILURES_OPTIONS_INIT;
	struct jobstack_push_options once = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_failures_report r = JOBSTACK_FAILURES_REPORT_INIT;
	struct jobstack_bad_node bad = {NULL, 0, 0, 0, 0};
	uint64_t looked;

	(void)state;
	once.policy = &policy;
	policy.max_attempts = 1;
	push_numbered("f", &once, N);
	failures("f", NULL, &r);
	assert_true(seen_n == 0 && r.failures == 0 && r.groups == 0 && r.looked == 0 && r.whole);
	work("f", "n1", 1000, 100, 3, "took 5 s");
	work("f", "n3", 200, 1, 3, "took 17 s");
	work("f", "n1", 100, 1, 4, NULL);
	failures("f", NULL, &r);
	assert_true(seen_n == 2 && r.failures == 310 && r.looked == 310 && r.groups == 2 && r.whole);
	assert_true(seen[0].count == 210 && seen[0].exit_code == 3 && seen[0].entry == 1200 && seen[0].attempt == 1 &&
		    !seen[0].various);
	assert_string_equal(seen_text[0], "/took 17 s"); /* on two nodes */
	assert_true(seen[1].count == 100 && seen[1].exit_code == 4 && seen[1].entry == N);
	assert_string_equal(seen_text[1], "n1/");
	o.by_node = 1;
	failures("f", &o, &r);
	assert_true(seen_n == 3 && seen[0].count == 200 && seen[1].count == 100 && seen[2].count == 10);
	assert_string_equal(seen_text[0], "n3/took 17 s");
	o.look_at = 150;
	failures("f", &o, &r);
	assert_true(r.looked == 150 && r.failures == 150 && !r.whole);
	assert_true(seen_n == 2 && seen[0].count == 100 && seen[1].count == 50);
	o.all = 1;
	o.look_at = 0;
	failures("f", &o, &r);
	assert_true(r.looked == N && r.failures == 310 && seen_n == 3);
	enough = 1;
	seen_n = 0;
	GIVES(JOBSTACK_ESTOPPED, jobstack_failures(h, "f", NULL, take_failure, NULL, &r, &e));
	assert_true(seen_n == 1);
	o.size = 1;
	GIVES(JOBSTACK_EUSAGE, jobstack_failures(h, "f", &o, take_failure, NULL, &r, &e));
	GIVES(JOBSTACK_EMISSING, jobstack_failures(h, "nowhere", NULL, take_failure, NULL, &r, &e));
	OK(jobstack_bad_nodes(h, "f", 0, take_bad, &bad, &looked, &e));
	assert_true(looked == N && bad.failed == 200 && bad.attempts == 200 && bad.failed_elsewhere == 110 &&
		    bad.attempts_elsewhere == 1100);
	OK(jobstack_bad_nodes(h, "f", 100, take_bad, &bad, &looked, &e)); /* one node alone is not worse than others */
	assert_true(looked == 100);
	GIVES(JOBSTACK_EMISSING, jobstack_bad_nodes(h, "nowhere", 0, take_bad, &bad, &looked, &e));
}

/* What failed and was then done has not failed. */
static void retried(void **state)
{
	struct jobstack_failures_options o = JOBSTACK_FAILURES_OPTIONS_INIT;
	struct jobstack_push_options twice = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_failures_report r = JOBSTACK_FAILURES_REPORT_INIT;
	struct jobstack_filter dead = JOBSTACK_FILTER_INIT;
	struct jobstack_requeue_result q = JOBSTACK_REQUEUE_RESULT_INIT;

	(void)state;
	twice.policy = &policy;
	policy.max_attempts = 1;
	push_numbered("r", &twice, 20);
	work("r", "n1", 20, 2, 1, NULL);
	o.all = 1;
	failures("r", &o, &r);
	assert_true(r.failures == 10 && r.looked == 20);
	dead.states = JOBSTACK_IS_DEAD;
	OK(jobstack_requeue(h, "r", &dead, 0, &q, &e));
	work("r", "n1", 10, 4, 1, NULL);
	failures("r", &o, &r);
	assert_true(r.failures == 5 && r.looked == 30 && seen_n == 1 && seen[0].entry == 20 && seen[0].attempt == 2);
}

static void pace_and_names(void **state)
{
	const uint64_t entries[] = {2, 5, 99};
	struct jobstack_pace p = JOBSTACK_PACE_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	push_numbered("p", NULL, 10);
	OK(jobstack_pace(h, "p", &p, &e));
	assert_true(p.rate == 0 && p.eta_us == -1 && p.each_us == -1);
	OK(jobstack_pop(h, "p", NULL, 3, &b, &e));
	jobstack_batch_free(&b);
	look("p");
	assert_true(st.busy == 1 && st.slots == 1 && st.silent == 0);
	OK(jobstack_pace(h, "p", &p, &e)); /* nothing has ended: nothing is known */
	assert_true(p.rate == 0 && p.eta_us == -1);
	OK(jobstack_pace(h, "f", &p, &e));
	assert_true(p.eta_us == 0 && p.low_us == 0 && p.high_us == 0);
	items_n = 0;
	OK(jobstack_datapaths(h, "p", entries, 3, take_item, NULL, &e));
	assert_true(items_n == 2 && items[0].entry == 2 && items[1].entry == 5);
	assert_string_equal(item_path[1], "/d/5");
	items_n = 0;
	OK(jobstack_datapaths(h, "p", entries, 0, take_item, NULL, &e));
	assert_true(items_n == 0);
}

static int note_line(void *ctx, const struct jobstack_item *item)
{
	(void)ctx;
	items[items_n++] = *item;
	return 0;
}

static void export_entries(const char *stack)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;

	o.by_entry = 1;
	items_n = 0;
	OK(jobstack_export(h, stack, &o, note_line, NULL, &e));
}

/* An entry that has failed is still named by the claim that it was in, while another entry of that claim runs.  What
 * counts is where it is now, whichever of the two workers has the lower number. */
static void retried_beside_its_claim(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_outcome o = outcome(2, 1, JOBSTACK_FAILED, 1);
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_worker *low, *high;

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 3;
	policy.retry_delay_us = 0;
	push_numbered("beside", &push, 5);
	OK(jobstack_worker_begin(h, "beside", NULL, &low, &e));
	OK(jobstack_worker_begin(h, "beside", NULL, &high, &e));
	assert_true(jobstack_worker_id(low) < jobstack_worker_id(high));
	OK(take_step(high, NULL, 0, 5, &b, NULL, &e));
	assert_true(b.count == 5);
	OK(take_step(high, &o, 1, 0, NULL, NULL, &e));
	OK(jobstack_promote(low, &e));
	export_entries("beside");
	assert_true(items_n == 5 && items[1].state == JOBSTACK_IS_READY);
	assert_true(items[0].state == JOBSTACK_IS_RUNNING && items[0].worker == jobstack_worker_id(high));
	jobstack_batch_free(&b);
	OK(take_step(low, NULL, 0, 1, &b, NULL, &e));
	assert_true(b.count == 1);
	export_entries("beside");
	assert_true(items_n == 5 && items[1].state == JOBSTACK_IS_RUNNING && items[1].attempt == 2 &&
		    items[1].worker == jobstack_worker_id(low));
	OK(jobstack_worker_end(low, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	OK(jobstack_worker_end(high, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(low);
	jobstack_worker_free(high);
	jobstack_batch_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(retried_beside_its_claim), cmocka_unit_test(groups),
					   cmocka_unit_test(retried), cmocka_unit_test(pace_and_names)};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

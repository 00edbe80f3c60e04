/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Structs of other sizes than the library's; heartbeats; a handle that was stopped.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include <stddef.h>
#include <time.h>

/* An outcome as a later version may have it. */
struct later_outcome {
	struct jobstack_outcome o;
	uint64_t more;
};

static void inputs(void **state)
{
	struct {
		struct jobstack_policy p;
		uint64_t more;
	} later = {JOBSTACK_POLICY_INIT, 0};
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;

	(void)state;
	push_numbered("in", NULL, 1);
	for (size_t i = 0; i < 3; i++) {
		policy.size = (const size_t[]){0, sizeof(size_t) - 1, 5000}[i];
		GIVES(JOBSTACK_EUSAGE, jobstack_set_policy(h, "in", &policy, &e));
		assert_non_null(strstr(e.text, "struct jobstack_policy has a wrong size"));
		push.policy = &policy;
		GIVES(JOBSTACK_EUSAGE, jobstack_push(h, "in", &push, "/x", &e));
	}
	policy.max_attempts = 7;
	policy.max_losses = 0; /* which is refused, where it is read */
	policy.size = sizeof(policy);
	GIVES(JOBSTACK_EUSAGE, jobstack_set_policy(h, "in", &policy, &e));
	policy.size = offsetof(struct jobstack_policy, max_losses);
	OK(jobstack_set_policy(h, "in", &policy, &e));
	look("in");
	assert_true(st.max_attempts == 7 && st.max_losses == 5);
	later.p.size = sizeof(later);
	later.p.max_losses = 9;
	OK(jobstack_set_policy(h, "in", &later.p, &e));
	look("in");
	assert_true(st.max_losses == 9);
	later.more = 1;
	GIVES(JOBSTACK_EUSAGE, jobstack_set_policy(h, "in", &later.p, &e));
	assert_non_null(strstr(e.text, "sets a member"));
}

static void outputs(void **state)
{
	struct {
		struct jobstack_push_result r;
		uint64_t more, behind;
	} later = {JOBSTACK_PUSH_RESULT_INIT, 5, 6};
	struct jobstack_push_result result = JOBSTACK_PUSH_RESULT_INIT;
	struct jobstack_bytes name = {"/a", 2};
	struct jobstack_batch b = {0};

	(void)state;
	later.r.size = offsetof(__typeof__(later), behind);
	OK(jobstack_push_many(h, "out", NULL, &name, 1, &later.r, &e));
	assert_true(later.r.pushed == 1 && later.more == 0 && later.behind == 6);
	result.size = offsetof(struct jobstack_push_result, skipped);
	result.skipped = 44;
	OK(jobstack_push_many(h, "out", NULL, &name, 1, &result, &e));
	assert_true(result.pushed == 1 && result.skipped == 44 && result.before == 0);
	result.size = 0;
	GIVES(JOBSTACK_EUSAGE, jobstack_push_many(h, "out", NULL, &name, 1, &result, &e));
	look("out");
	assert_true(st.pushed == 2);
	GIVES(JOBSTACK_EUSAGE, jobstack_pop(h, "out", NULL, 1, &b, &e)); /* it was not started */
	assert_non_null(strstr(e.text, "INIT"));
}

static void arrays(void **state)
{
	struct later_outcome o[3] = {{.more = 0}};
	struct jobstack_step step = JOBSTACK_STEP_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_worker *w;
	int results[3];

	(void)state;
	push_numbered("array", NULL, 6);
	for (size_t i = 0; i < 3; i++) {
		o[i].o = outcome(i + 1, 1, JOBSTACK_DONE, 0);
		o[i].o.size = sizeof(o[0]);
	}
	OK(jobstack_pop(h, "array", NULL, 3, &b, &e));
	jobstack_batch_free(&b);
	o[2].more = 1;
	GIVES(JOBSTACK_EUSAGE, jobstack_close(h, "array", &o[0].o, 3, results, &e));
	o[2].more = 0;
	o[1].o.size = sizeof(o[1].o);
	GIVES(JOBSTACK_EUSAGE, jobstack_close(h, "array", &o[0].o, 3, results, &e));
	assert_non_null(strstr(e.text, "different sizes"));
	o[1].o.size = sizeof(o[0]);
	GIVES(JOBSTACK_EUSAGE, jobstack_close(h, "array", NULL, 3, results, &e));
	OK(jobstack_close(h, "array", &o[0].o, 3, results, &e));
	OK(jobstack_worker_begin(h, "array", NULL, &w, &e));
	OK(take_step(w, NULL, 0, 3, &b, NULL, &e));
	for (size_t i = 0; i < 3; i++)
		o[i].o.entry = jobstack_batch_entry(&b, i)->entry;
	jobstack_batch_free(&b);
	step.outcomes = &o[0].o;
	step.outcomes_n = 2;
	OK(jobstack_step(w, &step, NULL, NULL, &e));
	OK(jobstack_worker_end(w, &o[2].o, 1, JOBSTACK_CAUSE_NONE, "enough", &e));
	jobstack_worker_free(w);
	look("array");
	assert_true(st.done == 6 && st.running == 0);
}

static void heartbeats(void **state)
{
	struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_running running[2] = {JOBSTACK_RUNNING_INIT, JOBSTACK_RUNNING_INIT};
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_worker *w;
	int64_t next, deadline;

	(void)state;
	push_numbered("beat", NULL, 2);
	options.lease_us = 3000000;
	OK(jobstack_worker_begin(h, "beat", &options, &w, &e));
	OK(take_step(w, NULL, 0, 2, &b, NULL, &e));
	jobstack_batch_free(&b);
	deadline = jobstack_worker_deadline_us(w);
	OK(jobstack_heartbeat(w, NULL, 0, &next, &e));
	if (jobstack_now_us() < deadline - 2000000) /* else this machine is too slow to tell */
		assert_true(jobstack_worker_deadline_us(w) == deadline && next == deadline - 2000000);
	while (jobstack_now_us() < next)
		(void)nanosleep(&(const struct timespec){.tv_nsec = 10000000}, NULL);
	running[0].entry = 1;
	running[1].entry = 2;
	running[0].attempt = running[1].attempt = 1;
	running[0].started_us = running[1].started_us = jobstack_now_us() - 1000000;
	OK(jobstack_heartbeat(w, running, 2, &next, &e));
	assert_true(jobstack_worker_deadline_us(w) >= deadline + 1000000);
	OK(jobstack_workers(h, "beat", take_worker, NULL, &e));
	OK(jobstack_recover(h, "beat", (struct jobstack_seen){seen_worker, seen_seq}, JOBSTACK_CAUSE_WORKER, "gone",
			    NULL, &e));
	while (jobstack_now_us() < next)
		(void)nanosleep(&(const struct timespec){.tv_nsec = 10000000}, NULL);
	GIVES(JOBSTACK_NOTHING, jobstack_heartbeat(w, NULL, 0, NULL, &e));
	jobstack_worker_free(w);
}

/* What need not wait still works.  (What waits is stopped in test_schedules_lost.c.) */
static void stops(void **state)
{
	struct jobstack *one = open_one();

	(void)state;
	jobstack_stop(one);
	OK(jobstack_push(one, "stop", NULL, "/a", &e));
	jobstack_disconnect(one);
	OK(jobstack_push(one, "stop", NULL, "/b", &e));
	jobstack_free(one);
}

static void words(void **state)
{
	(void)state;
	assert_string_equal(jobstack_strerror(0), "success");
	assert_string_equal(jobstack_strerror(JOBSTACK_ENODB), "the database can't be reached, or can't work");
	assert_string_equal(jobstack_strerror(4711), "unknown result");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(inputs), cmocka_unit_test(outputs),
					   cmocka_unit_test(arrays), cmocka_unit_test(heartbeats),
					   cmocka_unit_test(stops),  cmocka_unit_test(words)};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public API against a real server: steering a stack: pause, cancel, policy, limits, drop; alone and while others
 * pop, push and close.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include <sys/wait.h>
#include <unistd.h>

static struct jobstack_policy policy;

static void set(const char *stack)
{
	OK(jobstack_set_policy(h, stack, &policy, &e));
	policy = (struct jobstack_policy)JOBSTACK_POLICY_INIT;
}

static void states(void **state)
{
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	push_numbered("state", NULL, 3);
	OK(jobstack_set_state(h, "state", JOBSTACK_PAUSED, "the disk is full", &e));
	OK(jobstack_set_state(h, "state", JOBSTACK_PAUSED, "the disk is full", &e));
	GIVES(JOBSTACK_NOTHING, jobstack_pop(h, "state", NULL, 1, &b, &e));
	look("state");
	assert_true(st.state == JOBSTACK_PAUSED && st.ready == 3);
	assert_string_equal(st_note, "the disk is full");
	OK(jobstack_set_state(h, "state", JOBSTACK_OPEN, "unheard", &e));
	look("state");
	assert_string_equal(st_note, "");
	OK(jobstack_pop(h, "state", NULL, 1, &b, &e));
	/* what runs ends as ever; what it leaves is cancelled too */
	OK(jobstack_set_state(h, "state", JOBSTACK_CANCELLED, NULL, &e));
	look("state");
	assert_true(st.cancelled == 2 && st.running == 1 && st.ready == 0);
	REFUSES(JOBSTACK_ECONFLICT, JOBSTACK_WHY_CANCELLED, jobstack_push(h, "state", NULL, "/more", &e));
	struct jobstack_outcome o = outcome(jobstack_batch_entry(&b, 0)->entry, 1, JOBSTACK_FAILED, 1);
	OK(jobstack_close(h, "state", &o, 1, NULL, &e));
	jobstack_batch_free(&b);
	look("state");
	assert_true(st.cancelled == 3 && st.running == 0);
	GIVES(JOBSTACK_NOTHING, jobstack_pop(h, "state", NULL, 1, &b, &e));
	OK(jobstack_set_state(h, "state", JOBSTACK_OPEN, NULL, &e));
	look("state");
	assert_true(st.ready == 2 && st.waiting == 1 && st.cancelled == 0);
	GIVES(JOBSTACK_EUSAGE, jobstack_set_state(h, "state", JOBSTACK_DROPPING, NULL, &e));
	GIVES(JOBSTACK_EMISSING, jobstack_set_state(h, "nowhere", JOBSTACK_PAUSED, NULL, &e));
}

/* The limit holds across workers and scripts, lets go with each outcome, and can be set and lifted at any time. */
static void limit(void **state)
{
	struct jobstack_worker *v, *w;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_outcome o;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT, c = JOBSTACK_BATCH_INIT;

	(void)state;
	push_numbered("limit", NULL, 20);
	OK(jobstack_worker_begin(h, "limit", NULL, &v, &e));
	OK(jobstack_worker_begin(h, "limit", NULL, &w, &e));
	OK(take_step(v, NULL, 0, 1, &b, &report, &e));
	assert_true(b.count == 1 && !report.limited);
	jobstack_batch_free(&b);
	policy.max_running = 4;
	set("limit");
	/* who does not know of it takes nothing, and knows it then */
	OK(take_step(v, NULL, 0, 10, &b, &report, &e));
	assert_true(b.count == 0 && report.limited);
	OK(take_step(v, NULL, 0, 10, &b, &report, &e));
	assert_int_equal(b.count, 3);
	OK(take_step(w, NULL, 0, 10, &c, &report, &e));
	assert_true(c.count == 0 && report.limited);
	OK(take_step(w, NULL, 0, 1, &c, &report, &e));
	assert_int_equal(c.count, 0);
	GIVES(JOBSTACK_NOTHING, jobstack_pop(h, "limit", NULL, 1, &c, &e));
	/* a step may take what it gives back */
	o = outcome(jobstack_batch_entry(&b, 0)->entry, 1, JOBSTACK_DONE, 0);
	OK(take_step(v, &o, 1, 10, &c, &report, &e));
	assert_int_equal(c.count, 1);
	jobstack_batch_free(&c);
	o = outcome(jobstack_batch_entry(&b, 1)->entry, 1, JOBSTACK_UNSTARTED, -1);
	OK(take_step(v, &o, 1, 0, &c, &report, &e));
	OK(jobstack_pop(h, "limit", NULL, 5, &c, &e));
	assert_int_equal(c.count, 1);
	jobstack_batch_free(&c);
	policy.max_running = 0;
	set("limit");
	OK(take_step(w, NULL, 0, 10, &c, &report, &e)); /* knows of a limit that is no more: takes all the same */
	assert_true(c.count == 10 && !report.limited);
	jobstack_batch_free(&c);
	jobstack_batch_free(&b);
	OK(jobstack_worker_end(w, NULL, 0, NULL, &e));
	OK(jobstack_worker_end(v, NULL, 0, NULL, &e));
	jobstack_worker_free(w);
	jobstack_worker_free(v);
	look("limit");
	assert_true(st.running == 1 && st.done == 1 && st.ready == 18);
}

#define CROWD 8

/* Many who pop at once: never more than the limit is open, and all is done in the end. */
static void limit_races(void **state)
{
	uint64_t most = 0;
	int status, left = CROWD;

	(void)state;
	push_numbered("crowd", NULL, 400);
	policy.max_running = 3;
	set("crowd");
	for (int i = 0; i < CROWD; i++)
		if (fork() == 0) {
			struct jobstack_worker *w;
			struct jobstack_batch b = JOBSTACK_BATCH_INIT, next = JOBSTACK_BATCH_INIT;
			struct jobstack_outcome o[JOBSTACK_POP_MAX];

			h = open_one();
			OK(jobstack_worker_begin(h, "crowd", NULL, &w, &e));
			do {
				for (size_t k = 0; k < b.count; k++)
					o[k] = outcome(jobstack_batch_entry(&b, k)->entry, 1, JOBSTACK_DONE, 0);
				OK(take_step(w, o, b.count, i % 2 == 0 ? 1 : 5, &next, NULL, &e));
				jobstack_batch_free(&b);
				b = next;
				look("crowd");
			} while (b.count > 0 || st.ready > 0);
			OK(jobstack_worker_end(w, NULL, 0, NULL, &e));
			_exit(0);
		}
	while (left > 0) {
		look("crowd");
		most = st.running > most ? st.running : most;
		if (waitpid(-1, &status, WNOHANG) > 0) {
			assert_int_equal(status, 0);
			left--;
		}
	}
	look("crowd");
	assert_true(st.done == 400 && st.running == 0);
	assert_true(most >= 1 && most <= 3);
}

/* With so many dead the stack pauses by itself, whoever's failure it was; it is not opened as long as that is so. */
static void failures(void **state)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_outcome o[3];
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 1;
	policy.max_failures = 3;
	push_numbered("fails", &push, 10);
	policy = (struct jobstack_policy)JOBSTACK_POLICY_INIT;
	OK(jobstack_worker_begin(h, "fails", NULL, &w, &e));
	OK(take_step(w, NULL, 0, 3, &b, &report, &e));
	for (size_t i = 0; i < 3; i++)
		o[i] = outcome(jobstack_batch_entry(&b, i)->entry, 1, JOBSTACK_FAILED, 1);
	jobstack_batch_free(&b);
	OK(take_step(w, o, 2, 0, &b, &report, &e));
	OK(take_step(w, NULL, 0, 0, &b, &report, &e));
	assert_int_equal(report.state, JOBSTACK_OPEN);
	OK(take_step(w, o + 2, 1, 0, &b, &report, &e));
	OK(take_step(w, NULL, 0, 0, &b, &report, &e));
	assert_int_equal(report.state, JOBSTACK_PAUSED);
	look("fails");
	assert_true(st.state == JOBSTACK_PAUSED && st.dead == 3 && st.ready == 7);
	assert_string_equal(st_note, "max-failures: 3 entries are dead");
	REFUSES(JOBSTACK_ECONFLICT, JOBSTACK_WHY_MAX_FAILURES, jobstack_set_state(h, "fails", JOBSTACK_OPEN, NULL, &e));
	assert_non_null(strstr(e.text, "max-failures (3)"));
	policy.max_failures = 4;
	set("fails");
	OK(jobstack_set_state(h, "fails", JOBSTACK_OPEN, NULL, &e));
	OK(jobstack_worker_end(w, NULL, 0, NULL, &e));
	jobstack_worker_free(w);
	/* by a script too */
	OK(jobstack_pop(h, "fails", NULL, 1, &b, &e));
	o[0] = outcome(jobstack_batch_entry(&b, 0)->entry, 1, JOBSTACK_FAILED, 1);
	OK(jobstack_close(h, "fails", o, 1, NULL, &e));
	jobstack_batch_free(&b);
	look("fails");
	assert_int_equal(st.state, JOBSTACK_PAUSED);
	f.states = JOBSTACK_IS_DEAD;
	OK(jobstack_requeue(h, "fails", &f, 0, NULL, &e)); /* nothing is dead any more */
	OK(jobstack_set_state(h, "fails", JOBSTACK_OPEN, NULL, &e));
}

static void policies(void **state)
{
	struct jobstack_push_options high = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	push_numbered("policy", NULL, 3);
	high.priority = 7;
	OK(jobstack_push(h, "policy", &high, "/first", &e));
	policy.max_attempts = 9;
	policy.max_losses = 8;
	policy.retry_delay_us = 70000000;
	policy.max_running = 6;
	policy.max_failures = 5;
	policy.priority = 2;
	set("policy");
	look("policy");
	assert_true(st.max_attempts == 9 && st.max_losses == 8 && st.retry_delay_us == 70000000 &&
		    st.max_running == 6 && st.max_failures == 5);
	OK(jobstack_pop(h, "policy", NULL, 1, &b, &e)); /* all are alike now, and in the order of their numbers */
	assert_int_equal(jobstack_batch_entry(&b, 0)->entry, 1);
	jobstack_batch_free(&b);
	OK(jobstack_push(h, "policy", &high, "/first", &e));
	OK(jobstack_pop(h, "policy", NULL, 1, &b, &e));
	assert_string_equal(jobstack_batch_entry(&b, 0)->datapath, "/first");
	jobstack_batch_free(&b);
	policy.max_attempts = 0;
	GIVES(JOBSTACK_EUSAGE, jobstack_set_policy(h, "policy", &policy, &e));
	policy = (struct jobstack_policy)JOBSTACK_POLICY_INIT;
	GIVES(JOBSTACK_EMISSING, jobstack_set_policy(h, "nowhere", &policy, &e));
}

static int stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
	(void)total;
	return ++*(int *)ctx > 1 || done > 1000000;
}

static void drops(void **state)
{
	struct jobstack_push_options unique = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_check_report report = JOBSTACK_CHECK_REPORT_INIT;
	struct jobstack_outcome o;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	int calls = 0;

	(void)state;
	unique.unique = 1;
	push_numbered("kept", NULL, 5);
	push_numbered("drop", &unique, 12000);
	OK(jobstack_pop(h, "drop", NULL, 1, &b, &e));
	REFUSES(JOBSTACK_ECONFLICT, JOBSTACK_WHY_RUNNING, jobstack_drop(h, "drop", NULL, NULL, &e)); /* one runs */
	assert_non_null(strstr(e.text, "running entries (1)"));
	look("drop");
	assert_true(st.state == JOBSTACK_OPEN && st.ready == 11999);
	o = outcome(jobstack_batch_entry(&b, 0)->entry, 1, JOBSTACK_DONE, 0);
	OK(jobstack_close(h, "drop", &o, 1, NULL, &e));
	jobstack_batch_free(&b);
	GIVES(JOBSTACK_ESTOPPED, jobstack_drop(h, "drop", stop_at_once, &calls, &e));
	look("drop");
	assert_int_equal(st.state, JOBSTACK_DROPPING);
	GIVES(JOBSTACK_NOTHING, jobstack_pop(h, "drop", NULL, 1, &b, &e));
	REFUSES(JOBSTACK_ECONFLICT, JOBSTACK_WHY_DROPPING, jobstack_push(h, "drop", NULL, "/more", &e));
	REFUSES(JOBSTACK_ECONFLICT, JOBSTACK_WHY_DROPPING, jobstack_set_state(h, "drop", JOBSTACK_OPEN, NULL, &e));
	REFUSES(JOBSTACK_ECONFLICT, JOBSTACK_WHY_DROPPING, jobstack_requeue(h, "drop", NULL, 0, NULL, &e));
	OK(jobstack_drop(h, "drop", NULL, NULL, &e));
	GIVES(JOBSTACK_EMISSING, jobstack_drop(h, "drop", NULL, NULL, &e));
	OK(jobstack_check(h, NULL, NULL, NULL, &report, &e)); /* no row of it is left behind */
	look("kept");
	assert_int_equal(st.ready, 5);
	OK(jobstack_push(h, "drop", NULL, "/anew", &e)); /* the name is free */
	look("drop");
	assert_true(st.pushed == 1 && st.ready == 1);
}

/* Against pops, closes, requeues and pushes that come at the same moment: it is dropped, or refused and whole. */
static void drop_races(void **state)
{
	int status, dropped = 0, refused = 0;

	(void)state;
	for (int round = 0; round < 12; round++) {
		struct jobstack_check_report report = JOBSTACK_CHECK_REPORT_INIT;

		push_numbered("race", NULL, 50);
		for (int i = 0; i < 3; i++)
			if (fork() == 0) {
				struct jobstack_filter done = JOBSTACK_FILTER_INIT;
				struct jobstack_batch b = JOBSTACK_BATCH_INIT;
				struct jobstack_outcome o;

				h = open_one();
				done.states = JOBSTACK_IS_DONE;
				while (jobstack_pop(h, "race", NULL, 1, &b, &e) == 0) {
					o = outcome(jobstack_batch_entry(&b, 0)->entry,
						    jobstack_batch_entry(&b, 0)->attempt, JOBSTACK_DONE, 0);
					OK(jobstack_close(h, "race", &o, 1, NULL,
							  &e)); /* what was popped can be closed */
					jobstack_batch_free(&b);
					(void)jobstack_requeue(h, "race", &done, 0, NULL, &e);
					memset(&e, 0, sizeof(e));
				}
				_exit(0);
			}
		for (int gone = 0; gone == 0;) {
			int now = jobstack_drop(h, "race", NULL, NULL, &e);

			memset(&e, 0, sizeof(e));
			assert_true(now == 0 || now == JOBSTACK_ECONFLICT);
			gone = now == 0;
			refused += now != 0;
			dropped += now == 0;
		}
		for (int i = 0; i < 3; i++) {
			assert_true(wait(&status) > 0);
			assert_int_equal(status, 0);
		}
		OK(jobstack_check(h, NULL, NULL, NULL, &report, &e));
	}
	print_message("%d dropped, %d refused\n", dropped, refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(states),	  cmocka_unit_test(limit),
					   cmocka_unit_test(limit_races), cmocka_unit_test(failures),
					   cmocka_unit_test(policies),	  cmocka_unit_test(drops),
					   cmocka_unit_test(drop_races)};

	policy = (struct jobstack_policy)JOBSTACK_POLICY_INIT;
	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public API against a real server: steering a stack: pause, cancel, policy, limits, drop; alone and while others
 * pop, push and close.
 */
#define _GNU_SOURCE
#include "integration/api.h"
#include "queue/queue.h"

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
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	OK(jobstack_worker_end(v, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	jobstack_worker_free(v);
	look("limit");
	assert_true(st.running == 1 && st.done == 1 && st.ready == 18);
}

#define S INT64_C(1000000)

/* A claim that must bring COUNT entries, and allows the next one in LOW to HIGH. */
static void claim_rated(struct jobstack_worker *w, size_t count, int64_t low, int64_t high)
{
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	int64_t sent = jobstack_now_us();

	OK(take_step(w, NULL, 0, 5, &b, &report, &e));
	assert_true(b.count == count && report.next_start_us >= low && report.next_start_us <= high);
	assert_true(count == 0 ? b.start_by_us == 0
			       : b.start_by_us >= sent + JOBSTACK_START_LEAST &&
					 b.start_by_us <= jobstack_now_us() + JOBSTACK_START_LEAST);
	jobstack_batch_free(&b);
}

/* With a rate a claim brings one entry, at its time; whatever the server's clock does, the next one comes. */
static void rate(void **state)
{
	struct jobstack_worker *v, *w;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	const int64_t least = JOBSTACK_START_LEAST, most = JOBSTACK_START_MOST;

	(void)state;
	push_numbered("rate", NULL, 20);
	OK(jobstack_worker_begin(h, "rate", NULL, &v, &e));
	OK(jobstack_worker_begin(h, "rate", NULL, &w, &e));
	policy.max_starts = 1;
	policy.starts_us = 100 * S;
	set("rate");
	OK(take_step(v, NULL, 0, 10, &b, &report, &e)); /* it does not know */
	assert_true(b.count == 0 && report.limited == 2 && report.next_start_us == -1);
	claim_rated(v, 1, 50 * S, 100 * S + least);
	claim_rated(v, 0, 1, 100 * S + least);
	look("rate");
	assert_true(st.max_starts == 1 && st.starts_us == 100 * S && st.max_running == 0);
	policy.max_starts = 1;
	policy.starts_us = 20 * S; /* a faster one is heeded from the last start on */
	set("rate");
	OK(take_step(w, NULL, 0, 0, NULL, &report, &e));
	claim_rated(w, 0, 1, 20 * S + least);
	/* later; or the clock was set forward */
	OK(js_handle_change(h, 1, NULL, &e, "UPDATE running_limit SET next_start=next_start-INTERVAL 1 DAY"));
	claim_rated(w, 1, 10 * S, 20 * S + least);
	/* it was set back */
	OK(js_handle_change(h, 1, NULL, &e, "UPDATE running_limit SET next_start=next_start+INTERVAL 1 DAY"));
	claim_rated(w, 0, 20 * S, 20 * S + least + most);
	policy.max_running = 2;
	set("rate");
	OK(js_handle_change(h, 1, NULL, &e, "UPDATE running_limit SET next_start='2020-01-01'"));
	claim_rated(v, 0, -1, 0); /* learns of it */
	claim_rated(v, 0, 0, 0);  /* two are running */
	policy.max_running = policy.max_starts = 0;
	set("rate");
	OK(take_step(v, NULL, 0, 10, &b, &report, &e));
	assert_true(b.count == 0 && report.limited == 0);
	OK(take_step(v, NULL, 0, 10, &b, &report, &e));
	assert_true(b.count == 10 && b.start_by_us == 0 && report.next_start_us == -1);
	jobstack_batch_free(&b);
	policy = (struct jobstack_policy)JOBSTACK_POLICY_INIT;
	policy.max_starts = 1;
	policy.starts_us = 0;
	GIVES(JOBSTACK_EUSAGE, jobstack_set_policy(h, "rate", &policy, &e));
	policy = (struct jobstack_policy)JOBSTACK_POLICY_INIT;
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	OK(jobstack_worker_end(v, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	jobstack_worker_free(v);
	look("rate");
	assert_true(st.running == 0 && st.ready == 20);
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
			OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
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
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
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

/* Requests to kill reach the worker that holds the attempt, with its next heartbeat, and go when it has ended. */
static void kills(void **state)
{
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	char reason[JOBSTACK_KILL_REASON] = "unchanged";
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_outcome o;
	struct jobstack_worker *w;
	uint64_t id, taken, many = 0;

	(void)state;
	push_numbered("kills", NULL, 400);
	OK(jobstack_worker_begin(h, "kills", NULL, &w, &e));
	id = jobstack_worker_id(w);
	OK(take_step(w, NULL, 0, 12, &b, &report, &e));
	assert_true(b.count == 12 && report.kills == NULL);
	jobstack_batch_free(&b);
	OK(jobstack_kill(h, "kills", (struct jobstack_held){id, 12, 1}, &e));
	OK(jobstack_kill(h, "kills", (struct jobstack_held){id, 12, 1}, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_kill(h, "kills", (struct jobstack_held){id, 13, 1},
					      &e)); /* not claimed; another attempt; nobody */
	GIVES(JOBSTACK_NOTHING, jobstack_kill(h, "kills", (struct jobstack_held){id, 12, 2}, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_kill(h, "kills", (struct jobstack_held){id + 1, 12, 1}, &e));
	GIVES(JOBSTACK_EMISSING, jobstack_kill(h, "nowhere", (struct jobstack_held){id, 12, 1}, &e));
	OK(take_step(w, NULL, 0, 0, NULL, &report, &e));
	assert_true(jobstack_kill_wanted(report.kills, 12, 1, reason));
	assert_string_equal(reason, "killed by ?");
	assert_false(jobstack_kill_wanted(report.kills, 2, 1, reason) ||
		     jobstack_kill_wanted(report.kills, 12, 11, reason) || jobstack_kill_wanted(NULL, 12, 1, reason));
	assert_int_equal(strlen(report.kills), strlen(",12:1:killed by ?")); /* asked twice, there once */
	o = outcome(12, 1, JOBSTACK_FAILED, -1);
	o.fatal = 1;
	o.reason = reason;
	OK(take_step(w, &o, 1, 350, &b, &report, &e));
	jobstack_batch_free(&b);
	GIVES(JOBSTACK_NOTHING, jobstack_kill(h, "kills", (struct jobstack_held){id, 12, 1}, &e));
	OK(take_step(w, NULL, 0, 0, NULL, &report, &e));
	assert_null(report.kills);
	/* no more than fit; and a recovery kills them all */
	for (uint64_t i = 13; i <= 362; i++)
		many += jobstack_kill(h, "kills", (struct jobstack_held){id, i, 1}, &e) == 0;
	assert_in_range(many, 20, 349);
	seen_seq = 0;
	OK(jobstack_workers(h, "kills", take_worker, NULL, &e));
	OK(jobstack_recover(h, "kills", (struct jobstack_seen){id, seen_seq}, JOBSTACK_CAUSE_WORKER, "the test says so",
			    &taken, &e));
	look("kills");
	assert_true(taken == 361 && st.dead == many + 1 && st.ready == 400 - st.dead);
	GIVES(JOBSTACK_NOTHING, jobstack_kill(h, "kills", (struct jobstack_held){id, 1, 1}, &e));
	f.limit = 2;
	f.states = JOBSTACK_IS_DEAD;
	items_n = 0;
	OK(jobstack_list(h, "kills", &f, take_item, NULL, &e));
	assert_true(items_n == 2 && items[0].entry == 12 && items[1].entry == 13 &&
		    items[1].outcome == JOBSTACK_FAILED);
	jobstack_worker_free(w);
	/* a script's pop gets none */
	OK(jobstack_pop(h, "kills", NULL, 1, &b, &e));
	GIVES(JOBSTACK_NOTHING,
	      jobstack_kill(h, "kills", (struct jobstack_held){b.worker, jobstack_batch_entry(&b, 0)->entry, 2}, &e));
	jobstack_batch_free(&b);
}

static struct jobstack_requeue_result cancelled; /* by the last cancel_those */

/* Cancels of STACK what matches (NULL: anything), in STATES, of the N numbers from FIRST on (N 0: of all). */
static void cancel_those(const char *stack, const char *match, unsigned states, uint64_t first, size_t n)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_cancel_options o = JOBSTACK_CANCEL_OPTIONS_INIT;
	uint64_t *ids = calloc(n + 1, sizeof(*ids));

	for (size_t i = 0; i < n; i++)
		ids[i] = first + i;
	f.match = match;
	f.states = states;
	f.entries = n > 0 ? ids : NULL;
	f.entries_n = n;
	o.note = "given up";
	cancelled = (struct jobstack_requeue_result)JOBSTACK_REQUEUE_RESULT_INIT;
	OK(jobstack_cancel(h, stack, &f, &o, &cancelled, &e));
	free(ids);
	look(stack);
	OK(jobstack_check(h, stack, NULL, NULL, NULL, &e));
}

/* Out of intervals and lists, in both orders, with some popped before; what is left keeps its order. */
static void cancels(void **state)
{
	const unsigned queued = JOBSTACK_IS_READY | JOBSTACK_IS_WAITING;
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	for (push.lifo = 0; push.lifo < 2; push.lifo++) {
		const char *stack = push.lifo ? "out.l" : "out.f";
		uint64_t last = push.lifo ? UINT64_MAX : 0, n = 0;

		push_numbered(stack, &push, 3000);
		OK(jobstack_pop(h, stack, NULL, 10, &b, &e));
		jobstack_batch_free(&b);
		cancel_those(stack, "*7", 0, 0, 0);
		assert_true(cancelled.requeued == 299 && st.cancelled == 299 && st.ready == 2691 && st.running == 10);
		cancel_those(stack, "*7", 0, 0, 0);
		assert_true(cancelled.requeued == 0 && st.cancelled == 299);
		cancel_those(stack, NULL, 0, 1001, 1000); /* of these, 100 are cancelled */
		assert_true(cancelled.requeued == 900 && cancelled.refused == 100 && st.cancelled == 1199);
		cancel_those(stack, "*[24]", queued, 0, 0);
		assert_true(st.cancelled == 1199 + 398 && st.dead == 0);
		for (;;) {
			int got = jobstack_pop(h, stack, NULL, 7, &b, &e);

			if (got == JOBSTACK_NOTHING)
				break;
			OK(got);
			for (size_t i = 0; i < b.count; i++, n++) {
				uint64_t id = jobstack_batch_entry(&b, i)->entry;

				assert_true(push.lifo || id > last);
				last = push.lifo ? last : id;
			}
			assert_true(!push.lifo || jobstack_batch_entry(&b, b.count - 1)->entry < last);
			last = push.lifo ? jobstack_batch_entry(&b, 0)->entry : last;
			jobstack_batch_free(&b);
		}
		assert_int_equal(n, 3000 - 10 - st.cancelled);
		look(stack);
		n = st.cancelled;
		f.states = JOBSTACK_IS_CANCELLED;
		OK(jobstack_set_state(h, stack, JOBSTACK_OPEN, NULL, &e)); /* which does not return them */
		look(stack);
		assert_true(st.cancelled == n && st.ready == 0);
		OK(jobstack_requeue(h, stack, &f, 0, NULL, &e));
		look(stack);
		assert_true(st.cancelled == 0 && st.ready == n);
		OK(jobstack_check(h, stack, NULL, NULL, NULL, &e));
	}
}

/* What waits for a retry keeps its time; dead ones keep their history, and are not failures any more; what runs, was
 * done or is held is refused. */
static void cancels_others(void **state)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_failures_report report = JOBSTACK_FAILURES_REPORT_INIT;
	struct jobstack_outcome o[4];
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	policy.retry_delay_us = INT64_C(3600000000);
	push_numbered("kept", NULL, 6);
	set("kept");
	OK(jobstack_pop(h, "kept", NULL, 5, &b, &e));
	for (uint64_t i = 0; i < 4; i++)
		o[i] = outcome(i + 1, 1, i < 3 ? JOBSTACK_FAILED : JOBSTACK_DONE, i < 3);
	OK(jobstack_close(h, "kept", o, 4, NULL, &e));
	jobstack_batch_free(&b);
	cancel_those("kept", NULL, 0, 2, 5); /* 2 and 3 wait, 4 is done, 5 runs, 6 is ready */
	assert_true(cancelled.requeued == 3 && cancelled.refused == 2);
	assert_true(st.waiting == 1 && st.done == 1 && st.running == 1 && st.cancelled == 3);
	assert_true(st.next_due_us > INT64_C(1800000000));
	list("kept", JOBSTACK_IS_CANCELLED);
	assert_true(items_n == 3 && items[0].entry == 2 && items[0].attempt == 1 && items[2].attempt == 0);
	GIVES(JOBSTACK_EUSAGE, (f.states = JOBSTACK_IS_RUNNING, jobstack_cancel(h, "kept", &f, NULL, NULL, &e)));
	GIVES(JOBSTACK_EMISSING, jobstack_cancel(h, "nowhere", NULL, NULL, NULL, &e));

	make_dead("settled", 5);
	cancel_those("settled", "/d/[24]", JOBSTACK_IS_DEAD, 0, 0);
	assert_true(cancelled.requeued == 2 && st.dead == 3 && st.cancelled == 2);
	OK(jobstack_failures(h, "settled", NULL, NULL, NULL, &report, &e));
	assert_int_equal(report.failures, 3);
	list("settled", JOBSTACK_IS_FAILED);
	assert_int_equal(items_n, 5);
	list("settled", JOBSTACK_IS_FAILED | JOBSTACK_IS_DEAD | JOBSTACK_IS_CANCELLED);
	assert_int_equal(items_n, 5);
	list("settled", 0);
	assert_int_equal(items_n, 5);
	f.states = 0;
	OK(jobstack_requeue(h, "settled", &f, 0, NULL, &e)); /* all dead ones */
	look("settled");
	assert_true(st.ready == 3 && st.cancelled == 2);
	OK(jobstack_set_state(h, "settled", JOBSTACK_CANCELLED, NULL, &e));
	look("settled");
	assert_int_equal(st.cancelled, 5);
	list("settled", JOBSTACK_IS_CANCELLED);
	assert_int_equal(items_n, 5);
}

/* Pops, closes, requeues and other cancels at the same moment: each entry is done or cancelled, once. */
static void cancel_races(void **state)
{
	int status;

	(void)state;
	push_numbered("many", NULL, 2000);
	for (int i = 0; i < 5; i++)
		if (fork() == 0) {
			struct jobstack_requeue_result r = JOBSTACK_REQUEUE_RESULT_INIT;
			struct jobstack_filter f = JOBSTACK_FILTER_INIT;
			struct jobstack_batch b = JOBSTACK_BATCH_INIT;
			struct jobstack_outcome o[7];

			h = open_one();
			f.states = JOBSTACK_IS_CANCELLED;
			f.match = "*5";
			if (i == 2)
				for (int times = 0; times < 5; times++)
					OK(jobstack_requeue(h, "many", &f, 0, &r, &e));
			f.match = i == 3 ? "*[2-5]" : "*[3-6]";
			f.states = 0;
			if (i >= 3)
				OK(jobstack_cancel(h, "many", &f, NULL, &r, &e));
			while (i < 2 && jobstack_pop(h, "many", NULL, 7, &b, &e) == 0) {
				for (size_t k = 0; k < b.count; k++)
					o[k] = outcome(jobstack_batch_entry(&b, k)->entry,
						       jobstack_batch_entry(&b, k)->attempt, JOBSTACK_DONE, 0);
				OK(jobstack_close(h, "many", o, b.count, NULL, &e));
				jobstack_batch_free(&b);
			}
			_exit(0);
		}
	for (int i = 0; i < 5; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	look("many");
	print_message("%d done, %d cancelled\n", (int)st.done, (int)st.cancelled);
	assert_true(st.cancelled > 0 && st.done >= 1000 && st.running == 0 && st.dead == 0);
	OK(jobstack_check(h, "many", NULL, NULL, NULL, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states),  cmocka_unit_test(limit),	     cmocka_unit_test(limit_races),
		cmocka_unit_test(rate),	   cmocka_unit_test(failures),	     cmocka_unit_test(policies),
		cmocka_unit_test(drops),   cmocka_unit_test(drop_races),     cmocka_unit_test(kills),
		cmocka_unit_test(cancels), cmocka_unit_test(cancels_others), cmocka_unit_test(cancel_races)};

	policy = (struct jobstack_policy)JOBSTACK_POLICY_INIT;
	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

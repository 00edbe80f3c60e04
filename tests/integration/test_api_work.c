/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public API against a real server: what leaves a stack, and comes back: scripts, workers, recovery, requeues.  A
 * fresh database a run, with the rights of docs/grants.sql.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include <sys/wait.h>
#include <unistd.h>

static void scripts(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_outcome o, many[2];
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT, c = JOBSTACK_BATCH_INIT;
	int results[2];

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 2;
	policy.retry_delay_us = 0;
	push_numbered("script", &push, 4);
	OK(jobstack_pop(h, "script", NULL, 1, &b, &e));
	assert_true(jobstack_batch_entry(&b, 0)->entry == 1 && jobstack_batch_entry(&b, 0)->attempt == 1);
	OK(jobstack_renew(h, "script", 1, 1, 1000000, &e));
	o = outcome(1, 1, JOBSTACK_DONE, 0);
	OK(jobstack_close(h, "script", &o, 1, NULL, &e));
	OK(jobstack_close(h, "script", &o, 1, NULL, &e)); /* again is harmless */
	o = outcome(1, 1, JOBSTACK_FAILED, 3);
	GIVES(JOBSTACK_NOTHING, jobstack_close(h, "script", &o, 1, NULL, &e));
	assert_non_null(strstr(e.text, "done"));
	GIVES(JOBSTACK_NOTHING, jobstack_renew(h, "script", 1, 1, 0, &e));
	o = outcome(2, 1, JOBSTACK_DONE, 0);
	GIVES(JOBSTACK_EMISSING, jobstack_close(h, "script", &o, 1, NULL, &e));
	assert_non_null(strstr(e.text, "never popped"));
	o = outcome(99, 1, JOBSTACK_DONE, 0);
	REFUSES(JOBSTACK_EMISSING, JOBSTACK_WHY_NO_ENTRY, jobstack_close(h, "script", &o, 1, NULL, &e));
	jobstack_batch_free(&b);
	/* two at once, closed in one call; one fails twice and is dead */
	OK(jobstack_pop(h, "script", NULL, 2, &b, &e));
	assert_true(b.count == 2 && jobstack_batch_entry(&b, 0)->entry == 2);
	many[0] = outcome(2, 1, JOBSTACK_FAILED, 5);
	many[1] = outcome(3, 1, JOBSTACK_DONE, 0);
	OK(jobstack_close(h, "script", many, 2, results, &e));
	assert_true(results[0] == 0 && results[1] == 0);
	jobstack_batch_free(&b);
	OK(jobstack_pop(h, "script", NULL, 1, &b, &e));
	OK(jobstack_pop(h, "script", NULL, 1, &c, &e));
	assert_true(jobstack_batch_entry(&b, 0)->entry + jobstack_batch_entry(&c, 0)->entry == 6);
	o = outcome(2, 2, JOBSTACK_FAILED, 6);
	OK(jobstack_close(h, "script", &o, 1, NULL, &e));
	look("script");
	assert_true(st.dead == 1 && st.done == 2 && st.running == 1);
	list("script", JOBSTACK_IS_DEAD);
	assert_true(items_n == 1 && items[0].exit_code == 6 && items[0].attempt == 2);
	jobstack_batch_free(&b);
	jobstack_batch_free(&c);
	/* one that a worker holds is the worker's to close */
	OK(jobstack_push(h, "script", NULL, "/held", &e));
	OK(jobstack_worker_begin(h, "script", NULL, &w, &e));
	OK(take_step(w, NULL, 0, 1, &b, NULL, &e));
	assert_int_equal(b.count, 1);
	o = outcome(jobstack_batch_entry(&b, 0)->entry, 1, JOBSTACK_DONE, 0);
	GIVES(JOBSTACK_ECONFLICT, jobstack_close(h, "script", &o, 1, NULL, &e));
	OK(jobstack_worker_end(w, &o, 1, JOBSTACK_CAUSE_NONE, "over", &e));
	jobstack_worker_free(w);
	jobstack_batch_free(&b);
	look("script");
	assert_true(st.done == 3);
}

static void worker_steps(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	struct jobstack_outcome o[4];
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_idle idle = JOBSTACK_IDLE_INIT;

	(void)state;
	push.policy = &policy;
	policy.retry_delay_us = 0;
	push_numbered("steps", &push, 10);
	OK(jobstack_worker_begin(h, "steps", NULL, &w, &e));
	OK(take_step(w, NULL, 0, 6, &b, &report, &e));
	assert_true(b.count == 6 && report.state == JOBSTACK_OPEN && report.cwd == NULL);
	o[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	o[1] = outcome(3, 1, JOBSTACK_FAILED, 1);
	o[2] = outcome(5, 1, JOBSTACK_UNSTARTED, -1);
	o[3] = outcome(6, 1, JOBSTACK_INTERRUPTED, -1);
	OK(take_step(w, o, 4, 0, NULL, &report, &e));
	GIVES(JOBSTACK_EUSAGE, take_step(w, o, 1, 0, NULL, NULL, &e)); /* not in its hands any more */
	look("steps");
	assert_true(st.done == 1 && st.waiting == 1 && st.ready == 6 && st.running == 2);
	OK(jobstack_worker_idle(w, &idle, &e));
	assert_true(idle.ready == 6 && idle.running == 0 && idle.eldest && idle.workers == 1 && idle.waiting == 1);
	OK(jobstack_promote(w, &e));
	look("steps");
	assert_true(st.waiting == 0 && st.ready == 7);
	/* a fatal failure is dead at once; what is open at the end goes back */
	o[0] = outcome(2, 1, JOBSTACK_FAILED, 9);
	o[0].fatal = 1;
	OK(jobstack_worker_end(w, o, 1, JOBSTACK_CAUSE_NONE, "enough", &e));
	jobstack_worker_free(w);
	jobstack_batch_free(&b);
	look("steps");
	assert_true(st.dead == 1 && st.done == 1 && st.ready == 8 && st.running == 0 && st.workers == 0);
	list("steps", JOBSTACK_IS_READY);
	assert_int_equal(items_n, 8);
	for (size_t i = 0; i < items_n; i++)
		if (items[i].entry == 3)
			assert_true(items[i].attempt == 1 && items[i].outcome == JOBSTACK_FAILED);
}

static void fence_and_recovery(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_outcome o = outcome(1, 1, JOBSTACK_DONE, 0);
	struct jobstack_worker *w, *other;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT, c = JOBSTACK_BATCH_INIT;
	uint64_t taken;

	(void)state;
	push.policy = &policy;
	policy.max_losses = 2;
	push_numbered("fence", &push, 3);
	OK(jobstack_worker_begin(h, "fence", NULL, &w, &e));
	OK(take_step(w, NULL, 0, 2, &b, NULL, &e));
	OK(jobstack_workers(h, "fence", take_worker, NULL, &e));
	assert_true(seen_worker == jobstack_worker_id(w) && seen_seq == 1);
	GIVES(JOBSTACK_NOTHING, jobstack_recover(h, "fence", (struct jobstack_seen){seen_worker, seen_seq + 1},
						 JOBSTACK_CAUSE_WORKER, "guess", &taken, &e)); /* it moved */
	OK(take_step(w, &o, 1, 0, NULL, NULL, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_recover(h, "fence", (struct jobstack_seen){seen_worker, seen_seq},
						 JOBSTACK_CAUSE_WORKER, "too late", &taken, &e));
	OK(jobstack_recover(h, "fence", (struct jobstack_seen){seen_worker, seen_seq + 1}, JOBSTACK_CAUSE_WORKER,
			    "silent", &taken, &e));
	assert_true(taken == 1);
	GIVES(JOBSTACK_NOTHING, jobstack_recover(h, "fence", (struct jobstack_seen){seen_worker, seen_seq + 1},
						 JOBSTACK_CAUSE_WORKER, "twice", &taken, &e));
	/* the zombie: nothing it does counts */
	o = outcome(2, 1, JOBSTACK_DONE, 0);
	GIVES(JOBSTACK_NOTHING, take_step(w, &o, 1, 1, &c, NULL, &e));
	GIVES(JOBSTACK_NOTHING, take_step(w, NULL, 0, 0, NULL, NULL, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_worker_end(w, &o, 1, JOBSTACK_CAUSE_NONE, "zombie", &e));
	jobstack_worker_free(w);
	jobstack_batch_free(&b);
	look("fence");
	assert_true(st.done == 1 && st.ready == 2 && st.running == 0);
	/* what was lost before comes alone, and is set aside after its second loss */
	OK(jobstack_worker_begin(h, "fence", NULL, &other, &e));
	OK(take_step(other, NULL, 0, 10, &b, NULL, &e));
	assert_true(b.count == 1 && jobstack_batch_entry(&b, 0)->entry == 2 &&
		    jobstack_batch_entry(&b, 0)->attempt == 2 && jobstack_batch_entry(&b, 0)->losses == 1);
	OK(jobstack_recover(h, "fence", (struct jobstack_seen){jobstack_worker_id(other), 1}, JOBSTACK_CAUSE_WORKER,
			    "again", &taken, &e));
	jobstack_worker_free(other);
	jobstack_batch_free(&b);
	look("fence");
	assert_true(st.dead == 1 && st.ready == 1);
	list("fence", JOBSTACK_IS_LOST);
	assert_true(items_n == 1 && items[0].entry == 2 && items[0].attempt == 2);
}

/* What went back unstarted is not the worker's any more, whoever recovers it. */
static void partly_given_back(void **state)
{
	struct jobstack_outcome back[2] = {outcome(3, 1, JOBSTACK_UNSTARTED, -1),
					   outcome(2, 1, JOBSTACK_UNSTARTED, -1)};
	struct jobstack_worker *w, *other;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT, c = JOBSTACK_BATCH_INIT;
	uint64_t taken;

	(void)state;
	push_numbered("part", NULL, 4);
	OK(jobstack_worker_begin(h, "part", NULL, &w, &e));
	OK(take_step(w, NULL, 0, 4, &b, NULL, &e));
	OK(take_step(w, back, 2, 0, NULL, NULL, &e));
	list("part", JOBSTACK_IS_RUNNING);
	assert_true(items_n == 2 && items[0].entry == 1 && items[1].entry == 4);
	OK(jobstack_worker_begin(h, "part", NULL, &other, &e));
	OK(take_step(other, NULL, 0, 4, &c, NULL, &e));
	assert_true(c.count == 2);
	OK(jobstack_recover(h, "part", (struct jobstack_seen){jobstack_worker_id(w), 2}, JOBSTACK_CAUSE_WORKER, "dead",
			    &taken, &e));
	assert_true(taken == 2);
	look("part");
	assert_true(st.ready == 2 && st.running == 2);
	OK(jobstack_worker_end(other, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	look("part");
	assert_true(st.ready == 4 && st.running == 0);
	jobstack_worker_free(w);
	jobstack_worker_free(other);
	jobstack_batch_free(&b);
	jobstack_batch_free(&c);
}

/* The dead with different numbers of attempts all come back. */
static void requeue_mixed(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_filter none = JOBSTACK_FILTER_INIT;
	struct jobstack_requeue_result r = JOBSTACK_REQUEUE_RESULT_INIT;
	uint64_t nothing = 0;

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 1;
	push_numbered("mixed", &push, 7);
	for (int round = 0; round < 2; round++) {
		struct jobstack_batch b = JOBSTACK_BATCH_INIT;

		while (jobstack_pop(h, "mixed", NULL, 1, &b, NULL) == 0) {
			struct jobstack_outcome o = outcome(jobstack_batch_entry(&b, 0)->entry,
							    jobstack_batch_entry(&b, 0)->attempt, JOBSTACK_FAILED, 1);

			OK(jobstack_close(h, "mixed", &o, 1, NULL, &e));
			jobstack_batch_free(&b);
		}
		if (round == 0) { /* every other one gets a second attempt */
			uint64_t odd[] = {1, 3, 5};
			struct jobstack_filter f = JOBSTACK_FILTER_INIT;

			f.states = JOBSTACK_IS_DEAD;
			f.entries = odd;
			f.entries_n = 3;
			OK(jobstack_requeue(h, "mixed", &f, 0, &r, &e));
			assert_true(r.requeued == 3);
		}
	}
	look("mixed");
	assert_true(st.dead == 7);
	none.entries = &nothing;
	OK(jobstack_requeue(h, "mixed", &none, 0, &r, &e)); /* an empty list is nobody, not everybody */
	assert_true(r.requeued == 0);
	OK(jobstack_requeue(h, "mixed", NULL, 0, &r, &e));
	assert_true(r.requeued == 7);
	look("mixed");
	assert_true(st.dead == 0 && st.ready == 7);
}

/* Entries 1, 3, 5, 7 and 9 of STACK, scattered, K at a time through a worker: they come in the stack's order, with
 * their names. */
/* What the attempts of a listing have of their stderr. */
struct tails {
	size_t n, with, bytes, longest;
	int bad;
	int64_t err_at;
	char err_log[64];
};

static int take_tail(void *ctx, const struct jobstack_item *i)
{
	struct tails *t = ctx;
	const char *tail = i->err_tail.data;

	t->n++;
	t->with += tail != NULL;
	t->bytes += i->err_tail.len;
	t->longest = i->err_tail.len > t->longest ? i->err_tail.len : t->longest;
	t->bad |= tail != NULL && (i->err_tail.len == 0 || tail[i->err_tail.len - 1] != 'z');
	t->err_at = i->err_at;
	(void)snprintf(t->err_log, sizeof(t->err_log), "%s", i->err_log == NULL ? "-" : i->err_log);
	return 0;
}

/* The ends of stderr: a whole one, none, and so many in one step that each is shortened. */
static void err_tails(void **state)
{
	static struct jobstack_outcome o[JOBSTACK_POP_MAX];
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_filter f = {.size = sizeof(f), .states = JOBSTACK_IS_DEAD};
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct tails t = {.n = 0};
	char tail[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(tail); i++)
		tail[i] = (char)i; /* any bytes */
	tail[sizeof(tail) - 1] = 'z';
	push.policy = &policy;
	policy.max_attempts = 1;
	push_numbered("tails", &push, 3 + JOBSTACK_POP_MAX);
	OK(jobstack_worker_begin(h, "tails", NULL, &w, &e));
	OK(take_step(w, NULL, 0, 3, &b, NULL, &e));
	jobstack_batch_free(&b);
	for (size_t i = 0; i < 3; i++)
		o[i] = outcome(i + 1, 1, i == 2 ? JOBSTACK_DONE : JOBSTACK_FAILED, 1);
	o[0].err_tail = (struct jobstack_bytes){tail, sizeof(tail)};
	o[1].log_at = 5;
	o[1].err_log = "/own/err";
	o[1].err_at = 7;
	OK(take_step(w, o, 3, 0, NULL, NULL, &e));
	OK(jobstack_list(h, "tails", &f, take_tail, &t, &e));
	assert_true(t.n == 2 && t.with == 0); /* not asked for */
	assert_string_equal(t.err_log, "/own/err");
	assert_int_equal(t.err_at, 7);
	f.tails = 1;
	t = (struct tails){.n = 0};
	OK(jobstack_list(h, "tails", &f, take_tail, &t, &e));
	assert_true(t.n == 2 && t.with == 1 && t.bytes == JOBSTACK_ERR_TAIL_MAX && !t.bad);
	t = (struct tails){.n = 0};
	OK(jobstack_attempts(h, "tails", 1, take_tail, &t, &e));
	assert_true(t.with == 1 && t.bytes == JOBSTACK_ERR_TAIL_MAX && t.err_at == -1);
	OK(take_step(w, NULL, 0, JOBSTACK_POP_MAX, &b, NULL, &e));
	assert_int_equal(b.count, JOBSTACK_POP_MAX);
	for (size_t i = 0; i < b.count; i++) {
		o[i] = outcome(jobstack_batch_entry(&b, i)->entry, 1, JOBSTACK_FAILED, 1);
		o[i].err_tail = (struct jobstack_bytes){tail, sizeof(tail)};
	}
	OK(take_step(w, o, b.count, 0, NULL, NULL, &e));
	jobstack_batch_free(&b);
	t = (struct tails){.n = 0};
	OK(jobstack_list(h, "tails", &f, take_tail, &t, &e));
	assert_true(t.n == 2 + JOBSTACK_POP_MAX && t.with == 1 + JOBSTACK_POP_MAX && !t.bad);
	assert_true(t.bytes <= 512 * 1024 + JOBSTACK_ERR_TAIL_MAX && t.bytes >= 500 * 1024);
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, "enough", &e));
	jobstack_worker_free(w);
	look("tails");
}

static void scattered(const char *stack, int lifo, size_t k)
{
	static const uint64_t order[2][3][5] = {{{1, 3, 5, 7, 9}, {1, 3, 5, 7, 9}, {1, 3, 5, 7, 9}},
						{{9, 7, 5, 3, 1}, {7, 9, 3, 5, 1}, {5, 7, 9, 1, 3}}};
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_outcome o[9];
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	struct jobstack_worker *w;
	size_t seen = 0, n = 0;

	push.policy = &policy;
	policy.max_attempts = 1;
	push.lifo = lifo;
	push_numbered(stack, &push, 9);
	OK(jobstack_pop(h, stack, NULL, 9, &b, &e));
	for (uint64_t i = 0; i < 9; i++)
		o[i] = outcome(i + 1, 1, i % 2 == 0 ? JOBSTACK_FAILED : JOBSTACK_DONE, i % 2 == 0);
	OK(jobstack_close(h, stack, o, 9, NULL, &e));
	jobstack_batch_free(&b);
	OK(jobstack_requeue(h, stack, NULL, 0, NULL, &e));
	OK(jobstack_worker_begin(h, stack, NULL, &w, &e));
	do {
		OK(take_step(w, o, n, k, &b, NULL, &e));
		n = b.count;
		for (size_t i = 0; i < n; i++, seen++) {
			char name[16];

			assert_true(seen < 5);
			assert_int_equal(jobstack_batch_entry(&b, i)->entry, order[lifo][k - 1][seen]);
			assert_int_equal(jobstack_batch_entry(&b, i)->attempt, 2);
			(void)snprintf(name, sizeof(name), "/d/%u", (unsigned)jobstack_batch_entry(&b, i)->entry);
			assert_string_equal(jobstack_batch_entry(&b, i)->datapath, name);
			o[i] = outcome(jobstack_batch_entry(&b, i)->entry, 2, JOBSTACK_DONE, 0);
		}
		jobstack_batch_free(&b);
	} while (n > 0);
	assert_int_equal(seen, 5);
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	look(stack);
	assert_true(st.done == 9);
}

static void lists(void **state)
{
	(void)state;
	for (int lifo = 0; lifo < 2; lifo++)
		for (size_t k = 1; k <= 3; k++) {
			char stack[16];

			(void)snprintf(stack, sizeof(stack), "list-%d-%zu", lifo, k);
			scattered(stack, lifo, k);
		}
}

static void requeues(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_requeue_result r = JOBSTACK_REQUEUE_RESULT_INIT;
	struct jobstack_outcome o[9];
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	uint64_t some[] = {2, 9, 77};

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 1;
	push_numbered("req", &push, 9);
	OK(jobstack_pop(h, "req", NULL, 8, &b, &e));
	for (uint64_t i = 0; i < 8; i++)
		o[i] = outcome(i + 1, 1, i % 2 == 0 ? JOBSTACK_FAILED : JOBSTACK_DONE, i % 2 == 0);
	OK(jobstack_close(h, "req", o, 8, NULL, &e));
	jobstack_batch_free(&b);
	look("req");
	assert_true(st.dead == 4 && st.done == 4 && st.ready == 1);
	OK(jobstack_requeue(h, "req", NULL, 1, &r, &e)); /* a dry run */
	assert_true(r.requeued == 4);
	look("req");
	assert_true(st.dead == 4);
	OK(jobstack_requeue(h, "req", NULL, 0, &r, &e));
	assert_true(r.requeued == 4);
	OK(jobstack_requeue(h, "req", NULL, 0, &r, &e));
	assert_true(r.requeued == 0);
	f.entries = some;
	f.entries_n = 3;
	OK(jobstack_requeue(h, "req", &f, 0, &r, &e)); /* a done one, one in line, one that is not there */
	assert_true(r.requeued == 1 && r.refused == 1 && r.missing == 1);
	look("req");
	assert_true(st.dead == 0 && st.done == 3 && st.ready == 6);
	OK(jobstack_pop(h, "req", NULL, 9, &b,
			&e)); /* the lists that came back: 1,3,5,7 at rank and pos of their own */
	assert_true(jobstack_batch_entry(&b, 0)->attempt == 2 || jobstack_batch_entry(&b, 0)->entry == 9);
	jobstack_batch_free(&b);
	REFUSES(JOBSTACK_EMISSING, JOBSTACK_WHY_NO_ENTRY, jobstack_attempts(h, "req", 77, take_item, NULL, &e));
	items_n = 0;
	OK(jobstack_attempts(h, "req", 1, take_item, NULL, &e));
	assert_true(items_n >= 1 && items[0].outcome == JOBSTACK_FAILED);
}

/* What a worker that still lives has done or given up is requeued: the stack's own counts are below zero then.  Whoever
 * closes or ends is not to be taken for one that was given up. */
static void requeue_below_zero(void **state)
{
	static const enum jobstack_verdict verdicts[] = {JOBSTACK_DONE, JOBSTACK_FAILED};
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_requeue_result r = JOBSTACK_REQUEUE_RESULT_INIT;
	struct jobstack_outcome o[6];
	struct jobstack_batch b = JOBSTACK_BATCH_INIT, c = JOBSTACK_BATCH_INIT;
	struct jobstack_worker *w, *dead;

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 1;
	for (int i = 0; i < 2; i++) {
		const char *stack = i == 0 ? "below-done" : "below-dead";
		struct jobstack_filter f = JOBSTACK_FILTER_INIT;

		push_numbered(stack, &push, 8);
		OK(jobstack_worker_begin(h, stack, NULL, &w, &e));
		OK(jobstack_worker_begin(h, stack, NULL, &dead, &e));
		OK(take_step(w, NULL, 0, 6, &b, NULL, &e));
		for (size_t j = 0; j < 6; j++)
			o[j] = outcome(jobstack_batch_entry(&b, j)->entry, 1, verdicts[i], i);
		jobstack_batch_free(&b);
		OK(take_step(w, o, 6, 0, NULL, NULL, &e));
		f.states = i == 0 ? JOBSTACK_IS_DONE : JOBSTACK_IS_DEAD;
		OK(jobstack_requeue(h, stack, &f, 0, &r, &e));
		assert_true(r.requeued == 6);
		OK(take_step(dead, NULL, 0, 1, &c, NULL, &e));
		jobstack_batch_free(&c);
		OK(jobstack_pop(h, stack, NULL, 1, &b, &e));
		o[0] = outcome(jobstack_batch_entry(&b, 0)->entry, jobstack_batch_entry(&b, 0)->attempt, JOBSTACK_DONE,
			       0);
		OK(jobstack_close(h, stack, o, 1, NULL, &e));
		jobstack_batch_free(&b);
		OK(jobstack_recover(h, stack, (struct jobstack_seen){jobstack_worker_id(dead), 1},
				    JOBSTACK_CAUSE_WORKER, "gone", NULL, &e));
		OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, "over", &e));
		look(stack);
		assert_true(st.done == 1 && st.dead == 0 && st.ready == 7 && st.workers == 0);
		jobstack_worker_free(dead);
		jobstack_worker_free(w);
	}
}

/* Eight requeue the same dead at once: each entry goes back once. */
static void requeue_races(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_outcome o[300];
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 1;
	push_numbered("rr", &push, 300);
	OK(jobstack_pop(h, "rr", NULL, 300, &b, &e));
	for (uint64_t i = 0; i < 300; i++)
		o[i] = outcome(i + 1, 1, JOBSTACK_FAILED, 1);
	OK(jobstack_close(h, "rr", o, 300, NULL, &e));
	jobstack_batch_free(&b);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			struct jobstack *mine = open_one();
			int status = jobstack_requeue(mine, "rr", NULL, 0, NULL, NULL);

			jobstack_free(mine);
			_exit(status == 0 ? 0 : 1);
		}
	for (int i = 0; i < 8; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	look("rr");
	assert_true(st.ready == 300 && st.dead == 0);
}

/* Twenty processes drain one stack, each entry by one of them. */
static void many_poppers(void **state)
{
	enum { N = 3000, P = 20 };

	(void)state;
	push_numbered("many", NULL, N);
	for (int i = 0; i < P; i++)
		if (fork() == 0) {
			struct jobstack_outcome o[37];
			struct jobstack_worker *w;
			struct jobstack_batch b = JOBSTACK_BATCH_INIT;
			size_t n = 0;

			h = open_one();
			OK(jobstack_worker_begin(h, "many", NULL, &w, &e));
			do {
				OK(take_step(w, o, n, 37, &b, NULL, &e));
				n = b.count;
				for (size_t k = 0; k < n; k++)
					o[k] = outcome(jobstack_batch_entry(&b, k)->entry,
						       jobstack_batch_entry(&b, k)->attempt, JOBSTACK_DONE, 0);
				jobstack_batch_free(&b);
			} while (n > 0);
			OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
			jobstack_worker_free(w);
			jobstack_free(h);
			_exit(0);
		}
	for (int i = 0; i < P; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	look("many");
	assert_true(st.done == N && st.ready == 0 && st.running == 0 && st.workers == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(scripts),
					   cmocka_unit_test(worker_steps),
					   cmocka_unit_test(fence_and_recovery),
					   cmocka_unit_test(partly_given_back),
					   cmocka_unit_test(err_tails),
					   cmocka_unit_test(requeue_mixed),
					   cmocka_unit_test(lists),
					   cmocka_unit_test(requeues),
					   cmocka_unit_test(requeue_below_zero),
					   cmocka_unit_test(requeue_races),
					   cmocka_unit_test(many_poppers)};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

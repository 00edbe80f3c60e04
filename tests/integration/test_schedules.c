/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules that broke earlier drafts of the protocol, with real sessions that are held at the critical point:
 * recovery, close, requeue, pop, promote, the states of a stack, a long snapshot.  After each the ledger is proven.
 */
#define _GNU_SOURCE
#include "integration/schedule.h"

#include <unistd.h>

/* ------------------------------------------------------------------------------------------------------ recovery */

/* Two recover one worker at once.  One waits for the other; then it finds that nothing is left to do. */
static void two_recoveries(void **state)
{
	struct rival w, a, b;

	(void)state;
	push_numbered("two", NULL, 8);
	w = rival_worker("two", 5);
	a = rival_recover(&w);
	b = rival_recover(&w);
	hold_attempt("two", 3,
		     1); /* the first holds the lock of the dead worker's row, and is about to write its losses */
	start(&a, do_recover);
	until_waiting(1);
	start(&b, do_recover);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&b, JOBSTACK_NOTHING);
	assert_true(a.taken == 5 && b.taken == 0);
	audit("two", 8, 0, 0, 0);
	over(&a);
	over(&b);
	over(&w);
}

/* The same with both at the very start of their transactions: both have read what the dead worker holds. */
static void two_recoveries_abreast(void **state)
{
	struct rival w, a, b;

	(void)state;
	push_numbered("abreast", NULL, 8);
	w = rival_worker("abreast", 5);
	a = rival_recover(&w);
	b = rival_recover(&w);
	hold("stack WHERE name='abreast'");
	start(&a, do_recover);
	start(&b, do_recover);
	until_waiting(2);
	release();
	ENDS(&a, a.status == 0 ? 0 : JOBSTACK_NOTHING);
	ENDS(&b, a.status == 0 ? JOBSTACK_NOTHING : 0);
	assert_true(a.taken + b.taken == 5);
	audit("abreast", 8, 0, 0, 0);
	over(&a);
	over(&b);
	over(&w);
}

/* A worker is given up while it is idle; then it wakes and pops.  It gets nothing, so nothing can be lost with it. */
static void idle_given_up_and_pops(void **state)
{
	struct rival w, a;

	(void)state;
	push_numbered("idle", NULL, 4);
	w = rival_worker("idle", 0);
	a = rival_recover(&w);
	OK(do_recover(&a));
	w.k = 4;
	GIVES(JOBSTACK_NOTHING, do_step(&w));
	assert_true(w.batch.count == 0);
	audit("idle", 4, 0, 0, 0);
	over(&a);
	over(&w);
}

/* It wakes at the same moment, and its pop comes first: then it lives, and who wanted to give it up is told that it
 * moved. */
static void idle_pops_while_given_up(void **state)
{
	struct rival w, a;

	(void)state;
	push_numbered("wakes", NULL, 4);
	w = rival_worker("wakes", 0);
	a = rival_recover(&w);
	hold_claim("wakes", w.id, 1); /* its pop has passed the fence, and is about to write its claim */
	w.k = 3;
	start(&w, do_step);
	until_waiting(1);
	start(&a, do_recover);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	ENDS(&a, JOBSTACK_NOTHING);
	assert_true(w.batch.count == 3 && a.taken == 0);
	audit("wakes", 1, 3, 0, 0);
	/* now it is given up for good, and what it popped comes back */
	a.seq = 1;
	OK(do_recover(&a));
	assert_true(a.taken == 3);
	audit("wakes", 4, 0, 0, 0);
	over(&a);
	over(&w);
}

/* A worker closes while it is being given up.  Its close comes first: it counts, and the recovery finds
 * that it moved. */
static void close_before_recovery(void **state)
{
	struct rival w, a;

	(void)state;
	push_numbered("first", NULL, 3);
	w = rival_worker("first", 3);
	a = rival_recover(&w);
	hold_attempt("first", 2, 1);
	w.outcome[0] = outcome(2, 1, JOBSTACK_DONE, 0);
	w.n = 1;
	start(&w, do_step);
	until_waiting(1);
	start(&a, do_recover);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	ENDS(&a, JOBSTACK_NOTHING);
	audit("first", 0, 2, 1, 0);
	over(&a);
	over(&w);
}

/* The recovery comes first: the close changes nothing, and the worker learns that its lease is gone. */
static void recovery_before_close(void **state)
{
	struct rival w, a;

	(void)state;
	push_numbered("second", NULL, 3);
	w = rival_worker("second", 3);
	a = rival_recover(&w);
	hold_attempt("second", 3, 1);
	start(&a, do_recover);
	until_waiting(1);
	w.outcome[0] = outcome(2, 1, JOBSTACK_DONE, 0);
	w.n = 1;
	w.k = 3;
	start(&w, do_step);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&w, JOBSTACK_NOTHING);
	assert_true(a.taken == 3 && w.batch.count == 0);
	audit("second", 3, 0, 0, 0);
	assert_true(sql(holder, "SELECT COUNT(*) FROM attempt WHERE stack_id=%" PRIu64 " AND outcome=2",
			id_of("second")) == 3);
	GIVES(JOBSTACK_NOTHING, do_end(&w)); /* and it stays so */
	audit("second", 3, 0, 0, 0);
	over(&a);
	over(&w);
}

/* A script's close against a recovery, in both orders; and against another close of what the same pop gave. */
static void scripts_close(void **state)
{
	struct rival c, a, d;

	(void)state;
	push_numbered("script", NULL, 4);
	c = rival("script");
	d = rival("script");
	c.k = 2;
	OK(do_pop(&c));
	c.id = c.batch.worker;
	a = rival_recover(&c);
	c.n = d.n = 1;
	c.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	d.outcome[0] = outcome(2, 1, JOBSTACK_DONE, 0);
	hold_attempt("script", 1, 1);
	start(&c, do_close);
	until_waiting(1);
	start(&d, do_close);
	until_waiting(2);
	start(&a, do_recover);
	until_waiting(3);
	release();
	ENDS(&c, 0);
	ENDS(&d, 0);
	ENDS(&a, JOBSTACK_NOTHING);
	audit("script", 2, 0, 2, 0);
	jobstack_batch_free(&c.batch);
	OK(do_pop(&c));
	over(&a);
	c.id = c.batch.worker;
	a = rival_recover(&c);
	c.outcome[0] = outcome(3, 1, JOBSTACK_DONE, 0);
	hold_attempt("script", 4, 1);
	start(&a, do_recover);
	until_waiting(1);
	start(&c, do_close);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&c, JOBSTACK_NOTHING);
	assert_non_null(strstr(c.error.text, "lost"));
	audit("script", 2, 0, 2, 0);
	over(&a);
	over(&c);
	over(&d);
}

/* A recovery and the end of the worker itself. */
static void end_and_recovery(void **state)
{
	struct rival w, a;

	(void)state;
	push_numbered("end", NULL, 3);
	w = rival_worker("end", 3);
	a = rival_recover(&w);
	hold_attempt("end", 1, 1);
	w.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	w.n = 1;
	start(&w, do_end);
	until_waiting(1);
	start(&a, do_recover);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	ENDS(&a, JOBSTACK_NOTHING);
	audit("end", 2, 0, 1, 0);
	over(&a);
	over(&w);
}

/* ------------------------------------------------------------------------------------------------------ requeues */

/* Two requeue one entry: a dead one, then a done one. */
static void two_requeues(void **state)
{
	struct jobstack_outcome o = outcome(2, 2, JOBSTACK_DONE, 0);
	struct rival a, b;

	(void)state;
	make_dead("re", 3);
	a = rival("re");
	b = rival("re");
	hold("set_aside WHERE stack_id=%" PRIu64 " AND entry_id=2", id_of("re"));
	start(&a, do_requeue);
	until_waiting(1);
	start(&b, do_requeue);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&b, 0);
	assert_true(a.requeued.requeued == 3 && b.requeued.requeued == 0);
	audit("re", 3, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		OK(jobstack_pop(h, "re", NULL, 1, &a.batch, &e));
		jobstack_batch_free(&a.batch);
	}
	OK(jobstack_close(h, "re", &o, 1, NULL, &e));
	a.filter.states = b.filter.states = JOBSTACK_IS_DONE;
	hold("attempt WHERE stack_id=%" PRIu64 " AND entry_id=2 AND attempt=2", id_of("re"));
	start(&a, do_requeue);
	until_waiting(1);
	start(&b, do_requeue);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&b, 0);
	assert_true(a.requeued.requeued == 1 && b.requeued.requeued == 0);
	audit("re", 2, 1, 0, 0);
	over(&a);
	over(&b);
}

/* A requeue meets a pop that has cut its span and not yet committed; and a pop meets a requeue that is about to put its
 * entries in line.  Nobody gets an entry twice. */
static void requeue_and_pop(void **state)
{
	struct rival w, a;

	(void)state;
	make_dead("rp", 3);
	push_numbered("rp", NULL, 3); /* 4 to 6 are in line */
	w = rival_worker("rp", 0);
	a = rival("rp");
	w.k = 2;
	hold_claim("rp", w.id, 1);
	start(&w, do_step);
	until_waiting(1);
	OK(do_requeue(&a)); /* waits for nobody */
	assert_true(a.requeued.requeued == 3);
	release();
	ENDS(&w, 0);
	assert_true(w.batch.count == 2 && jobstack_batch_entry(&w.batch, 0)->entry == 4);
	audit("rp", 4, 2, 0, 0);
	jobstack_batch_free(&w.batch);
	w.outcome[0] = outcome(4, 1, JOBSTACK_FAILED, 1);
	w.outcome[1] = outcome(5, 1, JOBSTACK_FAILED, 1);
	w.n = 2;
	w.k = 0;
	OK(do_step(&w));			/* 4 and 5 are dead; 6, and 1 to 3, are in line */
	(void)sql(holder, "START TRANSACTION"); /* the place that 4 and 5 will take in line */
	(void)sql(holder, "INSERT INTO span(" SPAN_COLUMNS ") VALUES(%" PRIu64 ",0,0,5,4,5,NULL,2,0,0,NULL,NULL)",
		  id_of("rp"));
	start(&a, do_requeue);
	until_waiting(1);
	w.n = 0;
	w.k = 3;
	OK(do_step(&w)); /* what is first in line, as if there were no requeue */
	assert_true(w.batch.count == 3 && jobstack_batch_entry(&w.batch, 0)->entry == 1);
	jobstack_batch_free(&w.batch);
	start(&w, do_step); /* and now it comes to the place that is being taken */
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&w, 0);
	assert_true(a.requeued.requeued == 2);
	/* it came before the requeue was committed, and got 6; or after it, and got 4 and 5 */
	assert_true((w.batch.count == 1 && jobstack_batch_entry(&w.batch, 0)->entry == 6) ||
		    (w.batch.count == 2 && jobstack_batch_entry(&w.batch, 0)->entry == 4));
	audit("rp", 3 - w.batch.count, 3 + w.batch.count, 0, 0);
	over(&a);
	over(&w);
}

/* ------------------------------------------------------------------------------------------------------------
 * promotion */

/* Two promote at once while others pop; each waiting entry becomes ready once. */
static void promote_and_pop(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct rival w, v, s;

	(void)state;
	push.policy = &policy;
	policy.retry_delay_us = 0;
	push_numbered("due", &push, 6);
	w = rival_worker("due", 6);
	v = rival_worker("due", 0);
	s = rival("due");
	for (uint64_t i = 0; i < 3; i++) { /* one span each: 1, 2, 3 */
		w.outcome[0] = outcome(i + 1, 1, JOBSTACK_FAILED, 1);
		w.n = 1;
		OK(do_step(&w));
	}
	assert_true(sql(holder, "SELECT COUNT(*) FROM span WHERE stack_id=%" PRIu64 " AND class=1", id_of("due")) == 3);
	hold("span FORCE INDEX(PRIMARY) WHERE stack_id=%" PRIu64 " AND class=1 AND pos=2", id_of("due"));
	start(&w, do_promote);
	until_waiting(1);
	s.k = v.k = 6;
	start(&s, do_pop); /* a script's pop promotes by itself */
	until_waiting(2);
	OK(do_step(&v)); /* a worker's does not wait for them: nothing is ready for it yet */
	assert_true(v.batch.count == 0);
	release();
	ENDS(&w, 0);
	ENDS(&s, 0);
	assert_true(s.batch.count == 1);
	for (size_t i = 0; i < 2; i++) {
		OK(do_step(&v));
		assert_true(v.batch.count == 1 && jobstack_batch_entry(&v.batch, 0)->attempt == 2);
		jobstack_batch_free(&v.batch);
	}
	OK(do_step(&v));
	assert_true(v.batch.count == 0);
	audit("due", 0, 6, 0, 0);
	over(&w);
	over(&v);
	over(&s);
}

/* A promotion while a pop holds the span that is first in line. */
static void promote_under_a_pop(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct rival w, v;

	(void)state;
	push.policy = &policy;
	policy.retry_delay_us = 0;
	push_numbered("under", &push, 4);
	w = rival_worker("under", 2);
	v = rival_worker("under", 0);
	w.outcome[0] = outcome(1, 1, JOBSTACK_FAILED, 1);
	w.n = 1;
	OK(do_step(&w));
	hold_claim("under", v.id, 1);
	v.k = 1;
	start(&v, do_step); /* it has 3 4 locked, and takes 3 */
	until_waiting(1);
	OK(do_promote(&w)); /* 1 goes before them */
	release();
	ENDS(&v, 0);
	assert_true(v.batch.count == 1 && jobstack_batch_entry(&v.batch, 0)->entry == 3);
	jobstack_batch_free(&v.batch);
	OK(do_step(&v));
	assert_true(v.batch.count == 1 && jobstack_batch_entry(&v.batch, 0)->entry == 1 &&
		    jobstack_batch_entry(&v.batch, 0)->attempt == 2);
	audit("under", 1, 3, 0, 0);
	over(&w);
	over(&v);
}

/* --------------------------------------------------------------------------------------------- states of a stack */

/* Paused or cancelled under a running worker: what it holds can be closed in every way, nothing new is handed out, to
 * nobody, and what goes back stays.  (Nothing is dropped while something runs.) */
static void states_under_work(void **state)
{
	static const char *const name[] = {NULL, "paused", "cancelled"};

	(void)state;
	for (unsigned s = JOBSTACK_PAUSED; s <= JOBSTACK_CANCELLED; s++) {
		struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
		struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
		struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
		struct rival w, v, p;
		int pushes = s == JOBSTACK_PAUSED ? 0 : JOBSTACK_ECONFLICT;

		push.policy = &policy;
		policy.retry_delay_us = 0;
		push_numbered(name[s], &push, 20);
		w = rival_worker(name[s], 6);
		v = rival_worker(name[s], 2);
		p = rival(name[s]);
		p.k = 2;
		OK(do_pop(&p));
		(void)sql(holder, "UPDATE stack SET state=%u WHERE name='%s'", s, name[s]);
		w.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
		w.outcome[1] = outcome(2, 1, JOBSTACK_FAILED, 1);
		w.outcome[2] = outcome(3, 1, JOBSTACK_INTERRUPTED, -1);
		w.outcome[3] = outcome(4, 1, JOBSTACK_UNSTARTED, -1);
		OK(take_step(w.worker, w.outcome, 4, 5, &w.batch, &report, &e));
		assert_true(w.batch.count == 0 && (unsigned)report.state == s);
		OK(do_promote(&w));
		OK(take_step(v.worker, NULL, 0, 5, &v.batch, NULL, &e));
		assert_true(v.batch.count == 0);
		p.outcome[0] = outcome(9, 1, JOBSTACK_DONE, 0);
		p.outcome[1] = outcome(10, 1, JOBSTACK_FAILED, 1);
		p.n = 2;
		OK(do_renew(&p));
		OK(do_close(&p));
		jobstack_batch_free(&p.batch);
		GIVES(JOBSTACK_NOTHING, do_pop(&p));
		GIVES(pushes, jobstack_push(p.handle, name[s], NULL, "/more", &e));
		if (pushes != 0)
			GIVES(pushes, do_requeue(&p));
		audit(name[s], 14 + (pushes == 0), 4, 2, 0);
		w.outcome[0] = outcome(5, 1, JOBSTACK_FAILED, 1);
		w.outcome[0].fatal = 1;
		w.n = 1;
		OK(do_end(&w));
		OK(jobstack_recover(h, name[s], (struct jobstack_seen){v.id, 2}, JOBSTACK_CAUSE_WORKER, "gone",
				    &v.taken, &e));
		assert_true(v.taken == 2);
		audit(name[s], 17 + (pushes == 0), 0, 2, 1);
		over(&w);
		over(&v);
		over(&p);
	}
}

/* The state changes while a pop is under way.  A pop that had begun before may still get its entries; the next one does
 * not. */
static void state_while_popping(void **state)
{
	struct rival w;

	(void)state;
	push_numbered("late", NULL, 5);
	w = rival_worker("late", 0);
	hold("span WHERE stack_id=%" PRIu64 " AND class=0", id_of("late"));
	w.k = 2;
	start(&w, do_step); /* it has read that the stack is open */
	until_waiting(1);
	(void)sql(observer, "UPDATE %s.stack SET state=2 WHERE name='late'", database());
	release();
	ENDS(&w, 0);
	assert_true(w.batch.count == 2);
	jobstack_batch_free(&w.batch);
	OK(do_step(&w));
	assert_true(w.batch.count == 0);
	audit("late", 3, 2, 0, 0);
	over(&w);
}

/* -------------------------------------------------------------------------------------------------------- a long
 * snapshot */

/* Steps through N entries of a stack, one a step; entries a second. */
static double drain(const char *stack, size_t n)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	int64_t from = jobstack_now_us();
	size_t open = 0;

	OK(jobstack_worker_begin(h, stack, NULL, &w, &e));
	for (size_t i = 0; i <= n; i++) {
		OK(take_step(w, &o, open, 1, &b, NULL, &e));
		open = b.count;
		assert_true(b.count == (i < n));
		if (open > 0)
			o = outcome(jobstack_batch_entry(&b, 0)->entry, 1,
				    i % 10 == 9 ? JOBSTACK_FAILED : JOBSTACK_DONE, i % 10 == 9);
		jobstack_batch_free(&b);
	}
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	return (double)n * 1e6 / (double)(jobstack_now_us() - from);
}

/* Somebody reads for long in one snapshot, so that no old row version can be purged; thousands of pops
 * go on correctly. */
static void long_snapshot(void **state)
{
	enum { N = 3000 };
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	MYSQL *reader = plain(0);
	double without, with;
	uint64_t seen;

	(void)state;
	push.policy = &policy;
	policy.max_attempts = 1;
	push_numbered("short", &push, N);
	push_numbered("long", &push, N);
	without = drain("short", N);
	(void)sql(reader, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
	(void)sql(reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
	seen = sql(reader, "SELECT SUM(hi-lo+1) FROM span");
	with = drain("long", N);
	assert_true(sql(reader, "SELECT SUM(hi-lo+1) FROM span") == seen); /* it still sees what was */
	audit("long", 0, 0, N - N / 10, N / 10);
	(void)sql(reader, "COMMIT");
	mysql_close(reader);
	audit("short", 0, 0, N - N / 10, N / 10);
	print_message("# one by one: %.0f entries/s, under a snapshot as old as the queue %.0f entries/s\n", without,
		      with);
}

int main(void)
{
	const struct CMUnitTest tests[] = {SCHEDULE(two_recoveries),	     SCHEDULE(two_recoveries_abreast),
					   SCHEDULE(idle_given_up_and_pops), SCHEDULE(idle_pops_while_given_up),
					   SCHEDULE(close_before_recovery),  SCHEDULE(recovery_before_close),
					   SCHEDULE(scripts_close),	     SCHEDULE(end_and_recovery),
					   SCHEDULE(two_requeues),	     SCHEDULE(requeue_and_pop),
					   SCHEDULE(promote_and_pop),	     SCHEDULE(promote_under_a_pop),
					   SCHEDULE(states_under_work),	     SCHEDULE(state_while_popping),
					   SCHEDULE(long_snapshot)};

	return cmocka_run_group_tests(tests, schedule_setup, schedule_teardown);
}

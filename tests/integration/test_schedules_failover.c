/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules of clients that freeze, and of a server that comes back with an earlier state: a failover that lost the
 * last commits.  After each the ledger is proven.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

/* -------------------------------------------------------------------------------------------------------- frozen
 * clients */

/* Waits until no session of the test's database is in a transaction that holds anything.  One whose commit others see
 * is listed for a moment yet; what a frozen client holds would be listed until it thaws. */
static void until_none_holds(void)
{
	until_transactions(0, "t.trx_rows_locked+t.trx_rows_modified>0", "hold something");
}

/* While somebody is frozen: no transaction holds anything, and others push, pop, close and requeue.  (What was held
 * would be held until the thaw, which comes after this: they would never get through.) */
static void others_work(const char *stack)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	struct rival w = rival_worker(stack, 0);
	int64_t from;

	until_none_holds();
	from = jobstack_now_us();
	push_numbered(stack, NULL, 10);
	OK(take_step(w.worker, NULL, 0, 2, &w.batch, NULL, &e));
	assert_true(w.batch.count == 2);
	o = outcome(jobstack_batch_entry(&w.batch, 0)->entry, 1, JOBSTACK_DONE, 0);
	OK(jobstack_worker_end(w.worker, &o, 1, JOBSTACK_CAUSE_NONE, NULL, &e));
	OK(jobstack_requeue(h, stack, NULL, 0, NULL, &e));
	print_message("# %s: others needed %" PRId64 " ms\n", stack, (jobstack_now_us() - from) / 1000);
	over(&w);
}

/* A client freezes in the middle of sending a step. */
static void frozen_sending(void **state)
{
	struct rival r;

	(void)state;
	push_numbered("sending", NULL, 6);
	r = distant(&between, "sending");
	OK(do_begin(&r));
	r.k = 6;
	proxy_arm(&between, PROXY_KEEP, 0);
	start(&r, do_step);
	proxy_caught(&between);
	proxy_forward_half(&between);
	others_work("sending");
	proxy_resume(&between); /* it thaws */
	ENDS(&r, 0);
	audit("sending", 15 - r.batch.count, r.batch.count, 1, 0);
	over(&r);
}

/* A client freezes when it has sent its step: it does not read the answer, which is too long for the
 * network to hold. */
static void frozen_reading(void **state)
{
	enum { N = 500 };
	static char text[N][4001];
	struct jobstack_bytes v[N];
	struct rival r;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		memset(text[i], 'x', 4000);
		(void)snprintf(text[i], sizeof(text[i]), "/%03zu", i);
		text[i][4] = '/';
		v[i] = (struct jobstack_bytes){text[i], 4000};
	}
	for (size_t i = 0; i < 8;
	     i++) /* chunks of 64 and less: that a pop takes as many as it can get, they are made one */
		OK(jobstack_push_many(h, "reading", NULL, v + i * 62, i == 7 ? N - 7 * 62 : 62, NULL, &e));
	(void)sql(holder, "DELETE FROM span WHERE stack_id=%" PRIu64, id_of("reading"));
	(void)sql(holder, "INSERT INTO span(" SPAN_COLUMNS ") VALUES(%" PRIu64 ",0,0,%d,1,%d,NULL,1,0,0,NULL,NULL)",
		  id_of("reading"), N, N);
	r = distant(&between, "reading");
	OK(do_begin(&r));
	r.k = N;
	proxy_arm(&between, PROXY_FREEZE, 0);
	start(&r, do_step);
	proxy_caught(&between);
	until_number(
		1, "SELECT COUNT(*) FROM claim c JOIN stack s USING(stack_id) WHERE s.name='reading'"); /* committed */
	others_work("reading");
	proxy_drop_client(&between);
	ENDS(&r, 0);
	assert_true(r.batch.count == N && jobstack_batch_entry(&r.batch, N - 1)->datapath_len == 4000);
	proxy_finish(&between);
	audit("reading", 9, N, 1, 0);
	over(&r);
}

/* ------------------------------------------------------------------------------------ a failover that lost the last
 * commits */

static const char *const kept[] = {"stack",  "push",  "push_range", "name",	 "entry",  "span",
				   "worker", "claim", "attempt",    "set_aside", "closed", "stream"};

/* Copies what the tables hold, as a replica that has got so far. */
static void copy(void)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		(void)sql(holder, "DROP TABLE IF EXISTS kept_%s", kept[i]);
		(void)sql(holder, "CREATE TABLE kept_%s AS SELECT * FROM %s", kept[i], kept[i]);
	}
}

/* The replica is the server now. */
static void fail_over(void)
{
	(void)sql(holder, "START TRANSACTION");
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		(void)sql(holder, "DELETE FROM %s", kept[i]);
		(void)sql(holder, "INSERT INTO %s SELECT * FROM kept_%s", kept[i], kept[i]);
	}
	(void)sql(holder, "COMMIT");
}

/* Finishes a stack with one worker. */
static void work_off(const char *stack)
{
	struct rival w = rival_worker(stack, 0);
	size_t n;

	w.k = 100;
	do {
		OK(do_step(&w));
		n = w.batch.count;
		for (size_t i = 0; i < n; i++) {
			struct jobstack_outcome o =
				outcome(jobstack_batch_entry(&w.batch, i)->entry,
					jobstack_batch_entry(&w.batch, i)->attempt, JOBSTACK_DONE, 0);

			OK(take_step(w.worker, &o, 1, 0, NULL, NULL, &e));
		}
		jobstack_batch_free(&w.batch);
	} while (n > 0);
	OK(do_end(&w));
	over(&w);
}

/* Workers that are ahead of the ledger: one has closed and popped what was lost, one was born and is not, one has ended
 * and lives again.  None of them changes anything; what they held by the ledger is taken back, and done. */
static void workers_ahead(void **state)
{
	struct rival w, born, ended;
	uint64_t before, taken;

	(void)state;
	push_numbered("ahead", NULL, 12);
	w = rival_worker("ahead", 4);
	ended = rival_worker("ahead", 2);
	copy();
	w.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	w.outcome[1] = outcome(2, 1, JOBSTACK_FAILED, 1);
	w.n = 2;
	w.k = 2;
	OK(do_step(&w));
	assert_true(w.batch.count == 2);
	jobstack_batch_free(&w.batch);
	OK(do_end(&ended));
	born = rival_worker("ahead", 2);
	fail_over();
	/* somebody else is born with the number of the one that is not, and is as far */
	(void)sql(holder,
		  "INSERT INTO worker(worker_id,token,stack_id,seq,kind,started,beat,lease_us,slots) VALUES(%" PRIu64
		  ",REPEAT('t',16),%" PRIu64 ",1,0,UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),1000000,1)",
		  born.id, id_of("ahead"));
	audit("ahead", 6, 6, 0, 0);
	before = digest();
	w.outcome[0] = outcome(3, 1, JOBSTACK_DONE, 0);
	w.n = 1;
	GIVES(JOBSTACK_ECONFLICT, do_step(&w));
	w.k = 0;
	GIVES(JOBSTACK_ECONFLICT, do_step(&w));
	GIVES(JOBSTACK_ECONFLICT, do_end(&w));
	born.k = 2;
	GIVES(JOBSTACK_ECONFLICT, do_step(&born));
	GIVES(JOBSTACK_ECONFLICT, do_end(&born));
	ended.k = 1;
	GIVES(JOBSTACK_ECONFLICT, do_step(&ended));
	assert_true(digest() == before);
	OK(jobstack_recover(h, "ahead", (struct jobstack_seen){w.id, 1}, JOBSTACK_CAUSE_WORKER, "silent", &taken, &e));
	assert_true(taken == 4);
	OK(jobstack_recover(h, "ahead", (struct jobstack_seen){ended.id, 1}, JOBSTACK_CAUSE_WORKER, "silent", &taken,
			    &e));
	assert_true(taken == 2);
	audit("ahead", 12, 0, 0, 0);
	work_off("ahead");
	audit("ahead", 0, 0, 12, 0);
	over(&w);
	over(&born);
	over(&ended);
}

/* The reply to a step was lost, and then so was the step: it is repeated, and done then. */
static void unsettled_and_failed_over(void **state)
{
	struct rival r;

	(void)state;
	six("again");
	r = distant(&between, "again");
	OK(do_begin(&r));
	OK(take_step(r.worker, NULL, 0, 3, &r.batch, NULL, &e));
	jobstack_batch_free(&r.batch);
	r.outcome[0] = outcome(3, 1, JOBSTACK_DONE, 0);
	r.outcome[1] = outcome(4, 1, JOBSTACK_FAILED, 1);
	r.n = 2;
	r.k = 1;
	copy();
	proxy_arm(&between, PROXY_SWALLOW, 0);
	start(&r, do_step);
	proxy_caught(&between);
	proxy_settle(&between);
	audit("again", 2, 2, 1, 1); /* it had been committed */
	fail_over();
	proxy_drop_client(&between);
	ENDS(&r, 0);
	proxy_finish(&between);
	assert_true(r.batch.count == 1 && jobstack_batch_entry(&r.batch, 0)->entry == 6);
	audit("again", 2, 2, 1, 1);
	over(&r);
}

/* A script that has closed what is open again closes it again; one that has popped what is in line again is told so. */
static void scripts_ahead(void **state)
{
	struct rival r = {.handle = NULL}, s;

	(void)state;
	push_numbered("scripts", NULL, 3);
	r = rival("scripts");
	s = rival("scripts");
	r.k = s.k = 1;
	OK(do_pop(&r));
	copy();
	OK(do_pop(&s));
	r.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	s.outcome[0] = outcome(2, 1, JOBSTACK_DONE, 0);
	r.n = s.n = 1;
	OK(do_close(&r));
	fail_over();
	audit("scripts", 2, 1, 0, 0);
	OK(do_close(&r));
	GIVES(JOBSTACK_EMISSING, do_close(&s));
	audit("scripts", 2, 0, 1, 0);
	over(&r);
	over(&s);
}

struct pushing {
	unsigned given;
	char name[32];
};

/* 4,096 names, the first chunk of unique ones; then the server fails over; then some more. */
static int next_name(void *ctx, struct jobstack_bytes *datapath)
{
	struct pushing *p = ctx;

	if (p->given == 4097) { /* the first chunk is in */
		assert_true(sql(holder, "SELECT pushed FROM stack WHERE name='pusher'") == 4101);
		fail_over();
	}
	if (p->given == 4200)
		return 1;
	(void)snprintf(p->name, sizeof(p->name), "/n/%u", p->given++);
	*datapath = (struct jobstack_bytes){p->name, strlen(p->name)};
	return 0;
}

/* A pusher that is ahead of the ledger, or that the ledger does not know: it stops, and what it says is true; repeated
 * with
 * --unique, it goes on. */
static void pushers_ahead(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_push_result result = JOBSTACK_PUSH_RESULT_INIT;
	struct pushing p = {.given = 0};

	(void)state;
	push.unique = 1;
	push_numbered("pusher", &push, 5);
	copy();
	GIVES(JOBSTACK_ECONFLICT, jobstack_push_from(h, "pusher", &push, next_name, &p, &result, &e));
	audit("pusher", 5, 0, 0, 0);
	p.given = 0;
	for (unsigned i = 0; i < 2; i++) {
		struct jobstack_bytes one;

		for (p.given = 0; p.given < 3;) {
			OK(next_name(&p, &one));
			OK(jobstack_push_many(h, "pusher", &push, &one, 1, &result, &e));
			assert_true(result.pushed == (i == 0) && result.skipped == (i == 1));
		}
	}
	audit("pusher", 8, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {SCHEDULE(frozen_sending), SCHEDULE(frozen_reading),
					   SCHEDULE(workers_ahead),  SCHEDULE(unsettled_and_failed_over),
					   SCHEDULE(scripts_ahead),  SCHEDULE(pushers_ahead)};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}

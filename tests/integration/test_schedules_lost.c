/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules of what gets lost: packets, replies, whole connections, clients that freeze, and a server that comes
 * back with an earlier state.  After each the ledger is proven.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

/* ------------------------------------------------------------------------------------- each call, with a packet lost
 * or late */

static void ready_worker(struct rival *r, size_t k)
{
	OK(do_begin(r));
	r->id = jobstack_worker_id(r->worker);
	OK(take_step(r->worker, NULL, 0, k, &r->batch, NULL, &e));
	assert_int_equal(r->batch.count, k);
	jobstack_batch_free(&r->batch);
	r->outcome[0] = outcome(3, 1, JOBSTACK_DONE, 0);
	r->outcome[1] = outcome(4, 1, JOBSTACK_FAILED, 1);
	r->n = 2;
}

static void ready_step(struct rival *r)
{
	ready_worker(r, 3);
	r->k = 1;
}

/* One that writes its new claim into the row of the one that it closes. */
static void ready_reuse(struct rival *r)
{
	ready_step(r);
	r->outcome[2] = outcome(5, 1, JOBSTACK_DONE, 0);
	r->n = 3;
}

static void ready_end(struct rival *r)
{
	ready_worker(r, 3);
}

static void ready_recover(struct rival *r)
{
	struct rival w = rival_worker(r->stack, 3);

	r->id = w.id;
	r->seq = 1;
	over(&w);
}

static void ready_requeue(struct rival *r)
{
	r->filter.states = JOBSTACK_IS_DEAD;
}

static void ready_cancel(struct rival *r)
{
	static const uint64_t four = 4;

	r->filter.entries = &four;
	r->filter.entries_n = 1;
}

static void ready_move(struct rival *r)
{
	static char to[120];

	(void)snprintf(to, sizeof(to), "%s.to", r->stack);
	r->to = to;
}

static void ready_pop(struct rival *r)
{
	r->k = 2;
}

static void ready_close(struct rival *r)
{
	r->k = 3;
	(void)sql(holder, "DELETE FROM span WHERE class=1 AND stack_id=%" PRIu64, id_of(r->stack));
	(void)sql(holder, "INSERT INTO span(" SPAN_COLUMNS ") VALUES(%" PRIu64 ",0,1,2,2,2,NULL,2,1,0,NULL,NULL)",
		  id_of(r->stack));
	OK(do_pop(r));
	assert_true(r->batch.count == 3 && jobstack_batch_entry(&r->batch, 0)->entry == 3);
	jobstack_batch_free(&r->batch);
	r->outcome[0] = outcome(3, 1, JOBSTACK_DONE, 0);
	r->n = 1;
}

static void ready_promote(struct rival *r)
{
	OK(do_begin(r));
}

static struct jobstack_bytes pushed_names[2500];

static void ready_push(struct rival *r)
{
	static char text[2500][16];

	for (size_t i = 0; i < 2500; i++)
		pushed_names[i] =
			(struct jobstack_bytes){text[i], (size_t)snprintf(text[i], sizeof(text[i]), "/p/%zu", i)};
	(void)r;
}

/* Two chunks: the writer pauses when the first is full, or both would be one load, which has tests of its own. */
struct pausing {
	size_t at;
	int paused;
};

static int next_pausing(void *ctx, struct jobstack_bytes *datapath)
{
	struct pausing *p = ctx;

	if (p->at == 2000 && !p->paused) {
		p->paused = 1;
		return 2;
	}
	if (p->at == 2500)
		return 1;
	*datapath = pushed_names[p->at++];
	return 0;
}

static int do_push_twice(struct rival *r)
{
	struct pausing p = {0, 0};

	return jobstack_push_from(r->handle, r->stack, &r->push, next_pausing, &p, &r->pushed, &r->error);
}

static void ready_push_unique(struct rival *r)
{
	ready_push(r);
	r->push.unique = 1;
}

static void ready_push_atomic(struct rival *r)
{
	ready_push(r);
	r->push.atomic = 1;
}

static void ready_nothing(struct rival *r)
{
	(void)r;
}

/* A call, the transaction of it that meets with the accident, and how the six (and more) stand afterwards. */
static const struct call {
	const char *name;
	int (*call)(struct rival *);
	void (*ready)(struct rival *);
	unsigned skip;
	uint64_t line, running, done, dead; /* line: ready, waiting, held */
	const char *hold; /* rows that stop it behind its fence; NULL: the claim, or the attempt, that it writes */
} calls[] = {
	{"step", do_step, ready_step, 0, 2, 2, 1, 1, NULL},
	{"reuse", do_step, ready_reuse, 0, 2, 1, 2, 1, "claim WHERE stack_id="},
	{"end", do_end, ready_end, 0, 4, 0, 1, 1, NULL},
	{"recover", do_recover, ready_recover, 0, 5, 0, 0, 1, NULL},
	{"requeue", do_requeue, ready_requeue, 0, 6, 0, 0, 0, "set_aside WHERE entry_id=1 AND stack_id="},
	{"move", do_move, ready_move, 0, 5, 0, 0, 0, "set_aside WHERE entry_id=1 AND stack_id="},
	{"settle", do_cancel, ready_requeue, 0, 5, 0, 0, 0, "set_aside WHERE entry_id=1 AND stack_id="},
	{"cancel", do_cancel, ready_cancel, 0, 4, 0, 0, 1, "span WHERE class=0 AND stack_id="},
	{"pop", do_pop, ready_pop, 1, 4, 1, 0, 1, "span WHERE class=0 AND stack_id="},
	{"close", do_close, ready_close, 0, 2, 2, 1, 1, NULL},
	{"promote", do_promote, ready_promote, 0, 5, 0, 0, 1, "span WHERE class=1 AND stack_id="},
	{"begin", do_begin, ready_nothing, 0, 5, 0, 0, 1, NULL},
	{"push", do_push_twice, ready_push, 1, 2505, 0, 0, 1, "push WHERE ended IS NULL AND stack_id="},
	{"push2", do_push_twice, ready_push, 2, 2505, 0, 0, 1, "push WHERE ended IS NULL AND stack_id="},
	{"pushed", do_push_twice, ready_push, 3, 2505, 0, 0, 1, "push WHERE ended IS NULL AND stack_id="},
	/* the part that is sent without a check, since the one before had only new names */
	{"unique", do_push_twice, ready_push_unique, 3, 2505, 0, 0, 1, "push WHERE ended IS NULL AND stack_id="},
	{"atomic", do_push_twice, ready_push_atomic, 2, 2505, 0, 0, 1, "push WHERE ended IS NULL AND stack_id="},
	{"publish", do_push_twice, ready_push_atomic, 3, 2505, 0, 0, 1, "push WHERE ended IS NULL AND stack_id="},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* Makes the stack, and starts the call with the proxy armed.  The rival ends with 0 in all of these, and all is done
 * once. */
static struct rival begin_call(const struct call *c, const char *kind, enum proxy_catch what)
{
	static char name[100];
	struct rival r;

	(void)snprintf(name, sizeof(name), "%s.%s", kind, c->name);
	six(name);
	r = distant(&between, name);
	c->ready(&r);
	proxy_arm(&between, what, c->skip);
	return r;
}

static void end_call(const struct call *c, struct rival *r)
{
	ENDS(r, 0);
	if (c->call == do_step)
		assert_true(r->batch.count == 1 && jobstack_batch_entry(&r->batch, 0)->entry == 6);
	if (c->call == do_pop)
		assert_true(r->batch.count == 1 && jobstack_batch_entry(&r->batch, 0)->entry == 2);
	if (c->call == do_recover)
		assert_true(r->taken == 3);
	if (c->call == do_requeue || c->call == do_move || c->call == do_cancel)
		assert_true(r->requeued.requeued == 1);
	if (c->call == do_move)
		audit(r->to, 1, 0, 0, 0);
	if (c->call == do_push_twice)
		assert_true(r->pushed.pushed == 2500 && r->pushed.skipped == 0);
	audit(r->stack, c->line, c->running, c->done, c->dead);
}

/* The packet never gets there. */
static void packet_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		struct rival r = begin_call(&calls[i], "lost", PROXY_KEEP);

		start(&r, calls[i].call);
		proxy_caught(&between);
		proxy_drop_client(&between);
		end_call(&calls[i], &r);
		proxy_finish(&between);
		over(&r);
	}
}

/* The packet gets there only when its second try has been done and answered.  It must not change anything any more. */
static void packet_late(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		struct rival r = begin_call(&calls[i], "late", PROXY_KEEP);
		uint64_t before;

		start(&r, calls[i].call);
		proxy_caught(&between);
		proxy_drop_client(&between);
		end_call(&calls[i], &r);
		before = digest();
		proxy_deliver(&between);
		if (digest() != before)
			fail_msg("%s: a packet that came late has changed something", r.stack);
		audit(r.stack, calls[i].line, calls[i].running, calls[i].done, calls[i].dead);
		over(&r);
	}
}

/* It was committed, and the reply is lost. */
static void reply_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		struct rival r = begin_call(&calls[i], "reply", PROXY_SWALLOW);

		start(&r, calls[i].call);
		proxy_caught(&between);
		proxy_settle(&between);
		proxy_drop_client(&between);
		end_call(&calls[i], &r);
		proxy_finish(&between);
		over(&r);
	}
}

/* A step on a handle that was stopped.  Whatever has to wait (on a busy machine that may be the connection) ends it:
 * then the same step again. */
static void step_on_stopped(struct rival *r)
{
	int64_t end = jobstack_now_us() + BOUND_US;

	do {
		memset(&r->error, 0, sizeof(r->error));
		r->status = do_step(r);
	} while (r->status == JOBSTACK_ESTOPPED && jobstack_now_us() < end);
	if (r->status != 0)
		fail_msg("%d: %s", r->status, r->error.text);
}

/* The call itself gives up behind the lost reply, and comes again later.  Others have counted the lease from the first
 * try, which moved seq: so must the worker, or its commands would outlive it. */
static void lease_behind_a_lost_reply(void **state)
{
	struct jobstack_options o = JOBSTACK_OPTIONS_INIT;
	struct rival r = {.stack = "lease", .batch = JOBSTACK_BATCH_INIT};
	int64_t caught_us;

	(void)state;
	six(r.stack);
	o.defaults_file = between.cnf;
	o.host = "127.0.0.1";
	o.port = between.port;
	o.patience_us = BOUND_US;
	OK(jobstack_open(&r.handle, &o, &e));
	ready_step(&r);
	proxy_arm(&between, PROXY_SWALLOW, 0);
	start(&r, do_step);
	proxy_caught(&between);
	proxy_settle(&between);
	caught_us = jobstack_now_us();
	jobstack_stop(r.handle); /* while this thread's rival waits */
	proxy_drop_client(&between);
	ENDS(&r, JOBSTACK_ESTOPPED);
	proxy_finish(&between);
	step_on_stopped(&r);
	assert_true(r.batch.count == 1 && jobstack_batch_entry(&r.batch, 0)->entry == 6);
	assert_true(jobstack_worker_deadline_us(r.worker) <= caught_us + jobstack_worker_lease_us(r.worker));
	r.n = r.k = 0; /* one that is answered at once counts from itself again */
	step_on_stopped(&r);
	assert_true(jobstack_worker_deadline_us(r.worker) > caught_us + jobstack_worker_lease_us(r.worker));
	audit(r.stack, 2, 2, 1, 1);
	over(&r);
}

/* The connection goes while the server is in the middle of it; the second try waits for that ghost, and sees what
 * became of it. */
static void ghost(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		const struct call *c = &calls[i];
		struct rival r;

		if (c->call == do_begin) /* it holds nothing that could be waited for: one row */
			continue;
		r = begin_call(c, "ghost", PROXY_KEEP);
		start(&r, c->call);
		proxy_caught(&between);
		if (c->hold != NULL)
			hold("%s%" PRIu64, c->hold, id_of(r.stack));
		else if (c->call == do_step)
			hold_claim(r.stack, r.id, 2);
		else
			hold_attempt(r.stack, 3, 1);
		proxy_forward(&between);
		until_waiting(1);
		proxy_drop_client(&between);
		until_waiting(2);
		release();
		end_call(c, &r);
		proxy_finish(&between);
		audit(r.stack, c->line, c->running, c->done, c->dead);
		over(&r);
	}
}

/* A script's pop, whose first try comes when the script has long closed what the second one gave. */
static void pop_after_its_close(void **state)
{
	struct rival r;
	uint64_t before;

	(void)state;
	push_numbered("afterwards", NULL, 5);
	r = distant(&between, "afterwards");
	r.k = 1;
	proxy_arm(&between, PROXY_KEEP, 1);
	start(&r, do_pop);
	proxy_caught(&between);
	proxy_drop_client(&between);
	ENDS(&r, 0);
	assert_true(r.batch.count == 1 && jobstack_batch_entry(&r.batch, 0)->entry == 1);
	r.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	r.n = 1;
	OK(do_close(&r));
	before = digest();
	proxy_deliver(&between);
	audit("afterwards", 4, 0, 1, 0);
	assert_true(digest() == before);
	over(&r);
}

/* A worker whose own birth comes a second time when it has ended. */
static void birth_after_the_end(void **state)
{
	struct rival r;

	(void)state;
	push_numbered("born", NULL, 5);
	r = distant(&between, "born");
	proxy_arm(&between, PROXY_KEEP, 0);
	start(&r, do_begin);
	proxy_caught(&between);
	proxy_drop_client(&between);
	ENDS(&r, 0);
	OK(do_end(&r));
	proxy_deliver(&between);
	audit("born", 5, 0, 0, 0);
	assert_true(sql(holder, "SELECT COUNT(*) FROM worker WHERE ended IS NULL AND stack_id=%" PRIu64,
			id_of("born")) == 0);
	over(&r);
}

/* A requeue was about to begin when another one came first, the entry was popped, and is dead again. */
static void stale_requeue(void **state)
{
	struct jobstack_outcome o = outcome(1, 2, JOBSTACK_FAILED, 1);
	struct rival r;

	(void)state;
	six("stale");
	(void)sql(holder, "UPDATE stack SET max_attempts=1 WHERE name='stale'");
	r = distant(&between, "stale");
	ready_requeue(&r);
	proxy_arm(&between, PROXY_KEEP, 0);
	start(&r, do_requeue);
	proxy_caught(&between); /* it has seen 1 as dead by attempt 1 */
	OK(jobstack_requeue(h, "stale", NULL, 0, NULL, &e));
	r.k = 1;
	OK(jobstack_pop(h, "stale", NULL, 1, &r.batch, &e));
	assert_true(jobstack_batch_entry(&r.batch, 0)->entry == 1);
	OK(jobstack_close(h, "stale", &o, 1, NULL, &e));
	assert_true(sql(holder, "SELECT attempt FROM set_aside WHERE stack_id=%" PRIu64, id_of("stale")) == 2);
	proxy_resume(&between); /* what it had seen is not so any more: it changes nothing, and looks again */
	ENDS(&r, 0);
	assert_true(r.requeued.requeued == 1);
	audit("stale", 6, 0, 0, 0);
	assert_true(sql(holder, "SELECT MAX(attempt) FROM span WHERE stack_id=%" PRIu64, id_of("stale")) == 3);
	over(&r);
}

static int do_check(struct rival *r)
{
	return jobstack_check(r->handle, r->stack, NULL, NULL, &r->checked, &r->error);
}

/* A check whose connection goes in the middle begins anew, and counts nothing twice. */
static void check_begins_anew(void **state)
{
	static const char *const middle[] = {"START TRANSACTION WITH", "FROM stack", "FROM span", "FROM attempt",
					     "FROM claim"};
	struct rival r;

	(void)state;
	six("anew");
	r = distant(&between, "anew");
	ready_worker(&r, 3);
	for (size_t i = 0; i < sizeof(middle) / sizeof(middle[0]); i++) {
		proxy_arm_for(&between, middle[i]);
		start(&r, do_check);
		proxy_caught(&between);
		if (i > 1) { /* what is done meanwhile, the new view sees */
			struct jobstack_error ignored = JOBSTACK_ERROR_INIT;

			OK(jobstack_push(h, "anew", NULL, "/more", &ignored));
		}
		proxy_drop_client(&between);
		ENDS(&r, 0);
		proxy_finish(&between);
		assert_true(r.checked.entries == 6 + (i > 1 ? i - 1 : 0) && r.checked.running == 3 &&
			    r.checked.dead == 1 && r.checked.attempts == 2);
	}
	audit("anew", 5, 3, 0, 1);
	over(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHEDULE(packet_lost),	 SCHEDULE(packet_late),		SCHEDULE(reply_lost),
		SCHEDULE(ghost),	 SCHEDULE(pop_after_its_close), SCHEDULE(birth_after_the_end),
		SCHEDULE(stale_requeue), SCHEDULE(check_begins_anew),	SCHEDULE(lease_behind_a_lost_reply)};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}

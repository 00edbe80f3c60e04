/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules of steering: limits, prune and policy against what comes at the same moment, and with packets and
 * replies that get lost.  After each the ledger is proven.  (Those of drop are in test_schedules_drop.c.)
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

/* All that is done goes, however lately. */
static int do_prune(struct rival *r)
{
	struct jobstack_prune_result result = JOBSTACK_PRUNE_RESULT_INIT;
	int status = jobstack_prune(r->handle, r->stack, NULL, &result, &r->error);

	r->taken = result.entries;
	return status;
}

static int do_set(struct rival *r)
{
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;

	policy.max_running = 5;
	policy.priority = 9;
	return jobstack_set_policy(r->handle, r->stack, &policy, &r->error);
}

static void limit(const char *stack, int64_t n)
{
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;

	policy.max_running = n;
	OK(jobstack_set_policy(h, stack, &policy, &e));
}

/* ------------------------------------------------------------------------- each call, with a packet lost or late */

static void ready_step(struct rival *r)
{
	limit(r->stack, 3);
	OK(do_begin(r));
	r->id = jobstack_worker_id(r->worker);
	OK(take_step(r->worker, NULL, 0, 5, &r->batch, NULL, &e));
	assert_int_equal(r->batch.count, 3);
	jobstack_batch_free(&r->batch);
	r->outcome[0] = outcome(3, 1, JOBSTACK_DONE, 0);
	r->n = 1;
	r->k = 3;
}

/* When the packet of a step with a rate was caught: its entry can be started by then and JOBSTACK_START_LEAST, however
 * often the packet is sent again. */
static int64_t caught_us;

static void ready_rated(struct rival *r)
{
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;

	policy.max_starts = 1;
	policy.starts_us = 1000;
	OK(jobstack_set_policy(h, r->stack, &policy, &e));
	OK(do_begin(r));
	r->id = jobstack_worker_id(r->worker);
	OK(take_step(r->worker, NULL, 0, 5, &r->batch, NULL, &e));
	assert_true(r->batch.count == 1 && r->batch.start_by_us > 0);
	jobstack_batch_free(&r->batch);
	(void)sql(holder, "UPDATE running_limit SET next_start='2020-01-01' WHERE stack_id=%" PRIu64, id_of(r->stack));
	r->outcome[0] = outcome(3, 1, JOBSTACK_DONE, 0);
	r->n = 1;
	r->k = 3;
}

static void ready_pop(struct rival *r)
{
	limit(r->stack, 1);
	r->k = 2;
}

/* 3 and 4 are done; 4 at its second attempt. */
static void ready_prune(struct rival *r)
{
	struct jobstack_outcome o[2] = {outcome(3, 1, JOBSTACK_DONE, 0), outcome(4, 1, JOBSTACK_INTERRUPTED, -1)};
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	OK(jobstack_worker_begin(h, r->stack, NULL, &w, &e));
	OK(take_step(w, NULL, 0, 2, &b, NULL, &e));
	assert_true(b.count == 2 && jobstack_batch_entry(&b, 0)->entry == 3);
	jobstack_batch_free(&b);
	OK(take_step(w, o, 2, 1, &b, NULL, &e));
	jobstack_batch_free(&b);
	OK(jobstack_worker_end(w, NULL, 0, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	(void)sql(holder, "DELETE FROM span WHERE attempt=2 AND lo=4 AND stack_id=%" PRIu64, id_of(r->stack));
	(void)sql(holder,
		  "INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(%" PRIu64
		  ",4,2,1,0,1,UTC_TIMESTAMP(6))",
		  id_of(r->stack));
	(void)sql(holder, "UPDATE stack SET done=done+1 WHERE name='%s'", r->stack);
}

static void ready_nothing(struct rival *r)
{
	(void)r;
}

static const struct call {
	const char *name;
	int (*call)(struct rival *);
	void (*ready)(struct rival *);
	unsigned skip;			    /* transactions of it that pass before */
	uint64_t line, running, done, dead; /* afterwards */
	const char *hold;		    /* rows that stop it in the middle; NULL: the claim that it writes */
} calls[] = {
	{"step", do_step, ready_step, 0, 1, 3, 1, 1, NULL},
	{"rated", do_step, ready_rated, 0, 3, 1, 1, 1, NULL},
	{"pop", do_pop, ready_pop, 1, 4, 1, 0, 1, "running_limit WHERE stack_id="},
	{"set", do_set, ready_nothing, 0, 5, 0, 0, 1, "stack WHERE stack_id="},
	{"waiting", do_set, ready_nothing, 1, 5, 0, 0, 1, "span WHERE class=1 AND stack_id="},
	{"ready", do_set, ready_nothing, 2, 5, 0, 0, 1, "span WHERE class=0 AND stack_id="},
	{"prune", do_prune, ready_prune, 0, 3, 0, 0, 1, "attempt WHERE final=1 AND stack_id="},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

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
		assert_true(r->batch.count == 1 &&
			    jobstack_batch_entry(&r->batch, 0)->entry == (c->ready == ready_rated ? 4 : 6));
	if (c->ready == ready_rated)
		assert_true(r->batch.start_by_us > 0 && r->batch.start_by_us <= caught_us + JOBSTACK_START_LEAST);
	if (c->call == do_pop)
		assert_true(r->batch.count == 1 && jobstack_batch_entry(&r->batch, 0)->entry == 2);
	if (c->call == do_prune)
		assert_int_equal(r->taken, 2);
	if (c->call == do_set)
		assert_true(sql(holder,
				"SELECT COUNT(*) FROM stack JOIN running_limit USING(stack_id) WHERE max_running=5 AND "
				"name='%s'",
				r->stack) == 1 &&
			    sql(holder, "SELECT COUNT(*) FROM span WHERE `rank`<>-9 AND stack_id=%" PRIu64,
				id_of(r->stack)) == 0);
	audit(r->stack, c->line, c->running, c->done, c->dead);
}

static void packet_late(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		struct rival r = begin_call(&calls[i], "late", PROXY_KEEP);
		uint64_t before;

		start(&r, calls[i].call);
		proxy_caught(&between);
		caught_us = jobstack_now_us();
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

static void reply_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		struct rival r = begin_call(&calls[i], "reply", PROXY_SWALLOW);

		start(&r, calls[i].call);
		proxy_caught(&between);
		caught_us = jobstack_now_us();
		proxy_settle(&between);
		proxy_drop_client(&between);
		end_call(&calls[i], &r);
		proxy_finish(&between);
		over(&r);
	}
}

/* The second try meets the first, which is still under way in the server. */
static void ghost(void **state)
{
	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		const struct call *c = &calls[i];
		struct rival r = begin_call(c, "ghost", PROXY_KEEP);

		start(&r, c->call);
		proxy_caught(&between);
		caught_us = jobstack_now_us();
		if (c->hold != NULL)
			hold("%s%" PRIu64, c->hold, id_of(r.stack));
		else
			hold_claim(r.stack, r.id, 2);
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

/* -------------------------------------------------------------------------------------------------------- policy */

/* A script's pop waits for a span whose priority is being raised: it finds it all the same. */
static void pop_and_priority(void **state)
{
	struct rival s, p;

	(void)state;
	push_numbered("raised", NULL, 3);
	s = rival("raised");
	p = rival("raised");
	p.k = 1;
	hold("span WHERE stack_id=%" PRIu64, id_of("raised"));
	start(&s, do_set);
	until_waiting(1);
	start(&p, do_pop);
	until_waiting(2);
	release();
	ENDS(&s, 0);
	ENDS(&p, 0);
	assert_int_equal(p.batch.count, 1);
	audit("raised", 2, 1, 0, 0);
	over(&s);
	over(&p);
}

static int do_lower(struct rival *r)
{
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;

	policy.priority = -9;
	return jobstack_set_policy(r->handle, r->stack, &policy, &r->error);
}

/* A stack of 1,200 spans, whose priority is changed in pieces.  When one piece waits, those that came before it hold
 * nobody up, the ledger balances, and the next entry is the one that would be next without the change. */
static void pop_between_pieces(void **state)
{
	int (*const change[])(struct rival *) = {do_set, do_lower};
	struct rival s = rival("pieces"), p = rival("pieces");
	uint64_t id;

	(void)state;
	push_numbered("pieces", NULL, 1200);
	id = id_of("pieces");
	(void)sql(holder, "DELETE FROM span WHERE stack_id=%" PRIu64, id);
	(void)sql(holder,
		  "INSERT INTO span(stack_id,class,`rank`,pos,lo,hi,attempt,fails,losses) SELECT "
		  "stack_id,0,0,entry_id,entry_id,entry_id,1,0,0 FROM entry WHERE stack_id=%" PRIu64,
		  id);
	p.k = 1;
	for (unsigned i = 0; i < 2; i++) {
		hold("span WHERE lo=600 AND stack_id=%" PRIu64, id);
		start(&s, change[i]);
		until_waiting(1);
		assert_int_equal(sql(observer, "SELECT COUNT(*) FROM %s.span WHERE `rank`=%d AND stack_id=%" PRIu64,
				     database(), i == 0 ? -9 : 9, id),
				 500);
		OK(do_pop(&p));
		assert_int_equal(jobstack_batch_entry(&p.batch, 0)->entry, i + 1);
		jobstack_batch_free(&p.batch);
		audit("pieces", 1199 - i, i + 1, 0, 0);
		release();
		ENDS(&s, 0);
		assert_int_equal(sql(holder, "SELECT COUNT(DISTINCT `rank`) FROM span WHERE stack_id=%" PRIu64, id), 1);
	}
	audit("pieces", 1198, 2, 0, 0);
	over(&s);
	over(&p);
}

/* Two that pop at once where the limit allows one. */
static void pops_at_the_limit(void **state)
{
	struct rival a, b;

	(void)state;
	push_numbered("limited", NULL, 3);
	limit("limited", 1);
	a = rival("limited");
	b = rival_worker("limited", 0);
	a.k = b.k = 2;
	hold("running_limit WHERE stack_id=%" PRIu64, id_of("limited"));
	start(&a, do_pop);
	until_waiting(1);
	start(&b, do_step);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&b, 0);
	assert_true(a.batch.count == 1 && b.batch.count == 0);
	audit("limited", 2, 1, 0, 0);
	over(&a);
	over(&b);
}

/* --------------------------------------------------------------------------------------------------------- prune */

static struct rival done_stack(const char *stack)
{
	struct rival r = rival(stack);
	struct rival w;

	push_numbered(stack, NULL, 5);
	w = rival_worker(stack, 4);
	for (unsigned i = 0; i < 4; i++)
		w.outcome[i] = outcome(i + 1, 1, JOBSTACK_DONE, 0);
	w.n = 4;
	OK(do_end(&w));
	over(&w);
	return r;
}

/* It and a requeue, in both orders; and it and another one. */
static void prune_and_requeue(void **state)
{
	struct rival p = done_stack("prune"), q = rival("prune");
	static const uint64_t two[] = {2};

	(void)state;
	q.filter.states = JOBSTACK_IS_DONE;
	q.filter.entries = two;
	q.filter.entries_n = 1;
	hold("attempt WHERE entry_id=2 AND stack_id=%" PRIu64, id_of("prune"));
	start(&q, do_requeue);
	until_waiting(1);
	start(&p, do_prune);
	until_waiting(2);
	release();
	ENDS(&q, 0);
	ENDS(&p, 0);
	assert_true(q.requeued.requeued == 1 && p.taken == 3); /* 1, 3, 4 */
	audit("prune", 2, 0, 0, 0);
	over(&q);
	over(&p);

	p = done_stack("prune2");
	q = rival("prune2");
	q.filter.states = JOBSTACK_IS_DONE;
	hold("attempt WHERE entry_id=2 AND stack_id=%" PRIu64, id_of("prune2"));
	start(&p, do_prune);
	until_waiting(1);
	start(&q, do_requeue);
	until_waiting(2);
	release();
	ENDS(&p, 0);
	ENDS(&q, 0);
	assert_true(q.requeued.requeued == 0 && p.taken == 4);
	audit("prune2", 1, 0, 0, 0);
	over(&q);
	over(&p);

	p = done_stack("prune3");
	q = rival("prune3");
	hold("attempt WHERE entry_id=2 AND stack_id=%" PRIu64, id_of("prune3"));
	start(&p, do_prune);
	until_waiting(1);
	start(&q, do_prune);
	until_waiting(2);
	release();
	ENDS(&p, 0);
	ENDS(&q, 0);
	assert_true(p.taken + q.taken == 4);
	audit("prune3", 1, 0, 0, 0);
	over(&q);
	over(&p);
}

/* What is in a claim stays while the claim is open, for it is by its attempt's row that it is known as closed: also an
 * earlier attempt of what was requeued, and was done in other hands. */
static void prune_and_claims(void **state)
{
	struct rival v, w, p = rival("claims"), a;

	(void)state;
	push_numbered("claims", NULL, 3);
	w = rival_worker("claims", 3);
	w.outcome[0] = outcome(2, 1, JOBSTACK_DONE, 0);
	w.outcome[1] = outcome(3, 1, JOBSTACK_DONE, 0);
	w.n = 2;
	OK(do_step(&w));
	OK(do_prune(&p));
	assert_int_equal(p.taken, 0);
	p.filter.states = JOBSTACK_IS_DONE;
	p.filter.limit = 1;
	OK(do_requeue(&p)); /* 2 */
	v = rival_worker("claims", 1);
	v.outcome[0] = outcome(2, 2, JOBSTACK_DONE, 0);
	v.n = 1;
	OK(do_end(&v));
	OK(do_prune(&p));
	assert_int_equal(p.taken, 0);
	audit("claims", 0, 1, 2, 0);
	a = rival_recover(&w);
	OK(do_recover(&a));
	assert_int_equal(a.taken, 1); /* what was done does not come back */
	OK(do_prune(&p));
	assert_int_equal(p.taken, 2);
	audit("claims", 1, 0, 0, 0);
	over(&a);
	over(&p);
	over(&v);
	over(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHEDULE(packet_late),	     SCHEDULE(reply_lost),	   SCHEDULE(ghost),
		SCHEDULE(pop_and_priority),  SCHEDULE(pop_between_pieces), SCHEDULE(pops_at_the_limit),
		SCHEDULE(prune_and_requeue), SCHEDULE(prune_and_claims)};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}

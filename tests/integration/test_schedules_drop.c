/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules of drop: against what comes at the same moment, and with packets and replies that get lost.  After each
 * the ledger is proven, or that nothing is left.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

static int do_drop(struct rival *r)
{
	return jobstack_drop(r->handle, r->stack, NULL, NULL, &r->error);
}

/* Whatever it met, nothing of a dropped stack is left. */
static void dropped(const char *stack)
{
	assert_int_equal(id_of(stack), 0);
	OK(jobstack_check(h, NULL, print_finding, (void *)(uintptr_t)stack, NULL, &e));
}

/* A promotion takes a span past the DELETE, from waiting to ready. */
static void drop_and_promotion(void **state)
{
	struct rival d, w;

	(void)state;
	six("past");
	w = rival_worker("past", 0);
	d = rival("past");
	hold("span WHERE class=0 AND stack_id=%" PRIu64, id_of("past")); /* 3 to 6 */
	start(&d, do_drop);
	until_waiting(1);
	OK(do_promote(&w)); /* 2, which stands before them then */
	release();
	until_number(1, "SELECT COUNT(*) FROM stack WHERE name='past' AND state=3");
	OK(do_end(&w));
	ENDS(&d, 0);
	dropped("past");
	over(&d);
	over(&w);
}

/* A step gives entries back while the drop is about to look: it is refused, and they are there. */
static void drop_and_step(void **state)
{
	struct rival d, w;

	(void)state;
	push_numbered("back", NULL, 4);
	w = rival_worker("back", 3);
	d = rival("back");
	hold_claim("back", w.id, 2);
	w.outcome[0] = outcome(1, 1, JOBSTACK_UNSTARTED, -1);
	w.outcome[1] = outcome(2, 1, JOBSTACK_FAILED, 1);
	w.n = 2;
	w.k = 1;
	start(&w, do_step);
	until_waiting(1);
	start(&d, do_drop);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	ENDS(&d, JOBSTACK_ECONFLICT);
	audit("back", 2, 2, 0, 0);
	/* and with a worker's end, which waits for it, or for which it waits */
	w.n = 0;
	hold("worker WHERE worker_id=%" PRIu64, w.id);
	start(&w, do_end);
	until_waiting(1);
	start(&d, do_drop);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	ENDS(&d, 0);
	dropped("back");
	over(&d);
	over(&w);
}

/* A worker, and a push, that begin: before it, then it waits for the one and is refused by the other; or behind it,
 * then they are. */
static void drop_and_begin(void **state)
{
	struct jobstack_bytes name = {"/new", 4};
	struct rival d, w, p;

	(void)state;
	push_numbered("begin", NULL, 4);
	d = rival("begin");
	w = rival("begin");
	p = rival("begin");
	p.names = &name;
	p.names_n = 1;
	hold("stack WHERE name='begin'");
	start(&p, do_push);
	until_waiting(1);
	start(&d, do_drop);
	until_waiting(2);
	release();
	ENDS(&d, JOBSTACK_ECONFLICT);
	ENDS(&p, 0);
	audit("begin", 5, 0, 0, 0);

	hold("stack WHERE name='begin'");
	start(&w, do_begin);
	until_waiting(1);
	start(&d, do_drop);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	until_number(1, "SELECT COUNT(*) FROM stack WHERE name='begin' AND state=3");
	OK(do_end(&w));
	jobstack_worker_free(w.worker);
	w.worker = NULL;
	ENDS(&d, 0);
	dropped("begin");

	push_numbered("begin", NULL, 4);
	hold("stack WHERE name='begin'");
	start(&d, do_drop);
	until_waiting(1);
	start(&w, do_begin);
	start(&p, do_push);
	until_waiting(3);
	release();
	ENDS(&d, 0);
	ENDS(&w, w.status);
	ENDS(&p, p.status);
	assert_true((w.status == JOBSTACK_ECONFLICT || w.status == JOBSTACK_EMISSING) && w.worker == NULL);
	if (p.status != JOBSTACK_ECONFLICT) { /* it came so late that it made the stack anew */
		assert_int_equal(p.status, 0);
		audit("begin", 1, 0, 0, 0);
		OK(do_drop(&d));
	}
	dropped("begin");
	over(&d);
	over(&w);
	over(&p);
}

/* A script's pop comes first: the drop waits for it, and is refused.  It comes behind, when no span has been deleted
 * yet: it finds nothing. */
static void drop_and_pop(void **state)
{
	struct rival d, s, w;

	(void)state;
	push_numbered("popped", NULL, 4);
	d = rival("popped");
	s = rival("popped");
	s.k = 1;
	hold("span WHERE stack_id=%" PRIu64, id_of("popped"));
	start(&s, do_pop);
	until_waiting(1);
	start(&d, do_drop);
	until_waiting(2);
	release();
	ENDS(&s, 0);
	ENDS(&d, JOBSTACK_ECONFLICT);
	assert_non_null(strstr(d.error.text, "running entries (1)"));
	audit("popped", 3, 1, 0, 0);
	s.n = 1;
	s.outcome[0] = outcome(jobstack_batch_entry(&s.batch, 0)->entry, 1, JOBSTACK_DONE, 0);
	OK(do_close(&s));
	jobstack_batch_free(&s.batch);
	hold("span WHERE stack_id=%" PRIu64, id_of("popped"));
	start(&d, do_drop);
	until_waiting(1);
	GIVES(JOBSTACK_NOTHING, do_pop(&s));
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM span WHERE stack_id=%" PRIu64, id_of("popped")), 1);
	release();
	ENDS(&d, 0);
	dropped("popped");
	/* or while the drop's first transaction is under way */
	push_numbered("popped", NULL, 4);
	w = rival_worker("popped", 0);
	hold("worker WHERE worker_id=%" PRIu64, w.id);
	start(&d, do_drop);
	until_waiting(1);
	start(&s, do_pop);
	until_waiting(2);
	release();
	ENDS(&s, JOBSTACK_NOTHING);
	OK(do_end(&w));
	ENDS(&d, 0);
	dropped("popped");
	over(&w);
	over(&d);
	over(&s);
}

/* The same with a worker's pop. */
static void drop_and_worker_pop(void **state)
{
	struct rival d, w;

	(void)state;
	push_numbered("stepped", NULL, 4);
	d = rival("stepped");
	w = rival_worker("stepped", 0);
	w.k = 1;
	hold("span WHERE stack_id=%" PRIu64, id_of("stepped"));
	start(&w, do_step);
	until_waiting(1);
	start(&d, do_drop);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	ENDS(&d, JOBSTACK_ECONFLICT);
	audit("stepped", 3, 1, 0, 0);
	w.n = 1;
	w.k = 0;
	w.outcome[0] = outcome(jobstack_batch_entry(&w.batch, 0)->entry, 1, JOBSTACK_DONE, 0);
	OK(do_step(&w));
	jobstack_batch_free(&w.batch);
	w.n = 0;
	w.k = 1;
	hold("span WHERE stack_id=%" PRIu64, id_of("stepped"));
	start(&d, do_drop);
	until_waiting(1);
	OK(do_step(&w));
	assert_int_equal(w.batch.count, 0);
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM span WHERE stack_id=%" PRIu64, id_of("stepped")), 1);
	OK(do_end(&w));
	release();
	ENDS(&d, 0);
	dropped("stepped");
	over(&d);
	over(&w);
}

/* What a cut short drop has left of an abandoned --atomic push, and a push --unique that comes then: no name is left
 * behind. */
static void drop_and_pushes(void **state)
{
	struct jobstack_push_options unique = JOBSTACK_PUSH_OPTIONS_INIT;
	struct rival d = rival("pushed");

	(void)state;
	unique.unique = 1;
	push_numbered("pushed", &unique, 4);
	(void)sql(holder, "INSERT INTO push(token,stack_id,atomic,started,beat) SELECT "
			  "REPEAT('a',16),stack_id,1,UTC_TIMESTAMP(6)-INTERVAL 2 HOUR,UTC_TIMESTAMP(6)-INTERVAL 2 HOUR "
			  "FROM stack WHERE name='pushed'");
	(void)sql(holder, "UPDATE span SET class=2,push_id=(SELECT MAX(push_id) FROM push) WHERE stack_id=%" PRIu64,
		  id_of("pushed"));
	(void)sql(holder, "DELETE FROM name WHERE stack_id=%" PRIu64, id_of("pushed"));
	(void)sql(holder, "UPDATE stack SET state=3,named=NULL WHERE name='pushed'");
	GIVES(JOBSTACK_ECONFLICT, jobstack_push(h, "pushed", &unique, "/more", &e));
	assert_non_null(strstr(e.text, "being dropped"));
	GIVES(JOBSTACK_ECONFLICT, jobstack_worker_begin(h, "pushed", NULL, &d.worker, &e));
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM name WHERE stack_id=%" PRIu64, id_of("pushed")), 0);
	OK(do_drop(&d));
	dropped("pushed");
	over(&d);
}

static int do_prune(struct rival *r)
{
	return jobstack_prune(r->handle, r->stack, NULL, NULL, &r->error);
}

/* A prune and a drop: it stops, and says why. */
static void prune_and_drop(void **state)
{
	struct rival p = rival("prune4"), d = rival("prune4");

	(void)state;
	push_numbered("prune4", NULL, 4);
	p.k = p.n = 1;
	OK(do_pop(&p));
	p.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	OK(do_close(&p));
	hold("stack WHERE name='prune4'");
	start(&d, do_drop);
	until_waiting(1);
	start(&p, do_prune);
	until_waiting(2);
	release();
	ENDS(&d, 0);
	ENDS(&p, p.status);
	assert_true(p.status == JOBSTACK_ECONFLICT || p.status == JOBSTACK_EMISSING);
	dropped("prune4");
	over(&d);
	over(&p);
}

/* What is on its way when a drop is refused comes to nothing, however late it arrives; and so does what comes when the
 * drop is over. */
static void drop_late(void **state)
{
	struct rival d, s;
	uint64_t before;

	(void)state;
	push_numbered("late", NULL, 4);
	d = distant(&between, "late");
	s = rival("late");
	proxy_arm(&between, PROXY_KEEP, 0);
	start(&d, do_drop);
	proxy_caught(&between);
	s.k = s.n = 1;
	OK(do_pop(&s));
	proxy_drop_client(&between);
	ENDS(&d, JOBSTACK_ECONFLICT);
	s.outcome[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	OK(do_close(&s));
	before = digest();
	proxy_deliver(&between);
	if (digest() != before)
		fail_msg("a drop that had been refused came all the same");
	audit("late", 3, 0, 1, 0);

	proxy_arm(&between, PROXY_KEEP, 0);
	start(&d, do_drop);
	proxy_caught(&between);
	proxy_drop_client(&between);
	ENDS(&d, 0);
	push_numbered("late", NULL, 2);
	before = digest();
	proxy_deliver(&between);
	assert_true(digest() == before);
	audit("late", 2, 0, 0, 0);
	over(&d);
	over(&s);
}

/* The first try was through, and nobody heard of it; or is still under way, and the second one waits for it. */
static void drop_unheard(void **state)
{
	struct rival d;

	(void)state;
	push_numbered("unheard", NULL, 4);
	d = distant(&between, "unheard");
	proxy_arm(&between, PROXY_SWALLOW, 0);
	start(&d, do_drop);
	proxy_caught(&between);
	proxy_settle(&between);
	proxy_drop_client(&between);
	ENDS(&d, 0);
	proxy_finish(&between);
	dropped("unheard");

	push_numbered("unheard", NULL, 4);
	proxy_arm(&between, PROXY_KEEP, 0);
	start(&d, do_drop);
	proxy_caught(&between);
	hold("stack WHERE name='unheard'");
	proxy_forward(&between);
	until_waiting(1);
	proxy_drop_client(&between);
	until_waiting(2);
	release();
	ENDS(&d, 0);
	proxy_finish(&between);
	dropped("unheard");
	over(&d);
}

/* It is refused without a look at the spans, which workers may have. */
static void drop_refused(void **state)
{
	struct rival d, s;

	(void)state;
	push_numbered("refused", NULL, 4);
	d = rival("refused");
	s = rival("refused");
	s.k = 1;
	OK(do_pop(&s));
	hold("span WHERE stack_id=%" PRIu64, id_of("refused"));
	start(&d, do_drop);
	ENDS(&d, JOBSTACK_ECONFLICT);
	release();
	audit("refused", 3, 1, 0, 0);
	over(&d);
	over(&s);
}

/* Another drop comes first, and is over, when this one is about to begin. */
static void drop_and_drop(void **state)
{
	struct rival d;

	(void)state;
	d = distant(&between, "two");
	for (int anew = 0; anew < 2; anew++) {
		push_numbered("two", NULL, 4);
		proxy_arm(&between, PROXY_KEEP, 0);
		start(&d, do_drop);
		proxy_caught(&between);
		OK(jobstack_drop(h, "two", NULL, NULL, &e));
		if (anew)
			push_numbered("two", NULL, 2);
		proxy_resume(&between);
		ENDS(&d, anew ? JOBSTACK_ECONFLICT : JOBSTACK_EMISSING);
		assert_non_null(strstr(d.error.text, anew ? "created again" : "there is no stack"));
	}
	audit("two", 2, 0, 0, 0);
	over(&d);
}

/* Cut short before or behind its first span, it goes on, though a push shows a sign of life that was silent when it
 * began.  Until then nothing can be popped. */
static void drop_again(void **state)
{
	(void)state;
	for (int spans = 0; spans < 2; spans++) {
		struct rival d = rival("again"), s = rival("again"), w;

		push_numbered("again", NULL, 4);
		w = rival_worker("again", 0);
		(void)sql(holder, "UPDATE stack SET state=3 WHERE name='again'");
		if (!spans)
			(void)sql(holder, "DELETE FROM span WHERE stack_id=%" PRIu64, id_of("again"));
		(void)sql(holder, "UPDATE push SET ended=NULL WHERE stack_id=%" PRIu64, id_of("again"));
		s.k = w.k = 1;
		GIVES(JOBSTACK_NOTHING, do_pop(&s));
		OK(do_step(&w));
		assert_int_equal(w.batch.count, 0);
		OK(do_end(&w));
		OK(do_drop(&d));
		dropped("again");
		over(&d);
		over(&s);
		over(&w);
	}
}

/* What is said of the progress is what is gone: of a stack with a long queue in pieces, a history and unique names. */
static int compare_progress(void *ctx, uint64_t done, uint64_t total)
{
	static const char *const tables[] = {"span",	   "attempt", "set_aside",     "name",	 "path",
					     "entry",	   "worker",  "closed",	       "stream", "fact",
					     "push_range", "push",    "running_limit", "stack"};
	uint64_t *calls = ctx, left = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		left += sql(holder, "SELECT COUNT(*) FROM %s WHERE stack_id=%" PRIu64, tables[i], calls[0]);
	assert_int_equal(total - done, left);
	assert_true(done <= total);
	calls[1]++;
	return 0;
}

static void drop_progress(void **state)
{
	struct jobstack_push_options unique = JOBSTACK_PUSH_OPTIONS_INIT;
	uint64_t calls[2] = {0, 0};

	(void)state;
	unique.unique = 1;
	push_numbered("long", &unique, 12000);
	calls[0] = id_of("long");
	(void)sql(holder,
		  "INSERT INTO span(" SPAN_COLUMNS ") SELECT stack_id,1,0,entry_id,entry_id,entry_id,NULL,1,0,0,"
		  "UTC_TIMESTAMP(6)+INTERVAL 1 HOUR,NULL FROM entry WHERE stack_id=%" PRIu64,
		  calls[0]);
	(void)sql(holder,
		  "INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) SELECT "
		  "stack_id,entry_id,1,0,1,0,UTC_TIMESTAMP(6) FROM entry WHERE stack_id=%" PRIu64,
		  calls[0]);
	OK(jobstack_drop(h, "long", compare_progress, calls, &e));
	assert_true(calls[1] > 15);
	dropped("long");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHEDULE(drop_and_promotion), SCHEDULE(drop_and_step),	     SCHEDULE(drop_and_begin),
		SCHEDULE(drop_and_pop),	      SCHEDULE(drop_and_worker_pop), SCHEDULE(drop_and_pushes),
		SCHEDULE(prune_and_drop),     SCHEDULE(drop_late),	     SCHEDULE(drop_unheard),
		SCHEDULE(drop_refused),	      SCHEDULE(drop_and_drop),	     SCHEDULE(drop_again),
		SCHEDULE(drop_progress)};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}

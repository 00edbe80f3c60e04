/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules of a push whose names the server fetches in the middle of the transaction: a client that freezes there,
 * a stack that becomes another one meanwhile, a reply that is lost, a LOAD that arrives late.  After each the ledger is
 * proven.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

#define N 5000	       /* more than one INSERT takes */
#define LAST "/l/4999" /* so that all but a last packet has been sent when it comes */

static struct jobstack_bytes names[N];

/* A pusher behind the proxy. */
static struct rival pusher(const char *stack)
{
	static char text[N][16];
	struct rival r = distant(&between, stack);

	for (size_t i = 0; i < N; i++)
		names[i] = (struct jobstack_bytes){text[i], (size_t)snprintf(text[i], sizeof(text[i]), "/l/%zu", i)};
	r.names = names;
	r.names_n = N;
	return r;
}

/* Its names are all there, each once. */
static void all_there(const char *stack)
{
	uint64_t id = id_of(stack);

	assert_int_equal(
		sql(holder, "SELECT COUNT(*) FROM entry WHERE stack_id=%" PRIu64 " AND datapath LIKE '/l/%%'", id), N);
	assert_int_equal(sql(holder,
			     "SELECT COUNT(DISTINCT datapath) FROM entry WHERE stack_id=%" PRIu64
			     " AND datapath LIKE '/l/%%'",
			     id),
			 N);
}

/* It is frozen when the server has most of its names. */
static void freeze_it(struct rival *r)
{
	proxy_arm_for(&between, LAST);
	start(r, do_push);
	proxy_caught(&between);
	proxy_forward_half(&between);
	until_transactions(1, "t.trx_rows_modified>2000", "have most of the names");
}

/* What others do meanwhile, on the same stack.  None of it waits: what the frozen one held would be held for longer. */
static void others_work(const char *stack)
{
	struct rival w;
	struct jobstack_outcome o;

	push_numbered(stack, NULL, 10);
	w = rival_worker(stack, 0);
	OK(take_step(w.worker, NULL, 0, 4, &w.batch, NULL, &e));
	assert_true(w.batch.count == 4);
	o = outcome(jobstack_batch_entry(&w.batch, 0)->entry, 1, JOBSTACK_DONE, 0);
	OK(jobstack_worker_end(w.worker, &o, 1, NULL, &e));
	push_numbered(stack, NULL, 3000);
	look(stack);
	list(stack, JOBSTACK_IS_DONE);
	assert_true(items_n == 1);
	over(&w);
}

static void frozen(void **state)
{
	struct jobstack_push_options lifo = JOBSTACK_PUSH_OPTIONS_INIT;

	(void)state;
	for (int way = 0; way < 3; way++) {
		static const char *const stack[] = {"first", "last", "held"};
		struct rival r;

		lifo.lifo = way == 1;
		push_numbered(stack[way], &lifo, 7);
		r = pusher(stack[way]);
		r.push.atomic = way == 2;
		freeze_it(&r);
		others_work(stack[way]);
		audit(stack[way], 7 + 10 + 3000 - 1, 0, 1, 0);
		proxy_resume(&between);
		ENDS(&r, 0);
		assert_true(r.pushed.pushed == N);
		all_there(stack[way]);
		audit(stack[way], 7 + 10 + 3000 - 1 + N, 0, 1, 0);
		over(&r);
	}
}

/* Beside the frozen one's rows lie those of an atomic push that died: they can be taken away. */
static void discarded(void **state)
{
	struct jobstack_push_options atomic = JOBSTACK_PUSH_OPTIONS_INIT;
	struct rival r;

	(void)state;
	atomic.atomic = 1;
	push_numbered("beside", &atomic, 20);
	(void)sql(holder,
		  "UPDATE span,push SET class=2,span.push_id=push.push_id,ended=NULL,beat='2000-01-01' WHERE "
		  "push.stack_id=span.stack_id AND span.stack_id=%" PRIu64,
		  id_of("beside"));
	r = pusher("beside");
	(void)sql(holder, "UPDATE push SET beat=UTC_TIMESTAMP(6) WHERE stack_id=%" PRIu64, id_of("beside"));
	freeze_it(&r);
	(void)sql(holder, "UPDATE push SET beat='2000-01-01' WHERE atomic=1 AND stack_id=%" PRIu64, id_of("beside"));
	push_numbered("beside", NULL, 1);
	audit("beside", 1, 0, 0, 0);
	proxy_resume(&between);
	ENDS(&r, 0);
	all_there("beside");
	audit("beside", 1 + N, 0, 0, 0);
	over(&r);
}

/* Meanwhile the stack becomes one of unique names, and others push some of the same. */
static void named(void **state)
{
	struct jobstack_push_options unique = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_push_result result = JOBSTACK_PUSH_RESULT_INIT;
	struct rival r;

	(void)state;
	unique.unique = 1;
	push_numbered("named", NULL, 7);
	r = pusher("named");
	freeze_it(&r);
	OK(jobstack_push_many(h, "named", &unique, names, 10, &result, &e));
	assert_true(result.pushed == 10);
	proxy_resume(&between);
	ENDS(&r, 0); /* not unique itself: all of its own */
	assert_true(r.pushed.pushed == N);
	audit("named", 7 + 10 + N, 0, 0, 0);
	OK(jobstack_push_many(h, "named", &unique, names, N, &result, &e));
	assert_true(result.skipped == N);
	over(&r);
}

/* Meanwhile the push is ended by somebody who takes it for dead; or the stack is cancelled. */
static void ended(void **state)
{
	struct rival r = pusher("ended");

	(void)state;
	push_numbered("ended", NULL, 7);
	freeze_it(&r);
	(void)sql(holder, "UPDATE push SET ended=UTC_TIMESTAMP(6) WHERE ended IS NULL");
	proxy_resume(&between);
	ENDS(&r, JOBSTACK_ECONFLICT);
	audit("ended", 7, 0, 0, 0);
	over(&r);
	r = pusher("cancelled");
	push_numbered("cancelled", NULL, 7);
	freeze_it(&r);
	(void)sql(holder, "UPDATE stack SET state=2 WHERE name='cancelled'");
	proxy_resume(&between);
	ENDS(&r, JOBSTACK_ECONFLICT);
	audit("cancelled", 7, 0, 0, 0);
	over(&r);
}

/* All has come to the server, and the reply is lost. */
static void reply_lost(void **state)
{
	struct rival r = pusher("reply");

	(void)state;
	proxy_arm_for(&between, LAST);
	start(&r, do_push);
	proxy_caught(&between);
	until_transactions(1, "t.trx_rows_modified>2000", "have most of the names");
	proxy_until_names_end(&between);
	proxy_forward(&between);
	until_number(N, "SELECT pushed FROM stack WHERE name='reply'");
	proxy_drop_client(&between);
	ENDS(&r, 0);
	assert_true(r.pushed.pushed == N);
	all_there("reply");
	audit("reply", N, 0, 0, 0);
	proxy_finish(&between);
	over(&r);
}

/* The client gives it up and pushes in another way; then all of it arrives after all. */
static void late(void **state)
{
	struct rival r = pusher("late");

	(void)state;
	proxy_arm_for(&between, LAST);
	start(&r, do_push);
	proxy_caught(&between);
	until_transactions(1, "t.trx_rows_modified>2000", "have most of the names");
	proxy_until_names_end(&between);
	proxy_drop_client(&between);
	ENDS(&r, 0);
	audit("late", N, 0, 0, 0);
	proxy_deliver(&between);
	assert_true(r.pushed.pushed == N);
	all_there("late");
	audit("late", N, 0, 0, 0);
	over(&r);
}

/* The server asks for the names, and nobody hears it. */
static void request_lost(void **state)
{
	struct rival r = pusher("request");

	(void)state;
	proxy_arm_for(&between, "LOAD DATA LOCAL");
	start(&r, do_push);
	proxy_caught(&between);
	proxy_drop_client(&between);
	ENDS(&r, 0);
	proxy_deliver(&between);
	all_there("request");
	audit("request", N, 0, 0, 0);
	over(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {SCHEDULE(frozen),	  SCHEDULE(discarded),	SCHEDULE(named),
					   SCHEDULE(ended),	  SCHEDULE(reply_lost), SCHEDULE(late),
					   SCHEDULE(request_lost)};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}

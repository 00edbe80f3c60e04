/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules of a push whose names the server fetches in the middle of the transaction: a client that freezes there,
 * a stack that becomes another one meanwhile, a reply that is lost, a LOAD that arrives late, two pushes of the same
 * unique names; and what an atomic push that died has left.  After each the ledger is proven.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

#define N 5000 /* more than one INSERT takes */
/* The last name of the first LOAD, so that all but a last packet has been sent when it comes.  Where names are unique,
 * an INSERT of ten comes before it, or it would be checked first; it is smaller, and the rest is another INSERT. */
#define TEN 10
#define LAST(r) ((r)->push.unique ? "/l/4105" : "/l/4999")
#define LOADED(r) ((r)->push.unique ? (uint64_t)4106 : (uint64_t)N)

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

static struct rival unique_pusher(const char *stack)
{
	struct rival r = pusher(stack);

	r.push.unique = 1;
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

struct pausing {
	const struct rival *r;
	size_t at;
	int paused;
};

static int next_pausing(void *ctx, struct jobstack_bytes *datapath)
{
	struct pausing *p = ctx;

	if (p->r->push.unique && p->at == TEN && !p->paused) {
		p->paused = 1;
		return 2;
	}
	if (p->at == p->r->names_n)
		return 1;
	*datapath = p->r->names[p->at++];
	return 0;
}

static int do_push_pausing(struct rival *r)
{
	struct pausing p = {r, 0, 0};

	return jobstack_push_from(r->handle, r->stack, &r->push, next_pausing, &p, &r->pushed, &r->error);
}

/* It is frozen when the server has most of its names. */
static void freeze_it(struct rival *r)
{
	proxy_arm_for(&between, LAST(r));
	start(r, do_push_pausing);
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
	OK(jobstack_worker_end(w.worker, &o, 1, JOBSTACK_CAUSE_NONE, NULL, &e));
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
	for (int way = 0; way < 5; way++) {
		static const char *const stack[] = {"first", "last", "held", "unique", "unique.held"};
		struct rival r;

		lifo.lifo = way == 1;
		push_numbered(stack[way], &lifo, 7);
		r = pusher(stack[way]);
		r.push.atomic = way == 2 || way == 4;
		r.push.unique = way > 2;
		freeze_it(&r);
		others_work(stack[way]);
		audit(stack[way], 7 + 10 + 3000 - 1 + (r.push.unique ? TEN : 0), 0, 1, 0);
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

/* Nobody holds the stack's row for longer than a moment: it is free at one of some looks. */
static void stack_is_free(const char *stack)
{
	char text[200];
	int held = 1;

	(void)snprintf(text, sizeof(text), "SELECT 1 FROM %s.stack WHERE stack_id=%" PRIu64 " FOR UPDATE NOWAIT",
		       database(), id_of(stack));
	for (int looks = 0; held && looks < 20; looks++, nap(20)) {
		held = mysql_query(observer, text) != 0;
		if (!held)
			mysql_free_result(mysql_store_result(observer));
	}
	if (held)
		fail_msg("the row of the stack %s is held: %s", stack, mysql_error(observer));
}

#define HELD 2000  /* what one INSERT takes, so it is one span; it goes in two pieces */
#define PIECE 1000 /* of discard.c */

/* An atomic push of HELD names that died an hour ago. */
static void abandon(const char *stack, struct jobstack_push_options *push)
{
	push->atomic = 1;
	push_numbered(stack, push, HELD);
	(void)sql(holder,
		  "UPDATE span,push SET class=2,span.push_id=push.push_id,ended=NULL,beat='2000-01-01' WHERE "
		  "push.stack_id=span.stack_id AND span.stack_id=%" PRIu64,
		  id_of(stack));
}

static void until_held(const char *stack, uint64_t n)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		       "SELECT COALESCE(SUM(hi-lo+1),0) FROM span WHERE class=2 AND stack_id=%" PRIu64, id_of(stack));
	until_number(n, text);
}

/* Of N numbered names, those that others have pushed are known, and those of what was taken away are not. */
static void are_known(const char *stack, int n, uint64_t known)
{
	struct jobstack_push_options unique = JOBSTACK_PUSH_OPTIONS_INIT;
	uint64_t id = id_of(stack), before = sql(holder, "SELECT pushed FROM stack WHERE stack_id=%" PRIu64, id);

	unique.unique = 1;
	push_numbered(stack, &unique, (size_t)n);
	assert_int_equal(sql(holder, "SELECT pushed FROM stack WHERE stack_id=%" PRIu64, id),
			 before + (uint64_t)n - known);
	assert_int_equal(
		sql(holder,
		    "SELECT COUNT(DISTINCT datapath) FROM entry WHERE datapath LIKE '/d/%%' AND stack_id=%" PRIu64, id),
		n);
}

/* It is taken away in pieces.  In the middle of one, what is gone and what is left balance, as if the one that does it
 * was killed there; another one that takes it over does each piece once. */
static void in_pieces(void **state)
{
	static const char *const stack[] = {"fifo", "lifo", "fifo.unique", "lifo.unique"};
	struct jobstack_bytes name[] = {{"/one", 4}, {"/two", 4}};
	MYSQL *third = plain(0);

	(void)state;
	for (unsigned way = 0; way < 4; way++) {
		struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
		struct rival r = rival(stack[way]), again = rival(stack[way]);

		push.lifo = way % 2;
		push.unique = way > 1;
		abandon(stack[way], &push);
		r.names = name;
		again.names = name + 1;
		r.names_n = again.names_n = 1;
		/* while somebody is at it, other pushes need not wait */
		(void)sql(holder,
			  "UPDATE push SET ended=UTC_TIMESTAMP(6),beat=UTC_TIMESTAMP(6) WHERE stack_id=%" PRIu64,
			  id_of(stack[way]));
		others_work(stack[way]);
		until_held(stack[way], HELD);
		(void)sql(holder, "UPDATE push SET beat='2000-01-01' WHERE atomic=1 AND stack_id=%" PRIu64,
			  id_of(stack[way]));
		/* in the piece that is the second, also if it is half as large because the first one was slow */
		hold("entry WHERE entry_id=%d AND stack_id=%" PRIu64, push.lifo ? PIECE - PIECE / 4 : PIECE + PIECE / 4,
		     id_of(stack[way]));
		start(&r, do_push);
		until_waiting(1);
		until_held(stack[way], PIECE);
		audit(stack[way], PIECE + 10 + 3000 - 1, 0, 1, 0);
		(void)sql(third, "UPDATE push SET beat='2000-01-01' WHERE ended IS NOT NULL AND stack_id=%" PRIu64,
			  id_of(stack[way]));
		start(&again, do_push);
		until_waiting(2);
		release();
		ENDS(&r, 0);
		ENDS(&again, 0);
		until_held(stack[way], 0);
		audit(stack[way], 2 + 10 + 3000 - 1, 0, 1, 0);
		assert_int_equal(
			sql(holder,
			    "SELECT COUNT(*) FROM push_range LEFT JOIN entry ON entry.stack_id=push_range.stack_id AND "
			    "entry_id BETWEEN lo AND hi WHERE entry_id IS NULL"),
			0);
		are_known(stack[way], 3001, 3000);
		audit(stack[way], 2 + 10 + 3001 - 1, 0, 1, 0);
		over(&r);
		over(&again);
	}
	mysql_close(third);
}

/* The reply to a piece is lost, or the piece comes late. */
static void pieces_lost(void **state)
{
	static const char *const stack[] = {"lost", "late.piece"};
	struct jobstack_bytes name = {"/one", 4};

	(void)state;
	for (unsigned late = 0; late < 2; late++) {
		struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
		struct rival r = distant(&between, stack[late]);

		push.unique = 1;
		abandon(stack[late], &push);
		r.names = &name;
		r.names_n = 1;
		proxy_arm_for(&between, "DELETE n FROM name");
		start(&r, do_push);
		proxy_caught(&between);
		if (!late) {
			proxy_forward(&between);
			until_held(stack[late], PIECE);
		}
		proxy_drop_client(&between);
		ENDS(&r, 0);
		if (late)
			proxy_deliver(&between);
		else
			proxy_finish(&between);
		audit(stack[late], 1, 0, 0, 0);
		are_known(stack[late], HELD + 1, 0);
		audit(stack[late], 1 + HELD + 1, 0, 0, 0);
		over(&r);
	}
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

/* What others push of the same names while it is frozen: they do not wait, and it then skips those. */
static void unique_overtaken(void **state)
{
	struct rival r = unique_pusher("overtaken"), other;
	struct jobstack_push_result result = JOBSTACK_PUSH_RESULT_INIT;
	struct jobstack_push_options unique = JOBSTACK_PUSH_OPTIONS_INIT;

	(void)state;
	unique.unique = 1;
	freeze_it(&r);
	OK(jobstack_push_many(h, "overtaken", &unique, names + N - 2, 2, &result, &e));
	OK(jobstack_push_many(h, "overtaken", &unique, names, 2500, &result, &e)); /* a LOAD */
	assert_true(result.pushed == 2490 && result.skipped == TEN);
	proxy_resume(&between);
	ENDS(&r, 0);
	assert_true(r.pushed.pushed == N - 2492 && r.pushed.skipped == 2492);
	all_there("overtaken");
	audit("overtaken", N, 0, 0, 0);
	over(&r);

	/* the same names in another order, wholly */
	r = unique_pusher("overtaken2");
	freeze_it(&r);
	other = rival("overtaken2");
	other.push.unique = 1;
	other.names_n = N;
	other.names = calloc(N, sizeof(*other.names));
	assert_non_null(other.names);
	for (size_t i = 0; i < N; i++)
		other.names[i] = names[N - 1 - i];
	OK(do_push(&other));
	assert_true(other.pushed.pushed == N - TEN);
	proxy_resume(&between);
	ENDS(&r, 0);
	assert_true(r.pushed.pushed == TEN && r.pushed.skipped == N - TEN);
	all_there("overtaken2");
	audit("overtaken2", N, 0, 0, 0);
	free(other.names);
	over(&other);
	over(&r);
}

/* Two are in the middle of writing the same names: one waits for the other, and nobody for the two. */
static void unique_at_once(void **state)
{
	struct rival first = unique_pusher("once"), second = rival("once");
	uint64_t id;

	(void)state;
	second.push = first.push;
	second.names = first.names;
	second.names_n = N;
	push_numbered("once", &first.push, 7);
	id = id_of("once");
	(void)sql(holder, "START TRANSACTION");
	(void)sql(holder, "INSERT INTO name VALUES(%" PRIu64 ",UNHEX(SHA2('/l/4105',256)),1)", id);
	start(&first, do_push_pausing);
	until_waiting(1);
	start(&second, do_push_pausing);
	until_waiting(2);
	stack_is_free("once");
	others_work("once");
	release();
	ENDS(&first, 0);
	ENDS(&second, 0);
	assert_true(first.pushed.pushed + second.pushed.pushed == N);
	assert_true(first.pushed.skipped + second.pushed.skipped == N);
	all_there("once");
	audit("once", 7 + 10 + 3000 - 1 + N, 0, 1, 0);
	over(&first);
	over(&second);
}

/* All has come to the server, and the reply is lost. */
static void lose_reply(struct rival r)
{
	char pushed[100];

	proxy_arm_for(&between, LAST(&r));
	start(&r, do_push_pausing);
	proxy_caught(&between);
	until_transactions(1, "t.trx_rows_modified>2000", "have most of the names");
	proxy_until_names_end(&between);
	proxy_forward(&between);
	(void)snprintf(pushed, sizeof(pushed), "SELECT pushed FROM stack WHERE name='%s'", r.stack);
	until_number(LOADED(&r), pushed);
	proxy_drop_client(&between);
	ENDS(&r, 0);
	assert_true(r.pushed.pushed == N && r.pushed.skipped == 0);
	all_there(r.stack);
	audit(r.stack, N, 0, 0, 0);
	proxy_finish(&between);
	over(&r);
}

static void reply_lost(void **state)
{
	(void)state;
	lose_reply(pusher("reply"));
	lose_reply(unique_pusher("reply.unique"));
}

/* The client gives it up and pushes in another way; then all of it arrives after all. */
static void come_late(struct rival r)
{
	proxy_arm_for(&between, LAST(&r));
	start(&r, do_push_pausing);
	proxy_caught(&between);
	until_transactions(1, "t.trx_rows_modified>2000", "have most of the names");
	proxy_until_names_end(&between);
	proxy_drop_client(&between);
	ENDS(&r, 0);
	audit(r.stack, N, 0, 0, 0);
	proxy_deliver(&between);
	assert_true(r.pushed.pushed == N && r.pushed.skipped == 0);
	all_there(r.stack);
	audit(r.stack, N, 0, 0, 0);
	over(&r);
}

static void late(void **state)
{
	(void)state;
	come_late(pusher("late"));
	come_late(unique_pusher("late.unique"));
}

/* The server asks for the names, and nobody hears it. */
static void lose_request(struct rival r)
{
	proxy_arm_for(&between, "LOAD DATA LOCAL");
	start(&r, do_push_pausing);
	proxy_caught(&between);
	proxy_drop_client(&between);
	ENDS(&r, 0);
	proxy_deliver(&between);
	all_there(r.stack);
	audit(r.stack, N, 0, 0, 0);
	over(&r);
}

static void request_lost(void **state)
{
	(void)state;
	lose_request(pusher("request"));
	lose_request(unique_pusher("request.unique"));
}

static int next_of_many(void *ctx, struct jobstack_bytes *datapath)
{
	static char text[16];
	size_t *at = ctx;

	if (*at == 3 * N)
		return 1;
	*datapath = (struct jobstack_bytes){text, (size_t)snprintf(text, sizeof(text), "/l/%zu", (*at)++)};
	return 0;
}

static int do_push_many_loads(struct rival *r)
{
	size_t at = 0;

	return jobstack_push_from(r->handle, r->stack, &r->push, next_of_many, &at, &r->pushed, &r->error);
}

/* The connection of an atomic push ends in a LOAD, which then runs on another one and takes long: there, too, others
 * see that the push is alive. */
static void alive_elsewhere(void **state)
{
	struct rival r = distant(&between, "elsewhere");
	char shown[200];

	(void)state;
	r.push.atomic = r.push.unique = 1;
	push_numbered("elsewhere", NULL, 7);
	(void)sql(holder, "START TRANSACTION");
	(void)sql(holder, "INSERT INTO name VALUES(%" PRIu64 ",UNHEX(SHA2('/l/6000',256)),1)", id_of("elsewhere"));
	proxy_arm_for(&between, "LOAD DATA LOCAL");
	between.skip = 1; /* if the first one fails, it is the last */
	start(&r, do_push_many_loads);
	proxy_caught(&between);
	proxy_settle(&between);
	(void)snprintf(shown, sizeof(shown),
		       "SELECT IS_USED_LOCK(CONCAT('jobstack.push.',HEX(token))) IS NOT NULL FROM push WHERE ended IS "
		       "NULL AND stack_id=%" PRIu64,
		       id_of("elsewhere"));
	until_number(0, shown);
	proxy_drop_client(&between);
	until_waiting(1);
	until_number(1, shown);
	release();
	ENDS(&r, 0);
	assert_true(r.pushed.pushed == 3 * N);
	proxy_finish(&between);
	audit("elsewhere", 7 + 3 * N, 0, 0, 0);
	over(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {SCHEDULE(frozen),	     SCHEDULE(discarded),    SCHEDULE(in_pieces),
					   SCHEDULE(pieces_lost),    SCHEDULE(named),	     SCHEDULE(unique_overtaken),
					   SCHEDULE(unique_at_once), SCHEDULE(ended),	     SCHEDULE(reply_lost),
					   SCHEDULE(late),	     SCHEDULE(request_lost), SCHEDULE(alive_elsewhere)};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedules of moving dead entries to another stack: beside requeues, other moves (the other way, too), a cancel, a
 * push of unique names; and what a requeue and a move make of a stack that was dropped and made anew, and of tries that
 * nobody heard of. After each the ledgers of both stacks are proven.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

static struct rival mover(const char *stack, const char *to)
{
	struct rival r = rival(stack);

	r.to = to;
	return r;
}

static uint64_t moved(const char *stack)
{
	return sql(holder, "SELECT moved FROM stack WHERE name='%s'", stack);
}

/* Two move the same entries, to the same stack or to two. */
static void two_moves(void **state)
{
	static const char *const from[] = {"same", "apart"}, *const to[2][2] = {{"same.to", "same.to"},
										{"apart.1", "apart.2"}};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rival a, b;

		make_dead(from[i], 3);
		a = mover(from[i], to[i][0]);
		b = mover(from[i], to[i][1]);
		hold("set_aside WHERE stack_id=%" PRIu64 " AND entry_id=2", id_of(from[i]));
		start(&a, do_move);
		until_waiting(1);
		start(&b, do_move);
		until_waiting(2);
		release();
		ENDS(&a, 0);
		ENDS(&b, 0);
		assert_true(a.requeued.requeued == 3 && b.requeued.requeued == 0);
		audit(from[i], 0, 0, 0, 0);
		audit(to[i][0], 3, 0, 0, 0);
		assert_int_equal(moved(from[i]), 3);
		over(&a);
		over(&b);
	}
}

/* One goes back and elsewhere at once: whoever comes first has all three. */
static void move_and_requeue(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		const char *from = first == 0 ? "mr" : "rm", *to = first == 0 ? "mr.to" : "rm.to";
		struct rival m, r;

		make_dead(from, 3);
		m = mover(from, to);
		r = rival(from);
		hold("set_aside WHERE stack_id=%" PRIu64 " AND entry_id=2", id_of(from));
		start(first == 0 ? &m : &r, first == 0 ? do_move : do_requeue);
		until_waiting(1);
		start(first == 0 ? &r : &m, first == 0 ? do_requeue : do_move);
		until_waiting(2);
		release();
		ENDS(&m, 0);
		ENDS(&r, 0);
		assert_true(m.requeued.requeued == (first == 0 ? 3 : 0) && r.requeued.requeued == (first == 0 ? 0 : 3));
		audit(from, first == 0 ? 0 : 3, 0, 0, 0);
		assert_int_equal(moved(from), first == 0 ? 3 : 0);
		over(&m);
		over(&r);
	}
}

/* A pop and a cancel of the same entries at once, and either of them first: who comes first has them. */
static void cancel_and_pop(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		const char *stack = first == 0 ? "cp" : "pc";
		struct rival c, p;

		push_numbered(stack, NULL, 3);
		c = rival(stack);
		p = rival(stack);
		c.filter.match = "/d/[23]";
		p.k = 3;
		hold("span WHERE stack_id=%" PRIu64, id_of(stack));
		start(first == 0 ? &c : &p, first == 0 ? do_cancel : do_pop);
		until_waiting(1);
		start(first == 0 ? &p : &c, first == 0 ? do_pop : do_cancel);
		until_waiting(2);
		release();
		ENDS(&c, 0);
		ENDS(&p, 0);
		assert_true(c.requeued.requeued == (first == 0 ? 2 : 0) && p.batch.count == (first == 0 ? 1 : 3));
		audit(stack, 0, first == 0 ? 1 : 3, 0, 0);
		over(&c);
		over(&p);
	}
}

/* Two in opposite directions: the second waits for the first at the first lock, and holds nothing that
 * the first wants. */
static void crosswise(void **state)
{
	(void)state;
	for (int up = 0; up < 2; up++) {
		const char *x = up ? "up.x" : "down.x", *y = up ? "up.y" : "down.y";
		struct rival a, b;

		make_dead(up ? x : y, 3);
		make_dead(up ? y : x, 2);
		a = mover(x, y);
		b = mover(y, x);
		hold("set_aside WHERE stack_id=%" PRIu64 " AND entry_id=2", id_of(x));
		start(&a, do_move);
		until_waiting(1);
		start(&b, do_move);
		until_waiting(2);
		nap(110);
		assert_true(sql(observer,
				"SELECT MAX(trx_rows_locked) FROM information_schema.innodb_trx t JOIN "
				"information_schema.processlist p ON p.id=t.trx_mysql_thread_id WHERE p.db='%s' AND "
				"trx_state='LOCK WAIT' AND trx_rows_modified=0",
				database()) <= 1);
		release();
		ENDS(&a, 0);
		ENDS(&b, 0);
		assert_true(a.requeued.requeued == (up ? 3 : 2) && b.requeued.requeued == (up ? 2 : 3));
		audit(x, up ? 2 : 3, 0, 0, 0);
		audit(y, up ? 3 : 2, 0, 0, 0);
		over(&a);
		over(&b);
	}
}

/* The other stack is cancelled when the move has looked and not yet moved. */
static void to_a_cancelled_one(void **state)
{
	struct rival a;

	(void)state;
	make_dead("tc", 3);
	push_numbered("tc.to", NULL, 1);
	a = mover("tc", "tc.to");
	(void)sql(holder, "START TRANSACTION");
	(void)sql(holder, "UPDATE stack SET state=2 WHERE name='tc.to'");
	start(&a, do_move);
	until_waiting(1);
	(void)sql(holder, "COMMIT");
	ENDS(&a, JOBSTACK_ECONFLICT);
	assert_non_null(strstr(a.error.text, "cancelled"));
	assert_true(a.requeued.requeued == 0);
	audit("tc", 0, 0, 0, 3);
	audit("tc.to", 1, 0, 0, 0);
	over(&a);
}

/* A push of unique names to the other stack waits for a move, and skips what has come by it. */
static void move_and_unique_push(void **state)
{
	struct jobstack_bytes names[] = {{"/d/2", 4}, {"/new", 4}};
	struct rival a, p;

	(void)state;
	make_dead("mu", 3);
	a = mover("mu", "mu.to");
	p = rival("mu.to");
	p.push.unique = 1;
	OK(jobstack_push(h, "mu.to", &p.push, "/d/1", &e));
	p.names = names;
	p.names_n = 2;
	hold("set_aside WHERE stack_id=%" PRIu64 " AND entry_id=2", id_of("mu"));
	start(&a, do_move);
	until_waiting(1);
	start(&p, do_push);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&p, 0);
	assert_true(a.requeued.requeued == 3);
	assert_true(p.pushed.pushed == 1 && p.pushed.skipped == 1);
	audit("mu", 0, 0, 0, 0);
	audit("mu.to", 5, 0, 0, 0); /* "/d/1" twice, as by any push that is not unique */
	over(&a);
	over(&p);
}

/* A packet is lost, and before it is sent again somebody else has taken one of the three: only those count that were
 * taken, at the limit, too. */
static void lost_and_another(void **state)
{
	static const uint64_t two[] = {2};

	(void)state;
	for (int move = 0; move < 2; move++) {
		const char *from = move ? "other.m" : "other.r", *to = move ? "other.to" : NULL;
		struct rival a, b;
		uint64_t before;

		make_dead(from, 3);
		a = distant(&between, from);
		a.to = to;
		a.filter.limit = 3;
		b = rival(from);
		b.filter.states = JOBSTACK_IS_DEAD;
		b.filter.entries = two;
		b.filter.entries_n = 1;
		proxy_arm(&between, PROXY_KEEP, 0);
		start(&a, move ? do_move : do_requeue);
		proxy_caught(&between);
		OK(do_requeue(&b));
		proxy_drop_client(&between);
		ENDS(&a, 0);
		assert_true(a.requeued.requeued == 2 && b.requeued.requeued == 1);
		before = digest();
		proxy_deliver(&between);
		assert_true(digest() == before);
		audit(from, move ? 1 : 3, 0, 0, 0);
		over(&a);
		over(&b);
	}
}

/* The stack is dropped, and made anew, between two looks: what is dead in that one was not meant. */
static void another_of_the_name(void **state)
{
	(void)state;
	for (int move = 0; move < 2; move++) {
		const char *from = move ? "anew.m" : "anew.r";
		struct rival a;

		make_dead(from, 3);
		a = distant(&between, from);
		a.to = move ? "anew.to" : NULL;
		proxy_arm(&between, PROXY_KEEP, 0);
		start(&a, move ? do_move : do_requeue);
		proxy_caught(&between);
		OK(jobstack_drop(h, from, NULL, NULL, &e));
		make_dead(from, 2);
		proxy_drop_client(&between);
		ENDS(&a, JOBSTACK_ECONFLICT);
		assert_non_null(strstr(a.error.text, "was dropped meanwhile"));
		assert_true(a.requeued.requeued == 0);
		proxy_deliver(&between);
		audit(from, 0, 0, 0, 2);
		over(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {SCHEDULE(two_moves),		 SCHEDULE(move_and_requeue),
					   SCHEDULE(cancel_and_pop),	 SCHEDULE(crosswise),
					   SCHEDULE(to_a_cancelled_one), SCHEDULE(move_and_unique_push),
					   SCHEDULE(lost_and_another),	 SCHEDULE(another_of_the_name)};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}

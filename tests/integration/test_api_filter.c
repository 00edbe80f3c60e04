/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public API against a real server: what a filter lets through, in listing, requeueing and moving.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include <stdarg.h>

static struct jobstack_filter f;

static void anew(unsigned states)
{
	f = (struct jobstack_filter)JOBSTACK_FILTER_INIT;
	f.states = states;
}

/* The listing by f is just these entries, in this order, up to a 0. */
static void lists(const char *stack, ...)
{
	va_list args;
	uint64_t want;
	size_t n = 0;

	items_n = 0;
	OK(jobstack_list(h, stack, &f, take_item, NULL, &e));
	va_start(args, stack);
	while ((want = va_arg(args, uint64_t)) != 0) {
		if (n == items_n || items[n].entry != want)
			fail_msg("item %zu of %zu is %u, not %u", n, items_n,
				 n < items_n ? (unsigned)items[n].entry : 0, (unsigned)want);
		n++;
	}
	va_end(args);
	assert_int_equal(items_n, n);
}
#define N(n) ((uint64_t)(n))

/* Eight entries: 1 done; 2 to 4 dead by exit 3, 4 and signal 9; 5 dead by exit 3 of its second attempt, after 4; 6
 * failed and to be tried again, by exit 3; 7 runs; 8 is ready. */
static void eight(const char *stack)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_worker_options w = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_outcome o[6];
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	push.policy = &policy;
	policy.retry_delay_us = 0;
	push_numbered(stack, &push, 5);
	w.node = "n1";
	OK(jobstack_pop(h, stack, &w, 5, &b, &e));
	jobstack_batch_free(&b);
	o[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	o[1] = outcome(2, 1, JOBSTACK_FAILED, 3);
	o[2] = outcome(3, 1, JOBSTACK_FAILED, 4);
	o[3] = outcome(4, 1, JOBSTACK_FAILED, -1);
	o[3].signal = 9;
	o[3].reason = "killed by signal 9 (Killed)";
	o[4] = outcome(5, 1, JOBSTACK_FAILED, 4);
	o[1].fatal = o[2].fatal = o[3].fatal = 1;
	OK(jobstack_close(h, stack, o, 5, NULL, &e));
	w.node = "n2";
	OK(jobstack_pop(h, stack, &w, 1, &b, &e)); /* it is due at once */
	assert_true(jobstack_batch_entry(&b, 0)->entry == 5 && jobstack_batch_entry(&b, 0)->attempt == 2);
	jobstack_batch_free(&b);
	o[0] = outcome(5, 2, JOBSTACK_FAILED, 3);
	o[0].fatal = 1;
	OK(jobstack_close(h, stack, o, 1, NULL, &e));
	for (uint64_t i = 6; i < 8; i++) {
		OK(jobstack_push(h, stack, NULL, i == 6 ? "/d/6" : "/d/7", &e));
		OK(jobstack_pop(h, stack, &w, 1, &b, &e));
		assert_true(jobstack_batch_entry(&b, 0)->entry == i);
		jobstack_batch_free(&b);
	}
	OK(jobstack_push(h, stack, NULL, "/d/8", &e));
	o[0] = outcome(6, 1, JOBSTACK_FAILED, 3);
	OK(jobstack_close(h, stack, o, 1, NULL, &e));
	look(stack);
	assert_true(st.done == 1 && st.dead == 4 && st.running == 1 && st.ready == 1 && st.waiting == 1);
}

static void by_their_end(void **state)
{
	struct jobstack_range three = {3, 3}, both[] = {{4, 4}, {0, 1}};
	const char *const n1[] = {"n1"}, *const n2[] = {"elsewhere", "n2"};
	int32_t kill[] = {11, 9};

	(void)state;
	eight("end");
	anew(JOBSTACK_IS_DEAD);
	lists("end", N(2), N(3), N(4), N(5), N(0));
	f.exit_codes = &three;
	f.exit_codes_n = 1;
	lists("end", N(2), N(5), N(0)); /* of 5 the last attempt counts */
	f.states = 0;
	lists("end", N(6), N(2), N(5), N(0));
	f.states = JOBSTACK_IS_RUNNING;
	lists("end", N(0));
	f.states = JOBSTACK_IS_FAILED;
	lists("end", N(2), N(5), N(6), N(0));
	f.exit_codes = both;
	f.exit_codes_n = 2;
	f.states = JOBSTACK_IS_DONE | JOBSTACK_IS_DEAD;
	lists("end", N(1), N(3), N(0));
	anew(0);
	f.signals = kill;
	f.signals_n = 2;
	lists("end", N(4), N(0));
	anew(0);
	f.reason = "signal 9";
	lists("end", N(4), N(0));
	f.reason = "SIGNAL 9";
	lists("end", N(0));
	anew(0);
	f.nodes = n1;
	f.nodes_n = 1;
	lists("end", N(1), N(2), N(3), N(4), N(0));
	f.nodes = n2;
	f.nodes_n = 2;
	lists("end", N(6), N(7), N(5), N(0));
	f.states = JOBSTACK_IS_DEAD;
	f.exit_codes = &three;
	f.exit_codes_n = 1;
	lists("end", N(5), N(0));
	anew(0);
	f.newer_us = INT64_C(3600000000);
	lists("end", N(6), N(1), N(2), N(3), N(4), N(5), N(0));
	f.newer_us = 0;
	f.older_us = INT64_C(3600000000);
	lists("end", N(0));
}

static void told_once(void **state)
{
	(void)state;
	eight("once");
	anew(JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED);
	lists("once", N(2), N(3), N(4), N(5), N(6), N(0));
	assert_true(items[0].state == JOBSTACK_IS_DEAD && items[4].state == JOBSTACK_IS_FAILED);
	anew(JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_RUNNING | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST);
	lists("once", N(8), N(7), N(2), N(3), N(4), N(5), N(6), N(0));
	anew(0);
	lists("once", N(8), N(6), N(7), N(1), N(2), N(3), N(4), N(5), N(0));
}

static void by_name(void **state)
{
	static const char *const names[] = {"/a/1.nc", "/a/b/2.nc", "/a/[x]",  "/a/50%_|\\",
					    "/a/\xe4", "/A/1.nc",   "/a/1.nc4"};
	uint64_t some[] = {1, 3, 5, 7, 99};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		OK(jobstack_push(h, "name", NULL, names[i], &e));
	anew(0);
	f.match = "/a/*.nc";
	lists("name", N(1), N(2), N(0));
	f.match = "/a/?";
	lists("name", N(5), N(0));
	f.match = "/[aA]/1.*";
	lists("name", N(1), N(6), N(7), N(0));
	f.match = "/a/[[]x\\]";
	lists("name", N(3), N(0));
	f.match = "*%_|\\\\";
	lists("name", N(4), N(0));
	f.match = "/a/[!a-z[]*";
	lists("name", N(1), N(4), N(5), N(7), N(0));
	f.limit = 2;
	lists("name", N(1), N(4), N(0));
	f.limit = 0;
	f.entries = some;
	f.entries_n = 5;
	lists("name", N(1), N(5), N(7), N(0));
	f.match = "/a/[";
	GIVES(JOBSTACK_EUSAGE, jobstack_list(h, "name", &f, take_item, NULL, &e));
	f.match = NULL;
	f.size = 1;
	GIVES(JOBSTACK_EUSAGE, jobstack_list(h, "name", &f, take_item, NULL, &e));
}

static void requeued(void **state)
{
	struct jobstack_requeue_result r = JOBSTACK_REQUEUE_RESULT_INIT;
	struct jobstack_range three = {3, 3};
	uint64_t named[] = {1, 2, 3, 8};

	(void)state;
	eight("back");
	anew(JOBSTACK_IS_DEAD);
	f.exit_codes = &three;
	f.exit_codes_n = 1;
	OK(jobstack_requeue(h, "back", &f, 1, &r, &e));
	assert_true(r.requeued == 2);
	f.states = 0;
	f.entries = named;
	f.entries_n = 4;
	OK(jobstack_requeue(h, "back", &f, 0, &r, &e)); /* of the named ones, the one that ended so */
	assert_true(r.requeued == 1 && r.refused == 3 && r.missing == 0);
	f.entries = NULL;
	f.entries_n = 0;
	f.match = "/d/[0-9]";
	f.limit = 5;
	OK(jobstack_requeue(h, "back", &f, 0, &r, &e));
	assert_true(r.requeued == 1);
	look("back");
	assert_true(st.dead == 2 && st.done == 1);
	anew(JOBSTACK_IS_DONE);
	f.match = "/d/2";
	OK(jobstack_requeue(h, "back", &f, 0, &r, &e));
	assert_true(r.requeued == 0);
	f.match = "/d/1";
	OK(jobstack_requeue(h, "back", &f, 0, &r, &e));
	assert_true(r.requeued == 1);
	OK(jobstack_check(h, "back", NULL, NULL, NULL, &e));
}

static void moves(void **state)
{
	struct jobstack_move_options o = JOBSTACK_MOVE_OPTIONS_INIT;
	struct jobstack_range three = {3, 3};
	struct jobstack_requeue_result r = JOBSTACK_REQUEUE_RESULT_INIT;
	uint64_t named[] = {2, 3, 5, 8, 99};
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	eight("here");
	anew(0);
	f.exit_codes = &three;
	f.exit_codes_n = 1;
	o.to = "there";
	o.dry_run = 1;
	OK(jobstack_move(h, "here", &f, &o, &r, &e));
	assert_true(r.requeued == 2);
	GIVES(JOBSTACK_EMISSING, jobstack_status(h, "there", take_status, NULL, &e));
	o.dry_run = 0;
	OK(jobstack_move(h, "here", &f, &o, &r, &e));
	assert_true(r.requeued == 2);
	look("here");
	assert_true(st.moved == 2 && st.dead == 2 && st.pushed == 8);
	look("there");
	assert_true(st.pushed == 2 && st.ready == 2 && st.retry_delay_us == 0);
	anew(JOBSTACK_IS_MOVED);
	lists("here", N(2), N(5), N(0));
	assert_true(items[0].state == JOBSTACK_IS_MOVED && items[0].exit_code == 3 && items[0].to_entry == 1 &&
		    items[1].to_entry == 2);
	anew(JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED);
	lists("here", N(3), N(4), N(6), N(0));
	anew(0);
	f.entries = named;
	f.entries_n = 5;
	OK(jobstack_requeue(h, "here", &f, 0, &r, &e)); /* what has moved does not come back */
	assert_true(r.requeued == 1 && r.refused == 3 && r.missing == 1);
	OK(jobstack_move(h, "here", &f, &o, &r, &e));
	assert_true(r.requeued == 0 && r.refused == 4 && r.missing == 1);
	/* there they are as new */
	OK(jobstack_pop(h, "there", NULL, 2, &b, &e));
	assert_true(b.count == 2 && jobstack_batch_entry(&b, 0)->attempt == 1 &&
		    jobstack_batch_entry(&b, 0)->fails == 0);
	assert_string_equal(jobstack_batch_entry(&b, 0)->datapath, "/d/2");
	assert_string_equal(jobstack_batch_entry(&b, 1)->datapath, "/d/5");
	jobstack_batch_free(&b);
	OK(jobstack_check(h, "here", NULL, NULL, NULL, &e));
	OK(jobstack_check(h, "there", NULL, NULL, NULL, &e));
}

static void refusals(void **state)
{
	struct jobstack_move_options o = JOBSTACK_MOVE_OPTIONS_INIT;
	struct jobstack_push_options relative = JOBSTACK_PUSH_OPTIONS_INIT;

	(void)state;
	make_dead("from", 2);
	o.to = "from";
	GIVES(JOBSTACK_EUSAGE, jobstack_move(h, "from", NULL, &o, NULL, &e));
	o.to = "a/b";
	GIVES(JOBSTACK_EUSAGE, jobstack_move(h, "from", NULL, &o, NULL, &e));
	o.to = NULL;
	GIVES(JOBSTACK_EUSAGE, jobstack_move(h, "from", NULL, &o, NULL, &e));
	o.to = "to";
	GIVES(JOBSTACK_EMISSING, jobstack_move(h, "nowhere", NULL, &o, NULL, &e));
	anew(JOBSTACK_IS_DONE);
	GIVES(JOBSTACK_EUSAGE, jobstack_move(h, "from", &f, &o, NULL, &e));
	push_numbered("to", NULL, 1);
	OK(jobstack_set_state(h, "to", JOBSTACK_CANCELLED, NULL, &e));
	GIVES(JOBSTACK_ECONFLICT, jobstack_move(h, "from", NULL, &o, NULL, &e));
	OK(jobstack_set_state(h, "to", JOBSTACK_PAUSED, NULL, &e));
	relative.cwd = "/one";
	OK(jobstack_push(h, "from", &relative, "relative", &e));
	relative.cwd = "/other";
	OK(jobstack_push(h, "to", &relative, "relative", &e));
	OK(jobstack_move(h, "from", NULL, &o, NULL, &e)); /* these two are absolute */
	look("to");
	assert_true(st.pushed == 4 && st.state == JOBSTACK_PAUSED);
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
	OK(jobstack_pop(h, "from", NULL, 1, &b, &e));
	jobstack_batch_free(&b);
	struct jobstack_outcome end = outcome(3, 1, JOBSTACK_FAILED, 1);
	OK(jobstack_close(h, "from", &end, 1, NULL, &e));
	GIVES(JOBSTACK_ECONFLICT, jobstack_move(h, "from", NULL, &o, NULL, &e));
	assert_non_null(strstr(e.text, "/other"));
	o.dry_run = 1;
	GIVES(JOBSTACK_ECONFLICT, jobstack_move(h, "from", NULL, &o, NULL, &e));
	o.dry_run = 0;
	look("from");
	assert_true(st.dead == 1 && st.moved == 2);
	OK(jobstack_set_state(h, "from", JOBSTACK_CANCELLED, NULL, &e)); /* what is given up can go on elsewhere */
	o.to = "third";
	OK(jobstack_move(h, "from", NULL, &o, NULL, &e));
	look("third");
	assert_true(st.pushed == 1 && st.ready == 1);
	assert_string_equal(st_cwd, "/one");
	OK(jobstack_check(h, "from", NULL, NULL, NULL, &e));
	OK(jobstack_check(h, "to", NULL, NULL, NULL, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(by_their_end), cmocka_unit_test(told_once),
					   cmocka_unit_test(by_name),	   cmocka_unit_test(requeued),
					   cmocka_unit_test(moves),	   cmocka_unit_test(refusals)};

	return cmocka_run_group_tests(tests, init_fixture, close_fixture);
}

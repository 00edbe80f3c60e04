/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is to ask, and the answer for all (jobstack_ask): of many at once one; again after the time; after a reply was
 * lost; beside a clock that jumps; and an answer that comes too late.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

#define MINUTE_US INT64_C(60000000)
#define ASKERS 12

static char token[33], other[33], answer[300];
static int64_t age;

static int ask(const char *question, int64_t every_us, char own[33])
{
	return jobstack_ask(h, question, every_us, own, answer, sizeof(answer), &age, &e);
}

/* Moves the moments when questions were asked. */
static void shift_clock(const char *by)
{
	(void)sql(holder, "UPDATE slurm_answer SET asked=asked%s", by);
}

static void one_asks(void **state)
{
	(void)state;
	OK(ask("a", MINUTE_US, token));
	GIVES(JOBSTACK_NOTHING, ask("a", MINUTE_US, other));
	assert_true(age >= 0 && age < MINUTE_US);
	assert_string_equal(answer, "");
	OK(ask("b", MINUTE_US, other)); /* another question */
	OK(jobstack_answer(h, "a", token, "42 'x'\n%s", &e));
	GIVES(JOBSTACK_NOTHING, ask("a", MINUTE_US, other));
	assert_string_equal(answer, "42 'x'\n%s");
	GIVES(JOBSTACK_NOTHING, jobstack_answer(h, "a", other, "43", &e)); /* it was not to ask */
	GIVES(JOBSTACK_NOTHING, jobstack_answer(h, "nobody's", token, "43", &e));
	GIVES(JOBSTACK_NOTHING, ask("a", MINUTE_US, other));
	assert_string_equal(answer, "42 'x'\n%s");
}

/* Who got the right, and was killed then, keeps others waiting for that time; its answer comes too late then. */
static void after_the_time(void **state)
{
	(void)state;
	OK(ask("late", MINUTE_US, token));
	shift_clock("-INTERVAL 59 SECOND");
	GIVES(JOBSTACK_NOTHING, ask("late", MINUTE_US, other));
	shift_clock("-INTERVAL 1 SECOND");
	OK(ask("late", MINUTE_US, other));
	GIVES(JOBSTACK_NOTHING, jobstack_answer(h, "late", token, "old", &e));
	OK(jobstack_answer(h, "late", other, "new", &e));
	GIVES(JOBSTACK_NOTHING, ask("late", MINUTE_US, token));
	assert_string_equal(answer, "new");
}

/* Who got no answer lets others ask sooner; a second try, as after a lost reply, does not count. */
static void unanswered(void **state)
{
	(void)state;
	OK(ask("vain", MINUTE_US, token));
	GIVES(JOBSTACK_NOTHING, jobstack_unanswered(h, "vain", other, MINUTE_US / 2, &e));
	OK(jobstack_unanswered(h, "vain", token, MINUTE_US / 2, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_unanswered(h, "vain", token, MINUTE_US / 2, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_answer(h, "vain", token, "late", &e));
	GIVES(JOBSTACK_NOTHING, ask("vain", MINUTE_US, other));
	assert_true(age >= MINUTE_US / 2);
	OK(ask("vain", MINUTE_US / 2, other));
	OK(jobstack_answer(h, "vain", other, "new", &e));
}

/* The server's clock was ahead, and is set right: nobody has to wait until it has come there again.  If it was ahead by
 * less than the time, nobody asks twice in it. */
static void clock_set_back(void **state)
{
	(void)state;
	OK(ask("clock", MINUTE_US, token));
	shift_clock("+INTERVAL 40 SECOND");
	GIVES(JOBSTACK_NOTHING, ask("clock", MINUTE_US, other));
	shift_clock("+INTERVAL 300 DAY");
	OK(ask("clock", MINUTE_US, token));
	GIVES(JOBSTACK_NOTHING, ask("clock", MINUTE_US, other));
}

/* Who only looks changes nothing. */
static void looked_at(void **state)
{
	(void)state;
	OK(ask("look", MINUTE_US, NULL));
	assert_true(age == INT64_MAX); /* nobody ever asked */
	OK(ask("look", MINUTE_US, NULL));
	OK(ask("look", MINUTE_US, token));
	OK(jobstack_answer(h, "look", token, "seen", &e));
	GIVES(JOBSTACK_NOTHING, ask("look", MINUTE_US, NULL));
	assert_string_equal(answer, "seen");
	shift_clock("-INTERVAL 1 HOUR");
	OK(ask("look", MINUTE_US, NULL));
	assert_string_equal(answer, "seen");
	OK(ask("look", MINUTE_US, other));
	GIVES(JOBSTACK_NOTHING, jobstack_answer(h, "look", token, "late", &e));
}

/* Another question with the same number, as by a hash that two have in common. */
static void same_number(void **state)
{
	(void)state;
	OK(ask("mine", MINUTE_US, token));
	OK(jobstack_answer(h, "mine", token, "of mine", &e));
	(void)sql(holder, "UPDATE slurm_answer SET text=REPLACE(text,'mine\n','mine2\n')");
	GIVES(JOBSTACK_NOTHING, ask("mine", MINUTE_US, other));
	assert_string_equal(answer, "");
	shift_clock("-INTERVAL 1 HOUR");
	OK(ask("mine", MINUTE_US, token));
}

static void forgotten(void **state)
{
	(void)state;
	OK(ask("long ago", MINUTE_US, token));
	shift_clock("-INTERVAL 49 HOUR");
	OK(ask("today", MINUTE_US, token));
	/* only those whose numbers are near are looked at */
	(void)sql(holder, "UPDATE slurm_answer a JOIN slurm_answer b SET a.question=b.question+1 WHERE "
			  "a.text LIKE '%%long ago%%' AND b.text LIKE '%%today%%'");
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM slurm_answer WHERE text LIKE '%%long ago%%'"), 1);
	OK(jobstack_answer(h, "today", token, "x", &e));
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM slurm_answer WHERE text LIKE '%%long ago%%'"), 0);
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM slurm_answer WHERE text LIKE '%%today%%'"), 1);
}

struct asker {
	pthread_t thread;
	struct jobstack *handle;
	int won;
};

static void *ask_in_thread(void *arg)
{
	struct asker *a = arg;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char own[33], text[100];
	int64_t ago;

	for (int i = 0; i < 20; i++) {
		char question[30];

		(void)snprintf(question, sizeof(question), "crowd %d", i);
		a->won += jobstack_ask(a->handle, question, MINUTE_US, own, text, sizeof(text), &ago, &error) == 0;
		assert_int_equal(error.code, 0);
	}
	return NULL;
}

static void crowd(void **state)
{
	struct asker a[ASKERS] = {{0}};
	int won = 0;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ASKERS; i++) {
			a[i] = (struct asker){.handle = open_one()};
			assert_int_equal(pthread_create(&a[i].thread, NULL, ask_in_thread, &a[i]), 0);
		}
		for (size_t i = 0; i < ASKERS; i++) {
			assert_int_equal(pthread_join(a[i].thread, NULL), 0);
			won += a[i].won;
			jobstack_free(a[i].handle);
		}
		assert_int_equal(won, 20 * (round + 1));
		shift_clock("-INTERVAL 1 HOUR"); /* the rows are there now */
	}
}

/* ------------------------------------------------------------------------------------------------- lost and late */

static struct proxy between;

static int do_ask(struct rival *r)
{
	char text[100];
	int64_t ago;

	return jobstack_ask(r->handle, r->stack, MINUTE_US, token, text, sizeof(text), &ago, &r->error);
}

/* Begins to ask behind the proxy, which catches the packet. */
static void begin(struct rival *r, const char *question, int is_new, enum proxy_catch what)
{
	*r = distant(&between, question);
	if (!is_new) {
		OK(ask(question, MINUTE_US, token));
		shift_clock("-INTERVAL 1 HOUR");
	}
	proxy_arm(&between, what, 0);
	start(r, do_ask);
	proxy_caught(&between);
}

/* It was told to ask, so nobody else is, and its answer counts. */
static void end(struct rival *r)
{
	ENDS(r, 0);
	GIVES(JOBSTACK_NOTHING, ask(r->stack, MINUTE_US, other));
	OK(jobstack_answer(h, r->stack, token, "yes", &e));
}

static void reply_lost(void **state)
{
	(void)state;
	for (int is_new = 0; is_new < 2; is_new++) {
		struct rival r;

		begin(&r, is_new ? "reply new" : "reply", is_new, PROXY_SWALLOW);
		proxy_settle(&between);
		proxy_drop_client(&between);
		end(&r);
		proxy_finish(&between);
		over(&r);
	}
}

static void packet_late(void **state)
{
	(void)state;
	for (int is_new = 0; is_new < 2; is_new++) {
		struct rival r;

		begin(&r, is_new ? "packet new" : "packet", is_new, PROXY_KEEP);
		proxy_drop_client(&between);
		end(&r);
		proxy_deliver(&between); /* which changes nothing any more */
		GIVES(JOBSTACK_NOTHING, ask(r.stack, MINUTE_US, other));
		assert_string_equal(answer, "yes");
		over(&r);
	}
}

/* While its packet was under way, another was told to ask. */
static void overtaken(void **state)
{
	(void)state;
	for (int is_new = 0; is_new < 2; is_new++) {
		struct rival r;

		begin(&r, is_new ? "second new" : "second", is_new, PROXY_KEEP);
		OK(ask(r.stack, MINUTE_US, other));
		proxy_resume(&between);
		ENDS(&r, JOBSTACK_NOTHING);
		OK(jobstack_answer(h, r.stack, other, "yes", &e));
		over(&r);
	}
}

static int ask_setup(void **state)
{
	int status = init_fixture(state);

	holder = plain(0);
	proxy_begin(&between);
	return status;
}

static int ask_teardown(void **state)
{
	proxy_end(&between);
	mysql_close(holder);
	return close_fixture(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_asks),	  cmocka_unit_test(after_the_time), cmocka_unit_test(unanswered),
		cmocka_unit_test(clock_set_back), cmocka_unit_test(looked_at),	    cmocka_unit_test(same_number),
		cmocka_unit_test(forgotten),	  cmocka_unit_test(crowd),	    cmocka_unit_test(reply_lost),
		cmocka_unit_test(packet_late),	  cmocka_unit_test(overtaken)};

	return cmocka_run_group_tests(tests, ask_setup, ask_teardown);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * core without a server: lists of entries as text, spans as SQL, claims in memory.
 */
#include "queue/claim.h"
#include "queue/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct js_stack stack = {.id = 3, .max_attempts = 3, .max_losses = 5};
static const struct js_span ready = {JS_READY, 0, 2, 1, 0, 0};

static void intervals(void **state)
{
	uint64_t ids[] = {7, 8, 9};
	struct js_sql sql = {0};

	(void)state;
	stack.lifo = 0;
	js_span_insert(&sql, &stack, &ready, ids, 3);
	assert_non_null(strstr(sql.text.data, "VALUES(3,0,0,9,7,9,NULL,2,1,0,NULL);"));
	js_sql_free(&sql);
	stack.lifo = 1;
	js_span_insert(&sql, &stack, &ready, ids, 3);
	assert_non_null(strstr(sql.text.data, "VALUES(3,0,0,-7,7,9,NULL,2,1,0,NULL);"));
	js_sql_free(&sql);
	js_span_insert(&sql, &stack, &ready, ids, 0);
	assert_int_equal(sql.statements, 0);
	js_sql_free(&sql);
}

static void lists(void **state)
{
	uint64_t ids[1200], back[500];
	struct js_sql sql = {0};
	static const char text[] = "0000000005,00000000FF,FFFFFFFFFF,";

	(void)state;
	stack.lifo = 0;
	for (size_t i = 0; i < 1200; i++)
		ids[i] = 2 * i + 1;
	js_span_insert(&sql, &stack, &ready, ids, 1200);
	assert_int_equal(sql.statements, 3); /* 500 a list */
	js_sql_free(&sql);
	assert_int_equal(js_span_read_ids(text, 33, 0, 3, back), 0);
	assert_true(back[0] == 5 && back[1] == 255 && back[2] == JS_ENTRY_MAX);
	assert_int_equal(js_span_read_ids(text, 33, 1, 2, back), 0);
	assert_true(back[0] == 255);
	assert_int_equal(js_span_read_ids(text, 33, 2, 2, back), -1);
	assert_int_equal(js_span_read_ids(text, 32, 0, 1, back), -1);
	assert_int_equal(js_span_read_ids("00000000zz,", 11, 0, 1, back), -1);
	assert_int_equal(js_span_read_ids(NULL, 0, 0, 0, back), -1);
}

static struct jobstack_outcome outcome(uint64_t entry, enum jobstack_verdict verdict)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;

	o.entry = entry;
	o.attempt = 1;
	o.verdict = verdict;
	return o;
}

static void claims(void **state)
{
	struct js_claim *list = js_claim_new(1, NULL, 10, 5);
	struct js_claim_sums sums;
	struct jobstack_error e = JOBSTACK_ERROR_INIT;
	struct jobstack_outcome o[3] = {outcome(10, JOBSTACK_DONE), outcome(14, JOBSTACK_FAILED),
					outcome(10, JOBSTACK_DONE)};
	size_t place;

	(void)state;
	assert_non_null(list);
	list->attempt = 1;
	assert_ptr_equal(js_claim_find(list, 14, 1, &place), list);
	assert_int_equal(place, 4);
	assert_null(js_claim_find(list, 15, 1, &place));
	assert_null(js_claim_find(list, 12, 2, &place));
	/* twice in one step: refused, and nothing is marked */
	assert_int_equal(js_claim_mark_closing(list, &stack, o, &(size_t){3}, &sums, &e), JOBSTACK_EUSAGE);
	assert_int_equal(list->mark[0], JS_OPEN);
	assert_int_equal(js_claim_mark_closing(list, &stack, o, &(size_t){2}, &sums, NULL), 0);
	assert_true(sums.done == 1 && sums.dead == 0);
	js_claim_settle(&list, 0);
	assert_int_equal(list->open, 5);
	assert_int_equal(js_claim_mark_closing(list, &stack, o, &(size_t){2}, &sums, NULL), 0);
	js_claim_settle(&list, 1);
	assert_int_equal(list->open, 3);
	assert_int_equal(js_claim_mark_closing(list, &stack, o, &(size_t){1}, &sums, &e),
			 JOBSTACK_EUSAGE); /* closed already */
	/* the third failure is the last; so is a fatal first */
	list->fails = 2;
	assert_int_equal(js_claim_is_dead(&stack, list, &o[1]), 1);
	list->fails = 0;
	assert_int_equal(js_claim_is_dead(&stack, list, &o[1]), 0);
	o[1].fatal = 1;
	assert_int_equal(js_claim_is_dead(&stack, list, &o[1]), 1);
	for (uint64_t i = 11; i < 14; i++) {
		o[0] = outcome(i, JOBSTACK_DONE);
		assert_int_equal(js_claim_mark_closing(list, &stack, o, &(size_t){1}, &sums, NULL), 0);
	}
	js_claim_settle(&list, 1);
	assert_null(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(intervals), cmocka_unit_test(lists),
					   cmocka_unit_test(claims)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quantiles and timelines in flat memory: the error that is promised, merging, and the edges of both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/sketch.h"
#include "base/timeline.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t draw(void) /* xorshift: the same numbers in each run */
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

#define N 20000
static int64_t value[N];
static struct js_sketch whole, all;

/* Each quantile of VALUE by the sketch S and by sorting. */
static void compare_quantiles(const struct js_sketch *s)
{
	static const double qs[] = {0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};

	qsort(value, N, sizeof(value[0]), compare);
	for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
		size_t place = (size_t)(qs[i] * N) + (qs[i] * N > (double)(size_t)(qs[i] * N));
		double is = (double)value[place == 0 ? 0 : place - 1], told = (double)js_sketch_quantile(s, qs[i]);

		if (told - is > is / 256 || is - told > is / 256)
			fail_msg("q %g: %.0f, not %.0f", qs[i], told, is);
	}
	assert_true(js_sketch_quantile(s, 0) == (uint64_t)value[0]);
	assert_true(js_sketch_quantile(s, 1) == (uint64_t)value[N - 1]);
}

/* From microseconds to years, evenly on a logarithmic scale; in a narrow range; and few values, often. */
static int64_t log_wide(size_t i)
{
	(void)i;
	return (int64_t)(draw() >> 8 >> draw() % 56);
}

static int64_t narrow(size_t i)
{
	(void)i;
	return 1000000 + (int64_t)(draw() % 5000);
}

static int64_t few(size_t i)
{
	return (int64_t)(i % 5) * 31;
}

static void quantiles(int64_t (*next)(size_t))
{
	double sum = 0, agreement;

	memset(&whole, 0, sizeof(whole));
	for (size_t i = 0; i < N; i++) {
		value[i] = next(i);
		sum += (double)value[i];
		js_sketch_add(&whole, value[i]);
	}
	assert_int_equal(whole.n, N);
	agreement = js_sketch_mean(&whole) * N / sum;
	assert_true(agreement > 0.999999 && agreement < 1.000001);
	compare_quantiles(&whole);
	assert_int_equal(js_sketch_between(&whole, 0, UINT64_MAX), N);
}

static void test_quantiles(void **test_state)
{
	(void)test_state;
	quantiles(log_wide);
	quantiles(narrow);
	quantiles(few);
}

static void test_edges(void **test_state)
{
	static const uint64_t edge[] = {0,	  1, 127, 128, 129, 255, 256, 257, UINT32_MAX, (uint64_t)INT64_MAX - 1,
					INT64_MAX};

	(void)test_state;
	memset(&whole, 0, sizeof(whole));
	assert_int_equal(js_sketch_quantile(&whole, 0.5), 0);
	assert_true(js_sketch_mean(&whole) <= 0);
	memset(&all, 0, sizeof(all));
	js_sketch_add(&whole, -5);
	assert_int_equal(whole.n, 1);
	assert_int_equal(whole.max, 0);
	for (size_t i = 0; i < sizeof(edge) / sizeof(edge[0]); i++) {
		memset(&whole, 0, sizeof(whole));
		js_sketch_add(&whole, (int64_t)edge[i]);
		assert_true(js_sketch_quantile(&whole, 0.5) ==
			    edge[i]); /* it lies between the smallest and the largest */
		js_sketch_add(&all, (int64_t)edge[i]);
		assert_true(all.max == edge[i] && all.n == i + 1);
	}
	assert_int_equal(js_sketch_between(&all, 0, 127), 3);
	assert_int_equal(js_sketch_between(&all, 128, 255), 3);
	assert_int_equal(js_sketch_between(&all, 5, 4), 0);
}

static uint64_t sum_of(const struct js_timeline *t, unsigned kind)
{
	uint64_t n = 0;

	for (size_t i = 0; i < JS_TIMELINE_STEPS; i++)
		n += t->count[i][kind];
	return n;
}

static void test_time(void **test_state)
{
	static struct js_timeline t;
	size_t from, to;

	(void)test_state;
	memset(&t, 0, sizeof(t));
	js_timeline_add_time(&t, 5, 5, 0);
	assert_int_equal(js_timeline_range(&t, &from, &to), -1);
	js_timeline_add_time(&t, 100 * JS_SECOND_US + 500000, 102 * JS_SECOND_US + 250000, 1);
	assert_int_equal(js_timeline_range(&t, &from, &to), 0);
	assert_int_equal(to - from, 2);
	assert_int_equal(t.count[from][1], 500000);
	assert_int_equal(t.count[from + 1][1], JS_SECOND_US);
	assert_int_equal(t.count[to][1], 250000);
	/* from before the first step, to far behind the last: nothing is lost */
	js_timeline_add_time(&t, 50 * JS_SECOND_US + 1, 5000 * JS_SECOND_US, 1);
	assert_int_equal(sum_of(&t, 1), 1750000 + 4950 * JS_SECOND_US - 1);
	js_timeline_fit(&t, 10);
	assert_int_equal(sum_of(&t, 1), 1750000 + 4950 * JS_SECOND_US - 1);
	for (int64_t i = 0; i < 1000; i++)
		js_timeline_add_time(&t, i * 7 * JS_SECOND_US, i * 7 * JS_SECOND_US + i * 1000, 0);
	assert_int_equal(sum_of(&t, 0), 1000 * 999 / 2 * 1000);
}

static void test_timeline(void **test_state)
{
	static struct js_timeline t;
	const int64_t base = INT64_C(1795000000) * JS_SECOND_US, hour = 3600 * JS_SECOND_US;
	size_t from, to;

	(void)test_state;
	memset(&t, 0, sizeof(t));
	assert_int_equal(js_timeline_range(&t, &from, &to), -1);
	js_timeline_fit(&t, 10);
	for (int64_t i = 0; i < 511; i++) /* backwards: 511 s before, each in its own step */
		js_timeline_add(&t, base - i * JS_SECOND_US, 0);
	assert_true(t.step_us == JS_SECOND_US);
	assert_int_equal(js_timeline_range(&t, &from, &to), 0);
	assert_int_equal(to - from, 510);
	assert_int_equal(t.count[from][0], 1);
	js_timeline_add(&t, base + JS_SECOND_US, 1);
	assert_true(t.step_us == JS_SECOND_US);
	js_timeline_add(&t, base + 2 * JS_SECOND_US, 1); /* now it does not fit any more */
	assert_true(t.step_us == 5 * JS_SECOND_US);
	assert_int_equal(sum_of(&t, 0), 511);
	assert_int_equal(sum_of(&t, 1), 2);
	for (int64_t i = 0; i < 5000; i++)
		js_timeline_add(&t, base - 100 * hour + (int64_t)(draw() % 720000) * JS_SECOND_US, 1);
	js_timeline_add(&t, 0, 1); /* 1970: half a century and more */
	assert_int_equal(sum_of(&t, 0), 511);
	assert_int_equal(sum_of(&t, 1), 5003);
	assert_int_equal(js_timeline_range(&t, &from, &to), 0);
	assert_true((t.first + (int64_t)from) * t.step_us == 0);
	assert_true((t.first + (int64_t)to) * t.step_us <= base + 200 * hour);
	js_timeline_fit(&t, 20);
	assert_int_equal(js_timeline_range(&t, &from, &to), 0);
	assert_true(to > from && to - from <= 19);
	assert_int_equal(sum_of(&t, 1), 5003);
}

/* What is counted in a step is what happened in it, however often the steps were made longer on the way. */
static void test_timeline_counts(void **test_state)
{
	static struct js_timeline t;
	static int64_t at[3000];
	size_t from, to, n;

	(void)test_state;
	memset(&t, 0, sizeof(t));
	for (size_t i = 0; i < 3000; i++) {
		at[i] = (INT64_C(1795000000) + (int64_t)(draw() % 90000)) * JS_SECOND_US + (int64_t)(draw() % 1000000);
		js_timeline_add(&t, at[i], i % 2);
	}
	js_timeline_fit(&t, 30);
	assert_true(t.step_us == 3600 * JS_SECOND_US); /* 25 hours in at most 30 steps */
	assert_int_equal(js_timeline_range(&t, &from, &to), 0);
	for (size_t s = from; s <= to; s++) {
		n = 0;
		for (size_t i = 0; i < 3000; i++)
			n += at[i] / t.step_us == t.first + (int64_t)s;
		assert_int_equal(t.count[s][0] + t.count[s][1], n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),	cmocka_unit_test(test_edges),
		cmocka_unit_test(test_timeline),	cmocka_unit_test(test_time),
		cmocka_unit_test(test_timeline_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

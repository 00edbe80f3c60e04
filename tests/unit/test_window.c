/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The windows in which attempts that ended lately, or long ago are looked for: all that is marked, little else, in few
 * windows.
 */
#define _GNU_SOURCE
#include "base/num.h"
#include "history/window.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 65536
#define GAP 2048

static int has(const struct js_windows *r, uint64_t number)
{
	uint64_t at = number / r->unit;

	return (r->bits[at / 8] >> at % 8 & 1) != 0;
}

/* Goes through the windows: how many there are. */
static size_t check_windows(const struct js_windows *r)
{
	uint64_t after = 0, low, high;
	size_t n = 0;

	for (; js_windows_next(r, after, MOST, &low, &high); n++) {
		assert_true(low > after && high >= low && high <= r->tail && high - low < MOST + GAP + r->unit);
		for (uint64_t i = after + 1; i < low; i++)
			assert_false(has(r, i));
		assert_true(has(r, low) && has(r, high));
		after = high;
	}
	for (uint64_t i = after + 1; i <= r->tail; i++)
		assert_false(has(r, i));
	return n;
}

static struct js_windows marks_up_to(uint64_t tail, uint64_t unit)
{
	struct js_windows r = {tail, unit, tail / unit + 1, NULL};

	r.bits = calloc(r.units / 8 + 1, 1);
	assert_non_null(r.bits);
	return r;
}

static void mark(struct js_windows *r, uint64_t number)
{
	r->bits[number / r->unit / 8] |= (unsigned char)(1u << number / r->unit % 8);
}

static void known(void **state)
{
	struct js_windows r = marks_up_to(1000000, 64);

	(void)state;
	assert_int_equal(check_windows(&r), 0);
	mark(&r, 1);
	mark(&r, 1000000);
	assert_int_equal(check_windows(&r), 2);
	for (uint64_t i = 500000; i < 600000; i += 1000) /* closer than a gap: one after the other */
		mark(&r, i);
	assert_int_equal(check_windows(&r), 4);
	for (uint64_t i = 700000; i < 800000; i += 3000) /* farther apart: each by itself */
		mark(&r, i);
	assert_int_equal(check_windows(&r), 4 + 34);
	for (uint64_t i = 1; i <= 1000000; i++)
		mark(&r, i);
	assert_int_equal(check_windows(&r), 16);
	js_windows_free(&r);
}

static void any(void **state)
{
	uint64_t dice = 20261125;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		uint64_t tail = 1 + js_num_jitter(&dice, 400000), gaps = 1, last = 0;
		struct js_windows r = marks_up_to(tail, UINT64_C(64) << js_num_jitter(&dice, 3));
		uint64_t n = js_num_jitter(&dice, 300);

		for (uint64_t i = 0; i < n; i++)
			mark(&r, 1 + js_num_jitter(&dice, tail));
		for (uint64_t at = 1; at <= tail; at++)
			if (has(&r, at)) {
				gaps += at - last >= GAP;
				last = at;
			}
		assert_true(check_windows(&r) <= gaps + tail / MOST + 1);
		js_windows_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(any)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

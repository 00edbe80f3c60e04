/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quantiles in flat memory.  Promise: adding a value takes the same time, however many there are.
 */
#include "base/sketch.h"

/* Below 128 the value itself; else 128 buckets per exponent, by the seven bits behind the highest. */
static size_t bucket_of_value(uint64_t value)
{
	unsigned bit;

	if (value < 128)
		return (size_t)value;
	bit = 63 - (unsigned)__builtin_clzll(value);
	return 128 * (size_t)(bit - 6) + (size_t)(value >> (bit - 7) & 127);
}

static uint64_t middle_of_bucket(size_t at)
{
	unsigned shift = at < 128 ? 0 : (unsigned)(at / 128 - 1);

	if (at < 128)
		return at;
	return ((uint64_t)(128 + at % 128) << shift) + ((UINT64_C(1) << shift) - 1) / 2;
}

void js_sketch_add(struct js_sketch *s, int64_t value)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;

	if (s->n == 0 || v < s->min)
		s->min = v;
	if (v > s->max)
		s->max = v;
	s->n++;
	s->sum += (double)v;
	s->count[bucket_of_value(v)]++;
}

/* The middle of the outermost buckets may lie beyond the smallest or the largest value, which are known exactly. */
uint64_t js_sketch_quantile(const struct js_sketch *s, double q)
{
	double place = q * (double)s->n;
	uint64_t before = 0, value;
	size_t at = 0;

	if (s->n == 0 || q >= 1)
		return s->max;
	if (q <= 0)
		return s->min;
	while (at < JS_SKETCH_BUCKETS - 1 && (double)(before + s->count[at]) < place)
		before += s->count[at++];
	value = middle_of_bucket(at);
	return value < s->min ? s->min : value > s->max ? s->max : value;
}

uint64_t js_sketch_between(const struct js_sketch *s, uint64_t low, uint64_t high)
{
	uint64_t n = 0;

	if (low > high)
		return 0;
	for (size_t at = bucket_of_value(low), last = bucket_of_value(high); at <= last; at++)
		if (middle_of_bucket(at) >= low && middle_of_bucket(at) <= high)
			n += s->count[at];
	return n;
}

double js_sketch_mean(const struct js_sketch *s)
{
	return s->n == 0 ? 0 : s->sum / (double)s->n;
}

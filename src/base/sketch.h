/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Quantiles of any number of values in flat memory: a histogram whose buckets grow with the values.
 *
 * Values below 128 are kept exactly.  Above, each power of two is cut into 128 buckets of one width, and a quantile is
 * reported as the middle of its bucket: it differs from the true one by at most 1/256 of it (0.4 %).  The smallest and
 * the largest value, the number and the sum are exact.  Two sketches of parts, merged, are the sketch of the whole.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define JS_SKETCH_BUCKETS (128 + 57 * 128)

/* 60 KB.  Starts as {0}. */
struct js_sketch {
	uint64_t n, min, max;
	double sum;
	uint64_t count[JS_SKETCH_BUCKETS];
};

/* Adds a value; a negative one counts as 0. */
void js_sketch_add(struct js_sketch *sketch, int64_t value);

/* The value below or at which a share Q (0 to 1) of all values lies: of n values in order, the one at place Q * n,
 * rounded up.  0 is the smallest, 1 the largest; 0 if there are none. */
uint64_t js_sketch_quantile(const struct js_sketch *sketch, double q);

/* How many values are from LOW to HIGH, both included, as exactly as the buckets allow: a bucket that LOW or HIGH cuts
 * counts by its middle. */
uint64_t js_sketch_between(const struct js_sketch *sketch, uint64_t low, uint64_t high);

double js_sketch_mean(const struct js_sketch *sketch); /* 0 if there are none */

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Mean and variation of any number of values, in one pass (B. P. Welford, Technometrics 4, 1962).
 */
#pragma once

#include <stdint.h>

/* Starts as {0}. */
struct insight_spread {
	uint64_t n;
	double mean, squares; /* of the differences from the mean, summed */
};

void insight_spread_add(struct insight_spread *spread, double value);

/* The coefficient of variation: the standard deviation as a share of the mean; -1: fewer than two values, or all 0. */
double insight_spread_cv(const struct insight_spread *spread);

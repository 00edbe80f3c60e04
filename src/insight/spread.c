/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Mean and variation.
 */
#include "insight/spread.h"

#include <math.h>

void insight_spread_add(struct insight_spread *s, double value)
{
	double from_mean = value - s->mean;

	s->mean += from_mean / (double)++s->n;
	s->squares += from_mean * (value - s->mean);
}

double insight_spread_cv(const struct insight_spread *s)
{
	return s->n < 2 || s->mean <= 0 ? -1 : sqrt(s->squares / (double)(s->n - 1)) / s->mean;
}

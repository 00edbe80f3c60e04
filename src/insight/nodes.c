/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Nodes that stand out.
 */
#include "insight/nodes.h"

#include <math.h>

#define SURE 3.0 /* standard errors */

/* Wilson's confidence bound of the share PART / ALL: the lower one if SIDE is -1, the upper one if it is 1. */
static double share_bound(double part, double all, int side)
{
	double z2 = SURE * SURE, p = part / all;

	return (p + z2 / (2 * all) + side * SURE * sqrt(p * (1 - p) / all + z2 / (4 * all * all))) / (1 + z2 / all);
}

static double count_bad(const struct insight_tally_node *n)
{
	return (double)(n->n[JOBSTACK_FAILED] + n->n[JOBSTACK_LOST]);
}

void insight_nodes_judge(struct insight_tally *t)
{
	struct insight_tally_node *node = t->node;
	size_t n = t->node_n;
	double bad = 0, ended = 0, done = 0, us = 0;

	for (size_t i = 0; i < n; i++) { /* an interrupted attempt says nothing about its node */
		bad += count_bad(&node[i]);
		ended += count_bad(&node[i]) + (double)node[i].n[JOBSTACK_DONE];
		done += (double)node[i].took.n;
		us += node[i].took.mean * (double)node[i].took.n;
	}
	for (size_t i = 0; i < n; i++) {
		struct insight_tally_node *one = &node[i];
		double here = count_bad(one) + (double)one->n[JOBSTACK_DONE], took = (double)one->took.n;

		one->fails =
			here > 0 && ended > here &&
			share_bound(count_bad(one), here, -1) > 2 * share_bound(bad - count_bad(one), ended - here, 1);
		if (one->took.n < 2 || done <= took)
			continue;
		one->slow = one->took.mean - SURE * sqrt(one->took.squares / (took - 1) / took) >
			    1.25 * (us - one->took.mean * took) / (done - took);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How much time workers lose by waiting for their steps.  Promise: nothing is written, and no table but the server's
 * own is read.
 */
#include "figures/steps.h"

#define NOTICEABLE 0.05

/* Each worker tells with its heartbeat how long its steps take, and what share (in thousandths) of its slots' time is
 * spent waiting for them.  A worker's share counts by its slots. */
int figures_steps_read(struct jobstack *handle, const struct jobstack_worker_row *worker, size_t n,
		       struct figures_steps *steps, struct jobstack_error *error)
{
	double slots = 0, waiting = 0, us = 0, commit_us = 0, told = 0;

	*steps = (struct figures_steps){0};
	for (size_t i = 0; i < n; i++) {
		if (worker[i].step_us == 0)
			continue;
		told++;
		slots += (double)worker[i].slots;
		waiting += (double)worker[i].slots * (double)worker[i].waiting / 1000;
		us += (double)worker[i].step_us;
		commit_us += (double)worker[i].commit_us;
	}
	if (told == 0 || waiting < NOTICEABLE * slots)
		return JOBSTACK_NOTHING;
	steps->waiting = waiting / slots;
	steps->us = (int64_t)(us / told);
	steps->commit_us = (int64_t)(commit_us / told);
	return figures_server_read(&steps->server, handle, error);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How much of their slots' time a stack's workers lose by waiting for their steps, and what the server says of itself
 * that explains it.
 */
#pragma once

#include "figures/server.h"

#include <stddef.h>
#include <stdint.h>

struct figures_steps {
	double waiting;		      /* the share of the slots' time */
	int64_t us, commit_us;	      /* how long a step takes, and the commit in it */
	struct figures_server server; /* the caller frees it */
};

/* Adds up what the N workers tell.  Only if they lose a noticeable part of the time, the server is asked.  Returns 1 if
 * nothing is lost, 0, or a JOBSTACK_E code with ERROR filled. */
int figures_steps_read(struct jobstack *handle, const struct jobstack_worker_row *worker, size_t n,
		       struct figures_steps *steps, struct jobstack_error *error);

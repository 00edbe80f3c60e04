/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How much of their slots' time a stack's workers lose by waiting for their steps, and what the server says of itself
 * that explains it.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>

/* What a commit waits for: nothing, InnoDB's log, the binary log, a replica, the other servers of a cluster. */
enum insight_commit { INSIGHT_NOTHING, INSIGHT_LOG, INSIGHT_BINLOG, INSIGHT_REPLICA, INSIGHT_CLUSTER };

/* Begins as {0}. */
struct insight_server {
	enum insight_commit commit;
	double slowdown; /* of work in the server, as other threads want its processors: 1: not slower; 0: not known */
	int64_t trip_us;
	int binlog;
};

struct insight_steps {
	double waiting;	       /* the share of the slots' time */
	int64_t us, commit_us; /* how long a step takes, and the commit in it */
	struct insight_server server;
};

/* Takes in a fact of jobstack_server_facts. */
void insight_server_fact(struct insight_server *server, const char *name, const char *value);

/* What the N workers tell.  Only if they lose a noticeable part of the time, the server is asked.  Returns 1 if nothing
 * is lost, 0, or a JOBSTACK_E code with ERROR filled. */
int insight_steps_read(struct jobstack *handle, const struct jobstack_worker_row *worker, size_t n,
		       struct insight_steps *steps, struct jobstack_error *error);

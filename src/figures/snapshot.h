/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stacks at one moment, as `jobstack status` shows them.
 */
#pragma once

#include "figures/failures.h"
#include "figures/stack.h"
#include "figures/steps.h"

#include <stddef.h>
#include <stdint.h>

#define FIGURES_BAD_NODES 3
#define FIGURES_LONGEST 5
#define FIGURES_FAILURE_ROWS 300 /* so many attempts are read to find what fails; that takes a millisecond or two */

/* A stack with its pace. */
struct figures_seen {
	struct figures_stack stack;
	struct jobstack_pace pace;
};

struct figures_bad_node {
	struct jobstack_bad_node b;
	char node[128];
};

/* One of the entries that have run longest. */
struct figures_longest {
	uint64_t entry, worker;
	int64_t us;
	char node[128];
	struct js_buf datapath;
};

/* Start it as {0}; end it with figures_snapshot_free.  It can't be copied: texts point into it. */
struct figures_snapshot {
	struct figures_seen *seen;
	size_t n, capacity;
	size_t recent; /* by figures_snapshot_sort */
	int alarming;  /* something is dead or unfinished */
	int memory;    /* ran out */
	/* of one stack: */
	struct jobstack_worker_row *worker; /* with copies of their texts */
	size_t worker_n, worker_capacity;
	struct figures_longest longest[FIGURES_LONGEST];
	size_t longest_n;
	int held_back; /* by their steps, see figures_snapshot_steps */
	struct figures_steps steps;
	struct figures_failures failures;
	int failures_all; /* 1: the failures of all entries whose last attempt failed; 0: of the dead entries */
	struct figures_bad_node bad[FIGURES_BAD_NODES];
	size_t bad_n;
	struct figures_idle idle;
};

/* Reads the stack NAME with all details, or, if NAME is NULL, all stacks.  0, or a JOBSTACK_E code with ERROR filled.
 */
int figures_snapshot_read(struct jobstack *handle, const char *name, struct figures_snapshot *snapshot,
			  struct jobstack_error *error);

/* Adds the stack NAME, without details. */
int figures_snapshot_add(struct jobstack *handle, const char *name, struct figures_snapshot *snapshot,
			 struct jobstack_error *error);

/* Sorts stacks: those with workers or pushes first, by name; then the others, the most recent first; and last those
 * that have been finished for more than a day.  RECENT counts the stacks before these, but is at least ten, if there
 * are as many. */
void figures_snapshot_sort(struct figures_snapshot *snapshot);

/* After figures_snapshot_read of one stack with ready entries: finds out whether its workers wait for their steps, and
 * fills HELD_BACK and STEPS.  0, or a JOBSTACK_E code with ERROR filled. */
int figures_snapshot_steps(struct jobstack *handle, struct figures_snapshot *snapshot, struct jobstack_error *error);
void figures_snapshot_free(struct figures_snapshot *snapshot);

/* Returns for how long no worker of the stack has been connected to the database, in microseconds.  After a while that
 * means that perhaps nobody is left who could notice that they are dead.  It is known only if all of them are in Slurm
 * jobs, where they stay connected while the server has free connections; else it returns -1. */
int64_t figures_missing_us(const struct figures_snapshot *snapshot);

/* Returns where a worker is: its node, else its host, else "-". */
const char *figures_worker_place(const struct jobstack_worker_row *worker);

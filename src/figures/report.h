/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of a report: how a stack's run went, and what the next one should request.
 */
#pragma once

#include "figures/facts.h"
#include "figures/failures.h"
#include "figures/share.h"
#include "figures/stack.h"
#include "figures/tally.h"

#define FIGURES_REPORT_STEPS 24 /* over time, at most */

#define FIGURES_FEW 20 /* with fewer done entries the recommendation is a guess */
#define FIGURES_PACKAGES 25

/* The Python packages of a stack that most attempts imported. */
struct figures_packages {
	struct figures_package {
		char name[128], version[64];
		uint64_t entries, nodes;
		unsigned char on[FIGURES_NODES / 8]; /* a bit for each node */
	} * at;
	size_t n, capacity;
	uint64_t more; /* that are not among the first FIGURES_PACKAGES, or left out */
};

/* What the next run should request, computed from the last one.  docs/DATA.md explains the rules. */
struct figures_recommendation {
	int known; /* an entry is done, so something can be recommended */
	int few;
	int64_t longest_us, p99_us;
	int64_t time_us;    /* wall time of a worker's job, in whole minutes */
	int64_t timeout_us; /* of a command */
	uint32_t slots;	    /* per worker: as many as the largest worker had */
	uint32_t cpus;	    /* CPUs that one slot keeps busy */
	uint64_t mem_kib;   /* per slot; 0: unknown */
	uint64_t mem_over;  /* attempts that took more than that */
	uint64_t entries;   /* how many entries the work has */
	int are_left;	    /* 1: those that are left; 0: as many as are done */
	double work_us;	    /* slot time that the work takes, including failed attempts */
};

/* Start it as FIGURES_REPORT_INIT; end it with figures_report_free. */
struct figures_report {
	int64_t since_us, within_us;	   /* only attempts that ended since then, or at most so long ago; -1: all */
	int64_t wanted_us;		   /* the wall time of the next run; -1: not given */
	const struct figures_share *share; /* NULL: nothing is left out */
	struct figures_stack stack;
	struct figures_idle idle;
	struct figures_tally *tally;
	struct figures_recommendation recommendation;
	struct js_buf slow[FIGURES_SLOWEST]; /* the datapaths of the slowest attempts; of length 0: deleted */
	struct figures_failures failures;    /* of dead entries */
	struct figures_facts facts;
	struct figures_packages packages;
	struct jobstack_pace pace; /* while it works */
};
/* clang-format off */
#define FIGURES_REPORT_INIT {.since_us = -1, .within_us = -1, .wanted_us = -1, .pace = JOBSTACK_PACE_INIT}
/* clang-format on */

/* Reads the report of the stack NAME in one pass over the attempts, in constant memory.  PROGRESS is called with CTX
 * now and then.  0, or a JOBSTACK_E code with ERROR filled. */
int figures_report_read(struct jobstack *handle, const char *name, struct figures_report *report,
			figures_progress_fn *progress, void *ctx, struct jobstack_error *error);
void figures_report_free(struct figures_report *report);

/* Returns whether the stack has work left, and is not cancelled.  Then the report says "so far". */
int figures_report_so_far(const struct figures_report *report);

/* Computes what to request for the next run: RECOMMENDATION gets it for the wanted time or, if none was given, for the
 * first of 10 min, 1 h, 8 h, 24 h in which no more workers do the work than nodes did it last time.  *WITHIN_US gets
 * that time.  Returns how many workers; 0: no number of workers can. */
uint64_t figures_report_request(const struct figures_report *report, struct figures_recommendation *recommendation,
				int64_t *within_us);

/* A part of the time, from FROM_US on: attempts that ended in it, done and not done; commands and workers at once, on
 * average; and how things stood at its end: entries that are done, whose last attempt failed, at work, and left. */
struct figures_step {
	int64_t from_us;
	uint64_t done, not_done, all_done, failed, at_work, left;
	double running, workers; /* workers: -1: too many to count */
};

/* Fills the steps, of *STEP_US each; returns how many. */
size_t figures_report_steps(const struct figures_report *report, struct figures_step step[FIGURES_REPORT_STEPS],
			    int64_t *step_us);

/* A bar of a histogram: how many took at least FROM and less than TO (INT64_MAX in the last). */
struct figures_bar {
	int64_t from, to;
	uint64_t n;
};

/* Fills the histogram of durations in microseconds, with edges at 0, 1 ms, 2 ms, 5 ms, ... 30 s, 1 min, ... 30 d.
 * Returns how many bars there are, up to that of the longest. */
#define FIGURES_BARS 28
size_t figures_report_histogram(const struct js_sketch *us, struct figures_bar bar[FIGURES_BARS]);

/* Returns how many workers do the work in WITHIN_US; 0: no number of workers can, because the longest entry takes too
 * long. */
uint64_t figures_recommendation_workers(const struct figures_recommendation *recommendation, int64_t within_us);

/* Returns how long the work takes with so many workers, about, in microseconds. */
int64_t figures_recommendation_takes(const struct figures_recommendation *recommendation, uint64_t workers);

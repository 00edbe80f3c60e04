/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the next run should request, computed from the last one.  docs/DATA.md explains the rules; they are implemented
 * only here.
 */
#pragma once

#include "insight/tally.h"

#include <stdint.h>

#define INSIGHT_FEW 20 /* with fewer done entries the advice is a guess */

struct insight_advice {
	int known; /* an entry is done, so there is advice */
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

/* LEFT: how many entries have not ended.  WITHIN_US: the wanted wall time, or -1. */
void insight_advice_make(struct insight_advice *advice, const struct insight_tally *tally, uint64_t left,
			 int64_t within_us);

/* How many workers do the work in WITHIN_US; 0: no number of workers can, because the longest entry takes too long. */
uint64_t insight_advice_workers(const struct insight_advice *advice, int64_t within_us);

/* How long the work takes with so many, about. */
int64_t insight_advice_takes(const struct insight_advice *advice, uint64_t workers);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the next run should ask for, computed from how the last one went.  docs/DATA.md tells the rules; they stand here
 * and nowhere else.
 */
#pragma once

#include "insight/tally.h"

#include <stdint.h>

#define INSIGHT_FEW 20 /* with fewer done entries it is a guess */

struct insight_advice {
	int known; /* something was done, so there is something to go by */
	int few;
	int64_t longest_us, p99_us;
	int64_t time_us;    /* wall time of a worker's job: as sbatch takes it, whole minutes */
	int64_t timeout_us; /* of a command */
	uint32_t slots;	    /* of a worker: as many as the largest had */
	uint32_t cpus;	    /* that a slot keeps busy */
	uint64_t mem_kib;   /* a slot; 0: not known */
	uint64_t mem_over;  /* attempts that took more than that */
	uint64_t entries;   /* the work: so many entries, */
	int are_left;	    /* which are those that are left, or (0) as many as were done */
	double work_us;	    /* so much time in slots, with what is wasted on the way */
};

/* LEFT: how many entries have not come to their end.  WITHIN_US: the wanted wall time, or -1. */
void insight_advice_make(struct insight_advice *advice, const struct insight_tally *tally, uint64_t left,
			 int64_t within_us);

/* How many workers do the work in WITHIN_US; 0: no number of them does, the longest entry takes too long. */
uint64_t insight_advice_workers(const struct insight_advice *advice, int64_t within_us);

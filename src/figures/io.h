/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How a user's own files are read, written, used again and shared: the ten findings of "Uncovering Access, Reuse, and
 * Sharing Characteristics of I/O-Intensive Files on Large-Scale Production HPC Systems" (FAST'20), for some stacks.
 * Bytes are those of all processes of an attempt, for all files that they opened.
 */
#pragma once

#include "figures/share.h"
#include "figures/tally.h"

#define FIGURES_FINDINGS 10
#define FIGURES_NUMBERS 8
#define FIGURES_IO_SAMPLE 100000 /* entries whose files are looked at */

struct figures_finding {
	const char *why; /* it can't be told; NULL: it is */
	struct {
		const char *name;
		double value; /* seconds, bytes, or a share from 0 to 1; -1: not known */
	} number[FIGURES_NUMBERS];
	size_t n;
};

struct figures_io {
	const char *const *stacks; /* given */
	size_t stacks_n;
	const struct figures_share *shared; /* given; NULL: nothing is left out */
	const struct figures_tally *tally;  /* given: of all their attempts; NULL: they are read */
	struct figures_finding finding[FIGURES_FINDINGS];
	char mount[2][FIGURES_WORDS]; /* of finding 7: the file systems with the least and the most bytes */
	struct js_sketch gaps_us;     /* of finding 3 */
	uint64_t files;		      /* looked at */
	double share;		      /* of all files */
	int unindexed; /* this account may not write the index: files pushed since it was written are not known */
};

/* Reads the findings.  PROGRESS is called with CTX now and then.  0, or a JOBSTACK_E code with ERROR filled. */
int figures_io_read(struct jobstack *handle, struct figures_io *io, figures_progress_fn *progress, void *ctx,
		    struct jobstack_error *error);

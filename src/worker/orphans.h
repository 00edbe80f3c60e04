/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Orphans: what commands that have ended left behind outside of their process groups.  They have become children of the
 * worker, and are ended.
 */
#pragma once

#include "worker/slot.h"

struct orphans {
	const struct slots *all;
	const struct slot *slots;
	size_t slots_n;
	int children;	   /* the kernel's list of ours (run/tree.h), or -1 */
	int64_t looked_us; /* when they were last looked for */
	int64_t at_us;	   /* when they are to be looked for, whatever happens; 0: there is no need */
	int64_t untold_us; /* since when there has been one of which it can't be told whose it is; 0: there is none */
};

/* By the thread that starts the commands in the SLOTS, which stay the caller's. */
void orphans_begin(struct orphans *o, const struct slots *all, const struct slot *slots, size_t slots_n);
void orphans_end(struct orphans *o);

/* Ends what there is, now; up to a second may go by. */
void orphans_kill(struct orphans *o);

/* The same behind the command of SLOT, which has ended and is still in its place: at once, or at at_us where that would
 * cost a walk through /proc for each of many short commands. */
void orphans_kill_of(struct orphans *o, struct slot *slot);

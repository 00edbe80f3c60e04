/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a worker's node is bad: what it concludes when entries fail there in a row.  Computes, and does nothing else:
 * the worker (worker/neighbours.h) and a simulation (tests/unit/test_worker_suspicion.c) ask the same questions.
 *
 * A worker that fails while others have success becomes slow, so that they take the rest.  Its node is bad only if
 * entries that failed here were done elsewhere later, so many of them that a good node would hardly ever have failed so
 * often.  The stack is paused only if nobody has success.  So that a block of bad entries does not look like that, a
 * worker tries some entries from far behind before it gives up.
 */
#pragma once

#include <stdint.h>

#define SUSPICION_MOST 512 /* the longest block of bad entries that pauses nothing */

struct suspicion {
	/* Different entries that failed here in a row, and since when. */
	uint64_t entry[SUSPICION_MOST];
	unsigned n;
	unsigned far; /* how many of them came from far behind */
	int64_t since_us;
	unsigned confirmed; /* failures of commands that started after BAD_US */
	int succeeded;	    /* this worker has done an entry */
	/* What the ledger has seen since then. */
	int looked;
	unsigned others;			 /* nodes that work on the stack beside this one */
	int works;				 /* somebody has success */
	uint64_t done;				 /* entries that are done, */
	int64_t done_us;			 /* when that number last grew */
	uint64_t done_first, tried_first, tried; /* and those that failed, by all workers; FIRST: at the first look */
	int64_t bad_us;				 /* since when the node seems to be bad; 0: it does not */
};

/* Notes that a command on ENTRY (FAR: from far behind), which began at STARTED_US, was done or (FAILED) has failed. */
void suspicion_note(struct suspicion *s, uint64_t entry, int far, int failed, int64_t started_us, int64_t now_us);

/* Returns how long to wait before the next start; 0: not at all.  A worker that waits claims one entry at a time. */
int64_t suspicion_wait_us(const struct suspicion *s);

/* Returns whether the next entry is to be one from far behind. */
int suspicion_goes_far(const struct suspicion *s);

/* Returns whether other nodes and the stack have to be looked at. */
int suspicion_asks(const struct suspicion *s);

/* Notes what such a look has found.  OTHERS: other nodes.  BUSY: workers that may have success (suspicion_may_work).
 * DONE and TRIED: entries of the stack that are done, and those that wait for a retry or are dead. */
void suspicion_see(struct suspicion *s, unsigned others, unsigned busy, uint64_t done, uint64_t tried, int64_t now_us);

/* Returns whether a worker of age AGE_US may have success: the command that it runs has run for COMMAND_US. */
int suspicion_may_work(const struct suspicion *s, int64_t age_us, int64_t command_us, int64_t now_us);

/* Returns whether failures may cost no attempt (SURE: other nodes have been looked at); and whether one costs it, whose
 * entry has failed on NODES others.  (With two bad nodes of many, one other is not enough.) */
int suspicion_spares(const struct suspicion *s, int sure);
int suspicion_costs(const struct suspicion *s, unsigned nodes);

/* Returns whether this node is bad.  Of its entries, FOUND were done elsewhere after they had failed here, and FAILED
 * others have failed elsewhere as well.  Entries that failed here while something was wrong everywhere are no proof, so
 * it must be so again after three more failures. */
int suspicion_is_bad(struct suspicion *s, unsigned found, unsigned failed, int64_t now_us);

/* Returns whether the stack is to be paused.  READY: entries that wait for nothing, or run in other workers. */
int suspicion_is_hopeless(const struct suspicion *s, uint64_t ready);

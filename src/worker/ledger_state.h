/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the ledger thread knows, put together from its parts.  Only its loop (ledger.c) and its steps (step.c) see all
 * of it.
 */
#pragma once

#include "worker/batching.h"
#include "worker/claimed.h"
#include "worker/connection.h"
#include "worker/events.h"
#include "worker/worker_facts.h"
#include "worker/survey.h"

/* If no command starts or ends in this time, claimed entries that wait for a slot go back to the queue. */
#define LEDGER_STUCK_US (5 * JS_SECOND_US)

struct ledger {
	/* given */
	struct database db;
	const struct keeper *keeper;
	struct facts facts;
	struct events *events; /* or NULL */
	/* given in part */
	struct connection connection;
	struct claimed_directory directory;
	struct neighbours neighbours;
	struct survey survey;
	/* its own */
	struct {
		uint64_t claimed;	   /* entries so far */
		uint64_t held;		   /* nothing is claimed ahead while exactly so many commands have ended */
		int limited;		   /* as in struct jobstack_step_report */
		struct batching_step step; /* how long steps take */
		struct batching_wait wait; /* how much of the slots' time they cost */
	} pace;
	struct {
		int64_t last_us; /* since when the lease is counted: the sending of the last step that succeeded */
		int now;	 /* one is due */
		unsigned jitter; /* of the next one, below 256 */
		uint64_t seed;
	} heartbeat;
};

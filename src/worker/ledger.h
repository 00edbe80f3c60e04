/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger thread: all of the worker that talks to the database.  It never waits for a command.
 */
#pragma once

#include "worker/batching.h"
#include "worker/claimed.h"
#include "worker/connection.h"
#include "worker/events.h"
#include "worker/facts.h"
#include "worker/survey.h"

/* If no command starts or ends in this time, what waits is returned. */
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
		uint64_t held;		   /* nothing is claimed ahead until more commands than that have ended */
		int limited;		   /* the stack has max_running */
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

/* Lets the parts of LEDGER know each other, once their given members are set; before anything else. */
void ledger_connect(struct ledger *ledger);

/* The thread's function; takes a struct ledger, which belongs to it until it has ended.  At its end the worker's row is
 * ended too, if the database could be reached. */
void *ledger_main(void *ledger);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What `jobstack report` knows of a stack: gathered in one pass over all attempts, in flat memory, whatever their
 * number.
 */
#pragma once

#include "base/sketch.h"
#include "base/timeline.h"
#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>

#define INSIGHT_OUTCOMES 4 /* of enum jobstack_verdict: done, failed, lost, interrupted */
#define INSIGHT_SLOWEST 10
#define INSIGHT_CAUSES 48  /* more are told together */
#define INSIGHT_NODES 4096 /* the same */
#define INSIGHT_USERS 8
#define INSIGHT_WORDS 64

struct insight_tally_node {
	char name[INSIGHT_WORDS]; /* as it is; cut at that length */
	uint64_t n[INSIGHT_OUTCOMES];
	double us[INSIGHT_OUTCOMES]; /* time in commands */
	uint64_t timed;		     /* attempts whose time is known */
	int64_t first_us, last_us;   /* the earliest start and the latest end; -1: none is known */
	uint32_t slots;		     /* of its largest worker */
};

struct insight_tally_cause {
	char words[INSIGHT_WORDS];
	int outcome;
	uint64_t n;
	double us;
};

struct insight_tally_slow {
	uint64_t entry;
	uint32_t attempt;
	int outcome;
	int64_t us;
	char node[INSIGHT_WORDS];
};

struct insight_tally {
	uint64_t entries;	      /* that were tried */
	uint64_t n[INSIGHT_OUTCOMES]; /* attempts */
	double us[INSIGHT_OUTCOMES];  /* from their start to their end */
	uint64_t untimed;	      /* attempts of which that is not known */
	int64_t first_us, last_us;    /* the earliest start and the latest end; -1: none is known */
	struct js_sketch done_us;     /* how long the done ones took */
	struct js_sketch rss_kib;     /* the memory of those of which it is known */
	double cpu_us, cpu_of_us;     /* processor time, and the time of the attempts of which it is known */
	double read_bytes, write_bytes;
	uint64_t cpu_n, bytes_n;			 /* how many attempts know these */
	uint64_t timeouts, no_memory;			 /* attempts that ended by --timeout; for want of memory */
	uint32_t slots;					 /* of the largest worker */
	struct js_timeline timeline;			 /* ends: kind 0 done, 1 otherwise */
	struct insight_tally_slow slow[INSIGHT_SLOWEST]; /* done or failed, slowest first */
	size_t slow_n;
	struct insight_tally_cause cause[INSIGHT_CAUSES]; /* of what is not done; the last may be all the others */
	size_t cause_n;
	char user[INSIGHT_USERS][INSIGHT_WORDS];
	size_t user_n;
	int more_users;
	struct insight_tally_node *node;
	size_t node_n, node_room;
	uint32_t place[4 * INSIGHT_NODES]; /* of nodes by hash: an index and 1, or 0 */
	size_t last_node;
	uint64_t last_entry, last_worker;
	int failed; /* memory ran out */
};

struct insight_tally *insight_tally_new(void);
void insight_tally_free(struct insight_tally *tally);

/* Takes in an attempt that has ended, after those of smaller entries. */
void insight_tally_add(struct insight_tally *tally, const struct jobstack_item *item);

/* Sorts what is listed: causes by time, nodes by name. */
void insight_tally_end(struct insight_tally *tally);

uint64_t insight_tally_attempts(const struct insight_tally *tally);
double insight_tally_time(const struct insight_tally *tally); /* microseconds in all commands */

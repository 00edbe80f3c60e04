/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of `jobstack report`: gathered in one pass over all attempts, in constant memory.
 */
#pragma once

#include "base/sketch.h"
#include "base/timeline.h"
#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>

#define INSIGHT_OUTCOMES 4 /* of enum jobstack_verdict: done, failed, lost, interrupted */
#define INSIGHT_SLOWEST 10
#define INSIGHT_CAUSES 48  /* more are added up in the last one */
#define INSIGHT_NODES 4096 /* more are added up in the last one */
#define INSIGHT_USERS 8
#define INSIGHT_WORKERS 8192 /* of more nobody counts how many there were over time */
#define INSIGHT_HEAT 32	     /* nodes, the first ones to be seen, whose load over time is kept */
#define INSIGHT_WORDS 64
#define INSIGHT_FACTS 16  /* of a kind; more are not counted */
#define INSIGHT_LISTS 256 /* of packages; likewise */
#define INSIGHT_SIZES 16  /* classes of sizes: 0 bytes, less than 1 KiB, 4 KiB, 16 KiB, ... 64 GiB, and more */

/* What a timeline has: attempts that ended, done and otherwise; entries whose last attempt failed or was lost; time in
 * commands; time between a worker's first start and its last end. */
enum insight_event { INSIGHT_DONE, INSIGHT_NOT_DONE, INSIGHT_FAILED, INSIGHT_BUSY, INSIGHT_WORKER };
_Static_assert(INSIGHT_WORKER < JS_TIMELINE_KINDS, "a timeline counts all of them");

/* Mean and variation of any number of values, in one pass (B. P. Welford, Technometrics 4, 1962).  Starts as {0}. */
struct insight_spread {
	uint64_t n;
	double mean, squares; /* of the differences from the mean, summed */
};

void insight_spread_add(struct insight_spread *spread, double value);

/* The coefficient of variation: the standard deviation as a share of the mean; -1: fewer than two values, or all 0. */
double insight_spread_cv(const struct insight_spread *spread);

/* What an attempt, or a file, does mostly: it reads at least three times as much as it writes, or the other way round.
 */
enum insight_kind { INSIGHT_READS, INSIGHT_WRITES, INSIGHT_BOTH, INSIGHT_KINDS };

struct insight_tally_node {
	char name[INSIGHT_WORDS]; /* cut at that length */
	uint64_t n[INSIGHT_OUTCOMES];
	double us[INSIGHT_OUTCOMES]; /* time in commands */
	uint64_t timed;		     /* attempts whose time is known */
	int64_t first_us, last_us;   /* the earliest start and the latest end; -1: unknown */
	uint32_t slots;		     /* of its largest worker */
	struct insight_spread took;  /* of its done attempts, in microseconds */
	struct insight_spread moved; /* bytes that they read and wrote per second */
	uint32_t heat;		     /* its place in the tally's HEAT plus 1; 0: none */
	int fails, slow;	     /* more, or longer, than elsewhere, beyond chance: see figures/report.c */
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

/* Attempts that have a fact in common. */
struct insight_tally_fact {
	int64_t number; /* of the fact; 0: this and the following places are free */
	uint64_t n, done;
	double us, bytes;		   /* in commands; read and written */
	struct insight_spread took, moved; /* of the done ones: microseconds; bytes per second */
};

/* Attempts that imported the same Python packages. */
struct insight_tally_list {
	int64_t number; /* of the fact; 0: this and the following places are free */
	uint64_t n;
	unsigned char nodes[INSIGHT_NODES / 8]; /* a bit for each node on which they ran */
};

struct insight_tally_worker {
	uint64_t worker; /* 0: a free place */
	int64_t first_us, last_us;
};

struct insight_tally {
	uint64_t entries;	      /* entries with an attempt */
	uint64_t n[INSIGHT_OUTCOMES]; /* attempts */
	double us[INSIGHT_OUTCOMES];  /* from their start to their end */
	uint64_t untimed;	      /* attempts whose duration is unknown */
	int64_t first_us, last_us;    /* the earliest start and the latest end; -1: none is known */
	struct js_sketch done_us;     /* durations of the done attempts */
	struct js_sketch rss_kib;     /* memory of the attempts for which it is known */
	double cpu_us, cpu_of_us;     /* CPU time, and the duration of the attempts for which it is known */
	double read_bytes, write_bytes;
	uint64_t cpu_n, bytes_n;	       /* for how many attempts these are known */
	uint64_t timeouts, no_memory;	       /* attempts that --timeout ended; that ran out of memory */
	uint32_t slots;			       /* of the largest worker */
	struct js_timeline timeline;	       /* of all kinds of enum insight_event */
	struct js_timeline heat[INSIGHT_HEAT]; /* time in commands on single nodes */
	uint32_t heat_n;
	struct js_sketch peak_kib;		      /* memory of all processes of an attempt */
	struct insight_spread took[24], moved[24];    /* as of nodes, by the hour of the start (UTC) */
	uint64_t bytes[INSIGHT_SIZES][INSIGHT_SIZES]; /* attempts by the sizes that they read and wrote */
	uint64_t kind[INSIGHT_KINDS];		      /* attempts */
	uint64_t one_way[INSIGHT_BOTH];		      /* of which at least 19 of 20 bytes were read, or written */
	struct js_sketch kind_bytes[INSIGHT_BOTH];    /* what the reading ones read, and the writing ones wrote */
	struct insight_tally_fact
		mount[INSIGHT_FACTS]; /* the file systems of datapaths, in the order of their first attempt */
	struct insight_tally_fact program[INSIGHT_FACTS]; /* the versions of the program, likewise */
	struct insight_tally_list packages[INSIGHT_LISTS];
	struct insight_tally_slow slow[INSIGHT_SLOWEST]; /* done or failed, slowest first */
	size_t slow_n;
	/* of attempts that are not done; the last one may be the sum of all others */
	struct insight_tally_cause cause[INSIGHT_CAUSES];
	size_t cause_n;
	char user[INSIGHT_USERS][INSIGHT_WORDS];
	size_t user_n;
	int more_users;
	struct insight_tally_node *node;
	size_t node_n, node_room;
	uint32_t place[4 * INSIGHT_NODES]; /* hash table of nodes: an index into NODE plus 1, or 0 */
	size_t last_node;
	uint64_t last_entry, last_worker;
	int64_t failed_us; /* when the last attempt of LAST_ENTRY failed or was lost; -1: it did not */
	struct insight_tally_worker worker[INSIGHT_WORKERS]; /* a hash table */
	struct insight_tally_worker *at_worker;
	size_t worker_n; /* INSIGHT_WORKERS: too many */
	int failed;	 /* memory ran out */
};

struct insight_tally *insight_tally_new(void);
void insight_tally_free(struct insight_tally *tally);

/* Gets the number of attempts that were read so far; not 0 ends the reading. */
typedef int insight_progress_fn(void *ctx, uint64_t attempts);

/* A pass over attempts. */
struct insight_pass {
	struct insight_tally *tally;
	insight_progress_fn *progress; /* called with CTX now and then */
	void *ctx;
};

/* Adds all attempts of STACK that OPTIONS choose: 0, or a JOBSTACK_E code with ERROR filled. */
int insight_tally_read(struct jobstack *handle, const char *stack, const struct jobstack_export_options *options,
		       struct insight_pass *pass, struct jobstack_error *error);

/* The smallest size in a class of sizes. */
double insight_size_from(unsigned class);

/* The kind; -1: the bytes are not known, or less than 64 KiB, as any program reads to start. */
int insight_kind(int64_t read_bytes, int64_t write_bytes);

/* Sorts causes and facts by time, and nodes by name, after those that stand out. */
void insight_tally_end(struct insight_tally *tally);

/* The sums over all outcomes, of the tally's or a node's counts and times. */
uint64_t insight_attempts(const uint64_t n[INSIGHT_OUTCOMES]);
double insight_time(const double us[INSIGHT_OUTCOMES]);

/* How many commands a node ran at once on average; -1: unknown. */
double insight_node_busy(const struct insight_tally_node *node);

/* What share of WHOLE is PART, 0 to 1; 0 if WHOLE is. */
double insight_share(double part, double whole);

/* How long an attempt took in microseconds; a running one: until now, by this host's clock; -1: unknown. */
int64_t insight_took(const struct jobstack_item *item);

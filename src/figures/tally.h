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

#define FIGURES_OUTCOMES 4 /* of enum jobstack_verdict: done, failed, lost, interrupted */
#define FIGURES_SLOWEST 10
#define FIGURES_CAUSES 48  /* more are added up in the last one */
#define FIGURES_NODES 4096 /* more are added up in the last one */
#define FIGURES_USERS 8
#define FIGURES_WORKERS 8192 /* of more nobody counts how many there were over time */
#define FIGURES_HEAT 32	     /* nodes, the first ones to be seen, whose load over time is kept */
#define FIGURES_WORDS 64
#define FIGURES_FACTS 16  /* of a kind; more are not counted */
#define FIGURES_LISTS 256 /* of packages; likewise */
#define FIGURES_SIZES 16  /* classes of sizes: 0 bytes, less than 1 KiB, 4 KiB, 16 KiB, ... 64 GiB, and more */

/* What a timeline has: attempts that ended, done and otherwise; entries whose last attempt failed or was lost; time in
 * commands; time between a worker's first start and its last end. */
enum figures_event { FIGURES_DONE, FIGURES_NOT_DONE, FIGURES_FAILED, FIGURES_BUSY, FIGURES_WORKER };
_Static_assert(FIGURES_WORKER < JS_TIMELINE_KINDS, "a timeline counts all of them");

/* Mean and variation of any number of values, in one pass (B. P. Welford, Technometrics 4, 1962).  Starts as {0}. */
struct figures_spread {
	uint64_t n;
	double mean, squares; /* of the differences from the mean, summed */
};

void figures_spread_add(struct figures_spread *spread, double value);

/* The coefficient of variation: the standard deviation as a share of the mean; -1: fewer than two values, or all 0. */
double figures_spread_cv(const struct figures_spread *spread);

/* What an attempt, or a file, does mostly: it reads at least three times as much as it writes, or the other way round.
 */
enum figures_kind { FIGURES_READS, FIGURES_WRITES, FIGURES_BOTH, FIGURES_KINDS };

struct figures_tally_node {
	char name[FIGURES_WORDS]; /* cut at that length */
	uint64_t n[FIGURES_OUTCOMES];
	double us[FIGURES_OUTCOMES]; /* time in commands */
	uint64_t timed;		     /* attempts whose time is known */
	int64_t first_us, last_us;   /* the earliest start and the latest end; -1: unknown */
	uint32_t slots;		     /* of its largest worker */
	struct figures_spread took;  /* of its done attempts, in microseconds */
	struct figures_spread moved; /* bytes that they read and wrote per second */
	uint32_t heat;		     /* its place in the tally's HEAT plus 1; 0: none */
	int fails, slow;	     /* more, or longer, than elsewhere, beyond chance: see figures/report.c */
};

struct figures_tally_cause {
	char words[FIGURES_WORDS];
	int outcome;
	uint64_t n;
	double us;
};

struct figures_tally_slow {
	uint64_t entry;
	uint32_t attempt;
	int outcome;
	int64_t us;
	char node[FIGURES_WORDS];
};

/* Attempts that have a fact in common. */
struct figures_tally_fact {
	int64_t number; /* of the fact; 0: this and the following places are free */
	uint64_t n, done;
	double us, bytes;		   /* in commands; read and written */
	struct figures_spread took, moved; /* of the done ones: microseconds; bytes per second */
};

/* Attempts that imported the same Python packages. */
struct figures_tally_list {
	int64_t number; /* of the fact; 0: this and the following places are free */
	uint64_t n;
	unsigned char nodes[FIGURES_NODES / 8]; /* a bit for each node on which they ran */
};

struct figures_tally_worker {
	uint64_t worker; /* 0: a free place */
	int64_t first_us, last_us;
};

struct figures_tally {
	uint64_t entries;	      /* entries with an attempt */
	uint64_t n[FIGURES_OUTCOMES]; /* attempts */
	double us[FIGURES_OUTCOMES];  /* from their start to their end */
	uint64_t untimed;	      /* attempts whose duration is unknown */
	int64_t first_us, last_us;    /* the earliest start and the latest end; -1: none is known */
	struct js_sketch done_us;     /* durations of the done attempts */
	struct js_sketch rss_kib;     /* memory of the attempts for which it is known */
	double cpu_us, cpu_of_us;     /* CPU time, and the duration of the attempts for which it is known */
	double read_bytes, write_bytes;
	uint64_t cpu_n, bytes_n;	       /* for how many attempts these are known */
	uint64_t timeouts, no_memory;	       /* attempts that --timeout ended; that ran out of memory */
	uint32_t slots;			       /* of the largest worker */
	struct js_timeline timeline;	       /* of all kinds of enum figures_event */
	struct js_timeline heat[FIGURES_HEAT]; /* time in commands on single nodes */
	uint32_t heat_n;
	struct js_sketch peak_kib;		      /* memory of all processes of an attempt */
	struct figures_spread took[24], moved[24];    /* as of nodes, by the hour of the start (UTC) */
	uint64_t bytes[FIGURES_SIZES][FIGURES_SIZES]; /* attempts by the sizes that they read and wrote */
	uint64_t kind[FIGURES_KINDS];		      /* attempts */
	uint64_t one_way[FIGURES_BOTH];		      /* of which at least 19 of 20 bytes were read, or written */
	struct js_sketch kind_bytes[FIGURES_BOTH];    /* what the reading ones read, and the writing ones wrote */
	struct figures_tally_fact
		mount[FIGURES_FACTS]; /* the file systems of datapaths, in the order of their first attempt */
	struct figures_tally_fact program[FIGURES_FACTS]; /* the versions of the program, likewise */
	struct figures_tally_list packages[FIGURES_LISTS];
	struct figures_tally_slow slow[FIGURES_SLOWEST]; /* done or failed, slowest first */
	size_t slow_n;
	/* of attempts that are not done; the last one may be the sum of all others */
	struct figures_tally_cause cause[FIGURES_CAUSES];
	size_t cause_n;
	char user[FIGURES_USERS][FIGURES_WORDS];
	size_t user_n;
	int more_users;
	struct figures_tally_node *node;
	size_t node_n, node_capacity;
	uint32_t place[4 * FIGURES_NODES]; /* hash table of nodes: an index into NODE plus 1, or 0 */
	size_t last_node;
	uint64_t last_entry, last_worker;
	int64_t failed_us; /* when the last attempt of LAST_ENTRY failed or was lost; -1: it did not */
	struct figures_tally_worker worker[FIGURES_WORKERS]; /* a hash table */
	struct figures_tally_worker *at_worker;
	size_t worker_n; /* FIGURES_WORKERS: too many */
	int failed;	 /* memory ran out */
};

struct figures_tally *figures_tally_new(void);
void figures_tally_free(struct figures_tally *tally);

/* Gets the number of attempts that were read so far; not 0 ends the reading. */
typedef int figures_progress_fn(void *ctx, uint64_t attempts);

/* A pass over attempts. */
struct figures_pass {
	struct figures_tally *tally;
	figures_progress_fn *progress; /* called with CTX now and then */
	void *ctx;
};

/* Adds all attempts of STACK that OPTIONS choose: 0, or a JOBSTACK_E code with ERROR filled. */
int figures_tally_read(struct jobstack *handle, const char *stack, const struct jobstack_export_options *options,
		       struct figures_pass *pass, struct jobstack_error *error);

/* Returns the smallest size in a class of sizes. */
double figures_size_from(unsigned class);

/* Returns the kind; -1: the bytes are not known, or less than 64 KiB, as any program reads to start. */
int figures_kind(int64_t read_bytes, int64_t write_bytes);

/* Sorts causes and facts by time, and nodes by name, after those that stand out. */
void figures_tally_end(struct figures_tally *tally);

/* Return the sums over all outcomes, of the tally's or a node's counts and times. */
uint64_t figures_attempts(const uint64_t n[FIGURES_OUTCOMES]);
double figures_time(const double us[FIGURES_OUTCOMES]);

/* Returns how many commands a node ran at once on average; -1: unknown. */
double figures_node_busy(const struct figures_tally_node *node);

/* Returns the share of PART in WHOLE, 0 to 1; 0 if WHOLE is 0. */
double figures_share(double part, double whole);

/* Returns how long an attempt took, in microseconds; of a running one, how long it has run until now, by this host's
 * clock; -1: unknown. */
int64_t figures_took(const struct jobstack_item *item);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choosing entries: to list, requeue, cancel or move them.
 * Programs include jobstack.h.  It explains the words, and the rules for results, structs, threads and ownership.
 */
#ifndef JOBSTACK_ENTRIES_H
#define JOBSTACK_ENTRIES_H

#include "jobstack/stack.h"

JOBSTACK_BEGIN

/* ------------------------------------------------------------------------------------------ listing and requeueing */

/* States of an entry, as bits.  FAILED and LOST: how its last attempt ended, whatever its state is now. */
#define JOBSTACK_IS_READY 1u
#define JOBSTACK_IS_WAITING 2u
#define JOBSTACK_IS_HELD 4u
#define JOBSTACK_IS_RUNNING 8u
#define JOBSTACK_IS_DONE 16u
#define JOBSTACK_IS_DEAD 32u
#define JOBSTACK_IS_FAILED 64u
#define JOBSTACK_IS_LOST 128u
#define JOBSTACK_IS_CANCELLED 256u /* by jobstack_cancel; or it has not started, and its stack is cancelled */
#define JOBSTACK_IS_MOVED 512u	   /* to another stack, by jobstack_move */

/* Whole numbers from LOW to HIGH.  This struct never changes. */
struct jobstack_range {
	int32_t low, high;
};

/* Which entries: those that meet every condition.  "Its last attempt" is the last one that has ended.  An entry that
 * runs, or has not run yet, meets no condition about how that ended. */
struct jobstack_filter {
	size_t size;
	unsigned states;	 /* JOBSTACK_IS_... bits; 0: all but FAILED and LOST, which are in another state too */
	const uint64_t *entries; /* only these, ascending; NULL: all */
	size_t entries_n;
	uint64_t limit; /* at most this many; 0: all */
	/* A glob that the whole datapath must match, byte by byte: * matches any bytes, also a slash; ? one byte; [a-z]
	 * one of these; [!a-z] one other byte; a backslash makes the next byte literal.  NULL: any datapath. */
	const char *match;
	const struct jobstack_range *exit_codes; /* its last attempt ended with one of these; n 0: any */
	size_t exit_codes_n;
	const int32_t *signals; /* ... was ended by one of these */
	size_t signals_n;
	const char *const *nodes; /* ... ran on one of these (Slurm's name or the host's); or it runs there now */
	size_t nodes_n;
	const char *reason;	 /* ... ended for a reason that contains these bytes; NULL: any */
	int64_t older_us;	 /* ... ended longer ago than this, by the server's clock; 0: any time */
	int64_t newer_us;	 /* ... ended less long ago than this; 0: any time */
	int tails;		 /* jobstack_list gives err_tail too; jobstack_attempts always does */
	const int64_t *programs; /* ... ran one of these versions of the program (numbers of facts); NULL: any */
	size_t programs_n;	 /* 0 with programs: nothing fits */
};
/* clang-format off */
#define JOBSTACK_FILTER_INIT \
	{sizeof(struct jobstack_filter), 0, NULL, 0, 0, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, NULL, 0}
/* clang-format on */

/* One entry, or one attempt of it.  Everything is valid during the callback.  Times are microseconds since 1970 UTC by
 * the server's clock; -1: not known. */
struct jobstack_item {
	uint64_t entry;
	struct jobstack_bytes datapath;
	unsigned state;	  /* one JOBSTACK_IS_... bit */
	uint32_t attempt; /* the last one that began; 0: it has not run */
	int outcome;	  /* enum jobstack_verdict, or -1: it has not ended */
	enum jobstack_cause cause;
	int32_t exit_code, signal;
	const char *reason, *node;
	uint64_t worker; /* 0: it has not run */
	int64_t started_us, ended_us;
	int64_t user_us, system_us, maxrss_kib, read_bytes, write_bytes;
	const char *log; /* the file with its output, or NULL */
	int64_t log_at, log_out, log_err;
	const char *host, *cluster, *job, *array_job, *array_task, *step, *account, *qos, *partition, *user, *cwd;
	struct jobstack_bytes argv;	/* the worker's arguments, separated by NUL */
	uint32_t slots;			/* the worker's; 0: not known */
	const char *err_log;		/* the file with stderr, if it does not follow stdout in LOG; or NULL */
	int64_t err_at;			/* the offset in it; -1: it follows stdout */
	struct jobstack_bytes err_tail; /* of a failed attempt, as in struct jobstack_outcome; data NULL: nothing was
					 * kept, or it was not asked for */
	const char *to_stack;		/* state MOVED: the other stack; NULL: that stack does not exist any more */
	uint64_t to_entry;		/* ... and the number there; else 0 */
	int64_t major_faults;
	const char *note; /* state CANCELLED: the note of jobstack_cancel; or NULL */
	int64_t storage_read_bytes, storage_write_bytes, peak_kib, io_wait_us;
	int64_t program, mount, packages, platform; /* numbers of facts: of the attempt, the last one of its worker */
	const char *cursor; /* in an export of the stream: a value for jobstack_export_options.after; else NULL */
};
typedef int jobstack_item_fn(void *ctx, const struct jobstack_item *item);

/* Calls FN for each entry of STACK that FILTER (NULL: all) chooses, state by state in the order of the bits, and within
 * a state by number; ready entries come in the order in which they would be popped.  An entry in several of the states
 * is given once.  It reads page by page, in constant memory and without a long transaction, so an entry that changes
 * its state meanwhile may be missing or given twice.  FN as jobstack_status_fn.  Errors: EMISSING; EUSAGE (an invalid
 * glob, an empty range). */
int jobstack_list(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		  jobstack_item_fn *fn, void *ctx, struct jobstack_error *error);

/* Calls FN for each attempt of one entry, in order.  The last call may be for an attempt that runs now (outcome -1,
 * state RUNNING).  For an entry without a finished attempt the first call has attempt 0.  Returns JOBSTACK_EMISSING if
 * there is no such entry. */
int jobstack_attempts(struct jobstack *handle, const char *stack, uint64_t entry, jobstack_item_fn *fn, void *ctx,
		      struct jobstack_error *error);

/* Gives in *ENTRY the number of the entry with this datapath; if there are several, the last one.  Returns 1 if no
 * entry has it, JOBSTACK_EMISSING if there is no such stack. */
int jobstack_find(struct jobstack *handle, const char *stack, struct jobstack_bytes datapath, uint64_t *entry,
		  struct jobstack_error *error);

/* Calls FN for each of N entries (ascending) that exists, with its number and datapath; the other members are not
 * set.  ENTRIES NULL: for all entries of the stack, by number; some may be given again after a lost connection. */
int jobstack_datapaths(struct jobstack *handle, const char *stack, const uint64_t *entries, size_t n,
		       jobstack_item_fn *fn, void *ctx, struct jobstack_error *error);

struct jobstack_requeue_result {
	size_t size;
	uint64_t requeued; /* or moved, or cancelled; in a dry run, what would be */
	uint64_t refused;  /* named, but in a state in which that can't be done, or not chosen by the filter */
	uint64_t missing;  /* named, but not in the stack */
};
/* clang-format off */
#define JOBSTACK_REQUEUE_RESULT_INIT {sizeof(struct jobstack_requeue_result), 0, 0, 0}
/* clang-format on */

/* Makes dead, done and cancelled entries that FILTER (NULL: all dead ones) chooses ready again.  States: DEAD, DONE,
 * CANCELLED (each by jobstack_cancel); FAILED and LOST mean the dead entries whose last attempt ended so.  The history
 * is kept; the counts of failures and losses start again at 0.  Each entry is requeued once, however many callers do it
 * at once.  A running entry is refused: see jobstack_recover.  Each transaction requeues some hundred entries.  If a
 * call is cut short, no entry is half requeued, and RESULT (may be NULL) says how many were.  Other states choose
 * nothing.  Errors: EMISSING; EUSAGE (an invalid filter); ECONFLICT (the stack is cancelled or being dropped). */
int jobstack_requeue(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter, int dry_run,
		     struct jobstack_requeue_result *result, struct jobstack_error *error);

struct jobstack_cancel_options {
	size_t size;
	const char *note; /* why, at most 255 bytes are kept; NULL: a dead entry keeps its reason */
	int dry_run;
};
/* clang-format off */
#define JOBSTACK_CANCEL_OPTIONS_INIT {sizeof(struct jobstack_cancel_options), NULL, 0}
/* clang-format on */

/* Gives up entries of STACK that FILTER (NULL: all) chooses and that are ready, waiting or dead: they are CANCELLED
 * from then on, and only jobstack_requeue returns them.  States: READY, WAITING, DEAD (0: all three); FAILED and LOST
 * as for jobstack_requeue.  Running entries are refused, and so are those that a push with `atomic` holds.  Each
 * transaction cancels some hundred entries, each entry once, however many callers do it at once and whatever reply is
 * lost; RESULT (may be NULL) counts them.  Memory: up to 8 MB for the numbers of the entries.  Errors: EMISSING; EUSAGE
 * (an invalid filter, another state); ECONFLICT (the stack is being dropped). */
int jobstack_cancel(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		    const struct jobstack_cancel_options *options, struct jobstack_requeue_result *result,
		    struct jobstack_error *error);

struct jobstack_move_options {
	size_t size;
	const char *to; /* the other stack.  If it does not exist, it is created with this one's order and policy of
			 * retries */
	int dry_run;
};
/* clang-format off */
#define JOBSTACK_MOVE_OPTIONS_INIT {sizeof(struct jobstack_move_options), NULL, 0}
/* clang-format on */

/* Moves dead entries of STACK that FILTER (NULL: all) chooses to another stack.  States: DEAD; FAILED and LOST as for
 * jobstack_requeue.  There they get new numbers and no attempts, and keep their priority.  Here they are MOVED from
 * then on: their history stays, and they can't be requeued.  Each is moved once, however many callers do it at once and
 * whatever reply is lost.  Some hundred are moved in one transaction over both stacks, so a call that is cut short has
 * moved whole entries, and RESULT (may be NULL) counts them.  Errors: EMISSING; EUSAGE (the same stack, an invalid
 * name, another state); ECONFLICT (the other stack is cancelled; one of the two is being dropped; a relative name, and
 * those of the other stack belong to another directory). */
int jobstack_move(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		  const struct jobstack_move_options *options, struct jobstack_requeue_result *result,
		  struct jobstack_error *error);

JOBSTACK_END
#endif

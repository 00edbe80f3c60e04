/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What happened to entries and files, and care of the tables: export, failures, history, prune, check.
 * Programs include jobstack.h.  It explains the words, and the rules for results, structs, threads and ownership.
 */
#ifndef JOBSTACK_HISTORY_H
#define JOBSTACK_HISTORY_H

#include "jobstack/entries.h"

JOBSTACK_BEGIN

/* ------------------------------------------------------------------------------------------------ reading it all */

struct jobstack_export_options {
	size_t size;
	int by_entry;	   /* one item per entry, with its last attempt; 0: one item per finished attempt */
	unsigned states;   /* by entry: JOBSTACK_IS_... bits, as of jobstack_list; 0: any */
	unsigned outcomes; /* by attempt: bits 1u << enum jobstack_verdict; 0: any */
	int64_t since_us;  /* only what ended at or after this time (microseconds since 1970 UTC); -1: everything */
	int64_t within_us; /* only what ended at most this long ago, by the server's clock; -1: everything */
	int no_datapath;   /* leave out the datapaths, which is faster */
	int tails;	   /* give err_tail too */
	const char *after; /* export the stream, after the item with this cursor; "0": from its first item */
	int64_t follow;	   /* export the stream, and wait for more at its end */
};
/* clang-format off */
#define JOBSTACK_EXPORT_OPTIONS_INIT {sizeof(struct jobstack_export_options), 0, 0, 0, -1, -1, 0, 0, NULL, 0}
/* clang-format on */

/* Calls FN for everything in STACK that OPTIONS (NULL: defaults) choose, in the order of the entries' numbers and of an
 * entry's attempts.  FN as jobstack_status_fn.
 *
 * By attempt: what has ended.  Such an item never changes.  Its state is 0, because it does not say what the entry's
 * state is now.  By entry: each entry that was pushed up to the call, once.  Its state and last attempt are those of
 * one moment during the call, but not the same moment for all.  An entry that runs comes with the attempt that runs.
 *
 * The stream (AFTER or FOLLOW, by attempt only) has each attempt once.  Its order never changes, and is roughly the
 * order in which attempts were recorded.  Each item has a cursor.  A caller that was interrupted continues after the
 * last cursor that it has kept, and gets all other attempts, each once, even those whose transactions were committed
 * later. Attempts that are pruned before they are read are missing.  The call writes to the database, so the account
 * needs that right.  With FOLLOW it continues until FN stops it.  While there is nothing new, FN is called with ITEM
 * NULL about twice a second.  Errors: EUSAGE (not a cursor of this stack), ECONFLICT (the database was set back to a
 * time before this cursor), EMISSING (the stack was dropped).
 *
 * It reads page by page by primary keys.  Memory is constant (some 10 MB; more if workers hold over 100,000 entries),
 * no transaction lasts longer than one page, and none is open while FN runs. */
int jobstack_export(struct jobstack *handle, const char *stack, const struct jobstack_export_options *options,
		    jobstack_item_fn *fn, void *ctx, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------------- failures */

struct jobstack_failures_options {
	size_t size;
	int all; /* 0: dead entries; 1: all entries whose last attempt failed or was lost, whatever became of them */
	int by_node;	  /* one group per node */
	uint64_t look_at; /* how many rows to read (dead entries; with `all` attempts), from the highest entry down; 0:
			   * all */
};
/* clang-format off */
#define JOBSTACK_FAILURES_OPTIONS_INIT {sizeof(struct jobstack_failures_options), 0, 0, 0}
/* clang-format on */

/* Failures that are alike.  Texts are valid during the callback, and may contain any bytes but NUL. */
struct jobstack_failure {
	uint64_t count;
	int outcome; /* enum jobstack_verdict; -1: the attempt has been deleted */
	enum jobstack_cause cause;
	int32_t exit_code, signal; /* -1: no exit code; 0: no signal */
	const char *reason;	   /* of the entry named below, or NULL */
	const char *pattern; /* their last line of stderr, with # for numbers and {} for the entry's name, by which
			      * they are grouped; or NULL */
	const char *example; /* that line as the entry named below printed it, or NULL */
	const char *node;    /* where they ran; NULL: on several nodes */
	uint64_t entry;	     /* one of them, and its attempt */
	uint32_t attempt;
	int various;	 /* 1: the sum of groups that were too small to keep, with different reasons, lines or nodes */
	int64_t ago_us;	 /* time since the last of them; -1: not known */
	int64_t program; /* the version that all of them ran, the number of a fact; -1: several, or not known */
};
typedef int jobstack_failure_fn(void *ctx, const struct jobstack_failure *failure);

struct jobstack_failures_report {
	size_t size;
	uint64_t looked;   /* rows that were read */
	uint64_t failures; /* the sum of all counts */
	uint64_t groups;
	int whole; /* every row was read */
};
/* clang-format off */
#define JOBSTACK_FAILURES_REPORT_INIT {sizeof(struct jobstack_failures_report), 0, 0, 0, 0}
/* clang-format on */

/* Groups the failures of STACK by outcome, exit code, signal, reason and similar last lines of stderr.  Calls FN for
 * the groups, largest first.  FN as jobstack_status_fn.  OPTIONS NULL: defaults.  REPORT may be NULL.  It reads page by
 * page in constant memory: if there are more than some two hundred groups, small ones are added up by exit code and
 * signal (`various`).  The sum of all counts is exact. */
int jobstack_failures(struct jobstack *handle, const char *stack, const struct jobstack_failures_options *options,
		      jobstack_failure_fn *fn, void *ctx, struct jobstack_failures_report *report,
		      struct jobstack_error *error);

/* A node where attempts fail that succeed elsewhere. */
struct jobstack_bad_node {
	const char *node;			       /* valid during the callback */
	uint64_t failed, attempts;		       /* there */
	uint64_t failed_elsewhere, attempts_elsewhere; /* on all nodes that are not bad */
};
typedef int jobstack_bad_node_fn(void *ctx, const struct jobstack_bad_node *node);

/* Reads the LOOK_AT attempts (0: 5,000) with the highest entry numbers.  Calls FN, worst first, for each node where so
 * many more of them failed or were lost than elsewhere that this is no coincidence.  FN as jobstack_status_fn.  *LOOKED
 * (may be NULL) gets the number of attempts that were read. */
int jobstack_bad_nodes(struct jobstack *handle, const char *stack, uint64_t look_at, jobstack_bad_node_fn *fn,
		       void *ctx, uint64_t *looked, struct jobstack_error *error);

/* ---------------------------------------------------------------------------------------------- history of files */

/* Brings the index of datapaths (the table `path`) up to date, for all stacks.  Pushes write nothing into it, so the
 * first call reads all entries.  Left out are entries that may be withdrawn still, those of a push --atomic that has
 * not ended.  FN (may be NULL) is called now and then.  Each transaction is short; a call that was cut short is
 * continued by the next.  Errors: ENODB, ESTOPPED. */
int jobstack_index(struct jobstack *handle, jobstack_progress_fn *fn, void *ctx, struct jobstack_error *error);

/* One attempt on a file that has ended, of STACK, and the text of its program's version (NULL: not known); or, with
 * attempt 0, an entry that has none. If its datapath's data is NULL, the entry was pruned: it was done, and is deleted
 * with its attempts.  Returns 0 to go on; any other value ends the call with ESTOPPED. */
typedef int jobstack_history_fn(void *ctx, const char *stack, const char *version, const struct jobstack_item *item);

/* Calls FN for all entries, of any stack, whose datapath is one of N absolute NAMES, and their attempts, in the order
 * of their starts: by the index, and then for what is not in it, by a search through those entries.  Relative datapaths
 * belong to their stack's directory; "/./" and "//" count as "/".  A pruned entry is known if it was in the index, by
 * its hash alone.  Some may be given twice.  Returns 1 if there is nothing.  Errors: ENODB, ESTOPPED. */
int jobstack_history(struct jobstack *handle, const struct jobstack_bytes *names, size_t n, jobstack_history_fn *fn,
		     void *ctx, struct jobstack_error *error);

/* An entry of a file, or an attempt of it that has ended.  Times and bytes as in struct jobstack_item. */
struct jobstack_run {
	const char *stack;
	uint64_t entry;
	uint32_t attempt; /* 0: of an entry */
	int outcome;
	int64_t started_us, ended_us, read_bytes, write_bytes;
};

/* A file, with its N runs.  Valid during the callback. */
struct jobstack_file {
	struct jobstack_bytes datapath; /* absolute; length 0: not asked for, or all entries were pruned */
	const struct jobstack_run *run;
	size_t n;
};
typedef int jobstack_file_fn(void *ctx, const struct jobstack_file *file);

struct jobstack_files_options {
	size_t size;
	const char *const *stacks; /* only files of these */
	size_t stacks_n;	   /* 0: of all stacks but canaries */
	/* 0: files with several entries, with their names.  Else files with their attempts; and if there are more than
	 * so many entries, a sample of the files with about so many, which is the same one each time. */
	uint64_t most;
};
/* clang-format off */
#define JOBSTACK_FILES_OPTIONS_INIT {sizeof(struct jobstack_files_options), NULL, 0, 0}
/* clang-format on */

/* Calls FN (as jobstack_history_fn) for files that are in the index, in the order of their hashes, with their entries
 * by stack and number, or with their attempts in the order of their starts.  *SHARE (may be NULL) is the share of all
 * files that the sample is.  After a lost connection some files may be given twice.  Errors: ENODB, ESTOPPED. */
int jobstack_files(struct jobstack *handle, const struct jobstack_files_options *options, jobstack_file_fn *fn,
		   void *ctx, double *share, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------------- pruning */

struct jobstack_prune_options {
	size_t size;
	int64_t older_us; /* delete what ended longer ago than this; 0: everything that has ended */
	int dry_run;	  /* delete nothing, only count */
	/* The archive.  ITEM (NULL: no archive) gets each attempt of each entry that is to be deleted, by number, an
	 * entry's last attempt last.  KEEP is called once after some thousand entries.  Only when it has returned 0 are
	 * they deleted.  Any other value from either ends the call with ESTOPPED, and these entries stay.  An entry
	 * that ITEM got and that then stays, or was requeued meanwhile, is given again when it is deleted. */
	jobstack_item_fn *item;
	int (*keep)(void *ctx);
	jobstack_progress_fn *progress; /* NULL: none.  It counts entry numbers */
	void *ctx;			/* of all three */
	int64_t usage; /* not 0: delete records of packages and platforms instead of entries: see below */
};
/* clang-format off */
#define JOBSTACK_PRUNE_OPTIONS_INIT {sizeof(struct jobstack_prune_options), 0, 0, NULL, NULL, NULL, NULL, 0}
/* clang-format on */

struct jobstack_prune_result { /* what was deleted, or in a dry run would be */
	size_t size;
	uint64_t entries, attempts;   /* entries, and their attempts */
	uint64_t workers, pushes;     /* ended ones to which nothing belongs any more; never those of the last hour */
	uint64_t packages, platforms; /* with USAGE: lists of Python packages; platforms */
};
/* clang-format off */
#define JOBSTACK_PRUNE_RESULT_INIT {sizeof(struct jobstack_prune_result), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/* Deletes from STACK the entries that are done and ended longer ago than OPTIONS (NULL: defaults) say, with all their
 * attempts; then the workers and pushes to which nothing belongs any more.  Dead entries stay.  The names of a stack
 * with unique ones stay too, so that they are not pushed again.  It works in chunks, each a transaction, and can run
 * beside workers.  An entry that is requeued at the same time is either requeued or deleted.  The counts are correct
 * wherever it is cut short.  Memory is constant (some 10 MB).  With USAGE it deletes only the records of Python
 * packages and platforms, of workers that ended longer ago than OPTIONS say.  ITEM, KEEP and PROGRESS are not called
 * then. RESULT (may be NULL) is filled on errors too.  Errors: EMISSING; ECONFLICT if the stack is being dropped;
 * ESTOPPED.
 */
int jobstack_prune(struct jobstack *handle, const char *stack, const struct jobstack_prune_options *options,
		   struct jobstack_prune_result *result, struct jobstack_error *error);

/* -------------------------------------------------------------------------------------------- checking the database */

/* What can be wrong.  Every entry must be in exactly one place: a span (ready, waiting, held), an open claim, done,
 * dead or cancelled. */
enum jobstack_fault {
	JOBSTACK_FAULT_LOST,	/* an entry is in no place */
	JOBSTACK_FAULT_DOUBLED, /* an entry is in two places */
	JOBSTACK_FAULT_STRAY,	/* a row names an entry, or a stack, that does not exist */
	JOBSTACK_FAULT_SPAN,	/* a span is invalid */
	JOBSTACK_FAULT_CLAIM,	/* a claim is invalid, or no live worker holds it */
	JOBSTACK_FAULT_ATTEMPT, /* the attempts of an entry are not numbered without a gap */
	JOBSTACK_FAULT_NAME,	/* the rows that keep names unique are not those of the entries */
	JOBSTACK_FAULT_COUNTER, /* a counter is not the number of what it counts */
	JOBSTACK_FAULTS		/* how many this header knows */
};

/* One thing that is wrong.  Its pointers are valid during the callback. */
struct jobstack_finding {
	enum jobstack_fault fault;
	const char *kind;		/* "lost", "doubled", "stray", "span", "claim", "attempt", "name", "counter" */
	uint64_t entry;			/* the entry concerned; 0: no particular one */
	struct jobstack_bytes datapath; /* of the entry; data NULL: it has none */
	const char *text;		/* what is wrong, in words */
};
typedef int jobstack_finding_fn(void *ctx, const struct jobstack_finding *finding);

/* What was counted, from the rows themselves and not from counters. */
struct jobstack_check_report {
	size_t size;
	enum jobstack_stack_state state; /* DROPPING: nothing was read */
	uint64_t entries, attempts;
	uint64_t ready, waiting, held, running, done, dead, moved; /* in a cancelled stack too */
	uint64_t found[16]; /* by enum jobstack_fault: how many findings, given to FN or not; there is room for more
			       kinds */
	uint64_t cancelled; /* by jobstack_cancel */
};
/* clang-format off */
#define JOBSTACK_CHECK_REPORT_INIT \
	{sizeof(struct jobstack_check_report), JOBSTACK_OPEN, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0}
/* clang-format on */

/* Checks that the rows of STACK agree with each other; with STACK NULL, that no table has rows of a stack that does not
 * exist.  Everything is read in one view of the data, without a lock: workers and pushes go on, and what they do
 * meanwhile is not seen.  Then FN (may be NULL; as jobstack_status_fn) is called for the findings, of each kind the
 * first JOBSTACK_CHECK_TOLD, by entry number.  Takes some 10 MB of memory for any number of entries.  If the connection
 * is lost, it reads again from the beginning.  REPORT (may be NULL) is filled at 0 and at JOBSTACK_NOTHING.  Returns 0
 * if everything agrees; JOBSTACK_NOTHING if something is wrong, with ERROR left as it is.  Errors: EMISSING, ENODB,
 * ESTOPPED. */
#define JOBSTACK_CHECK_TOLD 1000
int jobstack_check(struct jobstack *handle, const char *stack, jobstack_finding_fn *fn, void *ctx,
		   struct jobstack_check_report *report, struct jobstack_error *error);

JOBSTACK_END
#endif

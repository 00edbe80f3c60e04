/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stacks: the schema, their settings and progress, their workers, and what is known of the server.
 * Programs include jobstack.h.  It explains the words, and the rules for results, structs, threads and ownership.
 */
#ifndef JOBSTACK_STACK_H
#define JOBSTACK_STACK_H

#include "jobstack/handle.h"

JOBSTACK_BEGIN

/* -------------------------------------------------------------------------------------------------------- schema */

struct jobstack_init_report {
	size_t size;
	unsigned before; /* the schema version that was there; 0: there was no schema */
	unsigned after;	 /* the schema version now */
	int created_database;
};
/* clang-format off */
#define JOBSTACK_INIT_REPORT_INIT {sizeof(struct jobstack_init_report), 0, 0, 0}
/* clang-format on */

/* Creates or upgrades the schema from the numbered .sql files in SCHEMA_DIR.  It can be repeated, and many may call it
 * at once: one does the work, the others wait.  If it is killed in the middle, the next call continues.  REPORT may be
 * NULL.  Errors: ECONFLICT (JOBSTACK_WHY_OLD_WORKERS: workers of the older schema are alive, and would fail after the
 * upgrade; the text names them), ESCHEMA (the database is newer than this library), EFILE, EPERM, ENODB. */
int jobstack_init(struct jobstack *handle, const char *schema_dir, struct jobstack_init_report *report,
		  struct jobstack_error *error);

/* -------------------------------------------------------------------------------------------------------- stacks */

enum jobstack_stack_state { JOBSTACK_OPEN, JOBSTACK_PAUSED, JOBSTACK_CANCELLED, JOBSTACK_DROPPING };

/* Why an attempt was not done, or why a worker ended: what programs decide by, while a reason is for people.  The
 * numbers are those in the database. */
enum jobstack_cause {
	JOBSTACK_CAUSE_NONE,	 /* done; a worker: nothing was left for it; or nobody has said */
	JOBSTACK_CAUSE_EXIT,	 /* its command ended with an exit code that is not 0 */
	JOBSTACK_CAUSE_SIGNAL,	 /* ... by a signal that is not the worker's */
	JOBSTACK_CAUSE_TIMEOUT,	 /* it ran for too long */
	JOBSTACK_CAUSE_MEMORY,	 /* it was killed because memory ran out */
	JOBSTACK_CAUSE_KILLED,	 /* by a person, with jobstack_kill */
	JOBSTACK_CAUSE_DEFERRED, /* it asked to be tried later: exit code 75, or what it printed */
	JOBSTACK_CAUSE_NODE,	 /* it failed, but its node may be bad, so that does not count; a worker: its node is */
	JOBSTACK_CAUSE_RESULT,	 /* it ended with 0, but without what was expected: a file, an answer */
	JOBSTACK_CAUSE_START,	 /* it can't be run: a program or a directory is missing, or fields of its name are */
	JOBSTACK_CAUSE_OUTPUT,	 /* what it printed could not be kept, or a disk was full */
	JOBSTACK_CAUSE_WALL_TIME,   /* its job's time was over, or nearly */
	JOBSTACK_CAUSE_STOPPED,	    /* its worker was told to end by a signal */
	JOBSTACK_CAUSE_LEASE,	    /* its worker could not keep its lease */
	JOBSTACK_CAUSE_NODE_FAILED, /* its node went down */
	JOBSTACK_CAUSE_PREEMPTED,   /* its job was, for another one */
	JOBSTACK_CAUSE_CANCELLED,   /* its job was, by a person */
	JOBSTACK_CAUSE_WORKER,	    /* its worker died of something else */
	JOBSTACK_CAUSE_PAUSED,	    /* a worker: its stack was paused, by it or by others */
	JOBSTACK_CAUSE_OTHER,
	JOBSTACK_CAUSES
};

/* The counts of one stack, all of one moment.  At every commit pushed = ready + waiting + held + running + done + dead
 * + cancelled + moved + pruned. */
struct jobstack_status {
	uint64_t stack_id;
	const char *stack; /* texts are valid during the callback */
	enum jobstack_stack_state state;
	uint64_t pushed, ready, waiting, held, running, done, dead, cancelled;
	uint64_t workers, slots; /* of workers that have not ended */
	uint64_t pushers;	 /* pushes with a heartbeat in the last minute */
	double rate;		 /* entries per second, over the lives of the workers that hold entries; 0: not known.
				  * jobstack_pace gives a better estimate */
	int64_t next_due_us;	 /* time until the next waiting entry is due; 0: one is due; -1: no entry waits */
	const char *cwd;	 /* the directory of relative names, or NULL */
	uint32_t max_attempts, max_losses;
	int64_t retry_delay_us;
	int64_t max_running, max_failures; /* 0: no limit */
	uint64_t moved, pruned;	       /* entries that were moved to another stack, or deleted; pushed counts them */
	const char *note;	       /* why the stack is paused or cancelled, or NULL */
	uint64_t busy;		       /* slots that run an entry */
	uint64_t silent;	       /* workers without a heartbeat for longer than their lease */
	uint64_t ended;		       /* how many ended entries `rate` was computed from */
	uint64_t strict_order;	       /* of the policy */
	int64_t idle_us;	       /* time since the last worker or push ended; 0: there is one now */
	int64_t max_starts, starts_us; /* of the policy; 0: no limit */
};

/* Returns 0 to go on.  Any other value ends the listing, which then returns JOBSTACK_ESTOPPED. */
typedef int jobstack_status_fn(void *ctx, const struct jobstack_status *status);

/* Calls FN for the stack STACK, or, if STACK is NULL, for all stacks, by name.  One SELECT; it is exact, and takes the
 * same time at any number of entries.  Errors: EMISSING if STACK does not exist. */
int jobstack_status(struct jobstack *handle, const char *stack, jobstack_status_fn *fn, void *ctx,
		    struct jobstack_error *error);

/* Gives in NAME the stack that the handle's os_user made last; or "@", if a stack has this name, which new ones may
 * not have.  Returns 1 if this user has no stack. */
int jobstack_newest(struct jobstack *handle, char name[JOBSTACK_STACK_MAX + 1], struct jobstack_error *error);

/* Gives in NAME the stack that a push made with this ORIGIN (see struct jobstack_push_options).  Returns 1 if there is
 * none; NAME is then "BASE-N", with the first number N behind all that are in use. */
int jobstack_of_origin(struct jobstack *handle, struct jobstack_bytes origin, const char *base,
		       char name[JOBSTACK_STACK_MAX + 1], struct jobstack_error *error);

/* Gives in ACCOUNT the database account that pushed ENTRY of STACK, "" if it is the one that this handle uses, and in
 * *LAST the last of the entries that were pushed together with it.  Returns 1, with "" and ENTRY, if that is not
 * recorded.
 */
int jobstack_pushed_by(struct jobstack *handle, const char *stack, uint64_t entry, char account[256], uint64_t *last,
		       struct jobstack_error *error);

/* How fast a stack is processed.  Times are -1, and the rate is 0, while they are not known: nothing has ended yet,
 * nothing runs, or the stack is paused. */
struct jobstack_pace {
	size_t size;
	double rate;		 /* entries per second that are finished */
	int64_t eta_us;		 /* time until nothing is left, at that rate; 0: nothing is left */
	int64_t low_us, high_us; /* the likely range of eta_us, if nothing changes */
	int64_t each_us;	 /* how long one entry took, on average of some that have ended lately */
};
/* clang-format off */
#define JOBSTACK_PACE_INIT {sizeof(struct jobstack_pace), 0, -1, -1, -1, -1}
/* clang-format on */

/* Estimates the pace of STACK, from its status and some eighty rows of its history: it takes the same time at any
 * number of entries.  Errors: EMISSING, ENODB. */
int jobstack_pace(struct jobstack *handle, const char *stack, struct jobstack_pace *pace, struct jobstack_error *error);

/* Sets the state of STACK.  PAUSED: nothing more is claimed, and what runs goes on.  CANCELLED: in addition nothing can
 * be pushed, the workers end, and everything that has not started counts as cancelled, until the stack is opened again.
 * NOTE (may be NULL; at most 255 bytes are kept) says why.  Setting the present state again succeeds.  Errors:
 * EMISSING; ECONFLICT if the stack is being dropped, or is to be opened with as many dead entries as its max_failures.
 */
int jobstack_set_state(struct jobstack *handle, const char *stack, enum jobstack_stack_state state, const char *note,
		       struct jobstack_error *error);

/* The policy of a stack.  -1 leaves a value as it is; the numbers given here are those of a new stack. */
struct jobstack_policy {
	size_t size;
	int32_t max_attempts;	/* failures before an entry is dead; 3 */
	int32_t max_losses;	/* lost workers before an entry is dead; 5 */
	int64_t retry_delay_us; /* time before the first retry, doubled at each one; 5 s */
	int64_t max_running;	/* how many entries workers may hold in all; 0: no limit */
	int64_t max_failures;	/* with this many dead entries the stack pauses itself; 0: never */
	int32_t priority;	/* for all entries that nobody has claimed; or JOBSTACK_PRIORITY_UNCHANGED */
	int64_t strict_order; /* 1: entries are popped exactly in their order, whatever that costs; 0: nearly so; 0.  A
				 last-in-first-out stack is always exact: there it is 1, and stays 1 */
	int64_t max_starts;   /* workers together start at most so many entries in any STARTS_US; 0: no limit; 0 */
	int64_t starts_us;    /* in microseconds; it counts only with max_starts */
};
#define JOBSTACK_PRIORITY_UNCHANGED INT32_MIN
/* clang-format off */
#define JOBSTACK_POLICY_INIT {sizeof(struct jobstack_policy), -1, -1, -1, -1, -1, JOBSTACK_PRIORITY_UNCHANGED, -1, -1, -1}
/* clang-format on */

/* Changes the policy of STACK.  It applies from the next pop and the next failure on.  With max_running or max_starts,
 * workers claim only what they can start at once.  Errors: EMISSING, EUSAGE, ECONFLICT (the stack is being dropped). */
int jobstack_set_policy(struct jobstack *handle, const char *stack, const struct jobstack_policy *policy,
			struct jobstack_error *error);

/* Called now and then during a long operation: about DONE of about TOTAL.  A value other than 0 stops the operation,
 * which then returns JOBSTACK_ESTOPPED. */
typedef int jobstack_progress_fn(void *ctx, uint64_t done, uint64_t total);

/* Deletes STACK with all its history, in chunks.  FN (may be NULL) is called between them.  After a call that was cut
 * short the stack can't be used any more; the next call continues.  Errors: EMISSING; ECONFLICT, with nothing changed,
 * while entries run or a push is under way. */
int jobstack_drop(struct jobstack *handle, const char *stack, jobstack_progress_fn *fn, void *ctx,
		  struct jobstack_error *error);

/* One worker that has not ended.  Texts are valid during the callback; NULL: not known. */
struct jobstack_worker_row {
	uint64_t worker;
	const char *node, *host, *boot, *user, *cluster, *job, *array_job, *array_task, *step, *log;
	uint64_t pid, slots, running, done, dead;
	uint64_t seq;		   /* grows with each step and heartbeat; if it stays the same, the worker is silent */
	int64_t pid_start;	   /* the start of the process in clock ticks since boot, from /proc; -1: not known */
	int64_t job_start_us;	   /* the start of the Slurm job, microseconds since 1970; -1: not known */
	int64_t silent_us;	   /* time since its last heartbeat, by the server's clock */
	int64_t lease_us;	   /* how long it may be silent */
	int64_t age_us;		   /* time since its start */
	int by_script;		   /* 1: a pop of a script, not a jobstack-worker */
	enum jobstack_cause cause; /* what jobstack_suspect reported at this seq, or NONE and NULL */
	const char *suspicion;
	uint64_t longest;   /* the entry that it has been running longest, as of its last step; 0: not known */
	int64_t longest_us; /* for this long */
	/* What it told with its last step: how long its steps take (0: not known), how long a commit took in the server
	 * (likewise), and which part of its slots' time, in thousandths, they wait for steps. */
	uint64_t step_us, commit_us, waiting;
	const char *stack; /* its name */
	/* Whether a connection of it holds its user lock (jobstack_worker_stay): 1 or 0.  -1: not known (a script's
	 * pop; a cluster).  It proves nothing: a live worker may have no connection, and the connection of a dead one
	 * may last. */
	int64_t connected;
};
typedef int jobstack_worker_fn(void *ctx, const struct jobstack_worker_row *worker);

/* Calls FN for each worker of STACK that has not ended, oldest first.  FN as jobstack_status_fn. */
int jobstack_workers(struct jobstack *handle, const char *stack, jobstack_worker_fn *fn, void *ctx,
		     struct jobstack_error *error);

/* Calls FN for each worker of STACK that has found its node bad in the last day (JOBSTACK_FACT_BAD_NODE), the newest
 * first, at most a thousand.  Only these members are set: worker, node (or the host), job, array_job; silent_us: how
 * long ago that was; suspicion: why. */
int jobstack_ended_bad(struct jobstack *handle, const char *stack, jobstack_worker_fn *fn, void *ctx,
		       struct jobstack_error *error);

/* As jobstack_workers, for the workers of the system's user named USER that are in Slurm jobs, in all stacks. */
int jobstack_job_workers(struct jobstack *handle, const char *user, jobstack_worker_fn *fn, void *ctx,
			 struct jobstack_error *error);

/* How users start workers: `jobstack run`, `jobstack submit`; or sbatch rejected what `submit` gave it. */
enum jobstack_way { JOBSTACK_BY_RUN, JOBSTACK_BY_SUBMIT, JOBSTACK_REJECTED };

/* How the work on a stack came to its last end: of the worker that ended last, and of what jobstack_note_start recorded
 * last for a user and a way.  Times are how long ago; -1: there was no such worker or start, and its members are 0,
 * NULL or "". */
struct jobstack_last {
	const char *stack;
	int64_t ended_us;
	enum jobstack_cause cause;
	const char *node, *reason;
	uint64_t closed; /* entries that it did, or that are dead by it */
	int in_job;	 /* it was in a Slurm job */
	int64_t job_us;	 /* what was started */
	enum jobstack_way way;
	uint64_t user, job, pushed;	 /* the user's number; the job's, or 0; how many entries were pushed by then */
	const char *cluster, *log, *cwd; /* "": not known; of a REJECTED one the log is what sbatch said */
	struct jobstack_bytes words;	 /* what repeats it, each with a NUL behind it: options, "--", the command */
	int came;			 /* the worker began after that */
};
typedef void jobstack_last_fn(void *ctx, const struct jobstack_last *last);

/* Calls FN for each start, in no order, and once if there was none.  (If the connection is lost meanwhile, it
 * begins again.)  STACK NULL: the starts of all stacks, without their workers.  Errors: EMISSING, ENODB. */
int jobstack_last(struct jobstack *handle, const char *stack, jobstack_last_fn *fn, void *ctx,
		  struct jobstack_error *error);

/* Records the members of START from `way` on, but for `came`, in the place of what USER has started in this way before;
 * all texts must be there.  Too many words are not kept. */
int jobstack_note_start(struct jobstack *handle, const char *stack, const struct jobstack_last *start,
			struct jobstack_error *error);

/* ----------------------------------------------------------------------------------------------------- diagnosis */

/* One fact about the server, as text, valid during the callback.  Returns 0 to go on; any other value ends the call
 * with ESTOPPED. */
typedef int jobstack_fact_fn(void *ctx, const char *name, const char *value);

/* Calls FN with what can be learnt of the server without special rights.  Facts that the server does not show are left
 * out, which is no error.  Names: "version"; "database" (the one in use); "user"; "role", if one is active; "right",
 * once per right that the user has in the database other than by a role; "variable.NAME" and "status.NAME", in small
 * letters, for settings and counters that matter to a queue; "schema.version", if there is a schema; "purge.history"
 * (old row versions) and "transaction.oldest_seconds", if the rights suffice; "roundtrip_us", the median of several;
 * "cpu.slowdown", how many times as long as on an idle server it takes to compute something; "clock.ahead_us", by how
 * much the server's clock was ahead of this host's when the connection was made.  More names may come.  Errors: ENODB,
 * ESTOPPED. */
int jobstack_server_facts(struct jobstack *handle, jobstack_fact_fn *fn, void *ctx, struct jobstack_error *error);

/* Measures in the server how long a commit takes, several times: *US is the median, and *LEAST_US the least, which
 * tells of the disk even if the server is busy.  Each transaction inserts a row and deletes it again, so nothing is
 * left. Errors: ENODB, and what INSERT and DELETE in the schema can end with. */
int jobstack_commit_time(struct jobstack *handle, int64_t *us, int64_t *least_us, struct jobstack_error *error);

JOBSTACK_END
#endif

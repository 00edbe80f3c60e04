/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libjobstack: a durable queue of files, kept in MySQL or MariaDB.
 *
 * Words.  A STACK is a named list of ENTRIES.  An entry is one datapath (any bytes but NUL) to process.  A CLAIM is a
 * set of entries that one worker holds.  An ATTEMPT is one run of a command on one entry; it has one outcome.  A DEAD
 * entry has used up its attempts and waits for a person.  A LEASE is the time for which a worker may be silent; after
 * that others take back what it holds.
 *
 * Results.  A function that can fail returns 0 for success, 1 for an ordinary "nothing" (the stack is empty, the lease
 * is gone), or a negative JOBSTACK_E... code.  With a negative code it also fills the caller's error object, if there
 * is one.  After a failure nothing has changed in the database, unless the function says otherwise.
 *
 * Structs that grow.  Later versions add members at the end of structs, and programs need not be built again.  So:
 *
 *   - Every struct that the caller provides begins with its `size`.  Start it with its ..._INIT macro, which sets the
 *     size and the defaults.  A function that gets a wrong size fails with JOBSTACK_EUSAGE.
 *   - Options and input: if the struct is smaller than the library's, the missing members have their defaults.  If it
 *     is larger, the bytes that the library does not know must be zero, else the function fails with JOBSTACK_EUSAGE.
 *   - Output: the library writes no more than `size` bytes.  It fills what it does not know with zeros.
 *   - Arrays, in either direction: the `size` of an element is also the distance to the next one.  All elements of an
 *     array have the same size.  The elements of a batch may be larger than the caller's struct, so they are read
 *     through jobstack_batch_entry.
 *   - What a callback gets is made by the library.  It may grow at its end too.  Read it during the call; copy the
 *     members that you need, not the struct.  Its new members are there if jobstack_version is at least that of this
 *     header.
 *   - struct jobstack_error, jobstack_bytes and jobstack_range never change.  Enums may get more values at their end.
 *
 * Threads.  A handle, and all that was made from it, may be used by one thread at a time; jobstack_stop is the
 * exception.  Handles are independent of each other.  The library starts no threads, installs no signal handlers,
 * prints nothing, and reads no environment variables.  After a fork, the child must not use its parent's handle.  A
 * callback must not use the handle that calls it.
 *
 * Ownership.  The library reads pointers that it is given only during the call.  What a function allocates is freed by
 * the function named at its prototype.  Those functions accept NULL and keep errno.
 *
 * Units.  Times named ..._us are microseconds.  A MOMENT is a time of this host by CLOCK_BOOTTIME in microseconds
 * (jobstack_now_us).  The library converts moments to the server's time, so a wrong clock on a node does no harm.
 *
 * Popping with SELECT ... FOR UPDATE is as old as queues in databases.  jobstack stores what nobody has claimed as
 * intervals, so a pop changes one small row; docs/DESIGN.md explains that.
 */
#ifndef JOBSTACK_JOBSTACK_H
#define JOBSTACK_JOBSTACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define JOBSTACK_VERSION_MAJOR 0
#define JOBSTACK_VERSION_MINOR 2
#define JOBSTACK_VERSION_PATCH 0
#define JOBSTACK_VERSION "0.2.0"

/* Limits, in bytes and entries. */
#define JOBSTACK_DATAPATH_MAX 32768 /* a datapath, without a terminator */
#define JOBSTACK_STACK_MAX 128	    /* a stack's name: letters, digits and . _ - + = @ : , not first - or . */
#define JOBSTACK_POP_MAX 500	    /* entries that one pop may claim */

/* Stacks whose names begin with this belong to scripts/canary, which tests an installation.  jobstack_newest and
 * jobstack_files leave them out, and so do reports of all stacks. */
#define JOBSTACK_CANARY "canary-"

/* Results.  The negative of EUSAGE, ENODB, EBUG and EPERM is the exit status of the command. */
#define JOBSTACK_OK 0
#define JOBSTACK_NOTHING 1	 /* nothing to pop; the lease is gone; closed before with another outcome */
#define JOBSTACK_EUSAGE (-2)	 /* an argument is wrong: an invalid name, a value out of range, a wrong size */
#define JOBSTACK_EMISSING (-3)	 /* no such stack, or no such entry */
#define JOBSTACK_ECONFLICT (-4)	 /* the present state does not allow it */
#define JOBSTACK_EINPUT (-5)	 /* a datapath in the input is invalid */
#define JOBSTACK_EFILE (-6)	 /* a local file can't be read or written */
#define JOBSTACK_ESCHEMA (-7)	 /* the schema is missing, or older or newer than this library */
#define JOBSTACK_ENODB (-69)	 /* the database can't be reached, or can't work (its disk is full) */
#define JOBSTACK_EBUG (-70)	 /* a bug of jobstack, or no memory */
#define JOBSTACK_EPERM (-77)	 /* the server denies it, or an option file can be read by others */
#define JOBSTACK_ESTOPPED (-130) /* jobstack_stop was called, or a callback asked to stop */

/* What went wrong, in words.  The caller owns it, and starts it as {0} or JOBSTACK_ERROR_INIT.  The first error wins: a
 * text that is there is not overwritten.  The text contains no newline and no password. */
struct jobstack_error {
	int code;	       /* JOBSTACK_E... */
	unsigned server_errno; /* the number of the server or the connector, an enum jobstack_why, or 0 */
	char text[1000];       /* cut at this length */
};
/* clang-format off */
#define JOBSTACK_ERROR_INIT {0, 0, {0}}
/* clang-format on */

/* What the library itself found.  It stands in server_errno, for programs that suggest a remedy.  All values are above
 * the numbers of servers and connectors.  Treat one that you do not know as 0. */
enum jobstack_why {
	JOBSTACK_WHY_NO_STACK = 100001, /* EMISSING: no such stack */
	JOBSTACK_WHY_NO_ENTRY,		/* EMISSING: no such entry */
	JOBSTACK_WHY_DROPPING,		/* ECONFLICT: the stack is being dropped */
	JOBSTACK_WHY_CANCELLED,		/* ECONFLICT: the stack is cancelled */
	JOBSTACK_WHY_PUSHING,		/* ECONFLICT: another push to the stack is under way */
	JOBSTACK_WHY_RUNNING,		/* ECONFLICT: entries of the stack are running */
	JOBSTACK_WHY_MAX_FAILURES,	/* ECONFLICT: the stack has as many dead entries as its max_failures */
	JOBSTACK_WHY_SCHEMA_NEWER,	/* ESCHEMA: the schema is newer than this library */
	JOBSTACK_WHY_TLS,		/* ENODB: the connector reports a TLS error */
	JOBSTACK_WHY_MEMORY,		/* EBUG: this process has no memory left */
	JOBSTACK_WHY_OPTION,		/* EUSAGE: a wrong option */
	JOBSTACK_WHY_OLD_WORKERS,	/* ECONFLICT: workers of the older schema are alive */
	JOBSTACK_WHY_NO_PRIMARY,	/* ENODB: this member of a replication group takes no writes */
	JOBSTACK_WHY_DAMAGED		/* EBUG: rows that must be there are not */
};

struct jobstack;	/* a handle: one connection, opened when it is needed */
struct jobstack_worker; /* a worker that this process has registered */

/* Bytes that the caller, or the library, owns.  This struct never changes. */
struct jobstack_bytes {
	const void *data;
	size_t len;
};

enum jobstack_level {
	JOBSTACK_LOG_ERROR,
	JOBSTACK_LOG_WARNING,
	JOBSTACK_LOG_INFO,
	JOBSTACK_LOG_DEBUG,
	JOBSTACK_LOG_PROGRESS /* how far a long operation has come, for a person who waits */
};

/* Gets each message of the library.  TEXT contains no newline and no password; it is valid during the call. */
typedef void jobstack_log_fn(void *ctx, enum jobstack_level level, const char *text);

/* ---------------------------------------------------------------------------------------------- version and time */

/* The version of the library that runs, as "MAJOR.MINOR.PATCH".  A constant; do not free it. */
const char *jobstack_version(void);

/* The schema version that this library works with. */
unsigned jobstack_schema_version(void);

/* What the result CODE means in general: "no such stack or entry".  A constant; do not free it.  The error object says
 * what went wrong in particular. */
const char *jobstack_strerror(int code);

/* The present moment: CLOCK_BOOTTIME in microseconds, which goes on while the host is suspended. */
int64_t jobstack_now_us(void);

/* ------------------------------------------------------------------------------------------------------- handles */

struct jobstack_options {
	size_t size; /* set by the macro */
	/* An option file in MySQL's format: groups [client], then [jobstack].  It is read again at every reconnect.
	 * NULL: no file.  If it contains a password and others can read it, the call fails with JOBSTACK_EPERM. */
	const char *defaults_file;
	/* Each of these that is not NULL (port: not 0) overrides the file.  The host may be a list,
	 * "a,b:3307,[::1]:3306", as host= in the file may.  The hosts are tried in turn, beginning with the one that
	 * worked last.  Read-only servers are skipped. */
	const char *host, *socket, *user, *password, *database;
	unsigned port;
	/* How long a call retries while the database can't be reached, before it fails with JOBSTACK_ENODB.  0: one
	 * try.  The first connection of a handle is one try, unless first_us says more, all connections of the server
	 * are taken, or the server is too busy to answer the connection. */
	int64_t patience_us;
	/* How long the first connection waits while all connections of the server are taken, if that is longer than
	 * patience_us. */
	int64_t crowd_us;
	jobstack_log_fn *log; /* NULL: no messages */
	void *log_ctx;
	/* The OS user, recorded with the stacks and pushes that this handle makes, beside the database account, which
	 * the server adds.  Nobody checks it.  NULL: not recorded. */
	const char *os_user;
	/* How long the first connection retries while the database can't be reached or takes no writes, as during a
	 * failover.  0: one try. */
	int64_t first_us;
};
/* clang-format off */
#define JOBSTACK_OPTIONS_INIT \
	{sizeof(struct jobstack_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0}
/* clang-format on */

/* Makes a handle in *HANDLE and connects it.  Free it with jobstack_free.  OPTIONS NULL: defaults.  The schema is not
 * checked here, but by the calls that need it, so that jobstack_init can use the handle.  Errors: EPERM, EFILE, EUSAGE,
 * ENODB, ESTOPPED. */
int jobstack_open(struct jobstack **handle, const struct jobstack_options *options, struct jobstack_error *error);

/* Closes the connection and frees the handle.  Free the workers that were made from it first. */
void jobstack_free(struct jobstack *handle);

/* Stops HANDLE for good: what waits (for a database that is away, for a lock, for another push) ends within a quarter
 * of a second with JOBSTACK_ESTOPPED, now and in all later calls.  A call that need not wait still succeeds.
 * Exceptions: jobstack_check, and calls that read many rows page by page; they end at their next query.  A query that
 * was already sent is finished first.  NULL stops every handle of this process, those that are opened later too. Any
 * thread and any signal handler may call this, but not after jobstack_free. */
void jobstack_stop(struct jobstack *handle);

/* Closes the connection until the next call, which connects again.  For a caller who will not need it for a while. */
void jobstack_disconnect(struct jobstack *handle);

/* The same, but only while the server is short of connections (nine in ten are taken, or this handle was refused
 * lately).  Call it before each wait of some length: then more workers than connections can share a server.  It costs
 * one small query every five seconds. */
void jobstack_disconnect_if_crowded(struct jobstack *handle);

/* Writes to TEXT, of SIZE bytes, where the handle is connected: "user@host:port/database, TLS ...". */
void jobstack_describe(struct jobstack *handle, char *text, size_t size);

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
	uint64_t moved, pruned; /* entries that were moved to another stack, or deleted; pushed counts them */
	const char *note;	/* why the stack is paused or cancelled, or NULL */
	uint64_t busy;		/* slots that run an entry */
	uint64_t silent;	/* workers without a heartbeat for longer than their lease */
	uint64_t ended;		/* how many ended entries `rate` was computed from */
	uint64_t strict_order;	/* of the policy */
};

/* Returns 0 to go on.  Any other value ends the listing, which then returns JOBSTACK_ESTOPPED. */
typedef int jobstack_status_fn(void *ctx, const struct jobstack_status *status);

/* Calls FN for the stack STACK, or, if STACK is NULL, for all stacks, by name.  One SELECT; it is exact, and takes the
 * same time at any number of entries.  Errors: EMISSING if STACK does not exist. */
int jobstack_status(struct jobstack *handle, const char *stack, jobstack_status_fn *fn, void *ctx,
		    struct jobstack_error *error);

/* Gives in NAME the stack that the handle's os_user made last; or "@", if a stack has this name, which new ones may
 * not have.  Returns 1 if there is none. */
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
};
#define JOBSTACK_PRIORITY_UNCHANGED INT32_MIN
/* clang-format off */
#define JOBSTACK_POLICY_INIT {sizeof(struct jobstack_policy), -1, -1, -1, -1, -1, JOBSTACK_PRIORITY_UNCHANGED, -1}
/* clang-format on */

/* Changes the policy of STACK.  It applies from the next pop and the next failure on.  With max_running, workers claim
 * only what they can start at once.  Errors: EMISSING, EUSAGE, ECONFLICT (the stack is being dropped). */
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
	uint64_t user, job, pushed;	 /* whose it is; Slurm's number, or 0; how many entries had been pushed */
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

/* ---------------------------------------------------------------------------------------------------------- push */

struct jobstack_push_options {
	size_t size;
	int unique;	  /* skip datapaths that the stack has already, from any push */
	int atomic;	  /* no entry can be popped before the whole push has succeeded */
	int32_t priority; /* larger goes first; 0 */
	int lifo;	  /* if the stack is created: last in, first out */
	const char *cwd;  /* the directory of relative datapaths; NULL: they are refused with JOBSTACK_EINPUT */
	const struct jobstack_policy
		*policy; /* set for the stack, new or not; its priority is ignored.  NULL: as it is */
	/* If the stack is created: what it is for, any bytes (a directory and a command).  jobstack_of_origin finds it
	 * by them, so there is one stack per origin: if another one has it, or if the stack NAME was created for
	 * something else, the push fails with ECONFLICT.  NULL: nothing. */
	const struct jobstack_bytes *origin;
};
/* clang-format off */
#define JOBSTACK_PUSH_OPTIONS_INIT {sizeof(struct jobstack_push_options), 0, 0, 0, 0, NULL, NULL, NULL}
/* clang-format on */

struct jobstack_push_result {
	size_t size;
	uint64_t pushed;  /* committed entries */
	uint64_t skipped; /* the stack had them already (unique) */
	uint64_t before;  /* how many entries the stack had before this push */
	uint64_t bad;	  /* with JOBSTACK_EINPUT: the number, from 1, of the datapath that was refused; else 0 */
};
/* clang-format off */
#define JOBSTACK_PUSH_RESULT_INIT {sizeof(struct jobstack_push_result), 0, 0, 0, 0}
/* clang-format on */

/* Gives the next datapath in *DATAPATH, valid until the next call, and returns 0.  Returns 1 at the end; 2 if there is
 * no datapath at the moment (then what was gathered is pushed, and the function is called again); a negative value to
 * stop with JOBSTACK_ESTOPPED.  It may use the handle of the push, but for another push. */
typedef int jobstack_next_fn(void *ctx, struct jobstack_bytes *datapath);

/* Pushes the datapaths that NEXT gives onto STACK, and creates the stack if it does not exist.  It pushes in chunks,
 * which can be popped while the push goes on, and needs the same memory for any number of them.  OPTIONS NULL:
 * defaults. RESULT (may be NULL) is correct at every return: after an error it says what was committed, which with
 * `atomic` is nothing.  To continue an interrupted push, repeat it with `unique`.  A push without any datapath returns
 * JOBSTACK_NOTHING and creates no stack.  Errors: EINPUT (a datapath is empty, longer than JOBSTACK_DATAPATH_MAX,
 * contains NUL, or is relative although the options have no `cwd`), EUSAGE (an invalid stack name), ECONFLICT (the
 * stack is cancelled, is being dropped or has no entry numbers left; its relative names belong to another directory;
 * another atomic push holds some of the names; the push was silent for so long that others ended it; the database was
 * set back to an earlier state), ESTOPPED, ENODB. */
int jobstack_push_from(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		       jobstack_next_fn *next, void *ctx, struct jobstack_push_result *result,
		       struct jobstack_error *error);

/* The same for N datapaths in memory, and for one (a NUL-terminated string). */
int jobstack_push_many(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		       const struct jobstack_bytes *datapaths, size_t n, struct jobstack_push_result *result,
		       struct jobstack_error *error);
int jobstack_push(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		  const char *datapath, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------ entries and outcomes */

/* A claimed entry.  The datapath is NUL-terminated; its length does not count the NUL. */
struct jobstack_entry {
	size_t size;
	uint64_t entry;
	uint32_t attempt; /* from 1 */
	uint32_t fails, losses;
	const char *datapath;
	size_t datapath_len;
	int64_t last_end_us; /* after jobstack_worker_last_ends: the moment at which its last attempt ended; else 0 */
};

/* Claimed entries.  Start it with the macro, read it with jobstack_batch_entry, and free it with jobstack_batch_free,
 * which makes it empty.  A function that fills it does not free what it held before. */
struct jobstack_batch {
	size_t size;
	uint64_t worker; /* the number of the worker that holds them */
	size_t count;
	const struct jobstack_entry *first; /* of `count` elements: see "Arrays" above */
	void *memory;			    /* the library's */
};
/* clang-format off */
#define JOBSTACK_BATCH_INIT {sizeof(struct jobstack_batch), 0, 0, NULL, NULL}
/* clang-format on */

/* Entry I of BATCH, from 0; NULL if there are not so many.  Valid until jobstack_batch_free. */
const struct jobstack_entry *jobstack_batch_entry(const struct jobstack_batch *batch, size_t i);
void jobstack_batch_free(struct jobstack_batch *batch);

enum jobstack_verdict {
	JOBSTACK_DONE,
	JOBSTACK_FAILED,      /* counts as a failure: the entry is retried, or dead */
	JOBSTACK_LOST,	      /* given by recovery only */
	JOBSTACK_INTERRUPTED, /* it ran, and was ended from outside: it is retried, and this does not count as a failure
			       */
	JOBSTACK_UNSTARTED    /* it did not run: it is ready again, and there is no record of an attempt */
};

/* What became of one claimed entry. */
struct jobstack_outcome {
	size_t size;
	uint64_t entry;
	uint32_t attempt;
	enum jobstack_verdict verdict;
	enum jobstack_cause cause; /* not DONE: why.  NONE of a FAILED one: as the exit code or the signal says */
	int fatal;		   /* FAILED: the entry is dead at once */
	/* INTERRUPTED: retried only after the stack's retry delay.  2: already after a quarter of it, doubled with each
	 * attempt that did not count. */
	int later;
	int32_t exit_code;	      /* -1: it has no exit code */
	int32_t signal;		      /* 0: no signal ended it */
	const char *reason;	      /* a few words, or NULL */
	int64_t started_us, ended_us; /* moments.  0: when it was claimed, and when it is closed */
	/* Usage; -1: not known.  CPU time in microseconds, memory in KiB, bytes by read and write calls. */
	int64_t user_us, system_us, maxrss_kib, read_bytes, write_bytes;
	const char *log;		  /* the file with its output; NULL: the worker's own log */
	int64_t log_at, log_out, log_err; /* offset in it, bytes of stdout, bytes of stderr; -1: no output was kept */
	int loss; /* INTERRUPTED: counts as a loss; after max_losses of them the entry is dead */
	/* Where stderr is, if it does not follow stdout: the file (NULL: the worker's own log) and the offset in it.
	 * -1: it follows stdout. */
	const char *err_log;
	int64_t err_at;
	/* FAILED: the last bytes of stderr, at most JOBSTACK_ERR_TAIL_MAX, which are kept in the database.  If many
	 * outcomes of one step have one, less of each may be kept. */
	struct jobstack_bytes err_tail;
	int64_t major_faults; /* usage: page faults that had to wait for the disk */
	/* Usage: bytes that were read from storage, and that were to be written to it; the most memory that the process
	 * tree had at once, in KiB, without mapped files; time that it waited for storage, in microseconds. */
	int64_t storage_read_bytes, storage_write_bytes, peak_kib, io_wait_us;
	/* Numbers of facts (jobstack_worker_fact): the version of the program, the file system of the datapath, and the
	 * Python packages that the command imported; -1: not known. */
	int64_t program, mount, packages;
};
#define JOBSTACK_ERR_TAIL_MAX 4096
/* clang-format off */
#define JOBSTACK_OUTCOME_INIT                                                                                          \
	{sizeof(struct jobstack_outcome), 0, 0, JOBSTACK_DONE, JOBSTACK_CAUSE_NONE, 0, 0, -1, 0, NULL, 0, 0, -1, -1, -1, -1, -1, NULL,     \
	 -1, -1, -1, 0, NULL, -1, {NULL, 0}, -1, -1, -1, -1, -1, -1, -1, -1}
/* clang-format on */

/* Who a worker is.  Leave unknown texts NULL, and unknown numbers -1, but lease_us and slots.  Apart from the defaults
 * below, everything is stored unchanged. */
struct jobstack_worker_options {
	size_t size;
	int64_t lease_us; /* 0: five minutes, for jobstack_pop 12 hours */
	uint32_t slots;	  /* how many commands it runs at once; 0: one */
	int64_t pid, pid_start, job_start_us;
	const char *host, *boot, *node, *cluster, *job, *array_job, *array_task, *step;
	const char *account, *qos, *partition, *user, *cwd, *log;
	struct jobstack_bytes argv; /* its arguments, separated by NUL */
	int64_t platform;	    /* the number of a fact */
	int64_t memory_mib, nodes;  /* of its job: memory on this node, and nodes */
};
/* clang-format off */
#define JOBSTACK_WORKER_OPTIONS_INIT                                                                                   \
	{sizeof(struct jobstack_worker_options), 0, 0, -1, -1, -1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
	 NULL, NULL, NULL, NULL, NULL, NULL, {NULL, 0}, -1, -1, -1}
/* clang-format on */

/* ------------------------------------------------------------------------------------ scripts: pop, close, renew */

/* Claims up to K entries (1 to JOBSTACK_POP_MAX) of STACK for a script, under a worker row of their own.  The lease
 * (default: 12 hours) starts now and is renewed only by jobstack_renew.  OPTIONS NULL: defaults.  Returns 1 and an
 * empty batch if nothing is ready or the stack is paused.  The claim outlives the handle and the process: anybody who
 * has the numbers can close it.  Nothing stops a script that runs longer than its lease.  Errors: EUSAGE (K is
 * out of range); EMISSING if there is no such stack; ECONFLICT if it is being dropped; ENODB, ESTOPPED. */
int jobstack_pop(struct jobstack *handle, const char *stack, const struct jobstack_worker_options *options, size_t k,
		 struct jobstack_batch *batch, struct jobstack_error *error);

/* Closes N entries that jobstack_pop gave, each by its entry and attempt, and ends the worker row with its last entry.
 * Closing again with the same verdict succeeds.  RESULTS (may be NULL) gets N numbers: 0 closed, now or before; 1 the
 * lease is gone, or it was closed before with another outcome; JOBSTACK_EMISSING it was never popped;
 * JOBSTACK_ECONFLICT another worker holds it.  Returns 0 if all are 0, else the first that is not, with the error in
 * words.  Each entry is closed by a transaction of its own.  After JOBSTACK_ENODB or ESTOPPED some may be closed, and
 * RESULTS is not complete: call it again with the same outcomes. */
int jobstack_close(struct jobstack *handle, const char *stack, const struct jobstack_outcome *outcomes, size_t n,
		   int *results, struct jobstack_error *error);

/* Starts the lease of a popped entry anew, and sets its length to LEASE_US (0: unchanged).  Returns 1 if the lease is
 * gone.  Errors: EMISSING if it was never popped; ECONFLICT if another worker holds it. */
int jobstack_renew(struct jobstack *handle, const char *stack, uint64_t entry, uint32_t attempt, int64_t lease_us,
		   struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------------- workers */

/* Registers a worker of STACK in *WORKER.  Free it with jobstack_worker_free.  OPTIONS NULL: defaults.  A worker must
 * take a step, or send a heartbeat, at least every third of its lease.  docs/examples/worker-steps.c is a whole worker.
 * Errors: EMISSING if there is no such stack; ECONFLICT if it is being dropped. */
int jobstack_worker_begin(struct jobstack *handle, const char *stack, const struct jobstack_worker_options *options,
			  struct jobstack_worker **worker, struct jobstack_error *error);

/* What many attempts, or workers, of a stack have in common is stored once, as a text with a number that its writer
 * makes of it: the version of a program, the file system of a datapath ("lustre /scratch"), the platform of a worker,
 * the Python packages that a command imported (lines "NAME VERSION", sorted). */
enum jobstack_fact_kind {
	JOBSTACK_FACT_PROGRAM,
	JOBSTACK_FACT_MOUNT,
	JOBSTACK_FACT_PLATFORM,
	JOBSTACK_FACT_PACKAGES,
	JOBSTACK_FACT_BAD_NODE = 5 /* why the worker of this number found its node bad */
};

/* Stores a fact of the worker's stack, unless its number is there already.  NUMBER is not negative. */
int jobstack_worker_fact(struct jobstack_worker *worker, enum jobstack_fact_kind kind, int64_t number, const char *text,
			 struct jobstack_error *error);

struct jobstack_stack_fact {
	enum jobstack_fact_kind kind;
	int64_t number;
	int64_t seen_us; /* when it was stored, since 1970 UTC */
	const char *text;
};
typedef int jobstack_stack_fact_fn(void *ctx, const struct jobstack_stack_fact *fact);

/* Calls FN for each fact of STACK, sorted by kind and by time.  FN as jobstack_status_fn. */
int jobstack_stack_facts(struct jobstack *handle, const char *stack, jobstack_stack_fact_fn *fn, void *ctx,
			 struct jobstack_error *error);

/* The worker's number in the database; the lease in microseconds; the moment at which the present lease ends, counted
 * from the sending of the last step that succeeded. */
uint64_t jobstack_worker_id(const struct jobstack_worker *worker);
int64_t jobstack_worker_lease_us(const struct jobstack_worker *worker);
int64_t jobstack_worker_deadline_us(const struct jobstack_worker *worker);

/* An entry that runs now. */
struct jobstack_running {
	size_t size;
	uint64_t entry;
	uint32_t attempt;
	int64_t started_us; /* a moment */
};
/* clang-format off */
#define JOBSTACK_RUNNING_INIT {sizeof(struct jobstack_running), 0, 0, 0}
/* clang-format on */

/* What a step does. */
struct jobstack_step {
	size_t size;
	const struct jobstack_outcome *outcomes; /* to close; entries that this worker holds */
	size_t outcomes_n;
	size_t claim; /* how many entries to claim at most, 0 to JOBSTACK_POP_MAX */
	const struct jobstack_running
		*running; /* stored for display, only the first 500 or so; NULL: what is stored stays */
	size_t running_n;
	/* 1: claims no entry that was lost before, and nothing if such an entry is next.  For entries that are claimed
	 * ahead, while no slot is free: if the worker dies, all that it holds counts as lost.  2: the same, but from
	 * the end of the list. */
	size_t fresh;
	/* Stored with `running`, for display (struct jobstack_worker_row): how long this worker's steps take, and which
	 * part of its slots' time, in thousandths, they wait for steps.  step_us 0: not known. */
	uint64_t step_us, waiting;
};
/* clang-format off */
#define JOBSTACK_STEP_INIT {sizeof(struct jobstack_step), NULL, 0, 0, NULL, 0, 0, 0, 0}
/* clang-format on */

/* What a step reports beside its entries.  If steps follow each other quickly, everything but the state may be half a
 * second old.  A step that claims always reports the present state. */
struct jobstack_step_report {
	size_t size;
	enum jobstack_stack_state state;
	int due;	 /* waiting entries are due: jobstack_promote makes them ready */
	const char *cwd; /* the directory of relative names, or NULL; valid until the next step */
	int limited;	 /* the stack has max_running: claim no more than can be started at once */
	/* Requests to kill commands, for jobstack_kill_wanted; NULL: no requests.  Valid until the next step. */
	const char *kills;
	uint64_t max_attempts, max_losses; /* with so many, an entry is dead */
};
/* clang-format off */
#define JOBSTACK_STEP_REPORT_INIT {sizeof(struct jobstack_step_report), JOBSTACK_OPEN, 0, NULL, 0, NULL, 0, 0}
/* clang-format on */

/* Takes one step, which is one transaction: it closes the outcomes of STEP, and claims new entries into BATCH; both or
 * neither.  STEP NULL: nothing to close and nothing to claim, which is a heartbeat.  BATCH may be NULL if nothing is to
 * be claimed, REPORT may always be NULL.
 *
 * Returns 0, also if the batch is empty.  Returns 1 if others have declared this worker dead: it must kill its
 * commands, and can't claim anything any more.  The same holds for JOBSTACK_ECONFLICT: the database was set back to an
 * earlier state (a restored backup, a failover that lost commits) and does not know this worker or its last steps, or
 * the stack was dropped.  After any other error the same step may be repeated; an outcome is never counted twice. After
 * JOBSTACK_ENODB it must be repeated before any other step, unless it was a heartbeat. */
int jobstack_step(struct jobstack_worker *worker, const struct jobstack_step *step, struct jobstack_batch *batch,
		  struct jobstack_step_report *report, struct jobstack_error *error);

/* Sends a heartbeat if a third of the lease has passed since the last step, else does nothing.  It runs in the caller's
 * thread: call it from the loop that waits for the work.  RUNNING (may be NULL) is stored as by jobstack_step. *NEXT_US
 * (may be NULL) gets the moment by which to call it again.  Returns as jobstack_step. */
int jobstack_heartbeat(struct jobstack_worker *worker, const struct jobstack_running *running, size_t running_n,
		       int64_t *next_us, struct jobstack_error *error);

/* Makes waiting entries of the worker's stack that are due ready, at most some hundred lists of them. */
int jobstack_promote(struct jobstack_worker *worker, struct jobstack_error *error);

/* What is left in a worker's stack, for a worker that has nothing to do. */
struct jobstack_idle {
	size_t size;
	uint64_t ready, waiting, held, running; /* running: by other workers */
	uint64_t workers, pushers;
	int eldest;	     /* no older worker of this stack is alive */
	int64_t next_due_us; /* as in jobstack_status */
	enum jobstack_stack_state state;
	uint64_t done, dead; /* of all workers */
	uint64_t failing;    /* 1: as many are dead as max_failures allows */
};
/* clang-format off */
#define JOBSTACK_IDLE_INIT {sizeof(struct jobstack_idle), 0, 0, 0, 0, 0, 0, 0, -1, JOBSTACK_OPEN, 0, 0, 0}
/* clang-format on */
int jobstack_worker_idle(struct jobstack_worker *worker, struct jobstack_idle *idle, struct jobstack_error *error);

/* How long the entries of the worker's stack took that were done last: at most MAX durations in US, *N of them. */
int jobstack_worker_durations(struct jobstack_worker *worker, int64_t *us, size_t max, size_t *n,
			      struct jobstack_error *error);

/* Finds what happened on other nodes to N ENTRIES of the worker's stack since the worker began.  For each entry FOUND
 * gets the number of other nodes on which it failed (2: two or more).  JOBSTACK_DONE_ELSEWHERE is added to that if the
 * entry was done on another node after it had failed on the worker's. */
#define JOBSTACK_DONE_ELSEWHERE 4
int jobstack_worker_elsewhere(struct jobstack_worker *worker, const uint64_t *entries, size_t n, unsigned char *found,
			      struct jobstack_error *error);

/* Fills in last_end_us of the entries of BATCH, which one step of WORKER claimed.  Reads the primary key of attempts.
 */
int jobstack_worker_last_ends(struct jobstack_worker *worker, const struct jobstack_batch *batch,
			      struct jobstack_error *error);

/* Ends the worker, for CAUSE and REASON (may be NULL): closes N outcomes as jobstack_step does, gives back as
 * JOBSTACK_UNSTARTED what the worker still holds, and adds its counts to the stack's.  Returns 1 if others have
 * declared the worker dead, JOBSTACK_ECONFLICT as jobstack_step.  After JOBSTACK_ENODB repeat it with the same
 * outcomes.  Returns EUSAGE if an earlier step, other than a heartbeat, returned ENODB and has not been repeated. */
int jobstack_worker_end(struct jobstack_worker *worker, const struct jobstack_outcome *outcomes, size_t n,
			enum jobstack_cause cause, const char *reason, struct jobstack_error *error);

/* Shows others that the worker is there while no step is under way: its connection takes a user lock, which the server
 * releases as soon as the connection ends.  Returns 0 if the connection should stay open then.  Call it again now and
 * then, and after each step.  Returns 1 if the connection should rather be closed: half of the server's connections are
 * in use, or the database is a cluster, where user locks show nothing.  Returns JOBSTACK_ENODB if the connection has
 * ended.  This call never opens a new one. */
int jobstack_worker_stay(struct jobstack_worker *worker, struct jobstack_error *error);

/* The secret that belongs to the worker's number.  Both are needed to deliver outcomes later (jobstack_replay). */
void jobstack_worker_token(const struct jobstack_worker *worker, unsigned char token[16]);

/* Frees the memory.  If the worker was not ended, others take back what it holds after its lease. */
void jobstack_worker_free(struct jobstack_worker *worker);

/* Takes back what the worker number WORKER of STACK holds, if it is still at SEQ (as jobstack_workers gave it).  Each
 * entry without an outcome gets LOST with CAUSE and REASON, and is ready again, or dead after the stack's max_losses.
 * Call it only if the worker is known to be dead.  Returns 1 if the worker is not at SEQ any more, or has ended. *TAKEN
 * (may be NULL) gets the number of entries taken back. */
int jobstack_recover(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq,
		     enum jobstack_cause cause, const char *reason, uint64_t *taken, struct jobstack_error *error);

/* The same for a caller who has the worker's TOKEN and knows that it is dead: its parent, or the worker itself.  It
 * works at any SEQ, also while a last step of the worker is still under way.  Returns 1 if the worker has ended, or the
 * number now belongs to another worker. */
int jobstack_recover_own(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
			 enum jobstack_cause cause, const char *reason, uint64_t *taken, struct jobstack_error *error);

/* The same for a worker that has ended and has left a claim all the same, which is damage: no worker does that.  What
 * has an outcome or another place already stays there.  Start with *WORKER 0: it gets the next worker of STACK above
 * it, also if the recovery of that one fails.  Returns 1 if there is none above.  With DRY_RUN nothing is changed. */
int jobstack_recover_left(struct jobstack *handle, const char *stack, int dry_run, uint64_t *worker, uint64_t *taken,
			  struct jobstack_error *error);

/* Records what is known of the worker number WORKER but is no proof of its death ("node failed (n3)").
 * jobstack_workers reports it until the worker moves.  At most some 230 bytes are kept.  Returns 1 if the worker is not
 * at SEQ any more, or has ended. */
int jobstack_suspect(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq,
		     enum jobstack_cause cause, const char *suspicion, struct jobstack_error *error);

/* Lets many programs share a question to somebody else (Slurm): one of them asks it, and all use its answer.  QUESTION
 * is a line of at most 200 bytes that says all that the answer depends on.
 *
 * jobstack_ask returns 0 if the caller is to ask now: nobody did in the last EVERY_US, by the server's clock; TOKEN is
 * for jobstack_answer.  It returns 1 if somebody did *AGE_US ago; if the clock was set back, that moment may lie in the
 * future, by less than EVERY_US (*AGE_US is negative then).  ANSWER (SIZE bytes, or cut) is what was stored last, or
 * "" if there is no answer (yet).  If the reply of the server is lost, the call finds out who is to ask.  With TOKEN
 * NULL it only looks whether the caller could ask now; *AGE_US is INT64_MAX if nobody ever did.
 *
 * jobstack_answer stores the ANSWER, at most 4000 bytes.  jobstack_unanswered says that there is none, so that others
 * may ask EARLY_US sooner than otherwise.  Both return 1, and store nothing, if somebody else has asked since (or if
 * the reply to the first try was lost).  jobstack_answer also forgets some of the questions that nobody has asked for
 * two days. */
int jobstack_ask(struct jobstack *handle, const char *question, int64_t every_us, char token[33], char *answer,
		 size_t size, int64_t *age_us, struct jobstack_error *error);
int jobstack_answer(struct jobstack *handle, const char *question, const char *token, const char *answer,
		    struct jobstack_error *error);
int jobstack_unanswered(struct jobstack *handle, const char *question, const char *token, int64_t early_us,
			struct jobstack_error *error);

#define JOBSTACK_KILL_REASON 96 /* size of "killed by NAME", with the NUL */

/* Asks the worker number WORKER, a jobstack-worker, to kill the command of ATTEMPT of ENTRY.  The worker learns of it
 * with its next heartbeat, or within half a second while its steps follow each other quickly.  It then closes the entry
 * as FAILED and fatal, with the reason "killed by USER" (the handle's os_user).  If the worker dies before, recovery
 * does the same.  It can be repeated.  Returns 1, and nothing is stored, if that worker does not hold the attempt (any
 * more), is a script's pop, or has too many such requests.  Errors: EMISSING (there is no such stack), ENODB. */
int jobstack_kill(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t entry, uint32_t attempt,
		  struct jobstack_error *error);

/* Whether KILLS, of a step's report, asks for the end of this attempt: 1, and REASON is what to close it with; or 0. */
int jobstack_kill_wanted(const char *kills, uint64_t entry, uint32_t attempt, char reason[JOBSTACK_KILL_REASON]);

/* What became of an outcome that was delivered later. */
enum jobstack_replayed {
	JOBSTACK_REPLAYED,	  /* it counts now */
	JOBSTACK_REPLAYED_BEFORE, /* it counted already */
	JOBSTACK_TOO_LATE	  /* its entry was taken back meanwhile: nothing was changed */
};

/* Delivers N outcomes of the worker number WORKER of STACK, which could not deliver them itself, and ends that worker.
 * TOKEN proves that they are its own.  Call it only if the worker and its commands are known to be gone.  What it held
 * beyond these outcomes is lost, for CAUSE and the reason LOST, as by jobstack_recover; if LOST is NULL, it had not
 * started, and is ready again.  If the worker was ended or recovered before, nothing changes.  It can be repeated, also
 * after an error.  RESULTS (may be NULL) gets N values.  Returns 0; 1 if some outcomes came too late;
 * JOBSTACK_ECONFLICT, with nothing changed, if the database does not know that worker, or gave its number to another
 * one (a failover that lost transactions). */
int jobstack_replay(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
		    const struct jobstack_outcome *outcomes, size_t n, enum jobstack_cause cause, const char *lost,
		    enum jobstack_replayed *results, struct jobstack_error *error);

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

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif

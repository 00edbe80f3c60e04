/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libjobstack: a durable queue of files, kept in MySQL or MariaDB.
 *
 * Words.  A STACK is a named list of ENTRIES; an entry is one datapath (any bytes but NUL) to process.  A CLAIM is a
 * set of entries in a worker's hands; an ATTEMPT is one run of a command on one entry, with one outcome.  A DEAD entry
 * has used up its attempts and waits for a person.  A LEASE is the time a worker may be silent before its claims go
 * back.
 *
 * Results.  Every function that can fail returns 0 for success, 1 for an ordinary "nothing" (the stack is empty, the
 * lease is gone), or a negative JOBSTACK_E... code, and then fills the caller's error object, if there is one.  On a
 * failure nothing has changed in the database, unless the function says otherwise.
 *
 * Threads.  A handle, and all that was made from it, may be used by one thread at a time.  Handles are independent of
 * each other.  The library starts no threads, installs no signal handlers, prints nothing and reads no environment.
 * It never uses a connection in a child process; a child that was forked must not touch its parent's handle.  A
 * callback must not use the handle that calls it.
 *
 * Ownership.  Pointers that go in are only read during the call.  What a function allocates is freed by the function
 * named at its prototype; those take NULL, and keep errno.
 *
 * Units.  Times named ..._us are microseconds.  A MOMENT is a CLOCK_BOOTTIME time of this host in microseconds
 * (jobstack_now_us); the library turns it into the server's time, so that a wrong clock on a node harms nothing.
 *
 * The idea of popping with SELECT ... FOR UPDATE is as old as queues in databases; storing what nobody has claimed as
 * intervals, so that a pop touches one small row, is explained in docs/DESIGN.md.
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
#define JOBSTACK_VERSION_MINOR 1
#define JOBSTACK_VERSION_PATCH 0
#define JOBSTACK_VERSION "0.1.0"

/* Limits, in bytes and entries. */
#define JOBSTACK_DATAPATH_MAX 4096 /* a datapath, without a terminator */
#define JOBSTACK_STACK_MAX 128	   /* a stack's name: letters, digits and . _ - + = @ : , not first - or . */
#define JOBSTACK_POP_MAX 500	   /* entries that one pop may claim */

/* Results.  The negative of EUSAGE, ENODB, EBUG and EPERM is the exit status that the command gives. */
#define JOBSTACK_OK 0
#define JOBSTACK_NOTHING 1	 /* nothing to pop; the lease is gone; closed already with another outcome */
#define JOBSTACK_EUSAGE (-2)	 /* an argument is wrong: a bad name, a value out of range */
#define JOBSTACK_EMISSING (-3)	 /* no such stack, or no such entry */
#define JOBSTACK_ECONFLICT (-4)	 /* what is asked for does not fit the state things are in */
#define JOBSTACK_EINPUT (-5)	 /* a datapath in the input is bad */
#define JOBSTACK_EFILE (-6)	 /* a local file can't be read or written */
#define JOBSTACK_ESCHEMA (-7)	 /* the schema is missing, older or newer than this library */
#define JOBSTACK_ENODB (-69)	 /* the database can't be reached, or can't work (its disk is full) */
#define JOBSTACK_EBUG (-70)	 /* a bug of ours, or no memory */
#define JOBSTACK_EPERM (-77)	 /* the server or an option file's mode says no */
#define JOBSTACK_ESTOPPED (-130) /* the caller's callback, or its stop flag, asked to stop */

/* What went wrong, in words.  The caller owns it; start it as {0} or JOBSTACK_ERROR_INIT.  The first error wins: a text
 * that is there is not overwritten.  The text has no newline and no secret. */
struct jobstack_error {
	int code;	       /* JOBSTACK_E... */
	unsigned server_errno; /* the server's or connector's own number, an enum jobstack_why, or 0 */
	char text[1000];       /* cut at this length */
};
/* clang-format off */
#define JOBSTACK_ERROR_INIT {0, 0, {0}}
/* clang-format on */

/* What the library itself found, in server_errno, for programs that suggest a remedy.  All of these are above the
 * numbers of servers and connectors.  More may come: treat one that you do not know as 0. */
enum jobstack_why {
	JOBSTACK_WHY_NO_STACK = 100001, /* EMISSING: no such stack */
	JOBSTACK_WHY_NO_ENTRY,		/* EMISSING: no such entry */
	JOBSTACK_WHY_DROPPING,		/* ECONFLICT: the stack is being dropped */
	JOBSTACK_WHY_CANCELLED,		/* ECONFLICT: the stack is cancelled */
	JOBSTACK_WHY_PUSHING,		/* ECONFLICT: another push to the stack is under way */
	JOBSTACK_WHY_RUNNING,		/* ECONFLICT: entries of the stack are running */
	JOBSTACK_WHY_MAX_FAILURES,	/* ECONFLICT: the stack has as many dead entries as its max_failures */
	JOBSTACK_WHY_SCHEMA_NEWER,	/* ESCHEMA: the schema is newer than this library */
	JOBSTACK_WHY_TLS,		/* ENODB: the connector blames TLS */
	JOBSTACK_WHY_MEMORY,		/* EBUG: this process has no memory left */
	JOBSTACK_WHY_OPTION		/* EUSAGE: a wrong option */
};

struct jobstack;	/* a handle: one connection, opened when it is needed */
struct jobstack_worker; /* a worker that this process has registered */

/* Bytes that somebody else owns. */
struct jobstack_bytes {
	const void *data;
	size_t len;
};

enum jobstack_level {
	JOBSTACK_LOG_ERROR,
	JOBSTACK_LOG_WARNING,
	JOBSTACK_LOG_INFO,
	JOBSTACK_LOG_DEBUG,
	JOBSTACK_LOG_PROGRESS /* how far something long has come: for a person who waits */
};

/* Called with each message of the library.  TEXT has no newline and no secret, and is only valid during the call. */
typedef void jobstack_log_fn(void *ctx, enum jobstack_level level, const char *text);

/* ---------------------------------------------------------------------------------------------- version and time */

/* The version of the library that runs, as "MAJOR.MINOR.PATCH"; a constant. */
const char *jobstack_version(void);

/* The schema version that this library works with. */
unsigned jobstack_schema_version(void);

/* A moment: CLOCK_BOOTTIME in microseconds, which goes on while the host is suspended. */
int64_t jobstack_now_us(void);

/* ------------------------------------------------------------------------------------------------------- handles */

struct jobstack_options {
	size_t size; /* sizeof(struct jobstack_options) */
	/* An option file in MySQL's format: groups [client], then [jobstack].  It is read again at every reconnect.
	 * NULL: only what stands below.  A file with a password that others can read is refused with JOBSTACK_EPERM. */
	const char *defaults_file;
	/* Each of these, if not NULL (port: not 0), wins over the file.  The host may be a list, "a,b:3307,[::1]:3306",
	 * as host= in the file may: they are tried in turn, from the one that worked last, and one that is read-only is
	 * left. */
	const char *host, *socket, *user, *password, *database;
	unsigned port;
	/* How long an unreachable database is ridden out before a call fails with JOBSTACK_ENODB: 0 is one try.  The
	 * first connection of a handle is always one try, unless all connections of the server are taken, or it is too
	 * swamped to greet. */
	int64_t patience_us;
	jobstack_log_fn *log; /* NULL: silent */
	void *log_ctx;
	/* Looked at while waiting; not 0 ends the wait with JOBSTACK_ESTOPPED.  May be set by a signal handler.  NULL:
	 * none. */
	const volatile int *stop;
	/* How long the first connection waits while all connections of the server are taken, if that is longer than
	 * patience_us. */
	int64_t crowd_us;
};
/* clang-format off */
#define JOBSTACK_OPTIONS_INIT                                                                                          \
	{sizeof(struct jobstack_options), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL,                  \
	 0}
/* clang-format on */

/* Makes a handle in *HANDLE and connects it.  Free it with jobstack_free.  The schema is looked at by the calls that
 * need it, not here, so that jobstack_init can use the handle.  Errors: EPERM, EFILE, EUSAGE, ENODB. */
int jobstack_open(struct jobstack **handle, const struct jobstack_options *options, struct jobstack_error *error);

/* Closes the connection and frees the handle.  Workers made from it must have been freed before. */
void jobstack_free(struct jobstack *handle);

/* Lets the connection go while nothing is asked of it; the next call connects again. */
void jobstack_disconnect(struct jobstack *handle);

/* The same, but only while the server's connections are short (nine in ten are taken, or we were refused lately).  For
 * who comes to a wait of some length: so many more workers than connections get their turn.  Costs nothing but, every
 * five seconds, a question to the server. */
void jobstack_disconnect_if_crowded(struct jobstack *handle);

/* Describes where the handle is connected ("user@host:port/database, TLS ..."), at most SIZE bytes with the NUL. */
void jobstack_describe(struct jobstack *handle, char *text, size_t size);

/* -------------------------------------------------------------------------------------------------------- schema */

struct jobstack_init_report {
	unsigned before; /* schema version found; 0: none */
	unsigned after;	 /* schema version now */
	int created_database;
};

/* Creates or upgrades the schema from the numbered .sql files in SCHEMA_DIR.  Safe to repeat and to run many times at
 * once: one does the work, the others wait for it.  Killed in the middle, the next call goes on.  Errors: ESCHEMA (the
 * database is newer than this library), EFILE, EPERM, ENODB. */
int jobstack_init(struct jobstack *handle, const char *schema_dir, struct jobstack_init_report *report,
		  struct jobstack_error *error);

/* -------------------------------------------------------------------------------------------------------- stacks */

enum jobstack_stack_state { JOBSTACK_OPEN, JOBSTACK_PAUSED, JOBSTACK_CANCELLED, JOBSTACK_DROPPING };

/* One stack's ledger.  At every commit pushed = ready + waiting + held + running + done + dead + cancelled + moved +
 * pruned. */
struct jobstack_status {
	uint64_t stack_id;
	const char *stack; /* valid during the callback, or as long as the caller's own copy */
	enum jobstack_stack_state state;
	uint64_t pushed, ready, waiting, held, running, done, dead, cancelled;
	uint64_t workers, slots; /* alive by the ledger: not ended */
	uint64_t pushers;	 /* pushes that showed a sign of life in the last minute */
	double rate;	     /* entries ended a second, by the lives of the workers that hold entries; 0: not known; see
			      * jobstack_pace for a better one */
	int64_t next_due_us; /* until the next waiting entry is due, 0 if one is; -1: none waits */
	const char *cwd;     /* where relative names belong, or NULL */
	uint32_t max_attempts, max_losses;
	int64_t retry_delay_us;
	int64_t max_running, max_failures; /* 0: no limit */
	uint64_t moved, pruned;		   /* entries that are not here any more: pushed counts them */
	const char *note;		   /* why it is paused or cancelled, in words, or NULL */
	uint64_t busy;			   /* slots that have an entry */
	uint64_t silent;		   /* of the workers: no sign of life for longer than their lease */
	uint64_t ended;			   /* how many entries `rate` was learnt from */
};

/* Return 0 to go on; anything else ends the listing, which then returns JOBSTACK_ESTOPPED. */
typedef int jobstack_status_fn(void *ctx, const struct jobstack_status *status);

/* Calls FN for the stack STACK, or for all stacks by name if STACK is NULL.  One SELECT: exact, whatever the depth.
 * Errors: EMISSING if STACK does not exist. */
int jobstack_status(struct jobstack *handle, const char *stack, jobstack_status_fn *fn, void *ctx,
		    struct jobstack_error *error);

/* How a stack gets on.  Times are -1, and the rate 0, where they are not known: nothing has ended yet, nothing runs,
 * the stack hands nothing out. */
struct jobstack_pace {
	double rate;		 /* entries that leave the line a second */
	int64_t eta_us;		 /* until nothing is left, at that rate; 0: nothing is */
	int64_t low_us, high_us; /* between these it will be, should nothing change */
	int64_t each_us;	 /* how long an entry has a slot */
};

/* Estimates the pace of a stack from its STATUS (as jobstack_status gave it; a copy without its texts will do) and some
 * sixty rows of its history: flat at any depth.  Errors: ENODB. */
int jobstack_pace(struct jobstack *handle, const struct jobstack_status *status, struct jobstack_pace *pace,
		  struct jobstack_error *error);

/* Sets a stack's STATE: OPEN; PAUSED, when it hands nothing out, and what runs goes on; or CANCELLED, when in addition
 * nothing can be pushed, its workers leave, and all that has not started counts as cancelled, until it is opened again.
 * NOTE (may be NULL; at most 255 bytes are kept) says why.  Returns 0, and 0 as well if it was so already.  Errors:
 * EMISSING; ECONFLICT if it is being dropped, or is to be opened with as many dead entries as its max_failures. */
int jobstack_set_state(struct jobstack *handle, const char *stack, enum jobstack_stack_state state, const char *note,
		       struct jobstack_error *error);

/* A stack's policy.  -1 leaves what is. */
struct jobstack_policy {
	size_t size;		/* sizeof(struct jobstack_policy) */
	int32_t max_attempts;	/* failures before an entry is dead; 3 */
	int32_t max_losses;	/* lost workers before an entry is dead; 5 */
	int64_t retry_delay_us; /* before the first retry; doubled each time; 5 s */
	int64_t max_running;	/* so many entries are in workers' hands at most; 0: no limit */
	int64_t max_failures;	/* with so many dead entries the stack is paused; 0: never */
	int32_t priority;	/* of all that is in line now; or JOBSTACK_PRIORITY_UNCHANGED */
};
#define JOBSTACK_PRIORITY_UNCHANGED INT32_MIN
/* clang-format off */
#define JOBSTACK_POLICY_INIT {sizeof(struct jobstack_policy), -1, -1, -1, -1, -1, JOBSTACK_PRIORITY_UNCHANGED}
/* clang-format on */

/* Changes the policy of STACK; each pop and each failure from then on goes by it.  With max_running, workers claim only
 * what they can start at once.  Errors: EMISSING, EUSAGE, ECONFLICT (it is being dropped). */
int jobstack_set_policy(struct jobstack *handle, const char *stack, const struct jobstack_policy *policy,
			struct jobstack_error *error);

/* Called now and then while something long goes on: DONE of TOTAL, both rough.  Not 0 stops
 * it, with JOBSTACK_ESTOPPED. */
typedef int jobstack_progress_fn(void *ctx, uint64_t done, uint64_t total);

/* Removes STACK with all its history, in chunks; FN (may be NULL) is called between them.  Cut short, nothing of the
 * stack can be used any more, and the same call goes on.  Errors: EMISSING; ECONFLICT, and nothing has changed, while
 * entries run or somebody pushes. */
int jobstack_drop(struct jobstack *handle, const char *stack, jobstack_progress_fn *fn, void *ctx,
		  struct jobstack_error *error);

/* One worker that is alive by the ledger. */
struct jobstack_worker_row {
	uint64_t worker;
	const char *node, *host, *boot, *user, *cluster, *job, *array_job, *array_task, *step, *log;
	uint64_t pid, slots, running, done, dead;
	uint64_t seq;	       /* steps with the heart; the same value again means silence */
	int64_t pid_start;     /* the process's start in clock ticks since boot, from /proc, or -1 */
	int64_t job_start_us;  /* the Slurm job's start, microseconds since 1970, or -1 */
	int64_t silent_us;     /* since its last sign of life, by the server's clock */
	int64_t lease_us;      /* how long it may be silent */
	int64_t age_us;	       /* since it began */
	int by_script;	       /* 1: a pop by a script, not a jobstack-worker */
	const char *suspicion; /* what jobstack_suspect said at this seq, or NULL */
	uint64_t longest;      /* the entry that has run longest in its hands as of its last step; 0: none is known */
	int64_t longest_us;    /* for so long */
};
typedef int jobstack_worker_fn(void *ctx, const struct jobstack_worker_row *worker);

/* Calls FN for each worker of STACK that has not ended, oldest first. */
int jobstack_workers(struct jobstack *handle, const char *stack, jobstack_worker_fn *fn, void *ctx,
		     struct jobstack_error *error);

/* ---------------------------------------------------------------------------------------------------------- push */

struct jobstack_push_options {
	size_t size;	  /* sizeof(struct jobstack_push_options) */
	int unique;	  /* skip a datapath that the stack has already, from whatever push */
	int atomic;	  /* nothing can be popped before the whole push has ended well */
	int32_t priority; /* larger goes first; 0 */
	int lifo;	  /* a new stack is popped last in, first out */
	const char *cwd;  /* where relative datapaths belong; NULL: they are refused with JOBSTACK_EINPUT */
	struct jobstack_policy policy; /* the stack's, for a new one or to change; its priority is left alone */
};
/* clang-format off */
#define JOBSTACK_PUSH_OPTIONS_INIT {sizeof(struct jobstack_push_options), 0, 0, 0, 0, NULL, JOBSTACK_POLICY_INIT}
/* clang-format on */

struct jobstack_push_result {
	uint64_t pushed;  /* committed */
	uint64_t skipped; /* known already (unique) */
	uint64_t before;  /* entries the stack had before this push */
	uint64_t bad;	  /* with JOBSTACK_EINPUT: the number, from 1, of the datapath that was refused; else 0 */
};

/* Gives the next datapath in *DATAPATH, valid until the next call, and returns 0; 1 at the end; 2 when none is there
 * just now (what has been gathered is pushed, and the call comes again); negative to stop with JOBSTACK_ESTOPPED. */
typedef int jobstack_next_fn(void *ctx, struct jobstack_bytes *datapath);

/* Pushes what NEXT gives onto STACK, which is created if need be, in chunks that can be popped while the push goes on;
 * in flat memory.  RESULT (may be NULL) is true at every return: after an error it tells what had been committed, which
 * with `atomic` is nothing.  An interrupted push goes on, without doubling, when it is repeated with `unique`.  A push
 * of nothing returns JOBSTACK_NOTHING and creates no stack.  Errors: EINPUT (empty, over JOBSTACK_DATAPATH_MAX, with
 * NUL, relative and from elsewhere), EUSAGE (bad stack name), ECONFLICT (a stack that is cancelled), ESTOPPED, ENODB.
 */
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
	uint64_t entry;
	uint32_t attempt; /* from 1 */
	uint32_t fails, losses;
	const char *datapath;
	size_t datapath_len;
};

/* Claimed entries; free with jobstack_batch_free. */
struct jobstack_batch {
	uint64_t worker; /* the worker row that holds them */
	size_t count;
	struct jobstack_entry *entries;
	void *memory; /* the library's */
};
void jobstack_batch_free(struct jobstack_batch *batch);

enum jobstack_verdict {
	JOBSTACK_DONE,
	JOBSTACK_FAILED,      /* charged: back for another attempt, or dead */
	JOBSTACK_LOST,	      /* given by recovery only */
	JOBSTACK_INTERRUPTED, /* it ran, and is not to blame: back uncharged */
	JOBSTACK_UNSTARTED    /* never ran: back as if it had not been claimed; leaves no attempt */
};

/* What became of one claimed entry. */
struct jobstack_outcome {
	uint64_t entry;
	uint32_t attempt;
	enum jobstack_verdict verdict;
	int fatal;		      /* FAILED: dead at once */
	int later;		      /* INTERRUPTED: not before the stack's retry delay has passed */
	int32_t exit_code;	      /* -1: none */
	int32_t signal;		      /* 0: none */
	const char *reason;	      /* a few words, or NULL */
	int64_t started_us, ended_us; /* moments; 0: when it was claimed; when it is closed */
	/* Usage: -1 where it is not known.  CPU in microseconds, memory in KiB, bytes by read and write calls. */
	int64_t user_us, system_us, maxrss_kib, read_bytes, write_bytes;
	const char *log;		  /* the file with its output, or NULL: the worker's own log */
	int64_t log_at, log_out, log_err; /* where in it, and the bytes of stdout and of stderr; -1: no output kept */
	int loss; /* INTERRUPTED: it counts as a loss: after the stack's max_losses the entry is dead */
	/* Where stderr is, if not behind stdout: the file (NULL: the worker's own log), and where in it; -1: behind
	 * stdout. */
	const char *err_log;
	int64_t err_at;
	/* FAILED: the end of what it wrote to stderr, at most JOBSTACK_ERR_TAIL_MAX bytes, kept in the database.  Where
	 * many in one step have one, less of each may be kept. */
	struct jobstack_bytes err_tail;
	int64_t major_faults; /* usage: page faults that had to wait for the disk */
};
#define JOBSTACK_ERR_TAIL_MAX 4096
/* clang-format off */
#define JOBSTACK_OUTCOME_INIT                                                                                          \
	{0, 0, JOBSTACK_DONE, 0, 0, -1, 0, NULL, 0, 0, -1, -1, -1, -1, -1, NULL, -1, -1, -1, 0, NULL, -1, {NULL, 0}, -1}
/* clang-format on */

/* Who a worker is; every text may be NULL, every number -1 where it is not known.  What is not NULL is stored
 * as it is. */
struct jobstack_worker_options {
	size_t size;	  /* sizeof(struct jobstack_worker_options) */
	int64_t lease_us; /* 0: five minutes */
	uint32_t slots;	  /* how many commands it runs at once; 0: one */
	int64_t pid, pid_start, job_start_us;
	const char *host, *boot, *node, *cluster, *job, *array_job, *array_task, *step;
	const char *account, *qos, *partition, *user, *cwd, *log;
	struct jobstack_bytes argv; /* its arguments, NUL-separated */
};
/* clang-format off */
#define JOBSTACK_WORKER_OPTIONS_INIT                                                                                   \
	{sizeof(struct jobstack_worker_options), 0, 0, -1, -1, -1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
	 NULL, NULL, NULL, NULL, NULL, NULL, {NULL, 0}}
/* clang-format on */

/* ------------------------------------------------------------------------------------ scripts: pop, close, renew */

/* Claims up to K entries (1 to JOBSTACK_POP_MAX) of STACK for a script, under a worker row of their own, whose lease
 * runs from now and is not renewed by itself.  Returns 1 and an empty batch if nothing is ready or the stack is paused.
 * The claim outlives the handle and the process: whoever has the numbers closes it.  It can't be fenced: a script that
 * outlives its lease runs on. */
int jobstack_pop(struct jobstack *handle, const char *stack, const struct jobstack_worker_options *options, size_t k,
		 struct jobstack_batch *batch, struct jobstack_error *error);

/* Closes N entries that jobstack_pop gave, each by (entry, attempt), and ends the worker row when its last is closed.
 * Again, with the same verdict, is harmless.  RESULTS (may be NULL) takes N numbers: 0 closed, or closed so before; 1
 * the lease is gone, or closed before otherwise; JOBSTACK_EMISSING never popped; JOBSTACK_ECONFLICT in the hands of
 * somebody else.  Returns 0 if all are 0, else the first that is not, with the error in words. */
int jobstack_close(struct jobstack *handle, const char *stack, const struct jobstack_outcome *outcomes, size_t n,
		   int *results, struct jobstack_error *error);

/* Starts the lease of a popped entry anew, and makes it LEASE_US long (0: as long as it was).  Returns 1 if
 * it is gone. */
int jobstack_renew(struct jobstack *handle, const char *stack, uint64_t entry, uint32_t attempt, int64_t lease_us,
		   struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------------- workers */

/* Registers a worker of STACK.  Free it with jobstack_worker_free.  Errors: EMISSING if there is no such stack. */
int jobstack_worker_begin(struct jobstack *handle, const char *stack, const struct jobstack_worker_options *options,
			  struct jobstack_worker **worker, struct jobstack_error *error);

/* The number in the ledger; the lease in microseconds; and the moment the present lease ends, counted from the sending
 * of the last step that succeeded. */
uint64_t jobstack_worker_id(const struct jobstack_worker *worker);
int64_t jobstack_worker_lease_us(const struct jobstack_worker *worker);
int64_t jobstack_worker_deadline_us(const struct jobstack_worker *worker);

/* What a step tells beside its entries: as of this step; when steps follow each other quickly, all but the state (which
 * a step that claims always sees) may be of one at most half a second before it. */
struct jobstack_step_report {
	enum jobstack_stack_state state;
	int due;	 /* waiting entries were seen to be due: jobstack_promote makes them ready */
	const char *cwd; /* where relative names belong, or NULL; valid until the next step */
	int limited;	 /* the stack has max_running: claim no further ahead than can be started */
};

/* One step, one transaction: closes N outcomes of entries that this worker holds, and claims up to K new ones (0: none)
 * into BATCH; both or neither.  With N = K = 0 it is a heartbeat.  RUNNING (may be NULL) is stored as what runs now, by
 * entry, attempt and start; RUNNING_N of them.  Returns 0 also when the batch came back empty; 1 if the worker was
 * given up (fenced): it must kill its commands and claims nothing any more.  JOBSTACK_ECONFLICT: the database was set
 * back to an earlier state (a restored backup, a failover that lost commits) and has forgotten this worker or its last
 * steps, or the stack was dropped: the same holds.  After another error the same step may be tried again: an outcome is
 * never counted twice. */
struct jobstack_running {
	uint64_t entry;
	uint32_t attempt;
	int64_t started_us; /* a moment */
};
int jobstack_step(struct jobstack_worker *worker, const struct jobstack_outcome *outcomes, size_t n, size_t k,
		  const struct jobstack_running *running, size_t running_n, struct jobstack_batch *batch,
		  struct jobstack_step_report *report, struct jobstack_error *error);

/* Makes due waiting entries of the worker's stack ready, at most some hundred lists of them. */
int jobstack_promote(struct jobstack_worker *worker, struct jobstack_error *error);

/* What a worker with nothing to do wants to know. */
struct jobstack_idle {
	uint64_t ready, waiting, held, running; /* running: elsewhere, not counting this worker's own */
	uint64_t workers, pushers;
	int eldest;	     /* no older worker of this stack is alive */
	int64_t next_due_us; /* as in jobstack_status */
	enum jobstack_stack_state state;
};
int jobstack_worker_idle(struct jobstack_worker *worker, struct jobstack_idle *idle, struct jobstack_error *error);

/* How long the entries of the worker's stack took that were done last: at most MAX durations in US, *N of them. */
int jobstack_worker_durations(struct jobstack_worker *worker, int64_t *us, size_t max, size_t *n,
			      struct jobstack_error *error);

/* Ends the worker, for REASON (NULL: none): closes N outcomes as jobstack_step does, hands back whatever it still holds
 * as JOBSTACK_UNSTARTED, folds its counts into the stack.  Returns 1 if it had been given up, JOBSTACK_ECONFLICT as
 * jobstack_step. */
int jobstack_worker_end(struct jobstack_worker *worker, const struct jobstack_outcome *outcomes, size_t n,
			const char *reason, struct jobstack_error *error);

/* The secret beside the worker's number.  Who writes outcomes down to deliver them later
 * (jobstack_replay) needs both. */
void jobstack_worker_token(const struct jobstack_worker *worker, unsigned char token[16]);

/* Frees the memory.  A worker that has not been ended is left to its lease. */
void jobstack_worker_free(struct jobstack_worker *worker);

/* Takes back what worker WORKER of STACK holds, if it is still at SEQ (as jobstack_workers told): each entry without an
 * outcome gets LOST with REASON, and is ready again, or dead after the stack's max_losses.  Call it only when the
 * worker is known to be dead.  Returns 1 if it is not at SEQ any more, or has ended.  *TAKEN (may be NULL): entries
 * taken back. */
int jobstack_recover(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq, const char *reason,
		     uint64_t *taken, struct jobstack_error *error);

/* The same for who knows the death at first hand (the worker's parent, itself) and has its TOKEN: wherever the worker
 * got to, a last step of it that is still on its way included.  Returns 1 if it has ended, or the number is another
 * worker's now. */
int jobstack_recover_own(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
			 const char *reason, uint64_t *taken, struct jobstack_error *error);

/* Leaves in the ledger what is known of worker WORKER without being a proof ("node failed (n3)"), for whoever recovers
 * it later: jobstack_workers gives it until the worker moves.  At most some 230 bytes are kept.  Returns 1 if it is not
 * at SEQ any more, or has ended. */
int jobstack_suspect(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq, const char *suspicion,
		     struct jobstack_error *error);

/* What became of an outcome that was delivered later. */
enum jobstack_replayed {
	JOBSTACK_REPLAYED,	  /* it counts now */
	JOBSTACK_REPLAYED_BEFORE, /* it counted already */
	JOBSTACK_TOO_LATE	  /* its entry was given up meanwhile, and goes on without it: nothing was changed */
};

/* Delivers N outcomes of worker WORKER of STACK, which could not do so itself, by its TOKEN, and ends the worker.  Call
 * it only when the worker is known to be gone, and its commands too.  What it held beyond these outcomes is lost for
 * the reason LOST, as by jobstack_recover; or, if LOST is NULL, had not been started and goes back uncharged.  If the
 * worker has been ended or recovered before, nothing changes.  Again is harmless, also after an error.  RESULTS (may be
 * NULL) takes N.  Returns 0; 1 if some came too late; JOBSTACK_ECONFLICT, and nothing has changed, if the database does
 * not know that worker, or gave its number to another one (a failover that lost transactions). */
int jobstack_replay(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
		    const struct jobstack_outcome *outcomes, size_t n, const char *lost,
		    enum jobstack_replayed *results, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------- looking at and requeueing */

/* States of an entry, as bits; FAILED and LOST: its last attempt ended so, whatever it waits for now. */
#define JOBSTACK_IS_READY 1u
#define JOBSTACK_IS_WAITING 2u
#define JOBSTACK_IS_HELD 4u
#define JOBSTACK_IS_RUNNING 8u
#define JOBSTACK_IS_DONE 16u
#define JOBSTACK_IS_DEAD 32u
#define JOBSTACK_IS_FAILED 64u
#define JOBSTACK_IS_LOST 128u
#define JOBSTACK_IS_CANCELLED 256u
#define JOBSTACK_IS_MOVED 512u /* to another stack, by jobstack_move */

/* Whole numbers from LOW to HIGH. */
struct jobstack_range {
	int32_t low, high;
};

/* Which entries: those that are all of it.  "Its last attempt" is the last that has ended: what runs, and what has not
 * run yet, fits nothing that is said of how that ended. */
struct jobstack_filter {
	size_t size;		 /* sizeof(struct jobstack_filter) */
	unsigned states;	 /* JOBSTACK_IS_... bits; 0: any but FAILED and LOST, which are such in another state */
	const uint64_t *entries; /* only these, ascending; NULL: all */
	size_t entries_n;
	uint64_t limit; /* at most so many; 0: all */
	/* A glob that the whole datapath must match, byte by byte: * any bytes, a slash as well; ? one byte; [a-z] one
	 * of these,
	 * [!a-z] one of the others; a backslash takes the next byte as it is.  NULL: any. */
	const char *match;
	const struct jobstack_range *exit_codes; /* its last attempt ended with one of these; n 0: any */
	size_t exit_codes_n;
	const int32_t *signals; /* ... was ended by one of these */
	size_t signals_n;
	const char *const *nodes; /* ... was on one of these, by Slurm's name or the host's; or it runs there now */
	size_t nodes_n;
	const char *reason; /* ... ended for a reason with these bytes in it; NULL: any */
	int64_t older_us,
		newer_us; /* ... ended longer ago than this, not so long ago as this, by the server's clock; 0: any */
	int tails;	  /* jobstack_list gives err_tail too; jobstack_attempts always does */
};
/* clang-format off */
#define JOBSTACK_FILTER_INIT                                                                                           \
	{sizeof(struct jobstack_filter), 0, NULL, 0, 0, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0,                   \
	 0}
/* clang-format on */

/* One entry, or one attempt of it.  Everything is valid during the callback.  Times are microseconds since 1970 UTC by
 * the server's clock, -1 if not known. */
struct jobstack_item {
	uint64_t entry;
	struct jobstack_bytes datapath;
	unsigned state;	  /* one JOBSTACK_IS_... bit */
	uint32_t attempt; /* the last one that began, 0: none */
	int outcome;	  /* enum jobstack_verdict, or -1: none yet */
	int32_t exit_code, signal;
	const char *reason, *node;
	uint64_t worker; /* 0: none */
	int64_t started_us, ended_us;
	int64_t user_us, system_us, maxrss_kib, read_bytes, write_bytes;
	const char *log; /* the file with its output, or NULL */
	int64_t log_at, log_out, log_err;
	const char *host, *cluster, *job, *array_job, *array_task, *step, *account, *qos, *partition, *user, *cwd;
	struct jobstack_bytes argv; /* the worker's arguments, NUL-separated */
	uint32_t slots;		    /* the worker's; 0: not known */
	const char
		*err_log; /* where stderr is, if not behind stdout in LOG: the file, or NULL; and where in it, or -1 */
	int64_t err_at;
	struct jobstack_bytes
		err_tail;     /* of a failed attempt, as in struct jobstack_outcome; no data: none, or not asked for */
	const char *to_stack; /* state MOVED: where it went, NULL if that stack is not there any more */
	uint64_t to_entry;    /* ... and its number there; else 0 */
	int64_t major_faults;
};
typedef int jobstack_item_fn(void *ctx, const struct jobstack_item *item);

/* Calls FN for each entry of STACK that fits FILTER (NULL: all), state by state in the order of the bits; in each by
 * number, but what is in line in the order in which it would be popped.  An entry that is in several of the states is
 * told once. Reads page by page: flat memory, and no long transaction; entries that change state meanwhile may be
 * missed or told twice. Errors: EMISSING; EUSAGE (the filter has an invalid glob or an empty range). */
int jobstack_list(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		  jobstack_item_fn *fn, void *ctx, struct jobstack_error *error);

/* Calls FN for each attempt of one entry, in order; the last call may be for one that runs now (outcome -1, state
 * RUNNING). An entry without a finished attempt gives a call with attempt 0 first.  Returns JOBSTACK_EMISSING if there
 * is none. */
int jobstack_attempts(struct jobstack *handle, const char *stack, uint64_t entry, jobstack_item_fn *fn, void *ctx,
		      struct jobstack_error *error);

/* Finds the entry with this datapath (the last one, if several).  Returns 1 if no entry has it. */
int jobstack_find(struct jobstack *handle, const char *stack, struct jobstack_bytes datapath, uint64_t *entry,
		  struct jobstack_error *error);

/* Calls FN for each of N entries (ascending) that are there, with its datapath; nothing else of the item
 * is filled in. */
int jobstack_datapaths(struct jobstack *handle, const char *stack, const uint64_t *entries, size_t n,
		       jobstack_item_fn *fn, void *ctx, struct jobstack_error *error);

struct jobstack_requeue_result {
	uint64_t requeued; /* or moved; or would be, in a dry run */
	uint64_t refused;  /* named, but running, in line already, moved, or not as the filter says */
	uint64_t missing;  /* named, but not in the stack */
};

/* Pushes back what FILTER names among dead and done entries (states: DEAD, DONE; FAILED and LOST mean those of the dead
 * whose last attempt ended so); history is kept, and the counts of fails and losses start anew.  Each entry is requeued
 * once, however many do it at once.  A running entry is refused: see jobstack_recover. */
int jobstack_requeue(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter, int dry_run,
		     struct jobstack_requeue_result *result, struct jobstack_error *error);

struct jobstack_move_options {
	size_t size;	/* sizeof(struct jobstack_move_options) */
	const char *to; /* the other stack.  If it is not there it is made, with the order and the policy of retries of
			   this one */
	int dry_run;
};
/* clang-format off */
#define JOBSTACK_MOVE_OPTIONS_INIT {sizeof(struct jobstack_move_options), NULL, 0}
/* clang-format on */

/* Pushes what FILTER names among the dead entries of STACK (states: DEAD; FAILED and LOST as for jobstack_requeue) to
 * another stack, where they get new numbers and no attempts yet, and keep their priority.  Here they are MOVED from
 * then on, with their history; neither dead nor to be requeued.  Each is moved once, however many do it at once and
 * whatever reply is lost: some hundred in a transaction over both stacks, so that a call that is cut short has moved
 * whole ones, which *RESULT counts.  Errors: EMISSING; EUSAGE (the same stack, an invalid name, another state);
 * ECONFLICT (the other stack is cancelled or being dropped; an entry with a relative name, and those of the other stack
 * belong to another directory; one of the two is dropped). */
int jobstack_move(struct jobstack *handle, const char *stack, const struct jobstack_filter *filter,
		  const struct jobstack_move_options *options, struct jobstack_requeue_result *result,
		  struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------ reading it all */

struct jobstack_export_options {
	size_t size;	   /* sizeof(struct jobstack_export_options) */
	int by_entry;	   /* an item an entry, with its last attempt; 0: an item a finished attempt */
	unsigned states;   /* by entry: JOBSTACK_IS_... bits, as of jobstack_list; 0: any */
	unsigned outcomes; /* by attempt: bits 1u << enum jobstack_verdict; 0: any */
	int64_t since_us; /* leave out what ended before (microseconds since 1970 UTC) and what never ran; -1: leave out
			     nothing */
	int64_t within_us; /* the same, so long before now by the server's clock; -1: nothing */
	int no_datapath;   /* it is not wanted, which is faster */
	int tails;	   /* err_tail is wanted */
};
/* clang-format off */
#define JOBSTACK_EXPORT_OPTIONS_INIT {sizeof(struct jobstack_export_options), 0, 0, 0, -1, -1, 0, 0}
/* clang-format on */

/* Calls FN for all of STACK that OPTIONS (NULL: defaults) name, in the order of the entries' numbers, and of an entry's
 * attempts.
 *
 * By attempt: what has ended; such an item never changes, and its state is 0, for it tells nothing of where its entry
 * is now. By entry: each entry just once, those that were pushed up to the call; its state and last attempt are as they
 * were at one moment during the call, not the same moment for all.  One that runs comes with the attempt that runs.
 *
 * Reads page by page on primary keys: memory is flat (some 10 MB, with more than 100,000 entries in workers' hands some
 * more), no transaction lasts longer than a page's reading, and none is open while FN runs.  Returns ESTOPPED if FN
 * asked for it. */
int jobstack_export(struct jobstack *handle, const char *stack, const struct jobstack_export_options *options,
		    jobstack_item_fn *fn, void *ctx, struct jobstack_error *error);

/* ---------------------------------------------------------------------------------------------------- what fails */

struct jobstack_failures_options {
	size_t size; /* sizeof(struct jobstack_failures_options) */
	int all;     /* 0: the dead entries; 1: all whose last attempt failed or was lost, whatever became of them */
	int by_node; /* a group for each node */
	uint64_t look_at; /* rows to look at, from the highest entry down (with `all` attempts, else dead entries); 0:
			     every one */
};
/* clang-format off */
#define JOBSTACK_FAILURES_OPTIONS_INIT {sizeof(struct jobstack_failures_options), 0, 0, 0}
/* clang-format on */

/* Failures that look alike.  Texts are valid during the callback, and may hold any bytes but NUL. */
struct jobstack_failure {
	uint64_t count;
	int outcome;		   /* enum jobstack_verdict; -1: its attempt is not on record any more */
	int32_t exit_code, signal; /* -1; 0: none */
	const char *reason;	   /* of the one named below, as it is on record, or NULL */
	const char *pattern;	   /* what they are grouped by, or NULL: their last lines on standard error with # for
				    * numbers and {} for the entry's name; nobody printed it */
	const char *example;	   /* that line as the one named below printed it, or NULL */
	const char *node;	   /* where they ran, if all ran there; else NULL */
	uint64_t entry;		   /* one of them, and its attempt */
	uint32_t attempt;
	int various; /* 1: what is left of groups too small to keep: of various reasons, lines or nodes */
};
typedef int jobstack_failure_fn(void *ctx, const struct jobstack_failure *failure);

struct jobstack_failures_report {
	uint64_t looked;   /* rows looked at */
	uint64_t failures; /* the sum of all counts */
	uint64_t groups;
	int whole; /* every row was looked at */
};

/* Groups the failures of STACK by outcome, exit code, signal, reason and similar last lines on standard error, and
 * calls FN for the groups, largest first; not 0 ends that with ESTOPPED.  In flat memory, page by page: where there are
 * more than some two hundred groups, small ones are added up by exit code and signal (`various`), and the sum of all
 * counts stays exact.  REPORT may be NULL. OPTIONS NULL: defaults. */
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

/* Looks at the LOOK_AT attempts (0: 5,000) with the highest entry numbers, and calls FN for each node where so many
 * more failed or were lost than elsewhere that chance can be left out, worst first.  *LOOKED (may be NULL): attempts
 * looked at. */
int jobstack_bad_nodes(struct jobstack *handle, const char *stack, uint64_t look_at, jobstack_bad_node_fn *fn,
		       void *ctx, uint64_t *looked, struct jobstack_error *error);

/* ------------------------------------------------------------------------------------------------------- pruning */

struct jobstack_prune_options {
	size_t size;	  /* sizeof(struct jobstack_prune_options) */
	int64_t older_us; /* what ended longer ago than this goes; 0: all that has ended */
	int dry_run;	  /* nothing goes, it is only counted */
	/* The archive: ITEM (NULL: none) is called with each attempt of each entry that is about to go, by number, an
	 * entry's last attempt last; KEEP once behind some hundreds of entries: only when it has returned 0 may they
	 * go.  Not 0 from either ends the call with ESTOPPED, and these entries stay.  What was told and then stays, or
	 * was meanwhile requeued, is told again when it goes. */
	jobstack_item_fn *item;
	int (*keep)(void *ctx);
	jobstack_progress_fn *progress; /* NULL: none; counts entry numbers that were looked at */
	void *ctx;			/* of all three */
};
/* clang-format off */
#define JOBSTACK_PRUNE_OPTIONS_INIT {sizeof(struct jobstack_prune_options), 0, 0, NULL, NULL, NULL, NULL}
/* clang-format on */

struct jobstack_prune_result {	    /* what went, or in a dry run would go */
	uint64_t entries, attempts; /* of these entries */
	uint64_t workers, pushes;   /* ended ones of which nothing is left; never those of the last hour */
};

/* Removes from STACK the entries that are done and ended longer ago than that, with all their attempts; then what is
 * left over of workers and pushes.  Dead entries stay, and so do the names of a stack with unique ones, so that none of
 * these is pushed again. In chunks, each a transaction: also while workers work.  An entry that is requeued in the same
 * moment is either requeued or pruned.  Cut short anywhere, the ledger balances.  Memory is flat (some 10 MB).  RESULT
 * (may be NULL) is filled on errors too. Errors: EMISSING; ECONFLICT if it is being dropped; ESTOPPED. */
int jobstack_prune(struct jobstack *handle, const char *stack, const struct jobstack_prune_options *options,
		   struct jobstack_prune_result *result, struct jobstack_error *error);

/* -------------------------------------------------------------------------------------------- proving the ledger */

/* What can be wrong.  An entry stands in just one place: a span (ready, waiting, held), an open claim, done, dead. */
enum jobstack_fault {
	JOBSTACK_FAULT_LOST,	/* an entry stands in no place */
	JOBSTACK_FAULT_DOUBLED, /* an entry stands in two */
	JOBSTACK_FAULT_STRAY,	/* a row names an entry, or a stack, that is not there */
	JOBSTACK_FAULT_SPAN,	/* a span makes no sense */
	JOBSTACK_FAULT_CLAIM,	/* a claim makes no sense, or nobody alive holds it */
	JOBSTACK_FAULT_ATTEMPT, /* the attempts of an entry are not numbered one by one to where it stands */
	JOBSTACK_FAULT_NAME,	/* the rows that keep names unique are not those of the entries */
	JOBSTACK_FAULT_COUNTER, /* a counter is not the number of what it counts */
	JOBSTACK_FAULTS
};

/* One thing that is wrong; its pointers are valid during the callback. */
struct jobstack_finding {
	enum jobstack_fault fault;
	const char *kind;		/* "lost", "doubled", "stray", "span", "claim", "attempt", "name", "counter" */
	uint64_t entry;			/* the entry concerned; 0: none in particular */
	struct jobstack_bytes datapath; /* of the entry; data NULL: it has none */
	const char *text;		/* what is wrong, in words */
};
typedef int jobstack_finding_fn(void *ctx, const struct jobstack_finding *finding);

/* What was counted, from the rows themselves: no counter of the ledger is believed. */
struct jobstack_check_report {
	enum jobstack_stack_state state; /* DROPPING: nothing was read */
	uint64_t entries, attempts;
	uint64_t ready, waiting, held, running, done, dead,
		moved;			 /* (of a cancelled stack the first three are cancelled) */
	uint64_t found[JOBSTACK_FAULTS]; /* how many findings of each kind, told or not */
};

/* Proves the ledger of STACK; with STACK NULL, that no table has rows of a stack that is not there.  All of it is read
 * in one view of the data, without a lock: workers and pushes go on, and what they do meanwhile is not seen.  Then FN
 * (may be NULL) is called for the findings, of each kind the first JOBSTACK_CHECK_TOLD, in order of their entries'
 * numbers; not 0 ends that with ESTOPPED.  Takes some 25 MB of memory, however many entries there are (at most 100 MB,
 * unless spans overlap).  REPORT (may be NULL) is filled at 0 and at JOBSTACK_NOTHING.  Returns 0 if the ledger
 * balances, JOBSTACK_NOTHING if something is wrong, which is no error and leaves ERROR alone.  A connection that is
 * lost starts the reading anew.  Errors: EMISSING, ENODB, ESTOPPED. */
#define JOBSTACK_CHECK_TOLD 1000
int jobstack_check(struct jobstack *handle, const char *stack, jobstack_finding_fn *fn, void *ctx,
		   struct jobstack_check_report *report, struct jobstack_error *error);

/* ----------------------------------------------------------------------------------------------------- diagnosis */

/* One thing that the server tells of itself, as text, valid during the callback.  Return 0 to go on; anything else ends
 * it with ESTOPPED. */
typedef int jobstack_fact_fn(void *ctx, const char *name, const char *value);

/* Calls FN with what can be learnt of the server without special rights; names that it does not show are left out,
 * which is no error.  "version", "database" (the one in use), "user"; "grant", once for each line of SHOW GRANTS;
 * "variable.NAME" and "status.NAME", in small letters, for settings and counters that matter to a queue;
 * "schema.version", if there is a schema; "purge.history" (old row versions) and "transaction.oldest_seconds", if our
 * rights go so far; "roundtrip_us"; "clock.ahead_us": how far the server's clock is ahead of this host's, as of the
 * connection.  Names may be added.  Errors: ENODB, ESTOPPED. */
int jobstack_server_facts(struct jobstack *handle, jobstack_fact_fn *fn, void *ctx, struct jobstack_error *error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Working on entries: a script pops and closes them one by one, a worker does both in steps.
 * Programs include jobstack.h.  It explains the words, and the rules for results, structs, threads and ownership.
 */
#ifndef JOBSTACK_WORK_H
#define JOBSTACK_WORK_H

#include "jobstack/stack.h"

JOBSTACK_BEGIN

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
	/* In a stack with max_starts, the moment from which on it is too late to start the entry: then it must go back
	 * as JOBSTACK_UNSTARTED.  0: there is no such moment.  (A batch of jobstack_pop has none: the pop itself counts
	 * as the start.) */
	int64_t start_by_us;
};
/* clang-format off */
#define JOBSTACK_BATCH_INIT {sizeof(struct jobstack_batch), 0, 0, NULL, NULL, 0}
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
 * empty batch if nothing is ready or the stack is paused.  With max_starts it waits until a start is allowed, claims
 * one entry, and counts as that start.  The claim outlives the handle and the process: anybody who has the numbers can
 * close it.  Nothing stops a script that runs longer than its lease.  Errors: EUSAGE (K is out of range); EMISSING if
 * there is no such stack; ECONFLICT if it is being dropped; ENODB, ESTOPPED. */
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
	/* With max_starts a step claims one entry at most.  So long after the step was first sent, the entry can still
	 * be started (the batch says until when): the longer, the fewer can be started in all.  At most
	 * JOBSTACK_START_MOST; 0: JOBSTACK_START_LEAST. */
	uint64_t start_us;
};
#define JOBSTACK_START_LEAST 50000
#define JOBSTACK_START_MOST 60000000
/* clang-format off */
#define JOBSTACK_STEP_INIT {sizeof(struct jobstack_step), NULL, 0, 0, NULL, 0, 0, 0, 0, 0}
/* clang-format on */

/* What a step reports beside its entries.  If steps follow each other quickly, everything but the state may be half a
 * second old.  A step that claims always reports the present state. */
struct jobstack_step_report {
	size_t size;
	enum jobstack_stack_state state;
	int due;	 /* waiting entries are due: jobstack_promote makes them ready */
	const char *cwd; /* the directory of relative names, or NULL; valid until the next step */
	int limited; /* 1: the stack has max_running; 2: max_starts; 3: both.  Then claim only what can start at once */
	/* Requests to kill commands, for jobstack_kill_wanted; NULL: no requests.  Valid until the next step. */
	const char *kills;
	uint64_t max_attempts, max_losses; /* with so many, an entry is dead */
	int64_t next_start_us; /* of a claim with max_starts: the time until the next one may bring an entry; -1 */
};
/* clang-format off */
#define JOBSTACK_STEP_REPORT_INIT {sizeof(struct jobstack_step_report), JOBSTACK_OPEN, 0, NULL, 0, NULL, 0, 0, -1}
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

JOBSTACK_END
#endif

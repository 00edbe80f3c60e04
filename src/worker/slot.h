/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One slot: runs one command at a time, and makes an outcome of its end.
 */
#pragma once

#include "base/clock.h"
#include "run/capture.h"
#include "run/env.h"
#include "run/reap.h"
#include "run/spawn.h"
#include "worker/config.h"
#include "worker/mailbox.h"

/* What all slots use. */
struct slots {
	const struct config *config;
	struct js_spawn *spawn;
	struct js_packlog *log; /* the packed log */
	struct js_reap_oom oom;
	struct js_buf program; /* where the command's program lies; empty: looked for each time */
	const struct guard *guard;
	uint64_t worker;
	int epoll;		     /* persistent commands: where their pipes are watched */
	int64_t wall_us;	     /* the wall clock less the monotonic one, at the start */
	struct js_clock_bound bound; /* while it holds, commands may start */
};

/* Why a running command is being ended by us. */
enum ending {
	ENDING_NOT,
	ENDING_TIMEOUT,
	ENDING_DRAIN,
	ENDING_LEASE,
	ENDING_KEEPER,
	ENDING_MUTE,   /* a persistent one that closed its standard output */
	ENDING_UNASKED /* one that answered before it had read the request */
};

/* What a thread does for a slot in a call that may hang, as it touches files.  Until it is over, nobody else touches
 * the slot, but for what is said here. */
enum aside {
	ASIDE_NOT,
	ASIDE_START, /* starts the command: only entry, parcel and stop may be looked at */
	ASIDE_KEEP,  /* keeps the output of a command that has ended: entry, parcel, started_us and ended_us */
	ASIDE_TRIM   /* makes room of the output of one that runs: all but the capture; it is not collected */
};

struct persistent;

struct slot {
	uint32_t number; /* from 1 */
	enum aside aside;
	int64_t aside_us; /* since when it is known to hang; 0: not yet */
	int abandoned;	  /* the call does not return: the entry has its outcome, the slot is not used again */
	struct js_spawn_stop stop;
	pid_t before; /* aside to start: the persistent process that was there; 0: none */
	pid_t pid;    /* of what runs the entry; 0: no entry runs */
	struct parcel *parcel;
	const struct jobstack_entry *entry;
	int64_t ended_us;		/* its command did */
	int64_t started_us, kill_at_us; /* KILL follows the TERM then; 0: no TERM was sent */
	enum ending ending;
	struct js_capture *capture;
	struct js_env *env;
	struct js_template_words words;	  /* of its command */
	struct js_buf out_path, err_path; /* of this entry's own files; empty: captured */
	struct js_buf log_path;		  /* of the packed log, when it is not the first */
	struct persistent *persistent;	  /* NULL: an ordinary command */
	char err_tail[JS_KEPT_TAIL];	  /* of the last outcome */
};

/* How a start ended. */
enum slot_start { SLOT_RUNS, SLOT_OUTCOME, SLOT_LATER, SLOT_BROKEN, SLOT_GONE };

int slot_begin(struct slot *slot, uint32_t number, const char *dir, const struct config *config,
	       struct jobstack_error *error);
void slot_end(struct slot *slot);

/* Whether an entry can be started in it: none runs, no process that is to end is still there, and no thread
 * is at it. */
int slot_is_free(const struct slot *slot);

/* The process that it has, whether an entry runs or not; 0: none.  Not while a thread starts one. */
pid_t slot_process(const struct slot *slot);

/* Starts the command on ENTRY.  SLOT_RUNS: it runs.  SLOT_OUTCOME: there is an outcome already.  SLOT_LATER: the
 * machine is short of something (ERROR says of what), try again.  SLOT_BROKEN: the command, or the place for its
 * output, is at fault; ERROR says how, and the entry has not run.  SLOT_GONE: put the entry back, and look at the
 * clocks again: the lease may be over, or the persistent command that was to do it has just ended, and has not seen it.
 * Touches files, and executes one, so that it may hang. */
enum slot_start slot_start(struct slots *all, struct slot *slot, const struct jobstack_entry *entry,
			   struct jobstack_outcome *outcome, struct jobstack_error *error);

/* The outcome of an entry that ran from started_us to ended_us, but for how it ended. */
void slot_begin_outcome(const struct slot *slot, struct jobstack_outcome *outcome);

/* Makes the outcome of a command that was collected, or of a persistent one that has answered
 * (slot->persistent->answer); DRAINING: a signal asks us to go.  It touches no file but in /proc and /sys. */
void slot_judge(struct slots *all, struct slot *slot, const struct js_reaped *reaped, int draining,
		struct jobstack_outcome *outcome, char reason[REASON_MAX]);

/* Keeps its output, and says in OUTCOME where; its texts are valid until the next start.  Negative: it could not be
 * kept (ERROR), and the outcome is JOBSTACK_INTERRUPTED.  Touches files, so that it may hang. */
int slot_keep(struct slots *all, struct slot *slot, const struct js_reaped *reaped, struct jobstack_outcome *outcome,
	      char reason[REASON_MAX], struct jobstack_error *error);

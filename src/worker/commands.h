/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The commands that a worker runs: the slot of each of them, and what all slots share.  Only the thread that runs the
 * supervisor's loop touches this (worker/loop.h), except where something else is said.
 */
#pragma once

#include "base/clock.h"
#include "proc/mounts.h"
#include "exec/capture.h"
#include "exec/env.h"
#include "exec/packages.h"
#include "exec/persist.h"
#include "exec/program.h"
#include "exec/sample.h"
#include "exec/spawn.h"
#include "worker/guard.h"
#include "worker/mailbox.h"
#include "worker/printer.h"

/* Why the worker ends a running command. */
enum ending {
	ENDING_NOT,
	ENDING_TIMEOUT,
	ENDING_KILL, /* somebody asked for it (jobstack kill) */
	ENDING_DRAIN,
	ENDING_LEASE,
	ENDING_KEEPER,
	ENDING_MUTE,   /* a persistent command that closed its standard output */
	ENDING_UNASKED /* a persistent command that answered before it had read the request */
};

/* The call for a slot that is under way.  It touches files, so it may hang.  Until it returns, no other thread touches
 * the slot, except for the members that are named here. */
enum call {
	CALL_NONE,
	CALL_START, /* starts the command: only entry, parcel and stop may be read */
	CALL_KEEP,  /* keeps the output of a command that has ended: entry, parcel, started_us and ended_us */
	CALL_TRIM   /* frees disk space of a running command's output: all but the capture; it is not collected */
};

/* How a start ended: what slot_start returns (worker/slot.h). */
enum slot_start { SLOT_RUNS, SLOT_OUTCOME, SLOT_LATER, SLOT_BROKEN, SLOT_FULL, SLOT_GONE };

/* The process of a slot whose command is persistent: it stays from entry to entry (exec/persist.h). */
struct persistent {
	struct js_persist *process;
	const struct js_persist_answer *answer; /* to the entry whose outcome is being made; NULL: it ended without */
	int own[2];				/* the entry's own files for stdout and stderr, or -1 */
	int waits;				/* part of a request waits until the pipe takes it */
	int leaving;				/* it gets no more entries, and has to end */
	int64_t term_at_us;			/* leaving: when it gets TERM */
	int64_t kill_at_us;			/* when it gets KILL after its TERM; 0: no TERM was sent */
	int64_t mute_at_us;	    /* its standard output, or input, is closed: it gets TERM then if it still runs the
				       entry; 0: both are open */
	int64_t user_us, system_us; /* its processor time when it was last measured */
	int64_t since_us;	    /* how long the entries since then took */
};

struct slot {
	uint32_t number; /* from 1 */
	enum call call;
	int64_t hangs_us; /* since when the call is known to hang; 0: not yet */
	int abandoned;	  /* the call never returned: the entry has its outcome, and the slot is not used again */
	struct js_spawn_stop stop;
	pid_t before; /* CALL_START: the persistent process that was there, or 0 */
	pid_t pid;    /* of the process that runs the entry; 0: no entry runs */
	struct parcel *parcel;
	const struct jobstack_entry *entry;
	int64_t started_us, ended_us; /* when its command started and ended */
	int64_t kill_at_us;	      /* when it gets KILL after its TERM; 0: no TERM was sent */
	enum ending ending;
	int64_t program;		   /* the version that runs; -1: not known */
	char killed[JOBSTACK_KILL_REASON]; /* why it is to be killed; "": it is not */
	struct js_capture *capture;
	struct js_env *env;
	struct js_template_words words;	  /* of its command */
	struct js_buf out_path, err_path; /* the entry's own files; empty: captured */
	struct js_buf log_path;		  /* of the packed log, if it is not the first */
	struct js_buf result;		  /* the file that --creates names */
	struct persistent *persistent;	  /* NULL: an ordinary command */
	char err_tail[JS_KEPT_TAIL + 1];  /* of the last outcome */
};

/* What the slots' commands are started with, watched by and judged by.  All slots share it. */
struct commands {
	/* given */
	const struct config *config;
	const struct guard *guard; /* the mailbox's */
	const char *cwd;
	const char *log_dir; /* of the packed log, for messages */
	uint64_t worker;
	struct printer *printer;
	struct js_spawn *spawn;
	struct js_packlog *log;
	struct js_reap_oom oom;
	struct js_sampler *sampler;   /* of ordinary commands; may be NULL */
	struct js_packages *packages; /* NULL: they are not recorded */
	struct js_mounts mounts;
	struct js_program *version; /* of the command's program */
	struct js_buf program;	    /* the path of that program; empty: searched for at each start */
	int64_t wall_us;	    /* the wall clock less the monotonic one, at the start */
	/* set while the worker runs */
	int epoll;		     /* persistent commands: watches their pipes; else -1 */
	struct js_clock_bound bound; /* commands may start while it holds */
	int draining;		     /* a signal asked the worker to end: commands that it ended did not fail */
	_Atomic int told_old;	     /* a message that is printed once, by any thread */
};

static inline int64_t earlier(int64_t a_us, int64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

static inline int64_t later(int64_t a_us, int64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's state: what its files share.  Only the thread that runs the supervisor's loop touches it
 * (worker/relay.h), except where something else is said.
 */
#pragma once

#include "base/clock.h"
#include "process/mounts.h"
#include "run/capture.h"
#include "run/env.h"
#include "run/packages.h"
#include "run/persist.h"
#include "run/program.h"
#include "run/sample.h"
#include "run/spawn.h"
#include "worker/display.h"
#include "worker/keeper.h"
#include "worker/mailbox.h"
#include "worker/printer.h"
#include "worker/relay.h"

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

/* How a start ended. */
enum slot_start { SLOT_RUNS, SLOT_OUTCOME, SLOT_LATER, SLOT_BROKEN, SLOT_FULL, SLOT_GONE };

/* The process of a slot whose command is persistent: it stays from entry to entry (run/persist.h). */
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
	int64_t started_us, ended_us; /* its command was */
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

struct supervisor {
	/* given, before supervisor_run */
	const struct config *config;
	struct mailbox *box;
	struct slot *slots; /* box->slots_n of them */
	struct js_spawn *spawn;
	struct js_packlog *log;
	struct js_reap_oom oom;
	struct js_sampler *sampler;   /* of ordinary commands; may be NULL */
	struct js_packages *packages; /* NULL: they are not recorded */
	struct js_mounts mounts;
	const char *cwd;
	struct js_program *version; /* of the command's program */
	struct js_buf program;	    /* the path of the command's program; empty: searched for at each start */
	uint64_t worker;
	const struct keeper *keeper;
	struct display *display;
	struct printer *printer;
	const char *log_dir;  /* of the packed log, for messages */
	int signals;	      /* signalfd */
	int life;	      /* can be read when the keeper is gone; -1: that is known */
	int64_t wall_us;      /* the wall clock less the monotonic one, at the start */
	int64_t kill_wait_us; /* the time between Slurm's TERM and its KILL; 0: not under Slurm */
	/* its own */
	struct relay relay; /* the loop's threads */
	unsigned rounds; /* of the loop, by whichever thread: a thread that hung learns that others ran it meanwhile */
	int epoll;	 /* persistent commands: watches their pipes; else -1 */
	int leap;	 /* js_clock_leap_open */
	struct js_clock_bound bound; /* commands may start while it holds */
	int draining;		     /* a signal asked the worker to end */
	int64_t interrupted_us;	     /* the first SIGINT */
	int64_t drain_at_us;	     /* when running commands get TERM */
	int64_t kill_by_us;	     /* when they get KILL at the latest, because Slurm kills the worker then */
	int64_t lease_end_us;	     /* the last moment at which a command may run */
	int64_t end_asked_us;	     /* when Slurm was last asked again when the job ends; 0: not yet */
	int64_t hinted_us;	     /* when the worker last waited for a signal after a command was ended by one */
	int64_t later_us;	     /* no start before: there was no process for a command */
	int64_t starved_us;	     /* since when there has been none, with nothing running; 0: there is */
	int64_t trim_at_us;	     /* the output of running commands is trimmed then */
	int told_starved, told_hang, told_unasked; /* messages that are printed once */
	_Atomic int told_old;			   /* the same, by any thread */
	/* processes that commands left behind (worker/orphans.h) */
	int children;	    /* js_tree_open */
	int64_t orphans_us; /* when they were last looked for */
	int64_t orphans_at; /* when they must be looked for again; 0: no need */
	int64_t unknown_us; /* since when there is a process of which nobody can tell whose it is; 0: there is none */
};

static inline int64_t earlier(int64_t a_us, int64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

static inline int64_t later(int64_t a_us, int64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

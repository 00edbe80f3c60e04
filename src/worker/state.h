/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's state: what the files of its loop share.  Only the thread that runs the loop touches it
 * (worker/loop.h), except where something else is said.
 */
#pragma once

#include "worker/commands.h"
#include "worker/display.h"
#include "worker/keeper.h"
#include "worker/orphans.h"
#include "worker/loop.h"

struct supervisor {
	/* given, before supervisor_run */
	const struct config *config;
	struct mailbox *box;
	struct slot *slots; /* box->slots_n of them */
	struct commands commands;
	const struct keeper *keeper;
	struct display *display;
	int signals; /* signalfd */
	int life;    /* can be read when the keeper is gone; -1: that is known */
	/* its own */
	struct loop loop; /* the loop's threads */
	unsigned rounds;  /* of the loop, by whichever thread: a thread that hung learns that others ran it meanwhile */
	int leap;	  /* js_clock_leap_open */
	struct {
		int64_t kill_wait_us;	/* given: the time between Slurm's TERM and its KILL; 0: not under Slurm */
		int64_t interrupted_us; /* the last SIGINT */
		int64_t drain_at_us;	/* when running commands get TERM */
		int64_t kill_by_us;	/* when they get KILL at the latest, because Slurm kills the worker then */
		int64_t lease_end_us;	/* the last moment at which a command may run */
		int64_t end_asked_us;	/* when Slurm was last asked again when the job ends; 0: not yet */
	} leave;			/* when commands, and the worker, have to end */
	struct {
		int64_t later_us;   /* nothing starts before: a command got no process */
		int64_t starved_us; /* since when no process could be created, while nothing runs; 0: one could */
		int told_starved;
	} starts;
	struct orphans orphans;
	int64_t hinted_us;	     /* when the worker last waited for a signal after a command was ended by one */
	int64_t trim_at_us;	     /* the output of running commands is trimmed then */
	int told_hang, told_unasked; /* messages that are printed once */
};

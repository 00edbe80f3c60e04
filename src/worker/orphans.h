/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Orphans: processes outside of their commands' process groups that commands left behind when they ended.  They have
 * become children of the worker, which kills them.
 */
#pragma once

#include "worker/commands.h"

struct orphans {
	/* given */
	const struct commands *commands;
	const struct slot *slots;
	size_t slots_n;
	int children; /* from js_tree_open, during the supervisor's loop; -1: each look walks through /proc */
	/* its own */
	int64_t looked_us;  /* when they were last looked for */
	int64_t next_us;    /* when they must be looked for again; 0: no need */
	int64_t unknown_us; /* since when there is a process that does not show where it comes from; 0: all do */
};

/* Kills all orphans that exist now.  This takes up to a second. */
void orphans_kill(struct orphans *o);

/* Does the same after the command of SLOT has ended, while slot->pid is still set.  If that would cost a walk through
 * /proc for each of many short commands, only sets o->next_us, the moment at which it must be done. */
void orphans_kill_of(struct orphans *o, struct slot *slot);

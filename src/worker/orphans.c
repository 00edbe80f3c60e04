/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What commands left behind.  Promises: nothing of a command that runs is ended; what shows by its environment that its
 * command has ended is ended soon, what shows nothing when all commands that run are younger than it.
 */
#define _GNU_SOURCE
#include "worker/orphans.h"

#include "base/clock.h"
#include "process/proc.h"
#include "run/tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define WALK_US (JS_SECOND_US / 2)  /* where looking costs a walk through /proc: at most so often... */
#define LONG_US (JS_SECOND_US / 10) /* ... or behind commands that took so long */
#define UNTOLD_SOON_US (JS_SECOND_US / 50)
#define UNTOLD_LATE_US (10 * JS_SECOND_US)

void orphans_begin(struct orphans *o, const struct slots *all, const struct slot *slots, size_t slots_n)
{
	*o = (struct orphans){.all = all, .slots = slots, .slots_n = slots_n, .children = js_tree_open()};
}

void orphans_end(struct orphans *o)
{
	if (o->children >= 0)
		(void)close(o->children);
	o->children = -1;
}

/* Is a command running that PID, a child of ours that we did not start, comes from?  -1: it can't be told
 * whose it is. */
static int belongs_to_running_command(const struct orphans *o, pid_t pid)
{
	uint64_t worker, entry, slot;
	uint32_t attempt;

	for (size_t i = 0; i < o->slots_n; i++)
		if (o->slots[i].aside != ASIDE_START && slot_process(&o->slots[i]) == pid)
			return 1;
	if (o->all->config->persistent)
		return js_tree_slot(pid, &worker, &slot) != 0 || worker != o->all->worker || slot < 1 ||
				       slot > o->slots_n
			       ? -1
			       : o->slots[slot - 1].aside == ASIDE_START || slot_process(&o->slots[slot - 1]) != 0;
	if (js_tree_entry(pid, &worker, &entry, &attempt) != 0 || worker != o->all->worker)
		return -1;
	for (size_t i = 0; i < o->slots_n; i++)
		if ((o->slots[i].aside == ASIDE_START || o->slots[i].pid != 0) && o->slots[i].entry->entry == entry &&
		    o->slots[i].entry->attempt == attempt)
			return 1;
	return 0;
}

/* Is PID older than each command that runs?  Then it comes from none of them. */
static int is_older_than_commands(const struct orphans *o, pid_t pid)
{
	struct js_proc proc, of_command;
	int known = js_proc_read(pid, &proc) == 0;

	for (size_t i = 0; i < o->slots_n; i++) {
		pid_t command;

		if (o->slots[i].aside == ASIDE_START) /* it may be what is being started */
			return 0;
		command = slot_process(&o->slots[i]);
		if (command != 0 &&
		    (!known || js_proc_read(command, &of_command) != 0 || of_command.started <= proc.started))
			return 0;
	}
	return 1;
}

/* Ends PID.  Returns 0 if it had ended already. */
static int kill_orphan(pid_t pid, int64_t until_us)
{
	if (kill(pid, SIGKILL) != 0)
		return 0;
	while (waitpid(pid, NULL, WNOHANG) == 0 && jobstack_now_us() < until_us)
		js_clock_nap(JS_SECOND_US / 2000, NULL);
	return 1;
}

/* A process that is just becoming another program has no environment for a moment: soon again, and ever more seldom
 * while there is one that never shows whose it is. */
static void plan_next_look(struct orphans *o, size_t untold, int64_t now)
{
	int64_t soon = o->children < 0 ? WALK_US : UNTOLD_SOON_US, wait = now - o->untold_us;

	if (untold == 0)
		o->untold_us = 0;
	else if (o->untold_us == 0) {
		o->untold_us = now;
		wait = soon;
	}
	if (untold > 0)
		o->at_us = now + (wait < soon ? soon : wait > UNTOLD_LATE_US ? UNTOLD_LATE_US : wait);
}

void orphans_kill(struct orphans *o)
{
	int64_t now = jobstack_now_us(), until = now + JS_SECOND_US;
	pid_t pids[SLOTS_MAX * 4];
	size_t n, found, untold;

	o->looked_us = now;
	o->at_us = 0;
	do { /* what they started becomes our child when they are gone: until there is none */
		found = untold = 0;
		n = js_tree_children(o->children, pids, sizeof(pids) / sizeof(pids[0]));
		for (size_t i = 0; i < n; i++) {
			int running = belongs_to_running_command(o, pids[i]);

			if (running == 0 || (running < 0 && is_older_than_commands(o, pids[i])))
				found += (size_t)kill_orphan(pids[i], until);
			else if (running < 0)
				untold += waitpid(pids[i], NULL, WNOHANG) == 0;
		}
	} while (found > 0 && jobstack_now_us() < until);
	plan_next_look(o, untold, now);
}

void orphans_kill_of(struct orphans *o, struct slot *slot)
{
	pid_t saved = slot->pid;
	int64_t now = jobstack_now_us();

	if (slot->persistent == NULL && o->children < 0 && now - slot->started_us < LONG_US &&
	    now - o->looked_us < WALK_US) {
		o->at_us = o->looked_us + WALK_US;
		return;
	}
	slot->pid = 0;
	orphans_kill(o);
	slot->pid = saved;
}

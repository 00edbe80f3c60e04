/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What commands left behind.  Promises: no process of a running command is killed.  A process whose environment shows
 * that its command has ended is killed soon; a process without such an environment is killed once all running commands
 * are younger than it.
 */
#include "worker/orphans.h"

#include "proc/proc.h"
#include "exec/tree.h"
#include "worker/slot.h"

#include <signal.h>
#include <sys/wait.h>

#define WALK_US (JS_SECOND_US / 2)  /* where looking costs a walk through /proc: at most so often... */
#define LONG_US (JS_SECOND_US / 10) /* ... or after commands that took longer than this */
#define UNKNOWN_SOON_US                                                                                                \
	(JS_SECOND_US / 50) /* the pause until a process of unknown origin is looked at again, at first, */
#define UNKNOWN_LATE_US (10 * JS_SECOND_US) /* and at last */

/* Returns whether PID, a child of the worker, belongs to a running command; -1: that can't be seen.  Its environment
 * says from which entry it comes (for a persistent command, from which slot).  While a command is being started
 * (CALL_START) its process is not known yet, so all processes with the entry's number count as its own. */
static int belongs_to_running_command(const struct orphans *o, pid_t pid)
{
	uint64_t worker, entry, slot;
	uint32_t attempt;

	for (size_t i = 0; i < o->slots_n; i++)
		if (o->slots[i].call != CALL_START && slot_process(&o->slots[i]) == pid)
			return 1;
	if (o->commands->config->persistent) {
		if (js_tree_slot(pid, &worker, &slot) != 0 || worker != o->commands->worker || slot < 1 ||
		    slot > o->slots_n)
			return -1;
		return o->slots[slot - 1].call == CALL_START || slot_process(&o->slots[slot - 1]) != 0;
	}
	if (js_tree_entry(pid, &worker, &entry, &attempt) != 0 || worker != o->commands->worker)
		return -1;
	for (size_t i = 0; i < o->slots_n; i++)
		if ((o->slots[i].call == CALL_START || o->slots[i].pid != 0) && o->slots[i].entry->entry == entry &&
		    o->slots[i].entry->attempt == attempt)
			return 1;
	return 0;
}

/* Returns whether PID is older than each running command: then it comes from none of them, and was left behind.  If the
 * age of anything is unknown, the answer is no. */
static int is_older_than_commands(const struct orphans *o, pid_t pid)
{
	struct js_proc proc, of_command;
	int known = js_proc_read(pid, &proc) == 0;

	for (size_t i = 0; i < o->slots_n; i++) {
		pid_t command;

		if (o->slots[i].call == CALL_START) /* PID may be what is being started */
			return 0;
		command = slot_process(&o->slots[i]);
		if (command != 0 &&
		    (!known || js_proc_read(command, &of_command) != 0 || of_command.started <= proc.started))
			return 0;
	}
	return 1;
}

/* Kills PID, and waits for its end, at most until UNTIL_US.  Returns 0 if it had ended already. */
static int kill_orphan(pid_t pid, int64_t until_us)
{
	if (kill(pid, SIGKILL) != 0)
		return 0;
	while (waitpid(pid, NULL, WNOHANG) == 0 && jobstack_now_us() < until_us)
		js_clock_nap(JS_SECOND_US / 2000, NULL);
	return 1;
}

/* Plans to look again because of a process that does not show where it comes from: soon, since a process that is just
 * executing another program shows no environment for a moment, and ever more rarely while that lasts. */
static void plan_next_look(struct orphans *o, int64_t now)
{
	int64_t soon = o->children < 0 ? WALK_US : UNKNOWN_SOON_US;

	if (o->unknown_us == 0)
		o->unknown_us = now;
	o->next_us = now + earlier(later(now - o->unknown_us, soon), UNKNOWN_LATE_US);
}

void orphans_kill(struct orphans *o)
{
	int64_t now = jobstack_now_us(), until = now + JS_SECOND_US;
	pid_t pids[SLOTS_MAX * 4];
	size_t n, found, unknown;

	o->looked_us = now;
	o->next_us = 0;
	do { /* children of an orphan become our children when it is gone: until there are none */
		found = unknown = 0;
		n = js_tree_children(o->children, pids, sizeof(pids) / sizeof(pids[0]));
		for (size_t i = 0; i < n; i++) {
			int running = belongs_to_running_command(o, pids[i]);

			if (running == 0 || (running < 0 && is_older_than_commands(o, pids[i])))
				found += (size_t)kill_orphan(pids[i], until);
			else if (running < 0)
				unknown += waitpid(pids[i], NULL, WNOHANG) == 0;
		}
	} while (found > 0 && jobstack_now_us() < until);
	if (unknown > 0)
		plan_next_look(o, now);
	else
		o->unknown_us = 0;
}

/* Without the kernel's list of children, each look walks through all of /proc, which would take longer than a short
 * command.  So after short commands there is one look for many of them.  slot->pid is 0 during the look, so that the
 * processes of the command that has just ended count as orphans. */
void orphans_kill_of(struct orphans *o, struct slot *slot)
{
	int64_t now = jobstack_now_us();
	pid_t saved = slot->pid;

	if (slot->persistent == NULL && o->children < 0 && now - slot->started_us < LONG_US &&
	    now - o->looked_us < WALK_US) {
		o->next_us = o->looked_us + WALK_US;
		return;
	}
	slot->pid = 0;
	orphans_kill(o);
	slot->pid = saved;
}

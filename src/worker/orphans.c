/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What commands left behind.  Promises: no process of a running command is killed.  A process whose environment shows
 * that its command has ended is killed soon; a process without such an environment is killed once all running commands
 * are younger than it.
 */
#include "worker/orphans.h"

#include "base/file.h"
#include "process/proc.h"
#include "run/tree.h"
#include "worker/slot.h"

#include <signal.h>
#include <sys/wait.h>

#define WALK_US (JS_SECOND_US / 2)  /* where looking costs a walk through /proc: at most so often... */
#define LONG_US (JS_SECOND_US / 10) /* ... or after commands that took longer than this */
#define UNKNOWN_SOON_US (JS_SECOND_US / 50)
#define UNKNOWN_LATE_US (10 * JS_SECOND_US)

void orphans_begin(struct supervisor *s)
{
	s->children = js_tree_open();
}

void orphans_end(struct supervisor *s)
{
	js_file_close(&s->children);
}

/* Whether PID, a child that the worker did not start, comes from a running command; -1: nobody can tell. */
static int belongs_to_running_command(const struct supervisor *s, pid_t pid)
{
	uint64_t worker, entry, slot;
	uint32_t attempt;

	for (size_t i = 0; i < s->box->slots_n; i++)
		if (s->slots[i].call != CALL_START && slot_process(&s->slots[i]) == pid)
			return 1;
	if (s->config->persistent) {
		if (js_tree_slot(pid, &worker, &slot) != 0 || worker != s->worker || slot < 1 || slot > s->box->slots_n)
			return -1;
		return s->slots[slot - 1].call == CALL_START || slot_process(&s->slots[slot - 1]) != 0;
	}
	if (js_tree_entry(pid, &worker, &entry, &attempt) != 0 || worker != s->worker)
		return -1;
	for (size_t i = 0; i < s->box->slots_n; i++)
		if ((s->slots[i].call == CALL_START || s->slots[i].pid != 0) && s->slots[i].entry->entry == entry &&
		    s->slots[i].entry->attempt == attempt)
			return 1;
	return 0;
}

/* Whether PID is older than each running command: then it comes from none of them. */
static int is_older_than_commands(const struct supervisor *s, pid_t pid)
{
	struct js_proc proc, of_command;
	int known = js_proc_read(pid, &proc) == 0;

	for (size_t i = 0; i < s->box->slots_n; i++) {
		pid_t command;

		if (s->slots[i].call == CALL_START) /* PID may be what is being started */
			return 0;
		command = slot_process(&s->slots[i]);
		if (command != 0 &&
		    (!known || js_proc_read(command, &of_command) != 0 || of_command.started <= proc.started))
			return 0;
	}
	return 1;
}

/* Returns 0 if it had ended already. */
static int kill_orphan(pid_t pid, int64_t until_us)
{
	if (kill(pid, SIGKILL) != 0)
		return 0;
	while (waitpid(pid, NULL, WNOHANG) == 0 && jobstack_now_us() < until_us)
		js_clock_nap(JS_SECOND_US / 2000, NULL);
	return 1;
}

/* A process that is just executing another program shows no environment for a moment: look again soon, and ever more
 * rarely while there is one that never shows whose it is. */
static void plan_next_look(struct supervisor *s, int64_t now)
{
	int64_t soon = s->children < 0 ? WALK_US : UNKNOWN_SOON_US;

	if (s->unknown_us == 0)
		s->unknown_us = now;
	s->orphans_at = now + earlier(later(now - s->unknown_us, soon), UNKNOWN_LATE_US);
}

void orphans_kill(struct supervisor *s)
{
	int64_t now = jobstack_now_us(), until = now + JS_SECOND_US;
	pid_t pids[SLOTS_MAX * 4];
	size_t n, found, unknown;

	s->orphans_us = now;
	s->orphans_at = 0;
	do { /* children of an orphan become our children when it is gone: until there are none */
		found = unknown = 0;
		n = js_tree_children(s->children, pids, sizeof(pids) / sizeof(pids[0]));
		for (size_t i = 0; i < n; i++) {
			int running = belongs_to_running_command(s, pids[i]);

			if (running == 0 || (running < 0 && is_older_than_commands(s, pids[i])))
				found += (size_t)kill_orphan(pids[i], until);
			else if (running < 0)
				unknown += waitpid(pids[i], NULL, WNOHANG) == 0;
		}
	} while (found > 0 && jobstack_now_us() < until);
	if (unknown > 0)
		plan_next_look(s, now);
	else
		s->unknown_us = 0;
}

void orphans_kill_of(struct supervisor *s, struct slot *slot)
{
	int64_t now = jobstack_now_us();
	pid_t saved = slot->pid;

	if (slot->persistent == NULL && s->children < 0 && now - slot->started_us < LONG_US &&
	    now - s->orphans_us < WALK_US) {
		s->orphans_at = s->orphans_us + WALK_US;
		return;
	}
	slot->pid = 0;
	orphans_kill(s);
	slot->pid = saved;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What commands left behind.  Promises: nothing of a command that runs is ended; where none runs nothing is left.
 */
#define _GNU_SOURCE
#include "worker/orphans.h"

#include "base/clock.h"
#include "run/tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define WALK_US (JS_SECOND_US / 2)  /* where looking costs a walk through /proc: at most so often... */
#define LONG_US (JS_SECOND_US / 10) /* ... or behind commands that took so long */

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

/* Does the process PID, a child of ours that we did not start, belong to a command that has ended?  IDLE: none runs. */
static int is_orphan(const struct orphans *o, pid_t pid, int idle)
{
	uint64_t worker, entry, slot;
	uint32_t attempt;

	for (size_t i = 0; i < o->slots_n; i++)
		if (slot_process(&o->slots[i]) == pid)
			return 0;
	if (o->all->config->persistent)
		return js_tree_slot(pid, &worker, &slot) != 0 || worker != o->all->worker || slot < 1 || slot > o->slots_n
			       ? idle
			       : slot_process(&o->slots[slot - 1]) == 0;
	if (js_tree_entry(pid, &worker, &entry, &attempt) != 0 || worker != o->all->worker)
		return idle; /* it can't be told whose it is; nobody's who runs, if nobody runs */
	for (size_t i = 0; i < o->slots_n; i++)
		if (o->slots[i].pid != 0 && o->slots[i].entry->entry == entry && o->slots[i].entry->attempt == attempt)
			return 0;
	return 1;
}

void orphans_kill(struct orphans *o)
{
	int64_t now = jobstack_now_us(), until = now + JS_SECOND_US;
	pid_t pids[SLOTS_MAX * 4];
	size_t n, found;
	int idle = 1;

	o->looked_us = now;
	o->at_us = 0;
	for (size_t i = 0; i < o->slots_n; i++)
		idle &= slot_process(&o->slots[i]) == 0;
	do { /* what they started becomes our child when they are gone: until there is none */
		found = 0;
		n = js_tree_children(o->children, pids, sizeof(pids) / sizeof(pids[0]));
		for (size_t i = 0; i < n; i++) {
			if (!is_orphan(o, pids[i], idle) || kill(pids[i], SIGKILL) != 0)
				continue;
			found++;
			while (waitpid(pids[i], NULL, WNOHANG) == 0 && jobstack_now_us() < until)
				js_clock_nap(JS_SECOND_US / 2000, NULL);
		}
	} while (found > 0 && jobstack_now_us() < until);
}

void orphans_kill_of(struct orphans *o, struct slot *slot)
{
	pid_t saved = slot->pid;
	int64_t now = jobstack_now_us();

	if (slot->persistent == NULL && o->children < 0 && now - slot->started_us < LONG_US && now - o->looked_us < WALK_US) {
		o->at_us = o->looked_us + WALK_US;
		return;
	}
	slot->pid = 0;
	orphans_kill(o);
	slot->pid = saved;
}

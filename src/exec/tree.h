/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes by their parents: what a command started and left behind.  A process that left its command's group (setsid,
 * a daemon) is still a descendant; once its parent has ended it becomes a child of the nearest subreaper above
 * (js_tree_adopt), which is how it is found.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Has orphans below this process become its children.  Returns 0, or -1 with errno. */
int js_tree_adopt(void);

/* Opens the kernel's own list of the first thread's children, to be read again and again; -1: it keeps none (or /proc
 * is hidden), and each look costs a walk through all of /proc.  The caller closes it. */
int js_tree_open(void);

/* Puts the children of this process into PIDS, at most MAX; dead ones that nobody has collected may be among them.
 * Returns how many.  LIST is what js_tree_open gave.  Orphans become children of the first thread; what other threads
 * have started is only found where LIST is -1. */
size_t js_tree_children(int list, pid_t *pids, size_t max);

/* Sends KILL to every descendant of ROOT (not to ROOT) that has not ended.  Returns how many there were: call again
 * until it is 0, since what they start meanwhile is not seen.  STILL (may be NULL) is asked before each, with CTX: 0
 * spares the rest. */
typedef int js_tree_still_fn(const void *ctx);
size_t js_tree_kill(pid_t root, js_tree_still_fn *still, const void *ctx);

/* Finds out to whose command the process PID belongs, by the environment that it was started with.  Returns 0, and the
 * numbers of worker, entry and attempt; or -1 if that can't be seen (it is gone, somebody else's, or has no such
 * environment). */
int js_tree_entry(pid_t pid, uint64_t *worker, uint64_t *entry, uint32_t *attempt);

/* Does the same for a persistent command, which has no entry of its own: gives the numbers of worker and slot. */
int js_tree_slot(pid_t pid, uint64_t *worker, uint64_t *slot);

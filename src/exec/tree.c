/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes by their parents, from /proc.  Promise: only descendants are ever signalled, each within microseconds of
 * having been seen as one.
 */
#include "exec/tree.h"

#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int js_tree_adopt(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int js_tree_open(void)
{
	char path[64];

	/* of the first thread: the kernel gives orphans to it, whichever thread has started their command */
	(void)snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Adds all processes that have not ended to ALL; without memory, some of them. */
static void read_processes(struct js_proc_set *all)
{
	struct js_proc_walk walk;
	struct js_proc proc;
	pid_t pid;

	if (js_proc_walk_begin(&walk, 0) != 0)
		return;
	while ((pid = js_proc_walk_next(&walk)) != 0)
		if (js_proc_read(pid, &proc) == 0 && !proc.zombie && js_proc_set_add(all, pid, proc.parent, 0) != 0)
			break;
	js_proc_walk_end(&walk);
}

/* Reads the numbers in the kernel's list, each with a space after it.  A read may end inside of a number: what is left
 * of it is moved to the beginning of TEXT, and the next read goes behind it. */
static size_t read_list(int list, pid_t *pids, size_t max)
{
	char text[1024];
	size_t n = 0, kept = 0;
	off_t at = 0;
	ssize_t got;

	while ((got = pread(list, text + kept, sizeof(text) - kept, at)) > 0 || (got < 0 && errno == EINTR)) {
		char *p = text, *space;

		if (got < 0)
			continue;
		at += (off_t)got;
		kept += (size_t)got;
		for (; n < max && (space = memchr(p, ' ', kept)) != NULL; p = space + 1) {
			*space = '\0';
			pids[n++] = (pid_t)strtol(p, NULL, 10);
			kept -= (size_t)(space + 1 - p);
		}
		if (n == max)
			break;
		memmove(text, p, kept);
	}
	return n;
}

size_t js_tree_children(int list, pid_t *pids, size_t max)
{
	struct js_proc_set all = {NULL, 0, 0};
	pid_t me = getpid();
	size_t n = 0;

	if (list >= 0)
		return read_list(list, pids, max);
	read_processes(&all);
	for (size_t i = 0; i < all.n && n < max; i++)
		if (all.at[i].parent == me)
			pids[n++] = all.at[i].pid;
	js_proc_set_free(&all);
	return n;
}

/* All of /proc is read first, and then the kills follow one another.  STILL is asked before each of them, since reading
 * takes long, and what was a reason to kill may be none any more. */
size_t js_tree_kill(pid_t root, js_tree_still_fn *still, const void *ctx)
{
	struct js_proc_set all = {NULL, 0, 0};
	size_t n = 0;

	(void)js_proc_set_add(&all, root, 0, 1);
	read_processes(&all);
	js_proc_set_mark_below(&all);
	for (size_t i = 0; i < all.n && (still == NULL || still(ctx)); i++)
		if (all.at[i].marked && all.at[i].pid != root) {
			n++;
			(void)kill(all.at[i].pid, SIGKILL);
		}
	js_proc_set_free(&all);
	return n;
}

/* Returns whether the environment that PID was started with has all three variables of NAMES; their NUMBERS. */
static int read_numbers(pid_t pid, const char *const names[3], uint64_t *const numbers[3])
{
	struct js_buf env = {0};
	int found = js_proc_environ(pid, &env) == 0;

	for (int i = 0; i < 3 && found; i++) {
		const char *value = js_proc_variable(&env, names[i]);

		found = value != NULL;
		*numbers[i] = found ? strtoull(value, NULL, 10) : 0;
	}
	js_buf_free(&env);
	return found;
}

int js_tree_entry(pid_t pid, uint64_t *worker, uint64_t *entry, uint32_t *attempt)
{
	static const char *const names[3] = {"JOBSTACK_WORKER", "JOBSTACK_ENTRY", "JOBSTACK_ATTEMPT"};
	uint64_t number = 0;
	int found = read_numbers(pid, names, (uint64_t *const[3]){worker, entry, &number});

	*attempt = (uint32_t)number;
	return found ? 0 : -1;
}

int js_tree_slot(pid_t pid, uint64_t *worker, uint64_t *slot)
{
	static const char *const names[3] = {"JOBSTACK_WORKER", "JOBSTACK_SLOT", "JOBSTACK_PERSISTENT"};
	uint64_t protocol;

	return read_numbers(pid, names, (uint64_t *const[3]){worker, slot, &protocol}) ? 0 : -1;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Processes by their parents, from /proc.  Promise: only descendants are ever signalled, each within microseconds of
 * having been seen as one.
 */
#define _GNU_SOURCE
#include "run/tree.h"

#include "base/buf.h"
#include "base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SKIP_17                                                                                                        \
	" %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s " /* proc(5): from pgrp to itrealvalue   \
										 */

struct process {
	pid_t pid, parent;
	int below; /* of the root that is asked about */
};

struct processes {
	struct process *at;
	size_t n, room;
};

int js_tree_adopt(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int js_tree_open(void)
{
	char path[64];

	/* of the first thread: the kernel gives orphans to it, whichever thread has started what they come from */
	(void)snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The parent, the state and the start of a process, from its stat file.  0, or -1 if it is gone. */
static int read_stat(const char *pid, pid_t *parent, char *state, uint64_t *started)
{
	char path[300], text[512], *after;
	long number;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.200s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	after = strrchr(text, ')'); /* the name may hold anything */
	if (after == NULL || sscanf(after + 1, " %c %ld" SKIP_17 "%" SCNu64, state, &number, started) != 3)
		return -1;
	*parent = (pid_t)number;
	return 0;
}

/* All processes that have not ended. */
static void read_all(struct processes *all)
{
	DIR *proc = opendir("/proc");
	const struct dirent *d;

	while (proc != NULL && (d = readdir(proc)) != NULL) {
		uint64_t started;
		pid_t parent;
		char state;

		if (!isdigit((unsigned char)d->d_name[0]) || read_stat(d->d_name, &parent, &state, &started) != 0 ||
		    state == 'Z' || state == 'X')
			continue;
		if (all->n == all->room) {
			size_t room = all->room == 0 ? 256 : 2 * all->room;
			struct process *grown = realloc(all->at, room * sizeof(*grown));

			if (grown == NULL)
				break;
			all->at = grown;
			all->room = room;
		}
		all->at[all->n++] = (struct process){(pid_t)strtol(d->d_name, NULL, 10), parent, 0};
	}
	if (proc != NULL)
		(void)closedir(proc);
}

/* The numbers in the kernel's list, each with a space behind it; a read may end inside of one. */
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
	struct processes all = {NULL, 0, 0};
	pid_t me = getpid();
	size_t n = 0;

	if (list >= 0)
		return read_list(list, pids, max);
	read_all(&all);
	for (size_t i = 0; i < all.n && n < max; i++)
		if (all.at[i].parent == me)
			pids[n++] = all.at[i].pid;
	free(all.at);
	return n;
}

/* Marks what is below ROOT.  Numbers wrap around, so that a child may come before its parent: again until nothing
 * changes. */
static void mark(struct processes *all, pid_t root)
{
	for (int changed = 1; changed;) {
		changed = 0;
		for (size_t i = 0; i < all->n; i++) {
			struct process *p = &all->at[i];
			int below = p->parent == root;

			for (size_t j = 0; !below && !p->below && j < all->n; j++)
				below = all->at[j].below && all->at[j].pid == p->parent;
			if (below && !p->below)
				changed = p->below = 1;
		}
	}
}

size_t js_tree_kill(pid_t root, js_tree_still_fn *still, const void *ctx)
{
	struct processes all = {NULL, 0, 0};
	size_t n = 0;

	read_all(&all);
	mark(&all, root);
	for (size_t i = 0; i < all.n && (still == NULL || still(ctx)); i++)
		if (all.at[i].below && all.at[i].pid != root) {
			n++;
			(void)kill(all.at[i].pid, SIGKILL);
		}
	free(all.at);
	return n;
}

uint64_t js_tree_started(pid_t pid)
{
	uint64_t started;
	char name[32];
	pid_t parent;
	char state;

	(void)snprintf(name, sizeof(name), "%ld", (long)pid);
	return read_stat(name, &parent, &state, &started) == 0 ? started : 0;
}

/* The number behind NAME in VARIABLE; 1 if it is that variable. */
static int take_number(const char *variable, const char *name, uint64_t *number)
{
	size_t len = strlen(name);

	if (strncmp(variable, name, len) != 0)
		return 0;
	*number = strtoull(variable + len, NULL, 10);
	return 1;
}

/* Whether the environment that PID was started with has all three variables of NAMES ("NAME="); their NUMBERS. */
static int read_numbers(pid_t pid, const char *const names[3], uint64_t *const numbers[3])
{
	struct js_buf env = {0};
	char path[64];
	int found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
	if (js_file_read(path, &env) == 0)
		for (const char *p = env.data; p != NULL && p < env.data + env.len; p += strlen(p) + 1)
			for (int i = 0; i < 3; i++)
				found |= take_number(p, names[i], numbers[i]) << i;
	js_buf_free(&env);
	return found == 7;
}

int js_tree_entry(pid_t pid, uint64_t *worker, uint64_t *entry, uint32_t *attempt)
{
	static const char *const names[3] = {"JOBSTACK_WORKER=", "JOBSTACK_ENTRY=", "JOBSTACK_ATTEMPT="};
	uint64_t number = 0;
	int found = read_numbers(pid, names, (uint64_t *const[3]){worker, entry, &number});

	*attempt = (uint32_t)number;
	return found ? 0 : -1;
}

int js_tree_slot(pid_t pid, uint64_t *worker, uint64_t *slot)
{
	static const char *const names[3] = {"JOBSTACK_WORKER=", "JOBSTACK_SLOT=", "JOBSTACK_PERSISTENT="};
	uint64_t protocol;

	return read_numbers(pid, names, (uint64_t *const[3]){worker, slot, &protocol}) ? 0 : -1;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * /proc.  Promise: what can't be read is said to be unknown, never guessed.
 */
#include "proc/proc.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* for sscanf: passes over nine words */
#define SKIP_9 " %*s %*s %*s %*s %*s %*s %*s %*s %*s"

/* Reads the file NAME of the process.  Returns 0, or -1: the process is gone, or hidden. */
static int read_proc_file(pid_t pid, const char *name, struct js_buf *text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	return js_file_read(path, text);
}

/* The name is in parentheses, and may itself have parentheses, blanks and newlines: what follows the last one is
 * parsed. */
int js_proc_read(pid_t pid, struct js_proc *proc)
{
	uint64_t ticks[4] = {0}, us = (uint64_t)JS_SECOND_US / (uint64_t)sysconf(_SC_CLK_TCK);
	struct js_buf text = {0};
	char *name, *end, state = 'X';
	long parent = 0;
	int fields = 0;

	*proc = (struct js_proc){.pid = pid, .zombie = 1};
	if (read_proc_file(pid, "stat", &text) == 0 && text.data != NULL && (name = strchr(text.data, '(')) != NULL &&
	    (end = strrchr(text.data, ')')) != NULL) { /* the name may hold anything */
		*end = '\0';
		(void)snprintf(proc->name, sizeof(proc->name), "%s", name + 1);
		for (char *p = proc->name; *p != '\0'; p++)
			if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
				*p = '?';
		/* proc(5): from pgrp to cmajflt; priority and nice; itrealvalue */
		fields = sscanf(
			end + 1,
			" %c %ld" SKIP_9 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %*s %*s %ld %*s %" SCNu64,
			&state, &parent, &ticks[0], &ticks[1], &ticks[2], &ticks[3], &proc->threads, &proc->started);
		proc->parent = (pid_t)parent;
		proc->stopped = state == 'T';
		proc->zombie = state == 'Z' || state == 'X';
		proc->user_us = (int64_t)((ticks[0] + ticks[2]) * us);
		proc->system_us = (int64_t)((ticks[1] + ticks[3]) * us);
	}
	js_buf_free(&text);
	return fields == 8 ? 0 : -1;
}

int64_t js_proc_start(pid_t pid)
{
	struct js_proc proc;

	return js_proc_read(pid, &proc) == 0 && !proc.zombie ? (int64_t)proc.started : -1;
}

int js_proc_environ(pid_t pid, struct js_buf *env)
{
	return read_proc_file(pid, "environ", env);
}

/* The first of two variables with the same name counts, as in getenv. */
const char *js_proc_variable(const struct js_buf *env, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = env->data; p != NULL && p < env->data + env->len; p += strlen(p) + 1)
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return p + len + 1;
	return NULL;
}

int64_t js_proc_number(const char *text, const char *key)
{
	size_t len = strlen(key), blanks;

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (*line != *key || strncmp(line, key, len) != 0)
			continue;
		blanks = strspn(line + len, " \t");
		return line[len + blanks] >= '0' && line[len + blanks] <= '9' ? strtoll(line + len, NULL, 10) : -1;
	}
	return -1;
}

uint64_t js_proc_cgroup(pid_t pid)
{
	struct js_buf text = {0};
	uint64_t hash = read_proc_file(pid, "cgroup", &text) == 0 ? js_num_hash(JS_NUM_HASH, text.data, text.len) : 0;

	js_buf_free(&text);
	return hash;
}

void js_proc_boot_id(char text[40])
{
	struct js_buf id = {0};

	text[0] = '\0';
	if (js_file_read("/proc/sys/kernel/random/boot_id", &id) == 0 && id.len >= 36) {
		memcpy(text, id.data, 36);
		text[36] = '\0';
	}
	js_buf_free(&id);
}

/* The first pid namespace always has the same inode, so there the boot alone identifies the process table. */
void js_proc_space(char text[64])
{
	const unsigned long long first = 0xEFFFFFFCull; /* the inode of the first pid namespace */
	struct stat space;
	char boot[40];

	js_proc_boot_id(boot);
	if (stat("/proc/self/ns/pid", &space) == 0 && space.st_ino != first && boot[0] != '\0')
		(void)snprintf(text, 64, "%s/%llu", boot, (unsigned long long)space.st_ino);
	else
		(void)snprintf(text, 64, "%s", boot);
}

/* ------------------------------------------------------------------------------------------------ all processes */

/* hidepid hides other users' processes from /proc, but not from signals.  Process 1 is root's, so it shows whether
 * /proc hides. */
int js_proc_walk_begin(struct js_proc_walk *walk, int hidden)
{
	struct js_buf max = {0};
	uint64_t last;

	*walk = (struct js_proc_walk){.proc = opendir("/proc")};
	if (walk->proc == NULL)
		return -1;
	if (!hidden || access("/proc/1", F_OK) == 0)
		return 0;
	(void)closedir(walk->proc);
	walk->proc = NULL;
	if (js_file_read("/proc/sys/kernel/pid_max", &max) == 0 && max.len > 1)
		max.data[max.len - 1] = '\0';
	walk->last = max.data != NULL && js_num_u64(max.data, 1, INT32_MAX, &last) == 0 ? (pid_t)last : 4194304;
	js_buf_free(&max);
	return 0;
}

/* Where others' processes don't show in /proc, each number is tried with signal 0: EPERM says that there is such a
 * process. tgkill with the number twice finds processes only, since the first thread of a process has its number. */
pid_t js_proc_walk_next(struct js_proc_walk *walk)
{
	const struct dirent *d;
	uint64_t pid;

	while (walk->proc != NULL && (d = readdir(walk->proc)) != NULL)
		if (js_num_u64(d->d_name, 1, INT32_MAX, &pid) == 0)
			return (pid_t)pid;
	while (walk->proc == NULL && walk->at < walk->last) {
		walk->at++;
		if (syscall(SYS_tgkill, walk->at, walk->at, 0) == 0 || errno == EPERM)
			return walk->at;
	}
	return 0;
}

void js_proc_walk_end(struct js_proc_walk *walk)
{
	if (walk->proc != NULL)
		(void)closedir(walk->proc);
}

int js_proc_set_add(struct js_proc_set *set, pid_t pid, pid_t parent, int marked)
{
	if (js_array_grow(&set->at, &set->room, set->n + 1, sizeof(*set->at)) != 0)
		return -1;
	set->at[set->n++] = (struct js_proc_member){pid, parent, marked};
	return 0;
}

/* Numbers wrap around, so a child may come before its parent.  So this repeats until nothing changes. */
void js_proc_set_mark_below(struct js_proc_set *set)
{
	for (int changed = 1; changed;) {
		changed = 0;
		for (size_t i = 0; i < set->n; i++)
			for (size_t j = 0; !set->at[i].marked && j < set->n; j++)
				if (set->at[j].marked && set->at[j].pid == set->at[i].parent)
					set->at[i].marked = changed = 1;
	}
}

void js_proc_set_free(struct js_proc_set *set)
{
	free(set->at);
	*set = (struct js_proc_set){NULL, 0, 0};
}

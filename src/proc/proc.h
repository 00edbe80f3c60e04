/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What /proc says of processes.
 */
#pragma once

#include "base/buf.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process by its stat file. */
struct js_proc {
	pid_t pid, parent;
	uint64_t started; /* in clock ticks since the machine was started; what program it has become changes nothing */
	int zombie;	  /* its first thread has ended */
	int stopped;	  /* by Ctrl-Z, for example */
	long threads;
	int64_t user_us, system_us; /* its time on the CPU, and that of the children that it has waited for */
	char name[32];		    /* in printable characters */
};

/* Reads it.  Returns 0, or -1: the process is gone, or hidden from us. */
int js_proc_read(pid_t pid, struct js_proc *proc);

/* Returns when the process was started, in clock ticks; -1: it is gone, a zombie, or hidden. */
int64_t js_proc_start(pid_t pid);

/* Appends the environment that the process was started with: "NAME=value" and a NUL each.  0, or -1: hidden or gone. */
int js_proc_environ(pid_t pid, struct js_buf *env);

/* Returns the value of NAME in such an environment, or NULL. */
const char *js_proc_variable(const struct js_buf *env, const char *name);

/* Returns the number behind KEY, and blanks, in the line of TEXT that begins with KEY; -1: there is none. */
int64_t js_proc_number(const char *text, const char *key);

/* Returns a number that identifies the cgroup of the process; 0: the process is gone, or hidden. */
uint64_t js_proc_cgroup(pid_t pid);

/* Writes this boot's id into TEXT (37 bytes with the NUL), or "" if the kernel does not say. */
void js_proc_boot_id(char text[40]);

/* Identifies the process table to which the pids of this process belong, in TEXT: by the boot's id, and in a pid
 * namespace of its own by that as well; "" if the kernel does not say. */
void js_proc_space(char text[64]);

/* A walk through all process numbers; threads are left out. */
struct js_proc_walk {
	DIR *proc; /* NULL: others' processes don't show in /proc (hidepid), and each number is tried */
	pid_t at, last;
};

/* Returns 0, or -1: there is no /proc.  HIDDEN: find also those that don't show there, which takes longer. */
int js_proc_walk_begin(struct js_proc_walk *walk, int hidden);
pid_t js_proc_walk_next(struct js_proc_walk *walk); /* 0: that was the last */
void js_proc_walk_end(struct js_proc_walk *walk);

/* Processes, and which of them are MARKED. */
struct js_proc_set {
	struct js_proc_member {
		pid_t pid, parent;
		int marked;
	} * at;
	size_t n, room;
};

/* Adds a process; returns -1 without memory.  Marks all descendants of marked processes.  Frees the set. */
int js_proc_set_add(struct js_proc_set *set, pid_t pid, pid_t parent, int marked);
void js_proc_set_mark_below(struct js_proc_set *set);
void js_proc_set_free(struct js_proc_set *set);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Collects commands that have ended: how, and what they used.  The process must not ignore SIGCHLD (it may have
 * inherited that): the kernel would collect its children itself.
 */
#pragma once

#include "base/attempt.h"

#include <stdint.h>
#include <sys/types.h>

struct js_reaped {
	pid_t pid;
	int exit_code;	  /* -1: it did not exit */
	int signal;	  /* that ended it, or 0 */
	int64_t ended_us; /* the moment its end was seen */
	/* Usage of the command and of all its descendants that were waited for; -1 where it is not known.  The
	 * memory is the peak of the largest single process, and never less than this process's own peak: the
	 * kernel counts the moment between start and exec, which happens in our memory. */
#define JS_REAPED_USAGE(member, ...) int64_t member;
	JS_ATTEMPT_USAGE(JS_REAPED_USAGE)
};

/* Sets all usage to "not known". */
void js_reap_unmeasured(struct js_reaped *reaped);

/* Collects one child of this process that has ended, whichever it is: the caller looks up the pid, and ignores one
 * that it does not know.  What is left of a command's process group gets KILL first, while the number can't belong
 * to others yet.  The group of another child is left alone: it may be a daemon whose parent has ended.  Never waits.
 * Returns 0 with *REAPED filled; 1 if no child has ended, or there is none. */
int js_reap_next(struct js_reaped *reaped);

/* Does the same for the child PID: for use while another thread is starting a child, whose number nobody knows yet. */
int js_reap_one(pid_t pid, struct js_reaped *reaped);

/* Notes that the child PID is a command, and opens what counts the bytes that it reads and writes, to be read when it
 * has ended: a user who is not root can't open it any more then.  js_spawn_start calls this. */
void js_reap_watch(pid_t pid);

/* Out of memory: the kernel counts the processes that it has killed in this process's cgroup (v2 or v1).  The counter
 * is read only in the calls below. */
struct js_reap_oom {
	char *file;	/* the counter; NULL: it can't be read */
	uint64_t seen;	/* its value at the last look */
	uint64_t spare; /* kills counted but not yet attributed, and when they were seen */
	int64_t spare_us;
};

/* Finds the counter through the directory PROC ("/proc/self") and takes its present value.  Never fails: without a
 * counter nothing is ever said to be out of memory.  Free with js_reap_oom_end. */
void js_reap_oom_begin(struct js_reap_oom *oom, const char *proc);
void js_reap_oom_end(struct js_reap_oom *oom);

/* Takes the counter's present value: what was killed up to now is not asked about any more. */
void js_reap_oom_look(struct js_reap_oom *oom);

/* Returns whether the command was probably killed because memory ran out.  To be asked, once per command, of those that
 * ended by SIGKILL, or with exit status 137 (a shell reports a killed child so), if the caller has not sent that KILL
 * itself.  It reads the counter, and returns 1 if that rose since the last look. */
int js_reap_was_oom(struct js_reap_oom *oom, const struct js_reaped *reaped);

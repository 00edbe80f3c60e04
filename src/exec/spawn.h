/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Starts commands, cheaply: without copying this process (vfork).  A command has /dev/null as its standard input (or
 * what it is given as such), a process group of its own whose number is its pid, no signal blocked, those that were
 * ignored when js_spawn_new was called (nohup; not TERM) ignored and all others at their defaults.  Above 2 it has the
 * descriptors that this process had without close-on-exec when js_spawn_new was called, and no other.  Should this
 * process be killed, the kernel kills the command (not what that has started itself).
 *
 * One thread may start and collect commands (exec/reap.h): the same, and it must not end before they do.
 */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "jobstack/jobstack.h"

#include <sys/types.h>

/* Finds PROGRAM as execvp does: a name with a slash as it is, another in the directories of SEARCH ($PATH; NULL:
 * /bin and /usr/bin), and puts its path into FOUND (emptied first).  Returns 0, or JOBSTACK_EFILE with the reason
 * in words and in errno: ENOENT (and ENOTDIR, ELOOP, ENAMETOOLONG) not found, EACCES not executable, EISDIR a
 * directory. */
int js_spawn_resolve(const char *program, const char *search, struct js_buf *found, struct jobstack_error *error);

struct js_spawn;

/* Prepares to start commands.  SEARCH ($PATH, or NULL) is copied.  Free with js_spawn_free. */
int js_spawn_new(struct js_spawn **made, const char *search, struct jobstack_error *error);
void js_spawn_free(struct js_spawn *spawn);

/* Finds out which signals this process ignores or handles by its own will: a command gets these at their defaults.
 * js_spawn_new does so, too.  Must be called again when this process has changed one. */
void js_spawn_look_signals(struct js_spawn *spawn);

/* Has what this thread starts from now on start only while BOUND holds, as read by the child directly before its exec;
 * else js_spawn_start gives -ETIME.  BOUND stays the caller's, who may change it between two starts.  NULL: no bound.
 */
void js_spawn_bind(const struct js_clock_bound *bound);

/* Starts ARGV with the environment ENVP, its standard output and error going to the descriptors OUT and ERR (which
 * may be the same, and stay open here).  PATH is the program's file as js_spawn_resolve gave it; NULL: argv[0] is
 * looked for now.  A file that is executable but neither a binary nor begins with #! is run by /bin/sh, as execvp
 * does.
 *
 * Returns the pid, or a negative errno, and then there is no child: the program was never run, so this is no exit
 * status of its own (a command that exits with 127 by itself is told apart).  js_spawn_is_command sorts them. */
pid_t js_spawn_start(struct js_spawn *spawn, const char *path, char *const argv[], char *const envp[], int out,
		     int err);

/* Does the same with the descriptor IN as its standard input.  (So many parameters: a program and its three files.) */
pid_t js_spawn_start_fed(struct js_spawn *spawn, const char *path, char *const argv[], char *const envp[], int in,
			 int out, int err);

/* For a start that hangs (its program lies on a file system that does not answer) and must come to nothing.  What this
 * thread starts after js_spawn_use_stop goes by STOP, which was zeroed, until another is given; js_spawn_cancel, called
 * by another thread, sees to it that no program runs that goes by it: a start that is under way is killed before its
 * program's first instruction, a later one fails with ECANCELED.  A program that was started, and runs, is killed too.
 */
struct js_spawn_stop {
	_Atomic int stopped; /* nothing may start any more */
	_Atomic pid_t born;  /* the process that is being started; 0: none */
	int64_t by_us;	     /* the caller's: a start from this moment on fails with ETIME; 0: there is none */
};
/* Returns whether it is too late by STOP.  Safe in a child of vfork. */
int js_spawn_is_late(const struct js_spawn_stop *stop);
void js_spawn_use_stop(struct js_spawn_stop *stop);
void js_spawn_cancel(struct js_spawn_stop *stop);

/* Returns whether the errno ERR (positive) of a failed start lies in the command (not found, not executable, not a
 * program), as opposed to this machine being short of something (EAGAIN, ENOMEM, EMFILE...) or the arguments being
 * too long (E2BIG). */
int js_spawn_is_command(int err);

/* Fills ERROR with "can't run PROGRAM: ..." for the errno ERR (positive).  Returns JOBSTACK_EFILE. */
int js_spawn_error(const char *program, int err, struct jobstack_error *error);

/* Sends SIGNAL to the process group of the command PID.  Nobody there any more is fine.  Returns 0 or a negative
 * errno. */
int js_spawn_kill(pid_t pid, int signal);

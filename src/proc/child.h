/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The one runner of child processes: programs run to their end, programs that stay, and functions of ours that need a
 * process of their own.  (A worker starts its commands with exec/spawn.h, which never copies the process.)
 *
 * A program starts with no signal blocked and with default actions, except for the signals that stay ignored.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stdint.h>
#include <sys/types.h>

/* Which process group it gets: its own, its own in a session of its own, or ours (Ctrl-C reaches it). */
enum js_child_group { JS_CHILD_GROUP, JS_CHILD_SESSION, JS_CHILD_OURS };

/* Which signals stay ignored if we ignore them: all but PIPE and CHLD, only HUP and INT (nohup), or none. */
enum js_child_ignored { JS_CHILD_IGNORED_ALL, JS_CHILD_IGNORED_NOHUP, JS_CHILD_IGNORED_NONE };

/* What to run.  Members that are 0 or NULL have the default. */
struct js_child {
	const char *const *argv; /* the program (looked for in $PATH unless it has a slash); NULL: only ENTER is run */
	char *const *env;	 /* NULL: ours */
	const struct js_buf *input; /* js_child_run: its standard input; NULL: /dev/null */
	int out, err, extra;	    /* descriptors for 1, 2 (0: ours) and 3 (0: not open) */
	int shut_others;	    /* no other descriptor of ours is open in it */
	int death_signal;	    /* sent to it when we die; 0: no signal */
	int64_t patience_us;	    /* how long to try again if no process can be created */
	const volatile int *stop;   /* not 0: give up; NULL: never */
	enum js_child_group group;
	enum js_child_ignored ignored;
	/* What the child does before it executes the program.  NULL: go on; else the name of what failed, with errno.
	 */
	const char *(*enter)(const void *arg);
	const void *arg;
};

/* Starts it.  Returns its process number, for waitpid, or a negative code, and then there is no child: EMISSING no such
 * program, EBUG the machine has no process for us, EFILE any other reason; with errno. */
pid_t js_child_start(const struct js_child *child, struct jobstack_error *error);

/* Runs it to its end, and appends what it prints to OUT and ERR (the same: in its order; NULL: child->out and
 * child->err), of each at most 4 MiB.  Its group, which must not be ours, gets TERM after LIMIT_US (0: none) or at
 * STOP, and KILL two seconds later.  Gives its wait status in *STATUS.  Returns 0, or a code as above; EFILE also when
 * the time was up; ESTOPPED.
 */
int js_child_run(const struct js_child *child, struct js_buf *out, struct js_buf *err, int64_t limit_us, int *status,
		 struct jobstack_error *error);

/* Waits for the end of PID, whatever signals come.  Returns its wait status, or -1. */
int js_child_wait(pid_t pid);

/* Closes the descriptors from FIRST on, or marks them close-on-exec (AT_EXEC), but for those in KEPT: ascending, and
 * ended by INT_MAX; NULL: none.  Makes system calls only, so it may be called between vfork and exec. */
void js_child_shut(int first, const int *kept, int at_exec);

/* Puts into FILE the path of NAME in the first directory of the search path *SEARCH, and moves *SEARCH on.  Returns 0
 * after the last one (*SEARCH is NULL then), -1 without memory. */
int js_child_next_path(const char **search, const char *name, struct js_buf *file);

/* Returns whether NAME is an executable file in $PATH. */
int js_child_is_in_path(const char *name);

/* Returns the directory of this program's file, without a slash at the end; "" if it is not known.  Valid until the
 * next call.
 */
const char *js_child_program_dir(void);

/* Returns the directory NAME of jobstack's data: beside this program (../share/jobstack), else where it was to be
 * INSTALLED, else the SOURCE's.  Valid until the next call. */
const char *js_child_data_dir(const char *name, const char *installed, const char *source);

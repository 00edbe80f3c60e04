/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The programs that this room runs: openssl and the installer, to their end; the server, to stay.
 *
 * Each starts with default signals, no descriptor but 0 to 2, a file mask of 077 and, if wanted, as another user.
 */
#ifndef JS_SERVER_CHILD_H
#define JS_SERVER_CHILD_H

#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stdint.h>
#include <sys/types.h>

/* A user. */
struct js_who {
	int change; /* we are root, and it is somebody else */
	uid_t uid;
	gid_t gid;
	char name[64];
};

void js_child_self(struct js_who *who);
/* By name, by number; root is refused (EUSAGE). */
int js_child_user(const char *name, struct js_who *who, struct jobstack_error *error);
int js_child_uid(uid_t uid, struct js_who *who, struct jobstack_error *error);

/* Runs FN as WHO in a process of its own; its result (0 to 255), or -1. */
int js_child_call(const struct js_who *who, int (*fn)(const void *arg), const void *arg);

/* 0 if WHO may enter the directory and write in it. */
int js_child_access(const struct js_who *who, const char *dir);

/* A program to run. */
struct js_child {
	const char *const *argv; /* argv[0] is the program's path */
	char *const *env;
	const struct js_who *who; /* NULL: as we are */
	const char *dir;	  /* its working directory; NULL: the root */
	int raise_files;	  /* as many open files as this and the hard limit allow; 0: as it is */
	int die_with_us;	  /* it gets SIGTERM when we are gone */
};

/* ENV without the variables by which MySQL's programs take options or secrets, and without the service manager's, plus
 * EXTRA (may be NULL).  Free the array alone; NULL without memory. */
char **js_child_env(char *const *env, const char *extra);

/* Runs it to its end, at most LIMIT_US; gives its wait status, and appends what it printed to OUTPUT.  Killed with its
 * whole session when the time is up or *STOP is set (ESTOPPED).  EFILE if it can't be run. */
int js_child_run(const struct js_child *child, int64_t limit_us, const volatile int *stop, struct js_buf *output,
		 int *status, struct jobstack_error *error);

/* A program that waits at its gate, not yet executed. */
struct js_child_gate {
	pid_t pid;
	int go, failed; /* descriptors */
};

/* Makes the process, in a session of its own, its output going to OUT.  It goes no further before js_child_go, and ends
 * by itself if we die before. */
int js_child_prepare(const struct js_child *child, int out, struct js_child_gate *gate, struct jobstack_error *error);

/* Lets it execute the program; EFILE, with the reason, if that fails (it has been reaped then). */
int js_child_go(struct js_child_gate *gate, const char *program, struct jobstack_error *error);

/* Turns it away: it ends without having executed anything. */
void js_child_turn_away(struct js_child_gate *gate);

#endif

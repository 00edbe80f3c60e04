/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The user that the server runs as, and the programs that are run as this user: openssl and the installer, to their
 * end; the server, to stay.
 *
 * Each starts with default signals, no descriptor but 0 to 2, in a session of its own, and with a file mask of 077.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"
#include "process/child.h"

#include <stdint.h>
#include <sys/types.h>

/* A user. */
struct js_who {
	int change; /* we are root, and it is somebody else */
	uid_t uid;
	gid_t gid;
	char name[64];
};

void js_who_self(struct js_who *who);
/* By name, by number; root is refused (EUSAGE). */
int js_who_named(const char *name, struct js_who *who, struct jobstack_error *error);
int js_who_numbered(uid_t uid, struct js_who *who, struct jobstack_error *error);

/* Runs FN as WHO in a process of its own; its result (0 to 255), or -1. */
int js_who_call(const struct js_who *who, int (*fn)(const void *arg), const void *arg);

/* A program to run. */
struct js_task {
	const char *const *argv; /* argv[0] is the program's path */
	char *const *env;
	const struct js_who *who; /* NULL: as we are */
	const char *dir;	  /* its working directory; NULL: the root */
	int raise_files;	  /* as many open files as this and the hard limit allow; 0: as it is */
	int die_with_us;	  /* it gets SIGTERM when we are gone */
	/* What its process does first, still as ourselves and with our descriptors open; 0, or it is not executed. */
	int (*before)(const void *arg);
	const void *arg;
};

/* ENV without the variables by which MySQL's programs take options or secrets, and without the service manager's, plus
 * EXTRA (may be NULL).  Free the array alone; NULL without memory. */
char **js_task_env(char *const *env, const char *extra);

/* js_child_run for a task, its output and errors going to OUTPUT. */
int js_task_run(const struct js_task *task, int64_t limit_us, const volatile int *stop, struct js_buf *output,
		int *status, struct jobstack_error *error);

/* js_child_start for a task, its output and errors going to the descriptor OUT. */
pid_t js_task_start(const struct js_task *task, int out, struct jobstack_error *error);

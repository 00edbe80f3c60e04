/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The user that the server runs as, and the programs that we run: openssl and the installer until they end, the server
 * in the background.
 *
 * Each starts with default signals, only the descriptors 0 to 2, in a new session, and with the file mask 077.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"
#include "process/child.h"

#include <stdint.h>
#include <sys/types.h>

/* A user. */
struct js_who {
	int change; /* it is not the user that we run as */
	uid_t uid;
	gid_t gid;
	char name[64];
};

void js_who_self(struct js_who *who);
/* By name (EUSAGE for root), and by number. */
int js_who_named(const char *name, struct js_who *who, struct jobstack_error *error);
int js_who_numbered(uid_t uid, struct js_who *who, struct jobstack_error *error);

/* Runs FN as WHO in a new process.  Returns its result (0 to 255), or -1. */
int js_who_call(const struct js_who *who, int (*fn)(const void *arg), const void *arg);

/* A program to run. */
struct js_task {
	const char *const *argv; /* argv[0] is the program's path */
	char *const *env;
	const struct js_who *who; /* NULL: as we are */
	const char *dir;	  /* its working directory; NULL: the root */
	int raise_files;	  /* raise the limit of open files to this, or to the hard limit; 0: do not */
	int die_with_us;	  /* it gets SIGTERM when we are gone */
	/* What its process does first, as ourselves and with our descriptors still open.  Not 0: the program is not
	 * executed. */
	int (*before)(const void *arg);
	const void *arg;
};

/* A copy of ENV without the variables of MySQL's programs (options, secrets) and of the service manager, plus EXTRA
 * (may be NULL).  Free only the array.  NULL without memory. */
char **js_task_env(char *const *env, const char *extra);

/* js_child_run for a task, its output and errors going to OUTPUT. */
int js_task_run(const struct js_task *task, int64_t limit_us, const volatile int *stop, struct js_buf *output,
		int *status, struct jobstack_error *error);

/* js_child_start for a task, its output and errors going to the descriptor OUT. */
pid_t js_task_start(const struct js_task *task, int out, struct jobstack_error *error);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The user that the server runs as.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "proc/child.h"

#include <sys/types.h>

struct js_who {
	int change; /* it is not the user that we run as */
	uid_t uid;
	gid_t gid;
	char name[64];
};

void js_who_self(struct js_who *who);
/* The user of that name (EUSAGE for root), and the one with that number. */
int js_who_named(const char *name, struct js_who *who, struct jobstack_error *error);
int js_who_numbered(uid_t uid, struct js_who *who, struct jobstack_error *error);

/* Runs FN as WHO in a new process.  Returns its result (0 to 255), or -1. */
int js_who_call(const struct js_who *who, int (*fn)(const void *arg), const void *arg);

/* In a child, before it executes a program: changes to WHO for ever, to the directory DIR (NULL: the root) and to the
 * file mask 077, and removes the variables of MySQL's programs (options, secrets) and of the service manager.  Returns
 * NULL, or the name of what failed, with errno. */
const char *js_who_enter(const struct js_who *who, const char *dir);

/* How a program of ours starts: with default signals, only the descriptors 0 to 2, and in a new session.  So a server
 * inherits neither a lock, nor a pipe whose reader waits for its end. */
#define JS_WHO_CHILD .shut_others = 1, .group = JS_CHILD_SESSION, .ignored = JS_CHILD_IGNORED_NONE

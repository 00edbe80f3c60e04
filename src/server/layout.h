/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where a private server keeps what: the paths below its directory, who may enter there, and the lock that lets one
 * start or stop go at a time.
 *
 *     DIR/jobstack.lock   the lock; also the sign that DIR is ours
 *     DIR/data            the server's data (the server's user's)
 *     DIR/run             its socket and temporary tables (the server's user's)
 *     DIR/tls             CA, server certificate, keys
 *     DIR/owner           which process on which host serves DIR now; gone after a clean stop
 *     DIR/port            the port that was chosen
 *     DIR/password        the password of the database user jobstack
 *     DIR/my.cnf init.sql root.cnf error.log
 *
 * Started by root, DIR is root's and can only be passed through; what the server's user may write lies below data and
 * run alone, so that nothing root does here follows a link that this user has laid.
 */
#pragma once

#include "base/log.h"
#include "jobstack/jobstack.h"
#include "server/who.h"

#include <stdint.h>

#define JS_LAYOUT_PATH 4096
#define JS_LAYOUT_DIR_MAX 3900 /* leaves room for the names below it */

struct js_layout {
	char dir[JS_LAYOUT_PATH];
	char lock[JS_LAYOUT_PATH], data[JS_LAYOUT_PATH], run[JS_LAYOUT_PATH], tls[JS_LAYOUT_PATH];
	char owner[JS_LAYOUT_PATH], port[JS_LAYOUT_PATH], password[JS_LAYOUT_PATH];
	char config[JS_LAYOUT_PATH], init[JS_LAYOUT_PATH], root[JS_LAYOUT_PATH], log[JS_LAYOUT_PATH];
	char ca[JS_LAYOUT_PATH], ca_key[JS_LAYOUT_PATH], cert[JS_LAYOUT_PATH], key[JS_LAYOUT_PATH];
	char names[JS_LAYOUT_PATH]; /* those in the certificate */
};

/* What the steps of a start work with. */
struct js_work {
	struct js_layout layout;
	struct js_who who;  /* whom the server runs as */
	char **env;	    /* for the programs it runs */
	const char *search; /* where those are looked for, as $PATH, or NULL */
	const struct js_log *log;
	const volatile int *stop;
};

/* Writes DIR "/" NAME into OUT.  The caller has seen to it that it fits (js_layout_set bounds DIR); else it is cut. */
void js_layout_join(char out[JS_LAYOUT_PATH], const char *dir, const char *name);

/* Makes PATH absolute, by the working directory.  Refuses what is too long or has control characters (EUSAGE). */
int js_layout_absolute(char out[JS_LAYOUT_PATH], const char *path, struct jobstack_error *error);

/* Sets the paths below DIR; touches nothing. */
int js_layout_set(struct js_layout *layout, const char *dir, struct jobstack_error *error);

/* Chooses whom the server runs as: USER (may be NULL) if we are root, else ourselves.  EUSAGE, EPERM. */
int js_layout_who(const struct js_layout *layout, const char *user, struct js_who *who, struct jobstack_error *error);

/* Makes DIR and its subdirectories, owned as said above, and sees that WHO can get there.  A directory with other
 * things in it, or of another user, is refused.  EFILE, EPERM, ECONFLICT. */
int js_layout_prepare(const struct js_layout *layout, const struct js_who *who, struct jobstack_error *error);

/* Takes the lock, waiting at most PATIENCE_US for whoever has it.  Returns a descriptor to close, or
 * a negative code. */
int js_layout_lock(const struct js_layout *layout, int64_t patience_us, const struct js_log *log,
		   const volatile int *stop, struct jobstack_error *error);

/* 1 if DIR is a server's directory, else 0.  -1 with errno EACCES if we may not look. */
int js_layout_exists(const struct js_layout *layout);

/* The bytes that PATH takes on disk. */
uint64_t js_layout_size(const char *path);

/* Removes the tree as WHO, who owns it, and PATH itself as ourselves.  What can't be removed stays. */
void js_layout_remove(const char *path, const struct js_who *who);

/* The same with everything in the directory PATH whose name begins with PREFIX. */
void js_layout_sweep(const char *path, const char *prefix, const struct js_who *who);

/* 1 if the file system under PATH has less than MB left for an ordinary user. */
int js_layout_full(const char *path, uint64_t mb);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The directory of a private server: its paths, who may enter it, and the lock that allows only one start or stop at a
 * time.
 *
 *     DIR/jobstack.lock   the lock; also the sign that DIR is a server's directory
 *     DIR/data            the server's data (the server's user's)
 *     DIR/run             its socket and temporary tables (the server's user's)
 *     DIR/tls             CA, server certificate, keys
 *     DIR/owner           which process on which host serves DIR; removed by a clean stop
 *     DIR/password        the password of the database user jobstack
 *     DIR/my.cnf          the server's settings; in comments, what later starts use again
 *     DIR/init.sql root.cnf error.log
 *
 * If root starts the server, DIR belongs to root, and others can only pass through it.  The server's user can write
 * only below data and run, so nothing that root does here can follow a link that this user has made.
 */
#pragma once

#include "frame/frame.h"
#include "server/who.h"

#include <stdint.h>

#define JS_LAYOUT_PATH 4096
#define JS_LAYOUT_DIR_MAX 3900 /* leaves space for the names below it */

/* Each path below DIR, as a member of struct js_layout. */
/* clang-format off */
#define JS_LAYOUT_PATHS(PATH) \
	PATH(lock, "jobstack.lock") PATH(data, "data") PATH(run, "run") PATH(tls, "tls") PATH(owner, "owner") \
	PATH(password, "password") PATH(config, "my.cnf") PATH(init, "init.sql") \
	PATH(root, "root.cnf") PATH(log, "error.log") PATH(ca, "tls/ca.pem") PATH(ca_key, "tls/ca-key.pem") \
	PATH(cert, "tls/server.pem") PATH(key, "tls/server-key.pem")
#define JS_LAYOUT_MEMBER(name, file) char name[JS_LAYOUT_PATH];
/* clang-format on */

struct js_layout {
	char dir[JS_LAYOUT_PATH];
	JS_LAYOUT_PATHS(JS_LAYOUT_MEMBER)
};

/* Writes DIR "/" NAME to OUT.  It is cut if it does not fit; it always fits below a directory of js_layout_set. */
void js_layout_join(char out[JS_LAYOUT_PATH], const char *dir, const char *name);

/* Makes PATH absolute, relative to the working directory.  EUSAGE: it is too long or contains control characters. */
int js_layout_absolute(char out[JS_LAYOUT_PATH], const char *path, struct jobstack_error *error);

/* Sets the paths below DIR; touches nothing. */
int js_layout_set(struct js_layout *layout, const char *dir, struct jobstack_error *error);

/* Chooses the user that the server runs as: USER (may be NULL) if we are root, else ourselves.  Errors: EUSAGE, EPERM.
 */
int js_layout_who(const struct js_layout *layout, const char *user, struct js_who *who, struct jobstack_error *error);

/* Makes DIR and its subdirectories with the owners described above, and checks that WHO can reach them.  It refuses a
 * directory that contains other files or belongs to another user.  Errors: EFILE, EPERM, ECONFLICT. */
int js_layout_prepare(const struct js_layout *layout, const struct js_who *who, struct jobstack_error *error);

/* Takes the lock, and waits for it if another command works on the directory.  Returns a descriptor, for the caller to
 * close, or a negative code. */
int js_layout_lock(const struct js_layout *layout, struct cli *cli);

/* Returns 1 if DIR is a server's directory, 0 if not, -1 with errno EACCES if it can't be read. */
int js_layout_exists(const struct js_layout *layout);

/* Returns the bytes that PATH takes on disk. */
uint64_t js_layout_size(const char *path);

/* Removes the contents of the tree as WHO, who owns it, and then PATH as ourselves.  Errors are ignored. */
void js_layout_remove(const char *path, const struct js_who *who);

/* The same with everything in the directory PATH whose name begins with PREFIX. */
void js_layout_sweep(const char *path, const char *prefix, const struct js_who *who);

/* Returns 1 if the file system under PATH has less than MB left for an ordinary user. */
int js_layout_full(const char *path, uint64_t mb);

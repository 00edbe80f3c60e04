/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of this layer share.
 */
#pragma once

#include "process/net.h"
#include "server/owner.h"
#include "server/program.h"
#include "server/server.h"

/* Where a start with this --bind (NULL: without one) listens: there, else where the last start was told to, else on
 * JS_SERVER_BIND.  EUSAGE: that is not this host. */
int js_server_address(const struct js_layout *layout, const char *bind, struct js_net *net,
		      struct jobstack_error *error);

/* Makes the data directory with the system tables, unless it is there.  It is made under another name and renamed when
 * it is whole and on disk; killed before, the next call starts from the beginning.  Returns 0 or
 * an error; what the installer said of a failure goes to the log. */
int js_install(const struct js_work *work, const struct js_program *program, struct jobstack_error *error);

/* Whether PROGRAM may serve the data that are there: 0, or ECONFLICT.  Data of an older MariaDB need their copy first,
 * which js_server_upgrade makes (JS_WHY_OLD_DATA); those of a newer one, or of MySQL, are not MariaDB's to open.  Data
 * that do not say who wrote them are left to the server. */
int js_upgrade_check(const struct js_layout *layout, const struct js_program *program, struct jobstack_error *error);

/* Before PROGRAM is started: if the data are of an older MariaDB, notes in them that they are PROGRAM's from now on.
 * mariadb-upgrade notes that too, but later, or never if it is missing. */
int js_upgrade_begin(const struct js_work *work, const struct js_program *program, struct jobstack_error *error);

/* When the server runs: updates its own tables by mariadb-upgrade, if they are of an older MariaDB than PROGRAM. */
void js_upgrade_finish(const struct js_work *work, const struct js_program *program);

/* Flushes the new directory FROM to disk, and then renames it: its final name says that it is complete. */
int js_install_rename(const char *from, const char *to, struct jobstack_error *error);

/* Makes a CA, and a server certificate for this host's names and for NET's, with the openssl program, unless both exist
 * already.  The server's key is its user's, the CA's is ours. */
int js_tls_prepare(const struct js_work *work, const struct js_net *net, struct jobstack_error *error);

/* Fills ERROR: another host has the directory.  Returns ECONFLICT. */
int js_server_elsewhere(const struct js_layout *layout, const struct js_owner *owner, struct jobstack_error *error);

/* Fills INFO from the record. */
void js_server_fill(const struct js_layout *layout, const struct js_owner *owner, enum js_server_state state,
		    struct js_server_info *info);

/* Waits until the owner's process is gone.  Returns 0, or -1 if the time is up or *STOP is set. */
int js_server_await_end(const struct js_owner *owner, const struct js_log *log, const volatile int *stop,
			int64_t limit_us);

/* Logs the last lines of the server's log from OFFSET on, and fills ERROR: "the server WHAT", and whether the disk is
 * full. Returns ENODB. */
int js_server_failed(const struct js_server_options *options, const struct js_layout *layout, int64_t offset,
		     const char *what, struct jobstack_error *error);

/* The same for a server that ended with the wait status END. */
int js_server_ended(const struct js_server_options *options, const struct js_layout *layout, int64_t offset, int end,
		    struct jobstack_error *error);

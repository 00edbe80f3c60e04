/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The files that the server and its clients read: my.cnf, the statements of each start, the client's option file.
 */
#pragma once

#include "server/server.h"

#define CONFIG_CONNECTIONS 1200
#define CONFIG_FILES 18000    /* open files for that many connections and their tables */
#define CONFIG_FILES_MIN 2010 /* the least: one per connection, and some 800 for the server itself */

/* Reads the password of the database user into s->password, or creates one. */
int config_password(struct server *s);

/* Makes a new password. */
void config_make_password(char password[SERVER_PASSWORD]);

/* Writes my.cnf, the only option file that the server reads.  Comments in it have the options that are KEPT. */
int config_write(struct server *s, const struct server_kept *kept);

/* Reads what my.cnf keeps. */
void config_read_kept(const struct js_layout *layout, struct server_kept *kept);

/* Writes init.sql, which the server executes at its start and only its user can read, and root.cnf, with which the
 * server's owner can log in through the socket.  init.sql contains the password: remove it when the server is ready. */
int config_write_init(struct server *s);

/* Adds the statements that make the account USER, whose connections have to use TLS, or give it this password; LIMIT:
 * further words of them. */
void config_add_account(struct js_buf *sql, const char *user, const char *password, const char *limit);

/* Checks that PATH can be written and was not written by somebody else; creates the directory above it.  Errors: EFILE,
 * EPERM, ECONFLICT. */
int config_check_client(const char *path, struct jobstack_error *error);

/* Finds the directory of the server for which `jobstack server` wrote the option file CLIENT_FILE, in *DATA; NULL if
 * the file does not say it.  Valid until the next call.  Returns 1 if this host has that directory, 0 if not, -1 if the
 * file was not written by `jobstack server`. */
int config_server_of(const char *client_file, const char **data);

/* Returns 1 if the client's option file has another password than s->password, so another server, and writes that one's
 * "HOST:PORT" to WHERE. */
int config_names_other(const struct server *s, char *where, size_t size);

/* Writes the client's option file PATH for USER, and the CA's certificate beside it, unless both have this content
 * already.  For another user than jobstack it is without the server's directory, and such that it can be copied
 * together with the certificate. */
int config_write_client(struct server *s, const char *path, const char *user, const char *password);

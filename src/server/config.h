/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The files that the server and its clients read: my.cnf, the statements of each start, the client's option file.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "server/layout.h"
#include "server/program.h"

#include <stdint.h>

#define JS_CONFIG_CONNECTIONS 1200
#define JS_CONFIG_FILES 18000	 /* open files for that many connections and their tables */
#define JS_CONFIG_FILES_MIN 2010 /* the least: a connection takes one, the server itself some 800 */
#define JS_CONFIG_PASSWORD 49	 /* room for a password */

/* What a start decides. */
struct js_config {
	const char *listen, *socket;
	unsigned port;
	uint64_t memory; /* bytes for the buffer pool */
};

/* Reads the password of the database user, or makes one; PASSWORD is for the caller to wipe. */
int js_config_password(const struct js_layout *layout, char password[JS_CONFIG_PASSWORD], struct jobstack_error *error);

/* Writes my.cnf, which is all that the server reads. */
int js_config_server(const struct js_layout *layout, const struct js_program *program, const struct js_config *config,
		     struct jobstack_error *error);

/* Writes what the server executes at its start (init.sql, WHO's alone), and root.cnf with which the server's owner gets
 * in through the socket.  init.sql holds the password: remove it when the server is ready. */
int js_config_init(const struct js_layout *layout, const struct js_program *program, const struct js_config *config,
		   const struct js_who *who, const char *password, struct jobstack_error *error);

/* Sees that PATH can be written and is not somebody else's work; makes the directory above it.  EFILE, ECONFLICT. */
int js_config_client_check(const char *path, struct jobstack_error *error);

/* What a client has to know. */
struct js_config_address {
	const char *host;
	unsigned port;
	const char *password;
	int mysql; /* its own programs ask for TLS in other words than MariaDB's */
};

/* Whether the client's option file PATH names another server than the one with PASSWORD: then 1, and "HOST:PORT" in
 * WHERE. */
int js_config_client_other(const char *path, const char *password, char *where, size_t size);

/* Writes the client's option file and the CA's certificate beside it, unless they are so already. */
int js_config_client(const char *path, const struct js_layout *layout, const struct js_config_address *address,
		     struct jobstack_error *error);

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
#define JS_CONFIG_FILES_MIN 2010 /* the least: one per connection, and some 800 for the server itself */
#define JS_CONFIG_PASSWORD 49	 /* the size of a password */

/* Options of a start that hold for later ones. */
struct js_config_kept {
	char bind[256];	 /* "": none */
	uint64_t memory; /* 0: none */
};

/* What each start decides. */
struct js_config {
	const char *listen, *socket;
	unsigned port;
	uint64_t memory; /* bytes for the buffer pool */
	struct js_config_kept kept;
};

/* Reads the password of the database user, or creates one.  The caller wipes PASSWORD. */
int js_config_password(const struct js_layout *layout, char password[JS_CONFIG_PASSWORD], struct jobstack_error *error);

/* A new one. */
void js_config_make_password(char password[JS_CONFIG_PASSWORD]);

/* Writes my.cnf, the only option file that the server reads.  Comments in it have the options that are kept. */
int js_config_server(const struct js_layout *layout, const struct js_program *program, const struct js_config *config,
		     struct jobstack_error *error);

/* Reads the options that my.cnf keeps. */
void js_config_kept(const struct js_layout *layout, struct js_config_kept *kept);

/* Writes init.sql, which the server executes at its start and only WHO can read, and root.cnf, with which the server's
 * owner can log in through the socket.  init.sql contains the password: remove it when the server is ready. */
int js_config_init(const struct js_layout *layout, const struct js_program *program, const struct js_config *config,
		   const struct js_who *who, const char *password, struct jobstack_error *error);

/* Checks that PATH can be written and was not written by somebody else; creates the directory above it.  Errors: EFILE,
 * EPERM, ECONFLICT. */
int js_config_client_check(const char *path, struct jobstack_error *error);

/* What a client needs to connect. */
struct js_config_address {
	const char *host;
	unsigned port;
	const char *user, *password;
	int mysql; /* MySQL: its programs have another option for TLS than MariaDB's */
};

/* Returns 1 if the client's option file PATH has another password than PASSWORD, so another server, and writes that
 * one's "HOST:PORT" to WHERE. */
int js_config_client_other(const char *path, const char *password, char *where, size_t size);

/* Writes the client's option file (for another user than jobstack: without the server's directory, and such that it
 * can be copied together with the certificate), and the CA's certificate beside it, unless both have this content
 * already. */
int js_config_client(const char *path, const struct js_layout *layout, const struct js_config_address *address,
		     struct jobstack_error *error);

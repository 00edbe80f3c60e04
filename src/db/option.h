/* SPDX-License-Identifier: BSD-2-Clause
 *
 * MySQL's option files, as far as a connection needs them.
 */
#pragma once

#include "db/hosts.h"
#include "jobstack/jobstack.h"

enum js_tls { JS_TLS_PREFERRED, JS_TLS_OFF, JS_TLS_REQUIRED, JS_TLS_VERIFY_CA, JS_TLS_VERIFY_IDENTITY };

/* What a file says; texts are NULL where it says nothing.  Start it as {0}; free it with js_option_free. */
struct js_option {
	struct js_hosts hosts; /* in the order in which they are tried */
	char *socket, *user, *password, *database;
	char *ssl_ca, *ssl_capath, *ssl_cert, *ssl_key;
	unsigned port; /* of hosts without one of their own; 0: not said */
	enum js_tls tls;
	int tls_said;
	unsigned connect_timeout; /* seconds; 0: not said */
};

/* Reads PATH: the groups [client], [client-server], [client-mariadb], then [jobstack], a later value winning.  Options
 * of other programs are skipped; !include and !includedir are followed.  Refuses (EPERM) a file that others can read
 * if it holds a password, and one that can't be opened; EFILE for one that is not there, EUSAGE for an invalid value,
 * for a line before any group and for what is unknown in [jobstack] (but for loose-...), with the file and the line. */
int js_option_read(const char *path, struct js_option *option, struct jobstack_error *error);

void js_option_free(struct js_option *option);

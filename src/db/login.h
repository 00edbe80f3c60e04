/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Logging in, for this layer's files only: which server may get the password, and when.
 *
 * In MySQL's protocol it is the server that chooses how the client shows its password, after it has heard the user's
 * name; some ways send the password itself.  An impostor would choose one of them.
 */
#pragma once

#include <mysql.h>

#define JS_LOGIN_REFUSED 2061 /* error numbers: the connectors' own for a failed plugin, and for TLS */
#define JS_LOGIN_NO_TLS 2026

struct js_login {
	const char *host, *user, *password, *database, *socket; /* NULL: the connector's default, or none */
	unsigned port;						/* 0: the default */
	unsigned long flags;
	int required; /* TLS is */
	int verifies; /* MY's options name a CA, and tell the connector to verify the server against it */
};

/* Once in a process, before the first login.  Not safe in two threads at once. */
void js_login_start(void);

/* Connects MY, whose other options are set, and logs in.  The password itself goes only through a local socket, or
 * through TLS that has verified the server; any other server gets answers to its challenges, and one that wants more
 * is refused (JS_LOGIN_REFUSED).  If TLS is required, not one byte of the login goes to a server that does not offer
 * it (JS_LOGIN_NO_TLS).  Returns 0, or the error's number, which mysql_errno(MY) and mysql_error(MY) tell as well. */
unsigned js_login(MYSQL *my, const struct js_login *login);

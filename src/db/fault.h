/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the error numbers of servers and connectors mean, for this layer's files only.
 */
#pragma once

#include "jobstack/jobstack.h"

#define JS_FAULT_PACKET 1153	/* the error number of a packet larger than the server takes */
#define JS_FAULT_READ_ONLY 1290 /* the error number of a server that is read-only */
#define JS_FAULT_NO_TABLE 1146	/* the error number of a table that does not exist */
/* Our own error number for a malformed answer.  Like the connectors' own errors, it closes the connection. */
#define JS_FAULT_MALFORMED 2999

enum js_fault {
	JS_FAULT_NONE,
	JS_FAULT_GUARD,	       /* one of our guards stopped the packet */
	JS_FAULT_SKIPPED,      /* the guard of the sum: a statement did not change the rows that it must change */
	JS_FAULT_DUPLICATE,    /* a primary or unique key refused a row */
	JS_FAULT_AGAIN,	       /* a conflict with another transaction: run again, this one may go through */
	JS_FAULT_KILLED,       /* a person or a time limit ended the statement: again, it may go through */
	JS_FAULT_SETTING,      /* the server's configuration makes it impossible */
	JS_FAULT_BAD_ANSWER,   /* an answer does not have the columns that were asked for */
	JS_FAULT_GONE,	       /* the server can't be reached, now */
	JS_FAULT_CROWD,	       /* all connections are taken, the server's or this user's */
	JS_FAULT_NOT_WRITABLE, /* it is read-only, now: after a failover another one is not */
	JS_FAULT_ACCOUNT,      /* the user or the password */
	JS_FAULT_PERMISSION,   /* one of the account's rights */
	JS_FAULT_UNTRUSTED,    /* the server wants the password in a way that we refuse (login.c) */
	JS_FAULT_SCHEMA,       /* a table, a column or the database does not exist */
	JS_FAULT_FULL,	       /* its disk */
	JS_FAULT_NO_LOAD,      /* it refuses LOAD DATA LOCAL */
	JS_FAULT_OTHER
};

enum js_fault js_fault_of(unsigned number);

/* Returns whether the error says that the server can't be reached, or can't be written, just now: another one may, or
 * this one later. */
int js_fault_is_away(unsigned number);

/* Returns whether it is the connector's own error, after which it may not know where in the answers it stands. */
int js_fault_is_local(unsigned number);

/* Fills ERROR for error NUMBER with the server's or connector's TEXT, at WHERE, and gives the code. */
int js_fault_fill(unsigned number, const char *text, const char *where, struct jobstack_error *error);

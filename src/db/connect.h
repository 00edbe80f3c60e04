/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection's inside, for this room's files only: making one, by the option file as it stands at that moment.
 */
#ifndef JS_DB_CONNECT_H
#define JS_DB_CONNECT_H

#include "base/log.h"
#include "db/db.h"

#include <mysql.h>

struct js_db {
	MYSQL *my; /* NULL: not connected */
	struct js_log log;
	char *defaults_file, *host, *socket, *user, *password, *database; /* what the options gave */
	unsigned port;
	int64_t patience_us;
	const volatile int *stop;
	int ever;	/* it was connected once: from then on an outage is ridden out */
	int no_database; /* connect without choosing the database: it is to be created */
	char where[300]; /* user@host:port/database, for messages */
	char name[256];	 /* the database in use */
	char last_error[512];
	unsigned last_errno;
	uint64_t jitter;
	int64_t wall_us, mono_us; /* the server's clock and ours, read together */
};

/* Connects, trying until the moment UNTIL if it was connected before, else once. */
int js_db_connect(struct js_db *db, int64_t until, struct jobstack_error *error);

/* Fills ERROR for a server or connector error at WHERE, and gives the code. */
int js_db_failure(unsigned number, const char *text, const char *where, struct jobstack_error *error);

/* The error says that the server can't be reached just now. */
int js_db_is_gone(unsigned number);

/* A pseudo-random number, only for spreading out. */
uint64_t js_db_jitter(struct js_db *db);

#endif

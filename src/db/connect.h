/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection's inside, for this room's files only: making one, by the option file as it stands at that moment.
 */
#ifndef JS_DB_CONNECT_H
#define JS_DB_CONNECT_H

#include "base/log.h"
#include "db/db.h"
#include "db/hosts.h"
#include "db/infile.h"

#include <mysql.h>

struct js_db {
	MYSQL *my; /* NULL: not connected */
	struct js_log log;
	char *defaults_file, *host, *socket, *user, *password, *database; /* what the options gave */
	unsigned port;
	int64_t patience_us, crowd_us;
	const volatile int *stop;
	int away;	     /* it is, and that was said */
	int ever;	     /* it was connected once: from then on an outage is ridden out */
	int no_database;     /* connect without choosing the database: it is to be created */
	struct js_host last; /* the host that worked last, as the option file names it */
	char where[400];     /* user@host:port/database, for messages */
	char name[256];	     /* the database in use */
	char last_error[900];
	unsigned last_errno;
	uint64_t jitter;
	int64_t wait_us;	  /* before the next try to connect; 0: the last one succeeded */
	int64_t crowded_us;	  /* until this moment the server's connections are taken to be short */
	int64_t looked_us;	  /* when that was looked at */
	int pinned;		  /* a connection that is lost is not made anew */
	size_t packet_most;	  /* what is sent must be shorter */
	int blocks;		  /* the server takes compound statements outside of stored programs: MariaDB does */
	int cluster;		  /* it is one of a cluster whose servers all take writes */
	int64_t wall_us, mono_us; /* the server's clock and ours, read together */
	int loads;		  /* connections are made such that they can serve a load */
	int loaded;		  /* a load went through */
	struct js_infile infile;  /* what it is served */
};

/* Connects, trying until the moment UNTIL.  If it was never connected before, only a crowd is waited for. */
int js_db_connect(struct js_db *db, int64_t until, struct jobstack_error *error);

/* Fills ERROR for a server or connector error at WHERE, and gives the code. */
int js_db_failure(unsigned number, const char *text, const char *where, struct jobstack_error *error);

/* The error says that the server can't be reached, or can't be written, just now: another one may, or
 * this one later. */
int js_db_is_gone(unsigned number);

/* The error says that a statement was ended by somebody, or by a time limit: again, it may go through. */
int js_db_is_killed(unsigned number);

/* The error says that all connections are taken, the server's or this user's. */
int js_db_is_crowd(unsigned number);

#define JS_DB_CROWDED_US (60 * INT64_C(1000000)) /* so long a crowd that was seen is believed to last */
#define JS_DB_PACKET 1153			 /* the error number of a packet larger than the server takes */
#define JS_DB_READ_ONLY 1290			 /* the error number of a server that is read-only */

/* Sets the new connection MY up, reads the server's clock, and how many of its connections are taken.  Returns 0, or an
 * error's number, with its text in db->last_error: JS_DB_READ_ONLY for a server that does not take writes. */
unsigned js_db_session(struct js_db *db, MYSQL *my);

/* A pseudo-random number, only for spreading out. */
uint64_t js_db_jitter(struct js_db *db);

#endif

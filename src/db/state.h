/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A connection as this layer's files see it.
 */
#pragma once

#include "base/log.h"
#include "db/hosts.h"
#include "db/infile.h"

#include <mysql.h>
#include <stdatomic.h>
#include <stdint.h>

struct js_db {
	MYSQL *my; /* NULL: not connected */
	struct js_log log;
	char *defaults_file, *host, *socket, *user, *password, *database; /* what the options gave */
	unsigned port;
	int64_t patience_us, crowd_us, first_us;
	atomic_int stop;
	int away;	     /* it is, and the log has said so */
	int ever;	     /* it was connected once: from then on an outage is ridden out */
	int has_tables;	     /* the schema's tables were there: one that is missing is being replaced */
	int no_database;     /* connect without choosing the database, because it must be created first */
	struct js_host last; /* the host that worked last, as the option file names it */
	char where[400];     /* user@host:port/database, for messages */
	char name[256];	     /* the database in use */
	char last_error[900];
	unsigned last_errno;
	uint64_t jitter;
	int64_t wait_us;	  /* before the next try to connect; 0: the last one succeeded */
	int64_t crowded_us;	  /* until this moment the server's connections are taken to be short */
	int64_t looked_us;	  /* when that was looked at */
	int roomy;		  /* fewer than half of them were taken then */
	uint64_t number;	  /* of this connection: they are counted from 1 */
	int pinned;		  /* a lost connection is not replaced */
	int viewing;		  /* js_db_view is under way */
	size_t packet_most;	  /* what is sent must be shorter */
	int blocks;		  /* the server takes compound statements outside of stored programs: MariaDB does */
	int cluster;		  /* it is one of a cluster whose servers all take writes */
	int64_t wall_us, mono_us; /* the server's clock and ours, read together */
	int loads;		  /* connections are made such that they can serve a load */
	int loaded;		  /* a load went through */
	struct js_infile infile;  /* what it is served */
	struct js_prepared *prepared; /* NULL: nothing */
};

/* Returns whether it was stopped (js_db_stop). */
int js_db_is_stopped(const struct js_db *db);

/* Sleeps, unless it is stopped. */
void js_db_sleep(const struct js_db *db, int64_t us);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A database in one file: gzip-compressed SQL that makes the tables and fills them.  It is made by the dump program of
 * MariaDB or MySQL, and loaded by their client, so it may be of another version, or of the other of the two.
 */
#pragma once

#include "jobstack/jobstack.h"

struct js_backup {
	const char *option_file;	   /* of the database; NULL: what the programs read by default */
	const char *database, *schema_dir; /* the name of the database; the .sql files of the schema */
	const char *program;		   /* a server beside which the programs may be; or NULL */
	const volatile int *stop;	   /* not 0: give up */
};

/* Writes the database, as it is at one moment, to FILE, by way of FILE.tmp.  A FILE that is there must be a backup. */
int js_backup_write(const struct js_backup *backup, const char *file, struct jobstack_error *error);

/* Reads all of FILE: 0 if it is a backup and whole. */
int js_backup_check(const char *file, struct jobstack_error *error);

/* Replaces the tables of the database by what FILE has.  Cut short, it leaves the row JS_ASIDE_HALF (base/error.h). */
int js_backup_load(const struct js_backup *backup, const char *file, struct jobstack_error *error);

/* Runs SQL by the client program. */
int js_backup_sql(const struct js_backup *backup, const char *sql, struct jobstack_error *error);

/* Asks the client program whether a condition in SQL is true: 0 if so, 1 if not, or an error. */
int js_backup_ask(const struct js_backup *backup, const char *condition, struct jobstack_error *error);

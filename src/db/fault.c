/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Error numbers.  Promise: an error text holds the server's words, never what we sent.
 *
 * What follows from a fault:
 *
 *     GUARD, SKIPPED, DUPLICATE            the transaction has changed nothing: db.c tries again, or the caller decides
 *     AGAIN, KILLED                        the transaction runs again, on the same connection
 *     GONE, CROWD, NOT_WRITABLE            the connection is closed; the transaction runs again on a new one, which
 *                                          may lead to another server (js_fault_is_away)
 *     NO_LOAD                              a LOAD is not tried again; INSERTs take its place
 *     SCHEMA                               an error; but a table that was there before may be being replaced (an
 *                                          online schema change), and is waited for
 *     all others                           an error for the caller at once
 *
 * A number that is not listed is JS_FAULT_OTHER, an error.  To try again what will not succeed only delays the error.
 */
#include "db/fault.h"

#include "base/error.h"
#include "db/infile.h"
#include "db/login.h"

#include <string.h>

/* The result that a fault leads to, what it says of the database, and the numbers that mean it. */
static const struct {
	int code;
	const char *words;
	unsigned number[36]; /* up to the first 0 */
} faults[] = {
	[JS_FAULT_NONE] = {JOBSTACK_EBUG, "failed without giving a reason", {0}},
	/* out of range */
	[JS_FAULT_GUARD] = {JOBSTACK_EBUG, "stopped the transaction at a check that should not have failed", {1690}},
	[JS_FAULT_SKIPPED] = {JOBSTACK_EBUG, "does not have all rows that had to be changed", {0}},
	[JS_FAULT_DUPLICATE] = {JOBSTACK_EBUG, "refused an unexpected duplicate key", {1062}},
	/* 1213: a deadlock, which Galera reports at COMMIT.  1205: a lock wait timeout, which rolls back the statement
	 * only.  3797, 3798: Group Replication did not apply earlier transactions in time.  1020: MariaDB's snapshot
	 * isolation.  1637: too many active transactions.  3058: a deadlock of user locks.  3100, 3101: Group
	 * Replication, at COMMIT.  1467: a wait for a table's AUTO_INCREMENT lock that took too long.  1689: a wait
	 * that a statement with a stronger lock ended.  1206: there was no memory for more row locks.  1412: the table
	 * was changed since the transaction began.  1615: the server prepares a statement again.  3781: a new primary
	 * of a group did not catch up in time. */
	[JS_FAULT_AGAIN] = {JOBSTACK_ENODB,
			    "rolled the transaction back again and again",
			    {1213, 1205, 3797, 3798, 1020, 1637, 3058, 3100, 3101, 1467, 1689, 1206, 1412, 1615, 3781}},
	/* 1317: KILL QUERY.  1969: max_statement_time.  3024: max_execution_time.  1028: the same while it sorted. */
	[JS_FAULT_KILLED] = {JOBSTACK_ENODB,
			     "killed the statement again and again (KILL QUERY, or a time limit)",
			     {1317, 1969, 3024, 1028}},
	/* 1665: STATEMENT format with READ COMMITTED.  1461: max_prepared_stmt_count.  1197: max_binlog_cache_size.
	 * 4082: connection_memory_limit.  The others: max_allowed_packet. */
	[JS_FAULT_SETTING] = {JOBSTACK_ENODB,
			      "has a setting that keeps jobstack from working",
			      {1665, 1461, 1197, 4082, JS_FAULT_PACKET, 1162, 1301, 2020}},
	[JS_FAULT_BAD_ANSWER] = {JOBSTACK_ENODB, "sent a malformed answer", {JS_FAULT_MALFORMED}},
	/* 3032: offline mode.  1047: this Galera node is not, or not yet, in the cluster.  2005: the name server may
	 * come back too.  2026: TLS, which a server that shuts down during the handshake causes as well.  1053: it
	 * shuts down.  1129: it blocks our host.  1156: packets out of order, which is how the last packet of a server
	 * looks that closed the connection while we sent (MySQL 9).  3168: it begins or ends.  3169: KILL.  4081: it
	 * closed the connection because all of them together take too much memory.  3782, 3783, 3796, 3799: this server
	 * leaves its replication group, or has not joined it.  9001: ProxySQL found no server behind it in time. */
	[JS_FAULT_GONE] = {JOBSTACK_ENODB, "can't be reached", {3032, 1047, 1152, 1184, 2012, 2027, 1180, 2002,
								2003, 2006, 2013, 2055, 2005, 2026, 1053, 1129,
								1927, 4031, 1158, 1159, 1160, 1161, 1156, 3168,
								3169, 4081, 3782, 3783, 3796, 3799, 9001}},
	/* 1040, 1203: the server's connections.  1226: the user's.  1135: the server gets no thread for it. */
	[JS_FAULT_CROWD] = {JOBSTACK_ENODB, "has no free connection", {1040, 1203, 1226, 1135}},
	/* 1836, 1792: after a failover.  4094: while a group's primary changes.  1036, 1874, 1881: InnoDB was started
	 * read-only, or to recover data.  3989: ALTER SCHEMA made the database read-only. */
	[JS_FAULT_NOT_WRITABLE] = {JOBSTACK_ENODB,
				   "can't be written",
				   {JS_FAULT_READ_ONLY, JOBSTACK_WHY_NO_PRIMARY, 1836, 1792, 4094, 1036, 1874, 1881,
				    3989}},
	[JS_FAULT_ACCOUNT] = {JOBSTACK_EPERM, "refused the user or the password", {1045, 1698}},
	/* 2059: a login plugin that this connector does not have.  3118, 3955, 4150, 4151: the account is locked. */
	[JS_FAULT_PERMISSION] = {JOBSTACK_EPERM,
				 "does not permit it",
				 {1044, 1142, 1143, 1227, 1370, 1820, 3159, 4151, 1130, 2059, 3118, 3955, 4150}},
	[JS_FAULT_UNTRUSTED] = {JOBSTACK_EPERM, "was not sent the password", {JS_LOGIN_REFUSED}},
	[JS_FAULT_SCHEMA] = {JOBSTACK_ESCHEMA,
			     "has no jobstack schema, or a different one",
			     {JS_FAULT_NO_TABLE, 1054, 1049, 1046}},
	[JS_FAULT_FULL] = {JOBSTACK_ENODB,
			   "has no space left on its disk, or can't write to it",
			   {1114, 1021, 3, 1026, 1030, 1878, 3019}},
	/* 1148: older servers.  3948, 3950, 4166: switched off, or a client without it. */
	[JS_FAULT_NO_LOAD] = {JOBSTACK_EBUG, "refused LOAD DATA LOCAL", {1148, 3948, 3950, 4166, JS_INFILE_REFUSED}},
	[JS_FAULT_OTHER] = {JOBSTACK_EBUG, "reported an unexpected error", {0}},
};

/* A number stands in one row only.  The table is small, and asked only after an error. */
enum js_fault js_fault_of(unsigned number)
{
	if (number == 0)
		return JS_FAULT_NONE;
	for (enum js_fault fault = JS_FAULT_NONE; fault < JS_FAULT_OTHER; fault++)
		for (const unsigned *known = faults[fault].number; *known != 0; known++)
			if (*known == number)
				return fault;
	return JS_FAULT_OTHER;
}

int js_fault_is_away(unsigned number)
{
	enum js_fault fault = js_fault_of(number);

	return fault == JS_FAULT_GONE || fault == JS_FAULT_CROWD || fault == JS_FAULT_NOT_WRITABLE;
}

int js_fault_is_local(unsigned number)
{
	return number >= 2000 && number < 3000;
}

/* Returns whether the connector blames TLS.  It has several numbers for that; only its words are always clear. */
static int is_tls(unsigned number, const char *text)
{
	return number == JS_LOGIN_NO_TLS || strstr(text, "TLS") != NULL || strstr(text, "SSL") != NULL ||
	       strstr(text, "certificate") != NULL;
}

int js_fault_fill(unsigned number, const char *text, const char *where, struct jobstack_error *error)
{
	/* "running with the --... option" is also said of other options */
	int other = number == JS_FAULT_READ_ONLY && strstr(text, "read") == NULL;
	enum js_fault fault = other ? JS_FAULT_SETTING : js_fault_of(number);
	unsigned why = js_fault_is_away(number) && !other && is_tls(number, text) ? JOBSTACK_WHY_TLS : number;

	return js_error_why(error, faults[fault].code, why, "the database %s %s: %s (%u)", where, faults[fault].words,
			    text, number);
}

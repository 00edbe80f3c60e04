/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The first statements on a connection, and what the server answers: its clock, whether it accepts writes, and whether
 * it is short of connections. Promises: one round trip, two at a cluster; no right is needed that the grants do not
 * give.
 */
#include "db/session.h"

#include "base/clock.h"
#include "db/fault.h"
#include "db/prepared.h"
#include "db/request.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SET_UP_TRIES 5
#define LOOK_US (5 * JS_SECOND_US) /* how often a connection that stays looks whether others wait */

/* The settings of every session: each variable that changes the meaning or the result of one of our statements, since
 * an administrator can set it for all sessions (init_connect, the server's option file).  They are constants, not
 * DEFAULT, which is the administrator's value (parser_max_mem_size may not be more than the global one).  What may end
 * a statement, or make one unreadable, comes first.  Among them:
 *
 *   READ COMMITTED            no gap locks, and no conflict with MariaDB's snapshot isolation
 *   innodb_lock_wait_timeout  three seconds for a row lock; then the transaction runs again (fault.c)
 *   lock_wait_timeout         for the tables' own locks; shorter than the connection waits for an answer (connect.c)
 *   sql_mode                  STRICT_TRANS_TABLES: a value that does not fit is an error, and is not cut short
 *   time_zone                 so that nothing depends on the server's
 *   group_concat_max_len      for the lists in what `jobstack check` finds (schema/check.sql)
 *   in_predicate_conversion_threshold=0   a long IN list must stay a list: as a join, it would be looked up for each
 *                             row of the stack
 *
 * MariaDB skips the comments with !8, MySQL those with M!.  Whether a server is read-only is asked of the server, not
 * derived from our rights: an account that may write to a replica all the same would write where nobody looks.
 * tests/integration/session_settings.sh sets each variable that there is to its extremes. */
static const char set_up[] =
	"SET SESSION /*!80000 max_execution_time=0 */"
	"/*M!100500 max_statement_time=0,max_session_mem_used=9223372036854775807 */;" JS_REQUEST_HURRY
	"SET NAMES utf8mb4;"
	"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED,READ WRITE;"
	"SET SESSION autocommit=1,completion_type=0,innodb_lock_wait_timeout=3,lock_wait_timeout=20,"
	"net_read_timeout=30,net_write_timeout=60,time_zone='+00:00',"
	"sql_select_limit=18446744073709551615,sql_big_selects=1,sql_safe_updates=0,sql_auto_is_null=0,unique_checks=1,"
	"max_sort_length=1024,sort_buffer_size=GREATEST(@@sort_buffer_size,CAST(2097152 AS UNSIGNED)),"
	"group_concat_max_len=1000000,sql_mode='STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
	"/*!80000 ,range_optimizer_max_mem_size=8388608,parser_max_mem_size=@@global.parser_max_mem_size */"
	"/*!80013 ,use_secondary_engine=OFF */"
	"/*M!100500 ,join_cache_level=2,join_buffer_size=262144,join_buffer_space_limit=2097152,max_error_count=64,"
	"tmp_disk_table_size=18446744073709551615,idle_transaction_timeout=0,idle_readonly_transaction_timeout=0,"
	"idle_write_transaction_timeout=0,in_predicate_conversion_threshold=0 "
	"*/;"
	"SELECT "
	"UTC_TIMESTAMP(6),@@global.max_connections,@@session.max_user_connections,@@max_allowed_packet,"
	"@@global.read_only,@@global.innodb_read_only"
	"/*!80000 ,@@global.super_read_only */;"
	"SHOW GLOBAL STATUS LIKE 'Threads_connected';"
	"SHOW GLOBAL VARIABLES WHERE Variable_name IN('wsrep_on','group_replication_group_name',"
	"'group_replication_single_primary_mode');" JS_REQUEST_REST;
static const char crowd_query[] =
	JS_REQUEST_HURRY "SELECT UTC_TIMESTAMP(6),@@global.max_connections,@@session.max_user_connections;"
			 "SHOW GLOBAL STATUS LIKE 'Threads_connected';" JS_REQUEST_REST;

/* On a cluster whose servers all take writes, one may be behind another.  With this a transaction, and a read outside
 * of one, waits first until its server has all that was committed anywhere before: so no read answers with old data
 * that nothing is left, or that there is no such stack.  A wait that is too long is error 1205, or 3797. */
static const char causal_galera[] = "SET SESSION wsrep_sync_wait=1";
static const char causal_group[] = "SET SESSION group_replication_consistency='BEFORE'";

/* What the two packets bring. */
struct server_state {
	int64_t wall_us;	    /* its clock, since 1970 */
	uint64_t connections, most; /* those that are open; how many there may be */
	uint64_t most_ours;	    /* how many this account may have; 0: no limit of its own */
	uint64_t packet;	    /* max_allowed_packet */
	int read_only;		    /* it, or the storage engine, takes no writes */
	int galera, group;	    /* it is one of a Galera cluster; it is in a replication group */
	int primaries;		    /* the group has several primaries */
};

/* 0 or 1, or a word: OFF and ON, and in newer MariaDB NO_LOCK and the like, which are kinds of ON. */
static int is_switched_on(const char *value)
{
	return value != NULL && strcmp(value, "0") != 0 && strcasecmp(value, "OFF") != 0;
}

/* Reads a row: one of SHOW, a name and a value, or that of the SELECT, which begins with the clock. */
static void take_state_row(struct server_state *a, unsigned n, MYSQL_ROW row)
{
	if (n < 2 || row[0] == NULL || row[1] == NULL)
		return;
	if (strcasecmp(row[0], "Threads_connected") == 0)
		a->connections = strtoull(row[1], NULL, 10);
	else if (strcasecmp(row[0], "wsrep_on") == 0)
		a->galera = is_switched_on(row[1]);
	else if (strcasecmp(row[0], "group_replication_group_name") == 0)
		a->group = row[1][0] != '\0';
	else if (strcasecmp(row[0], "group_replication_single_primary_mode") == 0)
		a->primaries = !is_switched_on(row[1]);
	else {
		a->wall_us = js_clock_parse(row[0]);
		a->most = strtoull(row[1], NULL, 10);
		a->most_ours = n > 2 && row[2] != NULL ? strtoull(row[2], NULL, 10) : 0;
		a->packet = n > 3 && row[3] != NULL ? strtoull(row[3], NULL, 10) : a->packet;
		for (unsigned i = 4; i < n; i++)
			a->read_only |= is_switched_on(row[i]);
	}
}

/* Sends TEXT and reads the answers.  Returns the error number. */
static unsigned ask_server(MYSQL *my, const char *text, size_t len, struct server_state *a)
{
	MYSQL_RES *result;
	MYSQL_ROW row;
	int more;

	if (mysql_real_query(my, text, (unsigned long)len) != 0)
		return mysql_errno(my);
	do {
		result = mysql_store_result(my);
		if (result == NULL) {
			if (mysql_errno(my) != 0)
				return mysql_errno(my);
			continue;
		}
		while ((row = mysql_fetch_row(result)) != NULL)
			take_state_row(a, mysql_num_fields(result), row);
		mysql_free_result(result);
	} while ((more = mysql_next_result(my)) == 0);
	return more > 0 ? mysql_errno(my) : 0;
}

/* If nine in ten connections are in use, workers that can wait without one should.  If fewer than half are, one more
 * may stay idle; all of them count against the account's own limit, since we can't see whose they are. */
static void note_crowd(struct js_db *db, const struct server_state *a)
{
	int64_t now = js_clock_mono_us();

	db->looked_us = now;
	if (a->most > 0 && 10 * a->connections >= 9 * a->most)
		db->crowded_us = now + JS_SESSION_CROWDED_US;
	db->roomy = 2 * a->connections < a->most && (a->most_ours == 0 || 2 * a->connections < a->most_ours);
}

unsigned js_session_begin(struct js_db *db, MYSQL *my)
{
	struct server_state a = {.wall_us = -1};
	int64_t sent = js_clock_mono_us();
	unsigned number, tries = 0;

	do /* a time limit holds until the first statement lifts it, and may hit that statement itself */
		number = ask_server(my, set_up, sizeof(set_up) - 1, &a);
	while (js_fault_of(number) == JS_FAULT_KILLED && ++tries < SET_UP_TRIES);
	db->cluster = a.galera || (a.group && a.primaries);
	if (number == 0 && db->cluster) {
		const char *causal = a.galera ? causal_galera : causal_group;

		number = ask_server(my, causal, strlen(causal), &a);
	}
	if (number != 0) {
		(void)snprintf(db->last_error, sizeof(db->last_error), "%s", mysql_error(my));
		return number;
	}
	if (a.read_only) {
		(void)snprintf(db->last_error, sizeof(db->last_error), "it is read-only: %s",
			       a.group ? "a secondary of a replication group, or a member of a group without a majority"
				       : "a replica, or a primary that was demoted");
		return a.group ? JOBSTACK_WHY_NO_PRIMARY : JS_FAULT_READ_ONLY;
	}
	db->blocks = strstr(mysql_get_server_info(my), "MariaDB") != NULL;
	db->packet_most = a.packet > 0 ? (size_t)a.packet : SIZE_MAX;
	db->wall_us = a.wall_us;
	/* the server has read its clock at some moment between the two; the error is at most half of the time between
	 */
	db->mono_us = sent + (js_clock_mono_us() - sent) / 2;
	note_crowd(db, &a);
	return 0;
}

void js_session_end(struct js_db *db)
{
	if (db->my != NULL)
		mysql_close(db->my);
	db->my = NULL;
	js_prepared_end(db);
}

void js_session_end_if_crowded(struct js_db *db)
{
	struct server_state a = {.wall_us = -1};
	int64_t now = js_clock_mono_us();

	if (db->my == NULL)
		return;
	if (now >= db->crowded_us && now - db->looked_us >= LOOK_US) {
		if (ask_server(db->my, crowd_query, sizeof(crowd_query) - 1, &a) != 0) {
			js_session_end(db); /* the next packet connects again */
			return;
		}
		note_crowd(db, &a);
	}
	if (now < db->crowded_us)
		js_session_end(db);
}

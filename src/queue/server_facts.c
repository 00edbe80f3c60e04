/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the server reports about itself, as names and values. Promises: nothing is judged here; facts that our rights or
 * this server do not show are left out, without an error; no table of the queue is read but the one row with the
 * schema's version.  Measuring a commit is a call of its own, which leaves nothing behind.
 */
#include "base/clock.h"
#include "base/num.h"
#include "queue/queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIES 9	       /* to measure something; the median counts */
#define LONG_TRIES 3   /* of long work; the mean counts */
#define SHORT_WORK 500 /* SHA-256 sums: less than a millisecond */
#define LONG 50	       /* long work is so many times that */

/* What a question needs while its rows come: they are names and values, or, with NAME, values alone. */
struct facts {
	struct jobstack *handle;
	jobstack_fact_fn *fn;
	void *ctx;
	const char *name, *prefix;
	int stopped;
};

static void report_fact(struct facts *f, const char *name, const char *value)
{
	if (!f->stopped && name != NULL && value != NULL)
		f->stopped = f->fn(f->ctx, name, value) != 0;
}

static void take_fact(void *ctx, const struct js_row *row)
{
	struct facts *f = ctx;
	char name[128];

	if (row == NULL || row->n == 0)
		return;
	if (f->name != NULL) {
		report_fact(f, f->name, row->col[0]);
		return;
	}
	if (row->n < 2 || row->col[0] == NULL)
		return;
	(void)snprintf(name, sizeof(name), "%s%s", f->prefix, row->col[0]);
	for (char *p = name; *p != '\0'; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	report_fact(f, name, row->col[1]);
}

/* Asks one question.  Only a server that is gone is an error: what our rights do not show is left out. */
static int ask_facts(struct facts *f, const char *name, const char *prefix, const char *statement,
		     struct jobstack_error *error)
{
	struct jobstack_error own = JOBSTACK_ERROR_INIT;
	int status;

	f->name = name;
	f->prefix = prefix;
	status = js_handle_ask(f->handle, take_fact, f, &own, statement);
	if (status != JOBSTACK_ENODB && status != JOBSTACK_ESTOPPED)
		return f->stopped ? JOBSTACK_ESTOPPED : 0;
	js_error_pass(error, &own);
	return status;
}

static void report_number(struct facts *f, const char *name, int64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64, value);
	report_fact(f, name, text);
}

static int64_t median_time(uint64_t us[TRIES])
{
	qsort(us, TRIES, sizeof(*us), js_num_order);
	return (int64_t)us[TRIES / 2];
}

/* Measures a round trip on the connection that is there. */
static int report_round_trip(struct facts *f, struct jobstack_error *error)
{
	uint64_t us[TRIES];

	for (size_t i = 0; i < TRIES; i++) {
		us[i] = (uint64_t)js_clock_mono_us();
		JS_TRY(js_handle_ask(f->handle, NULL, NULL, error, "DO 0"));
		us[i] = (uint64_t)js_clock_mono_us() - us[i];
	}
	report_number(f, "roundtrip_us", median_time(us));
	return 0;
}

static int time_work(struct facts *f, uint64_t work, uint64_t *us, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	js_sql_stmt(&sql, "SET @js_began=SYSDATE(6)");
	js_sql_stmt(&sql, "DO BENCHMARK(%u,SHA2('jobstack',256))", work);
	js_sql_stmt(&sql, "SELECT TIMESTAMPDIFF(MICROSECOND,@js_began,SYSDATE(6))");
	return js_db_query(f->handle->db, &sql, js_row_number, us, error);
}

/* Measures how much longer work takes in the server, because other threads want its processors.  A short piece of work
 * can have one for itself; long ones have to share it.  So the shortest time of a short piece is what work costs by
 * itself. */
static int report_slowdown(struct facts *f, struct jobstack_error *error)
{
	struct jobstack_error own = JOBSTACK_ERROR_INIT;
	uint64_t least = UINT64_MAX, sum = 0, us;
	char text[32];
	int status = 0;

	for (size_t i = 0; i < TRIES && status == 0; i++) {
		status = time_work(f, SHORT_WORK, &us, &own);
		least = status == 0 && us < least ? us : least;
	}
	for (size_t i = 0; i < LONG_TRIES && status == 0; i++) {
		status = time_work(f, LONG * SHORT_WORK, &us, &own);
		sum += status == 0 ? us : 0;
	}
	(void)snprintf(text, sizeof(text), "%.2f", (double)sum / LONG_TRIES / LONG / (double)(least == 0 ? 1 : least));
	if (status == 0)
		report_fact(f, "cpu.slowdown", text);
	if (status != JOBSTACK_ENODB)
		return 0;
	js_error_pass(error, &own);
	return status;
}

int jobstack_server_facts(struct jobstack *handle, jobstack_fact_fn *fn, void *ctx, struct jobstack_error *error)
{
	static const struct {
		const char *name, *prefix, *statement;
	} question[] = {
		{"version", NULL, "SELECT VERSION()"},
		{"database", NULL, "SELECT DATABASE()"},
		{"user", NULL, "SELECT CURRENT_USER()"},
		{"role", NULL, "SELECT NULLIF(CURRENT_ROLE(),'NONE')"}, /* MySQL's word for no role */
		/* a grant names databases by a pattern, for which LIKE knows the same wildcards */
		{"right", NULL,
		 "SELECT PRIVILEGE_TYPE FROM (SELECT GRANTEE,PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES "
		 "UNION "
		 "SELECT GRANTEE,PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE DATABASE() LIKE "
		 "TABLE_SCHEMA) own WHERE REPLACE(GRANTEE,'''','')=CURRENT_USER()"},
		{NULL, "variable.",
		 "SHOW GLOBAL VARIABLES WHERE Variable_name IN "
		 "('max_connections','max_user_connections','max_allowed_packet','wait_timeout','interactive_timeout',"
		 "'read_only','super_read_only','innodb_read_only','local_infile','log_bin','binlog_format',"
		 "'sync_binlog','innodb_flush_log_at_trx_commit','innodb_buffer_pool_size','datadir','hostname','port',"
		 "'innodb_snapshot_isolation','wsrep_on','innodb_lock_wait_timeout','innodb_doublewrite',"
		 "'innodb_force_recovery','default_storage_engine','version_comment','gtid_mode',"
		 "'group_replication_group_name')"},
		{NULL, "status.",
		 "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected','Max_used_connections','Uptime',"
		 "'Connection_errors_max_connections','Innodb_history_list_length','wsrep_cluster_size',"
		 "'Rpl_semi_sync_master_status','Rpl_semi_sync_source_status')"},
		{"schema.version", NULL, "SELECT MAX(version) FROM jobstack_version"},
		/* MySQL's word for Innodb_history_list_length: needs the right PROCESS */
		{"purge.history", NULL,
		 "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME='trx_rseg_history_len' AND "
		 "STATUS='enabled'"},
		/* the same; its times are in the time zone of the server's host */
		{"transaction.oldest_seconds", NULL,
		 "SELECT TIMESTAMPDIFF(SECOND,MIN(trx_started),CONVERT_TZ(UTC_TIMESTAMP(),'+00:00','SYSTEM')) FROM "
		 "information_schema.INNODB_TRX"},
	};
	struct facts f = {handle, fn, ctx, NULL, NULL, 0};

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]); i++) {
		JS_TRY(ask_facts(&f, question[i].name, question[i].prefix, question[i].statement, error));
		if (i == 0)
			JS_TRY(report_round_trip(&f, error));
	}
	JS_TRY(report_slowdown(&f, error));
	report_number(&f, "clock.ahead_us", js_db_wall_us(handle->db, js_clock_mono_us()) - js_clock_wall_us());
	return f.stopped ? JOBSTACK_ESTOPPED : 0;
}

int jobstack_commit_time(struct jobstack *handle, int64_t *us, int64_t *least_us, struct jobstack_error *error)
{
	uint64_t took[TRIES];
	struct js_sql sql = {0}, tail = {0};

	JS_TRY(js_schema_check(handle, error));
	for (size_t i = 0; i < TRIES; i++) {
		js_sql_stmt(&sql, "INSERT INTO running_limit(stack_id) VALUES(0)"); /* no stack has this number */
		js_sql_stmt(&sql, "DELETE FROM running_limit WHERE stack_id=0");
		js_sql_stmt(&sql, "SET @js_commit=SYSDATE(6)");
		js_sql_stmt(&tail, "SELECT TIMESTAMPDIFF(MICROSECOND,@js_commit,SYSDATE(6))");
		JS_TRY(js_db_transaction(handle->db, &sql, &tail, js_row_number, &took[i], NULL, error));
	}
	*us = median_time(took); /* which sorts them */
	*least_us = (int64_t)took[0];
	return 0;
}

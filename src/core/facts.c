/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the server reports about itself, as names and values. Promises: nothing is judged here; facts that our rights or
 * this server do not show are left out, without an error; no table of the queue is read but the one row with the
 * schema's version.
 */
#include "base/clock.h"
#include "core/core.h"

#include <inttypes.h>
#include <stdio.h>

/* One question; its rows are names and values, or (NAME) values alone. */
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

/* Asks; only a server that is gone is an error. */
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

int jobstack_server_facts(struct jobstack *handle, jobstack_fact_fn *fn, void *ctx, struct jobstack_error *error)
{
	static const struct {
		const char *name, *prefix, *statement;
	} question[] = {
		{"version", NULL, "SELECT VERSION()"},
		{"database", NULL, "SELECT DATABASE()"},
		{"user", NULL, "SELECT CURRENT_USER()"},
		{"grant", NULL, "SHOW GRANTS"},
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
		 "'Connection_errors_max_connections','Innodb_history_list_length','wsrep_cluster_size')"},
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
	int64_t began;
	int status = 0;

	for (size_t i = 0; i < sizeof(question) / sizeof(question[0]) && status == 0; i++) {
		began = js_clock_mono_us();
		status = ask_facts(&f, question[i].name, question[i].prefix, question[i].statement, error);
		if (i == 1 && status == 0) /* the connection is made by now */
			report_number(&f, "roundtrip_us", js_clock_mono_us() - began);
	}
	if (status != 0)
		return status;
	report_number(&f, "clock.ahead_us", js_db_wall_us(handle->db, js_clock_mono_us()) - js_clock_wall_us());
	return f.stopped ? JOBSTACK_ESTOPPED : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The check: proves that a stack's ledger balances, by the statements of schema/check.sql.  Promises: everything is
 * read in one view of the data, without a lock; memory is flat here and at the server, because long stacks are read
 * piece by piece; of each kind of finding the first JOBSTACK_CHECK_TOLD are kept, the rest is counted.
 */
#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

/* Entry numbers in one query, whose answer must come within the read timeout: of a statement that looks each name up,
 * of one that reads entries in order, and of one that reads spans only. */
#define FEW (UINT64_C(1) << 15)
#define MANY (UINT64_C(1) << 20)
#define MOST (UINT64_C(1) << 23)
#define NUMBERS (UINT64_C(1) << 40)

static const char *const kind[JOBSTACK_FAULTS] = {
	[JOBSTACK_FAULT_LOST] = "lost", [JOBSTACK_FAULT_DOUBLED] = "doubled", [JOBSTACK_FAULT_STRAY] = "stray",
	[JOBSTACK_FAULT_SPAN] = "span", [JOBSTACK_FAULT_CLAIM] = "claim",     [JOBSTACK_FAULT_ATTEMPT] = "attempt",
	[JOBSTACK_FAULT_NAME] = "name", [JOBSTACK_FAULT_COUNTER] = "counter"};

struct finding {
	uint64_t entry;
	enum jobstack_fault fault;
	size_t text, path, path_len; /* their offsets in the bytes, which may move while they grow; path 0: none */
};

struct checking {
	struct jobstack *handle;
	const char *stack; /* NULL: rows of no stack */
	int exists;
	uint64_t last; /* its last entry; a damaged number far beyond its tail does not count */
	uint64_t kept[JOBSTACK_FAULTS];
	struct js_buf bytes, findings; /* findings: struct finding */
	struct jobstack_check_report report;
};

/* Columns: kind, entry, text, the finding's number among those of its kind, how many there are, datapath.  All are
 * counted, with the first one's row; only some are kept. */
static void take_finding(void *ctx, const struct js_row *row)
{
	struct checking *k = ctx;
	struct finding one = {0};

	if (row == NULL)
		return;
	while (one.fault < JOBSTACK_FAULTS - 1 && strcmp(kind[one.fault], row->col[0]) != 0)
		one.fault++;
	if (js_row_u64(row, 3) == 1)
		k->report.found[one.fault] += js_row_u64(row, 4);
	if (k->kept[one.fault]++ >= JOBSTACK_CHECK_TOLD)
		return;
	one.entry = js_row_u64(row, 1);
	one.text = k->bytes.len;
	js_buf_add(&k->bytes, row->col[2], row->len[2] + 1);
	if (row->col[5] != NULL) {
		one.path = k->bytes.len;
		one.path_len = row->len[5];
		js_buf_add(&k->bytes, row->col[5], row->len[5] + 1);
	}
	js_buf_add(&k->findings, &one, sizeof(one));
}

static int compare_findings(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->text > y->text) - (x->text < y->text); /* else as they came */
}

/* Runs one statement of check.sql about piece NO of PIECES, which are of LEN numbers each.  schema/check.sql describes
 * the variables that it reads.  A statement that only computes (SET, SELECT INTO) is sent as it is; one that finds
 * something is put into a query that limits and counts what it finds. */
static int run_statement(struct checking *k, const char *statement, uint64_t no, uint64_t pieces, uint64_t len,
			 struct jobstack_error *error)
{
	int finds = strncmp(statement, "SET", 3) != 0 && strstr(statement, "INTO @js_") == NULL;
	uint64_t top = (UINT64_C(1) << 32) / pieces;
	struct js_sql sql = {0};

	js_sql_stmt(&sql,
		    "SET @js_part=%u,@js_parts=%u,@js_part_lo=%u,@js_part_hi=%u,@js_part_lo16=LPAD(HEX(%u),10,'0'),"
		    "@js_part_hi16=LPAD(HEX(%u),10,'0'),@js_part_hash_lo=UNHEX(LPAD(HEX(%u),8,'0')),"
		    "@js_part_hash_hi=UNHEX(RPAD(LPAD(HEX(%u),8,'0'),64,'F'))",
		    no, pieces, no * len, no + 1 < pieces ? no * len + len - 1 : NUMBERS - 1, no * len,
		    no + 1 < pieces ? no * len + len - 1 : NUMBERS - 1, no * top,
		    no + 1 < pieces ? no * top + top - 1 : UINT64_C(0xFFFFFFFF));
	if (finds)
		js_sql_add(&sql,
			   "SELECT g.kind,g.entry,g.text,g.nth,g.found,e.datapath FROM (SELECT f.*,ROW_NUMBER() OVER "
			   "(PARTITION BY f.kind ORDER BY f.entry) AS nth,COUNT(*) OVER (PARTITION BY f.kind) AS found "
			   "FROM (");
	js_sql_add(&sql, statement);
	if (finds)
		js_sql_add(&sql,
			   ") f) g LEFT JOIN entry e ON e.stack_id=@js_stack AND e.entry_id=g.entry WHERE g.nth<=%u",
			   (uint64_t)JOBSTACK_CHECK_TOLD);
	js_sql_stmt(&sql, "");
	JS_TRY(js_db_nap(k->handle->db, 0, error));
	return js_db_query(k->handle->db, &sql, take_finding, k, error);
}

/* Runs the statements that read a stack, or those that read all of them. */
static int run_statements(struct checking *k, struct jobstack_error *error)
{
	struct js_buf statement = {0};
	const char *text = js_check_sql;
	int status = 0;

	while (status == 0 && js_schema_next(&text, &statement)) {
		uint64_t pieces = 1, len = strstr(statement.data, "SHA2") != NULL	 ? FEW
					   : strstr(statement.data, "@js_part_") != NULL ? MANY
											 : MOST;

		if ((strstr(statement.data, "@js_") != NULL) != (k->stack != NULL))
			continue;
		if (strstr(statement.data, "@js_part") != NULL)
			pieces = k->last / len + 1;
		for (uint64_t i = 0; status == 0 && i < pieces; i++)
			status = run_statement(k, statement.data, i, pieces, len, error);
	}
	if (statement.failed)
		status = js_error_memory(error);
	js_buf_free(&statement);
	return status;
}

/* clang-format off */
#define STACK_COLUMNS(X)                                                                                               \
	X(report.state, "s.state", U32)                                                                                \
	X(last, "COALESCE((SELECT entry_id FROM entry e WHERE e.stack_id=s.stack_id AND entry_id<="                     \
		"LEAST(tail,1099511627775)+16777216 ORDER BY entry_id DESC LIMIT 1),0)", U64)
#define REPORT_COLUMNS(X)                                                                                              \
	X(report.entries, "@js_entries", U64) X(report.attempts, "@js_attempts", U64) X(report.ready, "@js_ready", U64) \
	X(report.waiting, "@js_waiting", U64) X(report.held, "@js_held", U64) X(report.running, "@js_running", U64)    \
	X(report.done, "@js_done", U64) X(report.dead, "@js_dead", U64) X(report.moved, "@js_moved", U64)              \
	X(report.cancelled, "@js_cancelled", U64)
/* clang-format on */

static void take_stack(void *ctx, const struct js_row *row)
{
	struct checking *to = ctx;
	unsigned c = 1;

	to->exists = row != NULL;
	if (row == NULL)
		return;
	STACK_COLUMNS(JS_COLUMN_READ)
}

static void take_report(void *ctx, const struct js_row *row)
{
	struct checking *to = ctx;
	unsigned c = 1;

	if (row == NULL)
		return;
	REPORT_COLUMNS(JS_COLUMN_READ)
}

/* Does the whole check, in the view.  If the view is lost, it begins anew. */
static int check_ledger(void *ctx, struct jobstack_error *error)
{
	struct checking *k = ctx;

	/* a view that was lost may have left some */
	js_buf_reset(&k->bytes);
	js_buf_reset(&k->findings);
	js_buf_char(&k->bytes, '\0'); /* so that no place is 0 */
	memset(k->kept, 0, sizeof(k->kept));
	k->report = (struct jobstack_check_report)JOBSTACK_CHECK_REPORT_INIT;
	if (k->stack != NULL) {
		JS_TRY(js_handle_ask(k->handle, take_stack, k, error,
				     "SELECT 1" STACK_COLUMNS(JS_COLUMN_NAME) " FROM stack s WHERE name=%s", k->stack));
		if (!k->exists)
			return js_stack_refuse_missing(k->stack, error);
		if (k->report.state == JOBSTACK_DROPPING) /* a stack that is half gone proves nothing */
			return 0;
		JS_TRY(js_handle_ask(k->handle, NULL, NULL, error, "SET @js_name=%s", k->stack));
	}
	JS_TRY(run_statements(k, error));
	if (k->bytes.failed || k->findings.failed)
		return js_error_memory(error);
	return k->stack == NULL
		       ? 0
		       : js_handle_ask(k->handle, take_report, k, error, "SELECT 1" REPORT_COLUMNS(JS_COLUMN_NAME));
}

/* Reports the findings, by entry. */
static int report_findings(const struct checking *k, jobstack_finding_fn *fn, void *ctx)
{
	struct finding *list = (struct finding *)(void *)k->findings.data;
	size_t n = k->findings.len / sizeof(*list);

	if (n > 0)
		qsort(list, n, sizeof(*list), compare_findings);
	for (size_t i = 0; fn != NULL && i < n; i++) {
		struct jobstack_finding told = {
			list[i].fault, kind[list[i].fault], list[i].entry, {NULL, 0}, k->bytes.data + list[i].text};

		if (list[i].path != 0)
			told.datapath = (struct jobstack_bytes){k->bytes.data + list[i].path, list[i].path_len};
		if (fn(ctx, &told) != 0)
			return JOBSTACK_ESTOPPED;
	}
	return 0;
}

int jobstack_check(struct jobstack *handle, const char *stack, jobstack_finding_fn *fn, void *ctx,
		   struct jobstack_check_report *report, struct jobstack_error *error)
{
	struct checking k = {.handle = handle, .stack = stack};
	size_t found;
	int status;

	k.report = (struct jobstack_check_report)JOBSTACK_CHECK_REPORT_INIT;
	status = js_grow_begin(report, &k.report, "jobstack_check_report", error);
	if (status == 0 && stack != NULL)
		status = js_stack_check_name(stack, error);
	JS_THEN(status, js_schema_check(handle, error));
	JS_THEN(status, js_db_view(handle->db, check_ledger, &k, error));
	found = k.findings.len;
	if (status == 0) {
		js_grow_out(report, &k.report);
		status = report_findings(&k, fn, ctx);
	}
	js_buf_free(&k.bytes);
	js_buf_free(&k.findings);
	return status == 0 && found > 0 ? JOBSTACK_NOTHING : status;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of stacks that are not there.  Promise: as many rows are read as there are stacks, whatever the size of the
 * tables.
 */
#include "core/orphans.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

static void take_orphans(void *ctx, const struct js_row *row)
{
	struct js_checked *c = ctx;

	if (row != NULL)
		js_found(&c->findings, JOBSTACK_FAULT_STRAY, 0,
			 "the table %s has rows of the stack with the number %" PRIu64 ", which does not exist",
			 row->col[0], js_row_u64(row, 1));
}

int js_check_orphans(struct js_checked *c, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	js_findings_free(&c->findings);
	memset(&c->findings, 0, sizeof(c->findings));
	/* DISTINCT hops along each key from stack to stack */
#define ORPHANS(TABLE)                                                                                                 \
	"SELECT '" TABLE "',t.stack_id FROM (SELECT DISTINCT stack_id FROM " TABLE                                     \
	") t LEFT JOIN stack s ON s.stack_id=t.stack_id WHERE s.stack_id IS NULL"
	js_sql_stmt(&sql, ORPHANS("entry"));
	js_sql_stmt(&sql, ORPHANS("span"));
	js_sql_stmt(&sql, ORPHANS("claim"));
	js_sql_stmt(&sql, ORPHANS("attempt"));
	js_sql_stmt(&sql, ORPHANS("dead"));
	js_sql_stmt(&sql, ORPHANS("name"));
	js_sql_stmt(&sql, ORPHANS("worker"));
	js_sql_stmt(&sql, ORPHANS("push"));
	js_sql_stmt(&sql, ORPHANS("gate"));
	status = js_view_query(c->handle->db, &sql, take_orphans, c, error);
	return status == 0 && c->findings.failed ? js_error_memory(error) : status;
}

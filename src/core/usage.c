/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pruning usage.  Promises: each transaction deletes at most CHUNK rows, by their primary keys.  It locks no worker's
 * row, so no worker waits for it.
 */
#include "core/usage.h"

#include <stdint.h>

#define PAGE 200   /* workers, or platforms */
#define CHUNK 4096 /* also the most packages that a worker records */

struct page {
	int64_t key[PAGE];
	uint64_t rows[PAGE]; /* that belong to it */
	size_t n;
};

static void take_key(void *ctx, const struct js_row *row)
{
	struct page *p = ctx;

	if (row == NULL)
		p->n = 0;
	else if (p->n < PAGE) {
		p->key[p->n] = js_row_i64(row, 0);
		p->rows[p->n++] = js_row_u64(row, 1);
	}
}

/* A worker whose row was removed by an earlier prune has ended, too. */
static int prune_packages(struct jobstack *handle, uint64_t stack_id, int64_t before_us, int dry_run, uint64_t *n,
			  struct jobstack_error *error)
{
	struct page page = {.n = PAGE};
	int64_t last = 0;

	while (page.n == PAGE) {
		JS_TRY(js_db_nap(handle->db, 0, error));
		JS_TRY(js_handle_ask(handle, take_key, &page, error,
				     "SELECT p.worker_id,COUNT(*) FROM package p LEFT JOIN worker w ON "
				     "w.worker_id=p.worker_id WHERE p.stack_id=%u AND p.worker_id>%d AND "
				     "(w.worker_id IS NULL OR w.ended<%t) GROUP BY p.worker_id ORDER BY p.worker_id "
				     "LIMIT %u",
				     stack_id, last, before_us, (uint64_t)PAGE));
		for (size_t i = 0; i < page.n; i++) {
			for (uint64_t left = dry_run ? 0 : page.rows[i]; left > 0; left -= left < CHUNK ? left : CHUNK)
				JS_TRY(js_handle_change(handle, 0, NULL, error,
							"DELETE FROM package WHERE stack_id=%u AND worker_id=%d ORDER "
							"BY name,version LIMIT %u",
							stack_id, page.key[i], (uint64_t)CHUNK));
			*n += page.rows[i];
			last = page.key[i];
		}
	}
	return 0;
}

static int prune_platforms(struct jobstack *handle, uint64_t stack_id, int64_t before_us, int dry_run, uint64_t *n,
			   struct jobstack_error *error)
{
	struct page page = {.n = PAGE};
	int64_t last = -1; /* the number of a fact is never negative */

	while (page.n == PAGE) {
		struct js_sql sql = {0};

		JS_TRY(js_db_nap(handle->db, 0, error));
		JS_TRY(js_handle_ask(handle, take_key, &page, error,
				     "SELECT f.fact,1 FROM fact f WHERE f.stack_id=%u AND f.kind=2 AND f.fact>%d AND "
				     "f.seen<%t AND NOT EXISTS(SELECT 1 FROM worker w WHERE w.stack_id=f.stack_id AND "
				     "w.platform=f.fact AND (w.ended IS NULL OR w.ended>=%t)) ORDER BY f.fact LIMIT %u",
				     stack_id, last, before_us, before_us, (uint64_t)PAGE));
		if (page.n == 0)
			break;
		js_sql_add(&sql, "DELETE FROM fact WHERE stack_id=%u AND kind=2 AND fact IN(NULL", stack_id);
		js_sql_numbers(&sql, page.key, page.n);
		js_sql_stmt(&sql, ")");
		if (dry_run)
			js_sql_free(&sql);
		else
			JS_TRY(js_db_commit(handle->db, &sql, NULL, error));
		*n += page.n;
		last = page.key[page.n - 1];
	}
	return 0;
}

int js_usage_prune(struct jobstack *handle, const struct js_stack *stack, int64_t before_us, int dry_run,
		   struct jobstack_prune_result *result, struct jobstack_error *error)
{
	JS_TRY(prune_packages(handle, stack->id, before_us, dry_run, &result->packages, error));
	return prune_platforms(handle, stack->id, before_us, dry_run, &result->platforms, error);
}

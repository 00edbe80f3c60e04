/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What --unique needs: a row in name for each entry of the stack, and which names of a chunk are there already.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "core/pushing.h"

#include <stdlib.h>
#include <string.h>

#define NAMING_STEP 5000

int js_unique_complete(struct js_pushing *p, struct jobstack_error *error)
{
	uint64_t left = 1;
	int status = 0;

	while (status == 0 && left > 0) {
		struct js_sql sql = {0};

		js_sql_stmt(&sql, "SET @js_lo=NULL");
		js_sql_stmt(&sql, "SELECT COALESCE(named,0) INTO @js_lo FROM stack WHERE stack_id=%u FOR UPDATE", p->stack.id);
		js_sql_stmt(&sql,
			    "INSERT IGNORE INTO name(stack_id,hash,entry_id) SELECT stack_id,UNHEX(SHA2(datapath,256)),entry_id FROM "
			    "entry WHERE stack_id=%u AND entry_id BETWEEN @js_lo+1 AND @js_lo+%u",
			    p->stack.id, (uint64_t)NAMING_STEP);
		js_sql_stmt(&sql, "UPDATE stack SET named=LEAST(tail,@js_lo+%u) WHERE stack_id=%u", (uint64_t)NAMING_STEP,
			    p->stack.id);
		status = js_db_transaction(p->handle->db, &sql, NULL, NULL, NULL, NULL, error);
		js_sql_free(&sql);
		if (status != 0)
			break;
		js_sql_stmt(&sql, "SELECT tail-named FROM stack WHERE stack_id=%u", p->stack.id);
		status = js_handle_number(p->handle, &sql, &left, error);
	}
	if (status == 0)
		p->stack.named = 1;
	return status;
}

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct js_pushing *p = ctx;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	int c = compare_bytes(p->bytes.data + p->names[i].at, p->names[i].len, p->bytes.data + p->names[j].at, p->names[j].len);

	return c != 0 ? c : (i > j) - (i < j);
}

/* The part's names in order of their bytes. */
struct sorted {
	struct js_pushing *p;
	size_t *order, n;
};

static void drop(struct js_pushing *p, size_t i)
{
	p->dropped += (size_t)!p->names[i].drop;
	p->names[i].drop = 1;
}

/* A datapath that the stack has: drops it from the part, wherever it stands. */
static void take_known(void *ctx, const struct js_row *row)
{
	struct sorted *s = ctx;
	size_t low = 0, high = s->n;

	if (row == NULL)
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2, i = s->order[middle];

		if (compare_bytes(s->p->bytes.data + s->p->names[i].at, s->p->names[i].len, row->col[0], row->len[0]) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->n; low++) {
		const struct js_pushed_name *m = &s->p->names[s->order[low]];

		if (compare_bytes(s->p->bytes.data + m->at, m->len, row->col[0], row->len[0]) != 0)
			break;
		drop(s->p, s->order[low]);
	}
}

int js_unique_drop(struct js_pushing *p, struct jobstack_error *error)
{
	struct sorted s = {p, calloc(p->to - p->from, sizeof(size_t)), p->to - p->from};
	struct js_sql sql = {0};
	int status, any = 0;

	if (s.order == NULL)
		return js_error_memory(error);
	for (size_t i = 0; i < s.n; i++)
		s.order[i] = p->from + i;
	qsort_r(s.order, s.n, sizeof(*s.order), compare_names, p);
	for (size_t i = 1; i < s.n; i++) {
		const struct js_pushed_name *a = &p->names[s.order[i - 1]], *b = &p->names[s.order[i]];

		if (compare_bytes(p->bytes.data + a->at, a->len, p->bytes.data + b->at, b->len) == 0)
			drop(p, s.order[i]);
	}
	js_sql_add(&sql, "SELECT e.datapath FROM name n JOIN entry e ON e.stack_id=n.stack_id AND e.entry_id=n.entry_id "
			 "WHERE n.stack_id=%u AND n.hash IN(",
		   p->stack.id);
	for (size_t i = p->from; i < p->to; i++)
		if (!p->names[i].drop)
			js_sql_add(&sql, any++ ? ",UNHEX(SHA2(%x,256))" : "UNHEX(SHA2(%x,256))",
				   (const void *)(p->bytes.data + p->names[i].at), (size_t)p->names[i].len);
	js_sql_stmt(&sql, ")");
	status = any ? js_db_query(p->handle->db, &sql, take_known, &s, error) : 0;
	js_sql_free(&sql);
	free(s.order);
	return status;
}

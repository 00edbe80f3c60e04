/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a check has found.  Promise: it is bounded, however much is wrong: of each kind the first JOBSTACK_CHECK_TOLD
 * are kept, the rest is counted.
 */
#include "core/places.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_UP 500 /* datapaths in one query */

void js_found(struct js_findings *f, enum jobstack_fault fault, uint64_t entry, const char *format, ...)
{
	struct js_finding one;
	char text[400];
	va_list args;

	if (f->found[fault]++ >= JOBSTACK_CHECK_TOLD || f->memory.failed || f->bytes.failed)
		return;
	if (f->bytes.len == 0)
		js_buf_char(&f->bytes, '\0'); /* so that no place is 0 */
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	one = (struct js_finding){entry, fault, f->bytes.len, 0, 0};
	js_buf_add(&f->memory, &one, sizeof(one));
	f->n = f->memory.len / sizeof(one);
	js_buf_add(&f->bytes, text, strlen(text) + 1);
}

static struct js_finding *findings_list(const struct js_findings *f)
{
	return (struct js_finding *)(void *)f->memory.data;
}

static int compare_findings(const void *a, const void *b)
{
	const struct js_finding *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->text > y->text) - (x->text < y->text); /* else as they came */
}

static void take_found_path(void *ctx, const struct js_row *row)
{
	struct js_findings *f = ctx;
	struct js_finding *list = findings_list(f);
	uint64_t entry;
	size_t low;

	if (row == NULL)
		return;
	entry = js_row_u64(row, 0);
	low = js_span_find(list, f->n, sizeof(*list), entry);
	for (; low < f->n && list[low].entry == entry; low++) {
		list[low].path = f->bytes.len;
		list[low].path_len = row->len[1];
	}
	js_buf_add(&f->bytes, row->col[1], row->len[1]);
	js_buf_char(&f->bytes, '\0');
}

int js_findings_paths(struct js_findings *f, struct jobstack *handle, uint64_t stack, struct jobstack_error *error)
{
	const struct js_finding *list = findings_list(f);

	if (f->n > 0)
		qsort(findings_list(f), f->n, sizeof(*list), compare_findings);
	for (size_t at = 0; at < f->n; at += LOOKED_UP) {
		struct js_sql sql = {0};

		js_sql_add(&sql, "SELECT entry_id,datapath FROM entry WHERE stack_id=%u AND entry_id IN(0", stack);
		for (size_t i = at; i < f->n && i < at + LOOKED_UP; i++)
			if (i == at || list[i].entry != list[i - 1].entry)
				js_sql_add(&sql, ",%u", list[i].entry);
		js_sql_stmt(&sql, ")");
		JS_TRY(js_db_query(handle->db, &sql, take_found_path, f, error));
	}
	return f->memory.failed || f->bytes.failed ? js_error_memory(error) : 0;
}

int js_findings_tell(struct js_findings *f, jobstack_finding_fn *fn, void *ctx)
{
	static const char *const word[JOBSTACK_FAULTS] = {
		[JOBSTACK_FAULT_LOST] = "lost",	  [JOBSTACK_FAULT_DOUBLED] = "doubled",
		[JOBSTACK_FAULT_STRAY] = "stray", [JOBSTACK_FAULT_SPAN] = "span",
		[JOBSTACK_FAULT_CLAIM] = "claim", [JOBSTACK_FAULT_ATTEMPT] = "attempt",
		[JOBSTACK_FAULT_NAME] = "name",	  [JOBSTACK_FAULT_COUNTER] = "counter"};

	for (size_t i = 0; fn != NULL && i < f->n; i++) {
		const struct js_finding *one = &findings_list(f)[i];
		struct jobstack_finding told = {
			one->fault, word[one->fault], one->entry, {NULL, 0}, f->bytes.data + one->text};

		if (one->path != 0)
			told.datapath = (struct jobstack_bytes){f->bytes.data + one->path, one->path_len};
		if (fn(ctx, &told) != 0)
			return JOBSTACK_ESTOPPED;
	}
	return 0;
}

void js_findings_free(struct js_findings *f)
{
	js_buf_free(&f->bytes);
	js_buf_free(&f->memory);
	*f = (struct js_findings){.n = 0};
}

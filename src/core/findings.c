/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a check has found.  Promise: it is bounded, however much is wrong: of each kind the first JOBSTACK_CHECK_TOLD
 * are kept, the rest is counted.
 */
#define _GNU_SOURCE
#include "core/findings.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_UP 500 /* datapaths in one query */

void js_found(struct js_findings *f, enum jobstack_fault fault, uint64_t entry, const char *format, ...)
{
	char text[400];
	va_list args;

	if (f->found[fault]++ >= JOBSTACK_CHECK_TOLD || f->failed)
		return;
	if (f->n == f->room) {
		size_t room = f->room == 0 ? 64 : 2 * f->room;
		struct js_finding *grown = realloc(f->list, room * sizeof(*grown));

		if (grown == NULL) {
			f->failed = 1;
			return;
		}
		f->list = grown;
		f->room = room;
	}
	if (f->bytes.len == 0)
		js_buf_char(&f->bytes, '\0'); /* so that no place is 0 */
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	f->list[f->n++] = (struct js_finding){fault, entry, f->bytes.len, 0, 0};
	js_buf_add(&f->bytes, text, strlen(text) + 1);
	f->failed |= f->bytes.failed;
}

static int by_entry(const void *a, const void *b)
{
	const struct js_finding *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return (x->text > y->text) - (x->text < y->text); /* else as they came */
}

static void take_path(void *ctx, const struct js_row *row)
{
	struct js_findings *f = ctx;
	uint64_t entry;
	size_t low = 0, high = f->n;

	if (row == NULL)
		return;
	entry = js_row_u64(row, 0);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->list[middle].entry < entry)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < f->n && f->list[low].entry == entry; low++) {
		f->list[low].path = f->bytes.len;
		f->list[low].path_len = row->len[1];
	}
	js_buf_add(&f->bytes, row->col[1], row->len[1]);
	js_buf_char(&f->bytes, '\0');
}

int js_findings_paths(struct js_findings *f, struct jobstack *handle, uint64_t stack, struct jobstack_error *error)
{
	int status = 0;

	if (f->n > 0)
		qsort(f->list, f->n, sizeof(*f->list), by_entry);
	for (size_t at = 0; status == 0 && at < f->n; at += LOOKED_UP) {
		struct js_sql sql = {0};

		js_sql_add(&sql, "SELECT entry_id,datapath FROM entry WHERE stack_id=%u AND entry_id IN(0", stack);
		for (size_t i = at; i < f->n && i < at + LOOKED_UP; i++)
			if (i == at || f->list[i].entry != f->list[i - 1].entry)
				js_sql_add(&sql, ",%u", f->list[i].entry);
		js_sql_stmt(&sql, ")");
		status = js_view_query(handle->db, &sql, take_path, f, error);
	}
	return status == 0 && (f->failed || f->bytes.failed) ? js_error_memory(error) : status;
}

int js_findings_tell(struct js_findings *f, jobstack_finding_fn *fn, void *ctx)
{
	static const char *const word[JOBSTACK_FAULTS] = {
		[JOBSTACK_FAULT_LOST] = "lost",	  [JOBSTACK_FAULT_DOUBLED] = "doubled",
		[JOBSTACK_FAULT_STRAY] = "stray", [JOBSTACK_FAULT_SPAN] = "span",
		[JOBSTACK_FAULT_CLAIM] = "claim", [JOBSTACK_FAULT_ATTEMPT] = "attempt",
		[JOBSTACK_FAULT_NAME] = "name",	  [JOBSTACK_FAULT_COUNTER] = "counter"};

	for (size_t i = 0; fn != NULL && i < f->n; i++) {
		const struct js_finding *one = &f->list[i];
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
	free(f->list);
	*f = (struct js_findings){.list = NULL};
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The page of an export.  Promises: flat memory, whatever rows come; an item is reported when its page is complete, so
 * a query that is run again reports nothing twice.
 */
#include "history/export_page.h"

#include "history/item.h"
#include "history/worker_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(JS_EXPORT_PAGE <= JS_WORKER_CACHE_MAX, "the array of workers holds all workers of one page");

/* Texts end with a NUL, which is copied, too. */
static size_t copy_bytes(struct js_buf *bytes, struct jobstack_bytes data)
{
	size_t at = bytes->len;

	if (data.data == NULL)
		return JS_EXPORT_NO_TEXT;
	js_buf_add(bytes, data.data, data.len + 1);
	return at;
}

size_t js_export_page_text(struct js_export *x, const char *text)
{
	return copy_bytes(&x->bytes, (struct jobstack_bytes){text, text == NULL ? 0 : strlen(text)});
}

void js_export_page_attempt(struct js_export *x, struct js_export_line *to, const struct js_row *row, unsigned *c)
{
	js_item_attempt(&to->item, row, c);
	to->reason = js_export_page_text(x, to->item.reason);
	to->log = js_export_page_text(x, to->item.log);
	to->err_log = js_export_page_text(x, to->item.err_log);
	to->tail = copy_bytes(&x->bytes, to->item.err_tail);
	to->item.worker = js_row_u64(row, (*c)++);
}

struct js_export_line *js_export_page_add(struct js_export *x, const struct js_row *row)
{
	struct js_export_line *to = &x->line[x->n];

	if (x->n == JS_EXPORT_PAGE)
		return NULL;
	x->n++;
	memset(to, 0, sizeof(*to));
	to->item.entry = js_row_u64(row, 0);
	to->item.datapath.len = row->len[1];
	to->datapath = copy_bytes(&x->bytes, js_row_bytes(row, 1));
	to->to_stack = to->note = JS_EXPORT_NO_TEXT;
	return to;
}

void js_export_page_begin(struct js_export *x)
{
	x->n = x->at = 0;
	js_buf_reset(&x->bytes);
}

static const char *text_at(const struct js_export *x, size_t at)
{
	return at == JS_EXPORT_NO_TEXT ? NULL : x->bytes.data + at;
}

/* Now the page grows no more, so offsets become pointers.  The workers of all its lines are read by one query at most.
 */
int js_export_page_report(struct js_export *x, struct jobstack_error *error)
{
	if (x->bytes.failed)
		return js_error_memory(error);
	for (size_t i = 0; i < x->n; i++)
		x->workers[i] = x->line[i].item.worker;
	JS_TRY(js_worker_cache_read(x->cache, x->handle, x->workers, x->n, error));
	for (size_t i = 0; i < x->n; i++) {
		struct js_export_line *l = &x->line[i];

		if (l->left_out)
			continue;
		l->item.datapath.data = text_at(x, l->datapath);
		l->item.reason = text_at(x, l->reason);
		l->item.log = text_at(x, l->log);
		l->item.err_log = text_at(x, l->err_log);
		l->item.err_tail.data = text_at(x, l->tail);
		l->item.to_stack = text_at(x, l->to_stack);
		l->item.note = text_at(x, l->note);
		js_worker_cache_fill(x->cache, &l->item);
		if (x->streaming) {
			(void)snprintf(x->cursor, sizeof(x->cursor), "%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu32,
				       x->stack.id, x->no, l->item.entry, l->item.attempt);
			l->item.cursor = x->cursor;
		}
		if (x->fn(x->ctx, &l->item) != 0)
			return JOBSTACK_ESTOPPED;
	}
	return 0;
}

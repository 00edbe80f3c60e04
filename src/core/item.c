/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An item out of rows.
 */
#include "core/item.h"

#include <stdlib.h>
#include <string.h>

/* How a column of each kind is read. */
#define READ_CODE (int32_t) js_row_opt
#define READ_SIGNAL (int32_t) js_row_i64
#define READ_TEXT read_text
#define READ_MOMENT js_row_time
#define READ_CPU js_row_opt
#define READ_KIB js_row_opt
#define READ_SIZE js_row_opt
#define READ_COUNT js_row_opt
#define READ_U32 (uint32_t) js_row_u64
#define READ_BYTES read_bytes

#define READ(member, column, field, kind, ...) i->member = READ_##kind(row, c++);
#define READ_OF_WORKER(member, column, kind) i->member = READ_##kind(row, c++);
#define ONE(...) +1
enum { COLUMNS = 3 JS_ATTEMPT(ONE) };

static const char *read_text(const struct js_row *row, unsigned c)
{
	return row->col[c];
}

static struct jobstack_bytes read_bytes(const struct js_row *row, unsigned c)
{
	return (struct jobstack_bytes){row->col[c], row->len[c]};
}

void js_item_attempt(struct jobstack_item *i, const struct js_row *row, unsigned *column)
{
	unsigned c = *column;

	i->attempt = (uint32_t)js_row_u64(row, c++);
	i->outcome = (int)js_row_opt(row, c++);
	JS_ATTEMPT(READ)
	i->err_tail = read_bytes(row, c);
	*column += COLUMNS;
}

void js_item_no_attempt(struct jobstack_item *i)
{
	static const char *const null[COLUMNS];
	static const unsigned long none[COLUMNS];
	const struct js_row row = {0, COLUMNS, null, none};
	unsigned c = 0;

	js_item_attempt(i, &row, &c);
}

void js_item_worker(struct jobstack_item *i, const struct js_row *row, unsigned *column)
{
	unsigned c = *column;
	const char *log;

	i->worker = js_row_u64(row, c++);
	JS_ITEM_OF_WORKER(READ_OF_WORKER)
	log = read_text(row, c++);
	i->log = i->log_at < 0 ? NULL : i->log != NULL ? i->log : log;
	i->err_log = i->err_at < 0 ? NULL : i->err_log != NULL ? i->err_log : log;
	*column = c;
}

int64_t js_item_since(const char *running, uint64_t entry)
{
	while (running != NULL && *running != '\0') {
		char *end;
		uint64_t id = strtoull(running, &end, 10);

		if (id == entry && *end == ':' && (end = strchr(end + 1, ':')) != NULL)
			return strtoll(end + 1, NULL, 10);
		running = strchr(running, ',');
		running = running == NULL ? NULL : running + 1;
	}
	return -1;
}

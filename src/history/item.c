/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An item out of rows.
 */
#include "history/item.h"

#include "queue/identity.h"

#include <string.h>

/* How a column of each kind is read. */
#define JS_READ_CAUSE (enum jobstack_cause) js_row_u64
#define JS_READ_CODE (int32_t) js_row_opt
#define JS_READ_SIGNAL (int32_t) js_row_i64
#define JS_READ_MOMENT js_row_time
#define JS_READ_CPU js_row_opt
#define JS_READ_KIB js_row_opt
#define JS_READ_SIZE js_row_opt
#define JS_READ_COUNT js_row_opt
#define JS_READ_FACT js_row_opt

#define READ_ATTEMPT(member, column, field, kind, ...) JS_COLUMN_READ(member, column, kind)
#define ONE(...) +1
enum { COLUMNS = 3 JS_ATTEMPT(ONE) };

void js_item_attempt(struct jobstack_item *to, const struct js_row *row, unsigned *column)
{
	unsigned c = *column;

	to->attempt = (uint32_t)js_row_u64(row, c++);
	to->outcome = (int)js_row_opt(row, c++);
	JS_ATTEMPT(READ_ATTEMPT)
	to->err_tail = js_row_bytes(row, c);
	*column += COLUMNS;
}

/* Reads a row of NULLs, so that each member gets the value that stands for "not known". */
void js_item_no_attempt(struct jobstack_item *i)
{
	static const char *const null[COLUMNS];
	static const unsigned long none[COLUMNS];
	const struct js_row row = {0, COLUMNS, null, none};
	unsigned c = 0;

	js_item_attempt(i, &row, &c);
}

#define COPY(member) to->member = from->member;
#define COPY_COLUMN(member, ...) COPY(member)
#define IN_IDENTITY(X)                                                                                                 \
	X(host) X(cluster) X(job) X(array_job) X(array_task) X(step) X(qos) X(partition) X(cwd) X(argv) X(platform)

const char *js_item_read_worker(struct jobstack_item *to, const struct js_row *row, unsigned *column)
{
	struct js_identity identity, *from = &identity;
	unsigned c = *column;

	to->worker = js_row_u64(row, c++);
	JS_ITEM_OF_WORKER(JS_COLUMN_READ)
	js_identity_read(js_row_own(row, c++), &identity);
	IN_IDENTITY(COPY)
	*column = c;
	return identity.log;
}

/* The log of an attempt with output, but without a file of its own, is the worker's. */
void js_item_set_worker(struct jobstack_item *to, const struct jobstack_item *from, const char *log)
{
	COPY(worker)
	JS_ITEM_OF_WORKER(COPY_COLUMN)
	IN_IDENTITY(COPY)
	to->log = to->log_at < 0 ? NULL : to->log != NULL ? to->log : log;
	to->err_log = to->err_at < 0 ? NULL : to->err_log != NULL ? to->err_log : log;
}

void js_item_worker(struct jobstack_item *to, const struct js_row *row, unsigned *column)
{
	struct jobstack_item worker;
	const char *log = js_item_read_worker(&worker, row, column);

	js_item_set_worker(to, &worker, log);
}

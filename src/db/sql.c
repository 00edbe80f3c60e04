/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The packet builder.  Promise: a byte from outside leaves here only as two hexadecimal digits.
 */
#include "db/sql.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add_hex(struct js_buf *buf, const void *data, size_t len)
{
	static const char digit[] = "0123456789ABCDEF";
	const unsigned char *from = data;
	char *to;

	if (data == NULL) {
		js_buf_str(buf, "NULL");
		return;
	}
	to = js_buf_room(buf, 2 * len + 3);
	if (to == NULL)
		return;
	*to++ = 'x';
	*to++ = '\'';
	for (size_t i = 0; i < len; i++) {
		*to++ = digit[from[i] >> 4];
		*to++ = digit[from[i] & 15];
	}
	*to++ = '\'';
	*to = '\0';
	buf->len += 2 * len + 3;
}

static void add_u64(struct js_buf *buf, uint64_t value)
{
	char text[20], *p = text + sizeof(text);

	do
		*--p = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	js_buf_add(buf, p, (size_t)(text + sizeof(text) - p));
}

static void add_i64(struct js_buf *buf, int64_t value)
{
	if (value < 0)
		js_buf_char(buf, '-');
	add_u64(buf, value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value);
}

/* As '2026-11-21 06:20:11.123456': of our own making, so it may stand as text. */
static void add_time(struct js_buf *buf, int64_t wall_us)
{
	char iso[JS_CLOCK_ISO];

	js_clock_iso(wall_us, iso);
	if (iso[0] == '\0') {
		js_buf_str(buf, "NULL");
		return;
	}
	iso[10] = ' ';
	js_buf_char(buf, '\'');
	js_buf_add(buf, iso, strlen(iso) - 1);
	js_buf_char(buf, '\'');
}

/* The last statement is whole: counts it, and notes whether it answers with rows. */
static void complete(struct js_sql *sql)
{
	const char *text = sql->text.failed ? "" : sql->text.data + sql->begin;

	if (strncmp(text, "SELECT ", 7) == 0 && strstr(text, " INTO @js_") == NULL) {
		if (sql->rows_n < JS_SQL_ROWS)
			sql->rows[sql->rows_n] = sql->statements;
		sql->rows_n++;
	}
	sql->statements++;
	sql->begin = sql->text.len;
}

static void add(struct js_sql *sql, const char *format, va_list args)
{
	const char *p, *text;
	const void *data;
	int64_t number;

	for (p = strchr(format, '%'); p != NULL; format = p + 2, p = strchr(format, '%')) {
		js_buf_add(&sql->text, format, (size_t)(p - format));
		switch (p[1]) {
		case 'u':
			add_u64(&sql->text, va_arg(args, uint64_t));
			break;
		case 'd':
			add_i64(&sql->text, va_arg(args, int64_t));
			break;
		case 'n':
			number = va_arg(args, int64_t);
			if (number < 0)
				js_buf_str(&sql->text, "NULL");
			else
				add_i64(&sql->text, number);
			break;
		case 'x':
			data = va_arg(args, const void *);
			add_hex(&sql->text, data, va_arg(args, size_t));
			break;
		case 's':
			text = va_arg(args, const char *);
			add_hex(&sql->text, text, text == NULL ? 0 : strlen(text));
			break;
		case 't':
			add_time(&sql->text, va_arg(args, int64_t));
			break;
		default:
			abort(); /* a format that is not one of ours: caught by any test that runs it */
		}
	}
	js_buf_str(&sql->text, format);
	if (sql->text.len > 0 && sql->text.data[sql->text.len - 1] == ';')
		complete(sql);
}

void js_sql_add(struct js_sql *sql, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(sql, format, args);
	va_end(args);
}

unsigned js_sql_stmt(struct js_sql *sql, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(sql, format, args);
	va_end(args);
	js_buf_char(&sql->text, ';');
	complete(sql);
	return sql->statements - 1;
}

void js_sql_guard_set(struct js_sql *sql, uint64_t n, const char *assignments)
{
	unsigned number = sql->statements;

	/* ROW_COUNT() is -1 where the server could not send the answer before, because the client has gone: as an unsigned number
	 * that would be plenty, and a fenced step that comes late would go through.  A SET, since it has no rows to send. */
	js_sql_add(sql, "SET @js_guard=CAST(ROW_COUNT()>=%u AS UNSIGNED)-1", n);
	if (assignments != NULL)
		js_sql_add(sql, ",");
	js_sql_stmt(sql, assignments != NULL ? assignments : "");
	if (sql->guards_n < sizeof(sql->guards) / sizeof(sql->guards[0]))
		sql->guards[sql->guards_n++] = number;
}

void js_sql_guard(struct js_sql *sql, uint64_t n)
{
	js_sql_guard_set(sql, n, NULL);
}

int js_sql_is_guard(const struct js_sql *sql, unsigned number)
{
	for (unsigned i = 0; i < sql->guards_n; i++)
		if (sql->guards[i] == number)
			return 1;
	return 0;
}

void js_sql_reset(struct js_sql *sql)
{
	js_buf_reset(&sql->text);
	sql->statements = sql->guards_n = sql->rows_n = 0;
	sql->begin = 0;
}

void js_sql_free(struct js_sql *sql)
{
	js_buf_free(&sql->text);
	sql->statements = sql->guards_n = sql->rows_n = 0;
	sql->begin = 0;
}

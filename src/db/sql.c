/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The packet builder.  Promise: a byte from outside leaves here only as two hexadecimal digits.
 */
#include "db/sql.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add_hex_literal(struct js_buf *buf, const void *data, size_t len)
{
	js_buf_str(buf, data == NULL ? "NULL" : "x'");
	if (data == NULL)
		return;
	js_buf_hex(buf, "0123456789ABCDEF", data, len);
	js_buf_char(buf, '\'');
}

/* Adds a number, or NULL if it is negative. */
static void add_number_or_null(struct js_buf *buf, int64_t value)
{
	if (value < 0)
		js_buf_str(buf, "NULL");
	else
		js_buf_u64(buf, (uint64_t)value);
}

/* Adds a time as 20261121062011.123456: the server reads a number faster than a text. */
static void add_time(struct js_buf *buf, int64_t wall_us)
{
	char iso[JS_CLOCK_ISO];

	js_clock_iso(wall_us, iso);
	if (iso[0] == '\0')
		js_buf_str(buf, "NULL");
	for (const char *p = iso; *p != '\0'; p++)
		if (*p == '.' || (*p >= '0' && *p <= '9'))
			js_buf_char(buf, *p);
}

const struct js_sql_mark *js_sql_mark(const struct js_sql *sql, unsigned number)
{
	return (const struct js_sql_mark *)(const void *)sql->marks.data + number;
}

/* Where the last, unfinished statement begins. */
static size_t last_begin(const struct js_sql *sql)
{
	return sql->statements == 0 || sql->marks.failed ? 0 : js_sql_mark(sql, sql->statements - 1)->end;
}

/* Completes the last statement.  In a transaction of ours only a SELECT without INTO answers with rows. */
static void complete_statement(struct js_sql *sql, unsigned flags)
{
	struct js_sql_mark mark = {sql->text.len, flags | sql->only, 0};
	const char *text = sql->text.failed ? "" : sql->text.data + last_begin(sql);

	if (strncmp(text, "SELECT ", 7) == 0 && strstr(text, " INTO @js_") == NULL)
		mark.flags |= JS_SQL_ROWS;
	js_buf_add(&sql->marks, &mark, sizeof(mark));
	sql->text.failed |= sql->marks.failed;
	sql->statements++;
	sql->only = 0;
}

/* Notes that what was written since AT is a value: what prepared blocks replace by a ?. */
static void note_value(struct js_sql *sql, size_t at)
{
	const struct js_sql_value value = {at, sql->text.len};

	js_buf_add(&sql->values, &value, sizeof(value));
	sql->text.failed |= sql->values.failed;
}

static void append_format(struct js_sql *sql, const char *format, va_list args)
{
	const char *p, *text;
	const void *data;
	size_t at;

	for (p = strchr(format, '%'); p != NULL; format = p + 2, p = strchr(format, '%')) {
		js_buf_add(&sql->text, format, (size_t)(p - format));
		at = sql->text.len;
		switch (p[1]) {
		case 'u': js_buf_u64(&sql->text, va_arg(args, uint64_t)); break;
		case 'd': js_buf_i64(&sql->text, va_arg(args, int64_t)); break;
		case 'n': add_number_or_null(&sql->text, va_arg(args, int64_t)); break;
		case 'x':
			data = va_arg(args, const void *);
			add_hex_literal(&sql->text, data, va_arg(args, size_t));
			break;
		case 'k': add_hex_literal(&sql->text, va_arg(args, const unsigned char *), 16); break;
		case 's':
			text = va_arg(args, const char *);
			add_hex_literal(&sql->text, text, text == NULL ? 0 : strlen(text));
			break;
		case 't': add_time(&sql->text, va_arg(args, int64_t)); break;
		default: abort(); /* an invalid format: caught by any test that runs it */
		}
		note_value(sql, at);
	}
	js_buf_str(&sql->text, format);
	if (sql->text.len > 0 && sql->text.data[sql->text.len - 1] == ';')
		complete_statement(sql, 0);
}

void js_sql_add(struct js_sql *sql, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append_format(sql, format, args);
	va_end(args);
}

unsigned js_sql_vstmt(struct js_sql *sql, const char *format, va_list args)
{
	append_format(sql, format, args);
	js_buf_char(&sql->text, ';');
	complete_statement(sql, 0);
	return sql->statements - 1;
}

unsigned js_sql_stmt(struct js_sql *sql, const char *format, ...)
{
	va_list args;
	unsigned number;

	va_start(args, format);
	number = js_sql_vstmt(sql, format, args);
	va_end(args);
	return number;
}

void js_sql_list(struct js_sql *sql, const char *words, const uint64_t *numbers, size_t n)
{
	js_sql_add(sql, words);
	for (size_t i = 0; i < n; i++)
		js_sql_add(sql, i == 0 ? "%u" : ",%u", numbers[i]);
	js_sql_add(sql, ")");
}

/* As js_sql_add with ",%n", but without a look at a format for each: rows of `attempt` have many numbers. */
void js_sql_numbers(struct js_sql *sql, const int64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t at;

		js_buf_char(&sql->text, ',');
		at = sql->text.len;
		add_number_or_null(&sql->text, values[i]);
		note_value(sql, at);
	}
}

void js_sql_guard_set(struct js_sql *sql, uint64_t n, const char *assignments)
{
	/* The comparison yields 1 or 0, and 0 - 1 is out of range as an unsigned number.  ROW_COUNT() is compared
	 * before it is cast: where the client has gone, the server could not send it the answer before, and ROW_COUNT()
	 * is -1 from then on.  As an unsigned number that would be huge, and a fenced step that comes late would go
	 * through.  It is a SET, since that has no rows to send. */
	js_sql_add(sql, "SET @js_guard=CAST(ROW_COUNT()>=%u AS UNSIGNED)-1", n);
	if (assignments != NULL) {
		js_buf_char(&sql->text, ',');
		js_buf_str(&sql->text, assignments);
	}
	js_buf_char(&sql->text, ';');
	complete_statement(sql, JS_SQL_GUARD);
}

void js_sql_count(struct js_sql *sql, uint64_t n)
{
	struct js_sql_mark *mark;

	if (sql->marks.failed || sql->statements == 0)
		return;
	js_sql_only(sql, JS_SQL_BLOCKS | (js_sql_mark(sql, sql->statements - 1)->flags & JS_SQL_CLUSTER));
	/* ROW_COUNT() is that of the statement directly before, and only in a SET's first assignment */
	js_sql_stmt(sql, "SET @js_sum=@js_sum+ROW_COUNT()");
	sql->counts = 1;
	if (sql->marks.failed)
		return;
	mark = (struct js_sql_mark *)(void *)sql->marks.data + sql->statements - 1;
	mark->counted = n;
}

/* It holds for the next statement alone: complete_statement takes it back. */
void js_sql_only(struct js_sql *sql, unsigned flags)
{
	sql->only = flags;
}

void js_sql_piece(struct js_sql *sql, const char *text)
{
	js_buf_str(&sql->text, text);
	complete_statement(sql, JS_SQL_BLOCKS);
}

void js_sql_user_lock(struct js_sql *sql, uint64_t of, uint64_t n, unsigned seconds)
{
	sql->lock_of = of;
	sql->lock = n;
	sql->lock_wait = seconds;
}

void js_sql_free(struct js_sql *sql)
{
	js_buf_free(&sql->text);
	js_buf_free(&sql->marks);
	js_buf_free(&sql->values);
	*sql = (struct js_sql){0};
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers and times in the text of a row.
 */
#include "db/row.h"

#include "base/clock.h"

/* A number as the server writes it: digits, maybe behind a minus.  (With strtoll it would take a fifth of a report's
 * time.) */
static uint64_t read_number(const char *p)
{
	int negative = *p == '-';
	uint64_t n = 0;

	for (p += negative; *p >= '0' && *p <= '9'; p++)
		n = 10 * n + (uint64_t)(*p - '0');
	return negative ? 0 - n : n;
}

uint64_t js_row_u64(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? 0 : read_number(row->col[col]);
}

int64_t js_row_i64(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? 0 : (int64_t)read_number(row->col[col]);
}

int64_t js_row_opt(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? -1 : (int64_t)read_number(row->col[col]);
}

int64_t js_row_time(const struct js_row *row, unsigned col)
{
	return js_clock_parse(row->col[col]);
}

const char *js_row_text(const struct js_row *row, unsigned col)
{
	return row->col[col];
}

char *js_row_own(const struct js_row *row, unsigned col)
{
	return (char *)(uintptr_t)row->col[col]; /* it is memory of the client library, or of a copy of the row */
}

struct jobstack_bytes js_row_bytes(const struct js_row *row, unsigned col)
{
	return (struct jobstack_bytes){row->col[col], row->len[col]};
}

void js_row_number(void *number, const struct js_row *row)
{
	*(uint64_t *)number = row == NULL ? UINT64_MAX : js_row_u64(row, 0);
}

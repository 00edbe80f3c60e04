/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers and times in the text of a row.
 */
#include "db/row.h"

#include "base/clock.h"

#include <stdlib.h>

uint64_t js_row_u64(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? 0 : strtoull(row->col[col], NULL, 10);
}

int64_t js_row_i64(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? 0 : strtoll(row->col[col], NULL, 10);
}

int64_t js_row_opt(const struct js_row *row, unsigned col)
{
	return row->col[col] == NULL ? -1 : strtoll(row->col[col], NULL, 10);
}

int64_t js_row_time(const struct js_row *row, unsigned col)
{
	return js_clock_parse(row->col[col]);
}

const char *js_row_text(const struct js_row *row, unsigned col)
{
	return row->col[col];
}

struct jobstack_bytes js_row_bytes(const struct js_row *row, unsigned col)
{
	return (struct jobstack_bytes){row->col[col], row->len[col]};
}

void js_row_number(void *number, const struct js_row *row)
{
	*(uint64_t *)number = row == NULL ? UINT64_MAX : js_row_u64(row, 0);
}

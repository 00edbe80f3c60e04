/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of an answer.
 */
#pragma once

#include <stdint.h>

/* One row of an answer; columns are NULL for SQL NULL, else NUL-terminated.  Valid during the callback. */
struct js_row {
	unsigned stmt; /* the statement's number in the packet */
	unsigned n;    /* as many as the statement asks for, whatever the server sends */
	const char *const *col;
	const unsigned long *len;
};

/* Called for each row; with ROW NULL at the start of each try, to forget what an earlier try brought. */
typedef void js_row_fn(void *ctx, const struct js_row *row);

/* Numbers from a row: 0 for NULL. */
uint64_t js_row_u64(const struct js_row *row, unsigned col);
int64_t js_row_i64(const struct js_row *row, unsigned col);
/* -1 for NULL; and a DATETIME as microseconds since 1970. */
int64_t js_row_opt(const struct js_row *row, unsigned col);
int64_t js_row_time(const struct js_row *row, unsigned col);

/* A js_row_fn for a uint64_t: the number in the first column; UINT64_MAX if there is no row. */
void js_row_number(void *number, const struct js_row *row);

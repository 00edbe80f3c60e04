/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of an answer.
 */
#pragma once

#include "jobstack/jobstack.h"

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

/* A text, NULL for NULL; bytes. */
const char *js_row_text(const struct js_row *row, unsigned col);
struct jobstack_bytes js_row_bytes(const struct js_row *row, unsigned col);

/* A text that the callback may change: NULL for NULL. */
char *js_row_own(const struct js_row *row, unsigned col);

/* The columns of a query, and where they go, stand in one table: a macro TABLE(X) of rows X(MEMBER, COLUMN, KIND).
 * TABLE(JS_COLUMN_NAME) gives the columns for the SELECT, with a comma before each; TABLE(JS_COLUMN_READ) reads them
 * into the members of TO, from column number C of ROW on. */
#define JS_COLUMN_NAME(member, column, ...) "," column
#define JS_COLUMN_READ(member, column, kind) to->member = JS_READ_##kind(row, c++);

#define JS_READ_U64 js_row_u64
#define JS_READ_U32 (uint32_t) js_row_u64
#define JS_READ_FLAG 0 != js_row_u64
#define JS_READ_I64 js_row_i64
#define JS_READ_OPT js_row_opt
#define JS_READ_TIME js_row_time
#define JS_READ_TEXT js_row_text
#define JS_READ_BYTES js_row_bytes

/* A js_row_fn for a uint64_t: the number in the first column; UINT64_MAX if there is no row. */
void js_row_number(void *number, const struct js_row *row);

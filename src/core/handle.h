/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The handle, and single queries on it.
 */
#pragma once

#include "db/db.h"
#include "jobstack/jobstack.h"

struct jobstack {
	struct js_db *db;
	int schema_known; /* the schema was looked at and fits */
};

/* Runs the statement FORMAT, as js_sql_stmt has it, outside of a transaction, or in the view that is open (js_db_view):
 * FN gets its rows. */
int js_handle_ask(struct jobstack *handle, js_row_fn *fn, void *ctx, struct jobstack_error *error, const char *format,
		  ...);

/* Gives the number that the statement selects (uint64_t *NUMBER); UINT64_MAX if there is no row. */
#define js_handle_ask_number(handle, number, error, ...)                                                               \
	js_handle_ask((handle), js_row_number, (number), (error), __VA_ARGS__)

/* Runs the statement as a transaction, with a guard for so many ROWS (0: none): see js_db_commit. */
int js_handle_change(struct jobstack *handle, uint64_t rows, int *lost, struct jobstack_error *error,
		     const char *format, ...);

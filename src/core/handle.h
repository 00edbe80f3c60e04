/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The handle, and single queries on it.
 */
#pragma once

#include "db/db.h"
#include "db/view.h"
#include "jobstack/jobstack.h"

struct jobstack {
	struct js_db *db;
	int schema_known; /* the schema was looked at and fits */
};

/* Runs the statement FORMAT, as js_sql_stmt has it, outside of a transaction: FN gets its rows. */
int js_handle_ask(struct jobstack *handle, js_row_fn *fn, void *ctx, struct jobstack_error *error, const char *format,
		  ...);

/* The same in the view that is open (js_view_open). */
int js_handle_look(struct jobstack *handle, js_row_fn *fn, void *ctx, struct jobstack_error *error, const char *format,
		   ...);

/* Gives the number that the statement selects; UINT64_MAX if there is no row. */
int js_handle_ask_number(struct jobstack *handle, uint64_t *number, struct jobstack_error *error, const char *format,
			 ...);

/* The same for the packet SQL, which it frees. */
int js_handle_number(struct jobstack *handle, struct js_sql *sql, uint64_t *number, struct jobstack_error *error);

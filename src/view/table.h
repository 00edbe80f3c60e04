/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables that fit: columns as wide as what stands in them; on a narrow terminal long names are cut, and the least
 * important columns left out.
 */
#ifndef JS_CLI_TABLE_H
#define JS_CLI_TABLE_H

#include "base/buf.h"
#include "view/term.h"

#include <stddef.h>

#define CLI_TABLE_MAX 24

struct cli_column {
	const char *head;
	int right;	/* its texts stand at the right: numbers */
	unsigned keep;	/* how important it is: the smallest goes first; 0: it stays */
	unsigned least; /* its texts may be cut to so many columns; 0: they may not */
};

/* Start it as {.column = ..., .n = ...}. */
struct cli_table {
	const struct cli_column *column;
	size_t n;
	unsigned hidden; /* a bit a column that is not shown at all */
	struct js_buf text, cells;
};

/* Adds the next cell, row by row.  TEXT is copied; it holds nothing that a terminal would obey. */
void cli_table_cell(struct cli_table *table, enum cli_colour colour, const char *text);
void cli_table_printf(struct cli_table *table, enum cli_colour colour, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends head and rows, each behind INDENT blanks and at most COLUMNS wide (0: as wide as it is); nothing without
 * rows. */
void cli_table_write(const struct cli_table *table, struct js_buf *out, unsigned indent, unsigned columns, int colours);

void cli_table_free(struct cli_table *table);

#endif

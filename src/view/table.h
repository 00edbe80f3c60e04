/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables that fit: columns as wide as what stands in them; on a narrow terminal long names are cut, and the least
 * important columns left out.
 */
#pragma once

#include "base/buf.h"
#include "view/term.h"

#include <stddef.h>
#include <stdint.h>

#define VIEW_TABLE_MAX 24

struct view_column {
	const char *head;
	int right;	/* its texts stand at the right: numbers */
	unsigned keep;	/* how important it is: the smallest goes first; 0: it stays */
	unsigned least; /* its texts may be cut to so many columns; 0: they may not */
};

/* Start it as {.column = ..., .n = ...}. */
struct view_table {
	const struct view_column *column;
	size_t n;
	unsigned hidden; /* a bit a column that is not shown at all */
	struct js_buf text, cells;
};

/* Adds the next cell, row by row.  TEXT is copied; it holds nothing that a terminal would obey. */
void view_table_cell(struct view_table *table, enum view_colour colour, const char *text);
void view_table_printf(struct view_table *table, enum view_colour colour, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void view_table_count(struct view_table *table, enum view_colour colour, uint64_t n);

/* Adds DATA as view_safe makes it a cell; NONE where there is none. */
void view_table_name(struct view_table *table, const char *data, size_t len, const char *none);

/* Where text goes: at most COLUMNS wide (0: as wide as it is), with colour if COLOURS. */
struct view_page {
	struct js_buf *out;
	unsigned columns;
	int colours;
};

/* Appends head and rows, each behind INDENT blanks; nothing without rows.  Frees the table. */
void view_table_write(struct view_table *table, const struct view_page *page, unsigned indent);

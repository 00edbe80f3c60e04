/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables that fit: columns are as wide as their contents.  On a narrow terminal long names are cut, and the least
 * important columns are hidden, first those in which nothing stands but 0.
 */
#pragma once

#include "base/buf.h"
#include "show/term.h"

#include <stddef.h>
#include <stdint.h>

#define VIEW_TABLE_MAX 24

/* RIGHT: aligned right, for numbers.  OPTIONAL: hidden if all its cells are 0 or empty.  SPARE: hidden before any text
 * is cut.  MIDDLE: texts are cut in the middle.  END: their end is kept. */
enum { VIEW_RIGHT = 1, VIEW_OPTIONAL = 2, VIEW_SPARE = 4, VIEW_MIDDLE = 8, VIEW_END = 16 };
struct view_column {
	const char *head;
	int flags;
	unsigned keep;	/* its importance: the column with the smallest number is hidden first; 0: it is never hidden */
	unsigned least; /* its texts may be cut to this width; 0: they may not be cut */
};

/* Start it as {.column = ..., .n = ...}. */
struct view_table {
	const struct view_column *column;
	size_t n;
	struct js_buf text, cells;
};

/* Adds the next cell, row by row.  TEXT is copied; it must not contain control characters. */
void view_table_cell(struct view_table *table, enum view_colour colour, const char *text);
void view_table_printf(struct view_table *table, enum view_colour colour, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void view_table_count(struct view_table *table, enum view_colour colour, uint64_t n);

/* Adds a cell with DATA, escaped by view_safe; with NONE if DATA is empty. */
void view_table_name(struct view_table *table, const char *data, size_t len, const char *none);

/* Where text goes: at most COLUMNS wide (0: as wide as it is), with colour if COLOURS, and bars in UTF8. */
struct view_page {
	struct js_buf *out;
	unsigned columns;
	int colours;
	int utf8;
};

/* Appends heading and rows, each indented by INDENT blanks; nothing if there are no rows.  Frees the table. */
void view_table_write(struct view_table *table, const struct view_page *page, unsigned indent);

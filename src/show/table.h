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

#define SHOW_TABLE_MAX 24

/* RIGHT: aligned right, for numbers.  OPTIONAL: hidden if all its cells are 0 or empty.  SPARE: hidden before any text
 * is cut.  MIDDLE: texts are cut in the middle.  END: their end is kept. */
enum { SHOW_RIGHT = 1, SHOW_OPTIONAL = 2, SHOW_SPARE = 4, SHOW_MIDDLE = 8, SHOW_END = 16 };
struct show_column {
	const char *head;
	int flags;
	unsigned keep;	/* its importance: the column with the smallest number is hidden first; 0: it is never hidden */
	unsigned least; /* its texts may be cut to this width; 0: they may not be cut */
};

/* Start it as {.column = ..., .n = ...}. */
struct show_table {
	const struct show_column *column;
	size_t n;
	struct js_buf text, cells;
};

/* Adds the next cell, row by row.  TEXT is copied; it must not contain control characters. */
void show_table_cell(struct show_table *table, enum show_colour colour, const char *text);
void show_table_printf(struct show_table *table, enum show_colour colour, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

void show_table_count(struct show_table *table, enum show_colour colour, uint64_t n);

/* Adds a cell with DATA, escaped by show_safe. */
void show_table_name(struct show_table *table, const char *data, size_t len);

/* Where text goes: at most COLUMNS wide (0: as wide as it is), with colour if COLOURS, and bars in UTF8. */
struct show_page {
	struct js_buf *out;
	unsigned columns;
	int colours;
	int utf8;
};

/* Appends heading and rows, each indented by INDENT blanks; nothing if there are no rows.  Frees the table. */
void show_table_write(struct show_table *table, const struct show_page *page, unsigned indent);

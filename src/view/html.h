/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pieces of a page for a browser: text, tables, and graphs as SVG.  A graph needs no script; its figures are in a table
 * as well.  Whatever a name contains, nothing of it becomes markup.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* Appends DATA as text: control characters and what is not UTF-8 as view_safe shows them, markup as entities. */
void html_text(struct js_buf *out, const char *data, size_t len);
void html_words(struct js_buf *out, const char *words);

/* Begins a section with a heading and a sentence about what it shows ("": none). */
void html_section(struct js_buf *out, const char *heading, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void html_section_end(struct js_buf *out);

/* A table: its headings, separated by |, those of numbers with a # before them; its cells, row by row.  FOLDED: closed,
 * until somebody opens it. */
void html_table(struct js_buf *out, const char *headings, int folded);
void html_table_begin(struct js_buf *out); /* the same in parts: html_heading for each column, html_table_body */
void html_heading(struct js_buf *out, const char *words, int number);
void html_table_body(struct js_buf *out);
void html_row(struct js_buf *out); /* before the cells of each row */
void html_cell(struct js_buf *out, const char *words);
void html_cell_name(struct js_buf *out, const char *data, size_t len); /* a long one without its middle */
void html_number(struct js_buf *out, double value, const char *shown); /* VALUE is what it is sorted by */
void html_count(struct js_buf *out, uint64_t n);
void html_bar(struct js_buf *out, double share, const char *class); /* a cell with a bar, SHARE of its width */
void html_table_end(struct js_buf *out, int folded);

/* Columns side by side, each of some values on top of each other, as shares of the highest.  LABEL is what a column
 * says when one points to it; TITLE describes the graph. */
#define HTML_KINDS 4
struct html_column {
	double value[HTML_KINDS];
	char label[160];
};
struct html_kind {
	const char *class, *words; /* what its values are */
};
void html_columns(struct js_buf *out, const char *title, const struct html_column *columns, size_t n,
		  const struct html_kind kind[HTML_KINDS]);

/* Below a graph: what is at its left and its right end. */
void html_ends(struct js_buf *out, const char *left, const char *right);

/* Appends the lines of TEXT, which is freed, as they are. */
void html_lines(struct js_buf *out, struct js_buf *text);

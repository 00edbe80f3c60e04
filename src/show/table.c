/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables that fit.  Promise: no line is wider than asked for, and no row is lost for it.
 */
#include "show/table.h"

#include "show/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GAP 2

/* A cell's text is part of table->text.  The cells stand in table->cells, row by row. */
struct cell {
	size_t at, len;
	enum show_colour colour;
};

void show_table_cell(struct show_table *t, enum show_colour colour, const char *text)
{
	struct cell cell = {t->text.len, strlen(text), colour};

	js_buf_str(&t->text, text);
	js_buf_add(&t->cells, &cell, sizeof(cell));
}

void show_table_printf(struct show_table *t, enum show_colour colour, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	show_table_cell(t, colour, text);
}

void show_table_count(struct show_table *t, enum show_colour colour, uint64_t n)
{
	show_table_printf(t, colour, "%" PRIu64, n);
}

void show_table_name(struct show_table *t, const char *data, size_t len)
{
	struct js_buf safe = {0};

	show_safe(&safe, data != NULL ? data : "", len);
	show_table_cell(t, SHOW_PLAIN, safe.len > 0 ? safe.data : "");
	t->text.failed |= safe.failed;
	js_buf_free(&safe);
}

static struct cell get_cell(const struct show_table *t, size_t row, size_t c)
{
	struct cell cell;

	memcpy(&cell, t->cells.data + (row * t->n + c) * sizeof(cell), sizeof(cell));
	return cell;
}

/* How the columns share the width. */
struct shares {
	unsigned wide[SHOW_TABLE_MAX], full[SHOW_TABLE_MAX];
	int out[SHOW_TABLE_MAX], blank[SHOW_TABLE_MAX]; /* BLANK: all cells are 0 or empty */
};

static unsigned total_width(const struct show_table *t, const struct shares *s)
{
	unsigned sum = 0;

	for (size_t c = 0; c < t->n; c++)
		if (!s->out[c])
			sum += s->wide[c] + (sum > 0 ? GAP : 0);
	return sum;
}

/* Hides the least important column with FLAGS, of those that are blank if BLANK.  Returns 0 if there is none. */
static int hide_least_column(const struct show_table *t, struct shares *s, int flags, int blank)
{
	size_t least = t->n;

	for (size_t c = 0; c < t->n; c++)
		if (!s->out[c] && t->column[c].keep > 0 && (t->column[c].flags & flags) == flags &&
		    s->blank[c] >= blank && (least == t->n || t->column[c].keep < t->column[least].keep))
			least = c;
	if (least == t->n)
		return 0;
	s->out[least] = 1;
	return 1;
}

/* Makes the table as narrow as COLUMNS, in this order, until it fits: it hides columns in which nothing stands, the
 * least important first; then those that are SPARE; cuts texts to their least width; hides columns that have something
 * to say; and cuts further, down to one character. */
static void share_width(const struct show_table *t, struct shares *s, unsigned columns)
{
	unsigned sum;

	while (total_width(t, s) > columns && hide_least_column(t, s, 0, 1))
		;
	while (total_width(t, s) > columns && hide_least_column(t, s, SHOW_SPARE, 0))
		;
	if (total_width(t, s) <= columns)
		return;
	for (size_t c = 0; c < t->n; c++)
		if (t->column[c].least > 0 && s->wide[c] > t->column[c].least)
			s->wide[c] = t->column[c].least;
	while (total_width(t, s) > columns && hide_least_column(t, s, 0, 0))
		;
	sum = total_width(t, s);
	/* distributes the remaining width to columns that were cut, or cuts them further */
	for (size_t c = 0; c < t->n; c++) {
		unsigned more = sum < columns ? columns - sum : 0, less = sum > columns ? sum - columns : 0;

		if (s->out[c] || t->column[c].least == 0)
			continue;
		more = more < s->full[c] - s->wide[c] ? more : s->full[c] - s->wide[c];
		less = less < s->wide[c] - 1 ? less : s->wide[c] - 1;
		s->wide[c] += more;
		s->wide[c] -= less;
		sum = sum + more - less;
	}
}

static void add_blanks(struct js_buf *out, unsigned n)
{
	while (n-- > 0)
		js_buf_char(out, ' ');
}

/* Blanks are added by the width on the screen: a text may have more bytes than columns. */
static void write_cell(const struct show_table *t, struct js_buf *out, size_t c, const char *text, size_t len,
		       unsigned wide)
{
	unsigned width = show_width(text, len), fill = width < wide ? wide - width : 0;

	if ((t->column[c].flags & SHOW_RIGHT) != 0)
		add_blanks(out, fill);
	if ((t->column[c].flags & (SHOW_MIDDLE | SHOW_END)) != 0)
		show_cut_inside(out, text, len, wide, (t->column[c].flags & SHOW_MIDDLE) != 0);
	else
		show_cut_bytes(out, text, len, wide);
	if ((t->column[c].flags & SHOW_RIGHT) == 0)
		add_blanks(out, fill);
}

static void write_row(const struct show_table *t, const struct shares *s, const struct show_page *page, size_t row,
		      unsigned indent)
{
	struct js_buf *out = page->out, one = {0};
	int first = 1;

	add_blanks(out, indent);
	for (size_t c = 0; c < t->n; c++) {
		struct cell cell =
			row == 0 ? (struct cell){0, strlen(t->column[c].head), SHOW_BOLD} : get_cell(t, row - 1, c);

		if (s->out[c])
			continue;
		add_blanks(out, first ? 0 : GAP);
		first = 0;
		js_buf_reset(&one);
		write_cell(t, &one, c, row == 0 ? t->column[c].head : t->text.data + cell.at, cell.len, s->wide[c]);
		show_paint(out, page->colours, cell.colour, one.data != NULL ? one.data : "");
	}
	while (!page->colours && out->len > 0 && out->data[out->len - 1] == ' ') /* no blanks at the end of a line */
		out->data[--out->len] = '\0';
	js_buf_char(out, '\n');
	js_buf_free(&one);
}

void show_table_write(struct show_table *t, const struct show_page *page, unsigned indent)
{
	size_t rows = t->text.failed || t->cells.failed ? 0 : t->cells.len / sizeof(struct cell) / t->n;
	struct shares s = {{0}, {0}, {0}, {0}};

	page->out->failed |= t->text.failed || t->cells.failed;
	for (size_t c = 0; c < t->n && rows > 0; c++) {
		s.blank[c] = 1;
		s.wide[c] = (unsigned)strlen(t->column[c].head);
		for (size_t row = 0; row < rows; row++) {
			struct cell cell = get_cell(t, row, c);
			unsigned width = show_width(t->text.data + cell.at, cell.len);

			s.wide[c] = width > s.wide[c] ? width : s.wide[c];
			s.blank[c] &= cell.len == 0 || (cell.len == 1 && t->text.data[cell.at] == '0');
		}
		/* a column is blank only if all its cells are, so this is known after the last row */
		s.full[c] = s.wide[c];
		s.out[c] = s.blank[c] && (t->column[c].flags & SHOW_OPTIONAL) != 0;
	}
	if (page->columns > 0 && total_width(t, &s) + indent > page->columns)
		share_width(t, &s, page->columns > indent ? page->columns - indent : 1);
	for (size_t row = 0; row <= rows && rows > 0; row++)
		write_row(t, &s, page, row, indent);
	js_buf_free(&t->text);
	js_buf_free(&t->cells);
}

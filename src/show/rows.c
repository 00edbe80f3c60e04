/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists of JSON objects as tables.
 */
#include "show/rows.h"

#include "show/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR 12 /* characters */

/* Anything above 0 gets one character at least. */
void show_bar(struct js_buf *out, unsigned width, double n, double of)
{
	unsigned full = of > 0 ? (unsigned)(n / of * width + 0.5) : 0;

	for (unsigned i = 0; i < (full == 0 && n > 0 ? 1 : full); i++)
		js_buf_char(out, '#');
}

/* JSON has seconds, and the functions for text take microseconds. */
struct show_amount show_number(enum show_kind kind, double value)
{
	struct show_amount a = {"-"};

	if (value < 0)
		return a;
	switch (kind) {
	case SHOW_TOOK: return show_took(round(value * 1e6));
	case SHOW_AGO:
		(void)snprintf(a.text, sizeof(a.text), "%.20s ago", show_rough(llround(value * 1e6)).text);
		break;
	case SHOW_SIZE: return show_size(value);
	case SHOW_SHARE: return show_percent(value);
	case SHOW_HOUR: (void)snprintf(a.text, sizeof(a.text), "%02.0f:00", value); break;
	case SHOW_TENTHS: (void)snprintf(a.text, sizeof(a.text), "%.1f", value); break;
	case SHOW_RATIO: (void)snprintf(a.text, sizeof(a.text), "%.2f", value); break;
	default: (void)snprintf(a.text, sizeof(a.text), "%.0f", value);
	}
	return a;
}

struct show_amount show_start(const json_t *object, const char *key)
{
	const char *moment = show_get_text(object, key);
	struct show_amount a = {"?"};

	if (*moment != '\0')
		(void)snprintf(a.text, sizeof(a.text), "%.10s %.8s", moment, moment + 11);
	return a;
}

double show_largest(const json_t *list, const char *key)
{
	double most = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		most = fmax(most, show_get_number(json_array_get(list, i), key));
	return most;
}

static void add_name_cell(struct show_table *table, enum show_colour colour, const struct show_row_column *c,
			  const json_t *one)
{
	struct js_buf name = {0};

	show_get_name(one, c->key, &name);
	show_table_cell(table, colour, name.len > 0 ? name.data : c->kind == SHOW_WORDS ? "" : "-");
	table->text.failed |= name.failed;
	js_buf_free(&name);
}

/* LIST is needed for a bar, whose length is relative to the largest number in its column. */
static void add_row_cell(struct show_table *table, const struct show_row_column *c, const json_t *list,
			 const json_t *one)
{
	double value = show_get_number(one, c->key);
	struct js_buf bar = {0};

	switch (c->kind) {
	case SHOW_NAME:
	case SHOW_WORDS: add_name_cell(table, SHOW_PLAIN, c, one); return;
	case SHOW_OUTCOME:
		add_name_cell(table, strcmp(show_get_text(one, c->key), "done") == 0 ? SHOW_PLAIN : SHOW_RED, c, one);
		return;
	case SHOW_START: show_table_cell(table, SHOW_PLAIN, show_start(one, c->key).text); return;
	case SHOW_BAR:
		show_bar(&bar, BAR, value, show_largest(list, c->key));
		show_table_cell(table, SHOW_PLAIN, bar.data != NULL ? bar.data : "");
		js_buf_free(&bar);
		return;
	default:
		show_table_cell(table, c->kind == SHOW_FAULTS && value > 0 ? SHOW_RED : SHOW_PLAIN,
				show_number(c->kind, value).text);
	}
}

/* Adds the row for all objects from the one at FROM on, with the sums of their counts. */
static void add_rest_row(struct show_table *table, const struct show_row_column *columns, const json_t *list,
			 size_t from)
{
	for (size_t c = 0; c < table->n; c++) {
		double sum = 0;

		for (size_t i = from; i < json_array_size(list); i++)
			sum += show_get_number(json_array_get(list, i), columns[c].key);
		if (c == 0)
			show_table_printf(table, SHOW_PLAIN, "%zu more", json_array_size(list) - from);
		else if (columns[c].kind == SHOW_COUNT || columns[c].kind == SHOW_FAULTS)
			show_table_printf(table, columns[c].kind == SHOW_FAULTS && sum > 0 ? SHOW_RED : SHOW_PLAIN,
					  "%.0f", sum);
		else
			show_table_cell(table, SHOW_PLAIN, "-");
	}
}

/* If there are more than MOST objects, the row of the others is the last of the MOST rows. */
void show_rows(const json_t *list, const struct show_row_column *columns, size_t n, size_t most,
	       const struct show_page *page)
{
	struct show_column column[SHOW_TABLE_MAX];
	struct show_table table = {.column = column, .n = n};
	size_t size = json_array_size(list), shown = most == 0 || size <= most ? size : most - 1;

	for (size_t c = 0; c < n; c++)
		column[c] = columns[c].column;
	for (size_t i = 0; i < shown; i++)
		for (size_t c = 0; c < n; c++)
			add_row_cell(&table, &columns[c], list, json_array_get(list, i));
	if (shown < size)
		add_rest_row(&table, columns, list, shown);
	show_table_write(&table, page, 2);
}

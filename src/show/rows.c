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

void view_bar(struct js_buf *out, unsigned width, double n, double of)
{
	unsigned full = of > 0 ? (unsigned)(n / of * width + 0.5) : 0;

	for (unsigned i = 0; i < (full == 0 && n > 0 ? 1 : full); i++)
		js_buf_char(out, '#');
}

struct view_amount view_number(enum view_kind kind, double value)
{
	struct view_amount a = {"-"};

	if (value < 0)
		return a;
	switch (kind) {
	case VIEW_TOOK: return view_took(round(value * 1e6));
	case VIEW_AGO:
		(void)snprintf(a.text, sizeof(a.text), "%.20s ago", view_rough(llround(value * 1e6)).text);
		break;
	case VIEW_SIZE: return view_size(value);
	case VIEW_SHARE: return view_percent(value);
	case VIEW_HOUR: (void)snprintf(a.text, sizeof(a.text), "%02.0f:00", value); break;
	case VIEW_TENTHS: (void)snprintf(a.text, sizeof(a.text), "%.1f", value); break;
	case VIEW_RATIO: (void)snprintf(a.text, sizeof(a.text), "%.2f", value); break;
	default: (void)snprintf(a.text, sizeof(a.text), "%.0f", value);
	}
	return a;
}

struct view_amount view_start(const json_t *object, const char *key)
{
	const char *moment = view_get_text(object, key);
	struct view_amount a = {"?"};

	if (*moment != '\0')
		(void)snprintf(a.text, sizeof(a.text), "%.10s %.8s", moment, moment + 11);
	return a;
}

double view_largest(const json_t *list, const char *key)
{
	double most = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		most = fmax(most, view_get_number(json_array_get(list, i), key));
	return most;
}

static void add_name_cell(struct view_table *table, enum view_colour colour, const struct view_row_column *c,
			  const json_t *one)
{
	struct js_buf name = {0};

	view_get_name(one, c->key, &name);
	view_table_cell(table, colour, name.len > 0 ? name.data : c->kind == VIEW_WORDS ? "" : "-");
	table->text.failed |= name.failed;
	js_buf_free(&name);
}

static void add_row_cell(struct view_table *table, const struct view_row_column *c, const json_t *list,
			 const json_t *one)
{
	double value = view_get_number(one, c->key);
	struct js_buf bar = {0};

	switch (c->kind) {
	case VIEW_NAME:
	case VIEW_WORDS: add_name_cell(table, VIEW_PLAIN, c, one); return;
	case VIEW_OUTCOME:
		add_name_cell(table, strcmp(view_get_text(one, c->key), "done") == 0 ? VIEW_PLAIN : VIEW_RED, c, one);
		return;
	case VIEW_START: view_table_cell(table, VIEW_PLAIN, view_start(one, c->key).text); return;
	case VIEW_BAR:
		view_bar(&bar, BAR, value, view_largest(list, c->key));
		view_table_cell(table, VIEW_PLAIN, bar.data != NULL ? bar.data : "");
		js_buf_free(&bar);
		return;
	default:
		view_table_cell(table, c->kind == VIEW_FAULTS && value > 0 ? VIEW_RED : VIEW_PLAIN,
				view_number(c->kind, value).text);
	}
}

/* The row for all objects from the one at FROM on. */
static void add_rest_row(struct view_table *table, const struct view_row_column *columns, const json_t *list,
			 size_t from)
{
	for (size_t c = 0; c < table->n; c++) {
		double sum = 0;

		for (size_t i = from; i < json_array_size(list); i++)
			sum += view_get_number(json_array_get(list, i), columns[c].key);
		if (c == 0)
			view_table_printf(table, VIEW_PLAIN, "%zu more", json_array_size(list) - from);
		else if (columns[c].kind == VIEW_COUNT || columns[c].kind == VIEW_FAULTS)
			view_table_printf(table, columns[c].kind == VIEW_FAULTS && sum > 0 ? VIEW_RED : VIEW_PLAIN,
					  "%.0f", sum);
		else
			view_table_cell(table, VIEW_PLAIN, "-");
	}
}

void view_rows(const json_t *list, const struct view_row_column *columns, size_t n, size_t most,
	       const struct view_page *page)
{
	struct view_column column[VIEW_TABLE_MAX];
	struct view_table table = {.column = column, .n = n};
	size_t size = json_array_size(list), shown = most == 0 || size <= most ? size : most - 1;

	for (size_t c = 0; c < n; c++)
		column[c] = columns[c].column;
	for (size_t i = 0; i < shown; i++)
		for (size_t c = 0; c < n; c++)
			add_row_cell(&table, &columns[c], list, json_array_get(list, i));
	if (shown < size)
		add_rest_row(&table, columns, list, shown);
	view_table_write(&table, page, 2);
}

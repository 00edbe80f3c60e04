/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Items as records.  Promise: whatever bytes a name has, a reader of CSV gets them back as they are, and a reader of
 * JSON too (from base64 if they are not UTF-8).
 *
 * This is the only place that writes JSON without jansson: to build and free an object with all fields takes longer
 * than the database and everything else together (docs/DECISIONS.md has the figures).
 */
#include "view/record.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "view/amount.h"
#include "view/json.h"

/* Microseconds as seconds, without trailing zeros, but with at least one decimal, so that programs read it as a
 * floating-point number. */
static void add_seconds(struct js_buf *out, int64_t us)
{
	char text[] = ".000000";
	int64_t rest = us % JS_SECOND_US;
	size_t len = sizeof(text) - 1;

	for (int i = 6; i > 0; i--, rest /= 10)
		text[i] = (char)('0' + rest % 10);
	while (len > 2 && text[len - 1] == '0')
		len--;
	js_buf_i64(out, us / JS_SECOND_US);
	js_buf_add(out, text, len);
}

/* ----------------------------------------------------------------------------------------------------------- CSV */

static void add_csv_text(struct js_buf *out, const char *text, size_t len)
{
	/* an empty text is quoted; an unknown value is not */
	int plain = len > 0 && text[0] != ' ' && text[len - 1] != ' ';

	for (size_t i = 0; i < len && plain; i++)
		plain = text[i] != ',' && text[i] != '"' && (unsigned char)text[i] >= ' ';
	if (plain) {
		js_buf_add(out, text, len);
		return;
	}
	js_buf_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			js_buf_char(out, '"');
		js_buf_char(out, text[i]);
	}
	js_buf_char(out, '"');
}

void view_csv_head(const struct view_fields *fields, struct js_buf *out)
{
	for (size_t i = 0; i < fields->n; i++) {
		if (i > 0)
			js_buf_char(out, ',');
		js_buf_str(out, fields->field[i]->name);
	}
	js_buf_str(out, "\r\n");
}

void view_csv_record(const struct view_fields *fields, const struct jobstack_item *item, struct js_buf *out)
{
	struct view_value v;

	for (size_t i = 0; i < fields->n; i++) {
		if (i > 0)
			js_buf_char(out, ',');
		view_field_value(fields->field[i], item, &v);
		if (v.is == VIEW_TEXT)
			add_csv_text(out, v.text.data, v.text.len);
		else if (v.is == VIEW_NUMBER)
			js_buf_i64(out, v.n);
		else if (v.is == VIEW_SECONDS)
			add_seconds(out, v.n);
		else if (v.is == VIEW_MOMENT)
			js_buf_str(out, view_moment(v.n).text);
		else if (v.is == VIEW_FACT)
			js_buf_printf(out, VIEW_FACT_FORMAT, (uint64_t)v.n);
	}
	js_buf_str(out, "\r\n");
}

/* ---------------------------------------------------------------------------------------------------------- JSON */

static int is_utf8(const char *text, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = (unsigned char)text[i] < 0x80 ? 1 : js_utf8_len(text + i, len - i);
		if (n == 0)
			return 0;
	}
	return 1;
}

static void add_json_text(struct js_buf *out, const char *text, size_t len)
{
	size_t from = 0;

	js_buf_char(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		js_buf_add(out, text + from, i - from);
		if (c < ' ')
			js_buf_printf(out, "\\u%04x", (unsigned)c);
		else {
			js_buf_char(out, '\\');
			js_buf_char(out, (char)c);
		}
		from = i + 1;
	}
	js_buf_add(out, text + from, len - from);
	js_buf_char(out, '"');
}

static void add_json_value(struct js_buf *out, const struct view_value *v)
{
	switch (v->is) {
	case VIEW_TEXT: add_json_text(out, v->text.data, v->text.len); break;
	case VIEW_NUMBER: js_buf_i64(out, v->n); break;
	case VIEW_SECONDS: add_seconds(out, v->n); break;
	case VIEW_MOMENT: js_buf_printf(out, "\"%s\"", view_moment(v->n).text); break;
	case VIEW_FACT: js_buf_printf(out, "\"" VIEW_FACT_FORMAT "\"", (uint64_t)v->n); break;
	default: js_buf_str(out, "null");
	}
}

void view_jsonl_record(const struct view_fields *fields, const struct jobstack_item *item, struct js_buf *out)
{
	struct view_value v;

	js_buf_char(out, '{');
	for (size_t i = 0; i < fields->n; i++) {
		js_buf_str(out, i > 0 ? ",\"" : "\"");
		js_buf_str(out, fields->field[i]->name);
		view_field_value(fields->field[i], item, &v);
		if (v.is == VIEW_TEXT && !is_utf8(v.text.data, v.text.len)) {
			js_buf_str(out, "_base64\":\"");
			view_base64(out, v.text.data, v.text.len);
			js_buf_char(out, '"');
			continue;
		}
		js_buf_str(out, "\":");
		add_json_value(out, &v);
	}
	js_buf_str(out, "}\n");
}

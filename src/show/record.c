/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Items as records.  Promise: whatever bytes a name has, a reader of CSV gets them back as they are, and a reader of
 * JSON too (from base64 if they are not UTF-8).
 *
 * JSON is written here without jansson: to build and free an object with all fields takes longer
 * than the database and everything else together (docs/DECISIONS.md has the figures).
 */
#include "show/record.h"

#include "base/utf8.h"
#include "show/json.h"

/* ----------------------------------------------------------------------------------------------------------- CSV */

/* Quotes a text if a reader could take it for something else: for two fields, for an unknown value (an empty field), or
 * without the blanks at its ends. */
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

void show_csv_head(const struct show_fields *fields, struct js_buf *out)
{
	for (size_t i = 0; i < fields->n; i++) {
		if (i > 0)
			js_buf_char(out, ',');
		js_buf_str(out, fields->field[i]->name);
	}
	js_buf_str(out, "\r\n");
}

void show_csv_record(const struct show_fields *fields, const struct jobstack_item *item, struct js_buf *out)
{
	struct show_value v;

	for (size_t i = 0; i < fields->n; i++) {
		if (i > 0)
			js_buf_char(out, ',');
		show_field_value(fields->field[i], item, &v);
		if (v.is == SHOW_TEXT)
			add_csv_text(out, v.text.data, v.text.len);
		else
			show_value_add(out, &v);
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

/* Copies runs of plain bytes at once, which nearly all are. */
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

void show_json_member(struct js_buf *out, const char *name, const void *text, size_t len)
{
	const int coded = text != NULL && !is_utf8(text, len);

	js_buf_char(out, '"');
	js_buf_str(out, name);
	js_buf_str(out, coded ? "_base64\":\"" : "\":");
	if (coded) {
		show_base64(out, text, len);
		js_buf_char(out, '"');
	} else if (text == NULL)
		js_buf_str(out, "null");
	else
		add_json_text(out, text, len);
}

void show_json_members(const struct show_fields *fields, const struct jobstack_item *item, struct js_buf *out)
{
	for (size_t i = 0; i < fields->n; i++) {
		const char *name = fields->field[i]->name;
		struct show_value v;

		show_field_value(fields->field[i], item, &v);
		if (i > 0)
			js_buf_char(out, ',');
		if (v.is == SHOW_TEXT || v.is == SHOW_UNKNOWN) {
			show_json_member(out, name, v.is == SHOW_TEXT ? v.text.data : NULL, v.text.len);
			continue;
		}
		js_buf_char(out, '"');
		js_buf_str(out, name);
		js_buf_str(out, v.is == SHOW_MOMENT || v.is == SHOW_FACT ? "\":\"" : "\":");
		show_value_add(out, &v);
		if (v.is == SHOW_MOMENT || v.is == SHOW_FACT)
			js_buf_char(out, '"');
	}
}

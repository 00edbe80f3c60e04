/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JSON as the commands print it.  Promise: one object is one line.
 */
#include "view/json.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void view_base64(struct js_buf *out, const void *data, size_t len)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;

	for (; len > 0; p += len < 3 ? len : 3, len -= len < 3 ? len : 3) {
		unsigned bits = (unsigned)p[0] << 16 | (len > 1 ? (unsigned)p[1] << 8 : 0) | (len > 2 ? p[2] : 0u);

		js_buf_char(out, digit[bits >> 18]);
		js_buf_char(out, digit[bits >> 12 & 63]);
		js_buf_char(out, len > 1 ? digit[bits >> 6 & 63] : '=');
		js_buf_char(out, len > 2 ? digit[bits & 63] : '=');
	}
}

int view_json_bytes(json_t *object, const char *key, const void *data, size_t len)
{
	json_t *text = data == NULL ? json_null() : json_stringn(data, len);
	struct js_buf coded = {0}, name = {0};
	int bad;

	if (text != NULL)
		return json_object_set_new(object, key, text);
	view_base64(&coded, data, len);
	js_buf_printf(&name, "%s_base64", key);
	bad = coded.failed || name.failed ||
	      json_object_set_new(object, name.data, json_string(coded.data != NULL ? coded.data : "")) != 0;
	js_buf_free(&coded);
	js_buf_free(&name);
	return bad;
}

int view_json_text(json_t *object, const char *key, const char *text)
{
	return view_json_bytes(object, key, text, text == NULL ? 0 : strlen(text));
}

int view_json_int(json_t *object, const char *key, int64_t value, int present)
{
	return json_object_set_new(object, key, present ? json_integer(value) : json_null());
}

int view_json_count(json_t *object, const char *key, uint64_t value)
{
	return json_object_set_new(object, key, json_integer((json_int_t)value));
}

int view_json_real(json_t *object, const char *key, double value, int present)
{
	return json_object_set_new(object, key, present ? json_real(value) : json_null());
}

int view_json_time(json_t *object, const char *key, int64_t wall_us)
{
	char text[JS_CLOCK_ISO];

	if (wall_us < 0)
		return json_object_set_new(object, key, json_null());
	js_clock_iso(wall_us, text);
	return json_object_set_new(object, key, json_string(text));
}

int view_json_seconds(json_t *object, const char *key, int64_t us)
{
	return view_json_real(object, key, (double)us / 1e6, us >= 0);
}

char *view_json_line(json_t *object)
{
	/* 15 digits: 0.1 is 0.1, and microseconds of a year are whole */
	char *text = object == NULL ? NULL
				    : json_dumps(object, JSON_PRESERVE_ORDER | JSON_COMPACT | JSON_REAL_PRECISION(15));

	json_decref(object);
	return text;
}

int view_json_print(json_t *object, int bad)
{
	char *text = NULL;

	if (bad)
		json_decref(object);
	else
		text = view_json_line(object);
	if (text == NULL)
		return -1;
	(void)fputs(text, stdout);
	(void)putchar('\n');
	free(text);
	return 0;
}

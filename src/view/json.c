/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JSON as it is shown.  Promise: one object is one line.
 */
#include "view/json.h"

#include "view/amount.h"

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

static int failed; /* memory has run out since the last line */

struct view_member view_bytes_member(const char *key, const void *data, size_t len)
{
	struct view_member m = {key, data == NULL ? json_null() : json_stringn(data, len), 0};
	struct js_buf coded = {0};

	if (m.value == NULL) {
		view_base64(&coded, data, len);
		m = (struct view_member){key, coded.failed ? NULL : json_stringn(coded.data, coded.len), 1};
		js_buf_free(&coded);
	}
	return m;
}

struct view_member view_text_member(const char *key, const char *text)
{
	return view_bytes_member(key, text, text == NULL ? 0 : strlen(text));
}

json_t *view_json_time(int64_t wall_us)
{
	return wall_us >= 0 ? json_string(view_moment(wall_us).text) : json_null();
}

json_t *view_json_span(int64_t us)
{
	return us >= 0 ? json_real((double)us / 1e6) : json_null();
}

void view_set(json_t *object, const struct view_member *m)
{
	char key[80];

	for (; m->key != NULL; m++) {
		(void)snprintf(key, sizeof(key), "%s%s", m->key, m->base64 ? "_base64" : "");
		failed |= json_object_set_new(object, key, m->value);
	}
}

void view_json_fail(void)
{
	failed = 1;
}

void view_append(json_t *list, json_t *json)
{
	failed |= json_array_append_new(list, json);
}

json_t *view_object(const struct view_member *m)
{
	json_t *object = json_object();

	view_set(object, m);
	return object;
}

int view_json_line(json_t *object, struct js_buf *out)
{
	/* 15 digits: 0.1 is 0.1, and microseconds of a year are whole */
	char *text = object == NULL ? NULL
				    : json_dumps(object, JSON_PRESERVE_ORDER | JSON_COMPACT | JSON_REAL_PRECISION(15));
	int bad = failed != 0 || text == NULL;

	failed = 0;
	json_decref(object);
	if (!bad)
		js_buf_printf(out, "%s\n", text);
	free(text);
	return bad || out->failed ? -1 : 0;
}

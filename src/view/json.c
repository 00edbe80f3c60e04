/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JSON as it is shown.  Promise: one object is one line.
 */
#include "view/json.h"

#include "view/amount.h"

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

static int set_bytes(json_t *object, const char *key, const void *data, size_t len)
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

static json_t *value_of(const struct view_member *m)
{
	switch (m->is) {
	case VIEW_JSON_COUNT: return json_integer((json_int_t)m->as.count);
	case VIEW_JSON_INT: return m->present ? json_integer(m->as.n) : json_null();
	case VIEW_JSON_REAL: return m->present ? json_real(m->as.real) : json_null();
	case VIEW_JSON_TIME: return m->as.n >= 0 ? json_string(view_moment(m->as.n).text) : json_null();
	case VIEW_JSON_SPAN: return m->as.n >= 0 ? json_real((double)m->as.n / 1e6) : json_null();
	case VIEW_JSON_FLAG: return json_boolean(m->present);
	default: return m->as.value;
	}
}

int view_set(json_t *object, const struct view_member *m)
{
	int bad = object == NULL;

	for (; m->key != NULL; m++)
		if (m->is != VIEW_JSON_BYTES)
			bad |= json_object_set_new(object, m->key, value_of(m));
		else
			bad |= set_bytes(object, m->key, m->as.data,
					 m->len == VIEW_TEXT_LEN && m->as.data != NULL ? strlen(m->as.data) : m->len);
	return bad;
}

json_t *view_object(const struct view_member *m)
{
	json_t *object = json_object();

	return view_checked(object, view_set(object, m));
}

json_t *view_checked(json_t *json, int bad)
{
	if (!bad)
		return json;
	json_decref(json);
	return NULL;
}

int view_json_line(json_t *object, struct js_buf *out)
{
	/* 15 digits: 0.1 is 0.1, and microseconds of a year are whole */
	char *text = object == NULL ? NULL
				    : json_dumps(object, JSON_PRESERVE_ORDER | JSON_COMPACT | JSON_REAL_PRECISION(15));

	json_decref(object);
	if (text == NULL)
		return -1;
	js_buf_str(out, text);
	js_buf_char(out, '\n');
	free(text);
	return out->failed ? -1 : 0;
}

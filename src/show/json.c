/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JSON as it is shown.  Promise: one object is one line.
 */
#include "show/json.h"

#include "show/amount.h"
#include "show/text.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void show_base64(struct js_buf *out, const void *data, size_t len)
{
	unsigned char *to = (unsigned char *)js_buf_room(out, (len + 2) / 3 * 4);

	if (to != NULL)
		out->len += (size_t)EVP_EncodeBlock(to, data, (int)len);
}

static int failed; /* memory has run out since the last line */

/* Jansson accepts only UTF-8, and so tells what has to be coded. */
struct show_member show_bytes_member(const char *key, const void *data, size_t len)
{
	struct show_member m = {key, data == NULL ? json_null() : json_stringn(data, len), 0};
	struct js_buf coded = {0};

	if (m.value == NULL) {
		show_base64(&coded, data, len);
		m = (struct show_member){key, coded.failed ? NULL : json_stringn(coded.data, coded.len), 1};
		js_buf_free(&coded);
	}
	return m;
}

struct show_member show_text_member(const char *key, const char *text)
{
	return show_bytes_member(key, text, text == NULL ? 0 : strlen(text));
}

struct show_member show_said_member(const char *key, struct js_buf *said)
{
	struct show_member m = show_bytes_member(key, said->data, said->len);

	failed |= said->failed;
	js_buf_free(said);
	return m;
}

json_t *show_json_time(int64_t wall_us)
{
	return wall_us >= 0 ? json_string(show_moment(wall_us).text) : json_null();
}

json_t *show_json_span(int64_t us)
{
	return us >= 0 ? json_real((double)us / 1e6) : json_null();
}

/* A value of NULL makes jansson fail, so memory that ran out while a member was made is noticed here. */
void show_set(json_t *object, const struct show_member *m)
{
	char key[80];

	for (; m->key != NULL; m++) {
		(void)snprintf(key, sizeof(key), "%s%s", m->key, m->base64 ? "_base64" : "");
		failed |= json_object_set_new(object, key, m->value);
	}
}

void show_append(json_t *list, json_t *json)
{
	failed |= json_array_append_new(list, json);
}

json_t *show_object(const struct show_member *m)
{
	json_t *object = json_object();

	show_set(object, m);
	return object;
}

double show_get_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : -1;
}

const char *show_get_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* The text views show what the JSON has, so bytes that are in it as base64 are decoded again. */
void show_get_name(const json_t *object, const char *key, struct js_buf *out)
{
	const json_t *text = json_object_get(object, key);
	struct js_buf bytes = {0};
	char coded[80];
	size_t len;

	if (json_is_string(text)) {
		show_safe(out, json_string_value(text), json_string_length(text));
		return;
	}
	(void)snprintf(coded, sizeof(coded), "%s_base64", key);
	text = json_object_get(object, coded);
	len = json_string_length(text);
	if (len == 0)
		return;
	if (js_buf_room(&bytes, len) != NULL)
		bytes.len = (size_t)EVP_DecodeBlock((unsigned char *)bytes.data,
						    (const unsigned char *)json_string_value(text), (int)len);
	while (bytes.len > 0 && json_string_value(text)[--len] == '=') /* which is decoded to a NUL */
		bytes.len--;
	show_safe(out, bytes.data, bytes.len);
	out->failed |= bytes.failed;
	js_buf_free(&bytes);
}

/* Fails once for all calls since the last line that had no memory. */
int show_json_line(json_t *object, struct js_buf *out)
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

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker's identity as JSON.  Promises: any bytes come back as they were; what somebody else has written there is
 * read without harm.
 */
#include "queue/identity.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------- writing */

static int is_utf8(const char *data, size_t len)
{
	for (size_t n; len > 0; data += n, len -= n)
		if ((n = *data == '\0' ? 1 : js_utf8_len(data, len)) == 0)
			return 0;
	return 1;
}

static void write_member(struct js_buf *json, const char *name)
{
	js_buf_printf(json, "%s\"%s\":", json->len <= 1 ? "" : ",", name);
}

/* JSON can't hold bytes that are not UTF-8, and a host's name or a path may have any. */
static void write_text(struct js_buf *json, const char *name, const char *data, size_t len)
{
	if (data == NULL)
		return;
	write_member(json, name);
	if (!is_utf8(data, len)) {
		js_buf_str(json, "{\"hex\":\"");
		js_buf_hex(json, "0123456789abcdef", data, len);
		js_buf_str(json, "\"}");
		return;
	}
	js_buf_char(json, '"');
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)data[i] < ' ')
			js_buf_printf(json, "\\u%04x", (unsigned)data[i]);
		else {
			js_buf_str(json, data[i] == '"' || data[i] == '\\' ? "\\" : "");
			js_buf_char(json, data[i]);
		}
	}
	js_buf_char(json, '"');
}

static void write_number(struct js_buf *json, const char *name, int64_t value)
{
	if (value < 0)
		return;
	write_member(json, name);
	js_buf_i64(json, value);
}

#define WRITE_TEXT(member) write_text(json, #member, o->member, o->member == NULL ? 0 : strlen(o->member));
#define WRITE_NUMBER(member) write_number(json, #member, o->member);

void js_identity_write(const struct jobstack_worker_options *o, struct js_buf *json)
{
	js_buf_char(json, '{');
	JS_IDENTITY_NUMBERS(WRITE_NUMBER)
	JS_IDENTITY_TEXTS(WRITE_TEXT)
	write_text(json, "argv", o->argv.data, o->argv.len);
	js_buf_char(json, '}');
}

/* ------------------------------------------------------------------------------------------------------- reading */

/* The value of LEN hexadecimal digits; other characters count as 0. */
static unsigned read_hex(const char *digits, size_t len)
{
	static const char known[] = "0123456789abcdef0123456789ABCDEF";
	unsigned value = 0;

	for (size_t i = 0; i < len && digits[i] != '\0'; i++) {
		const char *digit = strchr(known, digits[i]);

		value = value * 16 + (digit == NULL ? 0 : (unsigned)(digit - known) % 16);
	}
	return value;
}

/* Decodes the string that begins with the quote at *AT, and moves *AT behind it.  The decoded text is never longer, and
 * its NUL takes the place of a quote at the latest.  We write \u only for control characters. */
static char *read_string(char **at, size_t *len)
{
	static const char escaped[] = "bfnrt", control[] = "\b\f\n\r\t";
	char *text = *at + 1, *from = text, *to = text;

	for (; *from != '"' && *from != '\0'; from++) {
		const char *known;

		if (*from != '\\' || from[1] == '\0') {
			*to++ = *from;
			continue;
		}
		known = strchr(escaped, *++from);
		if (*from == 'u' && strlen(from) > 4) {
			*to++ = (char)read_hex(from + 1, 4);
			from += 4;
		} else
			*to++ = known != NULL ? control[known - escaped] : *from;
	}
	*at = from + (*from != '\0');
	*to = '\0';
	*len = (size_t)(to - text);
	return text;
}

/* The same of {"hex": "..."}: the string behind the colon is the digits of the bytes. */
static char *read_bytes(char **at, size_t *len)
{
	char *colon = strchr(*at, ':'), *quote = colon == NULL ? NULL : strchr(colon, '"'), *text;

	if (quote == NULL) {
		*at += strlen(*at);
		return NULL;
	}
	text = read_string(&quote, len);
	*at = quote;
	*len /= 2;
	for (size_t i = 0; i < *len; i++)
		text[i] = (char)read_hex(text + 2 * i, 2);
	text[*len] = '\0';
	return text;
}

#define FORGET_NUMBER(member) identity->member = -1;
#define TAKE_TEXT(member)                                                                                              \
	if (strcmp(name, #member) == 0)                                                                                \
		identity->member = text;
#define TAKE_NUMBER(member)                                                                                            \
	if (strcmp(name, #member) == 0)                                                                                \
		identity->member = number;

void js_identity_read(char *json, struct js_identity *identity)
{
	memset(identity, 0, sizeof(*identity));
	JS_IDENTITY_NUMBERS(FORGET_NUMBER)
	for (char *at = json; at != NULL && (at = strchr(at, '"')) != NULL;) {
		size_t len = 0;
		const char *name = read_string(&at, &len), *text;
		int64_t number;

		at += strspn(at, ": ");
		if (*at == '"' || *at == '{') {
			text = *at == '"' ? read_string(&at, &len) : read_bytes(&at, &len);
			JS_IDENTITY_TEXTS(TAKE_TEXT)
			if (strcmp(name, "argv") == 0 && text != NULL)
				identity->argv = (struct jobstack_bytes){text, len};
		} else {
			number = strtoll(at, &at, 10);
			JS_IDENTITY_NUMBERS(TAKE_NUMBER)
		}
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The growable string.  Promise: data[len] is NUL whenever data is not NULL.
 */
#include "base/buf.h"

#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The memory doubles, so that all copies together are fewer than 2 N bytes, even if N bytes are added one by one. */
char *js_buf_room(struct js_buf *buf, size_t len)
{
	size_t need = buf->len + len + 1, room = buf->room > 0 ? buf->room : 256;
	char *grown;

	if (buf->failed)
		return NULL;
	if (need > buf->room) {
		while (room < need)
			room *= 2;
		grown = realloc(buf->data, room);
		if (grown == NULL) {
			buf->failed = 1;
			return NULL;
		}
		buf->data = grown;
		buf->room = room;
	}
	return buf->data + buf->len;
}

void js_buf_add(struct js_buf *buf, const void *data, size_t len)
{
	char *to = js_buf_room(buf, len);

	if (to == NULL)
		return;
	if (len > 0)
		memcpy(to, data, len);
	to[len] = '\0';
	buf->len += len;
}

void js_buf_str(struct js_buf *buf, const char *text)
{
	js_buf_add(buf, text, strlen(text));
}

void js_buf_char(struct js_buf *buf, char c)
{
	js_buf_add(buf, &c, 1);
}

void js_buf_u64(struct js_buf *buf, uint64_t value)
{
	char text[20];

	js_buf_add(buf, text, js_num_text(value, text));
}

void js_buf_i64(struct js_buf *buf, int64_t value)
{
	if (value < 0)
		js_buf_char(buf, '-');
	js_buf_u64(buf, value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value);
}

void js_buf_hex(struct js_buf *buf, const char digits[16], const void *data, size_t len)
{
	const unsigned char *from = data;
	char *to = js_buf_room(buf, 2 * len);

	if (to == NULL)
		return;
	for (size_t i = 0; i < len; i++) {
		*to++ = digits[from[i] >> 4];
		*to++ = digits[from[i] & 15];
	}
	*to = '\0';
	buf->len += 2 * len;
}

/* The text is formatted twice, since its length is not known before. */
void js_buf_printf(struct js_buf *buf, const char *format, ...)
{
	va_list args, again;
	int need;

	va_start(args, format);
	va_copy(again, args);
	need = vsnprintf(NULL, 0, format, args);
	if (need < 0)
		buf->failed = 1;
	else if (js_buf_room(buf, (size_t)need) != NULL) {
		(void)vsnprintf(buf->data + buf->len, (size_t)need + 1, format, again);
		buf->len += (size_t)need;
	}
	va_end(again);
	va_end(args);
}

void js_buf_reset(struct js_buf *buf)
{
	buf->len = 0;
	buf->failed = 0;
	if (buf->data != NULL)
		buf->data[0] = '\0';
}

void js_buf_wipe(struct js_buf *buf)
{
	if (buf->data != NULL)
		explicit_bzero(buf->data, buf->room);
	js_buf_free(buf);
}

void js_buf_free(struct js_buf *buf)
{
	int saved = errno;

	free(buf->data);
	*buf = (struct js_buf){0};
	errno = saved;
}

void js_buf_shell_quote(struct js_buf *buf, const char *text, size_t len)
{
	js_buf_char(buf, '\'');
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\'')
			js_buf_str(buf, "'\\''");
		else
			js_buf_char(buf, text[i]);
	js_buf_char(buf, '\'');
}

void js_buf_shell_word(struct js_buf *buf, const char *text, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
	size_t i = 0;

	while (i < len && memchr(plain, text[i], sizeof(plain) - 1) != NULL)
		i++;
	if (len > 0 && i == len)
		js_buf_add(buf, text, len);
	else
		js_buf_shell_quote(buf, text, len);
}

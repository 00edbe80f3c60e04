/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names as text.  Promise: what cli_quote and cli_quote_line write is read by the shell as exactly the bytes that went in.
 */
#include "cli/text.h"

#include "base/utf8.h"

#include <string.h>

/* The length of the character at DATA if a terminal shows it, else 0. */
static size_t shown(const char *data, size_t len)
{
	const unsigned char *p = (const unsigned char *)data;
	size_t n = js_utf8_len(data, len);

	if ((n == 1 && (p[0] < 0x20 || p[0] == 0x7f)) || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0))
		return 0; /* C0 and C1 controls */
	return n;
}

void cli_safe(struct js_buf *out, const void *data, size_t len)
{
	const char *p = data, *end = p + len;

	while (p < end) {
		size_t n = *p == '\\' ? 0 : shown(p, (size_t)(end - p));

		if (n > 0)
			js_buf_add(out, p, n);
		else
			js_buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*p);
		p += n > 0 ? n : 1;
	}
}

void cli_quote(struct js_buf *out, const void *data, size_t len)
{
	const char *p = data, *end = p + len;

	js_buf_char(out, '\'');
	while (p < end) {
		const char *quote = memchr(p, '\'', (size_t)(end - p));
		const char *stop = quote != NULL ? quote : end;

		js_buf_add(out, p, (size_t)(stop - p));
		if (quote != NULL)
			js_buf_str(out, "'\\''");
		p = stop + (quote != NULL);
	}
	js_buf_char(out, '\'');
}

void cli_quote_line(struct js_buf *out, const void *data, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
	const char *text = data;
	int bare = len > 0, safe = 1;

	for (size_t i = 0, n; i < len; i += n > 0 ? n : 1) {
		n = shown(text + i, len - i);
		safe &= n > 0;
		bare &= text[i] != '\0' && strchr(plain, text[i]) != NULL;
	}
	if (bare) {
		js_buf_add(out, text, len);
		return;
	}
	if (safe) {
		cli_quote(out, text, len);
		return;
	}
	js_buf_str(out, "$'");
	for (size_t i = 0, n; i < len; i += n > 0 ? n : 1) {
		n = shown(text + i, len - i);
		if (n == 0)
			js_buf_printf(out, "\\%03o", (unsigned)(unsigned char)text[i]);
		else if (text[i] == '\'' || text[i] == '\\')
			js_buf_printf(out, "\\%c", text[i]);
		else
			js_buf_add(out, text + i, n);
	}
	js_buf_char(out, '\'');
}

void cli_size(struct js_buf *out, double bytes)
{
	static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	size_t u = 0;

	for (; bytes >= 1024 && u < 4; u++)
		bytes /= 1024;
	js_buf_printf(out, u == 0 ? "%.0f %s" : "%.1f %s", bytes, unit[u]);
}

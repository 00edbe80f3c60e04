/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names as text.  Promise: what show_quote_line writes is read by the shell as exactly the bytes that went in.
 */
#include "show/text.h"

#include "base/utf8.h"

#include <string.h>

#define VALUE_MAX 160 /* bytes of a value in a message; of a longer one only the ends are shown */
#define VALUE_HEAD 100
#define VALUE_TAIL 40
#define WORDS_MAX 1200 /* the same of a whole message */
#define WORDS_HEAD 400

/* Appends text with \xHH for what can't be shown.  BACKSLASH: it is escaped, too, so that nobody can write a \xHH that
 * was none. */
static void add_escaped(struct js_buf *out, const char *p, size_t len, int backslash)
{
	const char *end = len == 0 ? p : p + len; /* P may be NULL */

	while (p < end) {
		size_t n = backslash && *p == '\\' ? 0 : js_utf8_shown(p, (size_t)(end - p));

		if (n > 0)
			js_buf_add(out, p, n);
		else
			js_buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*p);
		p += n > 0 ? n : 1;
	}
}

void show_safe(struct js_buf *out, const void *data, size_t len)
{
	add_escaped(out, data, len, 1);
}

void show_safe_lines(struct js_buf *out, const char *before, const char *data, size_t len)
{
	const char *end = data + len, *newline;

	for (size_t n; data < end; data += n + (data + n < end)) {
		newline = memchr(data, '\n', (size_t)(end - data));
		n = (size_t)((newline != NULL ? newline : end) - data);
		js_buf_str(out, before);
		show_safe(out, data, n);
		js_buf_char(out, '\n');
	}
}

/* Appends TEXT with "..." in place of the bytes from FROM to TO, without cutting a character. */
static void add_without_middle(struct js_buf *out, const char *text, size_t len, size_t from, size_t to)
{
	while (from > 0 && (text[from] & 0xc0) == 0x80)
		from--;
	while (to < len && (text[to] & 0xc0) == 0x80)
		to++;
	js_buf_add(out, text, from);
	js_buf_str(out, "...");
	js_buf_add(out, text + to, len - to);
}

/* A message with a long quotation is cut inside of that, between the first and the last quote: what the message says
 * itself stays. */
void show_safe_words(struct js_buf *out, const char *words)
{
	struct js_buf safe = {0};
	const char *text, *quote, *last;

	add_escaped(&safe, words, strlen(words), 0);
	text = safe.data != NULL ? safe.data : "";
	quote = memchr(text, '"', safe.len);
	last = quote != NULL ? memrchr(text, '"', safe.len) : NULL;
	if (last != NULL && last - quote > VALUE_MAX)
		add_without_middle(out, text, safe.len, (size_t)(quote - text) + VALUE_HEAD,
				   (size_t)(last - text) - VALUE_TAIL);
	else if (safe.len > WORDS_MAX)
		add_without_middle(out, text, safe.len, WORDS_HEAD, safe.len - WORDS_HEAD);
	else
		js_buf_add(out, text, safe.len);
	out->failed |= safe.failed;
	js_buf_free(&safe);
}

/* Ordinary quotes where all can be shown; else $'...', in which three octal digits can't run into the next byte. */
void show_quote_line(struct js_buf *out, const void *data, size_t len)
{
	const char *text = data, *p = text, *end = text + len;
	size_t n;

	while (p < end && (n = js_utf8_shown(p, (size_t)(end - p))) > 0)
		p += n;
	if (p == end) {
		js_buf_shell_word(out, text, len);
		return;
	}
	js_buf_str(out, "$'");
	for (p = text; p<end; p += n> 0 ? n : 1) {
		n = js_utf8_shown(p, (size_t)(end - p));
		if (n == 0)
			js_buf_printf(out, "\\%03o", (unsigned)(unsigned char)*p);
		else if (*p == '\'' || *p == '\\')
			js_buf_printf(out, "\\%c", *p);
		else
			js_buf_add(out, p, n);
	}
	js_buf_char(out, '\'');
}

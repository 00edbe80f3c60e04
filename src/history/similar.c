/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Making messages alike.  Promise: the same bytes in give the same bytes out, whatever they are, and never more than
 * fits.
 */
#include "history/similar.h"

#include "base/utf8.h"

#include <string.h>

static int is_blank(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int is_word_byte(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

size_t js_similar_last(const char *text, size_t len, const char **line)
{
	size_t begin;

	while (len > 0 && is_blank(text[len - 1]))
		len--;
	for (begin = len; begin > 0 && text[begin - 1] != '\n' && text[begin - 1] != '\r'; begin--)
		;
	while (begin < len && is_blank(text[begin]))
		begin++;
	*line = text + begin;
	return len - begin;
}

/* The output, as far as it fits. */
struct out {
	char *at;
	size_t n, room; /* bytes in it; how many it can have, without the NUL */
	int full;	/* something did not fit: nothing more is added */
};

static void put_bytes(struct out *o, const char *data, size_t len)
{
	if (o->full || o->n + len > o->room) {
		o->full = 1;
		return;
	}
	memcpy(o->at + o->n, data, len);
	o->n += len;
}

static int begins_with(const char *p, size_t len, const char *word, size_t n)
{
	return n > 0 && len >= n && memcmp(p, word, n) == 0;
}

/* Returns the length of a path at P, and where its base name begins in it; 0 if there is none. */
static size_t path_length(const char *p, size_t len, size_t *base)
{
	size_t n = 0;

	if (p[0] != '/' && !begins_with(p, len, "./", 2) && !begins_with(p, len, "../", 3) &&
	    !begins_with(p, len, "~/", 2))
		return 0;
	*base = 0;
	while (n < len && !is_blank(p[n]) && strchr("\"'`<>|;,()[]{}:=", p[n]) == NULL) {
		if (p[n] == '/' && n + 1 < len && is_word_byte(p[n + 1]))
			*base = n + 1;
		n++;
	}
	return *base > 1 ? n : 0; /* /name alone may be an option, a rate or a date */
}

/* Returns the length of a number or a hexadecimal word at P, which stands at the beginning of a word if FRESH; 0 if
 * there is none.  A hexadecimal word without 0x has at least eight digits, and one that is no letter: "deadbeef" is a
 * word. */
static size_t number_length(const char *p, size_t len, int fresh)
{
	size_t n = 0, hex = 0, digits = 0;

	if (fresh) {
		size_t from = begins_with(p, len, "0x", 2) ? 2 : 0;

		for (hex = from; hex < len && is_hex(p[hex]); hex++)
			digits += (size_t)is_digit(p[hex]);
		if ((from > 0 && hex > from) || (hex >= 8 && digits > 0 && (hex == len || !is_word_byte(p[hex]))))
			return hex;
	}
	while (n < len && is_digit(p[n]))
		n++;
	return n;
}

/* At each place the first of these that fits: the datapath, its base name, another path, a number, a blank, a
 * character. */
void js_similar(const char *line, size_t len, const char *datapath, size_t path_len, char *out, size_t size)
{
	const char *slash = datapath == NULL ? NULL : memrchr(datapath, '/', path_len);
	const char *name = slash == NULL ? datapath : slash + 1;
	size_t name_len = name == NULL ? 0 : path_len - (size_t)(name - datapath), base = 0, n;
	struct out o = {out, 0, size - 1, 0};

	for (size_t i = 0; i < len && !o.full; i += n) {
		const char *p = line + i;
		int fresh = i == 0 || !is_word_byte(p[-1]);

		if (datapath != NULL && begins_with(p, len - i, datapath, path_len) && path_len > 1) {
			n = path_len;
			put_bytes(&o, "{}", 2);
		} else if (fresh && name_len > 2 && begins_with(p, len - i, name, name_len)) {
			n = name_len;
			put_bytes(&o, "{}", 2);
		} else if (fresh && (n = path_length(p, len - i, &base)) > 0) {
			put_bytes(&o, ".../", 4);
			n = base; /* the base name comes next */
		} else if ((n = number_length(p, len - i, fresh)) > 0) {
			put_bytes(&o, "#", 1);
		} else if (is_blank(*p)) {
			n = 1;
			if (o.n > 0 && o.at[o.n - 1] != ' ')
				put_bytes(&o, " ", 1);
		} else {
			n = js_utf8_len(p, len - i);
			n = n > 0 ? n : 1;
			put_bytes(&o, p, n);
		}
	}
	out[o.n] = '\0';
}

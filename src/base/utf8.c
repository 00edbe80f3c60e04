/* SPDX-License-Identifier: BSD-2-Clause
 *
 * UTF-8.  Promise: what RFC 3629 does not allow (long forms, surrogates, beyond U+10FFFF) is not well-formed.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* The character at DATA.  Its length, or 0. */
static size_t decode_utf8(const char *data, size_t len, uint32_t *code)
{
	const unsigned char *p = (const unsigned char *)data;
	size_t n;

	if (len == 0)
		return 0;
	*code = p[0];
	if (p[0] < 0x80)
		return 1;
	n = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : 0;
	if (n == 0 || n > len)
		return 0;
	*code = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3fu);
	}
	if ((n == 3 && *code < 0x800) || (n == 4 && *code < 0x10000) || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return n;
}

struct range {
	uint32_t first, last;
};

static int is_in_ranges(uint32_t code, const struct range *range, size_t n)
{
	for (size_t i = 0; i < n && code >= range[i].first; i++)
		if (code <= range[i].last)
			return 1;
	return 0;
}
#define IS_IN(code, ranges) is_in_ranges(code, ranges, sizeof(ranges) / sizeof(ranges[0]))

size_t js_utf8_len(const char *data, size_t len)
{
	uint32_t code;

	return decode_utf8(data, len, &code);
}

size_t js_utf8_shown(const char *data, size_t len)
{
	/* C0 and C1; the marks, embeddings, overrides and isolates of writing from right to left; the zero width space;
	 * the separators of lines and paragraphs; the byte order mark; annotations; tags */
	static const struct range hidden[] = {{0, 0x1f},	{0x7f, 0x9f},	   {0x61c, 0x61c},   {0x200b, 0x200b},
					      {0x200e, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f}, {0xfeff, 0xfeff},
					      {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
	uint32_t code = 0;
	size_t n = decode_utf8(data, len, &code);

	return n > 0 && IS_IN(code, hidden) ? 0 : n;
}

void js_utf8_clean(char *text)
{
	for (char *end = text + strlen(text); text < end;) {
		size_t n = js_utf8_shown(text, (size_t)(end - text));

		if (n == 0)
			*text = '?';
		text += n > 0 ? n : 1;
	}
}

unsigned js_utf8_columns(const char *data, size_t n)
{
	/* coarse, as terminals are: whole blocks of Unicode */
	static const struct range wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0x4dbf},   {0x4e00, 0xa4cf},  {0xa960, 0xa97c},
		{0xac00, 0xd7a3},   {0xf900, 0xfaff},	{0xfe30, 0xfe6f},   {0xff01, 0xff60},  {0xffe0, 0xffe6},
		{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
	static const struct range on_top[] = {{0x300, 0x36f},	 {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
					      {0x64b, 0x65f},	 {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
					      {0x20d0, 0x20ff},	 {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
					      {0xe0100, 0xe01ef}};
	uint32_t code = 0;

	if (decode_utf8(data, n, &code) == 0 || code < 0x300)
		return 1;
	return IS_IN(code, on_top) ? 0 : IS_IN(code, wide) ? 2 : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * UTF-8.  Promise: what RFC 3629 does not allow (long forms, surrogates, beyond U+10FFFF) is not well-formed.
 */
#include "base/utf8.h"

size_t js_utf8_len(const char *data, size_t len)
{
	const unsigned char *p = (const unsigned char *)data;
	unsigned long code;
	size_t n;

	if (len == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	n = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : 0;
	if (n == 0 || n > len)
		return 0;
	code = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	if ((n == 3 && code < 0x800) || (n == 4 && code < 0x10000) || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

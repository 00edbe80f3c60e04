/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Globs over bytes.  Promise: no locale matters, although fnmatch reads bytes as letters of the present one.
 */
#include "base/glob.h"

#include <fnmatch.h>
#include <locale.h>
#include <string.h>

/* Reads one byte of a bracket, which may have a backslash before it.  Returns 0, or -1 at the end. */
static int read_bracket_byte(const unsigned char **p, const unsigned char *end, unsigned char *byte)
{
	if (*p < end && **p == '\\')
		(*p)++;
	if (*p >= end)
		return -1;
	*byte = *(*p)++;
	return 0;
}

/* Checks the bracket at G.  *LEN becomes its length.  Returns what is wrong with it, or NULL. */
static const char *check_bracket(const unsigned char *g, const unsigned char *end, size_t *len)
{
	static const char no_end[] = "a [ has no ]";
	const unsigned char *p = g + 1;
	unsigned char low, high;

	p += p < end && (*p == '!' || *p == '^');
	do {
		if (end - p > 1 && p[0] == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '='))
			return "[:digit:] and other named classes are not supported: write [0-9]";
		if (read_bracket_byte(&p, end, &low) != 0)
			return no_end;
		high = low;
		if (end - p > 1 && p[0] == '-' && p[1] != ']') {
			p++;
			if (read_bracket_byte(&p, end, &high) != 0)
				return no_end;
		}
		if (low > high)
			return "a range in [] goes backwards";
	} while (p < end && *p != ']');
	if (p >= end)
		return no_end;
	*len = (size_t)(p + 1 - g);
	return NULL;
}

const char *js_glob_fault(const char *glob, size_t len)
{
	const unsigned char *g = (const unsigned char *)glob, *end = g + len;
	const char *why = NULL;
	size_t step;

	if (len == 0)
		return "it is empty";
	for (; g < end && why == NULL; g += step) {
		step = 1;
		if (*g == '[')
			why = check_bracket(g, end, &step);
		else if (*g == '\\' && ++step > (size_t)(end - g))
			why = "nothing follows its last backslash";
	}
	return why;
}

int js_glob_match(const char *glob, const char *text)
{
	const locale_t bytes = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(bytes); /* of this thread */
	const int matches = fnmatch(glob, text, 0) == 0;

	(void)uselocale(before);
	freelocale(bytes);
	return matches;
}

/* LIKE's own wildcards, and the character that escapes them, get an escape. */
void js_glob_like(struct js_buf *out, const char *glob, size_t len)
{
	const char *end = glob + len;
	size_t step;

	for (; glob < end; glob += step) {
		step = 1;
		if (*glob == '*')
			js_buf_char(out, '%');
		else if (*glob == '?')
			js_buf_char(out, '_');
		else if (*glob == '[') {
			(void)check_bracket((const unsigned char *)glob, (const unsigned char *)end, &step);
			js_buf_char(out, '_');
		} else {
			if (*glob == '\\')
				glob++;
			if (strchr("%_|", *glob) != NULL && *glob != '\0')
				js_buf_char(out, '|');
			js_buf_char(out, *glob);
		}
	}
}

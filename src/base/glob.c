/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Globs over bytes.  Promises: no locale has a say (fnmatch would read bytes as letters of one); the time is at most
 * that of comparing each byte of the text with each piece of the glob.
 */
#include "base/glob.h"

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

/* Does the bracket at G match BYTE? *LEN becomes its length, *WHY what is wrong with it, or NULL. */
static int in_bracket(const unsigned char *g, const unsigned char *end, unsigned char byte, size_t *len,
		      const char **why)
{
	const unsigned char *p = g + 1;
	int others = p < end && (*p == '!' || *p == '^'), in = 0;
	unsigned char low, high;

	*why = "a [ has no ]";
	p += others;
	do {
		if (end - p > 1 && p[0] == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '=')) {
			*why = "[:digit:] and other named classes are not supported: write [0-9]";
			return 0;
		}
		if (read_bracket_byte(&p, end, &low) != 0)
			return 0;
		high = low;
		if (end - p > 1 && p[0] == '-' && p[1] != ']') {
			p++;
			if (read_bracket_byte(&p, end, &high) != 0)
				return 0;
		}
		if (low > high) {
			*why = "a range in [] goes backwards";
			return 0;
		}
		in |= byte >= low && byte <= high;
	} while (p < end && *p != ']');
	if (p >= end)
		return 0;
	*len = (size_t)(p + 1 - g);
	*why = NULL;
	return in != others;
}

/* Does the piece at G, which is not a star, match BYTE? *LEN becomes its length. */
static int piece_matches(const unsigned char *g, const unsigned char *end, unsigned char byte, size_t *len)
{
	const char *why;

	*len = 1;
	switch (*g) {
	case '?': return 1;
	case '[': return in_bracket(g, end, byte, len, &why);
	case '\\': *len = 2; return g[1] == byte;
	default: return *g == byte;
	}
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
			(void)in_bracket(g, end, 0, &step, &why);
		else if (*g == '\\' && ++step > (size_t)(end - g))
			why = "nothing follows its last backslash";
	}
	return why;
}

int js_glob_match(const char *glob, size_t len, const char *text, size_t text_len)
{
	const unsigned char *g = (const unsigned char *)glob, *end = g + len, *star = NULL;
	const unsigned char *t = (const unsigned char *)text, *t_end = t + text_len, *back = t;
	size_t step;

	while (t < t_end) {
		if (g < end && *g == '*') {
			star = ++g;
			back = t;
		} else if (g < end && piece_matches(g, end, *t, &step)) {
			g += step;
			t++;
		} else if (star != NULL) { /* the last star takes one more; an earlier one need not */
			g = star;
			t = ++back;
		} else
			return 0;
	}
	while (g < end && *g == '*')
		g++;
	return g == end;
}

void js_glob_like(struct js_buf *out, const char *glob, size_t len)
{
	const char *why, *end = glob + len;
	size_t step;

	for (; glob < end; glob += step) {
		step = 1;
		if (*glob == '*')
			js_buf_char(out, '%');
		else if (*glob == '?')
			js_buf_char(out, '_');
		else if (*glob == '[') {
			(void)in_bracket((const unsigned char *)glob, (const unsigned char *)end, 0, &step, &why);
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

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The placeholders.  Promise: a name is bytes with a length; nothing here looks for its NUL, or at its encoding.
 */
#define _GNU_SOURCE
#include "run/place.h"

#include <string.h>

int js_place_is_name(enum js_place place)
{
	return place >= JS_PLACE_DATAPATH && place <= JS_PLACE_BASENOEXT;
}

size_t js_place_match(const char *text, const char *repl, enum js_place *place)
{
	static const char *const word[JS_PLACE_COUNT] = {NULL, "{}", "{/}", "{//}", "{.}", "{/.}", "{#}", "{%}"};
	size_t best = 0;

	*place = JS_PLACE_NONE;
	for (int i = JS_PLACE_DATAPATH; i < JS_PLACE_COUNT; i++) {
		const char *w = i == JS_PLACE_DATAPATH && repl != NULL ? repl : word[i];
		size_t len = strlen(w);

		if (len > best && strncmp(text, w, len) == 0) {
			best = len;
			*place = (enum js_place)i;
		}
	}
	return best;
}

/* A name taken apart: [start, end) is the base name without slashes at the end, DIR the length of its directory. */
struct parts {
	size_t start, end, dir;
};

static void take_apart(const char *name, size_t len, struct parts *parts)
{
	const char *slash;

	while (len > 1 && name[len - 1] == '/')
		len--;
	parts->end = len;
	slash = len > 1 ? memrchr(name, '/', len) : NULL;
	parts->start = slash == NULL ? 0 : (size_t)(slash - name) + 1;
	parts->dir = parts->start;
	while (parts->dir > 1 && name[parts->dir - 1] == '/')
		parts->dir--;
}

/* Where the base name's extension begins (its dot), or its end. */
static size_t extension(const char *name, const struct parts *parts)
{
	size_t first = parts->start;
	const char *dot;

	while (first < parts->end && name[first] == '.')
		first++;
	dot = memrchr(name + first, '.', parts->end - first);
	return dot == NULL ? parts->end : (size_t)(dot - name);
}

static void add_number(struct js_buf *out, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	js_buf_add(out, digits + at, sizeof(digits) - at);
}

void js_place_add(struct js_buf *out, enum js_place place, const struct js_template_values *values)
{
	const char *name = values->datapath;
	size_t len = values->datapath_len;
	struct parts parts;

	take_apart(name, len, &parts);
	switch (place) {
	case JS_PLACE_DATAPATH:
		js_buf_add(out, name, len);
		break;
	case JS_PLACE_BASE:
		js_buf_add(out, name + parts.start, parts.end - parts.start);
		break;
	case JS_PLACE_DIR:
		if (parts.end == 1 && name[0] == '/') /* the root is its own directory */
			js_buf_char(out, '/');
		else if (parts.dir == 0)
			js_buf_char(out, '.');
		else
			js_buf_add(out, name, parts.dir);
		break;
	case JS_PLACE_NOEXT: /* a slash at the end stays: what it names has no extension to lose */
		js_buf_add(out, name, parts.end < len ? len : extension(name, &parts));
		break;
	case JS_PLACE_BASENOEXT:
		js_buf_add(out, name + parts.start, extension(name, &parts) - parts.start);
		break;
	case JS_PLACE_NUMBER:
		add_number(out, values->entry);
		break;
	case JS_PLACE_SLOT:
		add_number(out, values->slot);
		break;
	case JS_PLACE_NONE:
	case JS_PLACE_COUNT:
		break;
	}
}

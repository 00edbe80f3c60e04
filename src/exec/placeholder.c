/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The placeholders.  Promise: a name is bytes with a length; nothing here looks for its NUL, or at its encoding.
 */
#include "exec/placeholder.h"

#include "base/error.h"

#include <string.h>

#define FIELD_DIGITS 3 /* more is no placeholder */

int js_place_is_name(enum js_place place)
{
	return place >= JS_PLACE_DATAPATH && place < JS_PLACE_NUMBER;
}

/* The placeholders of the whole name, by their enum. */
static const char *const word[JS_PLACE_COUNT] = {NULL,	  "{}",	    "{/}",  "{//}",  "{.}",    "{..}", "{...}", "{/.}",
						 "{/..}", "{/...}", "{+.}", "{+..}", "{+...}", "{+/}", "{#}",	"{%}"};

/* Returns the length of the placeholder of a field with which TEXT begins: {1}, {1/}, {1//}, {1.}, {1/.}; or 0. */
static size_t match_field(const char *text, struct js_spot *spot)
{
	size_t digits = 0;
	unsigned n = 0;

	if (text[0] != '{' || text[1] == '0')
		return 0;
	for (; digits < FIELD_DIGITS && text[1 + digits] >= '0' && text[1 + digits] <= '9'; digits++)
		n = 10 * n + (unsigned)(text[1 + digits] - '0');
	for (int i = JS_PLACE_DATAPATH; digits > 0 && js_place_is_name((enum js_place)i); i++) {
		size_t rest = strlen(word[i]) - 1;

		if (strncmp(text + 1 + digits, word[i] + 1, rest) == 0) {
			*spot = (struct js_spot){(enum js_place)i, n};
			return 1 + digits + rest;
		}
	}
	return 0;
}

/* Returns the length of a placeholder that GNU parallel would replace, and nothing here does; or 0: {##}, {0#}, {-1},
 * {%.gz}, {=perl=} and the like.  As text it would surprise, so it is refused. */
static size_t match_foreign(const char *text)
{
	size_t sign = text[0] == '{' && text[1] == '-', digits, marks;
	const char *end;

	if (strncmp(text, "{=", 2) == 0)
		return (end = strstr(text + 2, "=}")) != NULL ? (size_t)(end - text) + 2 : 0;
	if (strncmp(text, "{%.", 3) == 0 || strncmp(text, "{#.", 3) == 0)
		return (end = strchr(text, '}')) != NULL ? (size_t)(end - text) + 1 : 0;
	digits = text[0] == '{' ? strspn(text + 1 + sign, "0123456789") : 0;
	marks = text[0] == '{' ? strspn(text + 1 + sign + digits, "./+#%") : 0;
	return (sign ? digits : marks) > 0 && text[1 + sign + digits + marks] == '}' ? sign + digits + marks + 2 : 0;
}

/* The longest match wins, so {/.} is not read as {/ and text.  With -I alone all braces are text, and directly after $
 * braces are the shell's.  Only what is no placeholder of ours is compared with those of GNU parallel. */
size_t js_place_match(const char *text, const char *at, const struct js_template_syntax *syntax, struct js_spot *spot)
{
	const char *repl = syntax != NULL ? syntax->repl : NULL, *colsep = syntax != NULL ? syntax->colsep : NULL;
	struct js_spot field = {JS_PLACE_NONE, 0};
	size_t best = 0, len;

	*spot = (struct js_spot){JS_PLACE_NONE, 0};
	for (int i = JS_PLACE_DATAPATH; i < JS_PLACE_COUNT; i++) {
		const char *w = i == JS_PLACE_DATAPATH && repl != NULL ? repl : word[i];

		len = strlen(w);
		if (len > best && strncmp(at, w, len) == 0) {
			best = len;
			spot->place = (enum js_place)i;
		}
	}
	if ((repl != NULL && colsep == NULL) || (at > text && at[-1] == '$')) /* with -I, braces are text */
		return best;
	len = match_field(at, &field);
	if (len <= best && (best > 0 || (len = match_foreign(at)) == 0))
		return best;
	if (field.place == JS_PLACE_NONE)
		field.place = JS_PLACE_COUNT;
	*spot = field;
	if (colsep == NULL && field.field == 1)
		spot->field = 0;
	return len;
}

int js_place_check(const char *text, size_t len, const struct js_spot *spot, const struct js_template_syntax *syntax,
		   struct jobstack_error *error)
{
	if (spot->place == JS_PLACE_COUNT)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "%.*s is a placeholder of GNU parallel that jobstack does not have: let a shell "
				    "change the name, as in `--shell -- 'f={}; echo \"${f%%.gz}\"'` (if it is meant as "
				    "text, choose another placeholder with -I WORD, and write WORD instead of {})",
				    (int)len, text);
	if (spot->field == 0 || (syntax != NULL && syntax->colsep != NULL))
		return 0;
	return js_error_set(error, JOBSTACK_EUSAGE,
			    "%.*s is the placeholder of a field, and fields need --colsep (if it is meant as text, "
			    "choose another placeholder with -I WORD, and write WORD instead of {})",
			    (int)len, text);
}

/* A name taken apart: [start, end) is the base name without slashes at the end, DIR the length of its directory. */
struct parts {
	size_t start, end, dir;
};

/* Slashes at the end are no part of the base name, and none before it is part of the directory; but "/" is its own base
 * name. */
static void split_name(const char *name, size_t len, struct parts *parts)
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

/* Returns where the last N extensions of the base name begin (the dot), or its end if there are not so many.  Dots at
 * the beginning begin no extension. */
static size_t find_extension(const char *name, const struct parts *parts, int n)
{
	size_t first = parts->start, at = parts->end;
	const char *dot;

	while (first < parts->end && name[first] == '.')
		first++;
	for (; n > 0; n--, at = (size_t)(dot - name))
		if ((dot = memrchr(name + first, '.', at - first)) == NULL)
			return parts->end;
	return at;
}

/* Returns what follows the first field of NAME and its separator, or NULL after the last field. */
static const char *next_field(const char *name, const char *end, const char *colsep)
{
	const char *separator = memmem(name, (size_t)(end - name), colsep, strlen(colsep));

	return separator != NULL ? separator + strlen(colsep) : NULL;
}

unsigned js_template_fields(const char *datapath, size_t len, const char *colsep)
{
	const char *end = datapath + len;
	unsigned n = 1;

	while ((datapath = next_field(datapath, end, colsep)) != NULL)
		n++;
	return n;
}

/* Makes *NAME and *LEN those of the field, which is empty if there are not so many. */
static void select_field(const char **name, size_t *len, unsigned field, const char *colsep)
{
	const char *at = *name, *end = at + *len, *next;

	for (; field > 1 && at != NULL; field--)
		at = next_field(at, end, colsep);
	next = at != NULL ? next_field(at, end, colsep) : NULL;
	*name = at != NULL ? at : end;
	*len = (size_t)((next != NULL ? next - strlen(colsep) : end) - *name);
}

void js_place_add(struct js_buf *out, const struct js_spot *spot, const struct js_template_values *values,
		  const char *colsep)
{
	const char *name = values->datapath;
	size_t len = values->datapath_len, dot, from;
	/* NOEXT, its two relatives, BASENOEXT and EXT with theirs; else a large number */
	const unsigned cut = (unsigned)spot->place - JS_PLACE_NOEXT;
	struct parts parts;

	if (spot->field > 0 && colsep != NULL)
		select_field(&name, &len, spot->field, colsep);
	split_name(name, len, &parts);
	if (cut < 9) {
		dot = find_extension(name, &parts, (int)(cut % 3) + 1);
		from = cut < 3 ? 0 : cut < 6 ? parts.start : dot + (dot < parts.end);
		/* a slash at the end stays: what it names has no extension to lose */
		dot = cut >= 6 ? parts.end : cut < 3 && parts.end < len ? len : dot;
		js_buf_add(out, name + from, dot - from);
		return;
	}
	switch (spot->place) {
	case JS_PLACE_DATAPATH: js_buf_add(out, name, len); break;
	case JS_PLACE_BASE: js_buf_add(out, name + parts.start, parts.end - parts.start); break;
	case JS_PLACE_DIR:
		if (parts.end == 1 && name[0] == '/') /* the root is its own directory */
			js_buf_char(out, '/');
		else if (parts.dir == 0)
			js_buf_char(out, '.');
		else
			js_buf_add(out, name, parts.dir);
		break;
	case JS_PLACE_PARENT: js_buf_add(out, name, parts.dir - (parts.dir == 1 && name[0] == '/')); break;
	case JS_PLACE_NUMBER: js_buf_u64(out, values->entry); break;
	case JS_PLACE_SLOT: js_buf_u64(out, values->slot); break;
	default: break;
	}
}

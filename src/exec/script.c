/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shell scripts with placeholders.  Promise: only text of the script's author goes into the script, never a name.
 * Where this reader can't be sure how the shell reads a place, it refuses a placeholder.
 */
#include "exec/script.h"

#include "base/error.h"

#include <string.h>

/* What becomes of a script, by the quotes in which a placeholder stands:
 *
 *   cat {}          cat "${1}"
 *   cat "a {}"      cat "a ${1}"
 *   cat 'a {}'      cat 'a '"${1}"''
 *   cat {} {/}      cat "${1}" "${2}"     run as SHELL -c SCRIPT jobstack DATAPATH BASENAME
 */

/* Parts of a script that the shell reads in a way of its own, so that no placeholder can stand in them.  A part begins
 * with OPEN and ends with the first byte of STOPS.  If another byte of STOPS comes before that, or the first is
 * missing, this reader can't be sure where the part ends, and allows no placeholder after it either.  An unquoted
 * $(...) is not in this table: its words are read like those around it. */
static const struct part {
	const char *open, *stops;
	char quote; /* it counts within double quotes ('"'), outside of quotes ('\0'), or in both ('*') */
} parts[] = {
	{"`", "`", '*'},	  {"$'", "'", '\0'},	      {"$((", ")('\"`{#", '*'},
	{"((", ")('\"`{#", '\0'}, {"$(", ")('\"`{#<\n", '"'}, {"${", "}{('\"`| \t\n", '*'},
	{"$[", "", '*'},	  {"#", "\n", '\0'},	      {")#", "", '\0'},
	{"<<", "", '\0'},	  {"\\\n", "", '*'},
};

struct reader {
	const char *p, *source;
	const struct js_template_syntax *syntax;
	struct js_script *script;
	struct jobstack_error *error;
	int placed;	  /* a placeholder was there, or none is needed */
	char quote;	  /* in which quotes it is, or '\0' */
	const char *part; /* what opened the last part (OPEN of parts[]) */
	const char *end;  /* where that part ends; a placeholder before it is refused */
};

/* Replaces the placeholder of LEN bytes at r->p by its positional parameter.  It is always in double quotes: within
 * double quotes it is there already; single quotes are ended before it and begun again after it. */
static int put_place(struct reader *r, const struct js_spot *spot, int len)
{
	const char *quote = r->quote == '\'' ? "'\"" : r->quote == '"' ? "" : "\"";
	struct js_spot *places = r->script->places;
	size_t i = 0;

	if (r->p < r->end)
		return js_error_set(
			r->error, JOBSTACK_EUSAGE,
			"the script can't have %.*s in %.*s or after it: put f=%.*s; in front, and type "
			"\"$f\" there (in a here-document: $f; never in ((...)), where the name could run as code)",
			len, r->p, (int)strcspn(r->part, "\n"), r->part, len, r->p);
	JS_TRY(js_place_check(r->p, (size_t)len, spot, r->syntax, r->error));
	while (places[i].place != JS_PLACE_NONE && (places[i].place != spot->place || places[i].field != spot->field))
		if (++i == sizeof(r->script->places) / sizeof(places[0]) - 1)
			return js_error_set(r->error, JOBSTACK_EUSAGE, "the script has too many placeholders");
	places[i] = *spot;
	js_buf_printf(&r->script->text, "%s${%zu}%s", quote, i + 1, r->quote == '\'' ? "\"'" : quote);
	r->p += len;
	r->placed = 1;
	return 0;
}

/* Begins a part, and finds its end.  A "case" in it may have a ')' that does not end it.  Returns how many bytes to
 * copy. */
static int begin_part(struct reader *r, const struct part *part)
{
	const char *start = r->p + strlen(part->open), *end = start + strcspn(start, part->stops);

	if (*end != part->stops[0] || end[-1] == '\\' ||
	    (*end == ')' && memmem(start, (size_t)(end - start), "case", 4) != NULL)) /* whose patterns end in ) */
		end += strlen(end);
	r->part = part->open;
	r->end = end + 1;
	return (int)strlen(part->open);
}

/* Reads the next token: a placeholder, which is replaced (0 bytes are left to copy), or text.  Returns how many bytes
 * of it are copied as they are, or a negative code.  Where it can be one of several things, the order matters: a
 * placeholder; text within a part or in single quotes, which has no meaning; quotes; an escape before a placeholder,
 * which is refused, since it would be ambiguous; a '#' within a word; then the parts. */
static int read_token(struct reader *r)
{
	const char c = *r->p, last = r->script->text.len > 0 ? r->script->text.data[r->script->text.len - 1] : '\n';
	struct js_spot spot;
	int len = (int)js_place_match(r->source, r->p, r->syntax, &spot);

	if (len > 0 && (r->p >= r->end || r->part[0] != '#'))
		return put_place(r, &spot, len);
	if (r->p < r->end || (r->quote == '\'' && c != '\''))
		return 1;
	if (c == r->quote || (r->quote == '\0' && (c == '"' || c == '\'')))
		r->quote = r->quote == '\0' ? c : '\0';
	if ((c == '$' || (c == '\\' && r->quote == '"')) && strncmp(r->p, "${#}", 4) != 0 &&
	    js_place_match(r->source, r->p + 1, r->syntax, &spot) > 0)
		return js_error_set(r->error, JOBSTACK_EUSAGE,
				    "a placeholder can't stand directly after %c; type \\%c for it", c, c);
	if (c == '#' && strchr(" \t\n;&|<>(", last) == NULL)
		return 1;
	if (strncmp(r->p, "<<<", 3) == 0)
		return 3;
	if (strncmp(r->p, "\\\n", 2) == 0 && strchr(" \t\n", last) != NULL && r->p[2] != '#')
		return 2;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strncmp(r->p, parts[i].open, strlen(parts[i].open)) == 0 &&
		    (parts[i].quote == '*' || parts[i].quote == r->quote))
			return begin_part(r, &parts[i]);
	if (c == '\\' && r->p[1] != '\0' && (r->quote == '\0' || strchr("$`\"\\\n", r->p[1]) != NULL))
		return r->p[2] == '#' ? 3 : 2; /* after "\ " it begins no comment */
	return 1;
}

/* Goes through the script once, token by token.  If no name stands in it, the name is appended, but only where the
 * shell would read it as an argument: not after ; & | or a backslash, nor within a comment or another part. */
int js_script_make(const char *source, const struct js_template_syntax *syntax, int bare, struct js_script *script,
		   struct jobstack_error *error)
{
	struct reader r = {source, source, syntax, script, error, bare, '\0', NULL, source};
	size_t len = strlen(source);
	int n;

	script->places[0].place = JS_PLACE_DATAPATH;
	for (; *r.p != '\0'; r.p += n) {
		if ((n = read_token(&r)) < 0)
			return n;
		js_buf_add(&script->text, r.p, (size_t)n);
	}
	if (r.quote != '\0' && r.p >= r.end)
		return js_error_set(error, JOBSTACK_EUSAGE, "the script has no closing %c", r.quote);
	if (!r.placed) {
		while (len > 0 && strchr(" \t\n", source[len - 1]) != NULL)
			len--;
		/* after these a word would be another command, and the name would be run */
		if (len == 0 || source + len < r.end || strchr(";&|\\", source[len - 1]) != NULL)
			return js_error_set(error, JOBSTACK_EUSAGE,
					    "type {} where the name goes in the script: nothing "
					    "can be appended to it");
		script->text.len -= (size_t)(r.p - source) - len;
		js_buf_str(&script->text, " \"${1}\"");
	}
	return script->text.failed ? js_error_memory(error) : 0;
}

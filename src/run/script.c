/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shell scripts with placeholders.  Promise: only text of the script's author goes into the script, never a name; and
 * where this reader can't be sure how the shell will read a place (here-documents, quotes within "${...}", arithmetic),
 * it refuses a placeholder there, rather than guess.
 *
 * The reader follows the shell's quoting with a stack of frames: what is open around the place where it reads.
 */
#include "run/script.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64

enum frame { PLAIN, PAREN, QUOTED, SUBST, BACKTICK, BRACE, ARITH, FRAMES };

/* How a message names a frame. */
static const char *const frame_words[] = {"", "(", "double quotes", "$(", "`", "${", "$(( or (("};
_Static_assert(sizeof(frame_words) / sizeof(frame_words[0]) == FRAMES, "a word for each frame");

struct reader {
	const char *p, *source;
	const struct js_template_syntax *syntax;
	struct js_script *script;
	struct js_buf *out;
	struct jobstack_error *error;
	enum frame stack[DEPTH_MAX];
	int depth;	  /* of the innermost frame */
	int parens;	  /* open in the innermost ARITH */
	int word_start;	  /* a comment or a keyword may begin here */
	int comment;	  /* the last thing read was a comment */
	int named;	  /* a placeholder for the name was there, or is not needed */
	const char *lost; /* from here on the shell's reading is not known: why */
};

static enum frame top_frame(const struct reader *r)
{
	return r->stack[r->depth];
}

static int is_within(const struct reader *r, enum frame frame)
{
	for (int i = r->depth; i > 0; i--)
		if (r->stack[i] == frame)
			return 1;
	return 0;
}

/* Whether ${...}, if that is innermost, stands directly in double quotes: quotes in it mean something else then. */
static int brace_in_quotes(const struct reader *r)
{
	int i = r->depth;

	while (i > 0 && r->stack[i] == BRACE)
		i--;
	return i < r->depth && r->stack[i] == QUOTED;
}

/* Whether an expansion here is in arithmetic; in a command substitution inside of arithmetic it is not. */
static int in_arithmetic(const struct reader *r)
{
	int i = r->depth;

	while (i > 0 && r->stack[i] != ARITH && r->stack[i] != SUBST && r->stack[i] != BACKTICK)
		i--;
	return r->stack[i] == ARITH;
}

static int refuse_place(struct reader *r, const char *why)
{
	return js_error_set(r->error, JOBSTACK_EUSAGE, "the script can't have a placeholder %s", why);
}

/* From here on the shell's reading is not known, because of WHY. */
static int stop_reading(struct reader *r, const char *why)
{
	r->lost = why;
	return 0;
}

/* Copies N bytes as they are. */
static void copy_source(struct reader *r, size_t n)
{
	js_buf_add(r->out, r->p, n);
	r->p += n;
}

static int push_frame(struct reader *r, enum frame frame)
{
	if (r->depth + 1 >= DEPTH_MAX)
		return js_error_set(r->error, JOBSTACK_EUSAGE, "the script nests too deeply");
	r->stack[++r->depth] = frame;
	r->word_start = 1;
	return 0;
}

/* The number of the parameter that SPOT becomes; 0: there are too many. */
static int find_parameter(struct js_script *script, const struct js_spot *spot)
{
	size_t i = 0;

	if (spot->field == 0)
		return (int)spot->place;
	while (i < script->fields_n &&
	       (script->fields[i].place != spot->place || script->fields[i].field != spot->field))
		i++;
	if (i == JS_SCRIPT_FIELDS)
		return 0;
	script->fields[i] = *spot;
	if (i == script->fields_n)
		script->fields_n++;
	return JS_PLACE_COUNT + (int)i;
}

/* Puts a placeholder of LEN bytes, with the quotes that suit the innermost frame. */
static int put_place(struct reader *r, const struct js_spot *spot, size_t len, int in_single)
{
	const char *quote = in_single ? "'\"" : top_frame(r) == QUOTED || top_frame(r) == ARITH ? "" : "\"";
	int number;

	if (js_place_check(r->p, len, spot, r->syntax, r->error) != 0)
		return JOBSTACK_EUSAGE;
	if (in_arithmetic(r) && js_place_is_name(spot->place)) /* arithmetic runs what it finds in a[$(...)] */
		return refuse_place(r, "that stands for a name inside $((...)) or ((...)); if you mean a subshell, put "
				       "a space between the two opening parentheses");
	if (brace_in_quotes(r))
		return refuse_place(r, "in ${...} within double quotes");
	number = find_parameter(r->script, spot);
	if (number == 0)
		return js_error_set(r->error, JOBSTACK_EUSAGE, "the script has more than %d different fields",
				    JS_SCRIPT_FIELDS);
	js_buf_printf(r->out, "%s${%d}%s", quote, number, in_single ? "\"'" : quote);
	r->p += len;
	r->word_start = 0;
	r->named |= js_place_is_name(spot->place);
	return 0;
}

/* '...', or with ANSI $'...', from the quote on. */
static int read_single(struct reader *r, int ansi)
{
	struct js_spot spot;
	size_t len;

	copy_source(r, 1);
	while (*r->p != '\'') {
		if (*r->p == '\0')
			return js_error_set(r->error, JOBSTACK_EUSAGE, "the script ends inside single quotes");
		len = js_place_match(r->source, r->p, r->syntax, &spot);
		if (len > 0 && ansi)
			return refuse_place(r, "inside $'...'");
		if ((*r->p == '`' || *r->p == '\\') && is_within(r, BACKTICK))
			r->lost = "after ` or \\ in quotes inside `...` (write $(...))";
		if (*r->p == '\\' && ansi && r->p[1] == '\'')
			r->lost = "after $'...\\'...', which shells read differently";
		if (r->lost != NULL)
			return 0;
		if (len == 0) {
			copy_source(r, 1);
			continue;
		}
		JS_TRY(put_place(r, &spot, len, 1));
	}
	copy_source(r, 1);
	r->word_start = 0;
	return 0;
}

static int read_backslash(struct reader *r)
{
	struct js_spot spot;
	char next = r->p[1];

	if (top_frame(r) == ARITH || (next != '\0' && strchr("`\\$\"", next) != NULL && is_within(r, BACKTICK)))
		return stop_reading(r, "after \\ in $((...)) or in `...`");
	if (next != '\n') /* an escaped newline is as if it weren't there */
		r->word_start = 0;
	if (next == '\0') {
		if (top_frame(r) == QUOTED) {
			copy_source(r, 1); /* the error for open quotes follows at the end */
			return 0;
		}
		return js_error_set(r->error, JOBSTACK_EUSAGE, "the script ends in a backslash");
	}
	if (top_frame(r) != QUOTED || strchr("$`\"\\\n", next) != NULL) {
		copy_source(r, 2);
		return 0;
	}
	/* inside double quotes it stands for itself here, and must not take our $ from us */
	if (js_place_match(r->source, r->p + 1, r->syntax, &spot) > 0)
		js_buf_char(r->out, '\\');
	copy_source(r, 1);
	return 0;
}

static int read_dollar(struct reader *r)
{
	struct js_spot spot;
	char next = r->p[1];

	if (strncmp(r->p, "${#}", 4) == 0 && js_place_match(r->source, r->p + 1, r->syntax, &spot) == 3) {
		copy_source(r, 4); /* the shell's own count of parameters */
		r->word_start = 0;
		return 0;
	}
	if (js_place_match(r->source, r->p + 1, r->syntax, &spot) > 0)
		return refuse_place(r, "directly after $ (write \\$ for a dollar sign)");
	if (next == '\'' && top_frame(r) != QUOTED) {
		copy_source(r, 1);
		return read_single(r, 1);
	}
	if (next == '[')
		return stop_reading(r, "after $[");
	if (strncmp(r->p, "$((", 3) == 0) {
		if (is_within(r, ARITH))
			return stop_reading(r, "after nested $((...))");
		copy_source(r, 3);
		r->parens = 2;
		return push_frame(r, ARITH);
	}
	if (next == '(' || next == '{') {
		copy_source(r, 2);
		return push_frame(r, next == '(' ? SUBST : BRACE);
	}
	copy_source(r, next != '\0' && strchr("$?!#@*-", next) != NULL ? 2 : 1);
	r->word_start = 0;
	return 0;
}

static int read_backtick(struct reader *r)
{
	if (!is_within(r, BACKTICK)) {
		copy_source(r, 1);
		return push_frame(r, BACKTICK);
	}
	while (top_frame(r) == PAREN)
		r->depth--;
	if (top_frame(r) != BACKTICK)
		return stop_reading(r, "after ` in quotes inside `...` (write $(...))");
	copy_source(r, 1);
	r->depth--;
	r->word_start = 0;
	return 0;
}

static int read_quote(struct reader *r)
{
	if (top_frame(r) == ARITH || brace_in_quotes(r))
		return stop_reading(r, "after quotes in $((...)) or in ${...} within double quotes");
	if (*r->p == '\'')
		return read_single(r, 0);
	copy_source(r, 1);
	if (top_frame(r) == QUOTED) {
		r->depth--;
		r->word_start = 0;
		return 0;
	}
	return push_frame(r, QUOTED);
}

static int read_paren(struct reader *r)
{
	char c = *r->p;

	if (top_frame(r) == ARITH) {
		r->parens += c == '(' ? 1 : -1;
		copy_source(r, 1);
		if (r->parens == 0)
			r->depth--;
		return 0;
	}
	if (top_frame(r) == BRACE) {
		copy_source(r, 1);
		return 0;
	}
	r->word_start = c == '(' || top_frame(r) != SUBST;
	if (c == '(' && r->p[1] == '(' && !is_within(r, ARITH)) {
		copy_source(r, 2);
		r->parens = 2;
		return push_frame(r, ARITH);
	}
	copy_source(r, 1);
	if (c == '(')
		return push_frame(r, PAREN);
	if (top_frame(r) == SUBST || top_frame(r) == PAREN) /* elsewhere it ends a pattern of case */
		r->depth--;
	return 0;
}

/* Whatever is neither placeholder nor quote, outside double quotes. */
static void read_plain(struct reader *r)
{
	char c = *r->p;
	int words = top_frame(r) != BRACE && top_frame(r) != ARITH;

	if (top_frame(r) == BRACE && c == '}')
		r->depth--;
	if (words && c == '<' && strncmp(r->p, "<<<", 3) == 0) {
		copy_source(r, 3);
		r->word_start = 1;
		return;
	}
	if (words && c == '<' && r->p[1] == '<')
		r->lost = "after <<";
	else if (words && r->word_start && strncmp(r->p, "case", 4) == 0 && r->p[4] != '\0' &&
		 strchr(" \t\n\\", r->p[4]) != NULL && is_within(r, SUBST))
		r->lost = "after case in $(...)"; /* its patterns end in ) */
	else if (words && r->word_start && c == '#' && is_within(r, BACKTICK))
		r->lost = "after # in `...`";
	if (r->lost != NULL)
		return;
	if (words && r->word_start && c == '#') {
		copy_source(r, strcspn(r->p, "\n"));
		r->comment = 1;
		return;
	}
	copy_source(r, 1);
	r->word_start = strchr(" \t\n;&|<>", c) != NULL;
}

/* Reads on by one token. */
static int read_token(struct reader *r)
{
	struct js_spot spot;
	size_t len = js_place_match(r->source, r->p, r->syntax, &spot);

	r->comment = 0;
	if (len > 0)
		return put_place(r, &spot, len, 0);
	switch (*r->p) {
	case '\\': return read_backslash(r);
	case '$': return read_dollar(r);
	case '`':
		if (top_frame(r) == ARITH)
			return stop_reading(r, "after ` in $((...))");
		return read_backtick(r);
	case '"': return read_quote(r);
	default: break;
	}
	if (top_frame(r) == QUOTED) {
		copy_source(r, 1);
		return 0;
	}
	if (*r->p == '\'')
		return read_quote(r);
	if (*r->p == '(' || *r->p == ')')
		return read_paren(r);
	read_plain(r);
	return 0;
}

/* Copies the rest, in which no placeholder may stand. */
static int read_lost(struct reader *r)
{
	struct js_spot spot;
	char why[128];

	for (const char *p = r->p; *p != '\0'; p++)
		if (js_place_match(r->source, p, r->syntax, &spot) > 0)
			return refuse_place(r, r->lost);
	if (!r->named) {
		(void)snprintf(why, sizeof(why), "appended to it, %s (put {} where the datapath goes)", r->lost);
		return refuse_place(r, why);
	}
	copy_source(r, strlen(r->p));
	return 0;
}

/* Whether the byte at AT has a backslash of its own before it. */
static int is_escaped(const char *script, size_t at)
{
	size_t n = 0;

	while (n < at && script[at - n - 1] == '\\')
		n++;
	return n % 2 == 1;
}

/* A script without a name in it gets the name as its last word, if it has a place for one. */
static int append_name(struct reader *r)
{
	size_t len = r->out->len;
	const char *script = r->out->data;

	while (len > 0 && strchr(" \t\n", script[len - 1]) != NULL && !is_escaped(script, len - 1))
		len--;
	if (len == 0)
		return js_error_set(r->error, JOBSTACK_EUSAGE, "the script is empty");
	/* after these a word would be another command, and the name would be run */
	if (r->comment || strchr(";&|", script[len - 1]) != NULL)
		return js_error_set(r->error, JOBSTACK_EUSAGE,
				    "no argument can be appended to the script: put {} where the datapath goes");
	r->out->len = len;
	js_buf_str(r->out, " \"${1}\"");
	return 0;
}

int js_script_make(const char *source, struct js_script *script, struct jobstack_error *error)
{
	struct reader r = {.p = source,
			   .source = source,
			   .syntax = script->syntax,
			   .script = script,
			   .out = &script->text,
			   .error = error,
			   .stack = {PLAIN},
			   .word_start = 1,
			   .named = script->bare};
	int rc = 0;

	while (rc == 0 && r.lost == NULL && *r.p != '\0')
		rc = read_token(&r);
	if (rc == 0 && r.lost != NULL) {
		rc = read_lost(&r);
	} else if (rc == 0) {
		while (top_frame(&r) == PAREN)
			r.depth--;
		if (r.depth > 0)
			rc = js_error_set(error, JOBSTACK_EUSAGE, "the script ends inside %s",
					  frame_words[top_frame(&r)]);
		else if (!r.named)
			rc = append_name(&r);
	}
	if (rc == 0 && script->text.failed)
		rc = js_error_memory(error);
	return rc;
}

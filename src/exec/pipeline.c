/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pipelines in scripts for bash.
 */
#include "exec/pipeline.h"

#include <stdlib.h>
#include <string.h>

/* Returns the first pipe between TEXT and END, or NULL.  || is none. */
static const char *find_pipe(const char *text, const char *end)
{
	while ((text = memchr(text, '|', (size_t)(end - text))) != NULL && text[1] == '|')
		text += 2;
	return text;
}

/* Returns whether WORD stands at AT, as a word of its own. */
static int is_word(const char *script, const char *at, const char *word)
{
	return (at == script || strchr(" \t\n;&|({`", at[-1]) != NULL) && strchr(" \t\n(;", at[strlen(word)]) != NULL;
}

/* Returns whether a pipeline stands between the word BEGIN and the next word END (or the end of the line, if that is
 * NULL). */
static int is_condition(const char *script, const char *begin, const char *end)
{
	for (const char *at = script; (at = strstr(at, begin)) != NULL; at++) {
		const char *stop = end == NULL ? at + strcspn(at, "\n;") : at;

		if (!is_word(script, at, begin))
			continue;
		while (end != NULL && (stop = strstr(stop + 1, end)) != NULL && !is_word(script, stop, end))
			;
		if (stop != NULL && find_pipe(at, stop) != NULL) /* no shell's `if` without its `then` */
			return 1;
	}
	return 0;
}

/* Blanks what stands in single quotes: it is text for awk or sed. */
static void blank_quoted(char *script)
{
	int quoted = 0, doubly = 0;

	for (; *script != '\0'; script++) {
		if (*script == '\\' && !quoted && script[1] != '\0')
			script++;
		else if (*script == '"' && !quoted)
			doubly = !doubly;
		else if (*script == '\'' && !doubly)
			quoted = !quoted;
		else if (quoted)
			*script = ' ';
	}
}

/* Where a pipeline decides about what follows it (if, while, !, ||), pipefail could make the script go another way than
 * its author meant, so such a script runs without it. */
static enum js_pipeline classify_script(const char *script)
{
	const char *pipe = find_pipe(script, script + strlen(script));

	if (pipe == NULL)
		return JS_PIPELINE_NONE;
	if (strstr(script, "||") != NULL || is_condition(script, "if", "then") ||
	    is_condition(script, "elif", "then") || is_condition(script, "while", "do") ||
	    is_condition(script, "until", "do") || is_condition(script, "!", NULL))
		return JS_PIPELINE_CONDITIONS;
	return strstr(pipe, "&&") != NULL ? JS_PIPELINE_STRICT : JS_PIPELINE_PLAIN;
}

/* Without memory nothing is assumed: only the last part of a pipeline counts then. */
enum js_pipeline js_pipeline_find(const char *script)
{
	char *text = strdup(script);
	enum js_pipeline found = JS_PIPELINE_CONDITIONS;

	if (text != NULL) {
		blank_quoted(text);
		found = classify_script(text);
	}
	free(text);
	return found;
}

const char *js_pipeline_watch(enum js_pipeline kind)
{
/* At the end of a script: js is its status, then that of each part of the last pipeline (IFS may be anything). */
#define AT_END "trap 'js=\"$? ${PIPESTATUS[*]}\"; if [[ $BASH_COMMAND = exit\\ [0-9]* ]]; then :; "
#define SAY                                                                                                            \
	"elif [[ $js =~ ^[1-9].*[^0-9].*[^0-9]0$ ]]; then echo \"" JS_PIPELINE_FAILED " (${js#* })\" >&2; fi' EXIT; "
	switch (kind) {
	case JS_PIPELINE_PLAIN: /* set -e may have stopped it half-way */
		return AT_END "elif [[ $- != *e* && $js =~ ^141([^0-9]+(0|141))+[^0-9]+0$ ]]; then exit 0; " SAY;
	case JS_PIPELINE_STRICT: return AT_END SAY;
	case JS_PIPELINE_NONE:
	case JS_PIPELINE_CONDITIONS: break;
	}
	return "";
}

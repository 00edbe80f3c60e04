/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Option files.  Promises: no value reaches an error message; the file is read whole before anything of it counts.
 */
#include "base/setting.h"

#include "base/error.h"
#include "base/file.h"

#include <string.h>

/* Takes backslash escapes and quotes off VALUE in place. */
static void unquote_value(char *value)
{
	size_t len = strlen(value);
	char quote = len >= 2 && (value[0] == '"' || value[0] == '\'') && value[len - 1] == value[0] ? value[0] : '\0';
	char *from = value, *to = value;
	static const char escape[] = "btnrs\\\"'", meaning[] = "\b\t\n\r \\\"'";

	if (quote != '\0') {
		value[len - 1] = '\0';
		from++;
	}
	for (; *from != '\0'; from++) {
		const char *e = *from == '\\' && from[1] != '\0' ? strchr(escape, from[1]) : NULL;

		if (e != NULL)
			from++;
		*to++ = e != NULL ? meaning[e - escape] : *from;
	}
	*to = '\0';
}

char *js_setting_trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	for (len = strlen(text); len > 0 && strchr(" \t\r", text[len - 1]) != NULL; len--)
		text[len - 1] = '\0';
	return text;
}

/* Cuts a comment off the end of a value: a '#' outside quotes.  As in MySQL's own readers, a backslash means something
 * to this inside quotes only. */
static void cut_comment(char *value)
{
	char quote = '\0';
	int escaped = 0;

	for (; *value != '\0'; value++) {
		if ((*value == '"' || *value == '\'') && !escaped)
			quote = quote == '\0' ? *value : quote == *value ? '\0' : quote;
		if (quote == '\0' && *value == '#') {
			*value = '\0';
			return;
		}
		escaped = quote != '\0' && *value == '\\' && !escaped;
	}
}

/* Cuts "key = value # comment" in two, in place. */
static void split_setting(struct js_setting *s, char *line)
{
	s->value = strchr(line, '=');
	if (s->value != NULL) {
		*s->value++ = '\0';
		cut_comment(s->value);
		s->value = js_setting_trim(s->value);
		unquote_value(s->value);
	}
	s->key = js_setting_trim(line);
	for (char *p = s->key; *p != '\0'; p++)
		if (*p == '-')
			*p = '_';
}

int js_setting_refuse(const struct js_setting *s, struct jobstack_error *error, const char *words)
{
	return js_error_set(error, JOBSTACK_EUSAGE, "%s, line %u: %s", s->path, s->line, words);
}

/* Parses a line into S.  Returns 1 if it is for the caller, 0 if it is not, or a negative code. */
static int parse_line(struct js_setting *s, char *line, const char *group, struct jobstack_error *error)
{
	char *end;

	line = js_setting_trim(line);
	if (*line == '\0' || *line == '#' || *line == ';')
		return 0;
	if (*line == '[') {
		end = strchr(line, ']');
		if (end == NULL)
			return js_setting_refuse(s, error, "the group has no closing ]");
		*end = '\0';
		s->group = js_setting_trim(line + 1);
		return 0;
	}
	if (*line == '!') {
		s->key = line;
		s->value = NULL;
	} else if (s->group == NULL)
		return js_error_set(error, JOBSTACK_EUSAGE, "%s, line %u: it is in no group: write [%s] above it",
				    s->path, s->line, group);
	else
		split_setting(s, line);
	return 1;
}

/* All lines are parsed, also after an error.  The first error wins, and TAKE can see in ERROR that there was one.  The
 * text is wiped, since a file may have a password in it. */
int js_setting_read(const char *path, const char *group, js_setting_fn *take, void *ctx, struct jobstack_error *error)
{
	struct js_setting s = {.path = path};
	struct js_buf text = {0};
	int status = 0, one;

	if (js_file_read(path, &text) != 0)
		status = js_error_errno(error, errno == EACCES || errno == EPERM ? JOBSTACK_EPERM : JOBSTACK_EFILE,
					"the option file %s can't be read", path);
	else if (text.len > 0 && memchr(text.data, '\0', text.len) != NULL)
		status = js_error_set(error, JOBSTACK_EUSAGE, "%s is not an option file: it has NUL bytes", path);
	for (char *rest = text.data, *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL;) {
		s.line++;
		one = parse_line(&s, line, group, error);
		if (one > 0)
			one = take(ctx, &s, error);
		status = status == 0 ? one : status;
	}
	js_buf_wipe(&text);
	return status;
}

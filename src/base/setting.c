/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lines of option files.
 */
#include "base/setting.h"

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

char *js_setting_split(char *line, char **value)
{
	char *key;

	*value = strchr(line, '=');
	if (*value != NULL) {
		*(*value)++ = '\0';
		cut_comment(*value);
		*value = js_setting_trim(*value);
		unquote_value(*value);
	}
	key = js_setting_trim(line);
	for (char *p = key; *p != '\0'; p++)
		if (*p == '-')
			*p = '_';
	return key;
}

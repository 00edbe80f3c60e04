/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: the lines that it prints, and the facts that the server reported.
 */
#include "cli/doctor/doctor.h"

#include "view/json.h"
#include "view/term.h"
#include "view/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_word[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "FAIL"};
_Static_assert(sizeof(level_word) / sizeof(level_word[0]) == DOCTOR_LEVELS, "a word for each level");

const char *doctor_level_word(enum doctor_level level)
{
	return level_word[level];
}

void doctor_tell(struct doctor *d, enum doctor_level level, const char *where, const char *check, const char *text,
		 const char *remedy)
{
	static const enum view_colour colour[] = {
		[DOCTOR_OK] = VIEW_GREEN, [DOCTOR_WARN] = VIEW_YELLOW, [DOCTOR_FAIL] = VIEW_RED};
	struct js_buf line = {0};
	char word[8];

	d->count[level]++;
	if (d->cli->json) {
		d->memory |= CLI_PRINT(KEY_TEXT("level", level_word[level]), KEY_TEXT("where", where),
				       KEY_TEXT("check", check), KEY_TEXT("text", text),
				       KEY_TEXT("remedy", remedy)) != CLI_YES;
		(void)fflush(stdout);
		return;
	}
	if (d->cli->quiet && level == DOCTOR_OK)
		return;
	(void)snprintf(word, sizeof(word), "%-5s", level_word[level]);
	view_paint(&line, view_colours(stdout), colour[level], word);
	js_buf_printf(&line, "%-13s ", check);
	if (strcmp(where, d->where) != 0)
		js_buf_printf(&line, "%s: ", where);
	view_safe(&line, text, strlen(text));
	if (remedy != NULL) {
		js_buf_printf(&line, "\n%19s-> ", "");
		view_safe(&line, remedy, strlen(remedy));
	}
	(void)printf("%s\n", line.failed ? "" : line.data);
	(void)fflush(stdout);
	d->memory |= line.failed;
	js_buf_free(&line);
}

void doctor_say(struct doctor *d, enum doctor_level level, const char *check, const char *remedy, const char *format,
		...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		d->memory = 1;
	else
		doctor_tell(d, level, d->where, check, text, level == DOCTOR_OK ? NULL : remedy);
	va_end(args);
	free(text);
}

const char *doctor_fact(const struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->facts_n; i++)
		if (strcmp(d->facts[i].name, name) == 0)
			return d->facts[i].value;
	return NULL;
}

double doctor_number(const struct doctor *d, const char *name, double none)
{
	const char *value = doctor_fact(d, name);
	char *end;
	double n = value == NULL ? none : strtod(value, &end);

	return value != NULL && (end == value || *end != '\0') ? none : n;
}

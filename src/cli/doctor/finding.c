/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: what was found, as lines or JSON.  Promise: a finding is printed at once, so that what takes long is
 * seen.
 */
#include "cli/doctor/doctor.h"

#include "show/json.h"
#include "show/term.h"
#include "show/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const doctor_word[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "FAIL"};
_Static_assert(sizeof(doctor_word) / sizeof(doctor_word[0]) == DOCTOR_LEVELS, "a word for each level");

/* Each line is flushed: the next check may take long, and a doctor that srun has started is read line by line. */
void doctor_print(struct doctor *d, enum doctor_level level, const char *where, const char *check, const char *text,
		  const char *remedy)
{
	static const enum show_colour colour[] = {
		[DOCTOR_OK] = SHOW_GREEN, [DOCTOR_WARN] = SHOW_YELLOW, [DOCTOR_FAIL] = SHOW_RED};
	struct js_buf line = {0};
	char word[8];

	d->count[level]++;
	if (d->cli->json) {
		d->memory |= CLI_PRINT(KEY_TEXT("level", doctor_word[level]), KEY_TEXT("where", where),
				       KEY_TEXT("check", check), KEY_TEXT("text", text),
				       KEY_TEXT("remedy", remedy)) != CLI_YES;
		(void)fflush(stdout);
		return;
	}
	if (!d->cli->verbose && level == DOCTOR_OK)
		return;
	(void)snprintf(word, sizeof(word), "%-5s", doctor_word[level]);
	show_paint(&line, show_colours(stdout), colour[level], word);
	js_buf_printf(&line, "%-13s ", check);
	if (strcmp(where, d->where) != 0)
		js_buf_printf(&line, "%s: ", where);
	show_safe(&line, text, strlen(text));
	if (remedy != NULL) {
		js_buf_printf(&line, "\n%19s-> ", "");
		show_safe(&line, remedy, strlen(remedy));
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
		doctor_print(d, level, d->where, check, text, level == DOCTOR_OK ? NULL : remedy);
	va_end(args);
	free(text);
}

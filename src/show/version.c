/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Versions in words.  Promise: what is shown can be typed again, or compared with the output of sha256sum.
 */
#include "show/version.h"

#include "exec/program.h"
#include "show/text.h"

#include <string.h>

#define DIGITS 12 /* of a sum */

/* Appends "2026-11-23T14:02:11.123456Z" as far as the second: two versions of a minute differ. */
static void add_second(struct js_buf *out, const char *time)
{
	js_buf_printf(out, "%.10s %.8s", time, time + 11);
}

/* What the user has named (a commit, --code-version) says more than the time of a file; among files the newest one
 * changed last. */
void show_version_short(struct js_buf *out, const char *text)
{
	struct js_program_line line, newest = {.text = NULL};

	while (js_program_next(&text, &line)) {
		if (line.kind == JS_PROGRAM_FILE && newest.text != NULL &&
		    (newest.kind != JS_PROGRAM_FILE || strncmp(line.time, newest.time, 27) <= 0))
			continue; /* what the user names is more than the time of a file */
		newest = line;
	}
	if (newest.text == NULL)
		return;
	if (newest.kind == JS_PROGRAM_FILE) {
		size_t from = newest.len;

		while (from > 0 && newest.text[from - 1] != '/')
			from--;
		show_safe(out, newest.text + from, newest.len - from);
		js_buf_str(out, " of ");
		add_second(out, newest.time);
	} else if (newest.kind == JS_PROGRAM_GIT)
		js_buf_printf(out, "commit %.*s", newest.sum_len < DIGITS ? (int)newest.sum_len : DIGITS, newest.sum);
	else
		show_safe(out, newest.text, newest.len);
}

void show_version_only(struct js_buf *out, const char *text)
{
	if (*text == '\0')
		return;
	js_buf_str(out, " (only with ");
	show_version_short(out, text);
	js_buf_char(out, ')');
}

void show_version(struct js_buf *out, const char *before, const char *text)
{
	struct js_program_line line;

	while (js_program_next(&text, &line)) {
		js_buf_str(out, before);
		show_safe(out, line.text, line.len);
		if (line.kind == JS_PROGRAM_FILE && line.size[0] == '-')
			js_buf_str(out, " (it is not there)");
		else if (line.kind == JS_PROGRAM_FILE) {
			js_buf_str(out, " of ");
			add_second(out, line.time);
			js_buf_printf(out, ", sha256 %.*s%s", DIGITS, line.sum != NULL ? line.sum : "unknown",
				      line.sum != NULL ? "..." : "");
		} else if (line.kind == JS_PROGRAM_GIT)
			js_buf_printf(out, ", commit %.*s%s", (int)line.sum_len, line.sum,
				      line.sum[line.sum_len - 1] == '+' ? " and changes" : "");
		js_buf_char(out, '\n');
	}
}

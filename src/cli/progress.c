/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Progress.  Promise: what is no terminal gets nothing of it.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "view/term.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_US (JS_SECOND_US / 2)
#define EVERY_US (JS_SECOND_US / 8)

int cli_progress_due(struct cli_progress *p)
{
	int64_t now = jobstack_now_us();

	if (!p->begun) {
		p->begun = 1;
		p->on = !p->cli->quiet && isatty(STDERR_FILENO) && !view_is_dumb();
		p->next_us = now + FIRST_US;
	}
	return p->on && now >= p->next_us;
}

void cli_progress(struct cli_progress *p, const char *format, ...)
{
	struct js_buf line = {0}, text = {0};
	unsigned columns = view_columns(stderr);
	char words[400];
	va_list args;

	if (!cli_progress_due(p))
		return;
	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	/* what stands in the last column would be erased with the rest of the line */
	view_cut(&text, words, columns > 1 ? columns - 1 : 1);
	js_buf_printf(&line, "\r%s\033[K", text.data != NULL ? text.data : "");
	if (line.data != NULL && !line.failed)
		(void)fputs(line.data, stderr);
	js_buf_free(&line);
	js_buf_free(&text);
	p->shown = 1;
	p->next_us = jobstack_now_us() + EVERY_US;
}

void cli_progress_end(struct cli_progress *p)
{
	if (p->shown)
		(void)fputs("\r\033[K", stderr);
	p->shown = 0;
}

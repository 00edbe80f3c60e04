/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Progress.  Promise: what is no terminal gets nothing of it.
 */
#include "frame/frame.h"

#include "base/clock.h"
#include "show/term.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_US (JS_SECOND_US / 2)
#define EVERY_US (JS_SECOND_US / 8)

/* The first call starts the clock: a command that is over within half a second shows nothing. */
int cli_progress_due(struct cli_progress *p)
{
	int64_t now = jobstack_now_us();

	if (!p->begun) {
		p->begun = 1;
		p->on = !p->cli->quiet && isatty(STDERR_FILENO) && !show_is_dumb();
		p->line.fd = STDERR_FILENO;
		p->next_us = now + FIRST_US;
	}
	return p->on && now >= p->next_us;
}

void cli_progress(struct cli_progress *p, const char *format, ...)
{
	char words[400];
	va_list args;

	if (!cli_progress_due(p))
		return;
	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	(void)show_picture_draw(&p->line, words);
	p->next_us = jobstack_now_us() + EVERY_US;
}

void cli_progress_end(struct cli_progress *p)
{
	(void)show_picture_erase(&p->line);
	js_buf_free(&p->line.text);
}

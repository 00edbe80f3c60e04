/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The log sink.  Promise: one call, one line.
 */
#include "base/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

void js_log(const struct js_log *log, enum jobstack_level level, const char *format, ...)
{
	char text[1000];
	va_list args;

	if (log == NULL || log->fn == NULL)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	js_utf8_clean(text);
	log->fn(log->ctx, level, text);
}

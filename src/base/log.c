/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The log sink.  Promise: one call, one line.
 */
#include "base/log.h"

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
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	log->fn(log->ctx, level, text);
}

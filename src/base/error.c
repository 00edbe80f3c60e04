/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The error object.  Promise: a filled object is never overwritten, and its text is one printable line.
 */
#include "base/error.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int js_error_set(struct jobstack_error *error, int code, const char *format, ...)
{
	va_list args;

	if (error == NULL || error->code != 0)
		return code;
	error->code = code;
	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	js_utf8_clean(error->text);
	return code;
}

void js_error_clear(struct jobstack_error *error)
{
	if (error == NULL)
		return;
	error->code = 0;
	error->server_errno = 0;
	error->text[0] = '\0';
}

int js_error_memory(struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_EBUG, "out of memory");
}

const char *js_error_process_words(int err)
{
	if (err == EAGAIN)
		return "Resource temporarily unavailable (no more processes are allowed: `ulimit -u`, or pids.max of "
		       "the cgroup)";
	return strerror(err);
}

int js_error_process_code(int err)
{
	return err == EAGAIN || err == ENOMEM ? JOBSTACK_EBUG : JOBSTACK_EFILE;
}

const char *js_error_setting(unsigned server_errno)
{
	switch (server_errno) {
	case 1153: /* a packet too large, for the server, in its answer, in a function; for the connector */
	case 1162:
	case 1301:
	case 2020:
		return "ask the server's administrator to set max_allowed_packet=64M in its option file, or to run SET "
		       "GLOBAL max_allowed_packet=67108864";
	case 1665:
		return "ask the server's administrator to set binlog_format=ROW in its option file, or to run SET "
		       "GLOBAL binlog_format=ROW";
	case 1317:
	case 1969:
	case 3024:
		return "try again later; if it happens again, ask the server's administrator what ends statements "
		       "there";
	default: return NULL;
	}
}

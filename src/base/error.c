/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The error object.  Promise: a filled object is never overwritten, and its text is one printable line.
 */
#include "base/error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Fills ERROR, unless it is filled already: the first error wins, since later ones often follow from it.  WORDS, if not
 * NULL, follow the text. */
__attribute__((format(printf, 5, 0))) static int fill_error(struct jobstack_error *error, int code, unsigned why,
							    const char *words, const char *format, va_list args)
{
	size_t len;

	if (error == NULL || error->code != 0)
		return code;
	error->code = code;
	error->server_errno = why;
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	len = strlen(error->text);
	if (words != NULL)
		(void)snprintf(error->text + len, sizeof(error->text) - len, ": %s", words);
	js_utf8_clean(error->text);
	return code;
}

int js_error_why(struct jobstack_error *error, int code, unsigned why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	code = fill_error(error, code, why, NULL, format, args);
	va_end(args);
	return code;
}

void js_error_pass(struct jobstack_error *error, const struct jobstack_error *from)
{
	if (error != NULL && error->code == 0)
		*error = *from;
}

int js_error_errno(struct jobstack_error *error, int code, const char *format, ...)
{
	const char *words = strerror(errno);
	va_list args;

	va_start(args, format);
	(void)fill_error(error, code, 0, words, format, args);
	va_end(args);
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
	return js_error_why(error, JOBSTACK_EBUG, JOBSTACK_WHY_MEMORY, "out of memory");
}

const char *js_error_process_words(int err)
{
	if (err == EAGAIN)
		return "Resource temporarily unavailable (the limit of processes is reached: see `ulimit -u`, and "
		       "pids.max of the cgroup)";
	return strerror(err);
}

int js_error_process_code(int err)
{
	return err == EAGAIN || err == ENOMEM ? JOBSTACK_EBUG : JOBSTACK_EFILE;
}

unsigned js_error_process_why(int err)
{
	return err == ENOMEM ? JOBSTACK_WHY_MEMORY : 0;
}

int js_error_is_memory(unsigned why)
{
	switch (why) {
	case JOBSTACK_WHY_MEMORY:
	case 1037: /* the server's */
	case 1038:
	case 1041:
	case 2008: /* the connector's */ return 1;
	default: return 0;
	}
}

int js_error_is_disk(unsigned why)
{
	switch (why) {
	case 3: /* can't write a file, disk full, the sort ran out of space, from the engine, the table is full */
	case 1021:
	case 1026:
	case 1030:
	case 1114:
	case 1878: /* a temporary file, the undo tablespace */
	case 3019: return 1;
	default: return 0;
	}
}

int js_error_exit_status(int code)
{
	switch (code) {
	case 0: return JS_EXIT_OK;
	case JOBSTACK_NOTHING:
	case JOBSTACK_ECONFLICT: return JS_EXIT_NO;
	case JOBSTACK_EUSAGE:
	case JOBSTACK_EMISSING:
	case JOBSTACK_EINPUT:
	case JOBSTACK_EFILE: return JS_EXIT_USAGE;
	case JOBSTACK_ESCHEMA:
	case JOBSTACK_ENODB: return JS_EXIT_NODB;
	case JOBSTACK_EPERM: return JS_EXIT_NOPERM;
	default: return JS_EXIT_BUG;
	}
}

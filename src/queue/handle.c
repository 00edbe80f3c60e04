/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Handles.  Promise: a handle that was given out is connected, or was once; nothing here waits for a lock.
 */
#include "queue/queue.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OS_USER_MAX 255

const char *jobstack_version(void)
{
	return JOBSTACK_VERSION;
}

/* General words, for programs that have no error object: error.text says more. */
const char *jobstack_strerror(int code)
{
	switch (code) {
	case JOBSTACK_OK: return "success";
	case JOBSTACK_NOTHING: return "nothing to do";
	case JOBSTACK_EUSAGE: return "invalid argument";
	case JOBSTACK_EMISSING: return "no such stack or entry";
	case JOBSTACK_ECONFLICT: return "the present state does not allow it";
	case JOBSTACK_EINPUT: return "invalid datapath";
	case JOBSTACK_EFILE: return "a file can't be read or written";
	case JOBSTACK_ESCHEMA: return "the database has no schema, or one of another version";
	case JOBSTACK_ENODB: return "the database can't be reached, or can't work";
	case JOBSTACK_EBUG: return "a bug of jobstack, or no memory";
	case JOBSTACK_EPERM: return "permission denied";
	case JOBSTACK_ESTOPPED: return "stopped";
	default: return "unknown result";
	}
}

int64_t jobstack_now_us(void)
{
	return js_clock_mono_us();
}

/* The schema is not looked at here, since `init` opens a database without one: js_schema_check does it. */
int jobstack_open(struct jobstack **handle, const struct jobstack_options *options, struct jobstack_error *error)
{
	struct jobstack_options o = JOBSTACK_OPTIONS_INIT;
	struct jobstack *made;
	int status = js_grow_in(&o, options, "jobstack_options", error);

	*handle = NULL;
	if (status != 0)
		return status;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return js_error_memory(error);
	if (o.os_user != NULL && (made->os_user = strndup(o.os_user, OS_USER_MAX)) == NULL)
		status = js_error_memory(error);
	JS_THEN(status, js_db_open(&made->db, &o, error));
	if (status != 0) {
		free(made->os_user);
		free(made);
		return status;
	}
	*handle = made;
	return 0;
}

void jobstack_free(struct jobstack *handle)
{
	int saved = errno;

	if (handle == NULL)
		return;
	js_db_free(handle->db);
	free(handle->os_user);
	free(handle);
	errno = saved;
}

void jobstack_stop(struct jobstack *handle)
{
	js_db_stop(handle == NULL ? NULL : handle->db);
}

void jobstack_disconnect(struct jobstack *handle)
{
	js_db_disconnect(handle->db);
}

void jobstack_disconnect_if_crowded(struct jobstack *handle)
{
	js_db_disconnect_if_crowded(handle->db);
}

void jobstack_describe(struct jobstack *handle, char *text, size_t size)
{
	js_db_describe(handle->db, text, size);
}

/* The packet has one statement, so FN need not be told the statement's number. */
int js_handle_ask(struct jobstack *handle, js_row_fn *fn, void *ctx, struct jobstack_error *error, const char *format,
		  ...)
{
	struct js_sql sql = {0};
	va_list args;

	va_start(args, format);
	(void)js_sql_vstmt(&sql, format, args);
	va_end(args);
	return js_db_query(handle->db, &sql, fn, ctx, error);
}

int js_handle_change(struct jobstack *handle, uint64_t rows, int *lost, struct jobstack_error *error,
		     const char *format, ...)
{
	struct js_sql sql = {0};
	va_list args;

	va_start(args, format);
	(void)js_sql_vstmt(&sql, format, args);
	va_end(args);
	if (rows > 0)
		js_sql_guard(&sql, rows);
	return js_db_commit(handle->db, &sql, lost, error);
}

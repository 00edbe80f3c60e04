/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The packed log.  Promise: it only ever holds whole entries; what could not be written whole is cut off again.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "run/capture.h"
#include "run/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Up to so much output is gathered and written in one go; more is copied within the kernel. */
#define SMALL (64 * 1024)

struct js_packlog {
	struct js_buf path, text;
	size_t dir_len;
	int fd;
	int64_t end; /* of the last whole entry */
};

int js_packlog_new(struct js_packlog **made, const char *dir, const char *name, struct jobstack_error *error)
{
	*made = calloc(1, sizeof(**made));
	if (*made == NULL)
		return js_error_memory(error);
	(*made)->fd = -1;
	(*made)->dir_len = strlen(dir);
	js_buf_printf(&(*made)->path, "%s/%s", dir, name);
	if ((*made)->path.failed) {
		js_packlog_free(*made);
		*made = NULL;
		return js_error_memory(error);
	}
	return 0;
}

void js_packlog_free(struct js_packlog *log)
{
	int saved = errno;

	if (log == NULL)
		return;
	if (log->fd >= 0)
		(void)close(log->fd);
	js_buf_free(&log->path);
	js_buf_free(&log->text);
	free(log);
	errno = saved;
}

const char *js_packlog_path(const struct js_packlog *log)
{
	return log->path.data;
}

static int open_log(struct js_packlog *log, struct jobstack_error *error)
{
	char *dir;

	if (log->fd >= 0)
		return 0;
	dir = strndup(log->path.data, log->dir_len);
	if (dir == NULL)
		return js_error_memory(error);
	if (js_file_mkdirs(dir, 0777) != 0) {
		(void)js_error_set(error, JOBSTACK_EFILE, "can't make the directory %s: %s", dir, strerror(errno));
		free(dir);
		return JOBSTACK_EFILE;
	}
	free(dir);
	do
		log->fd = open(log->path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	while (log->fd < 0 && errno == EINTR);
	if (log->fd < 0)
		return js_error_set(error, JOBSTACK_EFILE, "can't make the log %s: %s", log->path.data,
				    strerror(errno));
	return 0;
}

static void add_escaped(struct js_buf *text, const char *name, size_t len)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		char code[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};

		if (c < 0x20 || c == 0x7f || c == '\\')
			js_buf_add(text, code, sizeof(code));
		else
			js_buf_add(text, name + i, 1);
	}
}

static void add_header(struct js_buf *text, const struct js_template_values *values, const struct js_reaped *reaped,
		       int64_t ended_wall_us, const struct js_packlog_place *place)
{
	char ended[JS_CLOCK_ISO];

	js_clock_iso(ended_wall_us, ended);
	js_buf_printf(text, "==> entry %" PRIu64 " attempt %" PRIu32 " %s %d %s out %" PRId64 " err %" PRId64 " path ",
		      values->entry, values->attempt, reaped->signal != 0 ? "signal" : "exit",
		      reaped->signal != 0 ? reaped->signal : reaped->exit_code, ended, place->out, place->err);
	add_escaped(text, values->datapath, values->datapath_len);
	js_buf_char(text, '\n');
}

/* Writes the header, that stands in log->text, and the output behind it, from log->end on.  Returns 0 and the new
 * end in *AT; 1 if a file became shorter meanwhile; -1 with errno. */
static int write_small(struct js_packlog *log, const int fd[2], const int64_t from[2], const struct js_packlog_place *place,
		       int64_t *at)
{
	const int64_t len[2] = {place->out, place->err};

	for (int i = 0; i < 2; i++) {
		char *to = js_buf_room(&log->text, (size_t)len[i]);
		int64_t n;

		if (to == NULL) {
			errno = ENOMEM;
			return -1;
		}
		n = js_copy_read(fd[i], from[i], to, (size_t)len[i]);
		if (n != len[i])
			return n < 0 ? -1 : 1;
		log->text.len += (size_t)n;
	}
	if (log->text.data[log->text.len - 1] != '\n')
		js_buf_char(&log->text, '\n');
	if (log->text.failed) {
		errno = ENOMEM;
		return -1;
	}
	return js_copy_bytes(log->text.data, log->text.len, log->fd, at);
}

static int write_large(struct js_packlog *log, const int fd[2], const int64_t from[2], const struct js_packlog_place *place,
		       int64_t *at)
{
	const int64_t len[2] = {place->out, place->err};
	const int final = place->err > 0;
	int64_t n;
	char last;

	if (js_copy_bytes(log->text.data, log->text.len, log->fd, at) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		n = js_copy(fd[i], from[i], len[i], log->fd, at);
		if (n != len[i])
			return n < 0 ? -1 : 1;
	}
	do
		n = pread(fd[final], &last, 1, (off_t)(from[final] + len[final] - 1));
	while (n < 0 && errno == EINTR);
	if (n != 1)
		return n < 0 ? -1 : 1;
	return last == '\n' ? 0 : js_copy_bytes("\n", 1, log->fd, at);
}

/* One try.  Results as of write_small; in any case nothing but whole entries is left. */
static int try_append(struct js_packlog *log, const int fd[2], const int64_t from[2], const struct js_template_values *values,
		      const struct js_reaped *reaped, int64_t ended_wall_us, struct js_packlog_place *place)
{
	int64_t at = log->end;
	int rc, saved;

	js_buf_reset(&log->text);
	add_header(&log->text, values, reaped, ended_wall_us, place);
	if (log->text.failed) {
		errno = ENOMEM;
		return -1;
	}
	place->at = log->end + (int64_t)log->text.len;
	rc = place->out + place->err <= SMALL ? write_small(log, fd, from, place, &at)
					      : write_large(log, fd, from, place, &at);
	if (rc == 0) {
		log->end = at;
		return 0;
	}
	saved = errno;
	while (ftruncate(log->fd, (off_t)log->end) != 0 && errno == EINTR)
		;
	errno = saved;
	return rc;
}

int js_packlog_append(struct js_packlog *log, struct js_capture *capture, const struct js_template_values *values,
		      const struct js_reaped *reaped, int64_t ended_wall_us, struct js_packlog_place *place,
		      struct jobstack_error *error)
{
	int fd[2], rc = 1;
	int64_t from[2], out, err;

	js_capture_files(capture, &fd[0], &fd[1]);
	/* a process that is being killed may still cut its file: look at the lengths again, but not for ever */
	for (int tries = 0; rc == 1 && tries < 3; tries++) {
		*place = (struct js_packlog_place){-1, 0, 0};
		if (fd[0] < 0 || fd[1] < 0)
			return 0;
		if (js_capture_look(capture, from, &out, &err) != 0)
			return js_error_set(error, JOBSTACK_EFILE, "can't read captured output: %s", strerror(errno));
		if (out == 0 && err == 0)
			return 0;
		rc = open_log(log, error);
		if (rc != 0)
			return rc;
		place->out = out;
		place->err = err;
		rc = try_append(log, fd, from, values, reaped, ended_wall_us, place);
	}
	if (rc == 0)
		return 0;
	*place = (struct js_packlog_place){-1, 0, 0};
	return js_error_set(error, JOBSTACK_EFILE, "can't write the log %s: %s", log->path.data,
			    rc > 0 ? "the captured output keeps shrinking" : strerror(errno));
}

int js_packlog_sync(struct js_packlog *log, struct jobstack_error *error)
{
	int rc = 0;

	if (log->fd < 0)
		return 0;
	do
		rc = fdatasync(log->fd);
	while (rc != 0 && errno == EINTR);
	if (rc != 0)
		return js_error_set(error, JOBSTACK_EFILE, "can't write the log %s: %s", log->path.data,
				    strerror(errno));
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The packed log.  Promise: it only ever holds whole entries; what could not be written whole is cut off again.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "exec/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Up to this much output is read into memory and written at once; more is copied within the kernel. */
#define SMALL (64 * 1024)

/* A log.  STEM is its path without number and suffix, PATH that of the present file, TEXT what is to be written. */
struct js_packlog {
	struct js_buf stem, path, text;
	int fd;
	pthread_mutex_t lock;	 /* one append at a time; it may be held for long, by a write that hangs */
	_Atomic unsigned number; /* of the file, from 1 */
	int64_t size;		 /* 0: not limited */
	int64_t end;		 /* of the last whole entry */
};

int js_packlog_path_of(const struct js_packlog *log, unsigned number, struct js_buf *path)
{
	js_buf_reset(path);
	js_buf_str(path, log->stem.data);
	if (number > 1)
		js_buf_printf(path, ".%u", number);
	js_buf_str(path, ".log");
	return path->failed ? -1 : 0;
}

/* Makes the path of the file with the present number.  Returns 0, or -1 without memory. */
static int name_file(struct js_packlog *log)
{
	return js_packlog_path_of(log, log->number, &log->path);
}

/* Nothing is made on the disk yet: a worker whose commands print nothing leaves no file. */
int js_packlog_new(struct js_packlog **made, const char *dir, const char *name, int64_t size,
		   struct jobstack_error *error)
{
	*made = calloc(1, sizeof(**made));
	if (*made == NULL)
		return js_error_memory(error);
	(void)pthread_mutex_init(&(*made)->lock, NULL);
	(*made)->fd = -1;
	(*made)->number = 1;
	(*made)->size = size;
	js_buf_printf(&(*made)->stem, "%s/%s", dir, name);
	if ((*made)->stem.failed || name_file(*made) != 0) {
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
	(void)pthread_mutex_destroy(&log->lock);
	js_buf_free(&log->stem);
	js_buf_free(&log->path);
	js_buf_free(&log->text);
	free(log);
	errno = saved;
}

const char *js_packlog_path(const struct js_packlog *log)
{
	return log->path.data;
}

/* Makes the file, if that was not done yet.  O_EXCL: a file that is there is never written to. */
static int open_log(struct js_packlog *log, struct jobstack_error *error)
{
	const char *path = log->path.data;

	if (log->fd >= 0)
		return 0;
	if (js_file_make_parent(path, 0777) != 0)
		return js_error_file(error, "can't make the directory %.*s", (int)(strrchr(path, '/') - path), path);
	do
		log->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	while (log->fd < 0 && errno == EINTR);
	if (log->fd < 0)
		return js_error_file(error, "can't make the log %s", path);
	return 0;
}

/* Control characters would break the header's line. */
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

/* Appends the header line (exec/capture.h). */
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

/* For js_kept_each: appends output to the text in CTX. */
static int add_output(void *ctx, const char *text, size_t len)
{
	struct js_buf *to = ctx;

	js_buf_add(to, text, len);
	return to->failed ? -1 : 0;
}

/* Writes the header, which is in log->text, and the output after it, from log->end on.  Returns 0 and the new end in
 * *AT; 1 if a file became shorter meanwhile; -1 with errno. */
static int write_small(struct js_packlog *log, const struct js_kept kept[2], int64_t *at)
{
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++)
		rc = js_kept_each(&kept[i], add_output, &log->text);
	if (rc == 0 && log->text.data[log->text.len - 1] != '\n')
		js_buf_char(&log->text, '\n');
	if (log->text.failed) {
		errno = ENOMEM;
		return -1;
	}
	return rc != 0 ? rc : js_file_write_at(log->fd, log->text.data, log->text.len, at);
}

/* Does the same for output that is not read into memory. */
static int write_large(struct js_packlog *log, const struct js_kept kept[2], int64_t *at)
{
	char last;
	int rc = js_file_write_at(log->fd, log->text.data, log->text.len, at);

	for (int i = 0; i < 2 && rc == 0; i++)
		rc = js_kept_copy(&kept[i], log->fd, at);
	JS_THEN(rc, js_kept_last(&kept[js_kept_len(&kept[1]) > 0], &last));
	return rc != 0 || last == '\n' ? rc : js_file_write_at(log->fd, "\n", 1, at);
}

/* Tries once to append an entry.  Returns as write_small does.  If it fails, this cuts the file back to its last whole
 * entry, and keeps the errno of the failure. */
static int try_append(struct js_packlog *log, const struct js_kept kept[2], struct js_packlog_place *place)
{
	int64_t at = log->end;
	int rc, saved;

	place->at = log->end + (int64_t)log->text.len;
	rc = place->out + place->err <= SMALL ? write_small(log, kept, &at) : write_large(log, kept, &at);
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

/* Goes on to the next file if the entry would make this one too long.  The first entry of a file always fits. */
static int rotate_log(struct js_packlog *log, const struct js_packlog_place *place, struct jobstack_error *error)
{
	if (log->size == 0 || log->end == 0 ||
	    log->end + (int64_t)log->text.len + place->out + place->err + 1 <= log->size)
		return 0;
	(void)close(log->fd);
	log->fd = -1;
	log->end = 0;
	log->number++;
	return name_file(log) == 0 ? 0 : js_error_memory(error);
}

/* Finds out what is to be kept of the output, and fills PLACE with its lengths.  Returns 1: there is something; 0:
 * nothing was printed; or a negative code. */
static int measure_output(struct js_packlog *log, struct js_capture *capture, struct js_kept kept[2],
			  struct js_packlog_place *place, struct jobstack_error *error)
{
	*place = (struct js_packlog_place){-1, 0, 0, log->number};
	if (js_capture_look(capture, kept) != 0)
		return js_error_file(error, "can't read captured output");
	place->out = js_kept_len(&kept[0]);
	place->err = js_kept_len(&kept[1]);
	return place->out > 0 || place->err > 0;
}

/* Does what js_packlog_append does, with the lock held. */
static int append_locked(struct js_packlog *log, struct js_capture *capture, const struct js_template_values *values,
			 const struct js_reaped *reaped, int64_t ended_wall_us, struct js_packlog_place *place,
			 struct jobstack_error *error)
{
	struct js_kept kept[2];
	int rc = 1;

	/* a process that is being killed may still cut its file: look at the lengths again, but not for ever */
	for (int tries = 0; rc == 1 && tries < 3; tries++) {
		int found = measure_output(log, capture, kept, place, error);

		if (found <= 0)
			return found;
		js_buf_reset(&log->text);
		add_header(&log->text, values, reaped, ended_wall_us, place);
		rc = log->text.failed ? js_error_memory(error) : rotate_log(log, place, error);
		JS_THEN(rc, open_log(log, error));
		if (rc != 0)
			break;
		place->number = log->number;
		rc = try_append(log, kept, place);
	}
	if (rc == 0)
		return 0;
	*place = (struct js_packlog_place){-1, 0, 0, log->number};
	if (rc < -1)
		return rc;
	return js_error_set(error, JOBSTACK_EFILE, "can't write the log %s: %s", log->path.data,
			    rc > 0 ? "the captured output got shorter each time it was read" : strerror(errno));
}

/* Looks first without the lock: a command that printed nothing need not wait for a write that hangs. */
int js_packlog_append(struct js_packlog *log, struct js_capture *capture, const struct js_template_values *values,
		      const struct js_reaped *reaped, int64_t ended_wall_us, struct js_packlog_place *place,
		      struct jobstack_error *error)
{
	struct js_kept kept[2];
	int rc = measure_output(log, capture, kept, place, error);

	if (rc <= 0) /* a command that printed nothing has nothing to do with a log that hangs */
		return rc;
	(void)pthread_mutex_lock(&log->lock);
	rc = append_locked(log, capture, values, reaped, ended_wall_us, place, error);
	(void)pthread_mutex_unlock(&log->lock);
	return rc;
}

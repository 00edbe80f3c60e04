/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The files that commands write, beside their captured output.  Promises: a file that a lost attempt may have left
 * incomplete is not taken for a result; a disk counts as full only if nothing could be written to it.
 */
#include "worker/results.h"

#include "base/file.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A result must have been modified this much later than the last attempt ended: clocks tick, that end reached the
 * database late, and a process that was killed may have written for a moment longer. */
#define SLACK_US (JS_SECOND_US / 5)

/* Makes a file beside PATH and fills ST with it, so that its times are the present by that file system's clock. Returns
 * 0, or -1. */
static int make_file_beside(const char *path, struct stat *st)
{
	char *copy = strdup(path);
	int fd = copy == NULL ? -1 : js_capture_temporary(dirname(copy)), status = fd < 0 ? -1 : fstat(fd, st);

	js_file_close(&fd);
	free(copy);
	return status;
}

/* Returns whether the file PATH was modified after the entry's last attempt ended: then that attempt has not left it as
 * it is.  No two clocks are compared.  The time since that end comes from the database's clock, and the age of the file
 * from the clock of its file system, which also dates the new file beside it.  In doubt the answer is no. */
static int is_later_result(const char *path, const struct stat *file, int64_t last_end_us)
{
	/* read before the file's age: a delay in between makes the file look older than it is */
	int64_t since_us = jobstack_now_us() - last_end_us, age_us;
	struct stat now;

	if (make_file_beside(path, &now) != 0 || now.st_dev != file->st_dev)
		return 0;
	age_us = (now.st_mtim.tv_sec - file->st_mtim.tv_sec) * JS_SECOND_US +
		 (now.st_mtim.tv_nsec - file->st_mtim.tv_nsec) / 1000;
	/* some file systems count whole seconds */
	return age_us >= 0 && age_us + (now.st_mtim.tv_nsec == 0 ? JS_SECOND_US : SLACK_US) < since_us;
}

int results_find(const struct commands *c, struct slot *slot, const struct js_template_values *values, int retry,
		 char name[RESULTS_NAME])
{
	struct js_buf *path = &slot->result;
	struct stat st;
	int found = -1; /* without memory */
	size_t cut;

	name[0] = '\0';
	js_buf_reset(path);
	if (js_template_text(c->config->creates, values, path) == 0) {
		cut = path->len >= RESULTS_NAME ? path->len + 1 - RESULTS_NAME : 0;
		(void)snprintf(name, RESULTS_NAME, "%s", path->data + cut);
		if (stat(path->data, &st) != 0)
			found = 0;
		else if (!retry ||
			 (!c->config->finish_on_loss && /* else a lost command may still write */
			  slot->entry->last_end_us != 0 && is_later_result(path->data, &st, slot->entry->last_end_us)))
			found = 1;
	}
	return found;
}

/* Returns whether DIR is on a disk that belongs to this node alone.  That it is full is no reason to stop the other
 * workers. */
static int is_own_disk(const char *dir)
{
	static const char *const own[] = {"/tmp", "/dev/shm"};
	struct stat st, there;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (stat(dir, &st) == 0 && stat(own[i], &there) == 0 && st.st_dev == there.st_dev)
			return 1;
	return 0;
}

/* Tries to write beside the file PATH, of LEN bytes.  Returns 0, or JOBSTACK_EFILE: the disk is full. */
static int try_beside(const struct commands *c, const char *path, size_t len, struct jobstack_error *error)
{
	char dir[PATH_MAX];

	while (len > 0 && path[len - 1] != '/')
		len--;
	(void)snprintf(dir, sizeof(dir), "%.2000s/%.*s", path[0] == '/' ? "" : c->cwd, (int)len, path);
	return is_own_disk(dir) ? 0 : js_capture_full(NULL, dir, error);
}

const char *results_say_full(const char *said)
{
	const char *full = strstr(said, strerror(ENOSPC));

	return full != NULL ? full : strstr(said, strerror(EDQUOT));
}

int results_full(const struct commands *c, const struct slot *slot, const char *said, struct jobstack_error *error)
{
	static const char between[] = " \t\r\n'\"`:,;()[]<>=\xe2\x80\x98\x99"; /* the last four: GNU's quotes */
	const struct js_buf *own[] = {&slot->out_path, &slot->err_path, &slot->result};
	const char *full = results_say_full(said), *at, *end;
	int status = 0;

	if (full == NULL)
		return 0;
	for (at = full; at > said && at[-1] != '\n'; at--)
		;
	end = full + strcspn(full, "\n");
	for (size_t n; at < end && status == 0; at += n + (at[n] != '\0')) {
		n = strcspn(at, between);
		status = memchr(at, '/', n) != NULL ? try_beside(c, at, n, error) : 0;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && status == 0; i++)
		status = own[i]->len > 0 ? try_beside(c, own[i]->data, own[i]->len, error) : 0;
	return status != 0 ? status : try_beside(c, "", 0, error);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Small files.  Promise: js_file_replace leaves no half-written file under the name it was given, whatever fails.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The content ends with a NUL, as all of a js_buf does, so that texts can be read as strings. */
int js_file_read(const char *path, struct js_buf *buf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	char *to;

	if (fd < 0)
		return -1;
	do {
		to = js_buf_room(buf, 8192);
		if (to == NULL) {
			errno = ENOMEM;
			n = -1;
			break;
		}
		n = read(fd, to, 8192);
		if (n > 0)
			buf->len += (size_t)n;
		to[n > 0 ? n : 0] = '\0';
	} while (n > 0 || (n < 0 && errno == EINTR));
	js_file_close(&fd);
	return n < 0 ? -1 : 0;
}

int js_file_write_at(int fd, const void *data, size_t len, int64_t *at)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};

	for (const char *p = data; len > 0;) {
		ssize_t n = at != NULL ? pwrite(fd, p, len, (off_t)*at) : write(fd, p, len);

		if (n < 0 && errno == EAGAIN)
			(void)poll(&writable, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -1;
		if (n < 0)
			continue;
		p += n;
		len -= (size_t)n;
		if (at != NULL)
			*at += n;
	}
	return 0;
}

int js_file_write_all(int fd, const void *data, size_t len)
{
	return js_file_write_at(fd, data, len, NULL);
}

void js_file_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

/* The content is on the disk before the rename: after a crash the name leads to the old file or the whole new one. */
int js_file_replace(const char *path, mode_t mode, const void *data, size_t len)
{
	struct js_buf name = {0};
	int fd, saved;

	js_buf_printf(&name, "%s.XXXXXX", path);
	if (name.failed) {
		errno = ENOMEM;
		goto err0;
	}
	fd = mkostemp(name.data, O_CLOEXEC);
	if (fd < 0)
		goto err0;
	if (fchmod(fd, mode) != 0 || js_file_write_all(fd, data, len) != 0 || fsync(fd) != 0)
		goto err1;
	if (close(fd) != 0)
		goto err2;
	if (rename(name.data, path) != 0)
		goto err2;
	js_buf_free(&name);
	return 0;

err1:
	js_file_close(&fd);
err2:
	saved = errno;
	(void)unlink(name.data);
	errno = saved;
err0:
	js_buf_free(&name);
	return -1;
}

/* Each directory is simply made, from the top: one that is there already may be there because another process was
 * faster. */
int js_file_mkdirs(const char *path, mode_t mode)
{
	struct js_buf part = {0};
	struct stat st;
	int failed = 0, why;

	for (const char *p = path; !failed; p++) {
		if ((*p == '/' || *p == '\0') && part.len > 0 && mkdir(part.data, mode) != 0 && errno != EEXIST) {
			why = errno; /* not the errno of stat */
			failed = stat(part.data, &st) != 0 || !S_ISDIR(st.st_mode);
			errno = why;
		}
		if (*p == '\0')
			break;
		js_buf_char(&part, *p);
	}
	if (!failed && (part.data == NULL || stat(part.data, &st) != 0 || !S_ISDIR(st.st_mode))) {
		if (part.data != NULL && stat(part.data, &st) == 0)
			errno = ENOTDIR;
		failed = 1;
	}
	js_buf_free(&part);
	return failed ? -1 : 0;
}

int js_file_make_parent(const char *path, mode_t mode)
{
	char *copy = strdup(path);
	int status = copy == NULL ? -1 : js_file_mkdirs(dirname(copy), mode);

	free(copy);
	return status;
}

/* EINVAL and EROFS: this file system has no such call for directories, or nothing to write. */
int js_file_sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;

	if (fd < 0)
		return 1;
	status = fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : -1;
	js_file_close(&fd);
	return status;
}

int js_file_can_make(const char *path)
{
	char *at = strdup(path), *slash;
	int status = -1;

	/* the part of the path that exists, from its end */
	while (at != NULL && (status = access(at, W_OK | X_OK)) != 0 && errno == ENOENT &&
	       (slash = strrchr(at, '/')) != NULL)
		slash[slash == at && slash[1] != '\0'] = '\0';
	if (at != NULL && status != 0 && errno == ENOENT && at[0] != '/') /* nothing of a relative one */
		status = access(".", W_OK | X_OK);
	free(at);
	return status;
}

/* Each gets /dev/null, opened the wrong way round. */
void js_file_hold_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

void js_file_random(void *data, size_t len)
{
	char *p = data;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n <= 0)
			continue;
		p += n;
		len -= (size_t)n;
	}
}

void js_file_random_hex(char *text, size_t digits)
{
	static const char hex[] = "0123456789abcdef";

	js_file_random(text, digits);
	for (size_t i = 0; i < digits; i++)
		text[i] = hex[(unsigned char)text[i] & 15];
	text[digits] = '\0';
}

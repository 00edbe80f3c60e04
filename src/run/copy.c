/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Copies bytes from file to file.  Promise: a way of copying that this kernel or file system does not have is no
 * error; the next one goes on where it stopped.
 */
#define _GNU_SOURCE
#include "run/copy.h"

#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <unistd.h>

/* Ways of copying, in the order they are tried.  Each copies some of LEN bytes from *FROM on, and moves both
 * offsets. */
typedef ssize_t way_fn(int in, off_t *from, int out, int64_t *at, size_t len);

static ssize_t way_copy_range(int in, off_t *from, int out, int64_t *at, size_t len)
{
	off_t to = at != NULL ? (off_t)*at : 0;
	ssize_t n = copy_file_range(in, from, out, at != NULL ? &to : NULL, len, 0);

	if (n > 0 && at != NULL)
		*at = to;
	return n;
}

static ssize_t way_sendfile(int in, off_t *from, int out, int64_t *at, size_t len)
{
	ssize_t n;

	if (at != NULL && lseek(out, (off_t)*at, SEEK_SET) < 0)
		return -1;
	n = sendfile(out, in, from, len);
	if (n > 0 && at != NULL)
		*at += n;
	return n;
}

static ssize_t way_read_write(int in, off_t *from, int out, int64_t *at, size_t len)
{
	char block[65536];
	ssize_t n = pread(in, block, len < sizeof(block) ? len : sizeof(block), *from);

	if (n <= 0)
		return n;
	if (js_file_write_at(out, block, (size_t)n, at) != 0)
		return -1;
	*from += n;
	return n;
}

/* Whether ERR is about the data, and not about how it is copied: no other way would help. */
static int is_final(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EFBIG || err == EIO || err == EPIPE || err == ESTALE;
}

int64_t js_copy(int in, int64_t from, int64_t len, int out, int64_t *at)
{
	static way_fn *const ways[] = {way_copy_range, way_sendfile, way_read_write};
	const size_t last = sizeof(ways) / sizeof(ways[0]) - 1;
	off_t next = (off_t)from;
	struct pollfd writable = {.fd = out, .events = POLLOUT};
	size_t way = 0;

	while ((int64_t)next < from + len) {
		ssize_t n = ways[way](in, &next, out, at, (size_t)(from + len - (int64_t)next));

		if (n > 0 || (n < 0 && errno == EINTR))
			continue;
		if (n < 0 && errno == EAGAIN) {
			(void)poll(&writable, 1, -1);
			continue;
		}
		if (n < 0 && (way == last || is_final(errno)))
			return -1;
		if (way == last)
			break;
		way++; /* also when it copied nothing: some file systems say so of what they can't do */
	}
	return (int64_t)next - from;
}

int64_t js_copy_read(int in, int64_t from, void *data, size_t len)
{
	char *p = data;
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(in, p + done, len - done, (off_t)(from + (int64_t)done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (int64_t)done;
}

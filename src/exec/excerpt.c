/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What is kept of a stream.  Promise: the line in between stands by itself, and says just how many bytes are not there.
 */
#include "exec/excerpt.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE 4096 /* how far the end of a line is looked for */

/* ------------------------------------------------------------------------------------------------------- copying */

/* Returns whether ERR is about the data or the disk, and not about the way of copying: then the other way would fail,
 * too. */
static int is_final_error(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EFBIG || err == EIO || err == EPIPE || err == ESTALE;
}

/* Copies up to LEN bytes of the file IN, from *FROM on, to OUT, within the kernel if it can; moves both offsets. */
static ssize_t copy_chunk(int in, off_t *from, int out, int64_t *at, size_t len)
{
	char block[65536];
	off_t to = at != NULL ? (off_t)*at : 0;
	ssize_t n = copy_file_range(in, from, out, at != NULL ? &to : NULL, len, 0);

	if (n > 0 && at != NULL)
		*at = to;
	/* a kernel or file system that can't do it says so in many ways, or copies nothing */
	if (n > 0 || (n < 0 && (errno == EINTR || is_final_error(errno))))
		return n;
	n = pread(in, block, len < sizeof(block) ? len : sizeof(block), *from);
	if (n <= 0)
		return n;
	if (js_file_write_at(out, block, (size_t)n, at) != 0)
		return -1;
	*from += n;
	return n;
}

/* Copies LEN bytes of the file IN, from FROM on, to OUT: at *AT, which it moves on, or where OUT stands if AT is NULL
 * (a pipe, a terminal, a file opened to append).  Returns the bytes copied, fewer than LEN only if IN ends before; or
 * -1 with errno, and then part of it may be copied. */
static int64_t copy_bytes(int in, int64_t from, int64_t len, int out, int64_t *at)
{
	off_t next = (off_t)from;
	ssize_t n = 1;

	while ((int64_t)next < from + len && n != 0) {
		n = copy_chunk(in, &next, out, at, (size_t)(from + len - (int64_t)next));
		if (n < 0 && errno != EINTR)
			return -1;
	}
	return (int64_t)next - from;
}

/* Reads LEN bytes of the file IN, from FROM on.  Returns how many there were, or -1 with errno. */
static int64_t read_bytes(int in, int64_t from, void *data, size_t len)
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

/* -------------------------------------------------------------------------------------------------- what is kept */

/* A stream that is longer than its limit:
 *
 *   head_at        + head              tail_at        + tail
 *   | first part   |    left out       | last part    |
 *
 * What is kept is the first part, the mark that says how much is left out, and the last part.  At first each of the two
 * parts is half as long as the limit; then they are cut to whole lines, where that costs at most LINE bytes. */

/* Moves the end of the first part back to the end of a line, if one is near.  1: it is the end of a line; 0: it is not;
 * -1 with errno. */
static int end_head(struct js_kept *k)
{
	char text[LINE];
	int64_t n = k->head < LINE ? k->head : LINE, got;
	const char *newline;

	got = read_bytes(k->fd, k->head_at + k->head - n, text, (size_t)n);
	if (got < 0)
		return -1;
	newline = memrchr(text, '\n', (size_t)got);
	if (newline == NULL || got < n)
		return k->head == 0;
	k->head -= text + n - (newline + 1);
	return 1;
}

/* Moves the beginning of the last part on to the beginning of a line, if one is near and anything follows. */
static int begin_tail(struct js_kept *k)
{
	char text[LINE];
	int64_t n = k->tail < LINE ? k->tail : LINE, got;
	const char *newline;

	got = read_bytes(k->fd, k->tail_at, text, (size_t)n);
	if (got < 0)
		return -1;
	newline = memchr(text, '\n', (size_t)got);
	if (newline != NULL && newline + 1 - text < k->tail) {
		k->tail -= newline + 1 - text;
		k->tail_at += newline + 1 - text;
	}
	return 0;
}

/* What was trimmed (GONE) can reach into the last part if the command has cut its file: then that begins later. */
int js_kept_choose(struct js_kept *k, int fd, int64_t from, int64_t len, int64_t limit, int64_t gone)
{
	const int64_t end = from + len, half = limit / 2;
	int whole_line;

	*k = (struct js_kept){.fd = fd, .head_at = from, .head = len, .tail_at = end};
	if (limit == 0 || (len <= limit && gone <= from + half))
		return 0;
	k->head = half < len ? half : len;
	k->tail_at = end - (limit - half) > gone ? end - (limit - half) : gone < end ? gone : end;
	k->tail = end - k->tail_at;
	whole_line = end_head(k);
	if (whole_line < 0 || begin_tail(k) != 0)
		return -1;
	k->mark_len = (size_t)snprintf(k->mark, sizeof(k->mark), "%s[jobstack: %" PRId64 " bytes left out]\n",
				       whole_line ? "" : "\n", len - k->head - k->tail);
	return 0;
}

int64_t js_kept_len(const struct js_kept *k)
{
	return k->head + (int64_t)k->mark_len + k->tail;
}

/* Copies LEN bytes from FROM to OUT.  Returns 0; 1: the file is shorter; -1 with errno. */
static int copy_part(const struct js_kept *k, int64_t from, int64_t len, int out, int64_t *at)
{
	int64_t n = len > 0 ? copy_bytes(k->fd, from, len, out, at) : 0;

	return n == len ? 0 : n < 0 ? -1 : 1;
}

int js_kept_copy(const struct js_kept *k, int out, int64_t *at)
{
	int rc = copy_part(k, k->head_at, k->head, out, at);

	if (rc == 0 && k->mark_len > 0)
		rc = js_file_write_at(out, k->mark, k->mark_len, at);
	return rc == 0 ? copy_part(k, k->tail_at, k->tail, out, at) : rc;
}

/* Calls FN with each block of the LEN bytes at AT.  Returns as js_kept_each does. */
static int each_block(const struct js_kept *k, int64_t at, int64_t len,
		      int (*fn)(void *ctx, const char *text, size_t len), void *ctx)
{
	char block[65536];
	int64_t n;

	for (; len > 0; at += n, len -= n) {
		n = read_bytes(k->fd, at, block, len < (int64_t)sizeof(block) ? (size_t)len : sizeof(block));
		if (n <= 0)
			return n < 0 ? -1 : 1;
		if (fn(ctx, block, (size_t)n) != 0)
			return -1;
	}
	return 0;
}

int js_kept_each(const struct js_kept *k, int (*fn)(void *ctx, const char *text, size_t len), void *ctx)
{
	int rc = each_block(k, k->head_at, k->head, fn, ctx);

	if (rc == 0 && k->mark_len > 0 && fn(ctx, k->mark, k->mark_len) != 0)
		rc = -1;
	return rc == 0 ? each_block(k, k->tail_at, k->tail, fn, ctx) : rc;
}

int js_kept_last(const struct js_kept *k, char *last)
{
	int64_t n;

	if (k->tail == 0 && k->mark_len > 0) {
		*last = '\n';
		return 0;
	}
	n = read_bytes(k->fd, k->tail > 0 ? k->tail_at + k->tail - 1 : k->head_at + k->head - 1, last, 1);
	return n == 1 ? 0 : n < 0 ? -1 : 1;
}

/* Reads the end of the LEN bytes of FD from FROM on, without the first line if that is not whole. */
static size_t read_tail(int fd, int64_t from, int64_t len, char to[JS_KEPT_TAIL])
{
	int64_t n = len < JS_KEPT_TAIL ? len : JS_KEPT_TAIL, got;
	const char *newline;
	char before;

	got = n > 0 ? read_bytes(fd, from + len - n, to, (size_t)n) : 0;
	if (got <= 0 || n == len || read_bytes(fd, from + len - n - 1, &before, 1) != 1 || before == '\n')
		return got > 0 ? (size_t)got : 0;
	newline = memchr(to, '\n', (size_t)got);
	if (newline == NULL || newline + 1 == to + got)
		return (size_t)got;
	got -= newline + 1 - to;
	memmove(to, newline + 1, (size_t)got);
	return (size_t)got;
}

size_t js_kept_tail(const struct js_kept *k, char to[JS_KEPT_TAIL])
{
	int cut = k->mark_len > 0 && k->tail > 0;

	return read_tail(k->fd, cut ? k->tail_at : k->head_at, cut ? k->tail : k->head, to);
}

size_t js_kept_tail_of(const char *path, char to[JS_KEPT_TAIL])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read_tail(fd, 0, (int64_t)st.st_size, to);
	if (fd >= 0)
		(void)close(fd);
	return n;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What commands print.  Promise: a captured file never has a name that could be left behind, and a command's file
 * is never one that an earlier command has written to.
 */
#include "exec/capture.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLE (INT64_C(1) << 20) /* freeing less than this is not worth a call */
#define ROOM 65536		/* where not even this can be written, the disk is full */
#define FRESH_US 1000		/* a file's length is not read again within this time */

/* The two files of a slot.  An ordinary command gets empty ones.  A persistent command goes on writing into the same
 * files, so each entry's output is a piece of them:
 *
 *   0          holes             from              gone                 seen
 *   |          |                 |                 |                    |
 *   | freed    | earlier entries | first | trimmed | last half of limit |
 *                                  half
 *
 * What a command prints for ever is trimmed in the middle: of all that, only the first and the last half of the limit
 * will be kept. */
struct js_capture {
	char *dir;
	int fd[2]; /* stdout, stderr */
	/* bytes from the beginning of each file: */
	int64_t from[2];    /* up to here it was kept with an earlier entry */
	int64_t seen[2];    /* its length at the last look */
	int64_t holes[2];   /* up to here its disk space is freed */
	int64_t gone[2];    /* from FROM plus half the limit to here, its disk space was freed, and it can't be read any
			       more */
	int64_t trimmed[2]; /* its length when it was last trimmed */
	int64_t limit[2];   /* how much of an entry's output is kept; 0: all */
	int64_t looked_us;  /* when the last look was, by CLOCK_MONOTONIC */
	int solid;	    /* the file system makes no holes */
};

int js_capture_new(struct js_capture **made, const char *dir, struct jobstack_error *error)
{
	*made = calloc(1, sizeof(**made));
	if (*made == NULL)
		return js_error_memory(error);
	(*made)->fd[0] = (*made)->fd[1] = -1;
	(*made)->dir = strdup(dir);
	if ((*made)->dir == NULL) {
		free(*made);
		*made = NULL;
		return js_error_memory(error);
	}
	return 0;
}

void js_capture_free(struct js_capture *capture)
{
	int saved = errno;

	if (capture == NULL)
		return;
	for (int i = 0; i < 2; i++)
		if (capture->fd[i] >= 0)
			(void)close(capture->fd[i]);
	free(capture->dir);
	free(capture);
	errno = saved;
}

/* Makes a file without a name where the file system has no O_TMPFILE: its name is removed at once. */
static int open_and_unlink(const char *dir)
{
	struct js_buf name = {0};
	int fd = -1;

	js_buf_printf(&name, "%s/jobstack-XXXXXX", dir);
	if (name.failed)
		errno = ENOMEM;
	else
		fd = mkostemp(name.data, O_APPEND | O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name.data);
	js_buf_free(&name);
	return fd;
}

int js_capture_temporary(const char *dir)
{
	int fd;

	do
		fd = open(dir, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	while (fd < 0 && errno == EINTR);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_and_unlink(dir);
	return fd;
}

int js_capture_full(const struct js_capture *capture, const char *dir, struct jobstack_error *error)
{
	static const char block[ROOM];
	int fd = js_capture_temporary(dir != NULL ? dir : capture->dir), bad;
	int64_t at = 0;

	bad = fd < 0 || js_file_write_at(fd, block, sizeof(block), &at) != 0 ? errno : 0;
	if (fd >= 0 && close(fd) != 0 && bad == 0) /* NFS writes only now */
		bad = errno;
	errno = bad;
	if (bad != ENOSPC && bad != EDQUOT)
		return 0;
	return dir != NULL
		       ? js_error_file(error, "nothing can be written in %s", dir)
		       : js_error_file(error,
				       "TMPDIR must have space for the output of commands: empty it, or set another "
				       "TMPDIR; in %s",
				       capture->dir);
}

/* Reads the length of file I.  A command may have cut its file: then nothing behind its end is gone. */
static int read_size(struct js_capture *c, int i)
{
	struct stat st;

	if (c->fd[i] < 0)
		return 0;
	if (fstat(c->fd[i], &st) != 0)
		return -1;
	c->seen[i] = (int64_t)st.st_size;
	if (c->gone[i] > c->seen[i])
		c->gone[i] = c->seen[i];
	return 0;
}

/* A file that is still empty is used again, so that commands that print nothing cost no new files. */
int js_capture_begin(struct js_capture *capture, int *out, int *err, struct jobstack_error *error)
{
	/* in a busy slot the next command begins at once: the length from the last look is still valid */
	int fresh = js_clock_mono_us() - capture->looked_us < FRESH_US;

	for (int i = 0; i < 2; i++) {
		if (capture->fd[i] >= 0 && (fresh || read_size(capture, i) == 0) && capture->seen[i] == 0)
			continue;
		if (capture->fd[i] >= 0)
			(void)close(capture->fd[i]);
		capture->fd[i] = js_capture_temporary(capture->dir);
		capture->from[i] = capture->seen[i] = capture->holes[i] = capture->gone[i] = capture->trimmed[i] = 0;
		if (capture->fd[i] < 0)
			return js_error_file(error, "can't make a temporary file in %s", capture->dir);
	}
	capture->looked_us = 0; /* what the command writes has not been seen */
	*out = capture->fd[0];
	*err = capture->fd[1];
	return 0;
}

void js_capture_files(const struct js_capture *capture, int *out, int *err)
{
	*out = capture->fd[0];
	*err = capture->fd[1];
}

void js_capture_limit(struct js_capture *capture, int64_t out, int64_t err)
{
	capture->limit[0] = out;
	capture->limit[1] = err;
}

/* Of each file only the first half of the limit and the last half are kept.  So what lies between them is freed, in
 * pieces that are worth a call; the boundary of the last half moves on as the command prints. */
int js_capture_trim(struct js_capture *c)
{
	struct stat st;
	int busy = 0;

	for (int i = 0; i < 2; i++) {
		int64_t first = c->from[i] + c->limit[i] / 2, last;

		if (c->limit[i] == 0 || c->solid || c->fd[i] < 0 || fstat(c->fd[i], &st) != 0)
			continue;
		busy |= (int64_t)st.st_size - c->trimmed[i] >= HOLE;
		c->trimmed[i] = (int64_t)st.st_size;
		if (c->gone[i] > c->trimmed[i]) /* its command has cut it */
			c->gone[i] = c->trimmed[i];
		first = c->gone[i] > first ? c->gone[i] : first;
		last = c->trimmed[i] - (c->limit[i] - c->limit[i] / 2);
		if (last - first < HOLE)
			continue;
		if (fallocate(c->fd[i], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first,
			      (off_t)(last - first)) == 0)
			c->gone[i] = last;
		else
			c->solid = errno == EOPNOTSUPP || errno == ENOSYS;
	}
	return busy;
}

static int choose_kept(const struct js_capture *c, int i, struct js_kept *kept)
{
	int64_t len = c->seen[i] > c->from[i] ? c->seen[i] - c->from[i] : 0; /* shorter: its command has cut it */

	return js_kept_choose(kept, c->fd[i], c->from[i], c->fd[i] < 0 ? 0 : len, c->limit[i], c->gone[i]);
}

/* The time of the look is noted before it, and only if it succeeded: what the command writes later is seen by the next
 * look. */
int js_capture_look(struct js_capture *capture, struct js_kept kept[2])
{
	int64_t now = js_clock_mono_us();

	capture->looked_us = 0; /* until both have been read */
	for (int i = 0; i < 2; i++)
		if (read_size(capture, i) != 0 || choose_kept(capture, i, &kept[i]) != 0)
			return -1;
	capture->looked_us = now;
	return 0;
}

size_t js_capture_tail(const struct js_capture *capture, int which, char to[JS_KEPT_TAIL])
{
	struct js_kept kept;

	return choose_kept(capture, which, &kept) == 0 ? js_kept_tail(&kept, to) : 0;
}

/* The disk space of what was kept is freed in pieces that are worth a call. */
void js_capture_next(struct js_capture *capture)
{
	for (int i = 0; i < 2; i++) {
		capture->from[i] = capture->seen[i];
		capture->gone[i] = 0;
		if (capture->holes[i] > capture->from[i])
			capture->holes[i] = 0;
		if (capture->from[i] - capture->holes[i] < HOLE)
			continue;
		(void)fallocate(capture->fd[i], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)capture->holes[i],
				(off_t)(capture->from[i] - capture->holes[i]));
		capture->holes[i] = capture->from[i];
	}
}

/* What was moved counts as kept, so that a persistent command's next entry begins behind it. */
int js_capture_move(struct js_capture *capture, int which, int to, struct jobstack_error *error)
{
	struct js_kept kept[2];

	if (js_capture_look(capture, kept) != 0 || js_kept_copy(&kept[which], to, NULL) < 0)
		return js_error_file(error, "can't write the entry's own file");
	capture->from[which] = capture->seen[which];
	return 0;
}

/* Opens the file PATH for writing.  A symbolic link is followed only if it is the user's own, or root's: another user's
 * link could point to any file of this user, which would be overwritten. */
static int open_own(const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, fd = open(path, flags | O_NOFOLLOW, 0666);
	struct stat st;

	if (fd < 0 && errno == ELOOP && lstat(path, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0))
		fd = open(path, flags, 0666);
	return fd;
}

/* The directories above the file are made only if the first open fails, which is rare. */
int js_capture_open(const char *path, int *fd, struct jobstack_error *error)
{
	const char *slash = strrchr(path, '/');
	int tries = 0;

	for (;;) {
		*fd = open_own(path);
		if (*fd >= 0)
			return 0;
		if (errno == EINTR)
			continue;
		if (errno != ENOENT || slash == NULL || slash == path || tries++ > 0)
			break;
		if (js_file_make_parent(path, 0777) != 0)
			return js_error_file(error, "can't make the directory %.*s", (int)(slash - path), path);
	}
	return errno == ELOOP ? js_error_set(error, JOBSTACK_EFILE,
					     "can't write %s: it is a symbolic link of another user", path)
			      : js_error_file(error, "can't write %s", path);
}

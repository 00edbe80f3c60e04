/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive of what was pruned.  Promises: a chunk is on the disk, or the file is as long as before it; two never
 * write at once; a file that is something else is not touched.
 */
#include "cli/archive.h"

#include "base/file.h"
#include "show/record.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGINS "{\"stack\":"	 /* each line */
#define LINE_MAX_BYTES (1 << 20) /* no line is longer */
#define WRITE_AT 65536

/* Prints "the archive PATH WHAT", and returns STATUS.  From then on nothing is written. */
static int fail_archive(struct cli_archive *a, int status, const char *what)
{
	cli_tell(a->cli, "the archive \"%s\" %s", a->path, what);
	a->failed = 1;
	return status;
}

static int fail_errno(struct cli_archive *a, const char *what)
{
	char text[300];

	(void)snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return fail_archive(a, CLI_USAGE, text);
}

/* Returns whether a line of ours begins at AT. */
static int is_ours(const struct cli_archive *a, off_t at)
{
	char text[sizeof(BEGINS) - 1];
	ssize_t n = pread(a->fd, text, sizeof(text), at);

	return n > 0 && memcmp(text, BEGINS, (size_t)n) == 0;
}

/* Returns where the last line begins; the size of the file if it ends with a newline; -1 if it can't be read. */
static off_t last_line(const struct cli_archive *a)
{
	static char block[LINE_MAX_BYTES];
	const off_t from = a->size > LINE_MAX_BYTES ? a->size - LINE_MAX_BYTES : 0;
	ssize_t n = pread(a->fd, block, (size_t)(a->size - from), from);
	const char *newline = n > 0 ? memrchr(block, '\n', (size_t)n) : NULL;

	return n != a->size - from ? -1 : newline == NULL ? from : from + (newline - block) + 1;
}

/* Checks that what is in the file is an archive, and cuts off an incomplete last line, which a prune that was killed
 * has left.  Its entry is still in the database, so the next prune writes it again. */
static int check_present(struct cli_archive *a)
{
	off_t line;

	if (a->size == 0)
		return 0;
	if (!is_ours(a, 0))
		return fail_archive(a, CLI_USAGE,
				    "exists and is not a jobstack archive: nothing was written or pruned");
	line = last_line(a);
	if (line < 0)
		return fail_errno(a, "can't be read");
	if (line == a->size)
		return 0;
	if (!is_ours(a, line))
		return fail_archive(a, CLI_USAGE,
				    "does not end with a line of a jobstack archive: nothing was written or pruned");
	cli_say(a->cli, "removed the incomplete last line of %s: its entry is still in the database", a->path);
	a->size = line;
	return ftruncate(a->fd, line) == 0 ? 0 : fail_errno(a, "can't be written");
}

/* Syncs the directory of a new file: without that, a crash could take the file away after the entries were deleted from
 * the database. */
static int sync_parent_directory(const char *path)
{
	char *copy = strdup(path);
	int status = copy == NULL ? -1 : js_file_sync_dir(dirname(copy));

	free(copy);
	return status;
}

int cli_archive_begin(struct cli_archive *a, const struct cli *cli, const char *path)
{
	struct stat st;

	*a = (struct cli_archive){.cli = cli, .path = path};
	show_fields_of_attempts(&a->fields);
	a->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (a->fd < 0 || fstat(a->fd, &st) != 0)
		return fail_errno(a, "can't be written");
	if (!S_ISREG(st.st_mode))
		return fail_archive(a, CLI_USAGE,
				    "is not a regular file: --archive needs one, so that it can be synced to the disk");
	/* a file system without locks is accepted: two prunes at once are a rare mistake */
	if (flock(a->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return fail_archive(a, CLI_NO, "is being written by another prune: wait for it, or use another file");
	if (fstat(a->fd, &st) != 0) /* as it is now that it is ours */
		return fail_errno(a, "can't be read");
	a->size = st.st_size;
	if (a->size == 0 && sync_parent_directory(path) != 0)
		return fail_errno(a, "can't be synced to the disk");
	return check_present(a);
}

/* Writes the lines that were gathered; with SYNC everything is on the disk then.  On a failure the file is cut back to
 * what was synced last. */
static int write_lines(struct cli_archive *a, int sync)
{
	if (a->lines.failed)
		(void)fail_archive(a, CLI_BUG, "can't be written: out of memory");
	else if (js_file_write_all(a->fd, a->lines.data, a->lines.len) != 0 || (sync && fsync(a->fd) != 0))
		(void)fail_errno(a, "can't be written");
	a->written += (off_t)a->lines.len;
	js_buf_reset(&a->lines);
	if (a->failed) {
		if (ftruncate(a->fd, a->size) != 0)
			(void)fail_errno(a, "could not be cut back to its last complete line");
		return -1;
	}
	if (sync) {
		a->size += a->written;
		a->written = 0;
	}
	return 0;
}

int cli_archive_add(void *archive, const struct jobstack_item *item)
{
	struct cli_archive *a = archive;

	js_buf_char(&a->lines, '{');
	show_json_member(&a->lines, "stack", a->cli->stack, strlen(a->cli->stack));
	js_buf_char(&a->lines, ',');
	show_json_members(&a->fields, item, &a->lines);
	js_buf_str(&a->lines, "}\n");
	return a->lines.failed || a->lines.len >= WRITE_AT ? write_lines(a, 0) : 0;
}

int cli_archive_sync(void *archive)
{
	struct cli_archive *a = archive;

	return a->lines.len + (size_t)a->written == 0 && !a->lines.failed ? 0 : write_lines(a, 1);
}

void cli_archive_end(struct cli_archive *a)
{
	js_buf_free(&a->lines);
	if (a->fd >= 0)
		(void)close(a->fd);
}

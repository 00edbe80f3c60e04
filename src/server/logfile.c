/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's error log.  Promise: its text is only shown, or chooses the words of a message.
 */
#include "server/logfile.h"

#include "server/layout.h"

#include <fcntl.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIG (INT64_C(16) << 20)
#define READ_MAX (INT64_C(64) << 10)
#define FULL_MB 1

int js_logfile_open(const char *path, int64_t *offset)
{
	char aside[JS_LAYOUT_PATH + 4];
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && st.st_size > BIG) {
		(void)snprintf(aside, sizeof(aside), "%s.1", path);
		(void)rename(path, aside);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	*offset = (int64_t)st.st_size;
	return fd;
}

void js_logfile_read(const char *path, int64_t offset, struct js_buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n = 0;
	char *to;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (int64_t)st.st_size - offset > READ_MAX)
		offset = (int64_t)st.st_size - READ_MAX;
	while ((to = js_buf_room(text, 8192)) != NULL) {
		n = pread(fd, to, 8192, (off_t)offset);
		to[n > 0 ? n : 0] = '\0';
		if (n <= 0)
			break;
		text->len += (size_t)n;
		offset += n;
	}
	(void)close(fd);
}

static const char *next_line(const char *p)
{
	p += strcspn(p, "\n");
	return p + (*p == '\n');
}

/* An installer, and a server that can't start, say much after their first error, so the lines begin there. */
void js_logfile_tell(const struct cli *cli, const char *text, int lines)
{
	const char *error = text != NULL ? strstr(text, "ERROR") : NULL;
	int n = 0, from = INT_MAX, i = 0;

	for (const char *p = text; p != NULL && *p != '\0'; p = next_line(p), n++)
		if (error != NULL && p <= error)
			from = n; /* at last the line of the error */
	from = from < n - lines ? from : n - lines;
	for (const char *p = text; p != NULL && *p != '\0'; p = next_line(p), i++)
		if (i >= from && i < from + lines && *p != '\n')
			cli_tell(cli, "| %.*s", (int)(strcspn(p, "\n") < 900 ? strcspn(p, "\n") : 900), p);
}

/* It goes by words, because servers, installers and client programs give no number, each in its own way. */
int js_logfile_says_full(const char *text)
{
	/* 28: no space; 122: the quota is full; 135: a table can't grow */
	static const char *const words[] = {"No space left on device",
					    "Disk quota exceeded",
					    "disk full",
					    "disk is full",
					    "errno: 28",
					    "error 28",
					    "error number 28",
					    "Errcode: 28",
					    "errno: 122",
					    "error 122",
					    "error number 122",
					    "Errcode: 122",
					    "errno: 135"};

	for (size_t i = 0; text != NULL && i < sizeof(words) / sizeof(words[0]); i++)
		for (const char *p = text; (p = strcasestr(p, words[i])) != NULL;) {
			p += strlen(words[i]);
			if (!isdigit((unsigned char)*p)) /* "error 122" is not in "error 1226" */
				return 1;
		}
	return 0;
}

int js_logfile_full(const char *dir, const char *text)
{
	return js_logfile_says_full(text) || js_layout_full(dir, FULL_MB);
}

int js_logfile_waits_for_space(const char *path, int64_t offset)
{
	struct js_buf text = {0};
	int waits;

	js_logfile_read(path, offset, &text);
	waits = text.data != NULL && strcasestr(text.data, "waiting for someone to free") != NULL;
	js_buf_free(&text);
	return waits;
}

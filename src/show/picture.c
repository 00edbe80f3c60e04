/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures.  To replace one, the cursor goes up by as many rows as the old lines take now: terminals wrap them anew
 * when they become narrower.  The old lines are erased and the new ones written in one write, so that nothing flickers.
 */
#include "show/picture.h"

#include "base/file.h"
#include "show/term.h"

#include <string.h>
#include <sys/ioctl.h>

void show_picture_size(int fd, unsigned *columns, unsigned *rows)
{
	struct winsize size = {0};

	(void)ioctl(fd, TIOCGWINSZ, &size);
	*columns = size.ws_col > 0 ? size.ws_col : 80;
	*rows = size.ws_row > 0 ? size.ws_row : 24;
}

/* Appends what erases the picture, from its last row up. */
static void add_erasure(const struct show_picture *p, struct js_buf *out)
{
	unsigned columns, unused, rows = 0;

	if (!p->up)
		return;
	show_picture_size(p->fd, &columns, &unused);
	for (const char *line = p->text.data; line != NULL; line = strchr(line, '\n')) {
		unsigned width;

		line += *line == '\n';
		width = show_width(line, strcspn(line, "\n"));
		/* a line was cut to the width of then; on a terminal that is narrower now it takes more rows */
		rows += width > columns ? (width + columns - 1) / columns : 1;
	}
	js_buf_char(out, '\r');
	if (rows > 1)
		js_buf_printf(out, "\033[%uA", rows - 1);
	js_buf_str(out, "\033[J");
}

/* Appends the lines of TEXT that fit, each cut to the width. */
static void add_lines(int fd, const char *text, struct js_buf *out)
{
	unsigned columns, rows, more = 0;

	show_picture_size(fd, &columns, &rows);
	for (const char *c = text; *c != '\0'; c++)
		more += *c == '\n';
	more = more >= rows ? more - rows + 2 : 0; /* lines that the last row stands for */
	for (size_t len; rows > 0; rows--, text += len + 1) {
		char rest[40];

		if (more > 0 && rows == 1) {
			(void)snprintf(rest, sizeof(rest), "(%u more lines)", more);
			text = rest;
		}
		len = strcspn(text, "\n");
		show_cut_bytes(out, text, len, columns);
		if (text[len] == '\0' || rows == 1)
			break;
		js_buf_char(out, '\n');
	}
}

/* Writes OUT, and frees it.  UP: the terminal shows the picture then.  Without memory nothing is written, and a later
 * picture is drawn below. */
static int write_picture(struct show_picture *p, struct js_buf *out, int up)
{
	int status = out->failed ? 0 : js_file_write_all(p->fd, out->data, out->len);

	p->up = up && p->text.len > 0 && !p->text.failed && !out->failed;
	js_buf_free(out);
	return status;
}

int show_picture_erase(struct show_picture *p)
{
	struct js_buf out = {0};

	add_erasure(p, &out);
	return write_picture(p, &out, 0);
}

int show_picture_show(struct show_picture *p)
{
	struct js_buf out = {0};

	add_erasure(p, &out);
	js_buf_add(&out, p->text.data, p->text.len);
	return write_picture(p, &out, 1);
}

int show_picture_draw(struct show_picture *p, const char *text)
{
	struct js_buf lines = {0}, out = {0};

	add_lines(p->fd, text, &lines);
	if (p->up && !lines.failed && lines.len == p->text.len && memcmp(lines.data, p->text.data, lines.len) == 0) {
		js_buf_free(&lines);
		return 0;
	}
	add_erasure(p, &out);
	js_buf_add(&out, lines.data, lines.len);
	js_buf_free(&p->text);
	p->text = lines;
	return write_picture(p, &out, 1);
}

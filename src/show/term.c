/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Terminals.  Promise: files and pipes get no control characters.
 */
#include "show/term.h"

#include "base/num.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_MAX 1000

int show_is_dumb(void)
{
	const char *term = getenv("TERM");

	return term == NULL || *term == '\0' || strcmp(term, "dumb") == 0;
}

/* $COLUMNS is for tests and for people who want another width; it does not make a terminal of a pipe. */
unsigned show_columns(FILE *to)
{
	const char *given = getenv("COLUMNS");
	struct winsize size = {0};
	uint64_t n;

	if (!isatty(fileno(to)))
		return 0;
	if (given != NULL && js_num_u64(given, 1, COLUMNS_MAX, &n) == 0)
		return (unsigned)n;
	if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

int show_colours(FILE *to)
{
	const char *no = getenv("NO_COLOR");

	return isatty(fileno(to)) && !show_is_dumb() && (no == NULL || *no == '\0');
}

void show_paint(struct js_buf *out, int on, enum show_colour colour, const char *text)
{
	static const char *const code[] = {
		[SHOW_PLAIN] = "0", [SHOW_BOLD] = "1", [SHOW_RED] = "31", [SHOW_GREEN] = "32", [SHOW_YELLOW] = "33"};

	if (on && colour != SHOW_PLAIN)
		js_buf_printf(out, "\033[%sm%s\033[0m", code[colour], text);
	else
		js_buf_str(out, text);
}

/* Returns the length of the colour at TEXT, as show_paint writes it; 0 if there is none. */
static size_t colour_length(const char *text, size_t len)
{
	size_t n = 2;

	if (len < 3 || text[0] != '\033' || text[1] != '[')
		return 0;
	while (n < len && ((text[n] >= '0' && text[n] <= '9') || text[n] == ';'))
		n++;
	return n < len && text[n] == 'm' ? n + 1 : 0;
}

/* Returns the length of a character, or of a colour, at TEXT; its columns are added to *COLUMNS. */
static size_t character_length(const char *text, size_t len, unsigned *columns)
{
	size_t step = colour_length(text, len);

	if (step > 0)
		return step;
	step = js_utf8_len(text, len);
	*columns += step > 0 ? js_utf8_columns(text, step) : 1;
	return step > 0 ? step : 1;
}

unsigned show_width(const char *text, size_t len)
{
	unsigned n = 0;

	for (size_t at = 0; at < len;)
		at += character_length(text + at, len - at, &n);
	return n;
}

void show_cut_bytes(struct js_buf *out, const char *text, size_t len, unsigned columns)
{
	unsigned n = 0;
	size_t at = 0;

	if (columns == 0 || show_width(text, len) <= columns) {
		js_buf_add(out, text, len);
		return;
	}
	for (size_t step = 0; at + step <= len && n < columns; step = character_length(text + at, len - at, &n))
		at += step;
	js_buf_add(out, text, at);
	js_buf_char(out, '~');
	if (memchr(text, '\033', at) != NULL)
		js_buf_str(out, "\033[0m");
}

/* The beginning is cut by show_cut_bytes, which adds the ~; then characters are skipped until the rest fits. */
void show_cut_inside(struct js_buf *out, const char *text, size_t len, unsigned columns, int middle)
{
	unsigned head = middle ? columns / 4 : 0, left = show_width(text, len), n;

	if (columns == 0 || left <= columns) {
		js_buf_add(out, text, len);
		return;
	}
	show_cut_bytes(out, text, len, head + 1);
	for (size_t step; left >= columns - head; text += step, len -= step, left -= n) {
		n = 0;
		step = character_length(text, len, &n);
	}
	js_buf_add(out, text, len);
}

void show_fit(struct js_buf *out, const char *text, unsigned columns)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		show_cut_bytes(out, text, len, columns);
		js_buf_char(out, '\n');
		text += len + (text[len] == '\n');
	}
}

/* A word takes the blanks before it along, unless it begins a new line; such a line is indented by two. */
void show_wrap(struct js_buf *out, const char *text, unsigned columns)
{
	unsigned used = 0, width;

	for (size_t len, blanks; *text != '\0'; text += len) {
		if (*text == '\n') {
			js_buf_char(out, '\n');
			used = 0;
			len = 1;
			continue;
		}
		blanks = strspn(text, " ");
		len = blanks + strcspn(text + blanks, " \n");
		width = show_width(text, len);
		if (used > 0 && columns > 0 && used + width > columns) {
			js_buf_str(out, "\n  ");
			used = 2 + width - (unsigned)blanks;
			js_buf_add(out, text + blanks, len - blanks);
		} else {
			js_buf_add(out, text, len);
			used += width;
		}
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A progress bar.
 */
#include "base/bar.h"

#include <stdlib.h>
#include <string.h>

int js_bar_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		/* not setlocale: what the terminal shows does not depend on the locales that are installed here */
		const char *value = getenv(names[i]);

		if (value != NULL && *value != '\0')
			return strcasestr(value, ".utf-8") != NULL || strcasestr(value, ".utf8") != NULL;
	}
	return 0;
}

/* How many of WIDTH columns N of ALL take, rounded down. */
static unsigned columns_of(uint64_t n, uint64_t all, unsigned width)
{
	return all > 0 ? (unsigned)((double)n * width / (double)all) : 0;
}

/* The columns between FROM and TO, at least one if there is anything to show. */
static unsigned columns_between(unsigned from, unsigned to, uint64_t n)
{
	return n == 0 ? 0 : to > from ? to - from : 1;
}

/* The columns of each part, in this order.  PART: the last column of DONE is filled only by so many eighths (0: whole).
 */
struct parts {
	unsigned done, part, running, dead, left;
};

/* Divides WIDTH columns.  What is not 0 gets a column, and DONE fills all only if nothing else is left.  EIGHTHS: 8, or
 * 1 for whole columns only. */
static struct parts split_columns(const struct js_bar *bar, unsigned width, unsigned eighths)
{
	struct parts c = {0};
	uint64_t sum = bar->done + bar->running + bar->dead, all = bar->all > sum ? bar->all : sum;
	unsigned parts = columns_between(0, columns_of(bar->done, all, width * eighths), bar->done);

	c.part = parts % eighths;
	c.done = parts / eighths + (c.part > 0);
	c.running = columns_between(c.done, columns_of(sum - bar->dead, all, width), bar->running);
	c.dead = columns_between(c.done + c.running, columns_of(sum, all, width), bar->dead);
	c.dead = c.dead < width ? c.dead : width;
	c.running = c.running < width - c.dead ? c.running : width - c.dead;
	if (c.done > width - c.dead - c.running) {
		c.done = width - c.dead - c.running;
		c.part = 0;
	}
	c.left = width - c.dead - c.running - c.done;
	return c;
}

/* Appends a part of N columns, the last of them filled by PART eighths. */
static void draw_part(struct js_buf *out, const char *colour, unsigned n, const char *block, unsigned part)
{
	if (n == 0)
		return;
	js_buf_str(out, colour);
	for (unsigned i = 0; i < n; i++)
		js_buf_str(out, i + 1 == n && part > 0 ? (char[]){'\xe2', '\x96', (char)(0x90 - part), '\0'} : block);
	js_buf_str(out, *colour != '\0' ? "\033[0m" : "");
}

void js_bar_draw(struct js_buf *out, const struct js_bar *bar, unsigned width, int style)
{
	int utf8 = (style & JS_BAR_UTF8) != 0, colours = (style & JS_BAR_COLOURS) != 0;
	struct parts c;

	if (width < 3)
		return;
	c = split_columns(bar, width - 2, utf8 ? 8 : 1);
	js_buf_char(out, '[');
	draw_part(out, colours ? "\033[32m" : "", c.done, utf8 ? "\xe2\x96\x88" : "#", c.part);
	draw_part(out, colours ? "\033[33m" : "", c.running, utf8 ? "\xe2\x96\x92" : "=", 0);
	draw_part(out, colours ? "\033[31m" : "", c.dead, "!", 0);
	draw_part(out, "", c.left, " ", 0);
	js_buf_char(out, ']');
}

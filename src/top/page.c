/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures as lines.  Promise: every text from outside is escaped.
 */
#include "top/page.h"

#include "base/array.h"
#include "base/bar.h"
#include "show/amount.h"
#include "show/status.h"

#include <stdlib.h>
#include <string.h>

#define HISTORY_MAX 60

/* What is shown, and how many lines of it, from the first on, can't be chosen. */
enum kind { STACKS, HEAD, GROUPS, LONGEST, WORKERS, OUTPUT };
static const size_t heads[] = {
	[STACKS] = 1, [HEAD] = SIZE_MAX, [GROUPS] = 3, [LONGEST] = 2, [WORKERS] = 2, [OUTPUT] = 0};

void page_free(struct page *p)
{
	js_buf_free(&p->text);
	free(p->row);
	*p = (struct page){.n = 0};
}

/* Fills in what row I of a table shows: rows stand in the order of the snapshot's arrays. */
static void fill_row(struct page_row *row, const struct feed_picture *picture, enum kind kind, size_t i, size_t line)
{
	const struct figures_snapshot *shot = &picture->shot;

	row->line = line;
	row->stack = kind == STACKS ? shot->seen[i].stack.name : picture->of.stack;
	row->group = kind == GROUPS ? &shot->failures.group[i] : NULL;
	row->entry = kind == GROUPS    ? row->group->f.entry
		     : kind == LONGEST ? shot->longest[i].entry
		     : kind == WORKERS ? shot->worker[i].longest
		     : kind == OUTPUT  ? picture->of.entry
				       : 0;
}

/* Appends the lines of TEXT, and frees it.  Lines of a table's heading are always shown; of the others those that
 * contain FILTER. */
static void add_rows(struct page *p, const struct feed_picture *picture, struct js_buf *text, enum kind kind,
		     const char *filter)
{
	char *line = text->len > 1 ? text->data : NULL, *end; /* 1: a blank line above no table */

	for (size_t n = 0; line != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1, n++) {
		const int can_choose = n >= heads[kind];

		*end = '\0';
		if (can_choose && strcasestr(line, filter) == NULL)
			continue;
		if (can_choose && js_array_grow(&p->row, &p->capacity, p->n + 1, sizeof(*p->row)) == 0)
			fill_row(&p->row[p->n++], picture, kind, n - heads[kind], p->lines);
		js_buf_printf(&p->text, "%s\n", line);
		p->lines++;
	}
	js_buf_free(text);
}

/* Appends when entries of the stack ended: a column for each step of time, as high as its share of the busiest one. */
static void add_history(struct js_buf *out, const struct feed_picture *picture, unsigned columns)
{
	static const char letters[] = " .:-=+*%#";
	struct js_timeline t = picture->ended;
	uint64_t most = 1;
	size_t from, to;

	if (columns < 30 || js_timeline_range(&t, &from, &to) != 0)
		return;
	js_timeline_fit(&t, columns - 12 < HISTORY_MAX ? columns - 12 : HISTORY_MAX);
	(void)js_timeline_range(&t, &from, &to);
	for (size_t i = from; i <= to; i++)
		most = t.count[i][0] > most ? t.count[i][0] : most;
	js_buf_str(out, "ended     ");
	for (size_t i = from; i <= to; i++) {
		const unsigned level = (unsigned)((t.count[i][0] * 8 + most - 1) / most);

		if (js_bar_utf8() && level > 0)
			js_buf_printf(out, "\xe2\x96%c", (char)(0x80 + level)); /* the lower eighths of a block */
		else
			js_buf_char(out, letters[level]);
	}
	js_buf_printf(out, "\n          %s per column, at most %s\n", show_duration(t.step_us).text,
		      show_rate((double)most * picture->each * 1e6 / (double)t.step_us, " files").text);
}

/* Each table is rendered and turned into lines by itself, since only so it is known which line shows which row. */
static void add_stack(struct page *p, const struct feed_picture *picture, const char *filter,
		      const struct show_page *page)
{
	const struct figures_snapshot *shot = &picture->shot;

	show_status_head(shot, page);
	add_history(page->out, picture, page->columns);
	add_rows(p, picture, page->out, HEAD, filter);
	if (shot->failures.n > 0)
		js_buf_str(page->out, shot->failures_all ? "\nfailing now, will be retried\n" : "\ndead\n");
	show_failures_table(&shot->failures, page);
	add_rows(p, picture, page->out, GROUPS, filter);
	js_buf_char(page->out, '\n');
	show_longest_table(shot, page);
	add_rows(p, picture, page->out, LONGEST, filter);
	js_buf_char(page->out, '\n');
	show_workers_table(shot, page);
	add_rows(p, picture, page->out, WORKERS, filter);
}

void page_make(struct page *p, const struct feed_picture *picture, const char *filter, unsigned columns)
{
	const size_t shown = *filter != '\0' ? picture->shot.n : picture->shot.recent;
	struct js_buf out = {0};
	const struct show_page page = {
		.out = &out, .columns = columns, .colours = show_colours(stdout), .utf8 = js_bar_utf8()};

	js_buf_reset(&p->text);
	p->lines = p->n = 0;
	if (picture->of.view == FEED_ENTRY)
		js_buf_add(&out, picture->text.data, picture->text.len);
	else if (picture->of.view == FEED_STACK)
		add_stack(p, picture, filter, &page);
	else if (picture->shot.n == 0)
		js_buf_str(&p->text, "there are no stacks yet: `jobstack push` creates one\n");
	else
		show_status_table(&picture->shot, shown, &page);
	add_rows(p, picture, &out, picture->of.view == FEED_ENTRY ? OUTPUT : STACKS, filter);
	if (picture->of.view == FEED_STACKS)
		show_status_more(&picture->shot, shown, "type / and a part of the name", &p->text);
	p->lines += picture->of.view == FEED_STACKS && shown < picture->shot.n;
}

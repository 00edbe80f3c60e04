/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pieces of a page.
 */
#include "view/html.h"

#include "view/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WIDE 720 /* of a graph, in its own units */
#define HIGH 160
#define LONG 300 /* bytes of a name; a longer one is shown without its middle */

void html_text(struct js_buf *out, const char *data, size_t len)
{
	struct js_buf safe = {0};

	view_safe(&safe, data, len);
	for (size_t i = 0; i < safe.len; i++)
		switch (safe.data[i]) {
		case '&': js_buf_str(out, "&amp;"); break;
		case '<': js_buf_str(out, "&lt;"); break;
		case '>': js_buf_str(out, "&gt;"); break;
		case '"': js_buf_str(out, "&quot;"); break;
		case '\'': js_buf_str(out, "&#39;"); break;
		default: js_buf_char(out, safe.data[i]);
		}
	out->failed |= safe.failed;
	js_buf_free(&safe);
}

void html_words(struct js_buf *out, const char *words)
{
	html_text(out, words, strlen(words));
}

void html_section(struct js_buf *out, const char *heading, const char *format, ...)
{
	char lead[600];
	va_list args;

	js_buf_str(out, "<section><h2>");
	html_words(out, heading);
	js_buf_str(out, "</h2>\n");
	va_start(args, format);
	(void)vsnprintf(lead, sizeof(lead), format, args);
	va_end(args);
	if (lead[0] == '\0')
		return;
	js_buf_str(out, "<p>");
	html_words(out, lead);
	js_buf_str(out, "</p>\n");
}

void html_section_end(struct js_buf *out)
{
	js_buf_str(out, "</section>\n");
}

void html_table_begin(struct js_buf *out)
{
	js_buf_str(out, "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>");
}

void html_heading(struct js_buf *out, const char *words, int number)
{
	js_buf_str(out, number ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
	html_words(out, words);
	js_buf_str(out, "</th>");
}

void html_table_body(struct js_buf *out)
{
	js_buf_str(out, "</tr></thead><tbody>\n<tr>");
}

void html_table(struct js_buf *out, const char *headings, int folded)
{
	char words[64];

	if (folded)
		js_buf_str(out, "<details><summary>the numbers</summary>");
	html_table_begin(out);
	for (const char *at = headings; *at != '\0';) {
		size_t len = strcspn(at, "|");
		int number = *at == '#';

		(void)snprintf(words, sizeof(words), "%.*s", (int)len - number, at + number);
		html_heading(out, words, number);
		at += len + (at[len] == '|');
	}
	html_table_body(out);
}

void html_row(struct js_buf *out)
{
	if (out->len < 4 || memcmp(out->data + out->len - 4, "<tr>", 4) != 0)
		js_buf_str(out, "</tr>\n<tr>");
}

void html_cell_name(struct js_buf *out, const char *data, size_t len)
{
	js_buf_str(out, "<td>");
	html_text(out, data, len > LONG ? LONG / 3 : len);
	if (len > LONG) {
		js_buf_str(out, " ... ");
		html_text(out, data + len - 2 * LONG / 3, 2 * LONG / 3);
	}
	js_buf_str(out, "</td>");
}

void html_cell(struct js_buf *out, const char *words)
{
	html_cell_name(out, words, strlen(words));
}

void html_number(struct js_buf *out, double value, const char *shown)
{
	js_buf_printf(out, "<td class=\"n\" data-v=\"%.9g\">", value);
	html_words(out, shown);
	js_buf_str(out, "</td>");
}

void html_count(struct js_buf *out, uint64_t n)
{
	js_buf_printf(out, "<td class=\"n\" data-v=\"%.9g\">%" PRIu64 "</td>", (double)n, n);
}

void html_bar(struct js_buf *out, double share, const char *class)
{
	js_buf_printf(out,
		      "<td class=\"bar\" data-v=\"%.4f\"><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
		      "aria-hidden=\"true\"><rect class=\"%s\" width=\"%.2f\" height=\"10\"/></svg></td>",
		      share, class, share > 0 && share < 0.005 ? 0.5 : 100 * share);
}

void html_table_end(struct js_buf *out, int folded)
{
	js_buf_str(out, "</tr></tbody></table></div>\n");
	if (folded)
		js_buf_str(out, "</details>\n");
}

/* The legend: which colour means what, from the bottom of a column to its top. */
static void add_key(struct js_buf *out, const struct html_kind kind[HTML_KINDS])
{
	if (kind[1].class == NULL)
		return;
	js_buf_str(out, "<p class=\"key\">From bottom to top:");
	for (int k = 0; k < HTML_KINDS && kind[k].class != NULL; k++)
		js_buf_printf(out,
			      " <span><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"%s\" width=\"1\" "
			      "height=\"1\"/></svg>%s</span>",
			      kind[k].class, kind[k].words);
	js_buf_str(out, "</p>\n");
}

static double sum_column(const struct html_column *c)
{
	double sum = 0;

	for (int k = 0; k < HTML_KINDS; k++)
		sum += c->value[k];
	return sum;
}

void html_columns(struct js_buf *out, const char *title, const struct html_column *c, size_t n,
		  const struct html_kind kind[HTML_KINDS])
{
	double most = 0, step = n > 0 ? (double)WIDE / (double)n : WIDE;

	for (size_t i = 0; i < n; i++)
		most = sum_column(&c[i]) > most ? sum_column(&c[i]) : most;
	add_key(out, kind);
	js_buf_printf(out, "<svg class=\"graph\" viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDE, HIGH + 2);
	html_words(out, title);
	js_buf_str(out, "</title>");
	for (size_t i = 0; i < n && most > 0; i++) {
		double y = HIGH;

		js_buf_str(out, "<g><title>");
		html_words(out, c[i].label);
		/* what one points to is the whole column */
		js_buf_printf(out, "</title><rect class=\"all\" x=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
			      (double)i * step, step, HIGH);
		for (int k = 0; k < HTML_KINDS; k++) {
			double high = c[i].value[k] / most * HIGH;

			high = c[i].value[k] > 0 && high < 1 ? 1 : high;
			y -= high;
			if (high > 0)
				js_buf_printf(
					out,
					"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
					kind[k].class, (double)i * step, y > 0 ? y : 0, step * 0.9, high);
		}
		js_buf_str(out, "</g>");
	}
	js_buf_printf(out, "<path class=\"axis\" d=\"M0 %dH%d\"/></svg>\n", HIGH + 1, WIDE);
}

void html_ends(struct js_buf *out, const char *left, const char *right)
{
	js_buf_str(out, "<div class=\"ends soft\"><span>");
	html_words(out, left);
	js_buf_str(out, "</span><span>");
	html_words(out, right);
	js_buf_str(out, "</span></div>\n");
}

void html_lines(struct js_buf *out, struct js_buf *text)
{
	js_buf_str(out, "<pre>");
	for (const char *line = text->data; line != NULL && *line != '\0';) {
		size_t len = strcspn(line, "\n");

		html_text(out, line, len);
		js_buf_char(out, '\n');
		line += len + (line[len] != '\0');
	}
	js_buf_str(out, "</pre>\n");
	out->failed |= text->failed;
	js_buf_free(text);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reports as a page for a browser: page.html with the JSON in it, which page.js shows.  Promises: whatever a name
 * contains, it does not end the element that holds the JSON; the page is as large for ten million entries as for ten.
 */
#include "show/page.h"

#include "base/clock.h"
#include "show/amount.h"
#include "show/json.h"
#include "show/report.h"

#include <string.h>

#define MOST 250000 /* bytes of the reports of all stacks; the rest of a page is for the findings */
#define ALONE 25000 /* bytes more if there is one stack only */
#define NODES 40    /* that are listed; those with a problem come first */
#define LONG 300    /* bytes of a name; a longer one is shown without its middle */

/* Appends OBJECT, which is freed.  No string in it can end the element, or begin a comment. */
static void add_json(struct js_buf *page, json_t *object)
{
	struct js_buf line = {0};

	page->failed |= show_json_line(object, &line) != 0;
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] == '<')
			js_buf_str(page, "\\u003c");
		else
			js_buf_char(page, line.data[i]);
	js_buf_free(&line);
}

/* Takes the middle out of a name; of one in base64, what stands behind its first characters. */
static void shorten_name(json_t *one, const char *key, int coded)
{
	const char *name = show_get_text(one, key);
	size_t len = strlen(name), from = coded ? LONG / 4 * 4 : LONG / 3, to = len - 2 * LONG / 3;
	struct js_buf both = {0};

	if (len <= LONG)
		return;
	while ((name[from] & 0xc0) == 0x80)
		from--;
	while ((name[to] & 0xc0) == 0x80)
		to++;
	js_buf_add(&both, name, from);
	if (!coded)
		js_buf_printf(&both, " ... %s", name + to);
	SHOW_SET(one, show_said_member(key, &both));
}

/* Makes a report small enough for a page in nearly all cases: fewer nodes, and names without their middle. */
static void shorten_report(json_t *report)
{
	static const struct {
		const char *list, *key;
		int coded;
	} named[] = {{"slowest", "datapath", 0},
		     {"slowest", "datapath_base64", 1},
		     {"programs", "name", 0},
		     {"file_systems", "name", 0}};
	json_t *nodes = json_object_get(report, "nodes");
	size_t all = json_array_size(nodes);

	SHOW_SET(report, KEY_COUNT("more_nodes", all > NODES ? all - NODES : 0));
	while (json_array_size(nodes) > NODES)
		(void)json_array_remove(nodes, json_array_size(nodes) - 1);
	for (size_t k = 0; k < sizeof(named) / sizeof(named[0]); k++)
		for (size_t i = 0; i < json_array_size(json_object_get(report, named[k].list)); i++)
			shorten_name(json_array_get(json_object_get(report, named[k].list), i), named[k].key,
				     named[k].coded);
}

/* Copies the figures that are shown of every stack, for one whose whole report does not fit. */
static json_t *copy_main_figures(const json_t *report)
{
	static const char *const kept[] = {"stack",    "state", "so_far", "verdict", "restriction", "entries",
					   "attempts", "from",	"to",	  "seconds", "wasted",	    "left_out_words"};
	json_t *o = SHOW_OBJECT(KEY_FLAG("brief", 1));

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		SHOW_SET(o, KEY_JSON(kept[i], json_deep_copy(json_object_get(report, kept[i]))));
	SHOW_SET(json_object_get(o, "wasted"), KEY_JSON("causes", json_array()));
	return o;
}

/* Each stack may take an equal share of what is left of the page.  Whether it needs less is known only when it is
 * written, so it is written, and replaced by its main figures if it was too long. */
void show_page_add(struct js_buf *page, json_t *report, size_t more)
{
	size_t most = more == 0 && page->len == 0 ? MOST + ALONE : MOST, start = page->len,
	       share = (start < most ? most - start : 0) / (more + 1);
	json_t *brief;

	shorten_report(report);
	brief = copy_main_figures(report);
	js_buf_str(page, start > 0 ? "," : "");
	add_json(page, report);
	if (page->len - start > share && !page->failed) {
		page->len = start;
		js_buf_str(page, start > 0 ? "," : "");
		add_json(page, brief);
	} else
		json_decref(brief);
}

/* The reports were gathered before; the head of the page, and the findings, now come in front of them. */
void show_page_end(struct js_buf *page, json_t *findings, unsigned reload_s)
{
	struct js_buf reports = *page;

	*page = (struct js_buf){.failed = reports.failed};
	js_buf_printf(page, "%s{\"made\":\"%s\",\"reload_seconds\":%u,\"io\":", show_page_head,
		      show_second(js_clock_wall_us()).text, reload_s);
	if (findings != NULL)
		add_json(page, findings);
	else
		js_buf_str(page, "null");
	js_buf_str(page, ",\"reports\":[");
	js_buf_add(page, reports.data, reports.len);
	js_buf_printf(page, "]}%s", show_page_tail);
	js_buf_free(&reports);
}

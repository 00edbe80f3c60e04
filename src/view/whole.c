/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An entry with all its attempts as JSON.  The last attempt's keys stand on the entry itself too, as `list` tells them.
 */
#define _GNU_SOURCE
#include "view/whole.h"

#include "view/json.h"
#include "view/rerun.h"

#include <string.h>

/* The worker's arguments: an array of texts or, if one is not UTF-8, all of them with their NULs in base64. */
static int add_argv(json_t *o, const struct jobstack_item *i)
{
	const char *p = i->argv.data, *end = p + i->argv.len;
	json_t *list = json_array(), *word = NULL;
	struct js_buf coded = {0};
	int bad;

	while (p < end) {
		size_t len = strnlen(p, (size_t)(end - p));

		word = json_stringn(p, len);
		if (word == NULL || json_array_append_new(list, word) != 0)
			break;
		p += len + 1;
	}
	if (p >= end)
		return json_object_set_new(o, "argv", list);
	json_decref(list);
	view_base64(&coded, i->argv.data, i->argv.len);
	bad = coded.failed || json_object_set_new(o, "argv_base64", json_string(coded.data)) != 0;
	js_buf_free(&coded);
	return bad;
}

/* Chooses what differs from attempt to attempt. */
static void begin_entry(struct view_whole *w)
{
	view_fields_all(&w->all);
	w->own.n = 0;
	for (size_t i = 0; i < w->all.n; i++) {
		const char *name = w->all.field[i]->name;

		if (strcmp(name, "entry") != 0 && strcmp(name, "datapath") != 0 && strcmp(name, "state") != 0 &&
		    strncmp(name, "to_", 3) != 0)
			w->own.field[w->own.n++] = w->all.field[i];
	}
	w->object = json_object();
	w->attempts = json_array();
	w->bad = w->object == NULL || w->attempts == NULL;
	js_buf_reset(&w->rerun);
}

void view_whole_add(struct view_whole *w, const char *stack, const struct jobstack_item *item)
{
	json_t *o;

	if (w->object == NULL)
		begin_entry(w);
	w->bad |= view_fields_json(&w->all, item, w->object);
	if (item->state == 0)
		w->bad |= VIEW_SET(w->object, KEY_JSON("state", json_null()));
	if (item->attempt == 0)
		return;
	view_rerun(stack, item, &w->rerun);
	o = json_object();
	w->bad |= view_fields_json(&w->own, item, o);
	w->bad |= add_argv(o, item);
	w->bad |= json_array_append_new(w->attempts, o);
}

json_t *view_whole_take(struct view_whole *w)
{
	json_t *o = w->object;

	if (o != NULL)
		w->bad |= w->rerun.failed | VIEW_SET(o, KEY_BYTES("rerun", w->rerun.data, w->rerun.len),
						     KEY_JSON("attempts", w->attempts));
	w->object = w->attempts = NULL;
	return view_checked(o, w->bad);
}

void view_whole_end(struct view_whole *w)
{
	json_decref(w->object);
	json_decref(w->attempts);
	js_buf_free(&w->rerun);
	w->object = w->attempts = NULL;
}

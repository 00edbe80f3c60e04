/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An entry with all its attempts as JSON.  The entry itself also has the keys of its last attempt, as in `jobstack
 * list`.
 */
#include "view/whole.h"

#include "view/json.h"
#include "view/rerun.h"

#include <string.h>

/* The worker's arguments: an array of texts or, if one is not UTF-8, all of them with their NULs in base64. */
static struct view_member argv_member(const struct jobstack_item *i)
{
	const char *argv = i->argv.data;
	json_t *list = json_array();

	for (size_t at = 0, len; at < i->argv.len; at += len + 1) {
		len = strnlen(argv + at, i->argv.len - at);
		if (json_array_append_new(list, json_stringn(argv + at, len)) != 0) {
			json_decref(list);
			return view_bytes_member("argv", i->argv.data, i->argv.len);
		}
	}
	return (struct view_member)KEY_JSON("argv", list);
}

/* Chooses the fields that differ from attempt to attempt. */
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
	js_buf_reset(&w->rerun);
}

void view_whole_add(struct view_whole *w, const char *stack, const struct jobstack_item *item)
{
	json_t *o;

	if (w->object == NULL)
		begin_entry(w);
	view_fields_json(&w->all, item, w->object);
	if (item->state == 0)
		VIEW_SET(w->object, KEY_JSON("state", json_null()));
	if (item->attempt == 0)
		return;
	view_rerun(stack, item, &w->rerun);
	o = json_object();
	view_fields_json(&w->own, item, o);
	VIEW_SET(o, argv_member(item));
	view_append(w->attempts, o);
}

json_t *view_whole_take(struct view_whole *w)
{
	json_t *o = w->object;

	if (w->rerun.failed)
		view_json_fail();
	if (o != NULL)
		VIEW_SET(o, KEY_BYTES("rerun", w->rerun.data, w->rerun.len), KEY_JSON("attempts", w->attempts));
	w->object = w->attempts = NULL;
	return o;
}

void view_whole_end(struct view_whole *w)
{
	json_decref(w->object);
	json_decref(w->attempts);
	js_buf_free(&w->rerun);
	w->object = w->attempts = NULL;
}

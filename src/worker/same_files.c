/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entries of a stack that would write the same file.  Promises: 256 MB at most, for any number of names.
 */
#include "worker/same_files.h"

#include "base/error.h"
#include "base/num.h"
#include "exec/worker_options.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_MAX (UINT64_C(1) << 24) /* places in the table */
#define NAME_BITS 24		     /* of a name's hash, above the 40 bits of an entry's number */

/* An expansion, by its hash, and the entry that it is of, with some bits of its name's hash; 0: a free place. */
struct seen {
	uint64_t text, entry;
};

struct search {
	const struct config *config;
	const struct js_template *template;
	struct seen *seen;
	uint64_t places, used; /* a power of two; three in four at most, so names that are pushed now may be left out */
	uint64_t passes, pass; /* a pass looks at the expansions whose hash, modulo PASSES, is PASS */
	struct js_buf text, name;
	uint64_t first; /* the entry that has the same TEXT as the one that is called NAME; 0: none has */
};

/* A name that is there twice is no clash. */
static int note_name(void *ctx, const struct jobstack_item *item)
{
	struct search *s = ctx;
	const struct config *c = s->config;
	const struct js_template_values v = {item->datapath.data, item->datapath.len, item->entry, 1, 1, c->stack, 0};
	uint64_t entry = js_num_hash(JS_NUM_HASH, v.datapath, v.datapath_len) << (64 - NAME_BITS) | v.entry, text, at;

	if (c->last_field > 1 && js_template_fields(v.datapath, v.datapath_len, c->colsep.data) < c->last_field)
		return 0; /* it will fail, without a file */
	js_buf_reset(&s->text);
	if (js_template_text(s->template, &v, &s->text) != 0)
		return -1;
	text = js_num_hash(JS_NUM_HASH, s->text.data, s->text.len);
	if (text % s->passes != s->pass)
		return 0;
	at = (text ^ text >> 32) & (s->places - 1);
	while (s->seen[at].entry != 0 && s->seen[at].text != text)
		at = (at + 1) & (s->places - 1);
	if (s->seen[at].entry == 0 && s->used < s->places / 4 * 3) {
		s->seen[at] = (struct seen){text, entry};
		s->used++;
	} else if (s->seen[at].entry != 0 && (s->seen[at].entry ^ entry) >> (64 - NAME_BITS) != 0) {
		js_buf_add(&s->name, v.datapath, v.datapath_len);
		s->first = s->seen[at].entry << NAME_BITS >> NAME_BITS;
	}
	return s->first != 0;
}

/* The name of the first entry goes behind the other one, with a NUL between them. */
static int append_first_name(void *ctx, const struct jobstack_item *item)
{
	struct search *s = ctx;

	js_buf_add(&s->name, "", 1);
	js_buf_add(&s->name, item->datapath.data, item->datapath.len);
	return 0;
}

/* Looks at all names, once per pass. */
static int search_list(struct search *s, uint64_t pushed, struct jobstack *handle, struct jobstack_error *error)
{
	const char *stack = s->config->stack;
	int status = 0;

	/* a table for all names if it is not too large, else as many passes as it takes */
	for (s->places = 1024; s->places < SEEN_MAX && s->places < 2 * pushed; s->places *= 2)
		;
	s->passes = pushed / (SEEN_MAX / 4 * 3) + 1;
	for (; status == 0 && s->pass < s->passes; s->pass++) {
		free(s->seen);
		s->seen = calloc(s->places, sizeof(*s->seen));
		s->used = 0;
		status = s->seen == NULL ? js_error_memory(error)
					 : jobstack_datapaths(handle, stack, NULL, 0, note_name, s, error);
	}
	if (s->first != 0)
		status = jobstack_datapaths(handle, stack, &s->first, 1, append_first_name, s, error);
	if (status == 0 && s->first != 0 && s->name.len == strlen(s->name.data))
		s->first = 0; /* that entry was deleted meanwhile */
	return status == JOBSTACK_ESTOPPED || s->name.failed ? js_error_memory(error) : status;
}

/* A template that works: with the number of the entry before the suffix. */
static int refuse_pair(const struct search *s, const char *option, const char *source, struct jobstack_error *error)
{
	const char *dot = strrchr(source, '.'), *first = s->name.data + strlen(s->name.data) + 1;
	const char *suffix = dot != NULL && strpbrk(dot, "/}") == NULL ? dot : source + strlen(source);
	/* with -I, {#} is text */
	const char *number = s->config->replace != NULL && s->config->colsep.len == 0 ? s->config->replace : "{#}";
	struct js_buf better = {0}, word = {0};

	js_buf_printf(&better, "%.*s-%s%s", (int)(suffix - source), source, number, suffix);
	js_buf_shell_word(&word, better.failed ? "" : better.data, better.len);
	if (word.failed)
		(void)js_error_memory(error);
	else
		(void)js_error_set(error, JOBSTACK_EUSAGE,
				   JS_WORKER_SHARED_FILE
				   ": \"%.200s\" and \"%.200s\" both have --%s \"%.200s\", so one "
				   "result would be lost: use --%s=%.120s%s",
				   first, s->name.data, option, s->text.data, option, word.data,
				   strcmp(option, "creates") == 0 ? ", and let the command write that file" : "");
	js_buf_free(&better);
	js_buf_free(&word);
	return error->code;
}

/* Reads how many entries were ever pushed; a jobstack_status_fn. */
static int read_pushed(void *ctx, const struct jobstack_status *status)
{
	*(uint64_t *)ctx = status->pushed;
	return 0;
}

/* Only hashes are compared, so that a name takes little memory, however long it is; two texts with one hash count as
 * the same. */
int same_files_check(const struct config *config, struct jobstack *handle, struct jobstack_error *error)
{
	static const char *const option[] = {"output", "error", "creates"};
	const struct js_template *const template[] = {config->output, config->error, config->creates};
	uint64_t pushed = 0;
	int status = 0;

	for (int i = 0; i < 3 && status == 0; i++) {
		struct search s = {.config = config, .template = template[i]};

		if (template[i] == NULL || js_template_separates(template[i]))
			continue;
		status = jobstack_status(handle, config->stack, read_pushed, &pushed, error);
		JS_THEN(status, search_list(&s, pushed, handle, error));
		if (status == 0 && s.first != 0)
			status = refuse_pair(&s, option[i], config->sources[i], error);
		free(s.seen);
		js_buf_free(&s.text);
		js_buf_free(&s.name);
	}
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cache of a connection's prepared blocks.  Promise: what is executed has the text, but for the values, that the
 * request has.
 */
#include "db/prepared.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 16 /* so many are kept, each some 26 kB on the server: the forms of a worker's steps that come often */
#define VALUES_MAX 256 /* a block with more differs each time */
#define NOT_PREPARED 1243
#define OUTDATED 1615

/* A block's text with a ? for each value. */
struct block {
	struct js_buf form;
	uint64_t used; /* when: the number of the look; 0: never */
	int prepared;
};

struct js_prepared {
	struct block block[BLOCKS];
	struct js_buf form;
	uint64_t looks;
	int refused; /* the server takes none: until the connection ends */
};

static const struct js_sql_value *range(const struct js_buf *list, size_t i)
{
	return (const struct js_sql_value *)(const void *)list->data + i;
}

static size_t count(const struct js_buf *list)
{
	return list->len / sizeof(struct js_sql_value);
}

/* Writes to FORM what stands in TEXT from SPAN's first byte to its last, with a ? for the values FROM to TO. */
static void write_form(const struct js_request *r, const struct js_sql_value *span, size_t from, size_t to,
		       struct js_buf *form)
{
	size_t at = span->at;

	js_buf_reset(form);
	for (size_t i = from; i < to; at = range(&r->values, i++)->end) {
		js_buf_add(form, r->text.data + at, range(&r->values, i)->at - at);
		js_buf_char(form, '?');
	}
	js_buf_add(form, r->text.data + at, span->end - at);
}

/* The name of block I, which says to those who watch the server what it does. */
static void add_name(const struct js_buf *form, size_t i, struct js_buf *text)
{
	js_buf_printf(text, strstr(form->data, ";COMMIT;") != NULL ? "js_commit_%zu" : "js_part_%zu", i);
}

/* Prepares block I; whether that succeeded. */
static int prepare(struct js_db *db, size_t i)
{
	const struct js_buf *form = &db->prepared->block[i].form;
	struct js_buf text = {0};
	int ok = memchr(form->data, '\\', form->len) == NULL;

	js_buf_str(&text, "PREPARE ");
	add_name(form, i, &text);
	js_buf_str(&text, " FROM '");
	for (size_t at = 0; at < form->len; at++) {
		if (form->data[at] == '\'')
			js_buf_char(&text, '\'');
		js_buf_char(&text, form->data[at]);
	}
	js_buf_char(&text, '\'');
	ok = ok && !text.failed && mysql_real_query(db->my, text.data, (unsigned long)text.len) == 0;
	js_buf_free(&text);
	return ok;
}

/* Which block has db->prepared->form; if it comes for the second time, it is prepared now.  BLOCKS: it is not. */
static size_t find(struct js_db *db)
{
	struct js_prepared *p = db->prepared;
	size_t i, oldest = 0;

	for (i = 0; i < BLOCKS; i++) {
		const struct block *b = &p->block[i];

		if (b->used != 0 && b->form.len == p->form.len && memcmp(b->form.data, p->form.data, p->form.len) == 0)
			break;
		if (b->used < p->block[oldest].used)
			oldest = i;
	}
	if (i == BLOCKS) {
		struct js_buf form = p->block[oldest].form;

		p->block[oldest] = (struct block){p->form, ++p->looks, 0};
		p->form = form;
		return BLOCKS;
	}
	p->block[i].used = ++p->looks;
	if (!p->block[i].prepared)
		p->refused = !(p->block[i].prepared = prepare(db, i));
	return p->refused ? BLOCKS : i;
}

static void write_execute(const struct js_db *db, const struct js_request *r, size_t i, size_t from, size_t to,
			  struct js_buf *buf)
{
	js_buf_str(buf, "EXECUTE ");
	add_name(&db->prepared->block[i].form, i, buf);
	for (size_t v = from; v < to; v++) {
		js_buf_str(buf, v == from ? " USING " : ",");
		js_buf_add(buf, r->text.data + range(&r->values, v)->at,
			   range(&r->values, v)->end - range(&r->values, v)->at);
	}
}

const struct js_buf *js_prepared_text(struct js_db *db, const struct js_request *r, struct js_buf *buf)
{
	size_t at = 0, value = 0, spans = count(&r->spans), values = count(&r->values);

	if (spans > 0 && db->prepared == NULL)
		db->prepared = calloc(1, sizeof(*db->prepared));
	if (spans == 0 || db->prepared == NULL || db->prepared->refused)
		return &r->text;
	for (size_t s = 0; s < spans; s++) {
		const struct js_sql_value *span = range(&r->spans, s);
		size_t from = value, i;

		while (value < values && range(&r->values, value)->at < span->end)
			value++;
		if (value - from > VALUES_MAX)
			continue;
		write_form(r, span, from, value, &db->prepared->form);
		if (db->prepared->form.failed || (i = find(db)) == BLOCKS)
			continue;
		js_buf_add(buf, r->text.data + at, span->at - at);
		write_execute(db, r, i, from, value, buf);
		at = span->end;
	}
	js_buf_add(buf, r->text.data + at, r->text.len - at);
	return buf->failed ? &r->text : buf;
}

int js_prepared_is_lost(struct js_db *db, unsigned number)
{
	if (db->prepared == NULL || (number != NOT_PREPARED && number != OUTDATED))
		return 0;
	db->prepared->refused = 1;
	return 1;
}

void js_prepared_end(struct js_db *db)
{
	if (db->prepared == NULL)
		return;
	for (size_t i = 0; i < BLOCKS; i++)
		js_buf_free(&db->prepared->block[i].form);
	js_buf_free(&db->prepared->form);
	free(db->prepared);
	db->prepared = NULL;
}

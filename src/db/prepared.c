/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cache of a connection's prepared blocks.  Promise: what is executed has the text, but for the values, that the
 * request has.
 */
#include "db/prepared.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 16 /* so many are kept, each some 26 kB on the server: the forms of a worker's steps that come often */
#define VALUES_MAX 256 /* a block with more differs each time */
#define NOT_PREPARED 1243
#define UNSUPPORTED 1295
#define NOT_PARSED 1064
#define OUTDATED 1615

/* A block's text with a ? for each value. */
struct block {
	struct js_buf form;
	uint64_t used; /* when: the number of the look; 0: never */
	int prepared;  /* 0: not yet; -1: that failed */
	char name[48];
};

struct js_prepared {
	struct block block[BLOCKS];
	struct js_buf form;
	uint64_t looks, since; /* the first look of this request is behind SINCE */
	int refused;	       /* the server takes none: until the connection ends */
};

static const struct js_sql_value *nth_value(const struct js_buf *list, size_t i)
{
	return (const struct js_sql_value *)(const void *)list->data + i;
}

static size_t count_values(const struct js_buf *list)
{
	return list->len / sizeof(struct js_sql_value);
}

/* Writes to FORM what stands in TEXT from SPAN's first byte to its last, with a ? for the values FROM to TO. */
static void write_form(const struct js_request *r, const struct js_sql_value *span, size_t from, size_t to,
		       struct js_buf *form)
{
	size_t at = span->at;

	js_buf_reset(form);
	for (size_t i = from; i < to; at = nth_value(&r->values, i++)->end) {
		js_buf_add(form, r->text.data + at, nth_value(&r->values, i)->at - at);
		js_buf_char(form, '?');
	}
	js_buf_add(form, r->text.data + at, span->end - at);
}

/* Names block I.  The name says to those who watch the server what it does, and what its text is: behind a proxy that
 * gives one connection of the server to several clients, another client's block would be executed if it had our name.
 */
static void name_block(const struct js_db *db, size_t i)
{
	struct block *b = &db->prepared->block[i];
	uint64_t hash = js_num_hash(js_num_hash(JS_NUM_HASH, db->name, strlen(db->name)), b->form.data, b->form.len);

	(void)snprintf(b->name, sizeof(b->name), "js_%s_%zu_%016" PRIx64,
		       strstr(b->form.data, ";COMMIT;") != NULL ? "commit" : "part", i, hash);
}

/* Sends WORDS, the name of block I, and REST if it is not NULL; whether that succeeded. */
static int send_block_command(struct js_db *db, const char *words, size_t i, const struct js_buf *rest)
{
	struct js_buf text = {0};
	int ok;

	js_buf_str(&text, words);
	js_buf_str(&text, db->prepared->block[i].name);
	if (rest != NULL)
		js_buf_add(&text, rest->data, rest->len);
	ok = !text.failed && mysql_real_query(db->my, text.data, (unsigned long)text.len) == 0;
	js_buf_free(&text);
	return ok;
}

/* Prepares block I; whether that succeeded. */
static int prepare_block(struct js_db *db, size_t i)
{
	const struct js_buf *form = &db->prepared->block[i].form;
	struct js_buf from = {0};
	int ok = memchr(form->data, '\\', form->len) == NULL;

	js_buf_str(&from, " FROM '");
	for (size_t at = 0; at < form->len; at++) {
		if (form->data[at] == '\'')
			js_buf_char(&from, '\'');
		js_buf_char(&from, form->data[at]);
	}
	js_buf_char(&from, '\'');
	ok = ok && !from.failed && send_block_command(db, "PREPARE ", i, &from);
	db->prepared->refused = mysql_errno(db->my) == UNSUPPORTED || mysql_errno(db->my) == NOT_PARSED;
	js_buf_free(&from);
	return ok;
}

/* Does this server prepare blocks?  MariaDB does since 10.6.  From 11.2 on it parses a statement of a block again after
 * a table has changed, and then reads freed memory for its ? (MDEV-32694), until 11.4.8 and 11.8.3. */
static int prepares_blocks(struct js_db *db)
{
	const char *info = mysql_get_server_info(db->my);
	unsigned major = 0, minor = 0, patch = 0, version;

	if (strncmp(info, "5.5.5-", 6) == 0) /* what MariaDB puts in front for old clients */
		info += 6;
	if (sscanf(info, "%u.%u.%u", &major, &minor, &patch) != 3)
		return 0;
	version = major * 10000 + minor * 100 + patch;
	return (version >= 100600 && version < 110200) || (version >= 110408 && version < 110500) || version >= 110803;
}

/* Which block has db->prepared->form; if it comes for the second time, it is prepared now.  BLOCKS: it is not. */
static size_t find_prepared(struct js_db *db)
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
	if (i == BLOCKS && p->block[oldest].used > p->since) /* its name is in the request that is being written */
		return BLOCKS;
	if (i == BLOCKS) {
		struct js_buf form = p->block[oldest].form;

		if (p->block[oldest].prepared > 0)
			(void)send_block_command(db, "DEALLOCATE PREPARE ", oldest, NULL);
		p->block[oldest] = (struct block){.form = p->form, .used = ++p->looks};
		p->form = form;
		name_block(db, oldest);
		return BLOCKS;
	}
	p->block[i].used = ++p->looks;
	if (p->block[i].prepared == 0)
		p->block[i].prepared = prepare_block(db, i) ? 1 : -1;
	return p->refused || p->block[i].prepared < 0 ? BLOCKS : i;
}

static void write_execute(const struct js_db *db, const struct js_request *r, size_t i, size_t from, size_t to,
			  struct js_buf *buf)
{
	js_buf_str(buf, "EXECUTE ");
	js_buf_str(buf, db->prepared->block[i].name);
	for (size_t v = from; v < to; v++) {
		js_buf_str(buf, v == from ? " USING " : ",");
		js_buf_add(buf, r->text.data + nth_value(&r->values, v)->at,
			   nth_value(&r->values, v)->end - nth_value(&r->values, v)->at);
	}
}

const struct js_buf *js_prepared_text(struct js_db *db, const struct js_request *r, struct js_buf *buf)
{
	size_t at = 0, value = 0, spans = count_values(&r->spans), values = count_values(&r->values);

	if (spans > 0 && db->prepared == NULL) {
		db->prepared = calloc(1, sizeof(*db->prepared));
		if (db->prepared != NULL)
			db->prepared->refused = !prepares_blocks(db);
	}
	if (spans == 0 || db->prepared == NULL || db->prepared->refused)
		return &r->text;
	db->prepared->since = db->prepared->looks;
	for (size_t s = 0; s < spans; s++) {
		const struct js_sql_value *span = nth_value(&r->spans, s);
		size_t from = value, i;

		while (value < values && nth_value(&r->values, value)->at < span->end)
			value++;
		if (value - from > VALUES_MAX)
			continue;
		write_form(r, span, from, value, &db->prepared->form);
		if (db->prepared->form.failed || (i = find_prepared(db)) == BLOCKS)
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

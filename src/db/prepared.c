/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cache of a connection's prepared blocks.  Promise: what is executed has the text, but for the values, that the
 * request has.
 *
 * A block's form is its text with a ? for each value.  Two blocks with the same form differ in values only.
 *
 *     first time    the form is noted in the oldest place (what was prepared there is deallocated), the text is sent
 *     second time   PREPARE js_... FROM '<form>', then EXECUTE js_... USING <values>
 *     afterwards    EXECUTE
 *
 * What fails is not tried again: PREPARE fails for good for a form that the server can't prepare (prepared -1), or for
 * all (`refused`).  Both last until the connection ends.
 */
#include "db/prepared.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 16 /* so many are kept, each some 26 kB on the server: the forms of a worker's steps that come often */
#define VALUES_MAX 256 /* a block with more differs each time */
/* Error numbers: EXECUTE of a name that the server does not know; PREPARE where it does not support blocks, or does not
 * even parse them; a prepared statement that must be prepared again. */
#define NOT_PREPARED 1243
#define UNSUPPORTED 1295
#define NOT_PARSED 1064
#define OUTDATED 1615

/* A place of the cache. */
struct block {
	struct js_buf form; /* a block's text with a ? for each value */
	uint64_t used;	    /* when it was last looked up: the number of that look; 0: never */
	int prepared;	    /* 1: yes; 0: not yet; -1: that failed */
	char name[48];	    /* in the server */
};

struct js_prepared {
	struct block block[BLOCKS];
	struct js_buf form;    /* of the block that is being looked up */
	uint64_t looks, since; /* looks are numbered; those of the present request are above SINCE */
	int refused;	       /* this server, or what is before it, takes no prepared blocks */
};

/* Element I of a list of struct js_sql_value. */
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

/* Sends WORDS, the name of block I, and REST if it is not NULL.  Returns whether that succeeded. */
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

/* Prepares block I.  Returns whether that succeeded.  The form is sent as a literal in single quotes, in which a quote
 * is written twice.  A backslash would have a meaning there, too; none of our statements has one. */
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

/* Returns whether this server prepares blocks.  MariaDB does since 10.6.  From 11.2 on it parses a statement of a block
 * again after a table has changed, and then reads freed memory for its ? (MDEV-32694), until 11.4.8 and 11.8.3. */
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

/* Finds the block with db->prepared->form.  If it comes for the second time, it is prepared now.  Returns its place, or
 * BLOCKS if its text must be sent.  A place that was looked up by the request that is being written is not given to
 * another block: an EXECUTE of its name is in that request's text already. */
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

/* Writes "EXECUTE name USING ..." with the values FROM to TO, as they are in the request. */
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

/* Only spans of the request that are blocks are replaced: what is between them, and blocks that are not prepared, go as
 * they are.  If memory runs out, all of it does. */
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

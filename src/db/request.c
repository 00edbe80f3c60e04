/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From packets to what is sent.  Promise: each statement of a packet is sent once, in its order, or not at all if it
 * is not for this server; the expected answers are those of what was written.
 *
 * A transaction on a server without blocks (MySQL), in which each statement has its answer:
 *
 *     SET SESSION wait_timeout=2; DO GET_LOCK(...); START TRANSACTION; <statements> COMMIT; DO RELEASE_LOCK(...);
 *     <tail> SET SESSION wait_timeout=...
 *
 * The same on one with blocks (MariaDB), if no statement is large: one block, with one answer beside those of its
 * SELECTs:
 *
 *     BEGIN NOT ATOMIC DO GET_LOCK(...); START TRANSACTION; SET @js_sum=0; <statements>
 *     SET @js_guard=CAST(@js_sum<=>N AS UNSIGNED)-1; COMMIT; DO RELEASE_LOCK(...); <tail> END
 *
 * A large statement ends the block before it, and another one follows.  Then a kill can end the request in between, so
 * it gets the two SET SESSION, too.  A lock is asked for only if the packet wants one (js_sql_user_lock).
 */
#include "db/request.h"

#include "base/num.h"

#include <inttypes.h>
#include <string.h>

#define LARGE 2048 /* a statement with more bytes is sent on its own */

/* A request while it is written. */
struct writer {
	struct js_request *e;
	const struct js_sql *lock; /* the packet that asks for a user lock; NULL: none does */
	uint32_t database;	   /* a hash of its name, which keeps the name of a user lock short */
	int open;		   /* a block is open */
	int commits;		   /* it is the one with the COMMIT */
	unsigned first;		   /* the block's first answer */
	size_t begin;		   /* where it begins in the text */
	int behind;		   /* the COMMIT is written */
	int several;		   /* it is not one block alone, nor one statement */
	size_t value;		   /* the next of the packet's values */
	uint64_t sum;		   /* of the rows that the statements so far must have changed (js_sql_count) */
};

const struct js_answer *js_request_answer(const struct js_request *e, unsigned number)
{
	return (const struct js_answer *)(const void *)e->list.data + number;
}

/* Adds an answer to those that are expected. */
static void expect_answer(struct js_request *e, struct js_answer a)
{
	js_buf_add(&e->list, &a, sizeof(a));
	e->n++;
}

/* Adds a range of the text to a list: a value, or a block. */
static void note_range(struct js_buf *list, size_t at, size_t end)
{
	const struct js_sql_value range = {at, end};

	js_buf_add(list, &range, sizeof(range));
}

/* Adds the name of the user lock.  User locks are the whole server's, so it has a hash of the database in it. */
static void add_lock_name(const struct writer *p, struct js_buf *text)
{
	size_t at = text->len;

	js_buf_printf(text, "'jobstack.%" PRIx32 ".%" PRIu64 ".%" PRIu64 "'", p->database, p->lock->lock_of,
		      p->lock->lock);
	if (text == &p->e->text)
		note_range(&p->e->values, at, text->len);
}

static void add_release(const struct writer *p, struct js_buf *text)
{
	js_buf_str(text, "DO RELEASE_LOCK(");
	add_lock_name(p, text);
	js_buf_str(text, ");");
}

static void open_block(struct writer *p)
{
	if (p->open)
		return;
	p->open = 1;
	p->first = p->e->n;
	p->begin = p->e->text.len;
	js_buf_str(&p->e->text, "BEGIN NOT ATOMIC ");
	if (p->lock == NULL)
		return;
	/* a client that froze can't say ROLLBACK: others would wait for what it holds */
	js_buf_str(&p->e->text, "DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK;");
	add_release(p, &p->e->text);
	js_buf_str(&p->e->text, "RESIGNAL;END;");
}

static void close_block(struct writer *p)
{
	if (!p->open)
		return;
	if (p->commits)
		p->e->commit_to = p->e->n;
	p->open = p->commits = 0;
	js_buf_str(&p->e->text, "END;");
	note_range(&p->e->spans, p->begin, p->e->text.len - 1);
	expect_answer(p->e, (struct js_answer){JS_ANSWER_BLOCK, 0, 0, 0});
}

/* Returns where a literal or a quoted name that begins at P ends: behind its last quote. */
static const char *skip_quoted(const char *p, const char *end)
{
	const char quote = *p++;

	while (p < end && *p != quote)
		p++;
	return p < end ? p + 1 : end;
}

/* Counts the columns that the rows of one of our statements have: the commas between SELECT and what follows its list,
 * outside of brackets and quotes.  0: it is neither a SELECT nor a SHOW.  (None of ours is a SELECT *.  A literal with
 * a doubled quote in it looks like two literals here, which does no harm.) */
static unsigned count_columns(const char *p, size_t len)
{
	const char *end = p + len;
	unsigned columns = 1, depth = 0;

	if (len > 5 && memcmp(p, "SHOW ", 5) == 0)
		return 2;
	if (len < 7 || memcmp(p, "SELECT ", 7) != 0)
		return 0;
	for (p += 7; p < end;) {
		if (*p == '\'' || *p == '`') {
			p = skip_quoted(p, end);
			continue;
		}
		if (depth == 0 && end - p >= 6 && (memcmp(p, " FROM ", 6) == 0 || memcmp(p, " UNION", 6) == 0))
			break;
		depth += *p == '(';
		depth -= *p == ')' && depth > 0;
		columns += *p == ',' && depth == 0;
		p++;
	}
	return columns;
}

/* Notes where the values of a statement are in the text, to whose end it was just written.  It is in SQL from BEGIN to
 * END. p->value is the next of SQL's values: those of the statements before are done with. */
static void note_values(struct writer *p, const struct js_sql *sql, size_t begin, size_t end)
{
	const struct js_sql_value *v = (const void *)sql->values.data;
	size_t n = sql->values.len / sizeof(*v), to = p->e->text.len - (end - begin);

	for (; p->value < n && v[p->value].at < end; p->value++)
		if (v[p->value].at >= begin)
			note_range(&p->e->values, to + v[p->value].at - begin, to + v[p->value].end - begin);
}

/* Adds statement I of SQL, if it is for this server, whose first is number FIRST for the caller.  It goes into a block
 * if it can.  In a block only a statement with rows has an answer. */
static void add_statement(struct writer *p, const struct js_sql *sql, unsigned i, unsigned first)
{
	size_t begin = i == 0 ? 0 : js_sql_mark(sql, i - 1)->end, len = js_sql_mark(sql, i)->end - begin;
	unsigned flags = js_sql_mark(sql, i)->flags;
	int single = !p->e->blocks || len > LARGE;

	if (flags & (p->e->blocks ? JS_SQL_SINGLE : JS_SQL_BLOCKS) || (flags & JS_SQL_CLUSTER && !p->e->cluster))
		return;
	p->sum += js_sql_mark(sql, i)->counted;
	if (single)
		close_block(p);
	else
		open_block(p);
	/* What this transaction has seen is there.  To wait for later commits of others could fail, and then the block
	 * would look as if it had failed before the COMMIT. */
	if (p->behind && p->e->cluster && p->e->blocks)
		js_buf_str(&p->e->text, "SET STATEMENT wsrep_sync_wait=0 FOR ");
	js_buf_add(&p->e->text, sql->text.data + begin, len);
	if (!single)
		note_values(p, sql, begin, begin + len);
	if (single || (flags & JS_SQL_ROWS))
		expect_answer(p->e, (struct js_answer){JS_ANSWER_STMT, first + i, (flags & JS_SQL_GUARD) != 0,
						       count_columns(sql->text.data + begin, len)});
}

/* What comes next is a statement of our own: in a block it needs no answer, else one without rows is expected. */
static void begin_own_statement(struct writer *p)
{
	if (p->e->blocks)
		open_block(p);
	else
		expect_answer(p->e, (struct js_answer){JS_ANSWER_QUIET, 0, 0, 0});
}

/* Adds TEXT, one of our own statements, if there are others between which a kill can end the packet. */
static void add_own_statement(struct writer *p, const char *text)
{
	if (!p->several)
		return;
	begin_own_statement(p);
	js_buf_str(&p->e->text, text);
}

/* Returns whether a statement of SQL (may be NULL) is sent on its own although there are blocks. */
static int has_large(const struct js_sql *sql)
{
	for (unsigned i = 0; sql != NULL && i < sql->statements; i++)
		if (js_sql_mark(sql, i)->end - (i == 0 ? 0 : js_sql_mark(sql, i - 1)->end) > LARGE)
			return 1;
	return 0;
}

static void begin_user_lock(struct writer *p)
{
	if (p->lock == NULL)
		return;
	begin_own_statement(p);
	js_buf_str(&p->e->text, "DO GET_LOCK(");
	add_lock_name(p, &p->e->text);
	js_buf_printf(&p->e->text, ",%u);", p->lock->lock_wait);
}

/* The lock is given back after the COMMIT, and, should the request fail, with the ROLLBACK (e->end). */
static void end_user_lock(struct writer *p)
{
	if (p->lock == NULL)
		return;
	begin_own_statement(p);
	add_release(p, &p->e->text);
	add_release(p, &p->e->end);
}

static void begin_sum(struct writer *p, const struct js_sql *packet)
{
	if (p->e->blocks && packet->counts)
		js_buf_str(&p->e->text, "SET @js_sum=0;");
}

/* Adds the last guard: as many rows as the counted statements must have changed.  The comparison is NULL-safe, because
 * a sum that is NULL must not pass: it may be NULL if a statement was skipped that should have set a part of it. */
static void check_sum(struct writer *p, const struct js_sql *packet)
{
	size_t at;

	if (!p->e->blocks || !packet->counts)
		return;
	js_buf_str(&p->e->text, "SET @js_guard=CAST(@js_sum<=>");
	at = p->e->text.len;
	js_buf_u64(&p->e->text, p->sum);
	note_range(&p->e->values, at, p->e->text.len);
	js_buf_str(&p->e->text, " AS UNSIGNED)-1;");
}

static void reset_request(struct js_request *e)
{
	js_buf_reset(&e->text);
	js_buf_reset(&e->list);
	js_buf_reset(&e->values);
	js_buf_reset(&e->spans);
	js_buf_reset(&e->end);
	e->n = 0;
	e->blocks = e->cluster = 0;
}

/* Ends the text.  The last statement needs no semicolon, and an empty one behind it would be an error. */
static void finish_request(struct js_request *e, int failed)
{
	e->text.failed |= e->list.failed | e->values.failed | e->spans.failed | e->end.failed | failed;
	if (!e->text.failed && e->text.len > 0 && e->text.data[e->text.len - 1] == ';')
		e->text.len--;
}

void js_request_transaction(struct js_request *e, const struct js_sql *packet, const struct js_sql *tail, int blocks,
			    const char *database)
{
	int failed = packet->text.failed || (tail != NULL && tail->text.failed);
	struct writer p = {.e = e, .lock = database != NULL && packet->lock != 0 ? packet : NULL};

	reset_request(e);
	e->blocks = blocks;
	e->cluster = database == NULL;
	p.several = !blocks || (!failed && (has_large(packet) || has_large(tail)));
	p.database = p.lock != NULL ? (uint32_t)js_num_hash(JS_NUM_HASH, database, strlen(database)) : 0;
	add_own_statement(&p, JS_REQUEST_HURRY);
	begin_user_lock(&p);
	begin_own_statement(&p);
	js_buf_str(&e->text, "START TRANSACTION;");
	begin_sum(&p, packet);
	for (unsigned i = 0; i < packet->statements && !failed; i++)
		add_statement(&p, packet, i, 0);
	begin_own_statement(&p);
	check_sum(&p, packet);
	p.commits = blocks;
	e->commit_from = e->commit_to = blocks ? p.first : e->n - 1;
	js_buf_str(&e->text, "COMMIT;");
	end_user_lock(&p);
	p.behind = 1;
	p.value = 0;
	for (unsigned i = 0; tail != NULL && i < tail->statements && !failed; i++)
		add_statement(&p, tail, i, packet->statements + 1);
	add_own_statement(&p, JS_REQUEST_REST);
	close_block(&p);
	finish_request(e, failed);
}

void js_request_plain(struct js_request *e, const struct js_sql *packet)
{
	struct writer p = {.e = e, .several = packet->statements > 1};

	reset_request(e);
	add_own_statement(&p, JS_REQUEST_HURRY);
	for (unsigned i = 0; i < packet->statements && !packet->text.failed; i++)
		add_statement(&p, packet, i, 0);
	add_own_statement(&p, JS_REQUEST_REST);
	e->commit_from = e->commit_to = e->n;
	finish_request(e, packet->text.failed);
}

void js_request_free(struct js_request *e)
{
	js_buf_free(&e->text);
	js_buf_free(&e->list);
	js_buf_free(&e->values);
	js_buf_free(&e->spans);
	js_buf_free(&e->end);
	*e = (struct js_request){0};
}

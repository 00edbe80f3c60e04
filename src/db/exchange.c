/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One try at a request.  Promise: after any error the connection is rolled back or gone.
 *
 * A server answers statement after statement, and stops at the first error.  So the number of answers that came says
 * where the error was, and with that:
 *
 *   - whether it was a guard: error 1690 has other causes, too (fault_of_try);
 *   - whether the COMMIT may have been executed (js_exchange_may_be_committed);
 *   - whether the answer is whole: without an error all answers must have come (js_exchange_send).
 *
 * A block (request.h) has one answer for all of its statements, but for those with rows.  Inside of a block the place
 * does not say which statement failed; there the words of error 1690 do, which quote the expression.
 */
#include "db/exchange.h"

#include "base/error.h"
#include "db/prepared.h"
#include "db/session.h"

#include <stdio.h>
#include <string.h>

#define DEADLOCK 1213
#define LOST_CONNECTION 2013 /* the connectors' number for it */

/* The answer that comes next, or that an error came in place of.  NULL: what is expected is not known beforehand, or
 * all of it has come. */
static const struct js_answer *expected_answer(const struct js_exchange *x)
{
	return x->answered < x->request.n ? js_request_answer(&x->request, x->answered) : NULL;
}

static int is_statement(const struct js_answer *a)
{
	return a != NULL && a->kind == JS_ANSWER_STMT;
}

/* Hands out the rows of the next answer, each with as many columns as were asked for: the functions that take rows do
 * not check their number.  Returns the error number, 0 for none. */
static unsigned take_rows(struct js_db *db, const struct js_exchange *x)
{
	const struct js_answer *a = expected_answer(x);
	MYSQL_RES *result = mysql_store_result(db->my);
	struct js_row row = {.stmt = a != NULL ? a->stmt : 0};
	MYSQL_ROW columns;

	if (result == NULL) /* 1690 in a guard shows here, while mysql_next_result just says "no more" */
		return mysql_errno(db->my);
	row.n = mysql_num_fields(result);
	if (is_statement(a) && row.n != a->columns) {
		(void)snprintf(db->last_error, sizeof(db->last_error), "%u columns instead of %u", row.n, a->columns);
		mysql_free_result(result);
		return JS_FAULT_MALFORMED;
	}
	while (x->fn != NULL && is_statement(a) && (columns = mysql_fetch_row(result)) != NULL) {
		row.col = (const char *const *)columns;
		row.len = mysql_fetch_lengths(result);
		x->fn(x->ctx, &row);
	}
	mysql_free_result(result);
	return 0;
}

/* Sends it and reads all its answers.  Returns the error number; the error's text stays in db->my, or is in
 * db->last_error if the answer is malformed. */
static unsigned send_and_read(struct js_db *db, struct js_exchange *x)
{
	struct js_buf buf = {0};
	const struct js_buf *text = js_prepared_text(db, &x->request, &buf);
	int more, failed = mysql_real_query(db->my, text->data, (unsigned long)text->len);
	unsigned number;

	x->answered = 0;
	js_buf_free(&buf);
	if (failed)
		return mysql_errno(db->my);
	do {
		number = take_rows(db, x);
		if (number != 0)
			return number;
		x->answered++;
		more = mysql_next_result(db->my);
		if (more > 0)
			return mysql_errno(db->my) != 0 ? mysql_errno(db->my) : LOST_CONNECTION;
	} while (more == 0);
	return mysql_errno(db->my); /* "no more" is also said of a load that was refused */
}

/* Returns what the last try's error means.  Error 1690 comes from a guard only at the place of a guard.  In a block,
 * which has one answer, the error quotes the expression that was out of range: with @js_sum it is the guard of the sum
 * (some statement was skipped), with ROW_COUNT() another guard.  Anything else that is out of range is a fault of ours,
 * and must not be taken for a step that the fence has stopped. */
static enum js_fault fault_of_try(const struct js_db *db, const struct js_exchange *x)
{
	const struct js_answer *a = expected_answer(x);
	enum js_fault fault = js_fault_of(x->number);
	int at_guard = is_statement(a) && a->guard;

	if (fault != JS_FAULT_GUARD || at_guard)
		return fault;
	if (!x->request.blocks || a == NULL)
		return JS_FAULT_OTHER;
	if (strstr(db->last_error, "js_sum") != NULL)
		return JS_FAULT_SKIPPED;
	return strstr(db->last_error, "row_count()") != NULL ? fault : JS_FAULT_OTHER;
}

/* The text depends on the server: with blocks or without, on a cluster or not.  A new connection may lead to another
 * server, and then it is written anew. */
int js_exchange_write(struct js_db *db, struct js_exchange *x, struct jobstack_error *error)
{
	struct js_request *r = &x->request;
	int blocks = db->blocks && x->load == NULL; /* a block may not hold a LOAD */
	int same = !x->transaction || (r->blocks == blocks && r->cluster == db->cluster);
	char text[120];

	if (x->packet != NULL && (r->text.len == 0 || !same)) {
		if (x->transaction)
			js_request_transaction(r, x->packet, x->tail, blocks, db->cluster ? NULL : db->name);
		else
			js_request_plain(r, x->packet);
	}
	if (r->text.failed)
		return js_error_memory(error);
	if (r->text.len < db->packet_most)
		return 0;
	/* the server would answer it by ending the connection, which says nothing */
	db->last_errno = JS_FAULT_PACKET;
	(void)snprintf(text, sizeof(text), "max_allowed_packet=%zu, but the statement to send has %zu bytes",
		       db->packet_most, r->text.len + 1);
	return js_fault_fill(JS_FAULT_PACKET, text, db->where, error);
}

/* An answer that ends early without an error does not count: the COMMIT may not have been reached.  After an error of
 * the connector's own it may not know where in the answers it stands. */
void js_exchange_send(struct js_db *db, struct js_exchange *x)
{
	if (x->fn != NULL)
		x->fn(x->ctx, NULL);
	js_infile_offer(&db->infile, x->load, x->load_len);
	x->number = send_and_read(db, x);
	js_infile_offer(&db->infile, NULL, 0);
	if (x->number != JS_FAULT_MALFORMED || mysql_errno(db->my) != 0)
		(void)strncpy(db->last_error, mysql_error(db->my), sizeof(db->last_error) - 1);
	if (x->number == 0 && x->request.n != 0 && x->answered != x->request.n) {
		x->number = LOST_CONNECTION;
		(void)snprintf(db->last_error, sizeof(db->last_error), "it sent %u of %u answers", x->answered,
			       x->request.n);
	}
	db->last_errno = x->number;
	if (js_fault_is_local(x->number))
		js_session_end(db);
	x->fault = js_prepared_is_lost(db, x->number) ? JS_FAULT_KILLED : fault_of_try(db, x);
}

/* Reads what is left of the answers first, since the connectors refuse to send before that.  The ROLLBACK is sent even
 * if the server has rolled back by itself: after a lock wait timeout it has undone the statement alone.  With it goes
 * what the request holds beside row locks (its user lock).  If any of this fails, the connection is closed, and with it
 * ends all that the server held for it. */
void js_exchange_roll_back(struct js_db *db, struct js_exchange *x)
{
	const struct js_buf *end = &x->request.end;
	struct js_exchange back = {.packet = NULL};

	while (db->my != NULL && mysql_more_results(db->my)) {
		MYSQL_RES *result;

		if (mysql_next_result(db->my) != 0)
			break;
		result = mysql_store_result(db->my);
		if (result != NULL)
			mysql_free_result(result);
	}
	js_buf_str(&back.request.text, JS_REQUEST_HURRY "ROLLBACK;");
	js_buf_add(&back.request.text, end->data, end->len);
	js_buf_add(&back.request.text, JS_REQUEST_REST, sizeof(JS_REQUEST_REST) - 2); /* without the last semicolon */
	if (db->my != NULL && (back.request.text.failed || end->failed || send_and_read(db, &back) != 0))
		js_session_end(db);
	js_request_free(&back.request);
}

/* By the place of the error:
 *
 *     the connection was lost                 yes
 *     before the COMMIT's answers             no
 *     among them (commit_from to commit_to)   of a block: unless the error means that nothing was committed (a guard, a
 *                                             key, a deadlock).  Without blocks the COMMIT itself failed: no
 *     behind them                             yes
 *
 * From the COMMIT's answers on, a statement that was killed may be the COMMIT, after it has done its work: yes.
 *
 * A "yes" costs little, since the caller settles it.  A wrong "no" would make the fence that our own try has moved look
 * like somebody else's. */
int js_exchange_may_be_committed(const struct js_exchange *x)
{
	const struct js_request *r = &x->request;

	if (js_fault_is_local(x->number))
		return 1;
	if (x->answered < r->commit_from || r->commit_from == r->n)
		return 0;
	if (x->fault == JS_FAULT_KILLED)
		return 1;
	/* the error does not say which statement of the block failed; only plain reads follow the COMMIT */
	if (r->blocks && x->answered <= r->commit_to)
		return x->fault != JS_FAULT_GUARD && x->fault != JS_FAULT_SKIPPED && x->fault != JS_FAULT_DUPLICATE &&
		       x->number != DEADLOCK;
	return x->answered > r->commit_to;
}

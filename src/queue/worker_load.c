/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Workers and claims out of the database.  Promise: what is read is true for the worker's seq: changes that are based
 * on it use a compare-and-set on that seq.
 */
#include "queue/worker.h"

#include "base/file.h"
#include "queue/set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct claims_read {
	struct js_claim *list;
	int bad;
};

#define CLAIM_MOST 10000000 /* entries; none of our claims has as many */

/* Behind claim_no, lo, hi and ids. */
/* clang-format off */
#define CLAIM_COLUMNS(X)                                                                                               \
	X(attempt, "attempt", U32) X(fails, "fails", U32) X(losses, "losses", U32) X(rank, "`rank`", I64)              \
	X(claimed_us, "claimed", TIME)
/* clang-format on */
#define CLAIMS                                                                                                         \
	"SELECT claim_no,lo,hi,ids" CLAIM_COLUMNS(JS_COLUMN_NAME) " FROM claim WHERE stack_id=%u AND worker_id=%u"

/* Reads a claim.  One that can't be read is damage, and is left out. */
static void take_claim(void *ctx, const struct js_row *row)
{
	struct claims_read *r = ctx;
	uint64_t ids[JS_IDS_MAX];
	struct js_claim *to;
	struct js_set set;
	unsigned c = 4;

	if (row == NULL) {
		js_claim_free_all(r->list);
		*r = (struct claims_read){NULL, 0};
		return;
	}
	js_set_read(&set, row, 1, ids);
	to = set.damaged || set.n > CLAIM_MOST ? NULL : js_claim_new(js_row_u64(row, 0), set.ids, set.first, set.n);
	if (to == NULL) {
		r->bad = 1;
		return;
	}
	CLAIM_COLUMNS(JS_COLUMN_READ)
	to->next = r->list;
	r->list = to;
}

static void take_closed(void *ctx, const struct js_row *row)
{
	struct js_claim *claim = ctx;
	size_t place;

	if (row == NULL)
		return;
	claim = js_claim_find(claim, js_row_u64(row, 0), (uint32_t)js_row_u64(row, 1), &place);
	if (claim != NULL && claim->mark[place] == JS_OPEN) {
		claim->mark[place] = JS_CLOSED;
		claim->open--;
	}
}

/* Marks the entries that have an attempt already: a claim's row keeps its interval or list while its entries end one by
 * one. */
static int read_closed(struct jobstack_worker *w, struct js_claim *list, struct jobstack_error *error)
{
	for (struct js_claim *claim = list; claim != NULL; claim = claim->next)
		JS_TRY(js_handle_ask(
			w->handle, take_closed, claim, error,
			"SELECT entry_id,attempt FROM attempt WHERE stack_id=%u AND entry_id BETWEEN %u AND %u AND "
			"attempt=%u AND worker_id=%u",
			w->stack.id, claim->id[0], claim->id[claim->n - 1], (uint64_t)claim->attempt, w->id));
	return 0;
}

int js_worker_refuse_claim(const struct jobstack_worker *w, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_EBUG,
			    "a claim in the database is damaged: `jobstack check -s %s` tells more", w->stack.name);
}

int js_worker_read_claim(struct jobstack_worker *w, uint64_t no, struct js_claim **out, struct jobstack_error *error)
{
	struct claims_read r = {NULL, 0};
	int status;

	*out = NULL;
	status = js_handle_ask(w->handle, take_claim, &r, error, CLAIMS " AND claim_no=%u", w->stack.id, w->id, no);
	if (status == 0 && r.bad)
		status = js_worker_refuse_claim(w, error);
	if (status != 0) {
		js_claim_free_all(r.list);
		return status;
	}
	*out = r.list;
	return r.list == NULL ? JOBSTACK_NOTHING : 0;
}

static void take_worker(void *ctx, const struct js_row *row)
{
	struct jobstack_worker *w = ctx;

	if (row == NULL || row->len[1] != sizeof(w->token))
		return;
	w->id = js_row_u64(row, 0);
	memcpy(w->token, row->col[1], sizeof(w->token));
	w->seq = js_row_u64(row, 2);
	w->script = js_row_u64(row, 3) != 0;
	w->lease_us = js_row_i64(row, 4);
	w->kills_len = row->len[5];
	(void)snprintf(w->kills, sizeof(w->kills), "%s", row->col[5] == NULL ? "" : row->col[5]);
	w->reopened = js_row_u64(row, 6) != 0;
	js_file_random(w->next, sizeof(w->next));
}

int js_worker_load(struct jobstack *handle, const struct js_stack *stack, uint64_t id, struct jobstack_worker **out,
		   struct jobstack_error *error)
{
	struct jobstack_worker *w = calloc(1, sizeof(*w));
	struct claims_read r = {NULL, 0};
	int status;

	*out = NULL;
	if (w == NULL)
		return js_error_memory(error);
	w->handle = handle;
	w->stack = *stack;
	w->born_us = -1; /* unknown here, so it is not compared */
	/* the seq first: if anything moves behind it, the compare-and-set on it will not match */
	status = js_handle_ask(
		handle, take_worker, w, error,
		"SELECT worker_id,token,seq,kind,lease_us,kills,slots=0 FROM worker WHERE worker_id=%u AND "
		"stack_id=%u AND ended "
		"IS NULL",
		id, stack->id);
	if (status == 0 && w->id == 0)
		status = JOBSTACK_NOTHING;
	if (status == 0) {
		status = js_handle_ask(handle, take_claim, &r, error, CLAIMS, stack->id, id);
		w->claims = r.list;
	}
	if (status == 0 && r.bad && r.list == NULL)
		status = js_worker_refuse_claim(w, error);
	else if (r.bad) /* it stays, for `jobstack check`; the others can be used */
		js_log(js_db_log(handle->db), JOBSTACK_LOG_WARNING, "a claim of worker %" PRIu64 " can't be read", id);
	JS_THEN(status, read_closed(w, w->claims, error));
	if (status != 0) {
		jobstack_worker_free(w);
		return status;
	}
	*out = w;
	return 0;
}

/* -------------------------------------------------------------------------------------------- damage: two outcomes */

/* A look for outcomes that can't be written: how many were skipped, and the entry of the first. */
struct skipping {
	struct jobstack_worker *w;
	const struct jobstack_outcome *outcomes;
	size_t n;
	uint64_t skipped, first;
};

/* Skips the outcome where it is open; with TWIN only if it is open in two claims, of which one keeps it. */
static void skip_outcome(struct skipping *s, const struct jobstack_outcome *o, int twin)
{
	size_t place, other;
	struct js_claim *claim = js_claim_find_marked(s->w->claims, o->entry, o->attempt, JS_OPEN, &place);

	if (claim == NULL || (twin && js_claim_find_marked(claim->next, o->entry, o->attempt, JS_OPEN, &other) == NULL))
		return;
	claim->mark[place] = JS_SKIPPED;
	claim->open--;
	if (s->skipped++ == 0)
		s->first = o->entry;
}

/* Reads what the ledger has of an entry: its last attempt, whether it is in set_aside, and whether it is in a span or
 * in another claim, which matters only to a recovery. */
static void take_elsewhere(void *ctx, const struct js_row *row)
{
	struct skipping *s = ctx;

	for (size_t i = 0; row != NULL && i < s->n; i++)
		if (s->outcomes[i].entry == js_row_u64(row, 0) &&
		    (s->outcomes[i].attempt <= js_row_u64(row, 1) || js_row_u64(row, 2) != 0 ||
		     (s->outcomes[i].verdict == JOBSTACK_LOST && js_row_u64(row, 3) != 0)))
			skip_outcome(s, &s->outcomes[i], 0);
}

/* The condition that span or claim t holds entry e. */
#define HOLDS                                                                                                          \
	"t.stack_id=e.stack_id AND IF(t.ids IS NULL,e.entry_id BETWEEN t.lo AND t.hi,"                                 \
	"LOCATE(CONCAT(LPAD(HEX(e.entry_id),10,'0'),','),SUBSTR(t.ids,t.lo*11+1,(t.hi-t.lo+1)*11))>0)"

/* The condition that worker o of a claim has not ended, and was not reopened after that (reopen_worker in recover.c).
 */
#define NOT_LEFT "o.ended IS NULL AND o.slots>0"

int js_worker_skip(struct jobstack_worker *w, const struct jobstack_outcome *outcomes, size_t n, int recovering,
		   int refused, struct jobstack_error *error)
{
	struct skipping s = {w, outcomes, n, 0, 0};
	struct js_sql sql = {0};

	/* In a claim an entry without an outcome counts.  Of two claims one keeps the entry, also if both are recovered
	 * at once: that of a worker which has not ended, else the one of the later worker. */
	js_sql_add(&sql,
		   "SELECT e.entry_id,COALESCE((SELECT MAX(a.attempt) FROM attempt a WHERE a.stack_id=e.stack_id AND "
		   "a.entry_id=e.entry_id),0),EXISTS(SELECT 1 FROM set_aside d WHERE d.stack_id=e.stack_id AND "
		   "d.entry_id=e.entry_id),%u AND (EXISTS(SELECT 1 FROM span t WHERE " HOLDS ") OR EXISTS(SELECT 1 "
		   "FROM claim t LEFT JOIN worker o ON o.worker_id=t.worker_id WHERE " HOLDS
		   " AND t.worker_id<>%u AND IF(" NOT_LEFT ",%u OR t.worker_id>%u,%u AND t.worker_id>%u) AND NOT "
		   "EXISTS(SELECT 1 FROM attempt a WHERE a.stack_id=t.stack_id AND a.entry_id=e.entry_id AND "
		   "a.attempt=t.attempt))) FROM entry e WHERE ",
		   (uint64_t)(recovering != 0), w->id, (uint64_t)w->reopened, w->id, (uint64_t)w->reopened, w->id);
	js_sql_add(&sql, "e.stack_id=%u AND e.entry_id IN(NULL", w->stack.id);
	for (size_t i = 0; i < n; i++)
		js_sql_add(&sql, ",%u", outcomes[i].entry);
	js_sql_stmt(&sql, ")");
	JS_TRY(js_db_query(w->handle->db, &sql, take_elsewhere, &s, error));
	for (size_t i = 0; i < n; i++)
		skip_outcome(&s, &outcomes[i], 1);
	if (s.skipped > 0)
		js_log(js_db_log(w->handle->db), JOBSTACK_LOG_WARNING,
		       "the ledger is damaged: %" PRIu64 " of the entries of worker %" PRIu64 " (entry %" PRIu64
		       " is the first) had an outcome already, or are queued elsewhere, and are left out",
		       s.skipped, w->id, s.first);
	else if (refused)
		return js_worker_refuse_claim(w, error);
	return JS_DB_DUPLICATE;
}

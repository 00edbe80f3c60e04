/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Workers and claims out of the database.  Promise: what is read is true for the worker's seq: changes that are based
 * on it use a compare-and-set on that seq.
 */
#include "core/worker.h"

#include "base/file.h"
#include "core/set.h"

#include <stdlib.h>
#include <string.h>

struct claims_read {
	struct js_claim *list;
	int bad;
};

#define CLAIM_MOST 10000000 /* entries; none of our claims has as many */
#define CLAIM_COLUMNS "claim_no,lo,hi,ids,attempt,fails,losses,`rank`,claimed"

static void free_list(struct js_claim *list)
{
	while (list != NULL) {
		struct js_claim *claim = list;

		list = claim->next;
		js_claim_free(claim);
	}
}

static void take_claim(void *ctx, const struct js_row *row)
{
	struct claims_read *r = ctx;
	uint64_t ids[JS_IDS_MAX];
	struct js_claim *claim;
	struct js_set set;

	if (row == NULL) {
		free_list(r->list);
		*r = (struct claims_read){NULL, 0};
		return;
	}
	js_set_read(&set, row, 1, ids);
	claim = set.fault != NULL || set.n > CLAIM_MOST ? NULL
							: js_claim_new(js_row_u64(row, 0), set.ids, set.first, set.n);
	if (claim == NULL) {
		r->bad = 1;
		return;
	}
	claim->attempt = (uint32_t)js_row_u64(row, 4);
	claim->fails = (uint32_t)js_row_u64(row, 5);
	claim->losses = (uint32_t)js_row_u64(row, 6);
	claim->rank = js_row_i64(row, 7);
	claim->claimed_us = js_row_time(row, 8);
	claim->next = r->list;
	r->list = claim;
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

/* Marks the entries that have an attempt row already. */
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

static int refuse_claim(const struct jobstack_worker *w, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_EBUG,
			    "a claim in the database is damaged: `jobstack check -s %s` tells more", w->stack.name);
}

int js_worker_read_claim(struct jobstack_worker *w, uint64_t no, struct js_claim **out, struct jobstack_error *error)
{
	struct claims_read r = {NULL, 0};
	int status;

	*out = NULL;
	status = js_handle_ask(w->handle, take_claim, &r, error,
			       "SELECT " CLAIM_COLUMNS " FROM claim WHERE stack_id=%u AND worker_id=%u AND claim_no=%u",
			       w->stack.id, w->id, no);
	if (status == 0 && r.bad)
		status = refuse_claim(w, error);
	if (status != 0) {
		free_list(r.list);
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
		"SELECT worker_id,token,seq,kind,lease_us FROM worker WHERE worker_id=%u AND stack_id=%u AND ended "
		"IS NULL",
		id, stack->id);
	if (status == 0 && w->id == 0)
		status = JOBSTACK_NOTHING;
	if (status == 0) {
		status = js_handle_ask(handle, take_claim, &r, error,
				       "SELECT " CLAIM_COLUMNS " FROM claim WHERE stack_id=%u AND worker_id=%u",
				       stack->id, id);
		w->claims = r.list;
	}
	if (status == 0 && r.bad)
		status = refuse_claim(w, error);
	if (status == 0)
		status = read_closed(w, w->claims, error);
	if (status != 0) {
		jobstack_worker_free(w);
		return status;
	}
	*out = w;
	return 0;
}

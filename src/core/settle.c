/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a step was that its fence has stopped: one of ours that had arrived before, one of a worker that was given up,
 * or one that a database has forgotten which was set back.  Promise: judged by the worker's own row, as the database
 * has it, and never by a guess.
 */
#include "base/error.h"
#include "core/settle.h"

#include <inttypes.h>

/* What the database has under a worker's number. */
struct own_row {
	uint64_t seq;
	int64_t born_us;
	int found, ended, token, next; /* its token is ours, or the one behind our last step */
	int stack;		       /* the stack is there */
};

static void take_own_row(void *ctx, const struct js_row *row)
{
	struct own_row *r = ctx;

	*r = (struct own_row){.born_us = -1};
	if (row == NULL)
		return;
	r->stack = row->col[0] != NULL;
	r->found = row->col[1] != NULL;
	if (!r->found)
		return;
	r->seq = js_row_u64(row, 1);
	r->ended = row->col[2] != NULL;
	r->born_us = js_row_time(row, 3);
	r->token = js_row_u64(row, 4) != 0;
	r->next = js_row_u64(row, 5) != 0;
}

static int read_own_row(const struct jobstack_worker *w, struct own_row *row, struct jobstack_error *error)
{
	return js_handle_ask(w->handle, take_own_row, row, error,
			     "SELECT s.stack_id,w.seq,w.ended,w.started,w.token=%k,w.token=%k FROM (SELECT 1) one "
			     "LEFT JOIN worker w ON worker_id=%u LEFT JOIN stack s ON s.stack_id=%u",
			     w->token, w->next, w->id, w->stack.id);
}

/* Only a database that was set back (a restored backup, a failover that lost commits) has forgotten what it had
 * confirmed: the row is gone within the lease, before anybody could have given it up and pruned it, or is another
 * worker's, or its seq is lower. */
static int was_set_back(const struct jobstack_worker *w, const struct own_row *row)
{
	if (!row->found)
		return jobstack_now_us() < w->deadline_us;
	return row->born_us != w->born_us || row->seq < w->seq;
}

/* Why the fence stopped a worker that was born here. */
static int refuse_step(const struct jobstack_worker *w, const struct own_row *row, struct jobstack_error *error)
{
	if (!row->stack)
		return js_stack_refuse_gone(w->stack.name, error);
	if (was_set_back(w, row))
		return js_error_set(error, JOBSTACK_ECONFLICT, JS_SET_BACK "it has forgotten %sworker %" PRIu64,
				    row->found && row->born_us == w->born_us ? "the last steps of " : "", w->id);
	if (!row->found)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the database no longer has worker %" PRIu64
				    ": its lease was lost and its row was pruned, or the database "
				    "was set back",
				    w->id);
	return JOBSTACK_NOTHING;
}

int js_worker_settle(struct jobstack_worker *w, int lost, int ending, struct jobstack_error *error)
{
	struct own_row row;
	int status = read_own_row(w, &row, error);

	if (status != 0)
		return status;
	if (row.found && (ending || w->script ? row.next : row.token) && row.ended == ending && row.seq == w->seq + 1 &&
	    (ending || w->script || lost || w->unsettled))
		return 0;
	return w->born_us < 0 ? JOBSTACK_NOTHING : refuse_step(w, &row, error);
}

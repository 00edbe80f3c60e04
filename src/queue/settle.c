/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What became of a step, or of a worker's end, that its own guard has stopped.  Promises: the answer is read from the
 * worker's row, after the guard's UPDATE has waited for any earlier try, so it is final; nothing is changed here.
 *
 * Two things can stop it: an earlier try of the same step that was committed, whose reply was lost, or somebody else.
 * What the row shows decides:
 *
 *     ours, seq one higher            an earlier try was committed
 *     ended, or another token         others have declared the worker dead: fenced
 *     gone, with another `started`,   the database was set back, or the row was pruned long after the worker was
 *       or with a lower seq           declared dead
 *     ours, seq as before             the database killed the fence's UPDATE in each try
 *
 * seq alone does not show whose step it was where two processes can have changed it: in the end of a worker beside its
 * recovery, and in the steps of two scripts that close entries of one pop.  So these set a token of their own
 * (w->next), and only that proves them.
 */
#include "queue/worker.h"

#include <inttypes.h>

/* What the database has under a worker's number. */
struct own_row {
	uint64_t seq;
	int64_t born_us;	       /* since 1970, by the server's clock; -1: there is no row */
	int found, ended, token, next; /* its token is ours; it is the one that our step or end sets */
	int stack;		       /* the stack is there */
};

/* Of a worker w, if it exists; the two %k are the tokens. */
/* clang-format off */
#define OWN_COLUMNS(X)                                                                                                 \
	X(found, "w.seq IS NOT NULL", FLAG) X(seq, "w.seq", U64) X(ended, "w.ended IS NOT NULL", FLAG)                 \
	X(born_us, "w.started", TIME) X(token, "w.token=%k", FLAG) X(next, "w.token=%k", FLAG)
#define OWN_QUERY                                                                                                      \
	"SELECT s.stack_id IS NOT NULL" OWN_COLUMNS(JS_COLUMN_NAME) " FROM (SELECT 1) one "                            \
	"LEFT JOIN worker w ON worker_id=%u LEFT JOIN stack s ON s.stack_id=%u"
/* clang-format on */

static void take_own_row(void *ctx, const struct js_row *row)
{
	struct own_row *to = ctx;
	unsigned c = 1;

	*to = (struct own_row){.born_us = -1};
	if (row == NULL)
		return;
	to->stack = js_row_u64(row, 0) != 0;
	OWN_COLUMNS(JS_COLUMN_READ)
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

/* Says why the fence stopped a worker that this process has begun: returns 1 if others have declared it dead, or an
 * error. */
static int refuse_step(const struct jobstack_worker *w, const struct own_row *row, struct jobstack_error *error)
{
	if (!row->stack)
		return js_stack_refuse_gone(w->stack.name, error);
	if (row->found && row->token && !row->ended && row->born_us == w->born_us && row->seq == w->seq)
		return js_error_set(error, JOBSTACK_ENODB,
				    "the database killed the step of worker %" PRIu64 " again and again", w->id);
	if (was_set_back(w, row))
		return js_error_set(error, JOBSTACK_ECONFLICT, JS_SET_BACK "it no longer has %sworker %" PRIu64,
				    row->found && row->born_us == w->born_us ? "the last updates of " : "", w->id);
	if (!row->found)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the database no longer has worker %" PRIu64
				    ": its lease was lost and its row was pruned, or the database "
				    "was set back",
				    w->id);
	return JOBSTACK_NOTHING;
}

/* A worker that was loaded (born_us < 0: a recovery, or a script's close) gets no reason: its caller looks again. */
int js_worker_settle(struct jobstack_worker *w, int lost, int ending, struct jobstack_error *error)
{
	struct own_row row;

	JS_TRY(js_handle_ask(w->handle, take_own_row, &row, error, OWN_QUERY, w->token, w->next, w->id, w->stack.id));
	if (row.found && (ending || w->script ? row.next : row.token) && row.ended == ending && row.seq == w->seq + 1 &&
	    (ending || w->script || lost || w->unsettled))
		return 0;
	return w->born_us < 0 ? JOBSTACK_NOTHING : refuse_step(w, &row, error);
}

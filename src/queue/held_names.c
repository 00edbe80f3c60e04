/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Another push --atomic holds names that a --unique push brings.  Such a name is not known yet: if the holder dies or
 * fails, nobody pushes it, and if it ends well, it must not be there twice.  So the later push waits a while for the
 * holder to end, removes its entries if it is dead, and otherwise fails with an error.  Promises: no name is skipped
 * that is only held; no entries are taken from a push that has shown life since it was looked at; every wait ends.
 *
 * A push --atomic shows that it is alive by a user lock of the server: the server gives it back when the connection
 * ends, which it notices at once when the process dies, wherever that ran.  A live push may lose its connection for a
 * moment, hence DEAD_US.  Without user locks, only silence tells.
 */
#include "queue/pushing.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BEAT_US (20 * JS_SECOND_US)    /* how often a push writes to its row when it has nothing to send */
#define SHOW_US (2 * JS_SECOND_US)     /* how often it makes sure that its connection has the user lock */
#define DEAD_US (5 * JS_SECOND_US)     /* a holder whose lock was free for this long is dead */
#define SILENT_US (180 * JS_SECOND_US) /* the same where there are no user locks: nine beats without a change */
#define WAIT_US (15 * JS_SECOND_US)    /* how long to wait for a holder that is alive */
#define LOOK_US (JS_SECOND_US / 5)     /* how often to look at it */
#define GAP_US (2 * JS_SECOND_US)      /* if two looks are further apart, the time between them proves nothing */

#define LOCK_NAME "CONCAT('jobstack.push.',HEX(token))"

/* Requests our own lock.  If the server has not seen yet that our last connection has ended, that still holds the lock,
 * and the push looks alive all the same. */
#define ASK_FOR_LOCK JS_ASK_FOR_LOCK("CONCAT('jobstack.push.',HEX(%k))")

/* Returns whether this push shows itself by a lock: only one that holds entries needs to. */
static int has_lock(const struct js_pushing *p)
{
	return p->begun && p->options->atomic && js_db_has_user_locks(p->handle->db);
}

int js_push_lock(struct js_pushing *p, struct jobstack_error *error)
{
	uint64_t got;

	p->shown_us = js_clock_mono_us();
	if (!has_lock(p))
		return 0;
	return js_handle_ask_number(p->handle, &got, error, "SELECT " ASK_FOR_LOCK, p->token, p->token, (uint64_t)0);
}

/* The server may need a moment to see that our last connection has ended. */
void js_push_lock_sql(const struct js_pushing *p, struct js_sql *sql)
{
	if (has_lock(p))
		js_sql_stmt(sql, "DO " ASK_FOR_LOCK, p->token, p->token, (uint64_t)1);
}

void js_push_unlock(struct js_pushing *p)
{
	uint64_t got;

	if (!has_lock(p))
		return;
	(void)js_handle_ask_number(p->handle, &got, NULL,
				   "SELECT RELEASE_LOCK(" LOCK_NAME ") FROM push WHERE push_id=%u", p->push_id);
}

int js_push_beat(struct js_pushing *p, struct jobstack_error *error)
{
	if (!p->begun)
		return 0;
	if (jobstack_now_us() - p->shown_us >= SHOW_US)
		JS_TRY(js_push_lock(p, error));
	if (jobstack_now_us() - p->beat_us < BEAT_US)
		return 0;
	p->beat_us = jobstack_now_us();
	return js_handle_change(p->handle, 0, NULL, error, "UPDATE push SET beat=UTC_TIMESTAMP(6) WHERE push_id=%u",
				p->push_id);
}

/* The other push.  All moments but beat_us are of our own clock: those of two hosts can't be compared. */
struct holder {
	uint64_t id;
	int found, ended;
	uint64_t seq, pushed;
	uint64_t connection; /* the one that has its lock, or 0 */
	int64_t beat_us;     /* its last beat, by the server's clock: only compared with what it was before */
	int64_t age_us;	     /* how long ago it began */
	char from[270];	     /* "from HOST, ", if that can be seen */
	int64_t began_us;    /* of our clock: when we began to wait */
	int64_t alive_us;    /* when it last was seen, or may have been, alive */
	int64_t looked_us;
	int moved; /* the last look saw it alive */
};

/* The columns that follow the connection's. */
/* clang-format off */
#define HOLDER_COLUMNS(X)                                                                                              \
	X(seq, "seq", U64) X(beat_us, "beat", TIME) X(ended, "ended IS NOT NULL", FLAG) X(pushed, "pushed", U64)       \
	X(age_us, "TIMESTAMPDIFF(MICROSECOND,started,UTC_TIMESTAMP(6))", I64)
/* clang-format on */

static void take_holder(void *ctx, const struct js_row *row)
{
	struct holder *to = ctx, before = *to;
	unsigned c = 1;

	to->found = row != NULL;
	if (row == NULL)
		return;
	to->connection = js_row_u64(row, 0);
	HOLDER_COLUMNS(JS_COLUMN_READ)
	to->moved |= before.beat_us != 0 && (before.seq != to->seq || before.beat_us != to->beat_us);
}

/* Reads the row of the other push, and who has its lock.  Either one shows that it is alive: the lock is held, or the
 * row has changed since the last look. */
static int look_at_holder(struct js_pushing *p, struct holder *h, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	int status;

	h->moved = 0;
	js_sql_add(&sql, js_db_has_user_locks(p->handle->db) ? "SELECT IS_USED_LOCK(" LOCK_NAME ")" : "SELECT NULL");
	js_sql_stmt(&sql, HOLDER_COLUMNS(JS_COLUMN_NAME) " FROM push WHERE push_id=%u", h->id);
	status = js_db_query(p->handle->db, &sql, take_holder, h, error);
	h->moved |= h->connection != 0;
	/* after an outage of the server, or of this process, it must have time to come back */
	if (h->moved || js_clock_mono_us() - h->looked_us > GAP_US)
		h->alive_us = js_clock_mono_us();
	h->looked_us = js_clock_mono_us();
	return status;
}

static void take_process(void *ctx, const struct js_row *row)
{
	struct holder *h = ctx;

	if (row == NULL || row->n < 3 || row->col[2] == NULL || js_row_u64(row, 0) != h->connection)
		return;
	(void)snprintf(h->from, sizeof(h->from), "from %.*s, ", (int)strcspn(row->col[2], ":"), row->col[2]);
}

/* "from n3, started 2 min ago, 5000 entries so far". */
static const char *describe_holder(struct js_pushing *p, struct holder *h, char *text, size_t size)
{
	int64_t seconds = h->age_us / JS_SECOND_US;

	if (h->connection != 0) /* without further rights, those of the same user */
		(void)js_handle_ask(p->handle, take_process, h, NULL, "SHOW PROCESSLIST");
	(void)snprintf(text, size, "%sstarted %" PRId64 " %s ago, %" PRIu64 " entries so far", h->from,
		       seconds < 120 ? seconds : seconds / 60, seconds < 120 ? "s" : "min", h->pushed);
	return text;
}

/* Ends the other push, which has not shown life for long enough, with a compare-and-set on what was seen of its row. If
 * it moves at this moment, it keeps its entries, and the caller looks again. */
static int end_holder(struct js_pushing *p, const struct holder *h, struct jobstack_error *error)
{
	int status = js_discard_dead(p->handle, &p->stack, h->id, h->seq, h->beat_us, error);

	if (status == 0)
		js_log(js_db_log(p->handle->db), JOBSTACK_LOG_WARNING,
		       "the other push was dead: its %" PRIu64 " entries, which could never be popped, were removed",
		       h->pushed);
	return status == JOBSTACK_NOTHING ? 0 : status;
}

int js_held_names_wait(struct js_pushing *p, uint64_t holder, uint64_t held, struct jobstack_error *error)
{
	struct holder h = {.id = holder};
	int64_t dead_us = js_db_has_user_locks(p->handle->db) ? DEAD_US : SILENT_US, now;
	char text[400];

	h.began_us = h.alive_us = h.looked_us = js_clock_mono_us();
	for (unsigned looks = 0;; looks++) {
		JS_TRY(look_at_holder(p, &h, error));
		if (!h.found || h.ended)
			return js_discard_held(p->handle, &p->stack, holder, error);
		now = js_clock_mono_us();
		if (now - h.alive_us >= dead_us)
			return end_holder(p, &h, error);
		/* looks that are always far apart prove nothing, but the wait ends nevertheless */
		if (now - h.began_us >= WAIT_US + (h.moved ? 0 : dead_us))
			return js_error_set(error, JOBSTACK_ECONFLICT,
					    "another push --atomic to the stack \"%s\" (%s) holds %" PRIu64
					    " of these names and is still running: "
					    "push again when it has ended",
					    p->stack_name, describe_holder(p, &h, text, sizeof(text)), held);
		if (looks == 0)
			js_log(js_db_log(p->handle->db), JOBSTACK_LOG_WARNING,
			       "another push --atomic (%s) is adding %" PRIu64
			       " of these names: waiting for it to finish",
			       describe_holder(p, &h, text, sizeof(text)), held);
		JS_TRY(js_db_nap(p->handle->db, LOOK_US, error));
		JS_TRY(js_push_beat(p, error));
	}
}

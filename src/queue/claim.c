/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Claims in memory, and closing them.  Promises: an outcome changes nothing here until its COMMIT is known; the
 * statements come in the lock order claim < attempt < set_aside < span.
 *
 * Each entry of a claim has a mark:
 *
 *     JS_OPEN     the worker holds it
 *     JS_CLOSING  its outcome is in a transaction whose COMMIT is not known yet
 *     JS_CLOSED   its outcome is committed
 *     JS_SKIPPED  the database has another outcome of it, or has it elsewhere (js_worker_skip): nothing is sent
 *
 *     JS_OPEN -> JS_CLOSING       js_claim_mark_closing, js_claim_close_rest, js_kill_close; gather_held (replay.c)
 *     JS_CLOSING -> JS_CLOSED     js_claim_settle, after a COMMIT
 *     JS_CLOSING -> JS_OPEN       js_claim_settle, after anything else: the same outcome can be sent again
 *     JS_OPEN -> JS_SKIPPED       js_worker_skip, in a damaged ledger
 *     JS_OPEN -> JS_CLOSED        js_worker_load: the claim was read, and the entry has an attempt already
 *
 * `open` of a claim counts the entries that are open or closing.  In the database an entry has no mark.  It is closed
 * if it has a row in `attempt` for the claim's attempt, or, if it went back unstarted, if the claim's row does not name
 * it.
 *
 * What becomes of an entry, by its outcome and the counts of its claim:
 *
 *     done                       attempt with final=1
 *     failed                     attempt; a waiting span with fails+1, or set_aside after max_attempts, or if fatal
 *     lost, or interrupted with  attempt; a ready span with losses+1, or set_aside after max_losses
 *       `loss`
 *     interrupted otherwise      attempt; a span, ready or (with `later`) waiting, with the counts as they were
 *     unstarted                  no attempt; a ready span with the same number of the next attempt
 */
#include "queue/claim.h"

#include "base/attempt.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct js_claim *js_claim_new(uint64_t no, const uint64_t *ids, uint64_t first, size_t n)
{
	struct js_claim *claim = calloc(1, sizeof(*claim));

	if (claim == NULL)
		return NULL;
	claim->no = no;
	claim->n = claim->open = n;
	claim->id = calloc(n, sizeof(*claim->id));
	claim->mark = calloc(n, 1);
	if (claim->id == NULL || claim->mark == NULL) {
		js_claim_free(claim);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		claim->id[i] = ids != NULL ? ids[i] : first + i;
	return claim;
}

void js_claim_free(struct js_claim *claim)
{
	if (claim == NULL)
		return;
	free(claim->id);
	free(claim->mark);
	free(claim);
}

void js_claim_free_all(struct js_claim *list)
{
	while (list != NULL) {
		struct js_claim *claim = list;

		list = claim->next;
		js_claim_free(claim);
	}
}

struct js_claim *js_claim_find(struct js_claim *list, uint64_t entry, uint32_t attempt, size_t *place)
{
	for (; list != NULL; list = list->next) {
		size_t at =
			list->attempt == attempt ? js_span_find(list->id, list->n, sizeof(*list->id), entry) : list->n;

		if (at < list->n && list->id[at] == entry) {
			*place = at;
			return list;
		}
	}
	return NULL;
}

struct js_claim *js_claim_find_marked(struct js_claim *list, uint64_t entry, uint32_t attempt, enum js_claim_mark mark,
				      size_t *place)
{
	while ((list = js_claim_find(list, entry, attempt, place)) != NULL && list->mark[*place] != mark)
		list = list->next;
	return list;
}

uint64_t js_claim_open(const struct js_claim *list)
{
	uint64_t open = 0;

	for (; list != NULL; list = list->next)
		open += list->open;
	return open;
}

int js_outcomes_take(struct js_outcomes *outcomes, const struct jobstack_outcome *given, size_t n,
		     struct jobstack_error *error)
{
	static const struct jobstack_outcome defaults = JOBSTACK_OUTCOME_INIT;
	const void *at;
	int status = js_grow_array(&at, &outcomes->memory, given, n, &defaults, "jobstack_outcome", error);

	outcomes->at = at;
	return status;
}

int js_claim_is_dead(const struct js_stack *stack, const struct js_claim *claim, const struct jobstack_outcome *outcome)
{
	if (outcome->verdict == JOBSTACK_LOST || (outcome->verdict == JOBSTACK_INTERRUPTED && outcome->loss))
		return claim->losses + 1 >= stack->max_losses;
	return outcome->verdict == JOBSTACK_FAILED && (outcome->fatal || claim->fails + 1 >= stack->max_attempts);
}

int js_claim_mark_closing(struct js_claim *list, const struct js_stack *stack, struct jobstack_outcome *outcomes,
			  size_t *n, struct js_claim_sums *sums, struct jobstack_error *error)
{
	size_t kept = 0, place;

	*sums = (struct js_claim_sums){0, 0};
	for (size_t i = 0; i < *n; i++) {
		const struct jobstack_outcome o = outcomes[i];
		struct js_claim *claim = js_claim_find_marked(list, o.entry, o.attempt, JS_OPEN, &place);

		if (claim == NULL && js_claim_find_marked(list, o.entry, o.attempt, JS_SKIPPED, &place) != NULL)
			continue;
		if (claim == NULL || o.verdict == JOBSTACK_LOST) {
			js_claim_settle(&list, 0);
			return js_error_set(error, JOBSTACK_EUSAGE,
					    "entry %" PRIu64 ", attempt %" PRIu32 ", is not held by this worker",
					    o.entry, o.attempt);
		}
		claim->mark[place] = JS_CLOSING;
		sums->done += o.verdict == JOBSTACK_DONE;
		sums->dead += (uint64_t)js_claim_is_dead(stack, claim, &o);
		outcomes[kept++] = o;
	}
	*n = kept;
	return 0;
}

size_t js_claim_close_rest(struct js_claim *list, const struct js_stack *stack, enum jobstack_cause cause,
			   const char *lost, struct jobstack_outcome *outcomes, struct js_claim_sums *sums)
{
	struct jobstack_outcome *next = outcomes;

	for (struct js_claim *claim = list; claim != NULL; claim = claim->next)
		for (size_t i = 0; i < claim->n; i++) {
			if (claim->mark[i] != JS_OPEN)
				continue;
			claim->mark[i] = JS_CLOSING;
			*next = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
			next->entry = claim->id[i];
			next->attempt = claim->attempt;
			next->verdict = lost != NULL ? JOBSTACK_LOST : JOBSTACK_UNSTARTED;
			next->cause = lost != NULL ? cause : JOBSTACK_CAUSE_NONE;
			next->reason = lost;
			sums->dead += (uint64_t)js_claim_is_dead(stack, claim, next++);
		}
	return (size_t)(next - outcomes);
}

void js_claim_settle(struct js_claim **list, int committed)
{
	struct js_claim **at = list;

	while (*at != NULL) {
		struct js_claim *claim = *at;

		for (size_t i = 0; i < claim->n; i++)
			if (claim->mark[i] == JS_CLOSING) {
				claim->mark[i] = committed ? JS_CLOSED : JS_OPEN;
				claim->open -= (size_t)(committed != 0);
			}
		if (claim->open > 0 || !committed) {
			at = &claim->next;
			continue;
		}
		*at = claim->next;
		js_claim_free(claim);
	}
}

static size_t count_marks(const struct js_claim *claim, enum js_claim_mark mark)
{
	size_t n = 0;

	for (size_t i = 0; i < claim->n; i++)
		n += claim->mark[i] == mark;
	return n;
}

/* Columns that are NULL in every row of most steps.  The INSERT then does not name them, and the server has a fifth
 * less to parse.  Each has a bit; those of usage follow from WITH_USAGE on, so what nobody measures costs nothing. */
enum {
	WITH_SIGNAL = 1,
	WITH_REASON = 2,
	WITH_LOG = 4,
	WITH_ERR = 8,
	WITH_TAIL = 16,
	WITH_AT = 32,
	WITH_CAUSE = 64,
	WITH_USAGE = 128
};
#define USAGE_BIT(member) ((unsigned)WITH_USAGE << JS_USAGE_##member)
#define USAGE_COLUMN(member, column, ...) , column
static const char *const optional[] = {
	"signo", "reason", "log", "err_log,err_at", "err_tail", "log_at", "cause" JS_ATTEMPT_USAGE(USAGE_COLUMN)};
#define OPTIONAL_N (sizeof(optional) / sizeof(optional[0]))
_Static_assert(OPTIONAL_N <= 32, "a bit for each column");

/* Bytes of stderr in one step: small enough for servers with small packet limits. */
#define TAILS_MAX (512 * 1024)

/* Returns the cause that is recorded.  If the caller gave none for a failure, the signal or the exit code tells it. */
static enum jobstack_cause cause_of(const struct jobstack_outcome *o)
{
	if (o->cause != JOBSTACK_CAUSE_NONE || o->verdict != JOBSTACK_FAILED)
		return o->cause;
	return o->signal > 0 ? JOBSTACK_CAUSE_SIGNAL : o->exit_code > 0 ? JOBSTACK_CAUSE_EXIT : JOBSTACK_CAUSE_NONE;
}

/* Returns the bits of the optional columns in which the row of this outcome has a value. */
static unsigned columns_of(const struct jobstack_outcome *o)
{
#define USAGE_KNOWN(member, ...) | (o->member >= 0 ? USAGE_BIT(member) : 0U)
	return (o->signal > 0 ? WITH_SIGNAL : 0U) | (o->reason != NULL ? WITH_REASON : 0U) |
	       (o->log != NULL ? WITH_LOG : 0U) | (o->err_at >= 0 ? WITH_ERR : 0U) |
	       (o->err_tail.len > 0 ? WITH_TAIL : 0U) | (o->log_at >= 0 ? WITH_AT : 0U) |
	       (cause_of(o) != 0 ? WITH_CAUSE : 0U) JS_ATTEMPT_USAGE(USAGE_KNOWN);
}

/* Returns the end of a tail, at most MOST bytes. */
static struct jobstack_bytes tail_end(struct jobstack_bytes tail, size_t most)
{
	const char *data = tail.data;

	if (tail.len == 0)
		return (struct jobstack_bytes){NULL, 0};
	return tail.len <= most ? tail : (struct jobstack_bytes){data + (tail.len - most), most};
}

/* Returns how many bytes of each tail are stored at most, so that all tails of the step together fit. */
static size_t tail_most(const struct js_closing *c)
{
	size_t tails = 0, each;

	for (size_t i = 0; i < c->n; i++)
		tails += c->outcomes[i].err_tail.len > 0;
	each = tails == 0 ? JOBSTACK_ERR_TAIL_MAX : TAILS_MAX / tails;
	return each < JOBSTACK_ERR_TAIL_MAX ? each : JOBSTACK_ERR_TAIL_MAX;
}

/* Returns when the attempt started, by the server's clock: if the outcome does not say so, when it was claimed. */
static int64_t started_us(const struct js_closing *c, const struct js_claim *claim, const struct jobstack_outcome *o)
{
	return o->started_us != 0 ? js_db_wall_us(c->db, o->started_us) : claim->claimed_us;
}

/* Returns when the attempt ended, by the server's clock.  It is never before the start: the two clocks may have been
 * read anew between the claim and the end. */
static int64_t ended_us(const struct js_closing *c, const struct js_claim *claim, const struct jobstack_outcome *o)
{
	int64_t started = started_us(c, claim, o);
	int64_t ended = js_db_wall_us(c->db, o->ended_us != 0 ? o->ended_us : c->now_us);

	return ended > started ? ended : started;
}

void js_claim_times(const struct js_closing *c, struct js_closed_list *list)
{
	int64_t newest = 0, oldest = INT64_MAX;
	size_t place;

	for (size_t i = 0; i < c->n; i++) {
		const struct jobstack_outcome *o = &c->outcomes[i];
		int64_t ended;

		if (o->verdict == JOBSTACK_UNSTARTED)
			continue;
		ended = ended_us(c, js_claim_find(c->list, o->entry, o->attempt, &place), o);
		newest = ended > newest ? ended : newest;
		oldest = ended < oldest ? ended : oldest;
	}
	list->newest = (uint64_t)(newest / JS_SECOND_US);
	list->oldest = js_closed_second(oldest);
}

/* Adds one row: its key and worker, how it ended, when it started and ended, where its log is, and usage. */
static void add_attempt_row(const struct js_closing *c, const struct js_claim *claim, const struct jobstack_outcome *o,
			    unsigned columns, size_t most, struct js_sql *sql)
{
	struct jobstack_bytes tail = tail_end(o->err_tail, most);
	size_t reason = o->reason == NULL ? 0 : strlen(o->reason), n = 0;
	int64_t usage[JS_USAGE_N];

#define GATHER_USAGE(member, ...)                                                                                      \
	if (columns & USAGE_BIT(member))                                                                               \
		usage[n++] = o->member;
	JS_ATTEMPT_USAGE(GATHER_USAGE)
	js_sql_add(sql, "(%u,%u,%u,%u,%u,%u,%n,%t,%t,%n,%n", c->stack->id, o->entry, (uint64_t)o->attempt, c->worker,
		   (uint64_t)o->verdict, (uint64_t)(o->verdict == JOBSTACK_DONE), (int64_t)o->exit_code,
		   started_us(c, claim, o), ended_us(c, claim, o), o->log_out, o->log_err);
	if (columns & WITH_SIGNAL)
		js_sql_add(sql, ",%n", o->signal > 0 ? (int64_t)o->signal : -1);
	if (columns & WITH_REASON)
		js_sql_add(sql, ",%x", (const void *)o->reason, reason > 255 ? 255 : reason);
	if (columns & WITH_LOG)
		js_sql_add(sql, ",%s", o->log);
	if (columns & WITH_ERR)
		js_sql_add(sql, ",%s,%n", o->err_log, o->err_at);
	if (columns & WITH_TAIL)
		js_sql_add(sql, ",%x", tail.data, tail.len);
	if (columns & WITH_AT)
		js_sql_add(sql, ",%n", o->log_at);
	if (columns & WITH_CAUSE)
		js_sql_add(sql, ",%n", cause_of(o) != 0 ? (int64_t)cause_of(o) : -1);
	js_sql_numbers(sql, usage, n);
	js_sql_add(sql, ")");
}

/* One INSERT for all of them.  The primary key of `attempt` is the last safeguard of "one outcome per attempt": a
 * second row for the same attempt stops the whole transaction (JS_DB_DUPLICATE). */
static void add_attempts(const struct js_closing *c, struct js_sql *sql)
{
	size_t most = tail_most(c), rows = 0, place;
	unsigned columns = 0;

	for (size_t i = 0; i < c->n; i++)
		columns |= columns_of(&c->outcomes[i]);
	for (size_t i = 0; i < c->n; i++) {
		const struct jobstack_outcome *o = &c->outcomes[i];

		if (o->verdict == JOBSTACK_UNSTARTED)
			continue;
		if (rows++ == 0) {
			js_sql_add(sql, "INSERT INTO "
					"attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,"
					"started,ended,log_out,log_err");
			for (unsigned k = 0; k < OPTIONAL_N; k++) {
				js_sql_add(sql, columns & 1u << k ? "," : "");
				js_sql_add(sql, columns & 1u << k ? optional[k] : "");
			}
			js_sql_add(sql, ") VALUES");
		} else
			js_sql_add(sql, ",");
		add_attempt_row(c, js_claim_find(c->list, o->entry, o->attempt, &place), o, columns, most, sql);
	}
	if (rows > 0)
		js_sql_add(sql, ";");
}

static const char *why_dead(const struct jobstack_outcome *o)
{
	switch (o->verdict) {
	case JOBSTACK_LOST: return "its workers keep dying";
	case JOBSTACK_INTERRUPTED: return "it does not finish within the wall time";
	default: return o->fatal ? "fatal exit" : "no attempts left";
	}
}

/* Adds the rows of entries that are dead by these outcomes.  The primary key is the entry, so none can be dead twice.
 */
static void add_dead(const struct js_closing *c, struct js_sql *sql)
{
	size_t rows = 0, place;

	for (size_t i = 0; i < c->n; i++) {
		const struct jobstack_outcome *o = &c->outcomes[i];
		const struct js_claim *claim = js_claim_find(c->list, o->entry, o->attempt, &place);

		if (!js_claim_is_dead(c->stack, claim, o))
			continue;
		js_sql_add(sql,
			   rows++ == 0 ? "INSERT INTO set_aside(stack_id,entry_id,attempt,`rank`,reason) VALUES" : ",");
		js_sql_add(sql, "(%u,%u,%u,%d,%s)", c->stack->id, o->entry, (uint64_t)claim->attempt, claim->rank,
			   why_dead(o));
	}
	if (rows > 0)
		js_sql_add(sql, ";");
}

/* Returns whether some of the closing entries of CLAIM go back unstarted.  They leave no row in `attempt`, so the
 * claim's own row must show that they are gone. */
static int gives_back(const struct js_closing *c, const struct js_claim *claim)
{
	size_t place;

	for (size_t i = 0; i < c->n; i++)
		if (c->outcomes[i].verdict == JOBSTACK_UNSTARTED &&
		    js_claim_find(c->list, c->outcomes[i].entry, c->outcomes[i].attempt, &place) == claim)
			return 1;
	return 0;
}

/* Rewrites the claim's row so that it names only its open entries. */
static void rewrite_claim(const struct js_closing *c, const struct js_claim *claim, size_t closing, struct js_sql *sql)
{
	uint64_t ids[JS_IDS_MAX];
	char text[JS_IDS_MAX * JS_IDS_WIDTH];
	size_t n = 0;
	int interval;

	for (size_t i = 0; i < claim->n && n < JS_IDS_MAX; i++)
		if (claim->mark[i] == JS_OPEN)
			ids[n++] = claim->id[i];
	interval = ids[n - 1] - ids[0] == n - 1;
	if (!interval)
		js_span_write_ids(text, ids, n);
	js_sql_stmt(
		sql,
		"UPDATE claim SET open=open-%u,lo=%u,hi=%u,ids=%x WHERE stack_id=%u AND worker_id=%u AND claim_no=%u",
		(uint64_t)closing, interval ? ids[0] : (uint64_t)0, interval ? ids[n - 1] : (uint64_t)(n - 1),
		interval ? NULL : (const void *)text, n * JS_IDS_WIDTH, c->stack->id, c->worker, claim->no);
	js_sql_count(sql, 1);
}

uint64_t js_claim_closed(const struct js_claim *list)
{
	for (; list != NULL; list = list->next)
		if (count_marks(list, JS_CLOSING) == list->open)
			return list->no;
	return 0;
}

/* Each statement on a claim is counted: it must change exactly one row.  Only this worker changes its claims.  A
 * recovery changes them, too, but ends the worker's row in the same transaction, and this packet's fence notices that.
 */
void js_claim_close_sql(const struct js_closing *c, struct js_sql *sql)
{
	for (const struct js_claim *claim = c->list; claim != NULL; claim = claim->next) {
		size_t closing = count_marks(claim, JS_CLOSING);

		if (claim->no == c->reused)
			continue;
		if (closing == claim->open) {
			js_span_delete_claim(sql, c->stack, c->worker, claim->no);
			js_sql_stmt(sql, "");
			js_sql_count(sql, 1);
		} else if (closing > 0 && gives_back(c, claim))
			rewrite_claim(c, claim, closing, sql);
		else if (closing > 0) {
			js_sql_stmt(sql,
				    "UPDATE claim SET open=open-%u WHERE stack_id=%u AND worker_id=%u AND claim_no=%u",
				    (uint64_t)closing, c->stack->id, c->worker, claim->no);
			js_sql_count(sql, 1);
		}
	}
	add_attempts(c, sql);
	add_dead(c, sql);
}

/* The ways back to a span.  The entries of one claim that go the same way have the same counts, so they can share a
 * span:
 *
 *     WAY_RETRY      waiting  a failure that counts: the stack's retry delay, doubled with each failure
 *     WAY_LATER      waiting  the same delay, but no failure is counted (a command that deferred its entry)
 *     WAY_ELSEWHERE  waiting  a quarter of the delay, doubled each time: another node is to try it
 *     WAY_SOON       ready    interrupted, nobody's fault
 *     WAY_UNSTARTED  ready    it never ran, so the number of its next attempt is still free
 *     WAY_LOST       ready    one loss more */
enum way { WAY_NONE, WAY_RETRY, WAY_LATER, WAY_ELSEWHERE, WAY_SOON, WAY_UNSTARTED, WAY_LOST, WAYS };

/* Returns WAY_NONE if the entry does not go back: it is done, or dead. */
static enum way way_of(const struct js_closing *c, const struct js_claim *claim, const struct jobstack_outcome *o)
{
	if (js_claim_is_dead(c->stack, claim, o))
		return WAY_NONE;
	switch (o->verdict) {
	case JOBSTACK_FAILED: return WAY_RETRY;
	case JOBSTACK_LOST: return WAY_LOST;
	case JOBSTACK_INTERRUPTED:
		return o->loss ? WAY_LOST : o->later > 1 ? WAY_ELSEWHERE : o->later ? WAY_LATER : WAY_SOON;
	case JOBSTACK_UNSTARTED: return WAY_UNSTARTED;
	default: return WAY_NONE;
	}
}

/* Adds the spans of one claim: its entries sorted by the way they go. */
static void claim_spans(const struct js_closing *c, const struct js_claim *claim, const unsigned char *ways,
			uint64_t *ids, struct js_sql *sql)
{
	for (enum way way = WAY_RETRY; way < WAYS; way++) {
		struct js_span span = {JS_READY, claim->rank, claim->attempt + 1, claim->fails, claim->losses, 0};
		size_t n = 0;

		for (size_t i = 0; i < claim->n; i++)
			if (ways[i] == way)
				ids[n++] = claim->id[i];
		if (way == WAY_RETRY || way == WAY_LATER) {
			span.class = JS_WAITING;
			span.fails += way == WAY_RETRY;
			span.delay_us = js_span_delay(c->stack, claim->fails);
		} else if (way == WAY_ELSEWHERE) {
			/* the attempts that counted neither as failures nor as losses say how often it has come back */
			span.class = JS_WAITING;
			span.delay_us = js_span_delay(c->stack, claim->attempt - 1 - claim->fails - claim->losses) / 4;
		} else if (way == WAY_UNSTARTED)
			span.attempt = claim->attempt;
		else if (way == WAY_LOST)
			span.losses++;
		js_span_insert(sql, c->stack, &span, ids, n);
	}
}

/* The packet has them after the pop: in the lock order, spans are inserted last. */
int js_claim_spans_sql(const struct js_closing *c, struct js_sql *sql, struct jobstack_error *error)
{
	for (struct js_claim *claim = c->list; claim != NULL; claim = claim->next) {
		unsigned char *ways = calloc(claim->n, 1);
		uint64_t *ids = calloc(claim->n, sizeof(*ids));

		if (ways == NULL || ids == NULL) {
			free(ways);
			free(ids);
			return js_error_memory(error);
		}
		for (size_t i = 0; i < c->n; i++) {
			size_t place;

			if (js_claim_find(c->list, c->outcomes[i].entry, c->outcomes[i].attempt, &place) == claim)
				ways[place] = (unsigned char)way_of(c, claim, &c->outcomes[i]);
		}
		claim_spans(c, claim, ways, ids, sql);
		free(ways);
		free(ids);
	}
	return 0;
}

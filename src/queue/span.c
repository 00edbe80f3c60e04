/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans.  Promise: a pop changes one row in place, never its key, and locks no other; every entry stands in one span at
 * most, which is what makes pos unique.
 *
 * The order: pos is the highest number of a FIFO span, which is cut from below, and minus the lowest of a LIFO span,
 * which is cut from above.  So one ascending query serves both, and the primary key gives the order without a sort. (An
 * ORDER BY with a sort was seen to lock every span.)
 *
 * A pop is several statements of one packet (js_span_pop), in this order:
 *
 *   measure_room          only with max_running or max_starts: how many entries may be claimed
 *   lock_shard            only of a pop that drew a shard: two reads without a lock, then that span, by its key
 *   lock_first            the first span of the stack, unless lock_shard has locked one
 *   count_missing_shards  only of one pop in 17: how many pieces to cut off
 *   write_claim           the claim's row
 *   cut_span              the one change of the span: its end moves, or, if all of it is taken, it is deleted
 *   insert_shards         the pieces that were cut off
 *   move_next_start       only with max_starts: when the next pop may take something
 *
 * Only one of them locks a span, so a pop holds one row of `span` until its COMMIT.  MariaDB gets IF ... END IF around
 * what needs a span.  MySQL has no IF outside of stored programs.  It gets all statements, and those that change a row
 * do nothing if @js_pos is NULL: pos=@js_pos is then never true, or they ask for @js_pos IS NOT NULL.
 *
 * They pass values on in user variables, which the tail reads at the end:
 *
 *   @js_open     in a stack with max_running: how many entries of all its claims are open; then, or with max_starts,
 *   @js_room     how many more may be claimed.  NULL: this is not known, and nothing is taken.
 *   @js_at       of a pop that drew a shard: the pos of the span that a read without a lock has found; NULL: none
 *   @js_rank     the rank of the span that is locked, or was found
 *   @js_pos      its pos; with the rank it is the key.  NULL: nothing is taken.
 *   @js_left     its hi-lo: how many entries it has beside the first.  NULL: no span is locked yet.
 *   @js_att, @js_fails, @js_losses   what its entries have in common, and the claim gets, too
 *   @js_ids      its list.  NULL: it is an interval.
 *   @js_from     the first entry that is taken: its number, or its place in the list (a pop of one has the number)
 *   @js_n        how many are taken, if that may be more than one
 *   @js_shard    1: it is a long span that shards may be cut off: an interval, no shard itself, never lost
 *   @js_m        how many shards are cut off it
 *
 * The callers set: @js_w (the worker, where its row is new), @js_t (the number before the first new entry), @js_due
 * (when what goes back is due).  @js_sum counts changed rows for the guard before the COMMIT (db/sql.h).
 *
 * User variables outlive a packet, and a SELECT ... INTO that finds no row leaves them as they are.  So JS_SPAN_RESET
 * empties those by which the rest of the pop knows that something was found.
 */
#include "queue/span.h"

#include "base/array.h"
#include "base/num.h"

#define DELAY_MOST_US INT64_C(3600000000) /* what doubling leads to at most */

/* All numbers have the same width.  So SQL finds place I of a list by SUBSTR(ids,I*11+1,10), and LOCATE can't find a
 * number that only begins inside of another one. */
void js_span_write_ids(char *text, const uint64_t *ids, size_t n)
{
	static const char digit[] = "0123456789ABCDEF";

	for (size_t i = 0; i < n; i++, text += JS_IDS_WIDTH) {
		for (unsigned d = 0; d < JS_IDS_WIDTH - 1; d++)
			text[d] = digit[ids[i] >> (4 * (JS_IDS_WIDTH - 2 - d)) & 15];
		text[JS_IDS_WIDTH - 1] = ',';
	}
}

int js_span_read_ids(const char *text, size_t len, size_t from, size_t n, uint64_t *ids)
{
	if (text == NULL || len % JS_IDS_WIDTH != 0 || from + n > len / JS_IDS_WIDTH)
		return -1;
	text += from * JS_IDS_WIDTH;
	for (size_t i = 0; i < n; i++, text += JS_IDS_WIDTH) {
		ids[i] = 0;
		for (unsigned d = 0; d < JS_IDS_WIDTH - 1; d++) {
			char c = text[d];

			if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'F'))
				return -1;
			ids[i] = ids[i] << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'A' + 10);
		}
		if (text[JS_IDS_WIDTH - 1] != ',')
			return -1;
	}
	return 0;
}

/* An element begins with its number, so js_num_order compares it with the number that is sought. */
size_t js_span_find(const void *list, size_t n, size_t size, uint64_t entry)
{
	return js_array_lower(list, n, size, &entry, js_num_order);
}

/* Inserts one span with the entries from FIRST to LAST: all of them, or (N of them) those in IDS.  As many entries as
 * there are numbers from FIRST to LAST are an interval, whether IDS names them or not: an interval needs no list. */
static void insert_one(struct js_sql *sql, const struct js_stack *stack, const struct js_span *span, uint64_t first,
		       uint64_t last, const uint64_t *ids, size_t n)
{
	char text[JS_IDS_MAX * JS_IDS_WIDTH];
	int interval = last - first == n - 1;
	uint64_t lo = interval ? first : 0, hi = interval ? last : n - 1;

	if (!interval)
		js_span_write_ids(text, ids, n);
	js_sql_add(sql,
		   "INSERT INTO span(stack_id,class,`rank`,pos,lo,hi,ids,attempt,fails,losses,due) "
		   "VALUES(%u,%u,%d,%d,%u,%u,%x,%u,%u,%u,",
		   stack->id, (uint64_t)span->class, span->rank, stack->lifo ? -(int64_t)first : (int64_t)last, lo, hi,
		   interval ? NULL : (const void *)text, n * JS_IDS_WIDTH, (uint64_t)span->attempt,
		   (uint64_t)span->fails, (uint64_t)span->losses);
	if (span->delay_us == JS_SPAN_DUE)
		js_sql_stmt(sql, "@js_due)");
	else if (span->class == JS_WAITING)
		js_sql_stmt(sql, "UTC_TIMESTAMP(6)+INTERVAL %d MICROSECOND)", span->delay_us);
	else
		js_sql_stmt(sql, "NULL)");
}

void js_span_insert(struct js_sql *sql, const struct js_stack *stack, const struct js_span *span, const uint64_t *ids,
		    size_t n)
{
	while (n > 0) {
		size_t take = n;

		/* without a gap they are one interval, however many they are */
		if (ids[n - 1] - ids[0] != n - 1 && take > JS_IDS_MAX)
			take = JS_IDS_MAX;
		insert_one(sql, stack, span, ids[0], ids[take - 1], ids, take);
		ids += take;
		n -= take;
	}
}

void js_span_insert_range(struct js_sql *sql, const struct js_stack *stack, const struct js_span *span, uint64_t lo,
			  uint64_t hi)
{
	insert_one(sql, stack, span, lo, hi, NULL, hi - lo + 1);
}

/* The numbers are known to the server only, in @js_t: the packet that takes them from stack.tail inserts the span, too.
 */
void js_span_fresh(struct js_sql *sql, const struct js_stack *stack, enum js_class class, int64_t rank, uint64_t n,
		   int64_t push_id)
{
	js_sql_add(sql,
		   "INSERT INTO span(stack_id,class,`rank`,pos,lo,hi,attempt,fails,losses,push_id) VALUES(%u,%u,%d,",
		   stack->id, (uint64_t) class, rank);
	js_sql_add(sql, stack->lifo ? "-CAST(@js_t+%u AS SIGNED)" : "@js_t+%u", stack->lifo ? (uint64_t)1 : n);
	js_sql_stmt(sql, ",@js_t+1,@js_t+%u,1,0,0,%n)", n, push_id);
}

/* Returns the longest delay that js_span_delay doubles to. */
static int64_t longest_delay(const struct js_stack *stack)
{
	return stack->retry_delay_us > DELAY_MOST_US ? stack->retry_delay_us : DELAY_MOST_US;
}

int64_t js_span_delay(const struct js_stack *stack, uint32_t fails)
{
	int64_t us = stack->retry_delay_us;

	for (uint32_t i = 0; i < fails && us < DELAY_MOST_US; i++)
		us = 2 * us < DELAY_MOST_US ? 2 * us : DELAY_MOST_US;
	/* from three quarters to five quarters of it, by the clock: entries that failed together do not come back
	 * together */
	return us - us / 4 + (us / 2 > 0 ? jobstack_now_us() % (us / 2) : 0);
}

void js_span_due_sql(struct js_sql *sql, const struct js_stack *stack)
{
	js_sql_add(sql, "(due<=UTC_TIMESTAMP(6) OR due>UTC_TIMESTAMP(6)+INTERVAL %d MICROSECOND)",
		   longest_delay(stack) + longest_delay(stack) / 4);
}

void js_span_promote_sql(struct js_sql *sql, const struct js_stack *stack)
{
	/* By the index on due: a walk along the primary key would lock all waiting spans.  With the class the key
	 * changes, so the span moves to its place among the ready ones, which its rank and pos give. */
	js_sql_add(sql, "UPDATE span FORCE INDEX(span_due) SET class=0,due=NULL WHERE stack_id=%u AND class=1 AND ",
		   stack->id);
	js_span_due_sql(sql, stack);
	js_sql_stmt(sql, " ORDER BY due LIMIT 100");
}

/* Returns whether this pop makes new shards: only those do that draw the last one, one in 17.  While shards are
 * missing, there is none at that place, so such a pop is led to the long span anyway (find_shard), and holds the row
 * that it cuts the missing shards off.  If every pop counted shards, all of them would pay for that. */
static int makes_shards(const struct js_pop *pop)
{
	return pop->shards > 0 && pop->shard == pop->shards - 1;
}

/* Returns, as SQL, how many entries are taken: of a pop of one entry a constant. */
static const char *taken_n(const struct js_pop *pop)
{
	return pop->k == 1 ? "1" : "@js_n";
}

/* Deletes the span if all of it is taken.  REUSED: the statement before it, in a server without blocks, has written the
 * claim into the row of a closed one.  ROW_COUNT() is that statement's, so this one is also the guard that the row
 * exists: if it does not, 0 - 1 is out of range.  A guard of its own would cost a statement in each step. */
static void delete_used_up(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop, unsigned only,
			   int reused)
{
	js_sql_only(sql, reused ? only | JS_SQL_GUARD : only);
	js_sql_add(sql, "DELETE FROM span WHERE stack_id=%u AND class=0 AND `rank`=@js_rank AND pos=@js_pos AND hi-lo<",
		   stack->id);
	js_sql_add(sql, taken_n(pop));
	js_sql_stmt(sql, reused ? "+(CAST(ROW_COUNT()>=1 OR @js_pos IS NULL AS UNSIGNED)-1)" : "");
}

/* Cuts what is taken off the span that is locked; of a pop that makes shards also the @js_m pieces behind it.  In a
 * block, the statement that runs changes exactly one row.  Without blocks both are sent: if the DELETE has removed the
 * span, the UPDATE finds none; else the DELETE has found none. */
static void cut_span(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	js_sql_piece(sql, pop->k == 1 ? "IF @js_left<1 THEN " : "IF @js_left<@js_n THEN ");
	delete_used_up(sql, stack, pop, JS_SQL_BLOCKS, 0);
	js_sql_count(sql, 1);
	delete_used_up(sql, stack, pop, JS_SQL_SINGLE, pop->reused != 0);
	js_sql_piece(sql, "ELSE ");
	js_sql_add(sql, stack->lifo ? "UPDATE span SET hi=hi-" : "UPDATE span SET lo=lo+");
	js_sql_add(sql, taken_n(pop));
	if (makes_shards(pop))
		js_sql_add(sql, "+@js_m*%u", (uint64_t)(JS_SPAN_SHARD_POPS * pop->k));
	js_sql_stmt(sql, " WHERE stack_id=%u AND class=0 AND `rank`=@js_rank AND pos=@js_pos", stack->id);
	js_sql_count(sql, 0);
	js_sql_piece(sql, "END IF;");
}

void js_span_delete_claim(struct js_sql *sql, const struct js_stack *stack, uint64_t worker, uint64_t claim_no)
{
	js_sql_add(sql, "DELETE FROM claim WHERE stack_id=%u AND worker_id=%u AND claim_no=%u", stack->id, worker,
		   claim_no);
}

/* Columns of the new claim, beside its key, and their values. */
/* clang-format off */
#define CLAIM_COLUMNS(X, lo, hi, ids, n)                                                                               \
	X("lo", lo) X("hi", hi) X("ids", ids) X("open", n) X("attempt", "@js_att") X("fails", "@js_fails")             \
	X("losses", "@js_losses") X("`rank`", "@js_rank") X("claimed", "UTC_TIMESTAMP(6)")
/* clang-format on */
#define CLAIM_OF_ONE(X) CLAIM_COLUMNS(X, "@js_from", "@js_from", "NULL", "1")
#define CLAIM_OF_MANY(X)                                                                                               \
	CLAIM_COLUMNS(X, "IF(@js_ids IS NULL,@js_from,0)", "IF(@js_ids IS NULL,@js_from,0)+@js_n-1",                   \
		      "SUBSTR(@js_ids,@js_from*11+1,@js_n*11)", "@js_n")
#define CLAIM_NAME(name, value) "," name
#define CLAIM_VALUE(name, value) "," value
#define CLAIM_SET(name, value) "," name "=" value

/* The claim's row: a new one, or that of a claim that this transaction has closed, which is then changed instead of
 * deleted.  ONLY: for which kind of server.  Without blocks there is no IF, so the statement itself must do nothing in
 * a pop that took nothing. */
static void write_claim(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop, unsigned only)
{
	int blocks = only == JS_SQL_BLOCKS;

	js_sql_only(sql, only);
	if (pop->reused != 0) {
		js_sql_add(sql, "UPDATE claim SET ");
		js_sql_add(sql, pop->k == 1 ? &CLAIM_OF_ONE(CLAIM_SET)[1] : &CLAIM_OF_MANY(CLAIM_SET)[1]);
		js_sql_add(sql, " WHERE stack_id=%u AND worker_id=%u AND claim_no=%u", stack->id, pop->worker,
			   pop->reused);
		js_sql_stmt(sql, blocks ? "" : " AND @js_pos IS NOT NULL");
		return;
	}
	js_sql_add(sql, "INSERT INTO claim(stack_id,worker_id,claim_no" CLAIM_OF_ONE(CLAIM_NAME) ") ");
	js_sql_add(sql, blocks ? "VALUES(%u," : "SELECT %u,", stack->id);
	if (pop->worker != 0)
		js_sql_add(sql, "%u", pop->worker);
	else
		js_sql_add(sql, "@js_w");
	js_sql_add(sql, ",%u", pop->claim_no);
	js_sql_add(sql, pop->k == 1 ? CLAIM_OF_ONE(CLAIM_VALUE) : CLAIM_OF_MANY(CLAIM_VALUE));
	js_sql_stmt(sql, blocks ? ")" : " FROM DUAL WHERE @js_pos IS NOT NULL");
}

/* @js_state only takes the value in: a SELECT without INTO would be answered with a row.  On a cluster the lock is
 * backed by a change of the row (DESIGN.md, "Clusters"). */
void js_span_lock_limit(struct js_sql *sql, const struct js_stack *stack)
{
	js_sql_stmt(sql, "SELECT stack_id INTO @js_state FROM running_limit WHERE stack_id=%u FOR UPDATE", stack->id);
	js_sql_only(sql, JS_SQL_CLUSTER);
	js_sql_stmt(sql, "UPDATE running_limit SET locked=locked+1 WHERE stack_id=%u", stack->id);
	js_sql_count(sql, 1);
}

/* Computes @js_room.  While the row in `running_limit` is locked, no other pop adds to this count.  It takes two reads,
 * because a subquery that is killed may leave only a part of the sum, without an error: then too much would be claimed.
 * If the first read is skipped, the guard of the sum notices.  If the second one does nothing, @js_room stays NULL, and
 * nothing is taken.  Both counts are signed, because a limit that was lowered is below what is open. */
static void measure_room(struct js_sql *sql, const struct js_stack *stack, size_t k)
{
	if ((stack->limited & JS_LIMIT_RUNNING) != 0) {
		js_sql_stmt(sql,
			    "SELECT CAST(COALESCE(SUM(open),0) AS SIGNED) INTO @js_open FROM claim WHERE stack_id=%u",
			    stack->id);
		js_sql_count(sql, 1);
	}
	js_sql_add(sql, "SELECT IF(max_running IS NULL,%u,CAST(max_running AS SIGNED)-@js_open)", (uint64_t)k);
	if ((stack->limited & JS_LIMIT_STARTS) != 0)
		js_sql_stmt(
			sql,
			"*(next_start<=UTC_TIMESTAMP(6)) INTO @js_room FROM stack JOIN running_limit USING(stack_id) "
			"WHERE stack_id=%u AND limited=%u",
			stack->id, (uint64_t)stack->limited);
	else
		js_sql_stmt(sql, " INTO @js_room FROM stack WHERE stack_id=%u AND limited<%u", stack->id,
			    (uint64_t)JS_LIMIT_STARTS);
}

uint64_t js_span_start_us(uint64_t us)
{
	return us < JOBSTACK_START_LEAST ? JOBSTACK_START_LEAST : us < JOBSTACK_START_MOST ? us : JOBSTACK_START_MOST;
}

/* A pop that takes nothing leaves next_start, unless it is further ahead than any pop can have moved it: then the
 * server's clock was set back, and as nobody knows how long ago the last start was, it counts as one of now. */
static void move_next_start(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	js_sql_stmt(sql,
		    "UPDATE running_limit SET next_start=IF(@js_pos IS NULL,LEAST(next_start,UTC_TIMESTAMP(6)+INTERVAL "
		    "interval_us+%u MICROSECOND),UTC_TIMESTAMP(6)+INTERVAL interval_us+%u MICROSECOND) WHERE "
		    "stack_id=%u",
		    (uint64_t)JOBSTACK_START_MOST, pop->start_us - JOBSTACK_START_LEAST, stack->id);
	js_sql_count(sql, 1);
}

/* Begins the SELECT that reads the span to be locked into the variables; the caller adds which span that is.  A pop of
 * one entry computes its number here, so that the tail can join its datapath; a longer one keeps the list.
 *
 * With FRESH, a span whose entries were lost before is locked but not taken: its pos and first entry become NULL.  So
 * the pop does not go past it to a later span, which would change the order. */
static void read_span_into(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	const char *end = stack->lifo ? "hi" : "lo", *fresh = pop->fresh ? "IF(losses>0,NULL," : "(";

	js_sql_add(sql, "SELECT `rank`,");
	js_sql_add(sql, fresh);
	js_sql_add(sql, "pos),hi-lo,attempt,fails,losses,");
	js_sql_add(sql, fresh);
	if (pop->k == 1) {
		js_sql_add(sql, "IF(ids IS NULL,");
		js_sql_add(sql, end);
		js_sql_add(sql, ",CAST(CONV(SUBSTR(ids,");
		js_sql_add(sql, end);
		js_sql_add(sql, "*11+1,10),16,10) AS UNSIGNED)))");
	} else {
		/* An entry that was lost before is claimed alone, so that its neighbours are not lost with it.  A
		 * last-in-first-out span is cut from above: if N entries are taken, the first of them is hi+1-N. */
		js_sql_add(sql, stack->lifo ? "hi+1-LEAST(%u,hi-lo+1,IF(losses>0,1,%u)" : "lo", (uint64_t)pop->k,
			   (uint64_t)pop->k);
		js_sql_add(sql, !stack->lifo ? ")" : stack->limited ? ",@js_room))" : "))");
		js_sql_add(sql, ",ids,LEAST(%u,hi-lo+1,IF(losses>0,1,%u)", (uint64_t)pop->k, (uint64_t)pop->k);
		js_sql_add(sql, stack->limited ? ",@js_room)" : ")");
	}
	if (makes_shards(pop))
		js_sql_add(sql, ",shard=0 AND ids IS NULL AND losses=0");
	js_sql_add(sql, " INTO @js_rank,@js_pos,@js_left,@js_att,@js_fails,@js_losses,@js_from");
	js_sql_add(sql, pop->k == 1 ? "" : ",@js_ids,@js_n");
	js_sql_add(sql, makes_shards(pop) ? ",@js_shard" : "");
	js_sql_add(sql, " FROM span FORCE INDEX(PRIMARY) WHERE stack_id=%u AND class=0 AND ", stack->id);
}

/* Locks the first span of an open stack (with FRESH 2 the last one), unless lock_shard has locked one.  The state of
 * the stack is asked for in the same statement: a pop that begins after a pause takes nothing.  So is `limited`: if
 * this worker does not know the present limits yet, it must take nothing.  (With limits, measure_room asks.) */
static void lock_first(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	read_span_into(sql, stack, pop);
	if (pop->shard < pop->shards)
		js_sql_add(sql, "@js_left IS NULL AND ");
	js_sql_add(sql,
		   stack->limited ? "(SELECT state FROM stack WHERE stack_id=%u AND @js_room>0)=0 ORDER BY `rank`"
				  : "(SELECT state FROM stack WHERE stack_id=%u AND limited=0)=0 ORDER BY `rank`",
		   stack->id);
	js_sql_stmt(sql, pop->fresh > 1 ? " DESC,pos DESC LIMIT 1 FOR UPDATE" : ",pos LIMIT 1 FOR UPDATE");
}

/* The spans that a pop may take by their place in the rank: shards, and lists whose entries were never lost.  Entries
 * that were lost before are claimed one at a time. */
#define FITS "(shard=1 OR (ids IS NOT NULL AND losses=0))"
#define FIRST_RANK                                                                                                     \
	"(SELECT `rank` FROM span FORCE INDEX(PRIMARY) WHERE stack_id=%u AND class=0 ORDER BY `rank`,pos LIMIT 1)"
#define OF_FIRST_RANK " FROM span FORCE INDEX(PRIMARY) WHERE stack_id=%u AND class=0 AND `rank`=" FIRST_RANK " "

/* Finds the span at the place that was drawn, in the first rank.  If there is none, or it does not match FITS, finds
 * the first of the rank that does not match: usually the long span.  These reads take no locks (a SET with a subquery
 * would). So what they find may be gone when it is to be locked. */
static void find_shard(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	js_sql_stmt(sql,
		    "SELECT `rank`,IF(" FITS ",pos,NULL) INTO @js_rank,@js_at" OF_FIRST_RANK "ORDER BY pos LIMIT %u,1",
		    stack->id, stack->id, (uint64_t)pop->shard);
	js_sql_piece(sql, "IF @js_at IS NULL THEN ");
	js_sql_stmt(sql,
		    "SELECT `rank`,pos INTO @js_rank,@js_at" OF_FIRST_RANK "AND @js_at IS NULL AND NOT " FITS
		    " ORDER BY pos LIMIT 1",
		    stack->id, stack->id);
	js_sql_piece(sql, "END IF;");
}

/* Locks the span that was found, by its key.  If it is gone, nothing is locked, @js_left stays NULL, and lock_first
 * follows.  It may also have been replaced by another span with that key, which is as good. */
static void lock_shard(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	find_shard(sql, stack, pop);
	read_span_into(sql, stack, pop);
	js_sql_stmt(sql,
		    "`rank`=@js_rank AND pos=@js_at AND (SELECT state FROM stack WHERE stack_id=%u AND limited=0)=0 "
		    "FOR UPDATE",
		    stack->id);
}

/* Computes @js_m: as many shards as the first rank lacks, if the span is long enough for them.  Only the first spans of
 * the rank are counted, twice as many as there can be shards: a rank of a million lists must cost no more. */
static void count_missing_shards(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	const char *n = taken_n(pop);

	js_sql_add(sql, "SELECT IF(@js_shard AND @js_left>");
	js_sql_add(sql, n);
	js_sql_add(sql, ",GREATEST(0,LEAST(%d-CAST(COALESCE(SUM(fit),0) AS SIGNED),(@js_left-", (int64_t)pop->shards);
	js_sql_add(sql, n);
	js_sql_stmt(sql,
		    ") DIV %u)),0) INTO @js_m FROM (SELECT " FITS
		    " AS fit FROM span FORCE INDEX(PRIMARY) WHERE stack_id=%u AND class=0 AND "
		    "`rank`=@js_rank ORDER BY pos LIMIT %u) f",
		    (uint64_t)(JS_SPAN_SHARD_POPS * pop->k), stack->id, (uint64_t)(2 * pop->shards));
}

/* Inserts @js_m shards: the pieces behind what is taken.  A long span is an interval of a first-in-first-out stack, so
 * these are intervals, too, and the pos of each is its highest number.  Their keys are lower than that of the long
 * span, so they come before it, in their order. */
static void insert_shards(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	uint64_t each = JS_SPAN_SHARD_POPS * pop->k;

	js_sql_piece(sql, "IF @js_m>0 THEN ");
	js_sql_add(sql,
		   "INSERT INTO span(stack_id,class,`rank`,pos,lo,hi,attempt,fails,losses,shard) SELECT "
		   "%u,0,@js_rank,lo+%u,lo,lo+%u,@js_att,@js_fails,0,1 FROM (SELECT @js_from+",
		   stack->id, each - 1, each - 1);
	js_sql_add(sql, taken_n(pop));
	js_sql_add(sql, "+i*%u AS lo,i FROM (SELECT 0 AS i", each);
	for (unsigned i = 1; i < pop->shards; i++)
		js_sql_add(sql, " UNION ALL SELECT %u", (uint64_t)i);
	js_sql_stmt(sql, ") n) p WHERE @js_pos IS NOT NULL AND i<@js_m");
	js_sql_piece(sql, "END IF;");
}

void js_span_pop(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	if (stack->limited)
		measure_room(sql, stack, pop->k);
	if (pop->shard < pop->shards)
		lock_shard(sql, stack, pop);
	js_sql_piece(sql, "IF @js_left IS NULL THEN ");
	lock_first(sql, stack, pop);
	js_sql_piece(sql, "END IF;IF @js_pos IS NOT NULL THEN ");
	if (makes_shards(pop))
		count_missing_shards(sql, stack, pop);
	write_claim(sql, stack, pop, JS_SQL_BLOCKS);
	if (pop->reused != 0)
		js_sql_count(sql, 1);
	write_claim(sql, stack, pop, JS_SQL_SINGLE);
	cut_span(sql, stack, pop);
	if (makes_shards(pop))
		insert_shards(sql, stack, pop);
	js_sql_piece(sql, "ELSE ");
	js_sql_only(sql, JS_SQL_BLOCKS);
	js_sql_stmt(sql, "SET @js_sum=@js_sum+1"); /* in place of the row that the cut would have counted */
	/* nothing was taken, so the row of the closed claim, which was left for the pop, goes after all */
	if (pop->reused != 0) {
		js_span_delete_claim(sql, stack, pop->worker, pop->reused);
		js_sql_stmt(sql, " AND @js_pos IS NULL");
		js_sql_count(sql, 0);
	}
	js_sql_piece(sql, "END IF;");
	if ((stack->limited & JS_LIMIT_STARTS) != 0)
		move_next_start(sql, stack, pop);
}

void js_span_taken_sql(struct js_sql *tail, const struct js_stack *stack, const struct js_pop *pop)
{
	js_sql_add(tail, "SELECT @js_pos,@js_from,");
	js_sql_add(tail, taken_n(pop));
	js_sql_add(tail, JS_TAKEN_COLUMNS(JS_COLUMN_NAME) ",s.state,s.limited,");
	if (pop->k == 1) {
		js_sql_add(tail, "NULL,e.entry_id,e.datapath");
		if ((stack->limited & JS_LIMIT_STARTS) != 0)
			js_sql_add(tail, ",(SELECT " JS_SPAN_NEXT_START " FROM running_limit WHERE stack_id=%u)",
				   stack->id);
		js_sql_stmt(
			tail,
			" FROM stack s LEFT JOIN entry e ON e.stack_id=%u AND e.entry_id=@js_from WHERE s.stack_id=%u",
			stack->id, stack->id);
	} else {
		js_sql_stmt(tail, "SUBSTR(@js_ids,@js_from*11+1,@js_n*11) FROM stack s WHERE s.stack_id=%u", stack->id);
		js_sql_stmt(tail,
			    "SELECT entry_id,datapath FROM entry WHERE stack_id=%u AND entry_id BETWEEN @js_from AND "
			    "IF(@js_ids IS NULL,@js_from+@js_n-1,0)",
			    stack->id);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans.  Promise: a pop changes one row in place, never its key, and locks no other; every entry stands in one span at
 * most, which is what makes pos unique.
 *
 * The order: pos is the highest number of a FIFO span, which is cut from below, and minus the lowest of a LIFO span,
 * which is cut from above.  So one ascending query serves both, and the primary key gives the order without a sort. (An
 * ORDER BY with a sort was seen to lock every span.)
 *
 * A pop is several statements of one packet.  They pass values on in user variables, which the tail reads at the end:
 *
 *   @js_open     in a stack with max_running: how many entries of all its claims are open; then
 *   @js_room     how many more may be claimed.  NULL: this is not known, and nothing is taken.
 *   @js_at       of a pop that looks for a shard: the pos of the span that a read without a lock has found; NULL: none
 *   @js_rank     the rank of the span that is locked, or was found
 *   @js_pos      its pos; with the rank it is the key.  NULL: nothing is taken.
 *   @js_left     how many entries it has beside the first.  NULL: no span is locked yet.
 *   @js_att, @js_fails, @js_losses   what its entries have in common, and the claim gets, too
 *   @js_ids      its list.  NULL: it is an interval.
 *   @js_from     the first entry that is taken: its number, or its place in the list (a pop of one has the number)
 *   @js_n        how many are taken, if that may be more than one
 *   @js_shard     1: the span is long enough that shards may be cut off it
 *   @js_m        how many shards are cut off it
 *
 * Set by those that call: @js_w (the worker, where its row is new), @js_t (the number before the first new entry),
 * @js_due (when what goes back is due).  @js_sum counts changed rows for the guard before the COMMIT (db/sql.h).
 */
#include "queue/span.h"

#include "base/array.h"
#include "base/num.h"

#define DELAY_MOST_US INT64_C(3600000000) /* what doubling leads to at most */

/* The ids column of a list, into TEXT of n * JS_IDS_WIDTH bytes. */
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

size_t js_span_find(const void *list, size_t n, size_t size, uint64_t entry)
{
	return js_array_lower(list, n, size, &entry, js_num_order);
}

/* Inserts one span with the entries from FIRST to LAST: all of them, or (N of them) those in IDS. */
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

void js_span_fresh(struct js_sql *sql, const struct js_stack *stack, enum js_class class, int64_t rank, uint64_t n,
		   int64_t push_id)
{
	js_sql_add(sql,
		   "INSERT INTO span(stack_id,class,`rank`,pos,lo,hi,attempt,fails,losses,push_id) VALUES(%u,%u,%d,",
		   stack->id, (uint64_t) class, rank);
	js_sql_add(sql, stack->lifo ? "-CAST(@js_t+%u AS SIGNED)" : "@js_t+%u", stack->lifo ? (uint64_t)1 : n);
	js_sql_stmt(sql, ",@js_t+1,@js_t+%u,1,0,0,%n)", n, push_id);
}

static int64_t longest_delay(const struct js_stack *stack)
{
	return stack->retry_delay_us > DELAY_MOST_US ? stack->retry_delay_us : DELAY_MOST_US;
}

int64_t js_span_delay(const struct js_stack *stack, uint32_t fails)
{
	int64_t us = stack->retry_delay_us;

	for (uint32_t i = 0; i < fails && us < DELAY_MOST_US; i++)
		us = 2 * us < DELAY_MOST_US ? 2 * us : DELAY_MOST_US;
	return us - us / 4 + (us / 2 > 0 ? jobstack_now_us() % (us / 2) : 0);
}

void js_span_due_sql(struct js_sql *sql, const struct js_stack *stack)
{
	js_sql_add(sql, "(due<=UTC_TIMESTAMP(6) OR due>UTC_TIMESTAMP(6)+INTERVAL %d MICROSECOND)",
		   longest_delay(stack) + longest_delay(stack) / 4);
}

void js_span_promote_sql(struct js_sql *sql, const struct js_stack *stack)
{
	/* by the index on due: the other one would lock all waiting spans */
	js_sql_add(sql, "UPDATE span FORCE INDEX(span_due) SET class=0,due=NULL WHERE stack_id=%u AND class=1 AND ",
		   stack->id);
	js_span_due_sql(sql, stack);
	js_sql_stmt(sql, " ORDER BY due LIMIT 100");
}

/* Only the pops that draw the last shard (one in 17) make new shards.  If that shard does not exist, such a pop takes
 * the long span, and cuts the missing shards off it. */
static int makes_shards(const struct js_pop *pop)
{
	return pop->shards > 0 && pop->shard == pop->shards - 1;
}

/* Returns, as SQL, how many entries are taken. */
static const char *taken_n(const struct js_pop *pop)
{
	return pop->k == 1 ? "1" : "@js_n";
}

/* Deletes the span if all of it is taken.  Where there are no blocks, a claim's row was changed just before (REUSED):
 * that it exists is checked here, since one more statement would cost more. */
static void delete_used_up(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop, unsigned only,
			   int reused)
{
	js_sql_only(sql, reused ? only | JS_SQL_GUARD : only);
	js_sql_add(sql, "DELETE FROM span WHERE stack_id=%u AND class=0 AND `rank`=@js_rank AND pos=@js_pos AND hi-lo<",
		   stack->id);
	js_sql_add(sql, taken_n(pop));
	js_sql_stmt(sql, reused ? "+(CAST(ROW_COUNT()>=1 OR @js_pos IS NULL AS UNSIGNED)-1)" : "");
}

/* Cuts what is taken off the span that is locked; of a pop that makes shards also the @js_m pieces behind it. */
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

/* The claim's row: a new one, or that of a claim that this transaction has closed.  In plain packets, where there is no
 * IF, the statement also comes in a pop that took nothing. */
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

void js_span_lock_limit(struct js_sql *sql, const struct js_stack *stack)
{
	js_sql_stmt(sql, "SELECT stack_id INTO @js_state FROM running_limit WHERE stack_id=%u FOR UPDATE", stack->id);
	js_sql_only(sql, JS_SQL_CLUSTER);
	js_sql_stmt(sql, "UPDATE running_limit SET locked=locked+1 WHERE stack_id=%u", stack->id);
	js_sql_count(sql, 1);
}

/* Computes @js_room.  While the row in `running_limit` is locked, no other pop adds to this count.  It takes
 * two reads, because a subquery that is killed may leave only a part of the sum, without an error.  If the second read
 * does nothing, @js_room stays NULL, and nothing is taken. */
static void measure_room(struct js_sql *sql, const struct js_stack *stack, size_t k)
{
	js_sql_stmt(sql, "SELECT CAST(COALESCE(SUM(open),0) AS SIGNED) INTO @js_open FROM claim WHERE stack_id=%u",
		    stack->id);
	js_sql_count(sql, 1);
	js_sql_stmt(sql,
		    "SELECT IF(max_running IS NULL,%u,CAST(max_running AS SIGNED)-@js_open) INTO @js_room FROM stack "
		    "WHERE stack_id=%u",
		    (uint64_t)k, stack->id);
}

/* Begins the SELECT that reads the span to be locked into the variables; the caller adds which span that is. */
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
		/* an entry that was lost before is claimed alone, so that its neighbours are not lost with it */
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

/* Locks the first span (or the last one) of an open stack, unless a shard was found. */
static void lock_first(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	read_span_into(sql, stack, pop);
	if (pop->shard < pop->shards)
		js_sql_add(sql, "@js_left IS NULL AND ");
	js_sql_add(sql,
		   stack->limited
			   ? "(SELECT state FROM stack WHERE stack_id=%u AND @js_room>0)=0 ORDER BY `rank`"
			   : "(SELECT state FROM stack WHERE stack_id=%u AND max_running IS NULL)=0 ORDER BY `rank`",
		   stack->id);
	js_sql_stmt(sql, pop->fresh > 1 ? " DESC,pos DESC LIMIT 1 FOR UPDATE" : ",pos LIMIT 1 FOR UPDATE");
}

/* The spans among which pops spread: shards, and lists whose entries were never lost. */
#define FITS "(shard=1 OR (ids IS NOT NULL AND losses=0))"
#define FIRST_RANK                                                                                                     \
	"(SELECT `rank` FROM span FORCE INDEX(PRIMARY) WHERE stack_id=%u AND class=0 ORDER BY `rank`,pos LIMIT 1)"
#define OF_FIRST_RANK " FROM span FORCE INDEX(PRIMARY) WHERE stack_id=%u AND class=0 AND `rank`=" FIRST_RANK " "

/* Finds the span of the first rank with the number drawn.  If that one does not match FITS, finds the first of the rank
 * that does not.  These reads take no locks (a SET with a subquery would). */
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

/* Locks the span that was found, by its key.  If it is gone, nothing is locked. */
static void lock_shard(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop)
{
	find_shard(sql, stack, pop);
	read_span_into(sql, stack, pop);
	js_sql_stmt(sql,
		    "`rank`=@js_rank AND pos=@js_at AND (SELECT state FROM stack WHERE stack_id=%u AND max_running IS "
		    "NULL)=0 FOR UPDATE",
		    stack->id);
}

/* Computes @js_m: as many shards as the first rank lacks, if the span is long enough for them. */
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

/* Inserts @js_m shards: the pieces behind what is taken.  (A long span is an interval, so these are intervals, too.) */
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
	if (pop->reused != 0) {
		js_span_delete_claim(sql, stack, pop->worker, pop->reused);
		js_sql_stmt(sql, " AND @js_pos IS NULL");
		js_sql_count(sql, 0);
	}
	js_sql_piece(sql, "END IF;");
}

void js_span_taken_sql(struct js_sql *tail, const struct js_stack *stack, const struct js_pop *pop)
{
	js_sql_add(tail, "SELECT @js_pos,@js_from,");
	js_sql_add(tail, taken_n(pop));
	js_sql_add(tail, JS_TAKEN_COLUMNS(JS_COLUMN_NAME) ",s.state,s.max_running IS NOT NULL,");
	if (pop->k == 1)
		js_sql_stmt(tail,
			    "NULL,e.entry_id,e.datapath FROM stack s LEFT JOIN entry e ON e.stack_id=%u AND "
			    "e.entry_id=@js_from WHERE s.stack_id=%u",
			    stack->id, stack->id);
	else {
		js_sql_stmt(tail, "SUBSTR(@js_ids,@js_from*11+1,@js_n*11) FROM stack s WHERE s.stack_id=%u", stack->id);
		js_sql_stmt(tail,
			    "SELECT entry_id,datapath FROM entry WHERE stack_id=%u AND entry_id BETWEEN @js_from AND "
			    "IF(@js_ids IS NULL,@js_from+@js_n-1,0)",
			    stack->id);
	}
}

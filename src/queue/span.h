/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans: sets of entries that nobody has claimed.  Most functions here add SQL to a packet: a pop, which takes entries
 * from the first ready span, and the statements that put entries back.
 */
#pragma once

#include "queue/queue.h"

enum js_class { JS_READY, JS_WAITING, JS_HELD };

#define JS_IDS_WIDTH 11 /* bytes that an entry takes in an ids column: ten hexadecimal digits and a comma */
#define JS_IDS_MAX 500	/* entries in one list */
#define JS_ENTRY_MAX UINT64_C(0xFFFFFFFFFF)

#define JS_SPAN_DUE INT64_MIN /* due at @js_due */

/* What all entries of a span have in common. */
struct js_span {
	enum js_class class;
	int64_t rank;
	uint32_t attempt, fails, losses;
	int64_t delay_us; /* of a waiting span: the time until it is due; or JS_SPAN_DUE */
};

/* Adds statements that insert the N entries IDS (ascending, each once) as spans: an interval if they are one, else
 * lists. */
void js_span_insert(struct js_sql *sql, const struct js_stack *stack, const struct js_span *span, const uint64_t *ids,
		    size_t n);

/* The same for the entries from LO to HI. */
void js_span_insert_range(struct js_sql *sql, const struct js_stack *stack, const struct js_span *span, uint64_t lo,
			  uint64_t hi);

/* Adds the statement that puts N entries which are new to the stack, those behind @js_t, in line: ready, or held by
 * PUSH_ID (-1: by none). */
void js_span_fresh(struct js_sql *sql, const struct js_stack *stack, enum js_class class, int64_t rank, uint64_t n,
		   int64_t push_id);

/* Returns the delay before the next try of an entry that had failed FAILS times before this failure: the stack's,
 * doubled with each failure, at most an hour (or the stack's own, if that is longer), and up to a quarter more or less,
 * so that retries do not all come at once. */
int64_t js_span_delay(const struct js_stack *stack, uint32_t fails);

/* Adds (to the last statement) the condition that a waiting span is due.  One that is due later than any delay can be
 * is due as well: the server's clock was ahead when it was put there, and has been set back. */
void js_span_due_sql(struct js_sql *sql, const struct js_stack *stack);

/* Adds a statement that makes due waiting spans ready, at most a hundred. */
void js_span_promote_sql(struct js_sql *sql, const struct js_stack *stack);

/* A pop. */
struct js_pop {
	size_t k;		   /* entries to claim at most */
	uint64_t worker, claim_no; /* whose claim they become: WORKER 0 is the worker @js_w */
	size_t fresh;		   /* as in jobstack_step */
	unsigned shards; /* how many shards the first rank is to have; 0: the pop takes the first span, in order */
	unsigned shard;	 /* the place that was drawn, from 0; if it is SHARDS, the pop takes the first span */
	/* The claim's row becomes that of this claim of the worker, which the transaction has closed; 0: a new row.
	 * If nothing is taken, the row is deleted. */
	uint64_t reused;
	uint64_t start_us; /* with max_starts: js_span_start_us */
};

/* Adds the statements of a pop: lock the first ready span of an open stack, write the claim, cut up to K entries off
 * the span in place (one, if they were lost before).  The variables that js_span_taken_sql reads are set.  A SET
 * statement before it has to carry JS_SPAN_RESET: a SELECT INTO that finds nothing leaves what an earlier packet left.
 *
 * Shards: under a binary log a pop holds its span until its group is synced, and the next one waits.  So pops go to
 * different spans of the first rank.  These are lists, and shards: pieces that were cut off a long span, by a pop that
 * found fewer than SHARDS lists and shards.  A shard is enough for JS_SPAN_SHARD_POPS pops.  DESIGN.md, "Shards",
 * explains what that does to the order. */
#define JS_SPAN_SHARDS 16
#define JS_SPAN_SHARD_POPS 32
#define JS_SPAN_RESET "@js_pos=NULL,@js_left=NULL,@js_at=NULL,@js_from=NULL,@js_m=0,@js_room=NULL"
void js_span_pop(struct js_sql *sql, const struct js_stack *stack, const struct js_pop *pop);

/* The rate of starts (max_starts in starts_us).  A claim of such a stack takes one entry, and only from the time
 * `next_start` on, which it then moves on by
 *
 *     interval_us = (starts_us + JOBSTACK_START_LEAST) / max_starts        and START_US - JOBSTACK_START_LEAST
 *
 * where START_US is how long after the sending of its packet the entry can be started.  So between the claims of a
 * start and of the one max_starts further on lie at least starts_us and the START_US of the first: however late the
 * first is started in that time, and however soon the other, they are at least starts_us apart.
 *
 * Returns the START_US of a step that wants US; 0: the least. */
uint64_t js_span_start_us(uint64_t us);

/* As SQL, the time until the next claim may take something. */
#define JS_SPAN_NEXT_START "GREATEST(0,TIMESTAMPDIFF(MICROSECOND,UTC_TIMESTAMP(6),next_start))"

/* Adds, before anything of claims is locked, the statement with which a pop of a limited stack begins: from here to
 * the COMMIT nobody else pops there.  (A pop that does not know of the limit takes nothing, and learns of it.) */
void js_span_lock_limit(struct js_sql *sql, const struct js_stack *stack);

/* Columns that the new claim takes from the span it was cut from. */
/* clang-format off */
#define JS_TAKEN_COLUMNS(X)                                                                                            \
	X(attempt, "@js_att", U32) X(fails, "@js_fails", U32) X(losses, "@js_losses", U32) X(rank, "@js_rank", I64)
/* clang-format on */

/* Adds (to the last statement) the deletion of a claim's row. */
void js_span_delete_claim(struct js_sql *sql, const struct js_stack *stack, uint64_t worker, uint64_t claim_no);

/* Adds, for the tail, the statement that returns what the pop took: the span's pos (NULL: nothing), first, count,
 * JS_TAKEN_COLUMNS, the stack's state and `limited`, ids (NULL: an interval).  A pop of one entry gets its
 * number and its datapath in the same row, and with max_starts the time until the next pop may take something.  Other
 * pops get them from a second statement, one row per entry, but only if what they took is an interval. */
void js_span_taken_sql(struct js_sql *tail, const struct js_stack *stack, const struct js_pop *pop);

/* Returns the place of ENTRY, or of the next one behind it, in N elements of SIZE bytes that each begin with an entry's
 * number (uint64_t), ascending. */
size_t js_span_find(const void *list, size_t n, size_t size, uint64_t entry);

/* Writes the N entries IDS as a list of n * JS_IDS_WIDTH bytes. */
void js_span_write_ids(char *text, const uint64_t *ids, size_t n);

/* Reads a list: N entries from place FROM of TEXT.  Returns 0, or -1 if it is not a list of ours. */
int js_span_read_ids(const char *text, size_t len, size_t from, size_t n, uint64_t *ids);

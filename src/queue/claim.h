/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Claims as a worker remembers them, and the SQL that closes their entries.
 */
#pragma once

#include "queue/queue.h"
#include "queue/span.h"
#include "queue/closed.h"

/* What is known of an entry of a claim: claim.c has the table.  JS_SKIPPED: closed, and an outcome that still comes is
 * left out. */
enum js_claim_mark { JS_OPEN, JS_CLOSING, JS_CLOSED, JS_SKIPPED };

/* A row of the table `claim`, as this process knows it. */
struct js_claim {
	struct js_claim *next;
	uint64_t no;			 /* its number among the worker's claims */
	uint32_t attempt, fails, losses; /* of each entry: the number of this attempt, and what counted before it */
	int64_t rank;
	int64_t claimed_us;  /* since 1970, by the server's clock */
	size_t n, open;	     /* entries; those that are open or closing */
	uint64_t *id;	     /* ascending */
	unsigned char *mark; /* enum js_claim_mark, one per id */
};

/* Makes a claim of N entries, all open: from the list IDS, or FIRST and the N - 1 after it.  NULL without memory. */
struct js_claim *js_claim_new(uint64_t no, const uint64_t *ids, uint64_t first, size_t n);
void js_claim_free(struct js_claim *claim);
void js_claim_free_all(struct js_claim *list);

/* Finds the claim and the place of an entry's attempt in LIST, whatever its mark.  NULL if it is in none. */
struct js_claim *js_claim_find(struct js_claim *list, uint64_t entry, uint32_t attempt, size_t *place);

/* The same, but only an entry with this mark is found. */
struct js_claim *js_claim_find_marked(struct js_claim *list, uint64_t entry, uint32_t attempt, enum js_claim_mark mark,
				      size_t *place);

/* Returns how many entries of LIST are open or closing. */
uint64_t js_claim_open(const struct js_claim *list);

/* Outcomes as the library knows them, made of what a caller has GIVEN.  0, or JOBSTACK_EUSAGE.  Free the memory in
 * either case. */
struct js_outcomes {
	const struct jobstack_outcome *at;
	void *memory; /* NULL: it is the caller's */
};
int js_outcomes_take(struct js_outcomes *outcomes, const struct jobstack_outcome *given, size_t n,
		     struct jobstack_error *error);

/* What closing adds to the counters. */
struct js_claim_sums {
	uint64_t done, dead;
};

/* Marks the entries of *N outcomes JS_CLOSING and counts; takes those out that are JS_SKIPPED.  Returns 0, or
 * JOBSTACK_EUSAGE, with nothing marked, if one of them is not open in LIST. */
int js_claim_mark_closing(struct js_claim *list, const struct js_stack *stack, struct jobstack_outcome *outcomes,
			  size_t *n, struct js_claim_sums *sums, struct jobstack_error *error);

/* Marks all entries that are still open, too, and writes their outcomes to OUTCOMES: lost for the reason LOST or, if
 * that is NULL, not started. Returns how many. */
size_t js_claim_close_rest(struct js_claim *list, const struct js_stack *stack, enum jobstack_cause cause,
			   const char *lost, struct jobstack_outcome *outcomes, struct js_claim_sums *sums);

/* Settles the marks after a transaction.  COMMITTED: JS_CLOSING becomes JS_CLOSED, and claims without open entries are
 * freed, since the database no longer has them.  Otherwise JS_CLOSING becomes JS_OPEN again. */
void js_claim_settle(struct js_claim **list, int committed);

/* What the SQL of closing is made from. */
struct js_closing {
	const struct js_stack *stack;
	struct js_db *db;
	uint64_t worker;
	struct js_claim *list;
	const struct jobstack_outcome *outcomes;
	size_t n;
	int64_t now_us;	 /* when outcomes ended that do not say so */
	uint64_t reused; /* this claim's row is left for the pop (struct js_pop); 0: none is */
};

/* Sets the times of LIST: when the first and the last of the attempts ended that the SQL will record. */
void js_claim_times(const struct js_closing *closing, struct js_closed_list *list);

/* Returns the number of the first claim of LIST whose entries are all closing or closed; 0 if there is none. */
uint64_t js_claim_closed(const struct js_claim *list);

/* Adds the statements that come before the pop (claim, attempt, set_aside), and those after it (span).  The second
 * returns JOBSTACK_EBUG without memory. */
void js_claim_close_sql(const struct js_closing *closing, struct js_sql *sql);
int js_claim_spans_sql(const struct js_closing *closing, struct js_sql *sql, struct jobstack_error *error);

/* Returns whether OUTCOME makes an entry of CLAIM dead: it is the last failure or loss that is allowed, or fatal. */
int js_claim_is_dead(const struct js_stack *stack, const struct js_claim *claim,
		     const struct jobstack_outcome *outcome);

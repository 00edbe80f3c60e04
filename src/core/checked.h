/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the check share: the findings, and what is read of spans and claims.
 */
#ifndef JS_CORE_CHECK_H
#define JS_CORE_CHECK_H

#include "base/buf.h"
#include "core/core.h"
#include "core/span.h"

/* ------------------------------------------------------------------------------------------------------ findings */

struct js_finding {
	enum jobstack_fault fault;
	uint64_t entry;
	size_t text, path, path_len; /* where they lie in the bytes; path 0: none */
};

struct js_findings {
	struct js_buf bytes;
	struct js_finding *list;
	size_t n, room;
	uint64_t found[JOBSTACK_FAULTS];
	int failed; /* memory ran out */
};

/* Counts a finding, and keeps its words if it is among the first of its kind. */
void js_found(struct js_findings *findings, enum jobstack_fault fault, uint64_t entry, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads the datapaths of what was found, in the view. */
int js_findings_paths(struct js_findings *findings, struct jobstack *handle, uint64_t stack,
		      struct jobstack_error *error);

/* Tells them, by entry.  0, or JOBSTACK_ESTOPPED. */
int js_findings_tell(struct js_findings *findings, jobstack_finding_fn *fn, void *ctx);

void js_findings_free(struct js_findings *findings);

/* ---------------------------------------------------------------------------------------------- spans and claims */

/* Who has a claim. */
enum js_keeper { JS_ALIVE, JS_ENDED, JS_MISSING, JS_FOREIGN };

/* A span or a claim, without its entries. */
struct js_holder {
	unsigned class;
	int64_t rank, pos;
	uint32_t attempt, fails, losses;
	/* the rest is of claims */
	uint64_t worker, no, first;
	uint64_t open, seen; /* entries without an outcome: what it says; what was found */
	enum js_keeper keeper;
};

struct js_holders {
	struct js_holder *list;
	size_t n, room;
	int failed;
};

/* The stack as the view shows it. */
struct js_checked {
	struct jobstack *handle;
	uint64_t id, tail, pushed, named;
	int lifo, has_names; /* named is not NULL */
	int64_t done, dead;
	uint64_t last; /* numbers from 1 to this are looked at one by one */
	struct js_findings findings;
	struct jobstack_check_report report;
};

/* Tells which tables have rows of stacks that are not there, in the view. */
int js_check_orphans(struct js_checked *c, struct jobstack_error *error);

/* Called for each entry of a span or a claim that lies in the window; INDEX is the holder's place in the list. */
typedef void js_held_fn(void *ctx, size_t index, uint64_t entry);

/* Reads all spans: counts their entries in the report, and tells what is wrong with each by itself. */
int js_check_spans(struct js_checked *c, struct jobstack_error *error);

/* Reads the spans that hold entries from LOW to HIGH into HOLDERS (those that are there go), and calls FN for those
 * entries. */
int js_check_spans_of(struct js_checked *c, uint64_t low, uint64_t high, struct js_holders *holders, js_held_fn *fn,
		      void *ctx, struct jobstack_error *error);

/* The same for claims; HOLDERS are all of them, in the order of their key, and stay as the first of these calls made
 * them. */
int js_check_claims(struct js_checked *c, struct js_holders *holders, struct jobstack_error *error);
int js_check_claims_of(struct js_checked *c, uint64_t low, uint64_t high, struct js_holders *holders, js_held_fn *fn,
		       void *ctx, struct jobstack_error *error);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the check share: what it has found, the stack, and its spans and claims as a check reads them.
 */
#pragma once

#include "core/core.h"
#include "core/set.h"

struct js_finding {
	uint64_t entry;
	enum jobstack_fault fault;
	size_t text, path, path_len; /* where they lie in the bytes; path 0: none */
};

struct js_findings {
	struct js_buf bytes, memory; /* memory: N struct js_finding */
	size_t n;
	uint64_t found[JOBSTACK_FAULTS];
};

/* Counts a finding, and keeps its words if it is among the first of its kind. */
void js_found(struct js_findings *findings, enum jobstack_fault fault, uint64_t entry, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reads the datapaths of the findings, in the view. */
int js_findings_paths(struct js_findings *findings, struct jobstack *handle, uint64_t stack,
		      struct jobstack_error *error);

/* Reports them, by entry. 0, or JOBSTACK_ESTOPPED. */
int js_findings_tell(struct js_findings *findings, jobstack_finding_fn *fn, void *ctx);

void js_findings_free(struct js_findings *findings);

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

struct js_places {
	struct js_place *list; /* in the memory */
	size_t n;
	struct js_buf memory;
};

/* A window of entry numbers.  FN is called for each entry of a span or a claim that lies in it; INDEX is the place's
 * index in the list. */
struct js_held_window {
	uint64_t low, high;
	void (*fn)(void *ctx, size_t index, uint64_t entry);
	void *ctx;
};

/* With WINDOW NULL, reads all spans, or all CLAIMS: counts the entries of spans in the report, and reports what is
 * wrong with each row by itself.  PLACES then has all claims, in the order of their key.  Else reads those that hold
 * entries of the window.  PLACES then has the spans that were read; with CLAIMS it must be as the call without a window
 * made it. */
int js_check_places(struct js_checked *c, int claims, const struct js_held_window *window, struct js_places *places,
		    struct jobstack_error *error);

/* Names a place: "the ready span at rank 0, pos 12". */
#define JS_PLACE_NAME 120
const char *js_place_name(const struct js_place *place, char text[JS_PLACE_NAME]);

/* Reports which tables have rows of stacks that do not exist, in the view. */
int js_check_orphans(struct js_checked *c, struct jobstack_error *error);

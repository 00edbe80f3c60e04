/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a check has found.
 */
#pragma once

#include "base/buf.h"
#include "core/handle.h"

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

/* Reads the datapaths of what was found, in the view. */
int js_findings_paths(struct js_findings *findings, struct jobstack *handle, uint64_t stack,
		      struct jobstack_error *error);

/* Tells them, by entry.  0, or JOBSTACK_ESTOPPED. */
int js_findings_tell(struct js_findings *findings, jobstack_finding_fn *fn, void *ctx);

void js_findings_free(struct js_findings *findings);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading a worker's packed log: the attempts that left output in it.
 */
#pragma once

#include "jobstack/jobstack.h"

/* One attempt, by its header line.  DATAPATH is as the log has it: control bytes and backslashes are written \xNN. */
struct js_logged {
	uint64_t entry;
	uint32_t attempt;
	int exit_code, signal; /* -1: it did not exit; 0: no signal */
	char ended[32];	       /* as the log has it: ISO 8601, UTC */
	int64_t at;	       /* where its output begins */
	const char *datapath;  /* valid during the callback */
};
typedef int js_logged_fn(void *ctx, const struct js_logged *logged);

/* Calls FN for each attempt in the file PATH, in order; not 0 ends that with JOBSTACK_ESTOPPED.  What is cut short at
 * the end (its writer was killed, or is still writing) is passed over.  JOBSTACK_EFILE: it can't be read, or what
 * stands at some byte is no header. */
int js_log_read(const char *path, js_logged_fn *fn, void *ctx, struct jobstack_error *error);

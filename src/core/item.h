/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An item (struct jobstack_item) out of rows: which columns to ask for, and how they are read.
 */
#ifndef JS_CORE_ITEM_H
#define JS_CORE_ITEM_H

#include "core/core.h"

/* The columns of an attempt, where a is its row; LOG and ERR_LOG are what stands for the files with its output, TAIL
 * for the end of its stderr. */
#define JS_ITEM_ATTEMPT(LOG, ERR_LOG, TAIL)                                                                            \
	"a.attempt,a.outcome,a.exit_code,a.signo,a.reason,a.started,a.ended,a.user_us,a.system_us,a.maxrss_kib,"       \
	"a.read_bytes,a.write_bytes," LOG ",a.log_at,a.log_out,a.log_err," ERR_LOG ",a.err_at," TAIL

/* The columns of the worker who made it, where w is its row, or is none. */
#define JS_ITEM_WORKER                                                                                                 \
	"w.worker_id,COALESCE(w.node,w.host),w.host,w.slurm_cluster,w.slurm_job,w.slurm_array_job,w.slurm_array_task," \
	"w.slurm_step,w.slurm_account,w.slurm_qos,w.slurm_partition,w.user,w.cwd,w.argv,w.slots"

/* Reads these columns from column *C on, which is moved behind them.  Texts stay in the row. */
void js_item_attempt(struct jobstack_item *item, const struct js_row *row, unsigned *c);
void js_item_worker(struct jobstack_item *item, const struct js_row *row, unsigned *c);

/* When ENTRY began, by the worker's column RUNNING (may be NULL): microseconds since 1970, or -1. */
int64_t js_item_since(const char *running, uint64_t entry);

#endif

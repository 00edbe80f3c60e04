/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One run of the worker proper: what it needs, the work with its two threads, and the summary.
 */
#pragma once

#include "slurm/env.h"
#include "worker/ledger.h"
#include "worker/supervisor.h"

#define RUN_PATH 4096

struct run {
	struct config config;
	struct keeper keeper;
	struct jobstack *handle;
	struct js_slurm_identity identity;
	struct jobstack_worker_options options;
	struct mailbox box;
	struct supervisor supervisor;
	struct ledger ledger;
	struct outbox outbox;
	struct display display;
	struct printer printer;
	size_t waiting; /* outcomes that the database has not taken */
	struct slot slots[SLOTS_MAX];
	unsigned slots_n;
	struct guard guard; /* becomes the mailbox's */
	char slots_why[200], log_dir[RUN_PATH + JOBSTACK_STACK_MAX + 2], log_name[512], run_cwd[RUN_PATH];
	struct js_buf argv, platform;
	char events[8200]; /* where events go; the commands may run in another directory */
};

/* Prepares everything that needs no database.  Free with run_free, whatever it returned. */
int run_prepare(struct run *run, int argc, char **argv, struct jobstack_error *error);
void run_free(struct run *run);

/* With run->handle: works until there is nothing left to do.  Returns the exit status, or a negative code. */
int run_work(struct run *run, struct jobstack_error *error);

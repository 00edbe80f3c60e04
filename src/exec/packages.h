/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Python packages that commands import (--packages).  A sitecustomize, which a directory in front of PYTHONPATH
 * offers to each Python, writes lines into a FIFO: ENTRY.ATTEMPT, a tab, and either the name of a module, or a
 * directory that may contain packages, a tab, and DEVICE.INODE.  A thread reads them, finds the distribution of each
 * name, and notes it for the attempt.
 *
 * After the idea of the "customs" package (its Check, Inspector and Reporter), which reports at the interpreter's exit.
 */
#pragma once

#include "jobstack/jobstack.h"

struct js_packages;

/* Makes a directory of its own in TMP, with the FIFO and a copy of the file HOOK, removes those of workers that were
 * killed, and starts the thread.  SLOTS commands run at once.  Returns 0, or a negative code. */
int js_packages_begin(struct js_packages **made, const char *tmp, const char *hook, unsigned slots,
		      struct jobstack_error *error);

/* Ends the thread, unless it hangs, and removes the directory.  NULL: nothing. */
void js_packages_end(struct js_packages *packages);

const char *js_packages_dir(const struct js_packages *packages);

/* Notes the attempt that runs in SLOT (from 0) from now on.  Lines of attempts that were never noted are dropped. */
void js_packages_start(struct js_packages *packages, unsigned slot, uint64_t entry, uint32_t attempt);

/* Changes NAME to the form in which packages are recorded: small letters, and '-' for '_' and '.'. */
void js_packages_plain(char *name);

/* Waits, for at most WAIT_US, until all that was written before the call has been read; usually it has been already. */
void js_packages_settle(struct js_packages *packages, int64_t wait_us);

/* Calls FN for each package that the attempt has imported so far, sorted; the texts stay.  Returns 0; JOBSTACK_NOTHING:
 * the attempt is not known any more, since many have begun after it. */
typedef void js_packages_fn(void *ctx, const char *name, const char *version);
int js_packages_of(struct js_packages *packages, uint64_t entry, uint32_t attempt, js_packages_fn *fn, void *ctx);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor: starts commands, collects them, reads signals, keeps time.  It never waits for the database.
 */
#pragma once

#include "worker/state.h"

/* Blocks the signals that the supervisor reads, and returns the descriptor to read them by.  To be called before any
 * thread is started. */
int supervisor_signals(void);

/* Runs until the ledger has ended and no command is left.  It does not wait for ever for a call that hangs: then
 * supervisor_hangs, and nothing that the supervisor knows may be freed, since a thread still uses it. */
void supervisor_run(struct supervisor *s);
int supervisor_hangs(const struct supervisor *s);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The limit of exit 75 and --defer-match: an entry is dead after --max-defers of them in a row.
 */
#pragma once

#include "worker/config.h"
#include "worker/mailbox.h"

/* Makes those of N deferred RESULTS failures, after which the entry is dead, that are the last of --max-defers in a
 * row, and OUTCOMES what the results say then.  The history is read, by HANDLE, only of entries with so many attempts.
 */
void defer_limit(struct jobstack *handle, const struct config *config, struct mailbox *box, struct result *results,
		 struct jobstack_outcome *outcomes, size_t n);

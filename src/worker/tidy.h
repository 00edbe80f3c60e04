/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the keeper does in the ledger for a worker that was killed: delivers the outcomes that waited in its spool, and
 * takes back what else it held.
 */
#pragma once

#include "worker/config.h"
#include "worker/keeper.h"

#include <stdint.h>

/* Whose, and how. */
struct tidying {
	const struct keeper_page *page;
	const struct config *config;
	const char *reason;
	uint64_t taken, delivered; /* how many */
};

#define TIDY_WORDS 11000 /* a path twice */

/* Does it for a worker that was killed, as END says.  TEXT tells a person what became of its entries. */
void tidy_killed(struct tidying *t, const struct keeper_end *end, char text[TIDY_WORDS]);

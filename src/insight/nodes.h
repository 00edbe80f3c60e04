/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Nodes that stand out.
 */
#pragma once

#include "insight/tally.h"

/* Sets FAILS of each node whose share of failed and lost attempts is more than twice that elsewhere, even if both are
 * off by three standard errors.  Sets SLOW of each node whose done attempts take over a quarter longer than elsewhere,
 * even if its own mean is off by three standard errors. */
void insight_nodes_judge(struct insight_tally *tally);

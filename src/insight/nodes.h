/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Nodes that stand out.
 */
#pragma once

#include "insight/tally.h"

/* Sets FAILS of each node where surely twice as many attempts fail or are lost as can elsewhere, and SLOW of each whose
 * done attempts surely take a quarter longer (both: three standard errors on either side). */
void insight_nodes_judge(struct insight_tally *tally);

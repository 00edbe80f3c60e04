/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of jobstack_version with versions that no program has: `jobstack server` writes them, and every program refuses
 * the database, by the error JOBSTACK_ESCHEMA with this number as its reason.
 */
#pragma once

#define JS_ASIDE_MOVING 4294967293U /* a move to another server is under way, or was cut short */
#define JS_ASIDE_MOVED 4294967294U  /* it was moved to another server */
#define JS_ASIDE_HALF 4294967295U   /* a restore is under way, or was cut short */

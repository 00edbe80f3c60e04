/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows of stacks that do not exist.
 */
#ifndef JS_CORE_ORPHANS_H
#define JS_CORE_ORPHANS_H

#include "core/checked.h"

/* Tells which tables have rows of stacks that are not there, in the view. */
int js_check_orphans(struct js_checked *c, struct jobstack_error *error);

#endif

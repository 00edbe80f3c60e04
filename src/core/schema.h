/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schema's version.
 */
#pragma once

#include "core/handle.h"

/* Looks the schema up, once a handle: 0, or JOBSTACK_ESCHEMA. */
int js_schema_check(struct jobstack *handle, struct jobstack_error *error);

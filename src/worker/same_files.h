/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entries of a stack that would write the same file.
 */
#pragma once

#include "worker/config.h"

/* Looks for two different names of the stack for which --output, --error or --creates names the same file; only where
 * the template alone does not exclude that.  0; JOBSTACK_EUSAGE, which names the two and a template that works; or
 * another negative code. */
int same_files_check(const struct config *config, struct jobstack *handle, struct jobstack_error *error);

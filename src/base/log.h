/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The log sink: where a layer's messages go is the caller's choice.
 */
#pragma once

#include "jobstack/jobstack.h"

struct js_log {
	jobstack_log_fn *fn; /* NULL: silent */
	void *ctx;
};

/* Hands one message to the sink; control characters become '?'. */
void js_log(const struct js_log *log, enum jobstack_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Looks now and then at the processes of running commands: their memory together, and their time waiting for input and
 * output.  Neither is in what the kernel tells when a command has ended.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>
#include <sys/types.h>

struct js_sampler;

/* Starts the thread that looks at N commands at most; NULL: it can't, and nothing is sampled (the other functions take
 * NULL, too).  js_sampler_end ends it. */
struct js_sampler *js_sampler_begin(size_t n);
void js_sampler_end(struct js_sampler *sampler);

/* Notes that the command in SLOT (from 0) is PID from now on; 0: none runs there. */
void js_sampler_watch(struct js_sampler *sampler, size_t slot, pid_t pid);

/* To be called when it has ended: fills the members of OUTCOME that are sampled, and watches it no longer. */
void js_sampler_take(struct js_sampler *sampler, size_t slot, struct jobstack_outcome *outcome);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection of a worker, and its look at other workers: those that have died are taken back.
 */
#pragma once

#include "watch/watch.h"
#include "worker/config.h"

/* Connects.  A server whose connections are all taken is waited for: a thousand workers may start in the same second.
 */
int others_connect(const struct config *config, struct jobstack **handle, struct jobstack_error *error);

/* How others are looked at.  SELF: our own number. */
struct js_watch_options others_options(const struct config *config, uint64_t self);

/* In a short-lived child of the keeper: takes back from those whose death can be proven.  Gives its exit status. */
int others_look(const struct config *config, uint64_t self);

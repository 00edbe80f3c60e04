/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The connection of a worker, and the recovery of entries: those of other workers that have died, and its own when it
 * was killed.
 */
#pragma once

#include "death/budget.h"
#include "death/death.h"
#include "worker/config.h"
#include "worker/keeper.h"

/* Connects.  Waits while the server has no free connection: a thousand workers may start in the same second. */
int recovery_connect(const struct config *config, int64_t first_us, struct jobstack **handle,
		     struct jobstack_error *error);

/* Returns how a worker may ask Slurm by itself. */
struct js_budget recovery_budget(const struct config *config, struct jobstack *handle);

/* Returns how the worker with the number SELF watches other workers. */
struct js_observer_options recovery_options(const struct config *config, uint64_t self);

/* In a short-lived child of the keeper: recovers entries of workers that are proven dead, or asks when the job ends, as
 * PAGE says.  Returns its exit status. */
int recovery_look(const struct config *config, struct keeper_page *page);

/* In the keeper, after the worker was killed, as END says: delivers the outcomes of its spool, requeues the other
 * entries that it held, and prints what became of them. */
void recovery_of_killed(const struct config *config, const struct keeper_page *page, const struct keeper_end *end);

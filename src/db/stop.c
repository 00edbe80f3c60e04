/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stopping what waits: a signal handler, or another thread, ends the waits of one connection or of all.
 */
#include "base/clock.h"
#include "base/error.h"
#include "db/db.h"
#include "db/state.h"

#define STOP_US (JS_SECOND_US / 4) /* how soon a stop is noticed */

/* Every connection is to stop. */
static atomic_int all_stop;

void js_db_stop(struct js_db *db)
{
	atomic_store(db == NULL ? &all_stop : &db->stop, 1);
}

int js_db_is_stopped(const struct js_db *db)
{
	return atomic_load(&db->stop) != 0 || atomic_load(&all_stop) != 0;
}

/* In pieces, because another thread may stop it; a signal that arrived just before a piece is noticed after it. */
void js_db_sleep(const struct js_db *db, int64_t us)
{
	int64_t until = js_clock_mono_us() + us;

	while ((us = until - js_clock_mono_us()) > 0 && !js_db_is_stopped(db))
		js_clock_nap(us < STOP_US ? us : STOP_US, NULL);
}

int js_db_nap(struct js_db *db, int64_t us, struct jobstack_error *error)
{
	js_db_sleep(db, us);
	return js_db_is_stopped(db) ? js_error_set(error, JOBSTACK_ESTOPPED, "stopped") : 0;
}

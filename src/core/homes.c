/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a worker's pops go to homes, and to which.  Promise: each draw is independent of other draws and of other
 * workers.
 */
#include "core/homes.h"

#include "base/num.h"

/* Pops use homes from this many workers and this commit time on. */
#define HOMES_FROM 4
#define SLOW_COMMIT_US 1000

void js_homes_count(struct jobstack_worker *w)
{
	w->homes = w->can_have_homes && !w->stack.limited && w->workers >= HOMES_FROM &&
				   w->commit_us >= SLOW_COMMIT_US && js_db_has_user_locks(w->handle->db)
			   ? JS_SPAN_HOMES
			   : 0;
}

void js_homes_draw(struct jobstack_worker *w, struct js_pop *pop)
{
	if (w->dice == 0)
		w->dice = w->id * 2654435761u + 88172645463325252u;
	pop->homes = w->homes;
	pop->home = w->homes > 0 ? (unsigned)js_num_jitter(&w->dice, w->homes + 1) : 0;
}

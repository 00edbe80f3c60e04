/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tidying up after a worker that was killed.  Promise: outcomes that it had written down are delivered before the rest is taken
 * back, so that none of them is told to have been lost.
 */
#include "worker/tidy.h"

#include "base/clock.h"
#include "worker/outbox.h"

#include <string.h>

static int once(struct tidying *t, struct jobstack_error *error)
{
	struct jobstack *handle = NULL;
	int status = t->open(&handle, error), spooled = status == 0 && t->page->spools;

	if (spooled)
		status = outbox_deliver(handle, t->page->spool, t->reason, &t->delivered, error);
	if (status == 0 || (spooled && status < 0 && status != JOBSTACK_ENODB)) { /* the rest; or a spool that can't be used */
		memset(error, 0, sizeof(*error));
		status = jobstack_recover_own(handle, t->stack, t->page->worker, t->page->token, t->reason, &t->taken, error);
	}
	jobstack_free(handle);
	return status;
}

int tidy(struct tidying *t, struct jobstack_error *error)
{
	int64_t until = js_clock_mono_us() + t->lease_us;
	int status;

	for (;;) {
		memset(error, 0, sizeof(*error));
		status = once(t, error);
		if (status != JOBSTACK_ENODB || js_clock_mono_us() >= until)
			return status;
		js_clock_nap(JS_SECOND_US / 2, NULL);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tidying up after a worker that was killed.  Promise: outcomes that it had written down are delivered before the rest
 * is taken back, so that none of them is told to have been lost.
 */
#define _GNU_SOURCE
#include "worker/tidy.h"

#include "base/clock.h"
#include "base/num.h"
#include "worker/others.h"
#include "worker/outbox.h"
#include "worker/speaker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int try_requeue(struct tidying *t, struct jobstack_error *error)
{
	struct jobstack *handle = NULL;
	int status = others_connect(t->config, &handle, error), spooled = status == 0 && t->page->spools;

	if (spooled)
		status = outbox_deliver(handle, t->page->spool, t->reason, &t->delivered, error);
	if (status == 0 ||
	    (spooled && status < 0 && status != JOBSTACK_ENODB)) { /* the rest; or a spool that can't be used */
		memset(error, 0, sizeof(*error));
		status = jobstack_recover_own(handle, t->config->stack, t->page->worker, t->page->token, t->reason,
					      &t->taken, error);
	}
	jobstack_free(handle);
	return status;
}

/* 0; or negative with ERROR.  A database that is away is waited for as long as the worker's lease: from then on others
 * do it. */
static int requeue_until_lease_ends(struct tidying *t, struct jobstack_error *error)
{
	int64_t until = js_clock_mono_us() + t->page->lease_us;
	char lease[64];
	int status;

	for (int told = 0;; told = 1) {
		memset(error, 0, sizeof(*error));
		status = try_requeue(t, error);
		if (status != JOBSTACK_ENODB || js_clock_mono_us() >= until)
			return status;
		js_num_duration_text(t->page->lease_us, lease, sizeof(lease));
		if (!told)
			speaker_say("%s, and the database does not answer: the keeper tries for up to %s to requeue "
				    "its entries",
				    t->reason, lease);
		js_clock_nap(JS_SECOND_US / 2, NULL);
	}
}

/* What became of the worker's entries: STATUS and ERROR are those of take_back. */
static void tidy_words(const struct tidying *t, int status, const struct jobstack_error *error, char text[TIDY_WORDS])
{
	if (status < 0 && t->page->spools)
		(void)snprintf(text, TIDY_WORDS,
			       "%s; its commands were ended, but its outcomes in %s could not be delivered: %s: "
			       "`jobstack close --replay %s` delivers them when the database is back",
			       t->reason, t->page->spool, error->text, t->page->spool);
	else if (status < 0)
		(void)snprintf(text, TIDY_WORDS,
			       "%s; its commands were ended, but its entries could not be requeued: %s: they will be "
			       "requeued when its lease has ended",
			       t->reason, error->text);
	else if (t->delivered > 0)
		(void)snprintf(text, TIDY_WORDS,
			       "%s: its commands were ended, %" PRIu64
			       " outcomes that waited were delivered, its other entries were requeued",
			       t->reason, t->delivered);
	else
		(void)snprintf(text, TIDY_WORDS, "%s: its commands were ended, %" PRIu64 " %s requeued", t->reason,
			       t->taken, t->taken == 1 ? "entry was" : "entries were");
}

void tidy_killed(struct tidying *t, const struct keeper_end *end, char text[TIDY_WORDS])
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char reason[128];

	(void)snprintf(reason, sizeof(reason), "the worker was killed by signal %d (%s)%s", end->signal,
		       strsignal(end->signal), end->oom ? ", out of memory" : "");
	t->reason = reason;
	if (t->page->worker == 0)
		(void)snprintf(text, TIDY_WORDS, "%s before it had begun", reason);
	else if (end->left > 0)
		(void)snprintf(text, TIDY_WORDS,
			       "%s, and %zu processes of its commands can't be killed: its entries are requeued when "
			       "these have ended (by workers on other hosts: when its lease has ended)",
			       reason, end->left);
	else
		tidy_words(t, requeue_until_lease_ends(t, &error), &error, text);
	t->reason = NULL;
}

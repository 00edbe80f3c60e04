/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The limit of exit 75 and --defer-match.
 */
#include "worker/defer.h"

#include "base/buf.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A jobstack_item_fn that counts deferrals in a row.  Attempts that ended otherwise begin a new row; interruptions and
 * the running attempt neither count nor begin one. */
static int count_defers(void *ctx, const struct jobstack_item *item)
{
	uint64_t *n = ctx;

	if (item->outcome >= 0 && item->outcome != JOBSTACK_INTERRUPTED)
		*n = 0;
	else if (item->cause == JOBSTACK_CAUSE_DEFERRED)
		++*n;
	return 0;
}

void defer_limit(struct jobstack *handle, const struct config *config, struct mailbox *box, struct result *results,
		 struct jobstack_outcome *outcomes, size_t n)
{
	struct jobstack_error none = JOBSTACK_ERROR_INIT;

	for (size_t i = 0; i < n; i++) {
		struct result *r = &results[i];
		struct jobstack_outcome *o = &r->outcome;
		struct js_buf why = {0};
		uint64_t before = 0;

		if (o->cause != JOBSTACK_CAUSE_DEFERRED || o->verdict != JOBSTACK_INTERRUPTED)
			continue;
		/* after an error no other history is read: a database that is away is waited for once, not for each
		 * entry */
		if (none.code == 0 && o->attempt >= config->max_defers &&
		    jobstack_attempts(handle, config->stack, o->entry, count_defers, &before, &none) == 0 &&
		    before + 1 >= config->max_defers) {
			size_t len = strlen(r->reason);

			o->verdict = JOBSTACK_FAILED;
			o->fatal = 1;
			o->later = 0;
			r->is_dead = 1;
			(void)snprintf(r->reason + len, sizeof(r->reason) - len, ", %" PRIu64 " times in a row",
				       before + 1);
			(void)pthread_mutex_lock(&box->lock);
			box->failed++;
			box->dead++;
			(void)pthread_mutex_unlock(&box->lock);
		} else {
			if (o->exit_code == 75 && o->err_tail.len > 0) {
				show_failed(&why, "", 0, r->reason, o->err_tail.data, o->err_tail.len);
				(void)snprintf(r->reason, sizeof(r->reason), "%.*s", (int)why.len - 3,
					       why.data != NULL ? why.data + 2 : DEFERRED "exit 75)");
				js_buf_free(&why);
			}
			o->err_tail.len = 0; /* only the last one's is worth its place in the database */
		}
		outcomes[i] = result_outcome(r);
	}
}

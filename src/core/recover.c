/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Recovery of a worker that is known to be dead, and what is suspected of one.  Promise: a worker that has moved since
 * it was looked at keeps what it holds.
 */
#include "core/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECOVER_TRIES 20

/* The worker to recover: the one at this seq, or the one with this token at any seq. */
struct lost_worker {
	uint64_t worker, seq;
	const unsigned char *token; /* NULL: by seq */
};

/* One try; 1 if it has ended (*ENDED), or is not that one, or moved while it was read. */
static int recover_once(struct jobstack *handle, const struct js_stack *stack, const struct lost_worker *who,
			const char *reason, uint64_t *taken, int *ended, struct jobstack_error *error)
{
	struct js_worker_end end = {NULL, 0, reason, reason == NULL ? "the worker is gone" : reason};
	struct jobstack_worker *w;
	uint64_t open;
	int status = js_worker_load(handle, stack, who->worker, &w, error), is_it;

	*ended = status == JOBSTACK_NOTHING;
	if (status != 0)
		return status;
	is_it = who->token != NULL ? memcmp(who->token, w->token, sizeof(w->token)) == 0 : who->seq == w->seq;
	*ended = who->token != NULL && !is_it;
	open = js_claim_open(w->claims);
	status = is_it ? js_worker_finish(w, &end, error) : JOBSTACK_NOTHING;
	jobstack_worker_free(w);
	if (status == 0 && taken != NULL)
		*taken = open;
	return status;
}

static int recover_lost_worker(struct jobstack *handle, const char *stack, const struct lost_worker *who,
			       const char *reason, uint64_t *taken, struct jobstack_error *error)
{
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error), ended = 0, tries = 0;

	if (taken != NULL)
		*taken = 0;
	if (status != 0)
		return status;
	do /* a dead worker's last step can come between, and nothing after it */
		status = recover_once(handle, &s, who, reason, taken, &ended, error);
	while (status == JOBSTACK_NOTHING && !ended && who->token != NULL && ++tries < RECOVER_TRIES);
	return status;
}

int jobstack_recover(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq, const char *reason,
		     uint64_t *taken, struct jobstack_error *error)
{
	const struct lost_worker who = {worker, seq, NULL};

	return recover_lost_worker(handle, stack, &who, reason, taken, error);
}

int jobstack_recover_own(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
			 const char *reason, uint64_t *taken, struct jobstack_error *error)
{
	const struct lost_worker who = {worker, 0, token};

	return recover_lost_worker(handle, stack, &who, reason, taken, error);
}

int jobstack_suspect(struct jobstack *handle, const char *stack, uint64_t worker, uint64_t seq, const char *suspicion,
		     struct jobstack_error *error)
{
	struct js_stack s;
	char text[256];
	int status;

	JS_TRY(js_stack_find(handle, stack, &s, error));
	/* the seq goes with it: once the worker has moved, it says nothing any more */
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %s", seq, suspicion);
	status = js_handle_change(
		handle, 1, NULL, error,
		"UPDATE worker SET reason=%s WHERE worker_id=%u AND stack_id=%u AND seq=%u AND ended IS NULL",
		(const char *)text, worker, s.id, seq);
	return status == JS_DB_GUARD ? JOBSTACK_NOTHING : status;
}

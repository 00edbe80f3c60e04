/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How long the ledger's thread waits for the database.
 */
#include "worker/database.h"

#include "base/clock.h"
#include "base/error.h"
#include "worker/speaker.h"

#include <poll.h>

/* How long a worker waits for the database if a signal told it to end and it runs nothing. */
#define GOING_US (10 * JS_SECOND_US)
#define ABSENT_MS 2000 /* about how often it looks for a stack that does not exist yet, as idle workers do */

/* The database may be away, or another session may hold the stack's row for long: wait for it, as each step does.  A
 * call retries for some seconds what can end by itself, so an error that comes at once is final, except that there is
 * no stack. */
int database_begin(struct database *db, const struct jobstack_worker_options *options, int signals,
		   struct jobstack_error *error)
{
	const struct config *c = db->config;
	struct pollfd ended = {.fd = signals, .events = POLLIN};
	int64_t since = js_clock_mono_us(), began;
	int status, absent, told = 0;

	for (;;) {
		began = js_clock_mono_us();
		status = jobstack_worker_begin(db->handle, c->stack, options, &db->worker, error);
		absent = c->wait_for_stack && status == JOBSTACK_EMISSING &&
			 error->server_errno == JOBSTACK_WHY_NO_STACK;
		if (absent ? js_clock_mono_us() - since >= c->idle_us
			   : status != JOBSTACK_ENODB || js_clock_mono_us() - began < JS_SECOND_US ||
				     js_clock_mono_us() - since >= c->connect_us)
			return status;
		if (absent && !told && !c->quiet)
			speaker_say("there is no stack \"%s\" yet: waiting for it", c->stack);
		told |= absent;
		if (poll(&ended, 1, absent ? (int)(ABSENT_MS / 2 + began % ABSENT_MS) : 0) > 0 && !absent)
			return status;
		js_error_clear(error);
		if (ended.revents != 0)
			return JOBSTACK_NOTHING;
	}
}

/* Returns whether the database has been away for too long to repeat a call: until the lease ended, or, for a worker
 * that was told to end and runs nothing, for GOING_US. */
static int is_outage_too_long(struct database *db, int64_t since_us)
{
	int64_t now = jobstack_now_us();
	int going;

	(void)pthread_mutex_lock(&db->box->lock);
	going = db->box->leaving == LEAVE_SIGNAL && db->box->running == 0;
	(void)pthread_mutex_unlock(&db->box->lock);
	return now >= jobstack_worker_deadline_us(db->worker) || (going && now - since_us >= GOING_US);
}

int database_repeats(struct database *db, int status, int64_t since_us)
{
	if (status != JOBSTACK_ENODB || is_outage_too_long(db, since_us))
		return 0;
	js_error_clear(&db->error);
	js_clock_nap(JS_SECOND_US / 4, NULL);
	return 1;
}

void database_leave(struct database *db, enum leaving leaving, const char *why)
{
	(void)pthread_mutex_lock(&db->box->lock);
	mailbox_leave(db->box, leaving, why);
	(void)pthread_mutex_unlock(&db->box->lock);
}

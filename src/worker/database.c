/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How long the ledger's thread waits for the database.
 */
#include "worker/database.h"

#include "base/clock.h"
#include "base/error.h"

/* How long a worker waits for the database if a signal told it to end and it runs nothing. */
#define GOING_US (10 * JS_SECOND_US)

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

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * When an idle connection is closed.
 */
#include "worker/connection.h"

#include "base/clock.h"

#define IDLE_US (30 * JS_SECOND_US)	 /* after this time without a step the connection is closed... */
#define IDLE_SHORT_US (2 * JS_SECOND_US) /* ... or after this time, if commands take longer than: */
#define LONG_US (5 * JS_SECOND_US)
#define CHECK_US (30 * JS_SECOND_US) /* how often a connection that stays is checked */
#define CROWDED_CHECKS 4	     /* in each fourth check the server is asked how many connections are in use */
/* If CUTS_MOST connections in a row are ended within CUT_SOON_US, something on the way, such as a firewall, ends idle
 * connections.  Then none is kept open for NO_STAY_US, since each cut makes others believe that this worker is gone. */
#define CUTS_MOST 3
#define CUT_SOON_US (600 * JS_SECOND_US)
#define NO_STAY_US (3600 * JS_SECOND_US)

void connection_used(struct connection *c)
{
	c->closed = c->looked = 0;
}

int64_t connection_next_us(const struct connection *c, int64_t last_us)
{
	const struct mailbox *box = c->db->box;
	int are_long = box->running > 0 && (box->finished == 0 || box->mean_us >= LONG_US);

	if (!c->looked)
		return 0;
	if (c->stays)
		return c->check_us;
	return c->closed ? INT64_MAX : last_us + (are_long ? IDLE_SHORT_US : IDLE_US);
}

/* Keeps the connection open if it may stay and the server has enough of them, and checks that it stands.  Returns as
 * jobstack_worker_stay does. */
static int try_to_stay(struct connection *c)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	int status;

	if (!c->may_stay || jobstack_now_us() < c->stay_again_us)
		return JOBSTACK_NOTHING;
	outbox_ask(c->db->outbox, NULL, 0);
	status = jobstack_worker_stay(c->db->worker, &ignored);
	if (status == 0 && c->stays && ++c->checks % CROWDED_CHECKS == 0)
		jobstack_disconnect_if_crowded(c->db->handle);
	outbox_answered(c->db->outbox, 0);
	return status;
}

/* Notes that a connection that was to stay was ended by something else. */
static void note_cut(struct connection *c)
{
	int64_t now = jobstack_now_us();

	c->cuts = now - c->stays_since_us > CUT_SOON_US ? 0 : c->cuts + 1;
	if (c->cuts < CUTS_MOST)
		return;
	c->cuts = 0;
	c->stay_again_us = now + NO_STAY_US;
}

/* The first call after a step closes the connection if the server's are nearly all in use, and asks whether it may
 * stay.  A later call closes a connection that does not stay. */
int connection_check(struct connection *c)
{
	int stayed = c->stays, status = JOBSTACK_NOTHING;

	if (!c->looked)
		jobstack_disconnect_if_crowded(c->db->handle);
	if (!c->looked || c->stays) {
		status = try_to_stay(c);
		c->stays = status == 0;
	}
	if (c->stays && !stayed)
		c->stays_since_us = jobstack_now_us();
	if (stayed && status < 0)
		note_cut(c);
	if (c->looked && !c->stays) {
		c->closed = 1;
		jobstack_disconnect(c->db->handle);
	}
	c->looked = 1;
	c->check_us = jobstack_now_us() + CHECK_US;
	return stayed && status < 0;
}

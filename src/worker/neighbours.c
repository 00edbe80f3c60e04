/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of entries on other nodes.  Promise: without an answer of the database nothing is concluded.
 */
#include "worker/neighbours.h"

#include "base/buf.h"
#include "base/error.h"
#include "show/words.h"

#include <stdio.h>
#include <string.h>

/* A copy, since the supervisor goes on to note failures while the ledger asks the database. */
static struct suspicion read_suspicion(struct mailbox *box)
{
	struct suspicion now;

	(void)pthread_mutex_lock(&box->lock);
	now = box->suspicion;
	(void)pthread_mutex_unlock(&box->lock);
	return now;
}

/* ------------------------------------------------------------------------------------------------------ outcomes */

/* Remembers in words how the command of R failed: the reason to leave quotes it. */
static void note_failure(struct neighbours *n, const struct result *r)
{
	struct js_buf text = {0};

	show_failed(&text, "", 0, r->reason, r->outcome.err_tail.data, r->outcome.err_tail.len);
	(void)snprintf(n->failure, sizeof(n->failure), "%s", text.data != NULL ? text.data : "");
	js_buf_free(&text);
}

/* Turns the failure R into an interruption, which costs its entry no attempt. */
static void spare_entry(struct mailbox *box, struct result *r)
{
	char plain[REASON_MAX];

	memcpy(plain, r->reason, sizeof(plain));
	(void)snprintf(r->reason, sizeof(r->reason), "not counted: %.200s", plain);
	r->outcome.verdict = JOBSTACK_INTERRUPTED;
	r->outcome.cause = JOBSTACK_CAUSE_NODE;
	r->outcome.later = 2;
	(void)pthread_mutex_lock(&box->lock);
	box->failed--;
	box->dead -= (uint64_t)r->is_dead;
	(void)pthread_mutex_unlock(&box->lock);
	r->is_dead = 0;
}

int neighbours_are_unknown(const struct neighbours *n)
{
	const struct suspicion *run = &n->db->box->suspicion;

	return suspicion_asks(run) && !run->looked;
}

/* The order is that of the cost.  Without failures in a row nothing is asked; and as long as the other nodes were not
 * looked at, no failure is spared, since there may be no other node. */
void neighbours_judge(struct neighbours *n, struct result *results, struct jobstack_outcome *outcomes, size_t count)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct suspicion run = read_suspicion(n->db->box);
	uint64_t entries[JOBSTACK_POP_MAX];
	unsigned char found[JOBSTACK_POP_MAX];
	size_t at[JOBSTACK_POP_MAX], k = 0;

	for (size_t i = 0; i < count && suspicion_asks(&run); i++)
		if (results[i].outcome.verdict == JOBSTACK_FAILED && !results[i].outcome.fatal) {
			entries[k] = results[i].outcome.entry;
			at[k++] = i;
		}
	if (k == 0)
		return;
	note_failure(n, &results[at[k - 1]]);
	if (!suspicion_spares(&run, 1) || jobstack_worker_elsewhere(n->db->worker, entries, k, found, &error) != 0)
		return;
	for (size_t i = 0; i < k; i++)
		if (!suspicion_costs(&run, found[i] % JOBSTACK_DONE_ELSEWHERE)) {
			spare_entry(n->db->box, &results[at[i]]);
			outcomes[at[i]] = result_outcome(&results[at[i]]);
		}
}

/* ---------------------------------------------------------------------------------------------------- other nodes */

/* The workers of the stack, counted. */
struct other_workers {
	const struct suspicion *run;
	const char *own;
	int64_t now_us;
	unsigned others;     /* nodes other than this one */
	unsigned busy;	     /* workers that may have success (suspicion_may_work) */
	struct js_buf nodes; /* the names of all nodes, each once: ", n1, n2, " */
};

/* Counts one worker; a jobstack_worker_fn.  Scripts and workers whose lease is over don't count. */
static int note_worker(void *ctx, const struct jobstack_worker_row *w)
{
	struct other_workers *c = ctx;
	/* A worker reports what runs with its steps.  What it claimed with its last step began after that, so it is not
	 * in the report, and has run for nearly as long as the worker has been silent. */
	int64_t command_us = w->running == 0 ? 0 : w->longest_us > w->silent_us ? w->longest_us : w->silent_us + 1;
	const char *name = w->node != NULL ? w->node : w->host != NULL ? w->host : "?";
	char node[260];

	if (w->by_script || w->silent_us > w->lease_us)
		return 0;
	c->busy += (unsigned)suspicion_may_work(c->run, w->age_us, command_us, c->now_us);
	(void)snprintf(node, sizeof(node), ", %s, ", name);
	if (c->nodes.len > 0 && strstr(c->nodes.data, node) != NULL)
		return 0;
	c->others += strcmp(name, c->own) != 0;
	js_buf_str(&c->nodes, node + (c->nodes.len > 0 ? 2 : 0));
	return c->nodes.failed;
}

/* Returns whether the entries that failed here were done elsewhere, so often that this node is bad.  Then it says so in
 * WHY. */
static int is_bad(const struct neighbours *n, struct suspicion *run, char *why, size_t size)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	unsigned char found[SUSPICION_MOST];
	unsigned done = 0, failed = 0;

	if (jobstack_worker_elsewhere(n->db->worker, run->entry, run->n, found, &error) != 0)
		return 0;
	for (unsigned i = 0; i < run->n; i++) {
		done += (found[i] & JOBSTACK_DONE_ELSEWHERE) != 0;
		failed += found[i] > 0 && found[i] < JOBSTACK_DONE_ELSEWHERE;
	}
	(void)snprintf(why, size, "the last %u entries failed here, %u of them were done elsewhere%s", run->n, done,
		       n->failure);
	return suspicion_is_bad(run, done, failed, jobstack_now_us());
}

void neighbours_leave(const struct neighbours *n, const char *why)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	char text[600];

	(void)jobstack_worker_fact(n->db->worker, JOBSTACK_FACT_BAD_NODE, (int64_t)jobstack_worker_id(n->db->worker),
				   why, &ignored);
	(void)snprintf(text, sizeof(text), "bad node: %s", why);
	mailbox_stop(n->db->box, LEAVE_NODE, text, 0);
}

/* The database is asked without the mailbox's lock, so the run of failures may have grown meanwhile, or may have ended
 * with a success.  What was found is put back only if it is still the same run, and only the members that a look
 * changes. */
void neighbours_look(struct neighbours *n, const struct jobstack_idle *idle)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct mailbox *box = n->db->box;
	struct suspicion run = read_suspicion(box), *now = &box->suspicion;
	struct other_workers seen = {.run = &run, .own = n->node, .now_us = jobstack_now_us()};
	char why[400];
	int bad, same;

	if (!suspicion_asks(&run) ||
	    jobstack_workers(n->db->handle, n->db->config->stack, note_worker, &seen, &error) != 0 ||
	    seen.nodes.len == 0) {
		js_buf_free(&seen.nodes);
		return;
	}
	suspicion_see(&run, seen.others, seen.busy, idle->done, idle->waiting + idle->dead, seen.now_us);
	bad = run.others > 0 && is_bad(n, &run, why, sizeof(why));
	(void)pthread_mutex_lock(&box->lock);
	same = now->n >= run.n && now->since_us == run.since_us; /* there was no success meanwhile */
	if (same) {
		memcpy(run.entry, now->entry, sizeof(run.entry));
		run.n = now->n;
		run.far = now->far;
		run.confirmed = run.bad_us == 0 ? 0 : now->confirmed;
		*now = run;
		mailbox_slow_down(box);
	}
	(void)pthread_mutex_unlock(&box->lock);
	if (same && bad)
		neighbours_leave(n, why);
	else if (same && suspicion_is_hopeless(&run, idle->ready + idle->running)) {
		(void)snprintf(why, sizeof(why), "the last %u entries failed, and no worker succeeds on %.*s%s", run.n,
			       (int)(seen.nodes.len > 104 ? 100 : seen.nodes.len - 4), seen.nodes.data + 2, n->failure);
		mailbox_stop(box, LEAVE_PAUSING, why, 0);
	}
	js_buf_free(&seen.nodes);
}

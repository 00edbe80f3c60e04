/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The recovery of entries.  Promises: none is recovered from another worker without a proof of its death
 * (death/death.h); outcomes that a killed worker had written to its spool are delivered before its other entries are
 * requeued, so that none of them is recorded as lost.
 */
#include "worker/recovery.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/home.h"
#include "base/num.h"
#include "worker/outbox.h"
#include "worker/speaker.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_US (10 * JS_SECOND_US)
#define CROWD_US (600 * JS_SECOND_US) /* while the server has no free connection */

/* A worker waits long for its first connection, since the server may just be starting; later, each call waits for a
 * while. */
int recovery_connect(const struct config *config, int64_t first_us, struct jobstack **handle,
		     struct jobstack_error *error)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	char file[PATH_MAX];

	options.defaults_file = js_home_option_file(config->defaults_file, js_home_getenv, file, sizeof(file));
	options.patience_us = PATIENCE_US;
	options.log = speaker_log;
	options.log_ctx = (void *)(uintptr_t)config;
	options.crowd_us = CROWD_US;
	options.first_us = first_us;
	return jobstack_open(handle, &options, error);
}

/* ------------------------------------------------------------------------------------------------ other workers */

/* Prints what became of another worker, if somebody wants to know; an observer's callback. */
static void print_case(void *ctx, const struct js_observer_case *found)
{
	const struct config *config = ctx;
	char text[700];

	if (config->quiet || (found->verdict != JS_OBSERVER_TAKEN && !(config->verbose && found->runs_here)))
		return;
	js_observer_words(found, text, sizeof(text));
	speaker_say("%s", text);
}

struct js_budget recovery_budget(const struct config *config, struct jobstack *handle)
{
	return (struct js_budget){
		handle, {getenv("JOBSTACK_MODULE_DIR"), 0, NULL}, getenv("SLURM_CLUSTER_NAME"), config->site.slurm_us};
}

struct js_observer_options recovery_options(const struct config *config, uint64_t self)
{
	void *ctx = (void *)(uintptr_t)config;

	return (struct js_observer_options){
		.self = self,
		.report = print_case,
		.report_ctx = ctx,
		.log = config->verbose ? speaker_log : NULL, /* only people who ask want to know of a silent Slurm */
		.log_ctx = ctx,
		.module_dir = getenv("JOBSTACK_MODULE_DIR"),
		.cluster = getenv("SLURM_CLUSTER_NAME"),
		.ask_every_us = config->site.slurm_us};
}

/* The time limit may have been changed since the job began.  All workers of the job share one answer. */
static int find_job_end(const struct config *config, struct keeper_page *page, struct jobstack *handle,
			struct jobstack_error *error)
{
	const struct js_budget budget = recovery_budget(config, handle);
	struct js_slurm_env env;
	struct js_slurm_job job;

	js_slurm_env_read(&env, js_home_getenv);
	JS_TRY(js_budget_job(&budget, &env, budget.every_us, &job, error));
	page->job_end_us = job.end_us > 0 ? js_clock_mono_us() + job.end_us - js_clock_wall_us() : 0;
	return 0;
}

/* A look does one of two things, as the page says: a worker that asks for both gets the end of the job first, and asks
 * again. */
int recovery_look(const struct config *config, struct keeper_page *page)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_observer_options options = recovery_options(config, page->worker);
	struct jobstack *handle = NULL;
	int status = recovery_connect(config, 0, &handle, &error), for_end = page->job_end_us == KEEPER_ASKED;

	JS_THEN(status, for_end ? find_job_end(config, page, handle, &error)
				: js_observer_confirm(handle, config->stack, &options, NULL, &error));
	if (for_end && status != 0)
		page->job_end_us = 0;
	jobstack_free(handle);
	return status == 0 ? JS_EXIT_OK : JS_EXIT_NO;
}

/* ---------------------------------------------------------------------------------------------- a killed worker */

struct killed {
	const struct config *config;
	const struct keeper_page *page;
	enum jobstack_cause cause;
	char reason[128];
	uint64_t requeued, delivered; /* entries */
};

/* Tries once.  The spool comes first: after the recovery its outcomes would come too late, and their entries would run
 * again. */
static int try_requeue(struct killed *k, struct jobstack_error *error)
{
	struct jobstack *handle = NULL;
	int status = recovery_connect(k->config, 0, &handle, error), spooled = status == 0 && k->page->spools;

	if (spooled)
		status = outbox_deliver(handle, k->page->spool, k->cause, k->reason, &k->delivered, error);
	if (status == 0 || (spooled && status < 0 && status != JOBSTACK_ENODB)) { /* a spool that can't be used */
		js_error_clear(error);
		status = jobstack_recover_own(handle, k->config->stack, k->page->worker, k->page->token, k->cause,
					      k->reason, &k->requeued, error);
	}
	jobstack_free(handle);
	return status;
}

/* Waits for a database that is away for as long as the worker's lease: from then on other workers do it. */
static int requeue_until_lease_ends(struct killed *k, struct jobstack_error *error)
{
	int64_t until = js_clock_mono_us() + k->page->lease_us;
	char lease[64];
	int status;

	js_num_duration_text(k->page->lease_us, lease, sizeof(lease));
	for (int told = 0;; told = 1) {
		js_error_clear(error);
		status = try_requeue(k, error);
		if (status != JOBSTACK_ENODB || js_clock_mono_us() >= until)
			return status;
		if (!told)
			speaker_say("%s, and the database does not answer: trying for up to %s to requeue the worker's "
				    "entries",
				    k->reason, lease);
		js_clock_nap(JS_SECOND_US / 2, NULL);
	}
}

/* Requeues the entries of the killed worker, and prints what became of them. */
static void requeue_killed(struct killed *k)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int status = requeue_until_lease_ends(k, &error);

	if (status < 0 && k->page->spools)
		speaker_say("%s; its commands were ended, but its outcomes in %s could not be delivered: %s: "
			    "`jobstack close --replay %s` delivers them when the database is back",
			    k->reason, k->page->spool, error.text, k->page->spool);
	else if (status < 0)
		speaker_say("%s; its commands were ended, but its entries could not be requeued: %s: they will be "
			    "requeued when its lease has ended",
			    k->reason, error.text);
	else if (k->delivered > 0)
		speaker_say("%s: its commands were ended, %" PRIu64
			    " outcomes that waited were delivered, its other entries were requeued",
			    k->reason, k->delivered);
	else
		speaker_say("%s: its commands were ended, %" PRIu64 " %s requeued", k->reason, k->requeued,
			    k->requeued == 1 ? "entry was" : "entries were");
}

/* What can't be killed, usually in state D, may still write: then nothing is recovered here. */
void recovery_of_killed(const struct config *config, const struct keeper_page *page, const struct keeper_end *end)
{
	struct killed k = {.config = config, .page = page};

	k.cause = end->oom ? JOBSTACK_CAUSE_MEMORY : JOBSTACK_CAUSE_WORKER;

	(void)snprintf(k.reason, sizeof(k.reason), "the worker was killed by signal %d (%s)%s", end->signal,
		       strsignal(end->signal), end->oom ? ", out of memory" : "");
	if (page->worker == 0)
		speaker_say("%s before it had begun", k.reason);
	else if (end->left > 0)
		speaker_say("%s, and processes of its commands can't be killed (%zu). The worker's entries are "
			    "requeued when these processes have ended, or when the worker's lease has ended (then by "
			    "workers on other hosts)",
			    k.reason, end->left);
	else
		requeue_killed(&k);
}

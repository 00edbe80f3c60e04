/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack recover: requeues the entries of dead workers now.  Promise: nothing is taken from a worker whose death is
 * not proven; of workers that are only silent it prints what that means and what to do.
 */
#include "cli/recover.h"

#include "base/array.h"
#include "base/clock.h"
#include "show/amount.h"
#include "show/json.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WATCH_MAX_US (60 * JS_SECOND_US) /* without --wait */
#define SCRIPT_WATCH_US (3 * JS_SECOND_US)

/* A worker that may be dead, with copies of its texts. */
struct cli_suspect {
	struct js_observer_case c;
	char node[256], hint[256];
};

static void log_line(void *ctx, enum jobstack_level level, const char *text)
{
	const struct cli *cli = ctx;

	if (level <= JOBSTACK_LOG_INFO || cli->verbose)
		cli_say(cli, "%s", text);
}

static void add_json(struct cli_recovery *r, const struct js_observer_case *c)
{
	static const char *const verdict[] = {"taken", "would be taken", "suspect"};

	SHOW_APPEND(r->workers, KEY_COUNT("worker", c->worker), KEY_TEXT("node", c->node),
		    KEY_TEXT("verdict", verdict[c->killable ? JS_OBSERVER_WOULD : c->verdict]),
		    KEY_TEXT("reason", c->reason != NULL ? c->reason : c->hint), KEY_COUNT("entries", c->entries),
		    KEY_FLAG("script", c->by_script), KEY_REAL("silent_seconds", (double)c->silent_us / 1e6, 1),
		    KEY_REAL("lease_seconds", (double)c->lease_us / 1e6, 1));
}

/* Prints and counts a dead worker, once: a dry run changes nothing, so each of its looks finds the same worker again.
 */
static void report_taken(struct cli_recovery *r, const struct js_observer_case *c)
{
	char text[800];

	for (size_t i = 0; i < r->printed_n; i++)
		if (r->printed[i] == c->worker)
			return;
	if (js_array_grow(&r->printed, &r->printed_capacity, r->printed_n + 1, sizeof(*r->printed)) != 0)
		r->bad = 1;
	else
		r->printed[r->printed_n++] = c->worker;
	r->taken += c->entries;
	r->dead++;
	if (r->only != 0) {
		r->cause = c->cause;
		(void)snprintf(r->proof, sizeof(r->proof), "%s", c->reason != NULL ? c->reason : "");
		return;
	}
	js_observer_words(c, text, sizeof(text));
	cli_say(r->cli, "%s", text);
	if (r->workers != NULL)
		add_json(r, c);
}

static void add_suspect(struct cli_recovery *r, const struct js_observer_case *c)
{
	struct cli_suspect *suspect;

	if (js_array_grow(&r->left, &r->left_capacity, r->left_n + 1, sizeof(*r->left)) != 0) {
		r->bad = 1;
		return;
	}
	suspect = &r->left[r->left_n++];
	suspect->c = *c;
	(void)snprintf(suspect->node, sizeof(suspect->node), "%s", c->node);
	(void)snprintf(suspect->hint, sizeof(suspect->hint), "%s", c->hint != NULL ? c->hint : "");
}

/* Returns how long silence must be watched to prove this death.  A script's pop sends no heartbeats: its lease by the
 * server's clock decides, which two looks must see. */
static int64_t watch_us(const struct js_observer_case *c)
{
	return c->by_script ? SCRIPT_WATCH_US : c->lease_us;
}

/* Called for each worker that is dead or suspect.  A suspect is watched if that takes a minute at most or --wait is
 * given, but not if its command still runs here: as long as it does, silence proves nothing on this host. */
static void note_case(void *ctx, const struct js_observer_case *c)
{
	struct cli_recovery *r = ctx;

	if (r->only != 0 && (c->worker != r->only || c->killable))
		return;
	if (c->verdict != JS_OBSERVER_SUSPECT || c->killable) {
		report_taken(r, c);
		return;
	}
	add_suspect(r, c);
	if (!c->runs_here && (watch_us(c) <= WATCH_MAX_US || r->wait) && watch_us(c) > r->longest_us)
		r->longest_us = watch_us(c);
}

/* Prints a worker that may be dead, and what would prove it. */
static void report_suspect(struct cli_recovery *r, struct cli_suspect *s)
{
	char text[800];

	s->c.node = s->node;
	s->c.hint = s->hint[0] != '\0' ? s->hint : NULL;
	js_observer_words(&s->c, text, sizeof(text));
	if (s->c.by_script)
		cli_say(r->cli, "%s", text);
	else if (s->c.runs_here)
		cli_say(r->cli,
			"%s: while that process runs, nothing is recovered on this host.  Workers on other hosts can't "
			"see the process; they recover the entries when worker %" PRIu64 " has been silent for %s",
			text, s->c.worker, show_duration(s->c.lease_us).text);
	else
		cli_say(r->cli,
			"%s: any running worker of the stack that sees no heartbeat for %s recovers the entries; so "
			"does `jobstack recover -s %s --wait`",
			text, show_duration(s->c.lease_us).text, r->cli->stack);
	if (r->workers != NULL)
		add_json(r, &s->c);
}

/* If only the recovery of some worker failed, prints that, keeps its exit status, and returns 0: the others were
 * recovered.  Any other STATUS is returned. */
static int report_failed_recovery(struct cli_recovery *r, int status, const struct js_observer_result *result)
{
	if (status == 0 || result->failed == 0 || status != result->failed)
		return status;
	r->failed = cli_fail(r->cli);
	js_error_clear(&r->cli->error);
	return 0;
}

/* Watches the silent workers, until none is left that a longer look could prove dead.  The suspects are gathered anew
 * with each look. */
static int watch_silent(struct cli_recovery *r, const struct js_observer_options *options)
{
	int64_t longest = r->longest_us, until = INT64_MAX, next;
	struct jobstack_error *error = &r->cli->error;
	struct js_observer_result result;
	struct js_observer *watch;
	int status = js_observer_new(&watch, r->cli->handle, r->cli->stack, options, error);

	cli_say(r->cli, "watching %zu silent worker%s for up to %s", r->left_n, show_plural(r->left_n),
		show_duration(r->longest_us).text);
	while (status == 0 && r->longest_us > 0 && jobstack_now_us() < until) {
		r->left_n = 0;
		r->longest_us = 0;
		status = report_failed_recovery(r, js_observer_look(watch, &result, error), &result);
		/* the watch begins with the first answer, and again if a look comes too late: time for both */
		if (until == INT64_MAX)
			until = jobstack_now_us() + 2 * longest + 5 * JS_SECOND_US;
		next = result.next_us < until ? result.next_us : until;
		if (status == 0 && r->longest_us > 0)
			js_clock_nap(next - jobstack_now_us(), &cli_stop);
		if (status == 0 && cli_stop != 0)
			status = js_error_set(error, JOBSTACK_ESTOPPED, "stopped");
	}
	js_observer_free(watch);
	return status;
}

int cli_recover_dead(struct cli *cli, struct cli_recovery *r)
{
	const struct js_observer_options options = {.tell = note_case,
						    .tell_ctx = r,
						    .log = log_line,
						    .log_ctx = cli,
						    .stop = &cli_stop,
						    .module_dir = getenv("JOBSTACK_MODULE_DIR"),
						    .cluster = getenv("SLURM_CLUSTER_NAME"),
						    .all = 1,
						    .dry_run = r->dry_run};
	struct js_observer_result result;
	int status;

	r->cli = cli;
	status = report_failed_recovery(r, js_observer_confirm(cli->handle, cli->stack, &options, &result, &cli->error),
					&result);
	if (status == 0 && r->longest_us > 0)
		status = watch_silent(r, &options);
	r->suspects = r->left_n;
	for (size_t i = 0; status == 0 && r->only == 0 && i < r->left_n; i++)
		report_suspect(r, &r->left[i]);
	free(r->left);
	r->left = NULL;
	free(r->printed);
	r->printed = NULL;
	return status == 0 && r->bad ? js_error_memory(&cli->error) : status;
}

static int print_recovery(const struct cli *cli, const struct cli_recovery *r)
{
	const char *would = r->dry_run ? "would be " : "";

	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_COUNT("taken_back", r->taken),
				 KEY_COUNT("dead_workers", r->dead), KEY_COUNT("suspects", r->suspects),
				 KEY_FLAG("dry_run", r->dry_run), KEY_JSON("workers", json_incref(r->workers)));
	if (r->dead == 0 && r->suspects == 0)
		(void)puts("nothing to recover: no worker looks dead");
	else if (r->dead == 0)
		(void)printf("nothing %srecovered: %" PRIu64 " worker%s may be dead\n", would, r->suspects,
			     show_plural(r->suspects));
	else
		(void)printf("%" PRIu64 " %srecovered from %" PRIu64 " dead worker%s\n", r->taken, would, r->dead,
			     show_plural(r->dead));
	return 0;
}

static struct cli_recovery recovery;
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{0, "dry-run", NULL, "only print what would be done", CLI_FLAG(&recovery.dry_run)},
	{0, "wait", NULL,
	 "watch each silent worker for its whole lease, to see whether it is dead "
	 "(default: watch only workers with a lease of at most a minute)",
	 CLI_FLAG(&recovery.wait)},
	CLI_OPTS_REST};

/* Does the command itself.  Status 1 means that a death is still possible, so that a script knows that it has to come
 * again. */
static int recover_dead(struct cli *cli)
{
	struct cli_recovery *r = &recovery;
	int status = CLI_YES;

	r->workers = cli->json ? json_array() : NULL;
	if (cli_recover_dead(cli, r) != 0) {
		if (r->taken > 0 && !r->dry_run)
			cli_say(cli, "%" PRIu64 " had been recovered before this error:", r->taken);
		status = cli_fail(cli);
	} else {
		if (!cli->quiet || cli->json)
			status = print_recovery(cli, r);
		if (status == CLI_YES && r->dead == 0 && r->suspects > 0)
			status = CLI_NO;
		if (r->failed != 0)
			status = r->failed;
	}
	json_decref(r->workers);
	return status;
}

static const char about[] =
	"Puts the entries of dead workers back in the queue now. A worker counts as dead if its process on this host "
	"and\nall its commands have ended, if its Slurm job or step has ended, or if it sends no heartbeat for a "
	"whole lease while\nthis command watches. Before it requeues the entries of a dead worker, `jobstack recover` "
	"kills the processes on this\nhost that the worker's commands started and that still run. Running workers do "
	"all this automatically.";
static const char notes[] = "Exit status: 1 if no dead worker was found, but some workers may be dead; else 0.\n\n  "
			    "jobstack recover -s mystack --dry-run";
static const struct js_opts opts = {"jobstack recover", "[STACK] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_recover = {&opts,	   "only one stack can be given", CLI_CATCHES, 60 * JS_SECOND_US, NULL,
				      recover_dead};

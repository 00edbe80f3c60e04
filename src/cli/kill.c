/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack kill: ends the commands of entries that run, wherever they do.  Promises: what it says has happened is in
 * the database; a request stays there if nobody waits for it any more; no other attempt is killed than the one that ran
 * when it was called.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/home.h"
#include "cli/filter.h"
#include "cli/item.h"
#include "proc/proc.h"
#include "show/amount.h"
#include "show/words.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_US (JS_SECOND_US / 20) /* the first pause; each next one is longer, up to a second */
#define END_US (30 * JS_SECOND_US)  /* for TERM, the grace, KILL and the record, after the worker has learned of it */
#define IN_QUEUE (JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_HELD)

/* An entry, and its worker. */
struct target {
	uint64_t entry, worker;
	uint32_t attempt;	   /* that runs; 0: none */
	unsigned state;		   /* one JOBSTACK_IS_ bit; 0: not known */
	enum jobstack_cause cause; /* of the last attempt */
	char reason[256];
	char node[256], user[64];
	int64_t lease_us;
	int by_script, asked; /* the worker is a script's pop; the request is made */
	int here;	      /* the worker is on this host, and was told */
};

static int note_entry(void *ctx, const struct jobstack_item *i)
{
	struct target *t = ctx;

	t->state = i->state;
	t->worker = i->worker;
	t->attempt = i->state == JOBSTACK_IS_RUNNING && i->outcome < 0 ? i->attempt : 0;
	t->cause = i->cause;
	(void)snprintf(t->reason, sizeof(t->reason), "%s", i->reason == NULL ? "" : i->reason);
	return 0;
}

/* Reads the entry's state, worker and attempt anew. */
static int look_at_entry(struct cli *cli, struct target *t)
{
	t->state = 0;
	return cli_look_at_entry(cli, cli->stack, t->entry, note_entry, t, &t->state);
}

int cli_is_here(const struct jobstack_worker_row *w)
{
	char host[256] = "", space[64];

	(void)gethostname(host, sizeof(host) - 1);
	js_proc_space(space);
	return w->host != NULL && w->boot != NULL && strcmp(w->host, host) == 0 && strcmp(w->boot, space) == 0 &&
	       w->pid > 1 && w->pid <= INT32_MAX && w->pid_start >= 0 && js_proc_start((pid_t)w->pid) == w->pid_start;
}

static int note_worker(void *ctx, const struct jobstack_worker_row *w)
{
	struct target *t = ctx;

	if (w->worker != t->worker)
		return 0;
	(void)snprintf(t->node, sizeof(t->node), "%s", w->node != NULL ? w->node : "?");
	(void)snprintf(t->user, sizeof(t->user), "%s", w->user != NULL ? w->user : "?");
	t->lease_us = w->lease_us;
	t->by_script = w->by_script;
	/* asks it for a step now, if it is ours; SIGURG is ignored by who does not expect it */
	t->here = t->asked && cli_is_here(w) && kill((pid_t)w->pid, SIGURG) == 0;
	return 0;
}

/* Prints what became of an entry that does not run any more, or never did.  Returns the exit status: CLI_YES if it was
 * killed. */
static int explain_state(struct cli *cli, const struct target *t)
{
	const int killed = t->state == JOBSTACK_IS_DEAD && t->cause == JOBSTACK_CAUSE_KILLED;
	const char *word = show_state_word(t->state);
	char why[sizeof(t->reason) + 4] = "";

	if (t->reason[0] != '\0')
		(void)snprintf(why, sizeof(why), " (%s)", t->reason);
	if (killed)
		cli_say(cli, "entry %" PRIu64 " is dead: %s", t->entry, t->reason);
	else if (t->attempt != 0)
		cli_tell(cli, "entry %" PRIu64 " ended in another way, and is running again: try again", t->entry);
	else if ((t->state & IN_QUEUE) != 0)
		cli_tell(cli,
			 "entry %" PRIu64 " is not running, but %s%s: `jobstack cancel -s %s %" PRIu64 "` gives it up",
			 t->entry, word, why, cli->stack, t->entry);
	else
		cli_tell(cli, "entry %" PRIu64 " is not running, but %s%s", t->entry, word, why);
	return killed ? CLI_YES : CLI_NO;
}

/* Writes the request into the database, or says why it can't be made.  A worker of this host is nudged by a signal to
 * make its next step at once; others learn of the request with their next update. */
static int request_kill(struct cli *cli, struct target *t)
{
	int status = look_at_entry(cli, t);

	if (status == 0 && t->attempt == 0)
		return explain_state(cli, t);
	JS_THEN(status, jobstack_workers(cli->handle, cli->stack, note_worker, t, &cli->error));
	/* the request names worker and attempt: if the entry has ended meanwhile, it does not hit the next attempt */
	JS_THEN(status,
		jobstack_kill(cli->handle, cli->stack,
			      (struct jobstack_held){.worker = t->worker, .entry = t->entry, .attempt = t->attempt},
			      &cli->error));
	t->asked = status == 0;
	if (status == JOBSTACK_NOTHING && t->by_script)
		cli_tell(cli,
			 "entry %" PRIu64
			 " was popped by a script on %s (user %s): end that script, then `jobstack close -s %s %" PRIu64
			 " --exit 1` records it",
			 t->entry, t->node, t->user, cli->stack, t->entry);
	else if (status == JOBSTACK_NOTHING && look_at_entry(cli, t) == 0 && t->attempt == 0)
		return explain_state(cli, t);
	else if (status == JOBSTACK_NOTHING)
		cli_tell(cli, "the worker of entry %" PRIu64 " could not be asked to end it: try again", t->entry);
	JS_THEN(status, jobstack_workers(cli->handle, cli->stack, note_worker, t, &cli->error)); /* nudges it */
	if (status < 0)
		return cli_fail(cli);
	if (t->asked && (!t->here || strcmp(t->user, js_home_user()) != 0))
		cli_say(cli, "entry %" PRIu64 " runs on %s (user %s): its worker ends it %s%s", t->entry, t->node,
			t->user, t->here ? "now" : "with its next update, within ",
			t->here ? "" : show_duration(t->lease_us / 3).text);
	return status == 0 ? CLI_YES : CLI_NO;
}

/* Waits until the attempt has ended, longer each time, and prints what became of the entry.  The request stays in the
 * database even if nobody waits any more. */
static int wait_for_end(struct cli *cli, struct target *t)
{
	int64_t nap = LOOK_US, until = jobstack_now_us() + t->lease_us / 3 + END_US;
	uint32_t attempt = t->attempt;
	uint64_t worker = t->worker; /* what it gives back unstarted keeps its attempt, and its request is over */

	while (t->attempt == attempt && t->worker == worker && cli_stop == 0 && jobstack_now_us() < until) {
		js_clock_nap(nap, &cli_stop);
		nap = nap < JS_SECOND_US ? nap + nap / 4 : nap;
		if (cli_stop == 0 && look_at_entry(cli, t) != 0 && cli_stop == 0)
			return cli_fail(cli);
	}
	if ((t->attempt != attempt || t->worker != worker) && cli_stop == 0)
		return explain_state(cli, t);
	cli_tell(cli,
		 "entry %" PRIu64 " has not ended yet; the request stays, and `jobstack show -s %s %" PRIu64
		 "` shows what "
		 "became of it",
		 t->entry, cli->stack, t->entry);
	return CLI_TIMEOUT;
}

static struct cli_filter filter = CLI_FILTER_INIT; /* only the entries that are named, or all that run */
static int all;

/* Does --all: chooses the entries that run now.  0 to go on, or the exit status. */
static int choose_all(struct cli *cli)
{
	struct cli_numbers running = {0};

	filter.f.states = JOBSTACK_IS_RUNNING;
	if (cli_numbers_list(cli, &filter.f, &running) != 0)
		return cli_fail(cli);
	filter.f.entries = running.at;
	filter.f.entries_n = running.n;
	if (running.n > 0)
		return cli_confirm(cli, "end the commands of all %zu entries of the stack \"%s\" that run", running.n,
				   cli->stack);
	cli_say(cli, "no entry of the stack \"%s\" is running", cli->stack);
	return CLI_NO;
}

/* Requests the end of all entries before it waits for the first, so they end at the same time, and not one grace period
 * after the other. */
static int kill_entries(struct cli *cli)
{
	struct target *t = NULL;
	int result = CLI_YES;
	size_t n;

	if (cli_filter_entries(cli, &filter, 1) != 0)
		return cli_fail(cli);
	if (all)
		JS_TRY(choose_all(cli));
	n = filter.f.entries_n;
	t = calloc(n + 1, sizeof(*t));
	if (t == NULL)
		return cli_no_memory(cli);
	for (size_t i = 0; i < 2 * n && result != CLI_NODB; i++) { /* first all are asked */
		int status = 0;

		t[i % n].entry = filter.f.entries[i % n];
		if (i < n && cli_stop == 0)
			status = request_kill(cli, &t[i]);
		else if (i >= n && t[i % n].asked)
			status = wait_for_end(cli, &t[i % n]);
		result = status > result ? status : result;
	}
	free(t);
	return filter.missing > 0 && result <= CLI_NO ? CLI_USAGE : result;
}

static int check_kill(struct cli *cli)
{
	if (all && cli->words_n > 0)
		return cli_usage(cli, "--all ends all entries that run, so none can be named");
	if (all && !cli->stack_typed)
		return cli_usage(cli, "name the stack: `jobstack kill STACK --all`");
	if (!all && cli->words_n == 0)
		return cli_usage(cli,
				 "name the entries to kill, by number or datapath; `jobstack list%s%s -t running` "
				 "lists them, `jobstack kill STACK --all` ends all",
				 cli->stack_given ? " -s " : "", cli->stack_given ? cli->stack : "");
	return 0;
}

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{0, "all", NULL,
	 "end all entries of the stack that are running; pause it first, or\nworkers start the next ones",
	 CLI_FLAG(&all)},
	CLI_OPTS_YES,
	CLI_OPTS_TEXT};
static const char about[] =
	"Ends the command of each ENTRY (number or datapath), on any machine. The command gets TERM, and KILL after "
	"the worker's\n--grace. The entry is then dead, \"killed by USER\"; `jobstack requeue` runs it again. Waits "
	"until the command has ended:\non this host that is at once, elsewhere the worker learns of it within a "
	"third of its lease. Ctrl-C ends only the wait.\nEnds with 1 if an entry was not running, or ended "
	"otherwise; with 124 if the wait took too long.";
static const char notes[] = "  jobstack kill mystack 17\n  jobstack kill mystack /data/day1.nc /data/day2.nc\n  "
			    "jobstack kill mystack --all";
static const struct js_opts opts = {"jobstack kill", "[STACK] [OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_kill = {
	&opts, NULL, CLI_CATCHES | CLI_DIES | CLI_NAMED | CLI_CHANGES, 60 * JS_SECOND_US, check_kill, kill_entries};

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack run: push, work and summary in one, on this machine.  Promises: the worker starts with the first name, while
 * the others still come; the same command in the same directory goes on where it stopped; whatever ends it, what was
 * not finished is still on the stack.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/num.h"
#include "cli/input.h"
#include "view/amount.h"
#include "view/json.h"
#include "cli/worker.h"
#include "insight/stack.h"
#include "process/child.h"
#include "run/worker_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US (JS_SECOND_US / 4)

enum { CRLF = CLI_OWN, MAX_RUNNING, MAX_FAILURES };

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "the stack (default: one for this CMD in this directory)"},
	{'0', "null", NULL, "names end with NUL, as find -print0 writes them (else: lines)"},
	CLI_INPUT_OPT_CRLF(CRLF),
	{'a', "arg-file", "FILE", "read names from FILE, not from standard input"},
	{MAX_RUNNING, "max-running", "N",
	 "stack policy: run at most N entries at once, on all machines\ntogether (no limit)"},
	{MAX_FAILURES, "max-failures", "N", "stack policy: pause the stack when N entries are dead (never)"},
	JS_WORKER_OPTIONS_OF_RUN,
	CLI_OPTS_REST};

static struct run {
	struct cli *cli;
	struct cli_input input;
	struct jobstack_policy policy; /* for the push */
	const char *file, *log_dir, *output;
	int64_t began_us, looked_us;
	char cwd[PATH_MAX];
	struct cli_words passed;	 /* --name=value for the worker */
	int names, paused_once, limited; /* the first was given; the 2 behind it too; --max-entries was */
	pid_t worker;			 /* 0: none runs */
	int started, ended;		 /* workers so far; one has ended: its wait status is the next */
	int wait_status;
	int failed; /* could not be started, in cli.error */
	struct jobstack_status before, now;
} run = {.policy = JOBSTACK_POLICY_INIT};

/* ------------------------------------------------------------------------------------------------------- options */

/* The same command in the same directory has the same stack. */
static void name_stack(struct cli *cli)
{
	static char name[32];
	uint64_t hash = js_num_hash(JS_NUM_HASH, run.cwd, strlen(run.cwd));

	for (char **word = cli->words; *word != NULL; word++) {
		hash = js_num_hash(hash, "", 1);
		hash = js_num_hash(hash, *word, strlen(*word));
	}
	(void)snprintf(name, sizeof(name), "run-%016" PRIx64, hash);
	cli->stack = name;
}

/* An option of the worker's. */
static int take_run_worker_option(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct run *r = ctx;

	r->limited |= key == JS_WORKER_MAX_ENTRIES;
	if (key == JS_WORKER_LOG_DIR)
		r->log_dir = arg;
	if (key == JS_WORKER_OUTPUT)
		r->output = arg;
	cli_worker_pass(&r->passed, cli, key, arg);
	return 0;
}

static const struct cli_take takes[] = {{'0', CLI_FLAG(&run.input.nul)},
					{'a', CLI_WORD_ONCE(&run.file)},
					{CRLF, CLI_FLAG(&run.input.crlf)},
					{MAX_RUNNING, CLI_BY(cli_policy_take, &run.policy)},
					{MAX_FAILURES, CLI_BY(cli_policy_take, &run.policy)},
					{0, CLI_BY(take_run_worker_option, &run)},
					CLI_TAKE_END};

static int check_run(struct cli *cli)
{
	/* $JOBSTACK_STACK is not used: a command that a worker runs may well use `run` */
	cli->stack_given = cli->stack_typed;
	if (cli->quiet)
		cli_words_add(&run.passed, "--quiet");
	if (cli->verbose)
		cli_words_add(&run.passed, "--verbose");
	if (cli->words_n == 0 || cli->words[0][0] == '\0')
		return cli_usage(cli, "there is no command to run: jobstack run [OPTIONS] -- CMD {}");
	if (cli_input_open(cli, &run.input, run.file) != 0)
		return CLI_USAGE;
	if (getcwd(run.cwd, sizeof(run.cwd)) == NULL) {
		cli_tell(cli, "can't find the working directory: %s", strerror(errno));
		return CLI_USAGE;
	}
	if (!cli->stack_given)
		name_stack(cli);
	return 0;
}

/* ---------------------------------------------------------------------------------------------------- the worker */

/* Starts the worker, in our process group, so that Ctrl-C reaches it too.  Our input is not its input, and its output
 * is not mixed into JSON. */
static void start_worker(struct run *r)
{
	struct cli_words line = {0};
	struct js_child child = {.group = JS_CHILD_OURS, .out = r->cli->json ? STDERR_FILENO : 0};

	cli_worker_line(&line, r->cli, NULL, r->cli->defaults_file, &r->passed, r->cli->words);
	child.argv = (const char *const *)(uintptr_t)line.at;
	r->worker = line.failed ? js_error_memory(&r->cli->error) : js_child_start(&child, &r->cli->error);
	if (r->worker < 0) {
		r->worker = 0;
		r->failed = 1;
	}
	r->started++;
	r->ended = 0;
	cli_words_free(&line);
}

/* Has the worker ended (or was there none)? */
static int worker_ended(struct run *r)
{
	pid_t got = r->worker == 0 ? 0 : waitpid(r->worker, &r->wait_status, WNOHANG);

	if (r->worker == 0 || got == r->worker) {
		r->ended |= r->worker != 0;
		r->worker = 0;
		return 1;
	}
	return 0;
}

static int went_well(const struct run *r)
{
	return WIFEXITED(r->wait_status) && WEXITSTATUS(r->wait_status) == 0;
}

/* Waits for the worker's end.  A signal that came to us is passed on: it may have been meant for the whole group, but a
 * second one changes nothing for a worker that is leaving. */
static void wait_for_worker(struct run *r)
{
	int passed = 0;

	while (r->worker != 0) {
		if (cli_stop != 0 && passed != cli_stop) {
			passed = cli_stop;
			(void)kill(r->worker, passed == SIGINT ? SIGINT : SIGTERM);
		}
		if (!worker_ended(r))
			js_clock_nap(LOOK_US / 5, &cli_stop);
	}
}

/* The names for the push: the first, a pause in which it is written, then the others while the worker works. */
static int next_name(void *ctx, struct jobstack_bytes *datapath)
{
	struct run *r = ctx;
	int got;

	if (r->names > 0 && !r->paused_once) {
		r->paused_once = 1;
		return 2;
	}
	if (r->names > 0 && r->started == 0)
		start_worker(r);
	if (r->started > 0 && jobstack_now_us() - r->looked_us >= LOOK_US) {
		r->looked_us = jobstack_now_us();
		(void)worker_ended(r);
	}
	if (r->failed || (r->ended && !went_well(r)))
		return -1; /* there is no use in pushing for it */
	got = cli_input_next(&r->input, datapath);
	if (got != 0)
		return got;
	if (r->ended && !r->limited) { /* nothing had come for so long that it left */
		r->paused_once = 0;
		r->started = 0;
		r->ended = 0;
	}
	r->names = 1;
	return 0;
}

/* ------------------------------------------------------------------------------------------------------- summary */

/* The stack's numbers; all 0 if there is no such stack (yet). */
static int read_status(struct run *r, struct jobstack_status *s)
{
	int status = cli_read_status(r->cli, s);

	if (status != JOBSTACK_EMISSING)
		return status;
	js_error_clear(&r->cli->error);
	return 0;
}

static uint64_t count_left(const struct jobstack_status *s)
{
	return insight_stack_left(s) + s->cancelled;
}

static int print_run_json(struct run *r, const struct jobstack_push_result *pushed, uint64_t done, int64_t took_us)
{
	return CLI_PRINT(KEY_TEXT("stack", r->cli->stack), KEY_COUNT("pushed", pushed->pushed),
			 KEY_COUNT("skipped", pushed->skipped), KEY_COUNT("done", done),
			 KEY_COUNT("done_in_all", r->now.done), KEY_COUNT("dead", r->now.dead),
			 KEY_COUNT("left", count_left(&r->now)), KEY_SPAN("seconds", took_us),
			 KEY_REAL("rate", (double)done * 1e6 / (double)took_us, took_us > 0));
}

static void say_output(const struct run *r)
{
	if (r->output != NULL && strcmp(r->output, "-") == 0)
		return;
	if (r->output != NULL)
		cli_say(r->cli, "output is in %s; `jobstack logs -s %s ENTRY` prints the output of one entry",
			r->output, r->cli->stack);
	else
		cli_say(r->cli, "output is in %s/%s; `jobstack logs -s %s ENTRY` prints the output of one entry",
			r->log_dir != NULL ? r->log_dir : "jobstack-logs", r->cli->stack, r->cli->stack);
}

static int print_run_summary(struct run *r, const struct jobstack_push_result *pushed)
{
	int64_t took = jobstack_now_us() - r->began_us;
	uint64_t done, known = pushed->skipped < r->before.done ? pushed->skipped : r->before.done;

	if (read_status(r, &r->now) != 0)
		return cli_fail(r->cli);
	done = r->now.done > r->before.done ? r->now.done - r->before.done : 0;
	if (r->cli->json && print_run_json(r, pushed, done, took) != 0)
		return CLI_BUG;
	if (!r->cli->json && !r->cli->quiet)
		(void)printf("%" PRIu64 " done, %" PRIu64 " dead, %" PRIu64 " left in %s: %.1f files/s\n", done,
			     r->now.dead, count_left(&r->now), view_duration(took).text,
			     took > 0 ? (double)done * 1e6 / (double)took : 0.0);
	(void)fflush(stdout);
	if (known > 0)
		cli_say(r->cli,
			"%" PRIu64 " of these names were done before; `jobstack requeue -s %s -t done` runs them again",
			known, r->cli->stack);
	if (r->now.dead > 0)
		cli_say(r->cli,
			"`jobstack list -s %s` lists dead entries, `jobstack requeue -s %s` puts them back in the "
			"queue",
			r->cli->stack, r->cli->stack);
	if (r->now.running > 0)
		cli_say(r->cli, "%" PRIu64 " running elsewhere, or lost: see `jobstack status -s %s`", r->now.running,
			r->cli->stack);
	if (r->now.state == JOBSTACK_PAUSED)
		cli_say(r->cli, "the stack \"%s\" is paused: `jobstack resume -s %s` continues it", r->cli->stack,
			r->cli->stack);
	if (done > 0 || r->now.dead > 0)
		say_output(r);
	return r->now.dead > 0 || count_left(&r->now) > 0 ? CLI_NO : CLI_YES;
}

/* ----------------------------------------------------------------------------------------------------------- run */

/* What went wrong in the push; 0 if nothing did, or only that it was stopped. */
static int judge_push(struct run *r, int status, const struct jobstack_push_result *result)
{
	const struct cli_input *in = &r->input;

	if (status == JOBSTACK_ESTOPPED && cli_input_refused(r->cli, in, result->pushed))
		return CLI_USAGE;
	if (status == JOBSTACK_ESTOPPED && in->read_errno == 0 && !r->failed && cli_stop == 0)
		cli_say(r->cli, "the worker has ended, so the rest of the names was not read: run again to push them");
	if (status == 0 || status == JOBSTACK_NOTHING || r->failed ||
	    (status == JOBSTACK_ESTOPPED && in->read_errno == 0))
		return 0;
	if (status == JOBSTACK_ESTOPPED)
		cli_tell(r->cli, "can't read the input: %s", strerror(in->read_errno));
	else if (status == JOBSTACK_EINPUT && result->bad > 0)
		cli_tell(r->cli,
			 "%s %" PRIu64 " was refused: %s%s: the names before it are run; correct it, and run again",
			 in->nul ? "name" : "line", in->nul ? result->bad : in->lines, r->cli->error.text,
			 in->nul_line > 0 ? " (was -0 meant?)" : "");
	else
		return cli_fail(r->cli);
	return CLI_USAGE;
}

/* Pushes and works, to the end of both.  0, or the exit status of what went wrong. */
static int push_and_work(struct run *r, struct jobstack_push_result *result)
{
	struct jobstack_push_options options = JOBSTACK_PUSH_OPTIONS_INIT;
	int status;

	options.unique = 1;
	options.policy = &r->policy;
	options.cwd = r->cwd;
	status = jobstack_push_from(r->cli->handle, r->cli->stack, &options, next_name, r, result, &r->cli->error);
	status = judge_push(r, status, result);
	js_error_clear(r->failed ? NULL : &r->cli->error);
	cli_input_say_empty(r->cli, &r->input);
	/* what an earlier run left, or what came after a worker had left, is for a worker too */
	(void)worker_ended(r);
	if (cli_stop == 0 && !r->failed && r->worker == 0 && (!r->ended || (went_well(r) && !r->limited)) &&
	    read_status(r, &r->now) == 0 && r->now.ready + r->now.waiting + r->now.running > 0)
		start_worker(r);
	jobstack_disconnect(r->cli->handle);
	wait_for_worker(r);
	return status;
}

/* The exit status, from what the push, the worker and the stack say. */
static int run_status(struct run *r, int pushed, int stack)
{
	if (r->failed)
		return cli_fail(r->cli);
	if (pushed != 0)
		return pushed;
	if (r->started > 0 && WIFEXITED(r->wait_status) && WEXITSTATUS(r->wait_status) > CLI_NO)
		return WEXITSTATUS(r->wait_status);
	if (r->started > 0 && WIFSIGNALED(r->wait_status))
		cli_tell(r->cli, "the worker was killed by signal %d: run again to continue", WTERMSIG(r->wait_status));
	return stack;
}

static int push_and_run(struct cli *cli)
{
	struct run *r = &run;
	struct jobstack_push_result result = JOBSTACK_PUSH_RESULT_INIT;
	int status, stack;

	r->cli = cli;
	JS_TRY(cli_worker_try(cli, cli->defaults_file, &r->passed, cli->words, "nothing was pushed"));
	if (read_status(r, &r->before) != 0)
		return cli_fail(cli);
	cli_say(cli, "stack \"%s\"%s", cli->stack,
		count_left(&r->before) > 0 ? " has entries left from before: continuing" : "");
	if (isatty(r->input.fd))
		cli_say(cli, "type one name per line; Ctrl-D ends");
	r->began_us = jobstack_now_us();
	status = push_and_work(r, &result);
	if (r->started == 0 && status == 0 && !r->failed && cli_stop == 0 && r->before.pushed + result.pushed == 0) {
		cli_tell(cli, "nothing to do: the input is empty");
		return CLI_NO;
	}
	stack = print_run_summary(r, &result);
	cli_words_free(&r->passed);
	return run_status(r, status, stack);
}

static const char about[] = "Runs CMD on each line of standard input, on this machine: pushes the names (each once), "
			    "starts a jobstack-worker, and\nwaits. Run it again to continue where it stopped. Ends "
			    "with 0 if all entries are done, with 1 if any is dead or left.";
static const char notes[] =
	"In CMD and TEMPLATE: {} the datapath, {/} its base name, {//} its directory, {.} without extension, {/.} base "
	"name\nwithout extension, {#} the entry's number, {%} the slot. Without a placeholder the datapath becomes the "
	"last argument.\nWith --colsep, {1} {2} ... are the fields, {1/} {1//} {1.} {1/.} their parts.\n\n  find . "
	"-name '*.nc' -print0 | jobstack run -0 --slots 8 -- ./convert.sh {}";
static const struct js_opts opts = {"jobstack run", "[OPTIONS] -- CMD ARG...", about, table, notes, 1};
const struct cli_frame cli_run = {&opts, takes, NULL, CLI_DIES, 60 * JS_SECOND_US, check_run, push_and_run};

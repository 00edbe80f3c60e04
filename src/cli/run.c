/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack run: push, work and summary in one, on this machine.  Promises: the worker starts with the first name, while
 * the others still come; the same command in the same directory goes on where it stopped; whatever ends it, what was
 * not finished is still on the stack.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/last_start.h"
#include "cli/input.h"
#include "cli/run_list.h"
#include "cli/run_stack.h"
#include "cli/run_words.h"
#include "show/amount.h"
#include "show/json.h"
#include "show/words.h"
#include "cli/worker.h"
#include "figures/stack.h"
#include "frame/remedy.h"
#include "proc/child.h"
#include "exec/worker_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US (JS_SECOND_US / 4)
#define CONNECT_US (10 * JS_SECOND_US)

/* All that one call knows.  The worker is in one of three states:
 *
 *     worker  started  ended
 *     0       0        0      none was started yet, or the last one left without work: the next name starts one
 *     a pid   > 0      0      it runs
 *     0       > 0      1      it has ended, and WAIT_STATUS is its own */
static struct run {
	struct cli *cli;
	struct cli_input input;
	struct jobstack_policy policy; /* for the push */
	struct cli_run_how how;
	const char *log_dir, *output;
	int64_t began_us, looked_us;
	char cwd[PATH_MAX];
	struct cli_words passed;     /* --name=value for the worker */
	struct cli_words command;    /* CMD, without the files that were named beside it */
	struct cli_run_stack own;    /* without -s, or of a list */
	struct cli_run_list list;    /* of command lines */
	int follows;		     /* the stack is the one that belongs to the list */
	struct jobstack_bytes first; /* the first name, if it is to be given again; else data is NULL */
	int dry_run, repeat;
	int all_first;			 /* the worker starts when all names are pushed and were looked through */
	int names, paused_once, limited; /* the first was given; the 2 behind it too; --max-entries was */
	pid_t worker;			 /* 0: none runs */
	int started, ended;		 /* workers so far; one has ended: its wait status is the next */
	int wait_status;
	int failed; /* could not be started, in cli.error */
	struct jobstack_status before, now;
} run = {.policy = JOBSTACK_POLICY_INIT};

/* ------------------------------------------------------------------------------------------------------- options */

/* Passes an option on to the worker as it was given.  Only those that change what is read or said here are looked at.
 */
static int take_run_worker_option(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct run *r = ctx;

	r->limited |= key == JS_WORKER_MAX_ENTRIES;
	r->input.commands |= key == JS_WORKER_COMMANDS;
	if (key == JS_WORKER_LOG_DIR)
		r->log_dir = arg;
	r->how.as_is |= key == JS_WORKER_SHELL || key == JS_WORKER_PERSISTENT;
	if (key == JS_WORKER_OUTPUT || key == JS_WORKER_TAG || key == 'k')
		r->output = key == JS_WORKER_OUTPUT ? arg : "-";
	cli_pass(&r->passed, cli, key, arg);
	return 0;
}

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "the stack (default: one for this CMD in this directory)", NULL},
	{'0', "null", NULL, "names end with NUL, as find -print0 writes them (else: lines)", CLI_FLAG(&run.input.nul)},
	CLI_INPUT_OPT_CRLF(&run.input.crlf),
	{'a', "arg-file", "FILE", "read names from FILE, not from standard input", CLI_WORD_ONCE(&run.how.file)},
	{0, "max-running", "N", "~stack policy: run at most N entries at once, on all machines\ntogether (no limit)",
	 CLI_BY(cli_policy_take, &run.policy)},
	{0, "max-starts", "N/T",
	 "~stack policy: start at most N entries per T, on all machines together: 60/min, 5/s, 1/1.5s (no limit)",
	 CLI_BY(cli_policy_take, &run.policy)},
	{0, "delay", "D", "~the same as --max-starts 1/D", CLI_BY(cli_policy_take, &run.policy)},
	{0, "max-attempts", "N", "~stack policy: failed attempts before an entry is dead (3)",
	 CLI_BY(cli_policy_take, &run.policy)},
	{0, "retry-delay", "D", "~stack policy: wait before the first retry, doubled each time (5s)",
	 CLI_BY(cli_policy_take, &run.policy)},
	{0, "max-failures", "N", "~stack policy: pause the stack when N entries are dead (never)",
	 CLI_BY(cli_policy_take, &run.policy)},
	{CLI_CALL, "dry-run", NULL, "only print the command lines, one per name; the database is not asked",
	 CLI_FLAG(&run.dry_run)},
	{CLI_CALL + 1, "again", NULL, "repeat the last run in this directory, with its options and those given now",
	 CLI_FLAG(&run.repeat)},
	{0, JS_OPT_ANSWERS, NULL, NULL, js_worker_answers},
	{0, "plus", NULL, NULL, CLI_FLAG(&(int){0})}, /* its placeholders are there anyway */
	{0, "will-cite", NULL, NULL, CLI_FLAG(&(int){0})},
	{0, "link", NULL, NULL, CLI_FLAG(&run.how.link)},
	{0, "xapply", NULL, NULL, CLI_FLAG(&run.how.link)},
	JS_WORKER_OPTIONS_OF_RUN(CLI_BY(take_run_worker_option, &run)),
	JS_WORKER_OPTIONS_OF_DISPLAY(CLI_BY(take_run_worker_option, &run),
				     "default; without a terminal, a line now and then"),
	CLI_OPTS_REST};

/* Without a command, the lines of a file are the commands.  The call is recorded so, for --again. */
static void record_list(struct cli *cli, struct run *r)
{
	cli_run_list_find(&r->list, r->how.file);
	if (r->list.path[0] == '\0')
		return;
	r->list.is_typed = r->input.commands;
	r->input.commands = 1;
	if (!r->list.is_typed) {
		cli_words_add(&r->passed, "--commands");
		cli_words_add(&cli->options, "--commands");
	}
	if (r->how.file == NULL)
		cli_words_format(&cli->options, "--arg-file=%s", r->list.path);
}

/* Finds the command, opens the input, and names the stack: after the command in this directory, after the list in its
 * own, else after where the command lines come from. */
static int check_words(struct cli *cli)
{
	/* $JOBSTACK_STACK is not used: a command that a worker runs may well use `run` */
	cli->stack_given = cli->stack_typed;
	cli_words_add(&run.passed, "--of-run");
	if (cli->quiet)
		cli_words_add(&run.passed, "--quiet");
	if (cli->verbose)
		cli_words_add(&run.passed, "--verbose");
	if (cli->words_n == 0 && !run.input.nul && (!run.repeat || run.input.commands))
		record_list(cli, &run);
	else
		run.list.path[0] = '\0';
	JS_TRY(cli_run_words(cli, &run.how, &run.input, &run.command));
	/* --again typed by a person asks for no other names */
	JS_TRY(cli_input_open(cli, &run.input,
			      run.repeat && run.how.file == NULL && run.input.words == NULL && isatty(STDIN_FILENO)
				      ? "/dev/null"
				      : run.how.file));
	if (run.input.commands)
		run.input.known = &run.list.lines;
	if (run.list.path[0] != '\0') {
		JS_TRY(cli_run_list_check(cli, &run.list, &run.input, run.how.file == NULL));
		cli_run_stack_make(&run.own, "", (char *[]){run.list.path}, 1);
	} else if (run.input.commands)
		cli_run_stack_make(&run.own, run.cwd, (char *[]){(char[]){"commands"}}, 1);
	else
		cli_run_stack_make(&run.own, run.cwd, cli->words, cli->words_n);
	if (!cli->stack_given)
		cli->stack = run.own.base;
	return 0;
}

/* With --again, or -s alone, the words of the last call take the place of this call's before they are looked at. */
static int check_run(struct cli *cli)
{
	if (getcwd(run.cwd, sizeof(run.cwd)) == NULL) {
		cli_tell(cli, "can't find the working directory: %s", strerror(errno));
		return CLI_USAGE;
	}
	/* -s NAME alone continues that stack, even if standard input is a file: a script's may be anything */
	if (run.how.file == NULL)
		cli_run_list_find(&run.list, NULL);
	run.repeat |=
		cli->stack_typed && cli->words_n == 0 && !run.input.commands && run.how.file == NULL &&
		(run.list.path[0] == '\0' || (cli_connect(cli, CONNECT_US) == 0 &&
					      cli_last_start_way(cli->handle, cli->stack, NULL) == JOBSTACK_BY_RUN));
	run.how.as_is |= run.repeat;
	if (run.repeat) {
		cli_words_free(&run.passed);
		JS_TRY(cli_last_start_repeat(cli, JOBSTACK_BY_RUN, cli->stack_typed ? NULL : run.cwd));
		if (getcwd(run.cwd, sizeof(run.cwd)) == NULL)
			return CLI_USAGE;
	}
	return check_words(cli);
}

/* ---------------------------------------------------------------------------------------------------- the worker */

/* Starts the worker, in our process group, so that Ctrl-C reaches it too.  Our input is not its input, and its output
 * is not mixed into JSON.  NAMES not NULL: it only prints the commands for them. */
static void start_worker(struct run *r, const struct js_buf *names)
{
	struct cli_words line = {0};
	struct js_child child = {.group = JS_CHILD_OURS, .input = names, .out = r->cli->json ? STDERR_FILENO : 0};
	const struct jobstack_last start = {.way = JOBSTACK_BY_RUN, .cluster = "", .log = ""};

	if (names == NULL)
		cli_last_start_record(r->cli, &start, &r->command);
	cli_worker_line(&line, r->cli, names != NULL ? "--dry-names" : NULL, r->cli->defaults_file, &r->passed,
			r->cli->words);
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

/* Returns whether the worker has ended, or there was none. */
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

/* Returns whether the worker that has ended did so by itself, and without an error. */
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

/* Gives the push its names: the first one; then a pause (2), in which the push commits it; then the others, while the
 * worker is already running.  So a worker never starts on an empty stack, and the first command starts as soon as there
 * is one name. */
static int next_name(void *ctx, struct jobstack_bytes *datapath)
{
	struct run *r = ctx;
	int got;

	if (r->names > 0 && !r->paused_once) {
		r->paused_once = 1;
		return 2;
	}
	if (r->names > 0 && r->started == 0 && !r->all_first)
		start_worker(r, NULL);
	if (r->started > 0 && jobstack_now_us() - r->looked_us >= LOOK_US) {
		r->looked_us = jobstack_now_us();
		(void)worker_ended(r);
	}
	if (r->failed || (r->ended && !went_well(r)))
		return -1; /* there is no use in pushing for it */
	got = r->names > 0 || r->first.data == NULL ? cli_input_next(&r->input, datapath) : 0;
	if (got != 0)
		return got;
	if (r->names == 0 && r->first.data != NULL)
		*datapath = r->first; /* nothing was read since, so it is still there */
	else if (r->names == 0)
		r->first = *datapath;
	if (r->ended && !r->limited) { /* nothing had come for so long that it left */
		r->paused_once = 0;
		r->started = 0;
		r->ended = 0;
	}
	r->names = 1;
	return 0;
}

/* ------------------------------------------------------------------------------------------------------- summary */

/* Reads the stack's numbers; all are 0 if there is no such stack (yet). */
static int read_status(struct run *r, struct jobstack_status *s)
{
	int status = cli_read_status(r->cli, s);

	if (status != JOBSTACK_EMISSING)
		return status;
	js_error_clear(&r->cli->error);
	return 0;
}

/* Counts what a later `run` could do.  In a cancelled stack that is also what `jobstack resume` would bring back. */
static uint64_t count_left(const struct jobstack_status *s)
{
	return figures_stack_left(s) + (s->state == JOBSTACK_CANCELLED ? s->cancelled : 0);
}

static int print_run_json(struct run *r, const struct jobstack_push_result *pushed, uint64_t done, int64_t took_us)
{
	return CLI_PRINT(KEY_TEXT("stack", r->cli->stack), KEY_COUNT("pushed", pushed->pushed),
			 KEY_COUNT("skipped", pushed->skipped), KEY_COUNT("done", done),
			 KEY_COUNT("done_in_all", r->now.done), KEY_COUNT("dead", r->now.dead),
			 KEY_COUNT("left", count_left(&r->now)), KEY_SPAN("seconds", took_us),
			 KEY_REAL("rate", (double)done * 1e6 / (double)took_us, took_us > 0));
}

static void say_where_output_is(const struct run *r)
{
	const char *logs = r->log_dir != NULL ? r->log_dir : "jobstack-logs";
	char dir[2 * PATH_MAX];

	if (r->output != NULL && strcmp(r->output, "-") == 0)
		return;
	/* a line that is repeated may have been typed in another directory */
	(void)snprintf(dir, sizeof(dir), "%s%s%s/%s", r->repeat && logs[0] != '/' ? r->cwd : "",
		       r->repeat && logs[0] != '/' ? "/" : "", logs, r->cli->stack);
	if (r->output != NULL || access(dir, F_OK) == 0)
		cli_say(r->cli, "output is in %s; `jobstack logs -s %s ENTRY` prints the output of one entry",
			r->output != NULL ? r->output : dir, r->cli->stack);
}

/* Prints what this call has done, and what is left to do by hand.  Returns the exit status: CLI_NO if anything is dead
 * or left. */
static int print_run_summary(struct run *r, const struct jobstack_push_result *pushed)
{
	int64_t took = jobstack_now_us() - r->began_us;
	uint64_t done, known = r->before.done + r->before.pruned > 0 ? pushed->skipped : 0;

	if (read_status(r, &r->now) != 0)
		return cli_fail(r->cli);
	done = r->now.done > r->before.done ? r->now.done - r->before.done : 0;
	if (r->cli->json && print_run_json(r, pushed, done, took) != 0)
		return CLI_BUG;
	if (!r->cli->json && !r->cli->quiet)
		(void)printf("%" PRIu64 " done, %" PRIu64 " dead, %" PRIu64 " left in %s", done, r->now.dead,
			     count_left(&r->now), show_duration(took).text);
	if (!r->cli->json && !r->cli->quiet && done > 0 && took > 0)
		(void)printf(": %.1f %s/s", (double)done * 1e6 / (double)took,
			     r->input.commands ? "commands" : "files");
	if (!r->cli->json && !r->cli->quiet)
		(void)putchar('\n');
	(void)fflush(stdout);
	/* what was done before and then pruned is known by its name alone, so no requeue can bring it back */
	if (known > 0 && r->before.done == 0)
		cli_say(r->cli,
			"%" PRIu64 " of these names were done and pruned: only another stack (-s NAME) runs them again",
			known);
	else if (known > 0 && !r->repeat && r->now.dead == 0)
		cli_say(r->cli,
			"the stack already had %" PRIu64
			" of these names; `jobstack requeue -s %s -t done` runs them again",
			known, r->cli->stack);
	cli_say_failed(r->cli, r->now.dead);
	if (r->now.running > 0)
		cli_say(r->cli, "%" PRIu64 " running elsewhere, or lost: see `jobstack status -s %s`", r->now.running,
			r->cli->stack);
	/* at its max-failures the worker has said it, and resume would be refused */
	if (r->now.state == JOBSTACK_PAUSED &&
	    (r->now.max_failures <= 0 || r->now.dead < (uint64_t)r->now.max_failures))
		cli_say(r->cli, "the stack \"%s\" is paused: %s", r->cli->stack,
			js_remedy_fill(js_remedy_text(JS_WHY_PAUSED),
				       &(const struct js_remedy){.stack = r->cli->stack}));
	if (done > 0 || r->now.dead > 0)
		say_where_output_is(r);
	return r->now.dead > 0 || count_left(&r->now) > 0 ? CLI_NO : CLI_YES;
}

/* ----------------------------------------------------------------------------------------------------------- run */

/* If an argument of the command is a file, it was perhaps meant as a name: says how to write that. */
static void suggest_separator(const struct run *r)
{
	struct stat st;

	for (size_t i = 1; i < r->command.n; i++)
		if (lstat(r->command.at[i], &st) == 0) {
			cli_say(r->cli,
				"to run the command on the files that are named behind it, put ::: before them: "
				"`jobstack run %s ::: %s%s`",
				r->command.at[0], r->command.at[i], i + 1 < r->command.n ? " ..." : "");
			return;
		}
}

/* Prints what went wrong in the push, and returns the exit status.  Returns 0 if nothing did, or if the push was only
 * stopped: then the worker or the summary decides how the call ends. */
static int report_push(struct run *r, int status, const struct jobstack_push_result *result)
{
	const struct cli_input *in = &r->input;
	int refused = status == JOBSTACK_ESTOPPED ? cli_input_refused(r->cli, in, result->pushed) : 0;

	if (refused != 0)
		return refused;
	if (status == JOBSTACK_ESTOPPED && in->read_errno == 0 && !r->failed && cli_stop == 0)
		cli_say(r->cli, "the worker has ended, so the rest of the names was not read: run again to push them");
	if (status == 0 || status == JOBSTACK_NOTHING || r->failed ||
	    (status == JOBSTACK_ESTOPPED && in->read_errno == 0))
		return in->refused > 0 ? CLI_NO : 0;
	if (status != JOBSTACK_ESTOPPED)
		return cli_fail(r->cli);
	cli_tell(r->cli, "can't read the input: %s", strerror(in->read_errno));
	return CLI_USAGE;
}

/* After an ECONFLICT, returns whether another command has just created a stack with the name that was free for this
 * one.  Then this call has another name now, and the push begins again.  That is possible as long as no worker has
 * started: only the first name was read, and it is given once more.  If the name is still the same, the conflict has
 * another cause, and its error is kept. */
static int has_lost_name(struct run *r)
{
	struct jobstack_error first = r->cli->error;
	char name[JOBSTACK_STACK_MAX + 1];

	(void)snprintf(name, sizeof(name), "%s", r->cli->stack);
	js_error_clear(&r->cli->error);
	if (r->own.pushed.data != NULL && r->started == 0 && cli_run_stack_find(r->cli, &r->own) == 0 &&
	    strcmp(name, r->cli->stack) != 0) {
		r->names = r->paused_once = 0;
		cli_say(r->cli, "stack \"%s\"", r->cli->stack);
		return 1;
	}
	r->cli->error = first;
	return 0;
}

/* Pushes and works, to the end of both.  0, or the exit status of what went wrong. */
static int push_and_work(struct run *r, struct jobstack_push_result *result)
{
	struct jobstack_push_options options = JOBSTACK_PUSH_OPTIONS_INIT;
	int status;

	options.unique = 1;
	options.policy = &r->policy;
	options.cwd = r->cwd;
	do {
		options.origin = r->own.pushed.data != NULL ? &r->own.pushed : NULL;
		status = jobstack_push_from(r->cli->handle, r->cli->stack, &options, next_name, r, result,
					    &r->cli->error);
	} while (status == JOBSTACK_ECONFLICT && has_lost_name(r));
	status = report_push(r, status, result);
	/* an error of the push was printed just now; that of a worker that could not be started is printed at the end
	 */
	js_error_clear(r->failed ? NULL : &r->cli->error);
	cli_input_say_skipped(r->cli, &r->input);
	/* names that would share a file can be found only when all of them are there */
	if (r->all_first && cli_stop == 0 && result->pushed > 0)
		JS_TRY(cli_worker_try(r->cli, r->cli->defaults_file, &r->passed, r->cli->words,
				      "the names are pushed, but nothing was run"));
	/* what an earlier run left, or what came after a worker had left, is for a worker too */
	(void)worker_ended(r);
	if (cli_stop == 0 && !r->failed && r->worker == 0 && (!r->ended || (went_well(r) && !r->limited)) &&
	    read_status(r, &r->now) == 0 && r->now.ready + r->now.waiting + r->now.running > 0)
		start_worker(r, NULL);
	/* the worker may run for days, and has a connection of its own */
	jobstack_disconnect(r->cli->handle);
	wait_for_worker(r);
	return status;
}

/* Returns the exit status, from what the push, the worker and the stack say, in this order. */
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

/* Reads all names, each with a NUL behind it.  0, or the exit status of what is wrong. */
static int read_names(struct run *r, struct js_buf *names)
{
	struct jobstack_bytes name;
	int got;

	while ((got = cli_input_next(&r->input, &name)) == 0 || got == 2) {
		if (got == 2)
			continue;
		js_buf_add(names, name.data, name.len);
		js_buf_add(names, "", 1);
	}
	if (names->failed)
		return cli_no_memory(r->cli);
	return got < 0 ? report_push(r, JOBSTACK_ESTOPPED, &(struct jobstack_push_result){.size = 0}) : 0;
}

/* Does --dry-run.  Only the worker knows how templates are filled in, so it gets the names, and prints the commands. */
static int print_commands(struct run *r)
{
	struct js_buf names = {0};
	int status = read_names(r, &names);

	if (status == 0) {
		start_worker(r, &names);
		wait_for_worker(r);
		status = r->failed		     ? cli_fail(r->cli)
			 : WIFEXITED(r->wait_status) ? WEXITSTATUS(r->wait_status)
						     : CLI_NO;
	}
	js_buf_free(&names);
	return status == 0 && r->input.refused > 0 ? CLI_NO : status;
}

/* Does the whole command.  The order matters: the worker checks its options before a name is pushed for it; its check
 * needs the stack's name, which is found before that; and the summary subtracts the numbers that are read just before
 * the push. */
static int push_and_run(struct cli *cli)
{
	struct run *r = &run;
	struct jobstack_push_result result = JOBSTACK_PUSH_RESULT_INIT;
	const char *given = cli->stack;
	int status, stack;

	r->cli = cli;
	if (r->dry_run)
		return print_commands(r);
	if (cli->handle == NULL)
		JS_TRY(cli_connect(cli, 60 * JS_SECOND_US));
	if (r->input.words != NULL)
		JS_TRY(cli_refuse_stack(cli, r->input.words, r->input.words_n));
	if (cli->words_n == 1 && strchr(cli->words[0], '/') == NULL && !js_child_is_in_path(cli->words[0]))
		JS_TRY(cli_refuse_stack(cli, cli->words, 1));
	if (!cli->stack_given || r->list.path[0] != '\0')
		JS_TRY(cli_run_stack_find(cli, &r->own));
	r->follows = r->list.path[0] != '\0' && (!cli->stack_given || strcmp(given, cli->stack) == 0);
	if (cli->stack_given) { /* that of -s may have the lines of other lists, too */
		cli->stack = given;
		r->own.pushed = (struct jobstack_bytes){NULL, 0};
	}
	JS_TRY(cli_worker_try(cli, cli->defaults_file, &r->passed, cli->words, "nothing was pushed"));
	r->all_first = cli_worker_may_clash(&r->passed);
	if (r->follows && r->own.found)
		JS_TRY(cli_run_list_follow(cli, &r->list, 1));
	if (read_status(r, &r->before) != 0)
		return cli_fail(cli);
	if (r->input.words == NULL && isatty(r->input.fd) && count_left(&r->before) > 0) {
		cli_say(cli, "no names are given, so this continues with what is left");
		JS_TRY(cli_input_open(cli, &r->input, "/dev/null"));
	} else if (r->input.words == NULL && isatty(r->input.fd)) {
		cli_say(cli, "type one %s per line; Ctrl-D ends", r->input.commands ? "command" : "name");
		suggest_separator(r);
		cli_words_add(&r->passed, "--progress=never"); /* it would be drawn over what is typed */
	} else if (!r->repeat && !r->follows && r->before.pushed > 0)
		cli_say(cli,
			"this adds to the stack \"%s\" of earlier runs (%" PRIu64 " done, %" PRIu64 " dead, %" PRIu64
			" left%s); -s NAME keeps lists apart",
			cli->stack, r->before.done + r->before.pruned, r->before.dead, count_left(&r->before),
			count_left(&r->before) > 0 ? " that run now, too" : "");
	if (r->limited && !r->repeat && r->before.ready + r->before.waiting > 0)
		cli_say(cli,
			"the stack has %" PRIu64
			" %s left from before: --max-entries counts what is left, too, and it may run first",
			SHOW_ENTRIES(r->before.ready + r->before.waiting));
	r->began_us = jobstack_now_us();
	status = push_and_work(r, &result);
	if (r->started == 0 && status == 0 && !r->failed && cli_stop == 0 && r->before.pushed + result.pushed == 0) {
		cli_tell(cli, "nothing to do: %s",
			 r->input.words != NULL ? "no names were given" : "the input is empty");
		suggest_separator(r);
		return CLI_NO;
	}
	if (r->started == 0 && status != 0)
		return status;
	if (r->started == 0 && !r->failed)
		cli_say(cli, "stack \"%s\": nothing new to run", cli->stack);
	if (r->follows && cli_stop == 0)
		JS_TRY(cli_run_list_follow(cli, &r->list, 0));
	stack = print_run_summary(r, &result);
	cli_words_free(&r->passed);
	return run_status(r, status, stack);
}

static const char about[] =
	"Runs CMD on each FILE, or on each line of standard input, on this machine: pushes the names (each once), "
	"starts a\njobstack-worker, and waits. To continue where it stopped, run it again, or type `jobstack run -s "
	"NAME`. Ends with 0 if\nall entries are done, with 1 if any is dead or left.";
static const char notes[] = "In CMD and TEMPLATE: {} the datapath, {/} its base name, {//} its directory, {.} without "
			    "extension, {..} without "
			    "two, {/.}\nbase name without extension, {#} the entry's number, {%} the slot. Without a "
			    "placeholder the datapath "
			    "becomes the last\nargument. With --colsep, {1} {2} ... are the fields, {1/} {1//} {1.} "
			    "{1/.} their parts. Without "
			    "CMD, the lines of FILE\nare the commands.\n\n  find . -name '*.nc' -print0 | jobstack run "
			    "-0 -j 8 -- ./convert.sh "
			    "{}\n  jobstack run -j 8 ./convert.sh {} ::: *.nc\n  jobstack run -j 8 <tasks.txt";
static const struct js_opts opts = {
	"jobstack run", "[OPTIONS] [FILE...] -- CMD ARG...  or  [OPTIONS] CMD ARG... ::: FILE...  or  [OPTIONS] <TASKS",
	about,		table,
	notes,		1};
const struct cli_frame cli_run = {&opts, NULL, CLI_DIES | CLI_OFFLINE, 60 * JS_SECOND_US, check_run, push_and_run};

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack push: puts datapaths onto a stack, from its arguments, a file or standard input, as they come.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/input.h"
#include "show/json.h"
#include "show/words.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Points out arguments that may have been meant otherwise.  They are pushed all the same: a datapath may be anything.
 */
static void question_words(const struct cli *cli, char *const *words)
{
	const char *missing = NULL;
	int files = 0, n = 0;
	struct stat st;

	for (; n < CLI_DOUBT_WORDS && words[n] != NULL; n++) {
		if (lstat(words[n], &st) == 0)
			files++;
		else if (missing == NULL)
			missing = words[n];
	}
	if (n == 1 && files == 1 && stat(words[0], &st) == 0 && S_ISDIR(st.st_mode))
		cli_say(cli,
			"%s is a directory, and was pushed as one entry; to push its files: find %s -type f -print0 | "
			"jobstack push -0",
			words[0], words[0]);
	else if (files > 0 && missing != NULL)
		cli_say(cli,
			"there is no file %s, but this name was pushed all the same (if it was meant as the stack's "
			"name, write -s NAME)",
			missing);
}

#define LOOK_EVERY 256 /* names between two looks at the clock */

/* The names on their way to the database, which are counted for the line of progress. */
struct counted {
	struct cli_input *input;
	uint64_t n;
	int64_t began_us;
	struct cli_progress progress;
};

/* Gives the next name, and shows how many there were.  The clock is looked at seldom: names come by the million. */
static int next_counted(void *ctx, struct jobstack_bytes *datapath)
{
	struct counted *c = ctx;
	int got = cli_input_next(c->input, datapath);

	c->n += got == 0;
	if ((c->n % LOOK_EVERY == 0 || got == 2) && cli_progress_due(&c->progress))
		cli_progress(&c->progress, "%" PRIu64 " names, %.0f/s", c->n,
			     (double)c->n * 1e6 / (double)(jobstack_now_us() - c->began_us));
	return got;
}

static struct request {
	struct jobstack_push_options options;
	struct jobstack_policy policy; /* of the stack; its priority is that of the new entries alone */
	struct cli_input input;
	const char *file;
} request = {.options = JOBSTACK_PUSH_OPTIONS_INIT, .policy = JOBSTACK_POLICY_INIT};

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{'0', "null", NULL, "names end with NUL, as find -print0 writes them (else: lines)",
	 CLI_FLAG(&request.input.nul)},
	CLI_INPUT_OPT_CRLF(&request.input.crlf),
	{'a', "arg-file", "FILE", "read names from FILE, not from standard input", CLI_WORD_ONCE(&request.file)},
	{0, "commands", NULL,
	 "the names are command lines, for workers with --commands: skip blank lines and # comments",
	 CLI_FLAG(&request.input.commands)},
	{0, "unique", NULL, "skip names that the stack has already, so that an interrupted push\ncan be repeated",
	 CLI_FLAG(&request.options.unique)},
	{0, "atomic", NULL, "all or nothing: no entry can be popped before the push is complete",
	 CLI_FLAG(&request.options.atomic)},
	{0, "priority", "N", "entries with a larger number go first (default 0)",
	 CLI_BY(cli_policy_take, &request.policy)},
	{0, "lifo", NULL, "~a new stack is popped last in, first out", CLI_FLAG(&request.options.lifo)},
	{0, "max-attempts", "N", "stack policy: failed attempts before an entry is dead (3)",
	 CLI_BY(cli_policy_take, &request.policy)},
	{0, "max-losses", "N",
	 "~stack policy: an entry is dead after N lost attempts: its worker died, or a whole job's wall time was too "
	 "short (5)",
	 CLI_BY(cli_policy_take, &request.policy)},
	{0, "retry-delay", "D", "~stack policy: wait before the first retry, doubled each time (5s)",
	 CLI_BY(cli_policy_take, &request.policy)},
	{0, "max-running", "N", "stack policy: run at most N entries at once (no limit)",
	 CLI_BY(cli_policy_take, &request.policy)},
	{0, "max-starts", "N/T",
	 "~stack policy: start at most N entries per T, on all machines together: 60/min, 5/s, 1/1.5s (no limit)",
	 CLI_BY(cli_policy_take, &request.policy)},
	{0, "max-failures", "N", "~stack policy: pause the stack when N entries are dead (never)",
	 CLI_BY(cli_policy_take, &request.policy)},
	{0, "strict-order", NULL, "~stack policy: pop exactly in order, also where nearly in order is faster",
	 CLI_BY(cli_policy_take, &request.policy)},
	CLI_OPTS_REST};

static int check_push(struct cli *cli)
{
	request.input.words = cli->words_n > 0 ? cli->words : NULL;
	request.input.words_n = cli->words_n;
	request.input.atomic = request.options.atomic;
	return cli_input_open(cli, &request.input, request.file);
}

/* The stack is named only for a person who has not named one. */
static int print_pushed(struct cli *cli, const struct jobstack_push_result *result)
{
	const uint64_t refused = request.input.refused;
	const int status = refused > 0 ? CLI_NO : CLI_YES;

	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_COUNT("pushed", result->pushed),
				 KEY_COUNT("skipped", result->skipped), KEY_COUNT("refused", refused)) != 0
			       ? CLI_BUG
			       : status;
	(void)printf("%" PRIu64 " pushed", result->pushed);
	if (result->skipped > 0)
		(void)printf(", %" PRIu64 " skipped (known already)", result->skipped);
	if (refused > 0)
		(void)printf(", %" PRIu64 " refused", refused);
	if (!cli->stack_given && isatty(STDOUT_FILENO))
		(void)printf(" to the stack \"%s\"", cli->stack);
	(void)putchar('\n');
	return status;
}

/* Prints what went wrong, how much was pushed before, and how to continue.  Returns the exit status. */
static int explain_failure(struct cli *cli, const struct request *r, const struct jobstack_push_result *result)
{
	const struct cli_input *in = &r->input;
	const char *again = r->options.atomic ? "nothing was pushed"
					      : "push again with --unique, which skips the names that were pushed";
	int status;

	(void)fflush(stdout);
	if (cli->error.code == JOBSTACK_ESTOPPED && in->read_errno != 0) {
		cli_tell(cli, "can't read the input: %s: %" PRIu64 " %s had been pushed; %s", strerror(in->read_errno),
			 SHOW_NAMES(result->pushed), again);
		return CLI_USAGE;
	} else if (cli->error.code == JOBSTACK_ESTOPPED && (status = cli_input_refused(cli, in, result->pushed)) != 0)
		return status;
	else if (cli->error.code == JOBSTACK_ESTOPPED)
		cli_tell(cli, "interrupted after pushing %" PRIu64 " %s: %s", SHOW_NAMES(result->pushed), again);
	else {
		status = cli_fail(cli);
		if (result->pushed > 0)
			cli_tell(cli, "%" PRIu64 " %s had been pushed: %s", SHOW_NAMES(result->pushed), again);
		return status;
	}
	cli_die_by_signal();
	return CLI_USAGE;
}

/* --priority is one of the policy's options, but here it is that of the new entries alone, so it is taken out of the
 * policy, which would apply to all that are queued. */
static int push_names(struct cli *cli)
{
	struct counted counted = {.input = &request.input};
	struct jobstack_push_result result = JOBSTACK_PUSH_RESULT_INIT;
	int status;
	char cwd[PATH_MAX];

	if (request.policy.priority != JOBSTACK_PRIORITY_UNCHANGED)
		request.options.priority = request.policy.priority;
	request.policy.priority = JOBSTACK_PRIORITY_UNCHANGED;
	request.options.policy = &request.policy;
	request.options.cwd = getcwd(cwd, sizeof(cwd));
	JS_TRY(cli_refuse_stack(cli, cli->words, cli->words_n));
	if (request.input.words != NULL && !request.input.commands)
		question_words(cli, cli->words);
	else if (request.input.words == NULL && isatty(request.input.fd))
		cli_say(cli, "type one name per line; Ctrl-D ends");
	counted.progress.cli = cli;
	counted.began_us = jobstack_now_us();
	status = jobstack_push_from(cli->handle, cli->stack, &request.options, next_counted, &counted, &result,
				    &cli->error);
	cli_progress_end(&counted.progress);
	cli_input_say_skipped(cli, &request.input);
	if (status == JOBSTACK_NOTHING) {
		cli_tell(cli, request.input.refused > 0 ? "nothing was pushed" : "nothing to push: the input is empty");
		return CLI_NO;
	}
	if (status != 0)
		return explain_failure(cli, &request, &result);
	if (!request.options.lifo && result.before > 0 && !(request.options.unique && cli->stack_given))
		cli_say(cli, "the stack \"%s\" already had %" PRIu64 " %s%s%s", cli->stack, SHOW_ENTRIES(result.before),
			request.options.unique
				? ""
				: ": a name that is pushed twice runs twice, unless you push with --unique",
			cli->stack_given ? "" : "; use -s NAME to keep lists apart");
	if (request.options.lifo && result.before > 0)
		cli_say(cli, "--lifo has no effect: the stack \"%s\" already had %" PRIu64 " %s, and keeps its order",
			cli->stack, SHOW_ENTRIES(result.before));
	return print_pushed(cli, &result);
}

static const char about[] = "Pushes its arguments, or without arguments the lines of standard input, onto a stack, and "
			    "prints how many it pushed.\nEntries can be popped while the push is still running.";
static const char notes[] = "  find /data -name '*.nc' -print0 | jobstack push -0 -s mystack\n\nIf an argument "
			    "contains * or ? and there is no such file, the shell has found no match for a pattern: "
			    "then nothing is\npushed, and the status is 1. From standard input any name is accepted.";
static const struct js_opts opts = {"jobstack push", "[OPTIONS] [DATAPATH...]", about, table, notes, 0};
const struct cli_frame cli_push = {&opts, NULL, CLI_CATCHES, 60 * JS_SECOND_US, check_push, push_names};

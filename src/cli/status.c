/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack status: all stacks in a table, or one in detail with its live workers, what fails and what has run long; or
 * why not more runs.  The counts of a stack are one SELECT: they balance.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "view/json.h"
#include "insight/snapshot.h"
#include "view/screen.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_US (10 * JS_SECOND_US)

enum { EXIT_CODE = CLI_OWN, WHY };

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "this stack in detail (default: $JOBSTACK_STACK, else all stacks)"},
	{'w', "watch", "[SEC]",
	 "again and again, every SEC seconds (default 2; -w5); on a terminal in\nplace, until q or Ctrl-C"},
	{WHY, "why", NULL, "say in words why nothing, or not more, runs, and what to do about it"},
	{EXIT_CODE, "exit-code", NULL, "end with 1 if anything is dead or unfinished"},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {"jobstack status",
				    "[OPTIONS]",
				    "Shows what is ready, running, done and dead, the rate and the end, and of one "
				    "stack the live workers, what fails and\n"
				    "what has run longest (`jobstack list -t running` shows all that runs).",
				    table,
				    "pushed = ready + waiting + held + running + done + dead + cancelled + moved + "
				    "pruned. waiting: for a retry; held: by a\n"
				    "push --atomic that has not ended; dead: has used up its attempts, see `jobstack "
				    "list -t dead`; moved: by `requeue --to`;\n"
				    "pruned: done, and their history is gone. The rate is that of the last minutes, "
				    "and the end is told as exactly as it is\n"
				    "known. Colours only on a terminal, and not with NO_COLOR in the environment.\n\n"
				    "  jobstack status -s mystack -w5\n"
				    "  jobstack status -s mystack --why",
				    0};

struct request {
	int64_t every_us; /* 0: once */
	int why, exit_code;
};

/* What is shown of a look, as one text. */
static int show(const struct insight_snapshot *l, const struct request *r, struct js_buf *out, unsigned columns,
		int colours)
{
	const struct cli *cli = l->cli;

	for (size_t i = 0; i < l->n && (cli->json || r->why); i++) {
		json_t *o = NULL;
		char *text;

		if (!cli->json) {
			cli_why_text(l, &l->seen[i], out);
			continue;
		}
		o = r->why ? cli_why_json(l, &l->seen[i]) : view_status_json(l, &l->seen[i], cli->stack_given);
		text = view_json_line(o);
		if (text == NULL)
			return -1;
		js_buf_str(out, text);
		js_buf_char(out, '\n');
		free(text);
	}
	if (!cli->json && !r->why && cli->stack_given)
		view_status_detail(l, out, columns, colours);
	else if (!cli->json && !r->why && l->n > 0)
		view_status_table(l, out, columns, colours);
	return out->failed ? -1 : 0;
}

/* Asks and prints.  Gives the exit status; *ALARMING for --exit-code. */
static int round_of(struct cli *cli, const struct request *r, int *alarming)
{
	struct insight_snapshot l = {.cli = cli};
	struct js_buf out = {0};
	int status = insight_snapshot_read(&l, cli->stack_given);

	*alarming = l.alarming;
	if (status == 0 && show(&l, r, &out, view_columns(stdout), view_colours(stdout)) != 0)
		status = js_error_memory(&cli->error);
	if (status != 0)
		status = cli_fail(cli);
	else if (out.len > 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	if (status == 0 && l.n == 0)
		cli_say(cli, "there are no stacks yet: `jobstack push` makes one");
	js_buf_free(&out);
	insight_snapshot_free(&l);
	return status;
}

/* Why watching ends: a stack that is not there any more was there before, which is an answer and no mistake. */
static int watch_fail(struct cli *cli)
{
	int status = cli_fail(cli);

	return status == CLI_USAGE ? CLI_NO : status;
}

/* Not a terminal: one round after the other. */
static int watch_lines(struct cli *cli, const struct request *r)
{
	int64_t next = jobstack_now_us();
	int status, alarming, away = 0;

	for (;;) {
		struct insight_snapshot l = {.cli = cli};
		struct js_buf out = {0};

		status = insight_snapshot_read(&l, cli->stack_given);
		if (status == 0 && show(&l, r, &out, 0, 0) != 0)
			status = js_error_memory(&cli->error);
		alarming = status == JOBSTACK_ENODB && cli_stop == 0;
		if (status == 0 && out.len > 0)
			(void)fwrite(out.data, 1, out.len, stdout);
		if (alarming && !away)
			cli_say(cli, "%s: still trying", cli->error.text);
		if (away && status == 0)
			cli_say(cli, "the database is there again");
		away = alarming;
		js_buf_free(&out);
		insight_snapshot_free(&l);
		if (alarming)
			js_error_clear(&cli->error);
		else if (status != 0 && cli_stop == 0)
			return watch_fail(cli);
		if (fflush(stdout) != 0 || ferror(stdout))
			return CLI_YES; /* cli_end tells */
		for (next += r->every_us; cli_stop == 0 && jobstack_now_us() < next;)
			js_clock_nap(next - jobstack_now_us(), &cli_stop);
		if (cli_stop != 0) {
			jobstack_free(cli->handle);
			cli_die_by_signal();
		}
		if (!cli->json && !away)
			(void)putchar('\n');
	}
}

/* The line above: when it was, and how to leave. */
static void head_line(const struct cli *cli, const struct request *r, const char *trouble, struct js_buf *out)
{
	char now[32] = "", line[400];
	time_t t = time(NULL);
	struct tm tm;

	if (localtime_r(&t, &tm) != NULL)
		(void)strftime(now, sizeof(now), "%H:%M:%S", &tm);
	(void)snprintf(line, sizeof(line), "%s  %s, every %.3g s, q leaves%s%.300s", now,
		       cli->stack_given ? cli->stack : "all stacks", (double)r->every_us / 1e6,
		       trouble[0] != '\0' ? ": " : "", trouble);
	view_cut(out, line, view_columns(stdout));
	js_buf_str(out, "\n\n");
}

/* Draws the last look, with what is wrong meanwhile. */
static int draw(struct insight_snapshot *l, const struct request *r, const char *trouble)
{
	struct js_buf out = {0}, text = {0};
	unsigned columns = view_columns(stdout);
	int bad;

	head_line(l->cli, r, trouble, &out);
	bad = l->n > 0 ? show(l, r, &text, columns, view_colours(stdout)) : 0;
	if (text.data != NULL)
		view_wrap(&out, text.data, r->why ? columns : 0);
	if (l->n == 0 && trouble[0] == '\0')
		js_buf_str(&out, "there are no stacks yet\n");
	if (bad == 0 && !out.failed)
		view_screen_draw(out.data);
	js_buf_free(&text);
	js_buf_free(&out);
	return bad;
}

/* On a terminal, in place.  At the end the last picture stays below, where it can be read. */
static int watch_screen(struct cli *cli, const struct request *r)
{
	struct insight_snapshot last = {.cli = cli};
	enum view_screen_event event = VIEW_SCREEN_TIME;
	char trouble[400] = "";
	struct js_buf out = {0};
	int status = 0;

	view_screen_begin();
	for (int64_t next = jobstack_now_us(); event != VIEW_SCREEN_LEAVE; event = view_screen_wait(next)) {
		struct insight_snapshot l = {.cli = cli};

		if (event == VIEW_SCREEN_TIME) {
			status = insight_snapshot_read(&l, cli->stack_given);
			next = jobstack_now_us() + r->every_us;
			if (status == 0) {
				insight_snapshot_free(&last);
				last = l;
			} else
				insight_snapshot_free(&l);
			if (status != 0 && (status != JOBSTACK_ENODB || cli_stop != 0))
				break;
			(void)snprintf(trouble, sizeof(trouble), "%.390s", cli->error.text);
			js_error_clear(&cli->error);
			status = 0;
		}
		if (draw(&last, r, trouble) != 0) {
			status = js_error_memory(&cli->error);
			break;
		}
	}
	view_screen_end();
	if (last.n > 0 && show(&last, r, &out, view_columns(stdout), view_colours(stdout)) == 0 && out.len > 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	js_buf_free(&out);
	insight_snapshot_free(&last);
	if (cli_stop != 0) {
		jobstack_free(cli->handle);
		cli_die_by_signal();
	}
	return status == 0 ? CLI_YES : watch_fail(cli);
}

static int on_screen(const struct cli *cli)
{
	return isatty(STDOUT_FILENO) && !view_is_dumb() && !cli->json;
}

/* Watching begins with a stack that is there: else it is a mistake in its name.  One that goes later is an answer. */
static int watch(struct cli *cli, const struct request *r)
{
	struct insight_stack stack = {.cwd = {0}};
	int status = cli->stack_given ? cli_stack(cli, &stack) : 0;

	insight_stack_free(&stack);
	if (status != 0)
		return cli_fail(cli);
	return on_screen(cli) ? watch_screen(cli, r) : watch_lines(cli, r);
}

int cli_status_main(int argc, char **argv)
{
	struct request r = {0, 0, 0};
	int key, status = 0, alarming = 0;
	const char *arg;
	struct cli cli;

	cli_begin(&cli, &opts);
	while ((key = cli_next(&cli, argc, argv, &arg, &status)) >= 0) {
		if (key == EXIT_CODE)
			r.exit_code = 1;
		else if (key == WHY)
			r.why = 1;
		else if (*arg == '\0')
			r.every_us = 2 * JS_SECOND_US;
		else if (js_num_duration(arg, &r.every_us) != 0 || r.every_us < JS_SECOND_US / 10)
			return cli_usage(
				&cli, "-w takes seconds of at least 0.1, with no blank before them, not \"%s\"", arg);
	}
	if (key == -2)
		return status;
	if (optind < argc && r.every_us > 0 && js_num_duration(argv[optind], &r.every_us) == 0)
		return cli_usage(&cli, "%s goes with -w in one word: -w%s", argv[optind], argv[optind]);
	if (optind < argc)
		return cli_usage(&cli, "\"%s\" is one word too many: a stack is named with -s", argv[optind]);
	if (r.every_us > 0 && r.exit_code)
		return cli_usage(&cli, "--exit-code is about one look, and -w looks until it is stopped: `jobstack "
				       "wait` waits for the end");
	if (r.every_us > 0) {
		cli_catch_signals();
		cli.quiet |=
			on_screen(&cli); /* what the library logs would stand across the picture, which tells as much */
	}
	status = cli_connect(&cli, r.every_us > 0 ? 0 : PATIENCE_US);
	if (status != 0)
		return status;
	status = r.every_us > 0 ? watch(&cli, &r) : round_of(&cli, &r, &alarming);
	return cli_end(&cli, status == CLI_YES && r.exit_code && alarming ? CLI_NO : status);
}

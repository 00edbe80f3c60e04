/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack status: all stacks in a table, or one in detail with its live workers, what fails and what has run long; or
 * why not more runs.  The counts of a stack are one SELECT: they balance.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/num.h"
#include "cli/again.h"
#include "cli/why.h"
#include "insight/stack.h"
#include "view/json.h"
#include "view/screen.h"
#include "view/status.h"
#include "view/term.h"
#include "view/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HEAD_LINES 2 /* above what is watched */

static struct request {
	int64_t every_us; /* 0: once */
	int why, exit_code;
} request;

/* The stack that is wanted, or NULL for all. */
static const char *wanted_stack(const struct cli *cli)
{
	return cli->stack_given ? cli->stack : NULL;
}

/* Is one stack shown in detail? */
static int is_detail(const struct cli *cli)
{
	return cli->stack_given && cli->stacks_n < 2;
}

static int read_snapshot(struct cli *cli, struct insight_snapshot *l)
{
	int status = 0;

	if (cli->stacks_n < 2) {
		JS_TRY(insight_snapshot_read(cli->handle, wanted_stack(cli), l, &cli->error));
		if (l->idle.alone && !request.why)
			cli_idle_ask(cli, l->seen[0].stack.name, &l->idle);
		return request.why ? insight_snapshot_steps(cli->handle, l, &cli->error) : 0;
	}
	for (size_t i = 0; i < cli->stacks_n && status == 0; i++) {
		cli->stack = cli->stacks[i];
		status = insight_snapshot_add(cli->handle, cli->stack, l, &cli->error);
	}
	return status;
}

/* The page for standard output, which may be a pipe. */
static struct view_page stdout_page(struct js_buf *out)
{
	unsigned columns = view_columns(stdout);

	return (struct view_page){out, columns, view_colours(stdout), 0, columns > 0 && js_bar_utf8()};
}

/* For the help desk: which node was bad, in which job, when, and what it said. */
static int add_bad_node(void *ctx, const struct jobstack_worker_row *w)
{
	struct js_buf *text = ctx;
	time_t at = time(NULL) - (time_t)(w->silent_us / JS_SECOND_US);
	char node[300], when[40] = "";
	struct tm tm;

	(void)snprintf(node, sizeof(node), "bad node %s, ", w->node);
	if (text->len > 0 && strstr(text->data, node) != NULL) /* another worker has said so */
		return 0;
	if (localtime_r(&at, &tm) != NULL)
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	js_buf_char(text, '\n');
	view_safe(text, node, strlen(node));
	js_buf_printf(text, "%s%s%s%s: ", w->job != NULL ? "job " : "", w->job != NULL ? w->job : "",
		      w->job != NULL ? ", " : "", when);
	view_safe(text, w->suspicion, strlen(w->suspicion));
	js_buf_str(text, " (--exclude=");
	view_safe(text, w->node, strlen(w->node));
	js_buf_str(text, " avoids it)");
	return text->len > 1000;
}

/* One stack; where entries are left and nothing runs, with the last command line, and what continues. */
static void render_detail(const struct cli *cli, const struct insight_snapshot *l, const struct view_page *page)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf next = {0}, last = {0}, text = {0}, more = {0};
	struct view_page above = *page;

	(void)jobstack_ended_bad(cli->handle, l->seen[0].stack.name, add_bad_node, &text, &ignored);
	js_buf_str(&text, text.len > 0 ? "\n" : "");
	if (l->idle.alone && cli_again_way(cli->handle, l->seen[0].stack.name, &last) >= 0 && last.data != NULL) {
		cli_idle_next(l->seen[0].stack.name, &l->idle, &next);
		js_buf_printf(&text, "\nlast started %s\n%s\n", last.data, next.data != NULL ? next.data : "");
	}
	if (text.data != NULL)
		view_wrap(&more, text.data, page->columns);
	for (size_t i = 0; i < more.len; i++)
		above.rows -= more.data[i] == '\n' && above.rows > 1;
	view_status_detail(l, &above);
	js_buf_add(page->out, more.data != NULL ? more.data : "", more.len);
	js_buf_free(&next);
	js_buf_free(&last);
	js_buf_free(&text);
	js_buf_free(&more);
}

/* What is shown of a snapshot, as one text; not 0 without memory. */
static int render_snapshot(const struct cli *cli, const struct insight_snapshot *l, const struct request *r,
			   const struct view_page *page)
{
	struct js_buf *out = page->out;
	int bad = 0;

	for (size_t i = 0; i < l->n && cli->json && !bad; i++)
		bad = view_json_line(
			r->why ? cli_why_json(l, &l->seen[i]) : view_status_json(l, &l->seen[i], is_detail(cli)), out);
	for (size_t i = 0; i < l->n && !cli->json && r->why; i++)
		cli_why_text(l, &l->seen[i], out);
	if (cli->json || r->why || l->n == 0)
		return bad || out->failed;
	if (is_detail(cli))
		render_detail(cli, l, page);
	else
		view_status_table(l, page);
	return out->failed;
}

/* Asks and prints; *ALARMING for --exit-code.  0, or a JOBSTACK_E code with cli->error filled. */
static int show_once(struct cli *cli, const struct request *r, int terminal, int *alarming)
{
	struct insight_snapshot l = {.n = 0};
	struct js_buf out = {0};
	const struct view_page page = terminal ? stdout_page(&out) : (struct view_page){.out = &out};
	int status = read_snapshot(cli, &l);

	*alarming = l.alarming;
	if (status == 0 && render_snapshot(cli, &l, r, &page) != 0)
		status = js_error_memory(&cli->error);
	if (status == 0 && out.len > 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	if (status == 0 && l.n == 0 && terminal)
		cli_say(cli, "there are no stacks yet: `jobstack push` creates one");
	js_buf_free(&out);
	insight_snapshot_free(&l);
	return status;
}

/* Why watching ends: a stack that is not there any more was there before, which is an answer and no mistake. */
static int fail_watching(struct cli *cli)
{
	int status = cli_fail(cli);

	return status == CLI_USAGE ? CLI_NO : status;
}

static void die_watching(struct cli *cli)
{
	if (cli_stop == 0)
		return;
	jobstack_free(cli->handle);
	cli_die_by_signal();
}

/* Not a terminal: one round after the other. */
static int watch_lines(struct cli *cli, const struct request *r)
{
	int64_t next = jobstack_now_us();
	int status, alarming, away, was_away = 0;

	for (;; was_away = away) {
		status = show_once(cli, r, 0, &alarming);
		away = status == JOBSTACK_ENODB && cli_stop == 0;
		if (away && !was_away)
			cli_say(cli, "%s: still trying", cli->error.text);
		if (was_away && status == 0)
			cli_say(cli, "the database can be reached again");
		if (away)
			js_error_clear(&cli->error);
		else if (status != 0 && cli_stop == 0)
			return fail_watching(cli);
		if (fflush(stdout) != 0 || ferror(stdout))
			return CLI_YES; /* cli_end tells */
		for (next += r->every_us; cli_stop == 0 && jobstack_now_us() < next;)
			js_clock_nap(next - jobstack_now_us(), &cli_stop);
		die_watching(cli);
		if (!cli->json && !away)
			(void)putchar('\n');
	}
}

/* The line above: when it was, and how to leave. */
static void add_head_line(const struct cli *cli, const struct request *r, const char *trouble,
			  const struct view_page *page)
{
	struct js_buf line = {0};
	char now[32] = "";
	time_t t = time(NULL);
	struct tm tm;

	if (localtime_r(&t, &tm) != NULL)
		(void)strftime(now, sizeof(now), "%H:%M:%S", &tm);
	js_buf_printf(&line, "%s  %s, every %.3g s, q leaves%s", now,
		      is_detail(cli)	  ? cli->stack
		      : cli->stacks_n > 0 ? "these stacks"
					  : "all stacks",
		      (double)r->every_us / 1e6, trouble[0] != '\0' ? ": " : "");
	view_safe_words(&line, trouble);
	if (line.data != NULL)
		view_cut(page->out, line.data, page->columns);
	js_buf_str(page->out, "\n\n");
	js_buf_free(&line);
}

/* Draws the last snapshot, with what is wrong meanwhile.  Without memory -1; 1: the terminal is gone. */
static int draw_snapshot(const struct cli *cli, const struct insight_snapshot *l, const struct request *r,
			 const char *trouble)
{
	struct js_buf out = {0}, text = {0};
	struct view_page page = stdout_page(&out);
	int bad;

	view_screen_size(&page.columns, &page.rows); /* whatever $COLUMNS says: a wider line would wrap */
	add_head_line(cli, r, trouble, &page);
	page.out = &text;
	page.rows = page.rows > HEAD_LINES ? page.rows - HEAD_LINES : 1;
	bad = render_snapshot(cli, l, r, &page);
	if (text.data != NULL)
		view_wrap(&out, text.data, r->why ? page.columns : 0);
	if (l->n == 0 && trouble[0] == '\0')
		js_buf_str(&out, "there are no stacks yet\n");
	bad = bad != 0 || out.failed ? -1 : view_screen_draw(out.data) != 0;
	js_buf_free(&text);
	js_buf_free(&out);
	return bad;
}

/* On a terminal, in place.  At the end the last picture stays below, where it can be read. */
static int watch_screen(struct cli *cli, const struct request *r)
{
	struct insight_snapshot shots[2] = {{.n = 0}, {.n = 0}}, *last = &shots[0], *next = &shots[1], *read;
	enum view_screen_event event = VIEW_SCREEN_TIME;
	char trouble[400] = "";
	struct js_buf out = {0};
	struct view_page page = stdout_page(&out);
	int status = 0, drawn;

	view_screen_begin(&cli_stop);
	for (int64_t at = jobstack_now_us(); event != VIEW_SCREEN_LEAVE; event = view_screen_wait(at)) {
		if (event == VIEW_SCREEN_TIME) {
			status = read_snapshot(cli, next);
			at = jobstack_now_us() + r->every_us;
			if (status == 0) {
				read = next;
				next = last;
				last = read;
			}
			insight_snapshot_free(next);
			if (status != 0 && (status != JOBSTACK_ENODB || cli_stop != 0))
				break;
			(void)snprintf(trouble, sizeof(trouble), "%.390s", cli->error.text);
			js_error_clear(&cli->error);
			status = 0;
		}
		drawn = draw_snapshot(cli, last, r, trouble);
		if (drawn < 0)
			status = js_error_memory(&cli->error);
		if (drawn != 0)
			break; /* where the terminal is gone, cli_end tells */
	}
	view_screen_end();
	view_screen_size(&page.columns, &page.rows);
	if (last->n > 0 && render_snapshot(cli, last, r, &page) == 0 && out.len > 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	js_buf_free(&out);
	insight_snapshot_free(last);
	die_watching(cli);
	return status == 0 ? CLI_YES : fail_watching(cli);
}

static int on_screen(const struct cli *cli)
{
	return isatty(STDOUT_FILENO) && !view_is_dumb() && !cli->json;
}

/* Watching begins with a stack that is there: else it is a mistake in its name.  One that goes later is an answer. */
static int watch_status(struct cli *cli, const struct request *r)
{
	struct jobstack_status s;

	if (is_detail(cli) && cli_read_status(cli, &s) != 0)
		return cli_fail(cli);
	return on_screen(cli) ? watch_screen(cli, r) : watch_lines(cli, r);
}

static int take_interval(struct cli *cli, void *every_us, int key, const char *arg)
{
	int64_t us = 2 * JS_SECOND_US;

	(void)key;
	if (*arg != '\0' && (js_num_duration(arg, &us) != 0 || us < JS_SECOND_US / 10))
		return cli_usage(cli, "-w takes a time of at least 0.1 s, not \"%s\"", arg);
	*(int64_t *)every_us = us;
	return 0;
}

static const struct js_opt table[] = {
	{'s', "stack", "NAME",
	 "this stack in detail, or several in a table (default: $JOBSTACK_STACK, else all stacks)", NULL},
	{'w', "watch", "[SEC]",
	 "repeat every SEC seconds (default 2) until q or Ctrl-C; on a terminal the screen is redrawn",
	 CLI_BY(take_interval, &request.every_us)},
	{0, "why", NULL, "explain why no more work is running, and what to do about it", CLI_FLAG(&request.why)},
	{0, "exit-code", NULL, "end with 1 if anything is dead or unfinished", CLI_FLAG(&request.exit_code)},
	CLI_OPTS_REST};

static int check_status(struct cli *cli)
{
	if (request.every_us > 0 && request.exit_code)
		return cli_usage(cli,
				 "--exit-code and -w can't be used together: to wait for the end use `jobstack wait`");
	return 0;
}

static int print_or_watch_status(struct cli *cli)
{
	int watches = request.every_us > 0, alarming = 0;

	if (watches) {
		cli_catch_signals();
		cli->quiet |= on_screen(cli); /* the screen shows what the library would log */
	}
	JS_TRY(cli_connect(cli, watches ? 0 : 10 * JS_SECOND_US));
	if (watches)
		return watch_status(cli, &request);
	if (show_once(cli, &request, 1, &alarming) != 0)
		return cli_fail(cli);
	return request.exit_code && alarming ? CLI_NO : CLI_YES;
}

static const char about[] = "Shows how many entries are ready, running, done and dead, the rate and the expected end; "
			    "for one stack also the live\nworkers, what fails, and what has run longest (`jobstack "
			    "list -t running` lists all running entries).";
static const char notes[] =
	"pushed = ready + waiting + held + claimed + running + done + dead + cancelled + moved + pruned.\nwaiting: "
	"for a "
	"retry; held: by a push --atomic that has not ended; claimed: a worker will start it next;\ndead: has used up "
	"its attempts, see `jobstack list -t dead`; moved: by `requeue --to`; pruned: done, and removed\nfrom the "
	"history. The rate is that of the last minutes. The end is estimated as a range, which gets narrower as\nmore "
	"entries end. Colours appear only on a terminal, and not if NO_COLOR is set in the environment.\n\n  jobstack "
	"status mystack -w 5\n  jobstack status mystack --why";
static const struct js_opts opts = {"jobstack status", "[STACK...] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_status = {&opts, NULL, CLI_OFFLINE, 0, check_status, print_or_watch_status};

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack status: all stacks in a table, or one in detail with its live workers, what fails and what has run long; or
 * why not more runs.  The counts of a stack are one SELECT: they balance.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/num.h"
#include "base/signal.h"
#include "cli/last_start.h"
#include "cli/why.h"
#include "figures/stack.h"
#include "show/amount.h"
#include "show/json.h"
#include "show/status.h"
#include "show/term.h"
#include "show/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int redraw; /* the window has another size (SIGWINCH), or a shell has drawn below (SIGCONT) */

static struct {
	int64_t every_us; /* 0: once */
	int why, exit_code, all;
} request;

/* Returns whether one stack is shown in detail. */
static int is_detail(const struct cli *cli)
{
	return cli->stack_given && cli->stacks_n < 2;
}

/* Reads what is to be shown: one stack with all details, all stacks, or the stacks that were named, without details.
 * Slurm is asked only about one stack where nobody works; --why asks it by itself. */
static int read_snapshot(struct cli *cli, struct figures_snapshot *l)
{
	int status = 0;

	if (cli->stacks_n < 2) {
		JS_TRY(figures_snapshot_read(cli->handle, cli->stack_given ? cli->stack : NULL, l, &cli->error));
		if (!cli->stack_given && !cli->json && !request.why)
			figures_snapshot_sort(l);
		if (l->idle.alone && !request.why)
			cli_idle_ask(cli, l->seen[0].stack.name, &l->idle);
		return request.why ? figures_snapshot_steps(cli->handle, l, &cli->error) : 0;
	}
	for (size_t i = 0; i < cli->stacks_n && status == 0; i++) {
		cli->stack = cli->stacks[i];
		status = figures_snapshot_add(cli->handle, cli->stack, l, &cli->error);
	}
	return status;
}

/* Returns the page for standard output, which may be a pipe. */
static struct show_page stdout_page(struct js_buf *out)
{
	unsigned columns = show_columns(stdout);

	return (struct show_page){out, columns, show_colours(stdout), columns > 0 && js_bar_utf8()};
}

/* Adds a line for the help desk: which node was bad, in which job, when, and what it said.  A node is listed once. */
static int add_bad_node(void *ctx, const struct jobstack_worker_row *w)
{
	const struct show_amount when = show_second(js_clock_wall_us() - w->silent_us);
	struct js_buf *text = ctx;
	char node[300];

	(void)snprintf(node, sizeof(node), "bad node %s, ", w->node);
	if (text->len > 0 && strstr(text->data, node) != NULL) /* another worker has said so */
		return 0;
	js_buf_char(text, '\n');
	show_safe(text, node, strlen(node));
	js_buf_printf(text, "%s%s%s%s: ", w->job != NULL ? "job " : "", w->job != NULL ? w->job : "",
		      w->job != NULL ? ", " : "", when.text);
	show_safe(text, w->suspicion, strlen(w->suspicion));
	js_buf_str(text, " (--exclude=");
	show_safe(text, w->node, strlen(w->node));
	js_buf_str(text, " avoids it)");
	return text->len > 1000;
}

/* Renders one stack.  Where entries are left and nothing runs, it adds the last command line, and what continues. */
static void render_detail(const struct cli *cli, const struct figures_snapshot *l, const struct show_page *page)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf next = {0}, last = {0}, text = {0}, more = {0};

	(void)jobstack_ended_bad(cli->handle, l->seen[0].stack.name, add_bad_node, &text, &ignored);
	js_buf_str(&text, text.len > 0 ? "\n" : "");
	if (l->idle.alone && cli_last_start_way(cli->handle, l->seen[0].stack.name, &last) >= 0 && last.data != NULL) {
		cli_idle_next(l->seen[0].stack.name, &l->idle, &next);
		js_buf_printf(&text, "\nlast started %s\n%s\n", last.data, next.data != NULL ? next.data : "");
	}
	if (text.data != NULL)
		show_wrap(&more, text.data, page->columns);
	show_status_detail(l, more.data != NULL ? more.data : "", page);
	js_buf_free(&next);
	js_buf_free(&last);
	js_buf_free(&text);
	js_buf_free(&more);
}

/* Renders a snapshot as one text.  Returns not 0 if memory ran out. */
static int render_snapshot(const struct cli *cli, const struct figures_snapshot *l, const struct show_page *page)
{
	const size_t shown = request.all || cli->stack_given ? l->n : l->recent;
	struct js_buf *out = page->out;
	int bad = 0;

	for (size_t i = 0; i < l->n && cli->json && !bad; i++)
		bad = show_json_line(request.why ? cli_why_json(l, &l->seen[i])
						 : show_status_json(l, &l->seen[i], is_detail(cli)),
				     out);
	for (size_t i = 0; i < l->n && !cli->json && request.why; i++)
		cli_why_text(l, &l->seen[i], out);
	if (cli->json || request.why || l->n == 0)
		return bad || out->failed;
	if (is_detail(cli))
		render_detail(cli, l, page);
	else {
		show_status_table(l, shown, page);
		show_status_more(l, shown, "`jobstack status --all` shows them", out);
	}
	return out->failed;
}

/* Reads a snapshot, and renders it.  *ALARMING is for --exit-code.  0, or a JOBSTACK_E code with cli->error filled. */
static int render_status(struct cli *cli, const struct show_page *page, int *alarming)
{
	struct figures_snapshot l = {.n = 0};
	int status = read_snapshot(cli, &l);

	*alarming = l.alarming;
	if (status == 0 && render_snapshot(cli, &l, page) != 0)
		status = js_error_memory(&cli->error);
	if (status == 0 && l.n == 0 && request.every_us == 0)
		cli_say(cli, "there are no stacks yet: `jobstack push` creates one");
	else if (status == 0 && l.n == 0 && page->columns > 0) /* on the screen, which is drawn again and again */
		js_buf_str(page->out, "there are no stacks yet\n");
	figures_snapshot_free(&l);
	return status;
}

/* What is watched.  The last answer is shown until there is a new one, also while the database is away. */
struct watch {
	int on_screen; /* it is a picture; else one answer is printed below the other */
	struct show_picture picture;
	struct js_buf answer;
	int was_away;	   /* when it was asked before */
	char trouble[400]; /* why there is no new answer, or "" */
};

static int is_on_screen(const struct cli *cli)
{
	return isatty(STDOUT_FILENO) && !show_is_dumb() && !cli->json;
}

/* Reads and renders once more.  A database that is away is no error: the old answer stays, with the reason in TROUBLE.
 */
static int ask_again(struct cli *cli, struct watch *w)
{
	struct js_buf answer = {0};
	struct show_page page = w->on_screen ? stdout_page(&answer) : (struct show_page){.out = &answer};
	int alarming, status;
	unsigned unused;

	if (w->on_screen) /* the real width, whatever $COLUMNS says */
		show_picture_size(STDOUT_FILENO, &page.columns, &unused);
	status = render_status(cli, &page, &alarming);
	w->was_away = w->trouble[0] != '\0';
	(void)snprintf(w->trouble, sizeof(w->trouble), "%.390s", status == JOBSTACK_ENODB ? cli->error.text : "");
	js_buf_free(status == 0 ? &w->answer : &answer);
	if (status == 0)
		w->answer = answer;
	if (status != JOBSTACK_ENODB || cli_stop != 0)
		return status;
	js_error_clear(&cli->error);
	return 0;
}

/* Prints the new answer below the last one, for a pipe.  That the database is away, or back, is told once.  -1: nobody
 * reads it any more, which cli_end notices. */
static int print_answer(const struct cli *cli, const struct watch *w)
{
	if (w->trouble[0] != '\0' && !w->was_away)
		cli_say(cli, "%s: still trying", w->trouble);
	if (w->was_away && w->trouble[0] == '\0')
		cli_say(cli, "the database can be reached again");
	if (w->trouble[0] == '\0')
		(void)printf("%s%s", w->answer.data != NULL ? w->answer.data : "", cli->json ? "" : "\n");
	return fflush(stdout) != 0 || ferror(stdout) ? -1 : 0;
}

/* Draws the answer in place, below a line that says when this was, and how to leave.  -1: the terminal is gone. */
static int draw_answer(const struct cli *cli, struct watch *w)
{
	struct js_buf text = {0};
	char now[32] = "";
	time_t t = time(NULL);
	struct tm tm;
	unsigned columns, unused;
	int status;

	show_picture_size(STDOUT_FILENO, &columns, &unused);
	if (localtime_r(&t, &tm) != NULL)
		(void)strftime(now, sizeof(now), "%H:%M:%S", &tm);
	js_buf_printf(&text, "%s  %s, every %.3g s, Ctrl-C ends%s", now,
		      is_detail(cli)	  ? cli->stack
		      : cli->stacks_n > 0 ? "these stacks"
					  : "all stacks",
		      (double)request.every_us / 1e6, w->trouble[0] != '\0' ? ": " : "");
	show_safe_words(&text, w->trouble);
	js_buf_str(&text, "\n\n");
	show_wrap(&text, w->answer.len > 0 ? w->answer.data : "there is nothing to show yet",
		  request.why ? columns : 0);
	while (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	w->picture.up = w->picture.up && redraw != SIGCONT;
	redraw = 0;
	status = text.failed ? 0 : show_picture_draw(&w->picture, text.data);
	js_buf_free(&text);
	return status;
}

/* The handler of SIGWINCH and SIGCONT.  After a stop the shell has written below the picture, so that is not erased,
 * but drawn anew. */
static void note_redraw(int number)
{
	redraw = number;
}

/* Watching begins with a stack that is there: else it is a mistake in its name.  One that goes later is an answer. */
static int watch_status(struct cli *cli)
{
	struct watch w = {.on_screen = is_on_screen(cli), .picture = {.fd = STDOUT_FILENO}};
	int status = 0, gone = 0;
	struct jobstack_status s;

	if (is_detail(cli) && cli_read_status(cli, &s) != 0)
		return cli_fail(cli);
	js_signal_catch(SIGWINCH, note_redraw);
	js_signal_catch(SIGCONT, note_redraw);
	while (!gone && cli_stop == 0 && (status = ask_again(cli, &w)) == 0) {
		const int64_t next = jobstack_now_us() + request.every_us;

		gone = w.on_screen ? draw_answer(cli, &w) : print_answer(cli, &w);
		while (!gone && cli_stop == 0 && jobstack_now_us() < next) {
			js_clock_nap(next - jobstack_now_us(), &cli_stop);
			gone = w.on_screen && redraw != 0 ? draw_answer(cli, &w) : 0;
		}
	}
	if (w.on_screen) /* the picture stays above the prompt */
		(void)putchar('\n');
	js_buf_free(&w.picture.text);
	js_buf_free(&w.answer);
	if (status == 0)
		return CLI_YES;
	status = cli_fail(cli);
	return status == CLI_USAGE ? CLI_NO : status;
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
	 "repeat every SEC seconds (default 2) until Ctrl-C; on a terminal it is redrawn in place",
	 CLI_BY(take_interval, &request.every_us)},
	{0, "all", NULL, "also the stacks that have been finished for more than a day", CLI_FLAG(&request.all)},
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

/* A watch does not wait for a database that is away: it shows that, again and again, until it comes back. */
static int print_or_watch_status(struct cli *cli)
{
	int watches = request.every_us > 0, alarming = 0, status;
	struct js_buf out = {0};
	const struct show_page page = stdout_page(&out);

	cli->quiet |= watches && is_on_screen(cli); /* the picture shows what the library would log */
	JS_TRY(cli_connect(cli, watches ? 0 : 10 * JS_SECOND_US));
	if (watches)
		return watch_status(cli);
	status = render_status(cli, &page, &alarming);
	if (status == 0 && out.len > 0)
		(void)fwrite(out.data, 1, out.len, stdout);
	js_buf_free(&out);
	if (status != 0)
		return cli_fail(cli);
	return request.exit_code && alarming ? CLI_NO : CLI_YES;
}

static const char about[] = "Shows how many entries are ready, running, done and dead, the rate and the expected end; "
			    "for one stack also the live\nworkers, what fails, and what has run longest (`jobstack "
			    "list -t running` lists all running entries).";
static const char notes[] =
	"pushed = ready + waiting + held + claimed + running + done + dead + cancelled + moved + pruned.\nwaiting: for "
	"a retry; held: by a push --atomic that has not ended; claimed: a worker will start it next;\ndead: has used "
	"up its attempts, see `jobstack list -t dead`; moved: by `requeue --to`; pruned: done, and removed\nfrom the "
	"history. The rate is that of the last minutes. The end is estimated as a range, which gets narrower as\nmore "
	"entries end. Colours appear only on a terminal, and not if NO_COLOR is set in the environment.\n\n  jobstack "
	"status mystack -w 5\n  jobstack status mystack --why";
static const struct js_opts opts = {"jobstack status", "[STACK...] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_status = {&opts, NULL, CLI_OFFLINE | CLI_DIES, 0, check_status, print_or_watch_status};

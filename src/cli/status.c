/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack status: all stacks in a table, or one in detail with its live workers.  The numbers are one SELECT each: they
 * balance.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "cli/json.h"
#include "cli/stacks.h"
#include "cli/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US (10 * JS_SECOND_US)
#define WATCH_PATIENCE_US (3600 * JS_SECOND_US)

enum { EXIT_CODE = CLI_OWN };

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "this stack in detail (default: $JOBSTACK_STACK, else all stacks)"},
	{'w', "watch", "[SEC]", "again and again, every SEC seconds (default 2; -w5), until Ctrl-C"},
	{EXIT_CODE, "exit-code", NULL, "end with 1 if anything is dead or unfinished"},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {
	"jobstack status", "[OPTIONS]", "Shows what is ready, running, done and dead, the rate, and the live workers of one stack.", table,
	"pushed = ready + waiting + held + running + done + dead + cancelled. waiting: for a retry; held: by a push --atomic\n"
	"that has not ended; dead: has used up its attempts, see `jobstack list -t dead`.",
	0};

/* One round. */
struct look {
	struct cli *cli;
	struct cli_stack *stack;
	size_t n, room;
	json_t *workers; /* of one stack in JSON */
	struct js_buf text;
	int headed; /* the head of the workers' table is in the text */
	int memory, alarming; /* ran out; something is dead or unfinished */
};

static int take_stack(void *ctx, const struct jobstack_status *s)
{
	struct look *l = ctx;

	if (l->n == l->room) {
		size_t room = l->room == 0 ? 16 : 2 * l->room;
		struct cli_stack *grown = realloc(l->stack, room * sizeof(*grown));

		if (grown == NULL) {
			l->memory = 1;
			return 1;
		}
		l->stack = grown;
		l->room = room;
	}
	l->memory |= cli_stack_take(&l->stack[l->n], s) != 0;
	l->alarming |= s->dead > 0 || cli_stack_left(s) > 0;
	l->n++;
	return 0;
}

static void look_end(struct look *l)
{
	for (size_t i = 0; i < l->n; i++)
		cli_stack_end(&l->stack[i]);
	free(l->stack);
	json_decref(l->workers);
	js_buf_free(&l->text);
}

/* Until the end at the present rate, in microseconds; -1: not known. */
static int64_t eta(const struct jobstack_status *s)
{
	if (cli_stack_left(s) == 0)
		return 0;
	if (s->rate <= 0 || s->state != JOBSTACK_OPEN || (double)cli_stack_left(s) / s->rate > 1e10)
		return -1;
	return (int64_t)((double)cli_stack_left(s) / s->rate * 1e6);
}

/* The state for people, to whom a stack with nothing left is finished. */
static const char *shown_state(const struct jobstack_status *s)
{
	return s->state == JOBSTACK_OPEN && cli_stack_left(s) == 0 && s->pushers == 0 ? "finished" : cli_stack_state(s->state);
}

static void rate_text(double rate, char text[32])
{
	if (rate <= 0)
		(void)snprintf(text, 32, "-");
	else if (rate < 1.0 / 60)
		(void)snprintf(text, 32, "%.1f/h", rate * 3600);
	else if (rate < 1)
		(void)snprintf(text, 32, "%.1f/min", rate * 60);
	else
		(void)snprintf(text, 32, rate < 100 ? "%.1f/s" : "%.0f/s", rate);
}

static void eta_text(const struct jobstack_status *s, char text[64])
{
	int64_t us = eta(s);

	if (us <= 0)
		(void)snprintf(text, 64, "-");
	else
		js_num_duration_text(us, text, 64);
}

/* ------------------------------------------------------------------------------------------------------- all stacks */

enum { NAME, STATE, PUSHED, READY, WAITING, HELD, RUNNING, DONE, DEAD, CANCELLED, WORKERS, RATE, ETA, COLUMNS };

struct row {
	char cell[COLUMNS][JOBSTACK_STACK_MAX + 1];
};

static void fill_row(const struct cli_stack *stack, struct row *row)
{
	const struct jobstack_status *s = &stack->s;
	const uint64_t count[COLUMNS] = {[PUSHED] = s->pushed,	 [READY] = s->ready, [WAITING] = s->waiting,
					 [HELD] = s->held,	 [RUNNING] = s->running, [DONE] = s->done,
					 [DEAD] = s->dead,	 [CANCELLED] = s->cancelled, [WORKERS] = s->workers};

	for (int c = PUSHED; c <= WORKERS; c++)
		(void)snprintf(row->cell[c], sizeof(row->cell[c]), "%" PRIu64, count[c]);
	(void)snprintf(row->cell[NAME], sizeof(row->cell[NAME]), "%s", stack->name);
	(void)snprintf(row->cell[STATE], sizeof(row->cell[STATE]), "%s", shown_state(s));
	rate_text(s->rate, row->cell[RATE]);
	eta_text(s, row->cell[ETA]);
}

static void add_table(struct look *l)
{
	static const struct row head = {{"STACK", "STATE", "PUSHED", "READY", "WAITING", "HELD", "RUNNING", "DONE", "DEAD",
					 "CANCELLED", "WORKERS", "RATE", "ETA"}};
	int width[COLUMNS], seldom[COLUMNS] = {[HELD] = 1, [CANCELLED] = 1};
	struct row row;

	for (int c = 0; c < COLUMNS; c++)
		width[c] = (int)strlen(head.cell[c]);
	for (size_t i = 0; i < l->n; i++) {
		fill_row(&l->stack[i], &row);
		seldom[HELD] &= l->stack[i].s.held == 0;
		seldom[CANCELLED] &= l->stack[i].s.cancelled == 0;
		for (int c = 0; c < COLUMNS; c++)
			if ((int)strlen(row.cell[c]) > width[c])
				width[c] = (int)strlen(row.cell[c]);
	}
	for (size_t i = 0; i <= l->n; i++) {
		if (i > 0)
			fill_row(&l->stack[i - 1], &row);
		for (int c = 0; c < COLUMNS; c++)
			if (!seldom[c])
				js_buf_printf(&l->text, c == COLUMNS - 1 ? "%s%*s\n" : c < PUSHED ? "%s%-*s" : "%s%*s", c > 0 ? "  " : "",
					      c == COLUMNS - 1 ? 0 : width[c], i == 0 ? head.cell[c] : row.cell[c]);
	}
}

/* -------------------------------------------------------------------------------------------------------- one stack */

static void add_detail(struct look *l)
{
	const struct cli_stack *stack = &l->stack[0];
	const struct jobstack_status *s = &stack->s;
	char text[64], rate[32];

	js_buf_printf(&l->text, "stack     %s (%s)\npushed    %" PRIu64 "%s\n", stack->name, shown_state(s), s->pushed,
		      s->pushers > 0 ? ", and somebody is still pushing" : "");
	js_buf_printf(&l->text, "done      %" PRIu64, s->done);
	if (s->pushed > 0)
		js_buf_printf(&l->text, " (%.1f %%)", 100 * (double)s->done / (double)s->pushed);
	js_buf_printf(&l->text, "\nrunning   %" PRIu64, s->running);
	if (s->workers > 0)
		js_buf_printf(&l->text, " (%" PRIu64 " worker%s, %" PRIu64 " slot%s)", s->workers, s->workers == 1 ? "" : "s", s->slots,
			      s->slots == 1 ? "" : "s");
	js_buf_printf(&l->text, "\nready     %" PRIu64 "\nwaiting   %" PRIu64, s->ready, s->waiting);
	if (s->waiting > 0) {
		js_num_duration_text(s->next_due_us, text, sizeof(text));
		js_buf_printf(&l->text, s->next_due_us <= 0 ? " (the next is due now)" : " (the next is due in %s)", text);
	}
	js_buf_printf(&l->text, "\n");
	if (s->held > 0)
		js_buf_printf(&l->text, "held      %" PRIu64 " (by a push --atomic that has not ended)\n", s->held);
	js_buf_printf(&l->text, "dead      %" PRIu64 "%s%s%s\n", s->dead, s->dead > 0 ? " (`jobstack list -s " : "",
		      s->dead > 0 ? stack->name : "", s->dead > 0 ? " -t dead` shows them)" : "");
	if (s->cancelled > 0)
		js_buf_printf(&l->text, "cancelled %" PRIu64 "\n", s->cancelled);
	if (s->moved > 0)
		js_buf_printf(&l->text, "moved     %" PRIu64 " (to another stack, by `jobstack requeue --to`)\n", s->moved);
	if (s->pruned > 0)
		js_buf_printf(&l->text, "pruned    %" PRIu64 " (were done, and taken away by `jobstack prune`)\n", s->pruned);
	if (s->rate > 0) {
		rate_text(s->rate, rate);
		eta_text(s, text);
		js_buf_printf(&l->text, "rate      %s%s%s\n", rate, eta(s) > 0 ? ", about to end in " : "", eta(s) > 0 ? text : "");
	}
	if (stack->note.len > 0) {
		js_buf_str(&l->text, "because   ");
		cli_safe(&l->text, stack->note.data, stack->note.len);
		js_buf_char(&l->text, '\n');
	}
	js_num_duration_text(s->retry_delay_us, text, sizeof(text));
	js_buf_printf(&l->text, "policy    %" PRIu32 " attempts, %" PRIu32 " losses, a retry after %s\n", s->max_attempts,
		      s->max_losses, text);
	if (stack->cwd.len > 0) {
		js_buf_str(&l->text, "names     relative ones belong to ");
		cli_safe(&l->text, stack->cwd.data, stack->cwd.len);
		js_buf_char(&l->text, '\n');
	}
}

/* The Slurm job of a worker for people: "120_3.0", "-" outside of Slurm. */
static void job_text(const struct jobstack_worker_row *w, char text[128])
{
	int array = w->array_job != NULL && w->array_task != NULL;

	if (w->job == NULL)
		(void)snprintf(text, 128, "-");
	else
		(void)snprintf(text, 128, "%.30s%s%.30s%s%.30s", array ? w->array_job : w->job, array ? "_" : "",
			       array ? w->array_task : "", w->step != NULL ? "." : "", w->step != NULL ? w->step : "");
}

static void worker_line(struct look *l, const struct jobstack_worker_row *w)
{
	char silent[64], lease[64], job[128];
	struct js_buf node = {0};

	js_num_duration_text(w->silent_us < 0 ? 0 : w->silent_us, silent, sizeof(silent));
	js_num_duration_text(w->lease_us, lease, sizeof(lease));
	job_text(w, job);
	if (w->node != NULL || w->host != NULL)
		cli_safe(&node, w->node != NULL ? w->node : w->host, strlen(w->node != NULL ? w->node : w->host));
	js_buf_printf(&l->text,
		      "%8" PRIu64 " %-16s %8" PRIu64 " %-12s %5" PRIu64 " %7" PRIu64 " %9" PRIu64 " %6" PRIu64
		      "  %s of %s%s%s\n", w->worker,
		      node.len > 0 ? node.data : "-", w->pid, job, w->slots, w->running, w->done, w->dead, silent, lease,
		      w->silent_us > w->lease_us ? ": over" : "", w->by_script ? " (a script's pop)" : "");
	js_buf_free(&node);
}

static int take_worker(void *ctx, const struct jobstack_worker_row *w)
{
	struct look *l = ctx;
	json_t *o;
	int bad = 0;

	if (!l->cli->json) {
		if (!l->headed)
			js_buf_str(&l->text, "\n  WORKER NODE                  PID JOB          SLOTS RUNNING      DONE   DEAD  SILENT\n");
		l->headed = 1;
		worker_line(l, w);
		return 0;
	}
	o = json_object();
	bad |= cli_json_count(o, "worker", w->worker);
	bad |= cli_json_text(o, "node", w->node != NULL ? w->node : w->host);
	bad |= cli_json_text(o, "host", w->host);
	bad |= cli_json_text(o, "user", w->user);
	bad |= cli_json_count(o, "pid", w->pid);
	bad |= cli_json_text(o, "job", w->job);
	bad |= cli_json_text(o, "array_job", w->array_job);
	bad |= cli_json_text(o, "array_task", w->array_task);
	bad |= cli_json_text(o, "step", w->step);
	bad |= cli_json_count(o, "slots", w->slots);
	bad |= cli_json_count(o, "running", w->running);
	bad |= cli_json_count(o, "done", w->done);
	bad |= cli_json_count(o, "dead", w->dead);
	bad |= cli_json_seconds(o, "age_seconds", w->age_us);
	bad |= cli_json_seconds(o, "silent_seconds", w->silent_us < 0 ? 0 : w->silent_us);
	bad |= cli_json_seconds(o, "lease_seconds", w->lease_us);
	bad |= json_object_set_new(o, "by_script", json_boolean(w->by_script));
	bad |= json_array_append_new(l->workers, o);
	l->memory |= bad != 0;
	return l->memory;
}

static int print_json(struct look *l, const struct cli_stack *stack)
{
	const struct jobstack_status *s = &stack->s;
	json_t *o = json_object();
	int bad = 0;

	bad |= cli_json_text(o, "stack", stack->name);
	bad |= cli_json_text(o, "state", cli_stack_state(s->state));
	bad |= cli_json_count(o, "pushed", s->pushed);
	bad |= cli_json_count(o, "ready", s->ready);
	bad |= cli_json_count(o, "waiting", s->waiting);
	bad |= cli_json_count(o, "held", s->held);
	bad |= cli_json_count(o, "running", s->running);
	bad |= cli_json_count(o, "done", s->done);
	bad |= cli_json_count(o, "dead", s->dead);
	bad |= cli_json_count(o, "cancelled", s->cancelled);
	bad |= cli_json_count(o, "moved", s->moved);
	bad |= cli_json_count(o, "pruned", s->pruned);
	bad |= cli_json_count(o, "workers", s->workers);
	bad |= cli_json_count(o, "slots", s->slots);
	bad |= cli_json_count(o, "pushers", s->pushers);
	bad |= cli_json_real(o, "rate", s->rate, 1);
	bad |= cli_json_seconds(o, "eta_seconds", eta(s));
	bad |= cli_json_seconds(o, "next_due_seconds", s->next_due_us);
	bad |= cli_json_count(o, "max_attempts", s->max_attempts);
	bad |= cli_json_count(o, "max_losses", s->max_losses);
	bad |= cli_json_seconds(o, "retry_delay_seconds", s->retry_delay_us);
	if (l->workers != NULL)
		bad |= json_object_set(o, "live", l->workers);
	return cli_json_print(o, bad);
}

/* -------------------------------------------------------------------------------------------------------- one round */

/* Asks.  0, or negative with the error. */
static int ask(struct look *l)
{
	struct cli *cli = l->cli;
	const char *one = cli->stack_given ? cli->stack : NULL;
	int status = jobstack_status(cli->handle, one, take_stack, l, &cli->error);

	if (status == 0 && one != NULL && l->n == 1 && !cli->json)
		add_detail(l);
	if (status == 0 && one != NULL && cli->json)
		l->workers = json_array();
	if (status == 0 && one != NULL)
		status = jobstack_workers(cli->handle, one, take_worker, l, &cli->error);
	if (status == 0 && one == NULL && !cli->json && l->n > 0)
		add_table(l);
	if (l->memory || l->text.failed)
		return js_error_memory(&cli->error);
	return status;
}

/* Asks and prints; CLEAR: over the last.  Gives the exit status; *ALARMING for --exit-code. */
static int round_of(struct cli *cli, int clear, int *alarming)
{
	struct look l = {.cli = cli};
	int status = ask(&l);

	*alarming = l.alarming;
	if (status != 0)
		status = cli_fail(cli);
	else {
		if (clear)
			(void)fputs("\033[H\033[J", stdout);
		for (size_t i = 0; i < l.n && cli->json && status == 0; i++)
			status = print_json(&l, &l.stack[i]) == 0 ? CLI_YES : CLI_BUG;
		if (l.text.len > 0)
			(void)fwrite(l.text.data, 1, l.text.len, stdout);
		if (l.n == 0)
			cli_say(cli, "there are no stacks yet: `jobstack push` makes one");
	}
	look_end(&l);
	return status;
}

static int watch(struct cli *cli, int64_t every_us)
{
	int terminal = isatty(STDOUT_FILENO) && !cli->json, status, alarming;
	int64_t next = jobstack_now_us();

	for (;;) {
		status = round_of(cli, terminal, &alarming);
		if (status != 0 || fflush(stdout) != 0 || ferror(stdout))
			return status;
		next += every_us;
		while (cli_stop == 0 && jobstack_now_us() < next)
			js_clock_nap(next - jobstack_now_us(), &cli_stop);
		if (cli_stop != 0) {
			jobstack_free(cli->handle);
			cli_die_by_signal();
		}
		if (!terminal && !cli->json)
			(void)putchar('\n');
	}
}

int cli_status_main(int argc, char **argv)
{
	int key, status = 0, alarming = 0, exit_code = 0;
	int64_t every_us = 0;
	const char *arg;
	struct cli cli;

	cli_begin(&cli, &opts);
	while ((key = cli_next(&cli, argc, argv, &arg, &status)) >= 0) {
		if (key == EXIT_CODE)
			exit_code = 1;
		else if (*arg == '\0')
			every_us = 2 * JS_SECOND_US;
		else if (js_num_duration(arg, &every_us) != 0 || every_us < JS_SECOND_US / 10)
			return cli_usage(&cli, "-w takes seconds of at least 0.1, with no blank before them, not \"%s\"", arg);
	}
	if (key == -2)
		return status;
	if (optind < argc)
		return cli_usage(&cli, "\"%s\" is one word too many: a stack is named with -s", argv[optind]);
	if (every_us > 0)
		cli_catch_signals();
	status = cli_connect(&cli, every_us > 0 ? WATCH_PATIENCE_US : PATIENCE_US);
	if (status != 0)
		return status;
	status = every_us > 0 ? watch(&cli, every_us) : round_of(&cli, 0, &alarming);
	return cli_end(&cli, status == CLI_YES && exit_code && alarming ? CLI_NO : status);
}

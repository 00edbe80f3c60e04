/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What was started last.  Promise: only what the same user started is repeated, or suggested to be.
 */
#include "cli/last_start.h"

#include "frame/sbatch.h"
#include "show/amount.h"
#include "show/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_US INT64_C(10000000)

static const char *const verb[] = {[JOBSTACK_BY_RUN] = "run", [JOBSTACK_BY_SUBMIT] = "submit"};

/* What is looked for, and what was found: nothing if LINE is empty. */
struct started {
	int way;	 /* -1: any */
	const char *dir; /* NULL: any */
	int64_t ago_us;
	char stack[JOBSTACK_STACK_MAX + 1];
	struct js_buf cwd;
	struct cli_words line; /* a verb, options, "--", the command */
};

void cli_again_note(struct cli *cli, const struct jobstack_last *start, const struct cli_words *command)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct jobstack_last note = *start;
	struct cli_words line = {0};
	struct js_buf words = {0};
	char dir[PATH_MAX];

	cli_words_all(&line, &cli->options);
	cli_words_add(&line, "--");
	cli_words_all(&line, command);
	for (size_t i = 0; i < line.n && note.way != JOBSTACK_REJECTED; i++)
		js_buf_add(&words, line.at[i], strlen(line.at[i]) + 1);
	note.user = geteuid();
	note.cwd = getcwd(dir, sizeof(dir));
	note.words = (struct jobstack_bytes){words.data, words.len};
	if (note.cwd != NULL && !line.failed && !words.failed)
		(void)jobstack_note_start(cli->handle, cli->stack, &note, &ignored);
	cli_words_free(&line);
	js_buf_free(&words);
}

static void take_started(void *ctx, const struct jobstack_last *last)
{
	struct started *s = ctx;
	const char *word = last->words.data;

	if (s->line.n > 0 || last->words.len == 0 || last->user != geteuid() || last->way > JOBSTACK_BY_SUBMIT ||
	    (s->way >= 0 && s->way != (int)last->way) || (s->dir != NULL && strcmp(s->dir, last->cwd) != 0))
		return;
	s->way = (int)last->way;
	s->ago_us = last->job_us;
	(void)snprintf(s->stack, sizeof(s->stack), "%s", last->stack);
	js_buf_str(&s->cwd, last->cwd);
	cli_words_add(&s->line, verb[last->way]);
	for (size_t at = 0; at < last->words.len; at += strlen(word + at) + 1)
		cli_words_add(&s->line, word + at);
}

/* Appends the line as it could be typed: with OPTIONS, and the words of S from number FROM on. */
static void show_line(const struct started *s, const struct cli_words *options, size_t from, struct js_buf *out)
{
	js_buf_printf(out, "jobstack %s --stack=%s ", s->line.at[0], s->stack);
	cli_words_quote(out, options);
	js_buf_str(out, options->n > 0 ? " " : "");
	cli_words_quote(out, &(struct cli_words){.at = s->line.at + from, .n = s->line.n - from});
}

/* Reads the options of S, and again those of this call, which count where both have one. */
static int parse_both(struct cli *cli, const struct started *s)
{
	const struct cli_words *line = &s->line;
	struct js_buf shown = {0};
	size_t n = 1;

	while (n < line->n && strcmp(line->at[n], "--") != 0)
		n++;
	cli_words_free(&cli->options);
	cli->stack_typed = 0; /* by the second reading it is not given twice */
	cli->stacks_n = 0;
	JS_TRY(cli_parse_more(cli, (int)n - 1, line->at));
	JS_TRY(cli_parse_more(cli, cli->argc - 1, cli->argv));
	show_line(s, &cli->options, n, &shown);
	cli_say(cli, "repeating, in %s: %s", s->cwd.data, shown.failed ? "" : shown.data);
	js_buf_free(&shown);
	n += n < line->n;
	cli->words = line->at + n;
	cli->words_n = line->n - n;
	return 0;
}

int cli_again(struct cli *cli, enum jobstack_way way, const char *dir)
{
	static struct started s; /* its words are used from now on */
	static char path[CLI_PATH];
	const char *file = cli_option_file(cli);
	int is_relative = file != NULL && file[0] != '/' && cli_absolute(file, path) == 0, status;

	if (cli->words_n > 0)
		return cli_usage(cli, "--again repeats the command, too: \"%s\" can't be given", cli->words[0]);
	JS_TRY(cli_connect(cli, CONNECT_US));
	s = (struct started){.way = (int)way, .dir = dir};
	status = jobstack_last(cli->handle, dir != NULL ? NULL : cli->stack, take_started, &s, &cli->error);
	if (status != 0 && status != JOBSTACK_EMISSING)
		return cli_fail(cli);
	if (s.line.failed || s.cwd.failed)
		return cli_no_memory(cli);
	if (s.line.n == 0)
		cli_tell(cli, "you have no earlier `jobstack %s` %s %s to repeat: give the whole command line once",
			 verb[way], dir != NULL ? "in" : "of the stack", dir != NULL ? dir : cli->stack);
	else if (chdir(s.cwd.data) != 0)
		cli_tell(cli, "can't change to %s, from where this was called: %s", s.cwd.data, strerror(errno));
	else {
		JS_TRY(parse_both(cli, &s));
		cli->defaults_file = is_relative ? path : cli->defaults_file; /* from where we were called */
		cli->stack = s.stack;
		cli->stack_given = cli->stack_typed = 1;
		return 0;
	}
	return CLI_USAGE;
}

int cli_again_way(struct jobstack *handle, const char *stack, struct js_buf *last)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct started s = {.way = -1};

	(void)jobstack_last(handle, stack, take_started, &s, &ignored);
	if (s.line.n > 0 && last != NULL) {
		js_buf_printf(last, "%s ago in ", show_duration(s.ago_us).text);
		show_safe(last, s.cwd.data, s.cwd.len);
		js_buf_str(last, ": ");
		show_line(&s, &(struct cli_words){.n = 0}, 1, last);
	}
	js_buf_free(&s.cwd);
	cli_words_free(&s.line);
	return s.way;
}

void cli_again_next(int way, const char *stack, struct js_buf *next)
{
	if (way >= 0)
		js_buf_printf(next, way == JOBSTACK_BY_RUN ? "`jobstack run -s %s`" : "`jobstack submit %s --again`",
			      stack);
}

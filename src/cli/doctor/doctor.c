/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: tries everything a run needs, from here or from a compute node, and says what to mend.  Promises: it
 * changes nothing but a file that it makes and removes again; whatever does not answer is given up after a while; low
 * rights are no failure.
 */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/command.h"
#include "view/json.h"
#include "cli/sbatch.h"
#include "view/term.h"
#include "view/text.h"
#include "slurm/env.h"

#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SRUN_LIMIT_US (150 * JS_SECOND_US)

enum { SRUN = CLI_OWN, INNER };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{SRUN, "srun", "[OPTIONS]", "look from a compute node as well, by srun with these options"},
	{INNER, "inner", NULL, NULL},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {
	"jobstack doctor",
	"[OPTIONS]",
	"Tries what a run needs (option file, database, rights, settings, Slurm, places to write) and says what to "
	"mend.",
	table,
	"Each line is ok, warn (it works, or may not), or FAIL. Exit status: 0 without a FAIL, else 1.\n\n"
	"  jobstack doctor --srun=\"--partition=short\"",
	0};

static const char *const level_word[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "FAIL"};
_Static_assert(sizeof(level_word) / sizeof(level_word[0]) == DOCTOR_LEVELS, "a word for each level");

/* --------------------------------------------------------------------------------------------------------- lines */

static void print(struct doctor *d, enum doctor_level level, const char *where, const char *check, const char *text,
		  const char *remedy)
{
	static const enum view_colour colour[] = {
		[DOCTOR_OK] = VIEW_GREEN, [DOCTOR_WARN] = VIEW_YELLOW, [DOCTOR_FAIL] = VIEW_RED};
	struct js_buf line = {0};
	char word[8];
	json_t *o;
	int bad = 0;

	d->count[level]++;
	if (d->cli.json) {
		o = json_object();
		bad |= view_json_text(o, "level", level_word[level]);
		bad |= view_json_text(o, "where", where);
		bad |= view_json_text(o, "check", check);
		bad |= view_json_text(o, "text", text);
		bad |= view_json_text(o, "remedy", remedy);
		d->memory |= view_json_print(o, bad) != 0;
		(void)fflush(stdout);
		return;
	}
	if (d->cli.quiet && level == DOCTOR_OK)
		return;
	(void)snprintf(word, sizeof(word), "%-5s", level_word[level]);
	view_paint(&line, view_colours(stdout), colour[level], word);
	js_buf_printf(&line, "%-13s ", check);
	if (strcmp(where, d->where) != 0)
		js_buf_printf(&line, "%s: ", where);
	view_safe(&line, text, strlen(text));
	if (remedy != NULL) {
		js_buf_printf(&line, "\n%19s-> ", "");
		view_safe(&line, remedy, strlen(remedy));
	}
	(void)printf("%s\n", line.failed ? "" : line.data);
	(void)fflush(stdout);
	d->memory |= line.failed;
	js_buf_free(&line);
}

void doctor_say(struct doctor *d, enum doctor_level level, const char *check, const char *remedy, const char *format,
		...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		d->memory = 1;
	else
		print(d, level, d->where, check, text, level == DOCTOR_OK ? NULL : remedy);
	va_end(args);
	free(text);
}

const char *doctor_fact(const struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->facts_n; i++)
		if (strcmp(d->facts[i].name, name) == 0)
			return d->facts[i].value;
	return NULL;
}

double doctor_number(const struct doctor *d, const char *name, double none)
{
	const char *value = doctor_fact(d, name);
	char *end;
	double n = value == NULL ? none : strtod(value, &end);

	return value != NULL && (end == value || *end != '\0') ? none : n;
}

/* ---------------------------------------------------------------------------------------------------- under srun */

/* One line of the other's JSON. */
static int take_line(struct doctor *d, const char *text)
{
	json_t *o = json_loads(text, 0, NULL);
	const char *level = json_string_value(json_object_get(o, "level")),
		   *where = json_string_value(json_object_get(o, "where"));
	const char *check = json_string_value(json_object_get(o, "check")),
		   *what = json_string_value(json_object_get(o, "text"));
	int taken = 0;

	for (int l = 0; l < DOCTOR_LEVELS && level != NULL && where != NULL && check != NULL && what != NULL; l++)
		if (strcmp(level, level_word[l]) == 0) {
			print(d, (enum doctor_level)l, where, check, what,
			      json_string_value(json_object_get(o, "remedy")));
			taken = 1;
		}
	json_decref(o);
	return taken;
}

static void words_for_srun(struct doctor *d, struct cli_words *words)
{
	const char *file = cli_option_file(&d->cli);
	char path[PATH_MAX];

	cli_words_add(words, "srun");
	cli_words_add(words, "--quiet");
	cli_words_add(words, "--ntasks=1");
	cli_words_add(words, "--job-name=jobstack-doctor");
	if (getenv("SLURM_JOB_ID") == NULL)
		cli_words_add(words, "--time=5");
	(void)cli_words_split(words, d->srun);
	cli_words_format(words, "%s/jobstack", js_child_program_dir());
	cli_words_add(words, "doctor");
	cli_words_add(words, "--inner");
	cli_words_add(words, "--json");
	if (d->cli.stack_given)
		cli_words_format(words, "--stack=%s", d->cli.stack);
	if (file != NULL && cli_absolute(file, path) == 0)
		cli_words_format(words, "--defaults-file=%s", path);
}

static void under_srun(struct doctor *d)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct cli_words words = {0};
	struct js_buf out = {0}, said = {0};
	const struct cli_command command = {.words = &words, .out = &out, .err = &said, .limit_us = SRUN_LIMIT_US};
	char *rest = NULL, *line;
	int status, lines = 0;

	words_for_srun(d, &words);
	status = cli_command(&command, &error);
	for (rest = out.data; rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
		lines += take_line(d, line);
	if (said.data != NULL)
		said.data[strcspn(said.data, "\n")] = '\0';
	if (lines == 0)
		doctor_say(d, DOCTOR_FAIL, "srun",
			   status < 0 ? "is the partition busy, or down? try other options: --srun=\"--partition=NAME\""
				      : "mend what srun says; if the node has no jobstack there, install it where all "
					"nodes see it",
			   "nothing came from a compute node: %s",
			   status < 0	  ? error.text
			   : said.len > 0 ? said.data
					  : "srun said nothing");
	cli_words_free(&words);
	js_buf_free(&out);
	js_buf_free(&said);
}

/* ------------------------------------------------------------------------------------------------------ the call */

static const char *get(const char *name)
{
	return getenv(name);
}

static void find_where(struct doctor *d)
{
	static struct js_slurm_env env;

	js_slurm_env_read(&env, get);
	(void)snprintf(d->where, sizeof(d->where), "%s", env.node);
	if (env.in_slurm)
		doctor_say(d, DOCTOR_OK, "place", NULL, "in Slurm job %s on node %s%s%s", env.job, env.node,
			   env.partition != NULL ? ", partition " : "", env.partition != NULL ? env.partition : "");
	else
		doctor_say(d, DOCTOR_OK, "place", NULL, "on %s, outside of Slurm", env.node);
}

static int parse(struct doctor *d, int argc, char **argv)
{
	struct cli_words words = {0};
	const char *arg;
	int key = -1, status = 0, bad;

	cli_begin(&d->cli, &opts);
	while (status == 0 && (key = cli_next(&d->cli, argc, argv, &arg, &status)) >= 0) {
		if (key == INNER)
			d->inner = 1;
		else {
			d->srun = arg;
			bad = cli_words_split(&words, arg);
			cli_words_free(&words);
			if (bad != 0)
				status = cli_usage(&d->cli, "--srun: a quote is open in %s", arg);
		}
	}
	if (status != 0)
		return status;
	if (key == -2)
		return -1;
	if (optind < argc)
		return cli_usage(&d->cli, "\"%s\" is one word too many%s", argv[optind],
				 d->srun != NULL ? ": srun's options are given as --srun=\"OPTIONS\"" : "");
	return 0;
}

int cli_doctor_main(int argc, char **argv)
{
	static struct doctor d;
	int status = parse(&d, argc, argv);

	if (status != 0)
		return status < 0 ? CLI_YES : status;
	cli_catch_signals();
	(void)signal(SIGCHLD, SIG_DFL);
	d.slurm = js_child_is_in_path("sinfo") || js_child_is_in_path("srun");
	find_where(&d);
	doctor_local(&d);
	if (cli_stop == 0)
		doctor_database(&d);
	if (cli_stop == 0 && !d.inner)
		doctor_slurm(&d);
	if (cli_stop == 0 && d.srun != NULL)
		under_srun(&d);
	for (size_t i = 0; i < d.facts_n; i++) {
		free(d.facts[i].name);
		free(d.facts[i].value);
	}
	free(d.facts);
	if (cli_stop != 0) {
		(void)cli_end(&d.cli, CLI_NO);
		cli_die_by_signal();
	}
	if (!d.cli.json && !d.cli.quiet)
		(void)printf("%u ok, %u warn, %u FAIL\n", d.count[DOCTOR_OK], d.count[DOCTOR_WARN],
			     d.count[DOCTOR_FAIL]);
	return cli_end(&d.cli, d.memory ? CLI_BUG : d.count[DOCTOR_FAIL] > 0 ? CLI_NO : CLI_YES);
}

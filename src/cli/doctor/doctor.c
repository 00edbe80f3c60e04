/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: tries everything a run needs, from here or from a compute node, and says what to mend.  Promises: it
 * changes nothing but a file that it makes and removes again, and a row that it inserts and deletes at once; whatever
 * does not answer is given up after a while; low rights are no failure.
 */
#include "cli/doctor/doctor.h"

#include "base/clock.h"
#include "base/home.h"
#include "cli/sbatch.h"
#include "slurm/env.h"
#include "view/json.h"
#include "view/term.h"
#include "view/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SRUN_LIMIT_US (150 * JS_SECOND_US)

/* ------------------------------------------------------------------------------------------------------ findings */

static const char *const level_word[] = {[DOCTOR_OK] = "ok", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "FAIL"};
_Static_assert(sizeof(level_word) / sizeof(level_word[0]) == DOCTOR_LEVELS, "a word for each level");

static void print_finding(struct doctor *d, enum doctor_level level, const char *where, const char *check,
			  const char *text, const char *remedy)
{
	static const enum view_colour colour[] = {
		[DOCTOR_OK] = VIEW_GREEN, [DOCTOR_WARN] = VIEW_YELLOW, [DOCTOR_FAIL] = VIEW_RED};
	struct js_buf line = {0};
	char word[8];

	d->count[level]++;
	if (d->cli->json) {
		d->memory |= CLI_PRINT(KEY_TEXT("level", level_word[level]), KEY_TEXT("where", where),
				       KEY_TEXT("check", check), KEY_TEXT("text", text),
				       KEY_TEXT("remedy", remedy)) != CLI_YES;
		(void)fflush(stdout);
		return;
	}
	if (d->cli->quiet && level == DOCTOR_OK)
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
		print_finding(d, level, d->where, check, text, level == DOCTOR_OK ? NULL : remedy);
	va_end(args);
	free(text);
}

/* ---------------------------------------------------------------------------------------------------- under srun */

/* Prints a line of the other doctor's JSON as one of ours.  1 if it was such a line. */
static int repeat_line(struct doctor *d, const char *json)
{
	json_t *o = json_loads(json, 0, NULL), *remedy = NULL;
	const char *word, *where, *check, *text;
	int found = 0;

	if (json_unpack(o, "{s:s, s:s, s:s, s:s, s?o}", "level", &word, "where", &where, "check", &check, "text", &text,
			"remedy", &remedy) == 0)
		for (int level = 0; level < DOCTOR_LEVELS && !found; level++) {
			found = strcmp(word, level_word[level]) == 0;
			if (found)
				print_finding(d, (enum doctor_level)level, where, check, text,
					      json_string_value(remedy));
		}
	json_decref(o);
	return found;
}

static void words_for_srun(struct doctor *d, struct cli_words *words)
{
	const char *file = cli_option_file(d->cli);
	char path[PATH_MAX];

	(void)cli_words_split(words, "srun --quiet --ntasks=1 --job-name=jobstack-doctor");
	if (getenv("SLURM_JOB_ID") == NULL)
		cli_words_add(words, "--time=5");
	(void)cli_words_split(words, d->srun);
	cli_words_format(words, "%s/jobstack", js_child_program_dir());
	(void)cli_words_split(words, "doctor --inner --json");
	if (d->cli->stack_given)
		cli_words_format(words, "--stack=%s", d->cli->stack);
	if (file != NULL && cli_absolute(file, path) == 0)
		cli_words_format(words, "--defaults-file=%s", path);
}

static void under_srun(struct doctor *d)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct cli_words words = {0};
	struct js_buf out = {0}, said = {0};
	const struct cli_command command = {.words = &words, .out = &out, .err = &said, .limit_us = SRUN_LIMIT_US};
	char *rest, *line;
	int status, lines = 0;

	words_for_srun(d, &words);
	status = cli_command(&command, &error);
	for (rest = out.data; (line = strsep(&rest, "\n")) != NULL;)
		lines += repeat_line(d, line);
	if (lines == 0 && status < 0)
		doctor_fail(d, "srun", "if the partition is busy or down, try another one: --srun=\"--partition=NAME\"",
			    "no answer from a compute node: %s", error.text);
	else if (lines == 0)
		doctor_fail(
			d, "srun",
			"correct what srun reports; if the node does not have jobstack at the same path as this host, "
			"install it on a file system that all nodes share",
			"no answer from a compute node: %s", cli_first_line(&said, "srun printed nothing"));
	cli_words_free(&words);
	js_buf_free(&out);
	js_buf_free(&said);
}

/* ------------------------------------------------------------------------------------------------------ the call */

static void find_where(struct doctor *d)
{
	static struct js_slurm_env env;

	js_slurm_env_read(&env, js_home_getenv);
	(void)snprintf(d->where, sizeof(d->where), "%s", env.node);
	if (env.in_slurm)
		doctor_ok(d, "place", "in Slurm job %s on node %s%s%s", env.job, env.node,
			  env.partition != NULL ? ", partition " : "", env.partition != NULL ? env.partition : "");
	else
		doctor_ok(d, "place", "on %s, outside of Slurm", env.node);
}

static struct doctor d;
static const struct js_opt table[] = {CLI_OPTS_STACK,
				      {0, "srun", "[OPTIONS]",
				       "also check from a compute node, through srun with these options",
				       CLI_BY(cli_sbatch_take_later, &d.srun)},
				      {0, "inner", NULL, NULL, CLI_FLAG(&d.inner)},
				      CLI_OPTS_REST};

static int check_doctor(struct cli *cli)
{
	if (cli->words_n == 0)
		return 0;
	return cli_usage(cli, "unexpected argument \"%s\"%s", cli->words[0],
			 d.srun != NULL ? ": give srun's options as --srun=\"OPTIONS\"" : "");
}

static int print_findings(struct cli *cli)
{
	d.cli = cli;
	d.slurm = js_child_is_in_path("sinfo") || js_child_is_in_path("srun");
	find_where(&d);
	doctor_local(&d);
	if (cli_stop == 0)
		doctor_database(&d);
	if (cli_stop == 0 && !d.inner)
		doctor_slurm(&d);
	if (cli_stop == 0 && d.srun != NULL)
		under_srun(&d);
	insight_server_free(&d.server);
	if (cli_stop == 0 && !cli->json && !cli->quiet)
		(void)printf("%u ok, %u warn, %u FAIL\n", d.count[DOCTOR_OK], d.count[DOCTOR_WARN],
			     d.count[DOCTOR_FAIL]);
	return d.memory ? CLI_BUG : cli_stop != 0 || d.count[DOCTOR_FAIL] > 0 ? CLI_NO : CLI_YES;
}

static const char about[] = "Checks what a run needs (option file, database, rights, settings, Slurm, log directory) "
			    "and says what to correct.";
static const char notes[] = "Each line is ok, warn (jobstack works, but something should be corrected), or FAIL. Exit "
			    "status: 0\nwithout a FAIL, else 1.\n\n  jobstack doctor --srun=\"--partition=short\"";
static const struct js_opts opts = {"jobstack doctor", "[OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_doctor = {&opts, NULL, CLI_OFFLINE | CLI_DIES, 0, check_doctor, print_findings};

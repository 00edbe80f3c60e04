/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: tries everything a run needs, from here or from a compute node, and says what to mend.  Promises: it
 * changes nothing but a file that it makes and removes again, and a row that it inserts and deletes at once; whatever
 * does not answer is given up after a while; low rights are no failure.
 */
#include "cli/doctor/doctor.h"

#include "base/clock.h"
#include "frame/sbatch.h"
#include "slurm/env.h"
#include "show/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SRUN_LIMIT_US (150 * JS_SECOND_US)

/* ---------------------------------------------------------------------------------------------------- under srun */

/* Prints a line of the doctor on the compute node, which writes JSON, as one of ours.  Returns 1; 0 if it is no such
 * line (srun and a site's scripts print, too). */
static int repeat_line(struct doctor *d, const char *json)
{
	json_t *o = json_loads(json, 0, NULL), *remedy = NULL;
	const char *word, *where, *check, *text;
	int found = 0;

	if (json_unpack(o, "{s:s, s:s, s:s, s:s, s?o}", "level", &word, "where", &where, "check", &check, "text", &text,
			"remedy", &remedy) == 0)
		for (int level = 0; level < DOCTOR_LEVELS && !found; level++) {
			found = strcmp(word, doctor_word[level]) == 0;
			if (found)
				doctor_print(d, (enum doctor_level)level, where, check, text,
					     json_string_value(remedy));
		}
	json_decref(o);
	return found;
}

/* Appends the call that runs this program with --inner on a compute node.  Within a job srun starts a step, which has
 * the job's time limit. */
static void add_srun_words(struct doctor *d, struct cli_words *words)
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

/* Runs the same checks on a compute node, and repeats what they print.  If no line comes back, srun itself, or a
 * missing program, is the finding. */
static void check_under_srun(struct doctor *d)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct cli_words words = {0};
	struct js_buf out = {0}, said = {0};
	const struct cli_command command = {.words = &words, .out = &out, .err = &said, .limit_us = SRUN_LIMIT_US};
	char *rest, *line;
	int status, lines = 0;

	add_srun_words(d, &words);
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

static void find_host(struct doctor *d)
{
	static struct js_slurm_env env;

	js_slurm_env_read(&env);
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

/* Checks one thing after the other, each of which prints its lines at once.  A signal ends it between two. */
static int print_findings(struct cli *cli)
{
	d.cli = cli;
	d.slurm = js_child_is_in_path("sinfo") || js_child_is_in_path("srun");
	find_host(&d);
	doctor_local(&d);
	if (cli_stop == 0)
		doctor_database(&d);
	if (cli_stop == 0 && !d.inner)
		doctor_slurm(&d);
	if (cli_stop == 0 && d.srun != NULL)
		check_under_srun(&d);
	figures_server_free(&d.server);
	if (cli_stop == 0 && !cli->json && !cli->quiet)
		(void)printf("%u ok, %u warn, %u FAIL%s\n", d.count[DOCTOR_OK], d.count[DOCTOR_WARN],
			     d.count[DOCTOR_FAIL], cli->verbose ? "" : " (-v prints what is ok, too)");
	return d.memory ? CLI_BUG : cli_stop != 0 || d.count[DOCTOR_FAIL] > 0 ? CLI_NO : CLI_YES;
}

static const char about[] = "Checks what a run needs (option file, database, rights, settings, Slurm, log directory) "
			    "and says what to correct.";
static const char notes[] = "Each finding is ok (printed only with -v), warn (jobstack works, but something should be "
			    "corrected), or\nFAIL. Exit status: 0 without a FAIL, else 1.\n\n  jobstack doctor "
			    "--srun=\"--partition=short\"";
static const struct js_opts opts = {"jobstack doctor", "[STACK] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_doctor = {&opts, NULL, CLI_OFFLINE | CLI_DIES, 0, check_doctor, print_findings};

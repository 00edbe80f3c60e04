/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: tries everything a run needs, from here or from a compute node, and says what to mend.  Promises: it
 * changes nothing but a file that it makes and removes again; whatever does not answer is given up after a while; low
 * rights are no failure.
 */
#include "cli/doctor/doctor.h"

#include "base/clock.h"
#include "cli/sbatch.h"
#include "slurm/env.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SRUN_LIMIT_US (150 * JS_SECOND_US)

enum { SRUN = CLI_OWN, INNER };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{SRUN, "srun", "[OPTIONS]", "also check from a compute node, through srun with these options"},
	{INNER, "inner", NULL, NULL},
	CLI_OPTS_REST};

/* ---------------------------------------------------------------------------------------------------- under srun */

/* One line of the other's JSON. */
static int repeat_line(struct doctor *d, const char *text)
{
	json_t *o = json_loads(text, 0, NULL);
	const char *level, *where, *check, *what;
	json_t *remedy = NULL;
	int taken = 0;

	for (int l = 0; l < DOCTOR_LEVELS && json_unpack(o, "{s:s,s:s,s:s,s:s,s?:o}", "level", &level, "where", &where,
							 "check", &check, "text", &what, "remedy", &remedy) == 0;
	     l++)
		if (strcmp(level, doctor_level_word((enum doctor_level)l)) == 0) {
			doctor_tell(d, (enum doctor_level)l, where, check, what, json_string_value(remedy));
			taken = 1;
		}
	json_decref(o);
	return taken;
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
	char *rest = NULL, *line;
	int status, lines = 0;

	words_for_srun(d, &words);
	status = cli_command(&command, &error);
	for (rest = out.data; rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
		lines += repeat_line(d, line);
	if (said.data != NULL)
		said.data[strcspn(said.data, "\n")] = '\0';
	if (lines == 0)
		doctor_say(d, DOCTOR_FAIL, "srun",
			   status < 0 ? "if the partition is busy or down, try another one: --srun=\"--partition=NAME\""
				      : "correct what srun reports; if the node has no jobstack at that path, install "
					"it on a file system that all nodes share",
			   "no answer from a compute node: %s",
			   status < 0	  ? error.text
			   : said.len > 0 ? said.data
					  : "srun printed nothing");
	cli_words_free(&words);
	js_buf_free(&out);
	js_buf_free(&said);
}

/* ------------------------------------------------------------------------------------------------------ the call */

static void find_where(struct doctor *d)
{
	static struct js_slurm_env env;

	js_slurm_env_read(&env, cli_get);
	(void)snprintf(d->where, sizeof(d->where), "%s", env.node);
	if (env.in_slurm)
		doctor_say(d, DOCTOR_OK, "place", NULL, "in Slurm job %s on node %s%s%s", env.job, env.node,
			   env.partition != NULL ? ", partition " : "", env.partition != NULL ? env.partition : "");
	else
		doctor_say(d, DOCTOR_OK, "place", NULL, "on %s, outside of Slurm", env.node);
}

static struct doctor d;
static const struct cli_take takes[] = {
	{INNER, CLI_FLAG(&d.inner)}, {SRUN, CLI_BY(cli_sbatch_take_later, &d.srun)}, CLI_TAKE_END};

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
	for (size_t i = 0; i < d.facts_n; i++) {
		free(d.facts[i].name);
		free(d.facts[i].value);
	}
	free(d.facts);
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
const struct cli_frame cli_doctor = {&opts, takes, NULL, CLI_OFFLINE | CLI_DIES, 0, check_doctor, print_findings};

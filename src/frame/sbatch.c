/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sbatch, as `submit` and `server submit` use it.  Promises: no shell reads what users gave; what a site's filters say
 * to sbatch is shown as it is; what Slurm says to the job that we are in never reaches the job that is submitted.
 */
#include "frame/sbatch.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "proc/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_US (120 * JS_SECOND_US) /* sbatch itself waits for a busy controller */

/* ------------------------------------------------------------------------------------------------------- options */

/* Refuses a word between the options: a short option of sbatch, whose value could not be told from a word of the
 * command; a file that was meant to be pushed; or anything else. */
static int refuse_word(struct cli *cli, const char *word)
{
	if (word[0] == '-')
		return cli_usage(cli,
				 "there is no option %s: write sbatch's options in full, as in --partition=NAME, or "
				 "use --sbatch=\"OPTIONS\"",
				 word);
	if (access(word, F_OK) == 0)
		return cli_usage(
			cli,
			"\"%s\" is a file: push the files first (`jobstack push -s NAME FILE...`), then submit "
			"the command (`jobstack submit -s NAME OPTIONS -- CMD`)",
			word);
	return cli_usage(cli,
			 "unexpected argument \"%s\": write sbatch's options as --OPT=VALUE, and the command after --",
			 word);
}

/* Reads the words as sbatch would: --NAME=VALUE, --NAME VALUE, -LVALUE or -L VALUE. */
const char *cli_sbatch_value(const struct cli_words *words, const char *name, char letter)
{
	const char *found = NULL;
	size_t len = strlen(name);

	for (size_t i = 0; i < words->n; i++) {
		const char *word = words->at[i], *next = i + 1 < words->n ? words->at[i + 1] : "";

		if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, len) == 0 && word[len + 2] == '=')
			found = word + len + 3;
		else if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, name) == 0)
			found = next[0] != '-' ? next : "";
		else if (letter != 0 && word[0] == '-' && word[1] == letter)
			found = word[2] != '\0' ? word + 2 : next;
	}
	return found;
}

int cli_sbatch_take(struct cli *cli, void *ctx, int key, const char *arg)
{
	if (key == JS_OPT_OTHER && strncmp(arg, "--", 2) != 0)
		return refuse_word(cli, arg);
	if (key == JS_OPT_OTHER)
		cli_words_add(ctx, arg);
	else if (cli_words_split(ctx, arg) != 0)
		return cli_usage(cli, "--%s: missing closing quote in \"%s\"", cli_option(cli, key)->name, arg);
	return 0;
}

/* Splits the words only to refuse a quote that is open; they are used much later. */
int cli_sbatch_take_later(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct cli_words words = {0};
	int status = cli_sbatch_take(cli, &words, key, arg);

	cli_words_free(&words);
	*(const char **)ctx = arg;
	return status;
}

/* These options of sbatch would change what kind of thing is submitted, and with it what this program prints and
 * records. */
int cli_sbatch_check(struct cli *cli, const struct cli_words *passed, int dry_run, int parsable)
{
	static const struct {
		const char *name;
		char letter;
		const char *instead;
	} no[] = {{"array", 'a', "--workers sets the number of array tasks"},
		  {"wrap", 0, "write the command after --"},
		  {"wait", 'W', "`jobstack wait` waits for a stack"},
		  {"test-only", 0, "--dry-run shows what would be submitted"},
		  {"help", 'h', NULL}};

	if (cli->words_n > 0 && strcmp(cli->words[-1], "--") != 0)
		return refuse_word(cli, cli->words[0]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (cli_sbatch_value(passed, no[i].name, no[i].letter) != NULL)
			return cli_usage(cli, "sbatch's --%s can't be used here%s%s", no[i].name,
					 no[i].instead != NULL ? ": " : "", no[i].instead != NULL ? no[i].instead : "");
	if (cli->json && parsable)
		return cli_usage(cli, "--json and --parsable can't be used together");
	if (dry_run && (cli->json || parsable))
		return cli_usage(cli, "--dry-run and --%s can't be used together: there is no job number to print",
				 cli->json ? "json" : "parsable");
	return 0;
}

int cli_sbatch_find(const struct cli *cli, const char *instead)
{
	if (js_child_is_in_path("sbatch"))
		return 0;
	cli_tell(cli, "there is no sbatch in $PATH: use a host of the Slurm cluster, or load Slurm's module; %s",
		 instead);
	return CLI_USAGE;
}

/* ------------------------------------------------------------------------------------------------------ the call */

/* Returns whether VARIABLE describes the Slurm job that we are in.  sbatch reads some of these as options.  Those of
 * the site (its configuration, tokens, clusters) must reach it. */
static int is_of_job(const char *variable)
{
	static const char *const site[] = {
		"SLURM_CONF=", "SLURM_CONF_SERVER=", "SLURM_JWT=", "SLURM_CLUSTERS=", "SLURM_TIME_FORMAT="};

	for (size_t i = 0; i < sizeof(site) / sizeof(site[0]); i++)
		if (strncmp(variable, site[i], strlen(site[i])) == 0)
			return 0;
	return strncmp(variable, "SLURM", 5) == 0 || strncmp(variable, "SRUN_CPUS_PER_TASK=", 19) == 0;
}

/* Appends the environment for sbatch. */
static void add_sbatch_env(struct cli_words *env)
{
	extern char **environ;

	for (char **variable = environ; *variable != NULL; variable++)
		if (getenv("SLURM_JOB_ID") == NULL || !is_of_job(*variable))
			cli_words_add(env, *variable);
}

void cli_sbatch_words(struct cli_words *call, const struct cli_words *words, const char *script)
{
	(void)cli_words_split(call, "sbatch --parsable");
	cli_words_all(call, words);
	cli_words_add(call, script);
}

/* Finds the job's number: in the last line that is JOB or JOB;CLUSTER.  Other lines, such as a site's greeting, are
 * shown.  0, or -1. */
static int read_answer(char *text, uint64_t *job)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		char number[24];
		uint64_t n;

		(void)snprintf(number, sizeof(number), "%.*s", (int)strcspn(line, ";"), line);
		if (js_num_u64(number, 1, UINT32_MAX, &n) == 0)
			*job = n;
		else if (*line != '\0')
			(void)fprintf(stderr, "%s\n", line);
	}
	return *job != 0 ? 0 : -1;
}

/* The last line is the one that says why: a site's filters may print others before it. */
static const char *last_line(struct js_buf *said)
{
	char *end;

	while (said->len > 0 && said->data[said->len - 1] == '\n')
		said->data[--said->len] = '\0';
	end = said->len > 0 ? strrchr(said->data, '\n') : NULL;
	return end != NULL ? end + 1 : said->len > 0 ? said->data : "it gave no reason";
}

/* If the time is up, sbatch may have created the job or not; the error says how to find out. */
int cli_sbatch(struct cli *cli, const struct cli_words *call, uint64_t *job)
{
	struct cli_words env = {0};
	struct js_buf out = {0}, said = {0};
	struct cli_command command = {.words = call, .out = &out, .err = &said, .limit_us = LIMIT_US};
	int status;

	add_sbatch_env(&env);
	command.env = env.at;
	status = env.failed ? js_error_memory(&cli->error) : cli_command(&command, &cli->error);
	cli_words_free(&env);
	*job = 0;
	(void)fwrite(said.data, 1, said.len, stderr);
	if (status > 0)
		(void)js_error_set(&cli->error, JOBSTACK_EFILE, "%s", last_line(&said));
	js_buf_free(&said);
	if (status == JOBSTACK_EFILE && cli->error.server_errno == JS_WHY_LATE) { /* what had it done by then? */
		char *end = strchr(cli->error.text, '\0');

		(void)snprintf(end, sizeof(cli->error.text) - (size_t)(end - cli->error.text),
			       ": `squeue --me` shows whether it created a job all the same");
	}
	if (status == 0 && read_answer(out.data, job) != 0)
		status =
			js_error_set(&cli->error, JOBSTACK_EFILE,
				     "sbatch printed no job number: `squeue --me` shows whether the job was submitted");
	js_buf_free(&out);
	return status > 0 ? 1 : status;
}

int cli_scancel(struct cli *cli, const char *numbers)
{
	struct cli_words words = {0};
	const struct cli_command command = {.words = &words, .limit_us = LIMIT_US / 4};
	int status;

	cli_words_add(&words, "scancel");
	(void)cli_words_split(&words, numbers);
	status = cli_command(&command, &cli->error);
	cli_words_free(&words);
	return status;
}

/* An answer without a byte is a failure, too: nothing can be read from it. */
char *cli_slurm_answer(const char *line, int64_t limit_us, struct jobstack_error *error)
{
	struct cli_words words = {0};
	struct js_buf out = {0}, said = {0};
	const struct cli_command command = {.words = &words, .out = &out, .err = &said, .limit_us = limit_us};
	int status;

	(void)cli_words_split(&words, line);
	status = cli_command(&command, error);
	cli_words_free(&words);
	if (status > 0 || (status == 0 && out.data == NULL))
		status = js_error_set(error, JOBSTACK_EFILE, "%s", cli_first_line(&said, "it printed nothing"));
	js_buf_free(&said);
	if (status == 0)
		return out.data;
	js_buf_free(&out);
	return NULL;
}

int cli_slurm_config(const char *text, const char *key, char value[CLI_SLURM_VALUE])
{
	size_t len = strlen(key);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && sscanf(line + len, "%*[ ]=%*[ ]%63[^\n]", value) == 1)
			return 1;
	}
	return 0;
}

int cli_sbatch_keep(struct cli *cli, const char *path, const struct js_buf *script)
{
	if (script->failed)
		return cli_no_memory(cli);
	if (js_file_make_parent(path, 0777) == 0 && js_file_replace(path, 0644, script->data, script->len) == 0)
		return 0;
	(void)js_error_file(&cli->error, "can't write the script %s", path);
	return cli_fail(cli);
}

void cli_sbatch_output(struct cli_words *words, const char *path, const char *name)
{
	struct js_buf doubled = {0};

	for (; *path != '\0'; path++)
		js_buf_printf(&doubled, "%s%c", *path == '%' ? "%" : "", *path);
	cli_words_format(words, "--output=%s%s", doubled.data != NULL ? doubled.data : "", name);
	words->failed |= doubled.failed;
	js_buf_free(&doubled);
}

int cli_absolute(const char *path, char *out)
{
	char cwd[CLI_PATH];

	if (path[0] == '/')
		return snprintf(out, CLI_PATH, "%s", path) < CLI_PATH ? 0 : -1;
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		return -1;
	return snprintf(out, CLI_PATH, "%s/%s", cwd, path) < CLI_PATH ? 0 : -1;
}

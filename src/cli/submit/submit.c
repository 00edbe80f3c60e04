/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack submit: writes the batch script of the workers and hands it to sbatch.  Promises: sbatch itself makes the
 * job, so that a site's filters and defaults hold; what it says is shown as it is; no more workers than there is work,
 * and no larger arrays than the site takes; options that the worker would refuse are refused here, before anything
 * waits in a queue.
 */
#define _GNU_SOURCE
#include "cli/submit/submit.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "view/json.h"
#include "view/text.h"
#include "cli/worker.h"
#include "run/worker_options.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_US (10 * JS_SECOND_US)
#define SLURM_LIMIT_US (30 * JS_SECOND_US)
#define WORKERS_MAX 1000000
#define ARRAY_MAX 1001 /* Slurm's own defaults: MaxArraySize */
#define KILL_WAIT_S 30 /* ... and KillWait */

enum { WORKERS = CLI_OWN, SBATCH, UNTIL_DONE, NOTIFY, FOLLOW, DRY_RUN, PARSABLE, CHAIN };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{WORKERS, "workers", "N", "start N workers, or fewer if there is not so much to do"},
	{UNTIL_DONE, "until-done", NULL,
	 "when they have ended, go on with new ones until nothing is left,\nor only the dead"},
	{NOTIFY, "notify", "ADDRESS", "mail what `jobstack report` says, at the end"},
	{SBATCH, "sbatch", "OPTIONS",
	 "further options for sbatch: short ones, or of names that\njobstack-worker has as well"},
	{FOLLOW, "follow", "OPTIONS", "options for sbatch of the small job that --until-done and\n--notify need"},
	{DRY_RUN, "dry-run", NULL, "show what would be handed to sbatch, and do nothing"},
	{PARSABLE, "parsable", NULL, "print just the job's number, as sbatch does"},
	{CHAIN, "chain", "STATE", NULL},
	JS_WORKER_OPTIONS_OF_RUN,
	{JS_WORKER_IDLE_TIMEOUT, "idle-timeout", "D", "stay so long with nothing to do (default 60s)"},
	{JS_WORKER_MARGIN, "margin", "D", "start nothing that would run until D before the job's end"},
	{JS_WORKER_STRICT, "strict", NULL, "a worker ends with status 1 if any entry failed"},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {
	"jobstack submit",
	"--workers N [OPTIONS] [--OPT=VALUE for sbatch] -- CMD ARG...",
	"Hands a job array of workers for a stack to sbatch. Every --OPT or --OPT=VALUE that is not listed here goes "
	"to\n"
	"sbatch as it is: --time=2:00:00 --mem=4G --partition=NAME --account=NAME.",
	table,
	"--slots N asks Slurm for N CPUs; with --cpus-per-task=M as well, N commands share M CPUs. Options that sbatch "
	"and\n"
	"jobstack-worker both have (--chdir, --output, --error) are the worker's.\n\n"
	"  jobstack submit -s mystack --workers 20 --slots 4 --time=2:00:00 --until-done -- ./convert.sh {}\n\n"
	"To end what --until-done began: jobstack pause, or scancel -n jobstack-STACK.  See docs/SUBMIT.md.",
	0};

/* ------------------------------------------------------------------------------------------------------- options */

static int number(struct submit *s, const char *name, const char *arg, uint64_t high, uint64_t *to)
{
	if (js_num_u64(arg, 1, high, to) == 0)
		return 0;
	return cli_usage(&s->cli, "--%s takes a whole number from 1 to %" PRIu64 ", not \"%s\"", name, high, arg);
}

/* An option of jobstack-worker, as it takes it. */
static void pass_on(struct submit *s, int key, const char *arg)
{
	const struct js_opt *o = table;

	while (o->key != key)
		o++;
	cli_words_format(&s->worker, o->arg == NULL ? "--%s" : "--%s=%s", o->name, arg);
}

/* Not what a mailer would take for several, or for an option. */
static int is_address(const char *text)
{
	const char *p = text;

	while ((unsigned char)*p > ' ' && *p != 0x7f)
		p++;
	return *p == '\0' && p != text && *text != '-';
}

static int take(struct submit *s, int key, const char *arg)
{
	struct cli *cli = &s->cli;

	switch (key) {
	case WORKERS: return number(s, "workers", arg, WORKERS_MAX, &s->workers);
	case JS_WORKER_SLOTS: return number(s, "slots", arg, 256, &s->slots);
	case UNTIL_DONE: s->until_done = 1; break;
	case DRY_RUN: s->dry_run = 1; break;
	case PARSABLE: s->parsable = 1; break;
	case NOTIFY:
		if (!is_address(arg))
			return cli_usage(cli, "--notify takes an address, not \"%s\"", arg);
		s->notify = arg;
		break;
	case SBATCH:
		if (cli_words_split(&s->passed, arg) != 0)
			return cli_usage(cli, "--sbatch: a quote is open in \"%s\"", arg);
		break;
	case FOLLOW: {
		struct cli_words words = {0};
		int bad = cli_words_split(&words, arg);

		cli_words_free(&words);
		if (bad != 0)
			return cli_usage(cli, "--follow: a quote is open in \"%s\"", arg);
		s->follow = arg;
		break;
	}
	case CHAIN:
		if (submit_chain_parse(&s->chain, arg) != 0)
			return cli_usage(cli, "--chain is for the scripts that this command writes itself");
		break;
	default:
		if (key == JS_WORKER_CHDIR)
			s->chdir = arg;
		if (key == JS_WORKER_LOG_DIR)
			s->log_dir = arg;
		pass_on(s, key, arg);
	}
	return 0;
}

/* Our own options as they were typed, for the next round, but those that it is given anew, or that are of this call
 * alone. */
static void remember(struct submit *s, const struct cli_words *mine)
{
	static const char *const anew[] = {"--chain", "--stack", "--defaults-file", "--dry-run"};

	for (size_t i = 1; i < mine->n; i++) {
		const char *word = mine->at[i];
		int skip = strncmp(word, "-s", 2) == 0 && word[1] == 's';
		size_t len = strcspn(word, "=");

		for (size_t k = 0; k < sizeof(anew) / sizeof(anew[0]); k++)
			skip |= strlen(anew[k]) == len && strncmp(word, anew[k], len) == 0;
		if (!skip)
			cli_words_add(&s->again, word);
		else if (strcmp(word, "-s") == 0 ||
			 (strncmp(word, "--", 2) == 0 && word[len] == '\0' && strcmp(word, "--dry-run") != 0))
			i++;
	}
}

static int parse(struct submit *s, int argc, char **argv)
{
	struct cli_words *mine = &s->mine;
	const char *arg;
	int key = -1, status, rest;

	cli_begin(&s->cli, &opts);
	cli_words_add(mine, argv[0]);
	status = cli_sbatch_sort(&s->cli, argc, argv, mine, &s->given, &rest);
	cli_words_all(&s->passed, &s->given);
	optind = 0;
	while (status == 0 && (key = cli_next(&s->cli, (int)mine->n, mine->at, &arg, &status)) >= 0)
		status = take(s, key, arg);
	if (status != 0)
		return status;
	if (key == -2)
		return -1;
	remember(s, mine);
	for (int i = rest + 1; i < argc; i++)
		cli_words_add(&s->command, argv[i]);
	if (s->command.n == 0 || s->command.at[0][0] == '\0')
		return cli_usage(&s->cli,
				 "there is no command to run: jobstack submit --workers N [OPTIONS] -- CMD {}");
	if (s->workers == 0)
		return cli_usage(&s->cli, "--workers N is wanted: how many workers at most");
	if (s->follow != NULL && !s->until_done && s->notify == NULL)
		return cli_usage(&s->cli, "--follow is for the job that --until-done or --notify adds");
	if (s->cli.json && s->parsable)
		return cli_usage(&s->cli, "--json and --parsable contradict each other");
	if (s->dry_run && (s->cli.json || s->parsable))
		return cli_usage(&s->cli,
				 "--dry-run shows the script, and there is no job whose number --%s could print",
				 s->cli.json ? "json" : "parsable");
	return cli_sbatch_refuse(&s->cli, &s->passed);
}

/* What sbatch's options say about CPUs and tasks. */
static int resources(struct submit *s)
{
	const char *cpus = cli_sbatch_value(&s->passed, "cpus-per-task", 'c'),
		   *tasks = cli_sbatch_value(&s->passed, "ntasks", 'n');
	const char *nodes = cli_sbatch_value(&s->passed, "nodes", 'N'),
		   *each = cli_sbatch_value(&s->passed, "ntasks-per-node", 0);
	uint64_t n = 1, per = 1;

	if (cpus != NULL && number(s, "cpus-per-task", cpus, INT32_MAX, &s->cpus) != 0)
		return CLI_USAGE;
	if (tasks != NULL && number(s, "ntasks", tasks, WORKERS_MAX, &s->tasks) != 0)
		return CLI_USAGE;
	s->slots_said = s->slots > 0 && cpus != NULL;
	if (s->slots > 0 && cpus != NULL && s->slots > s->cpus)
		return cli_usage(&s->cli,
				 "--slots %" PRIu64 " and --cpus-per-task=%" PRIu64
				 " contradict each other: each slot wants a CPU",
				 s->slots, s->cpus);
	if (cpus == NULL)
		s->cpus = s->slots;
	if (tasks == NULL) { /* a task a node, which is srun's rule too; a range of nodes is as good as its lower end */
		char *low = nodes != NULL ? strndup(nodes, strcspn(nodes, "-")) : NULL;

		if (low != NULL && js_num_u64(low, 1, WORKERS_MAX, &n) != 0)
			n = 1;
		free(low);
		if (each != NULL && js_num_u64(each, 1, WORKERS_MAX, &per) != 0)
			per = 1;
		s->tasks = n * per;
	}
	if (s->workers < s->tasks)
		return cli_usage(&s->cli,
				 "--workers %" PRIu64 " is less than the %" PRIu64
				 " that each job has by --ntasks or --nodes",
				 s->workers, s->tasks);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- places */

static int places(struct submit *s)
{
	const char *file = cli_option_file(&s->cli), *dir = s->log_dir != NULL ? s->log_dir : "jobstack-logs";
	const char *given = cli_sbatch_value(&s->passed, "chdir", 'D');
	char logs[CLI_PATH];
	unsigned char dice[3];
	struct tm tm;
	time_t now = time(NULL);

	if (getcwd(s->cwd, sizeof(s->cwd)) == NULL)
		s->cwd[0] = '\0';
	if (given != NULL && *given != '\0' && cli_absolute(given, s->cwd) != 0)
		s->cwd[0] = '\0';
	if (s->cwd[0] == '\0' || cli_absolute(dir, logs) != 0 ||
	    (file != NULL && cli_absolute(file, s->option_file) != 0)) {
		(void)js_error_set(&s->cli.error, JOBSTACK_EFILE,
				   "the working directory is not known, or the path of it, of --log-dir or of the "
				   "option file is too long");
		return cli_fail(&s->cli);
	}
	if (given != NULL && dir[0] != '/')
		(void)snprintf(logs, sizeof(logs), "%.2000s/%.2000s", s->cwd, dir);
	(void)snprintf(s->logs, sizeof(s->logs), "%s/%s", logs, s->cli.stack);
	(void)gmtime_r(&now, &tm);
	js_file_random(dice, sizeof(dice));
	(void)strftime(s->stamp, sizeof(s->stamp), "%Y%m%d-%H%M%S", &tm);
	(void)snprintf(s->stamp + strlen(s->stamp), 16, "-%02x%02x%02x", dice[0], dice[1], dice[2]);
	(void)snprintf(s->script, sizeof(s->script), "%s/submit-%s.sh", s->logs, s->stamp);
	(void)snprintf(s->next_script, sizeof(s->next_script), "%s/submit-%s-next.sh", s->logs, s->stamp);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- sizing */

/* Is there anything for workers to do?  0, or the exit status, having told. */
static int look(struct submit *s)
{
	const struct jobstack_status *t = &s->stack.s;
	struct js_buf note = {0};

	if (t->state != JOBSTACK_OPEN) {
		view_safe(&note, s->stack.note.data, s->stack.note.len);
		(void)fprintf(stderr,
			      "%s: the stack \"%s\" is %s%s%s: nothing was submitted: `jobstack resume -s %s` first\n",
			      opts.command, s->cli.stack, view_stack_word(t->state), note.len > 0 ? ": " : "",
			      note.len > 0 ? note.data : "", s->cli.stack);
		js_buf_free(&note);
		return CLI_NO;
	}
	if (t->ready + t->waiting + t->held == 0 && t->pushers == 0) {
		(void)fprintf(stderr,
			      "%s: the stack \"%s\" has nothing for workers (%" PRIu64 " done, %" PRIu64
			      " dead, %" PRIu64 " running): nothing was submitted: `jobstack %s -s %s` %s\n",
			      opts.command, s->cli.stack, t->done, t->dead, t->running,
			      t->running > 0 ? "status"
			      : t->dead > 0  ? "requeue"
					     : "push",
			      s->cli.stack,
			      t->running > 0 ? "shows who runs it"
			      : t->dead > 0  ? "pushes the dead back"
					     : "gives it more");
		return CLI_NO;
	}
	if (t->cwd == NULL && s->stack.cwd.len > 0 && s->chdir == NULL && strcmp(s->stack.cwd.data, s->cwd) != 0) {
		note = (struct js_buf){0};
		view_quote_line(&note, s->stack.cwd.data, s->stack.cwd.len);
		(void)fprintf(stderr,
			      "%s: the stack's names belong to the directory %s: submit from there, or give --chdir\n",
			      opts.command, note.data != NULL ? note.data : "?");
		js_buf_free(&note);
		return CLI_USAGE;
	}
	return 0;
}

/* MaxArraySize, which is one more than the largest index, and KillWait. */
static void ask_site(struct submit *s)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct cli_words words = {0};
	struct js_buf out = {0}, said = {0};
	const struct cli_command command = {.words = &words, .out = &out, .err = &said, .limit_us = SLURM_LIMIT_US};
	char *value = NULL, *kill_wait = NULL;
	uint64_t size = ARRAY_MAX;

	cli_words_add(&words, "scontrol");
	cli_words_add(&words, "show");
	cli_words_add(&words, "config");
	if (cli_command(&command, &error) == 0) {
		value = cli_slurm_config(out.data, "MaxArraySize");
		kill_wait = cli_slurm_config(out.data, "KillWait"); /* "30 sec" */
	}
	s->kill_wait_s =
		kill_wait != NULL && strtol(kill_wait, NULL, 10) > 0 ? strtol(kill_wait, NULL, 10) : KILL_WAIT_S;
	free(kill_wait);
	if (value == NULL || js_num_u64(value, 0, UINT32_MAX, &size) != 0) {
		size = ARRAY_MAX;
		if (s->cli.verbose)
			cli_say(&s->cli, "scontrol does not tell MaxArraySize: %d is assumed", ARRAY_MAX);
	}
	s->most = size > 2 ? size - 1 : 1;
	free(value);
	cli_words_free(&words);
	js_buf_free(&out);
	js_buf_free(&said);
}

static void size(struct submit *s)
{
	const struct jobstack_status *t = &s->stack.s;
	uint64_t left = t->ready + t->waiting + t->held, slots = s->slots > 0 ? s->slots : s->cpus > 0 ? s->cpus : 1;
	uint64_t enough = (left + slots - 1) / slots, most;

	s->starts = s->workers;
	if (t->max_running > 0 && s->starts > (uint64_t)t->max_running)
		s->starts = (uint64_t)t->max_running;
	if (t->pushers == 0 && enough > 0 && s->starts > enough)
		s->starts = enough;
	ask_site(s);
	s->elements = (s->starts + s->tasks - 1) / s->tasks;
	if (s->elements * s->tasks > s->workers) /* never more than was said; at least one job, by resources() */
		s->elements = s->workers / s->tasks;
	most = s->most * SUBMIT_JOBS_MAX;
	if (s->elements > most) {
		s->elements = most;
		s->starts = most * s->tasks;
		cli_say(&s->cli,
			"only %" PRIu64 " workers: arrays may have %" PRIu64
			" elements here (MaxArraySize), and %d arrays are the most",
			s->starts, s->most, SUBMIT_JOBS_MAX);
	}
	s->starts = s->elements * s->tasks;
}

/* -------------------------------------------------------------------------------------------------- handing over */

/* One array of N elements. */
static int hand_over(struct submit *s, uint64_t n, int first)
{
	struct cli_words options = {0}, call = {0};
	struct js_buf script = {0};
	uint64_t job = 0;
	int status = 0;

	submit_array_words(s, n, &options);
	cli_sbatch_words(&call, &options, s->script);
	submit_worker_script(s, &call, &script);
	if (call.failed || script.failed)
		status = js_error_memory(&s->cli.error), status = cli_fail(&s->cli);
	else if (s->dry_run) {
		cli_words_quote(&script, &call);
		(void)printf("%s%s\n", first ? "" : "\n", script.data != NULL ? script.data : "");
	} else {
		status = first ? cli_sbatch_keep(&s->cli, s->script, &script) : 0;
		if (status == 0)
			status = submit_sbatch(s, &call, &job);
		if (status < 0)
			status = cli_fail(&s->cli);
		else if (status == 1)
			cli_say(&s->cli, "sbatch did not take it, for what it said above: %s",
				first ? "nothing was submitted" : "no more was submitted");
	}
	if (job != 0)
		(void)snprintf(s->answered + strlen(s->answered), sizeof(s->answered) - strlen(s->answered),
			       "%s%" PRIu64, s->answered[0] == '\0' ? "" : ":", job);
	cli_words_free(&options);
	cli_words_free(&call);
	js_buf_free(&script);
	return status;
}

static int print(struct submit *s)
{
	json_t *o, *jobs;
	char copy[sizeof(s->answered)], *rest = copy, *job;
	int bad = 0;

	(void)snprintf(copy, sizeof(copy), "%s", s->answered);
	if (s->parsable) {
		for (char *p = copy; *p != '\0'; p++)
			if (*p == ':')
				*p = '\n';
		(void)printf("%s\n", copy);
		return CLI_YES;
	}
	if (s->cli.json) {
		o = json_object();
		jobs = json_array();
		bad |= view_json_text(o, "stack", s->cli.stack);
		while ((job = strsep(&rest, ":")) != NULL)
			bad |= json_array_append_new(jobs, json_integer(strtoll(job, NULL, 10)));
		bad |= json_object_set(o, "job", json_array_get(jobs, 0));
		bad |= json_object_set_new(o, "jobs", jobs);
		bad |= view_json_count(o, "workers", s->starts);
		bad |= view_json_int(o, "slots", (int64_t)s->slots, s->slots > 0);
		bad |= view_json_count(o, "left", insight_stack_left(&s->stack.s));
		bad |= view_json_bytes(o, "script", s->script, strlen(s->script));
		bad |= view_json_int(o, "next", (int64_t)s->next, s->next > 0);
		return view_json_print(o, bad) == 0 ? CLI_YES : CLI_BUG;
	}
	if (s->cli.quiet)
		return CLI_YES;
	(void)printf("job%s %s: %" PRIu64 " worker%s for %" PRIu64 " entries of \"%s\"\n",
		     strchr(copy, ':') != NULL ? "s" : "", copy, s->starts, s->starts == 1 ? "" : "s",
		     insight_stack_left(&s->stack.s), s->cli.stack);
	if (s->next > 0)
		(void)printf("job %" PRIu64 " comes after: %s\n", s->next,
			     s->until_done ? "it goes on until nothing is left" : "it mails what has become of it");
	(void)printf("script: %s\n", s->script);
	return CLI_YES;
}

/* Arrays of the size that the site takes, and what comes after them. */
static int submit(struct submit *s)
{
	uint64_t left = s->elements;
	int status = 0;

	for (int first = 1; left > 0 && status == 0; first = 0) {
		uint64_t n = left < s->most ? left : s->most;

		status = hand_over(s, n, first);
		if (status == 0)
			left -= n;
	}
	if (s->answered[0] == '\0' && !s->dry_run)
		return status;
	s->starts -= left * s->tasks;
	if (s->until_done || s->notify != NULL) {
		int after = submit_next(s, s->dry_run ? "JOB" : s->answered, NULL);

		if (after != 0)
			cli_say(&s->cli, "job %s is submitted, but nothing comes after it", s->answered);
		status = status != 0 ? status : after;
	}
	if (!s->dry_run) {
		int printed = print(s);

		status = status != 0 ? status : printed;
	}
	return status;
}

/* ------------------------------------------------------------------------------------------------------ the call */

/* A round after the first.  0 to go on and submit; -1 at the end, with *STATUS. */
static int later_round(struct submit *s, int *status)
{
	int got = submit_reach(s, status);

	if (got == 0) {
		got = cli_stack(&s->cli, &s->stack);
		if (got != 0) {
			*status = cli_fail(&s->cli);
			submit_mail(s, s->cli.error.text);
			return -1;
		}
		got = submit_judge(s, status);
		if (got != 0)
			return got > 0 ? 0 : -1;
		*status = CLI_YES;
	} else if (got < 0) {
		submit_mail(s, s->cli.error.text);
		return -1;
	}
	cli_say(&s->cli, "it can't be judged yet: another look in a quarter of an hour");
	js_error_clear(&s->cli.error);
	*status = submit_next(s, "", "now+15minutes");
	if (*status != CLI_YES)
		submit_broke(s);
	return -1;
}

static int first_round(struct submit *s)
{
	int status = cli_connect(&s->cli, PATIENCE_US);

	if (status != 0)
		return status;
	if (cli_stack(&s->cli, &s->stack) != 0)
		return cli_fail(&s->cli);
	status = look(s);
	if (status == 0)
		submit_doubt_database(s);
	return status != 0
		       ? status
		       : cli_worker_try(&s->cli, s->option_file, &s->worker, s->command.at, "nothing was submitted");
}

int cli_submit_main(int argc, char **argv)
{
	static struct submit s;
	int status, ended = 0;

	status = parse(&s, argc, argv);
	if (status == 0)
		status = resources(&s);
	if (status == 0)
		status = places(&s);
	if (status != 0)
		return status < 0 ? CLI_YES : status;
	if (!s.dry_run && !js_child_is_in_path("sbatch")) {
		(void)fprintf(stderr,
			      "%s: there is no sbatch in $PATH: is this a host of a Slurm cluster, or is a module to "
			      "be loaded? `jobstack run` works on this machine alone\n",
			      opts.command);
		return CLI_USAGE;
	}
	cli_catch_signals();
	(void)signal(SIGCHLD, SIG_DFL); /* whoever called may have it ignored; then no child's end could be known */
	if (s.chain.round > 0)
		ended = later_round(&s, &status);
	else
		status = first_round(&s);
	if (status == 0 && ended == 0) {
		size(&s);
		jobstack_rest(s.cli.handle);
		status = submit(&s);
		if (status != CLI_YES && s.chain.round > 0)
			submit_broke(&s);
	}
	insight_stack_free(&s.stack);
	return cli_end(&s.cli, status);
}

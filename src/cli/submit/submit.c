/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack submit: writes the batch script of the workers and hands it to sbatch.  Promises: sbatch itself makes the
 * job, so that a site's filters and defaults hold; what it says is shown as it is; no more workers than there is work,
 * and no larger arrays than the site takes; options that the worker would refuse are refused here, before anything
 * waits in a queue.
 */
#include "cli/submit/submit.h"

#include "base/file.h"
#include "base/num.h"
#include "view/json.h"
#include "view/words.h"
#include "cli/host.h"
#include "cli/worker.h"
#include "run/worker_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX 1000000
#define SLOTS_MAX 256
#define TEXT_OF(number) QUOTED(number)
#define QUOTED(number) #number
#define ARRAY_MAX 1001 /* Slurm's own defaults: MaxArraySize */
#define KILL_WAIT_S 30 /* ... and KillWait */

enum { WORKERS = CLI_OWN, SBATCH, UNTIL_DONE, NOTIFY, FOLLOW, DRY_RUN, PARSABLE, CHAIN };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{WORKERS, "workers", "N", "start N workers, or fewer if the stack has less to do"},
	{UNTIL_DONE, "until-done", NULL,
	 "when they have ended, start new workers until nothing is left,\nor only dead entries"},
	{NOTIFY, "notify", "ADDRESS", "at the end, mail what `jobstack report` prints"},
	{SBATCH, "sbatch", "OPTIONS",
	 "more options for sbatch: needed for short options, and for sbatch options that have the same name as one of "
	 "jobstack-worker"},
	{FOLLOW, "follow", "OPTIONS", "sbatch options of the small follow-up job that --until-done and\n--notify need"},
	{DRY_RUN, "dry-run", NULL, "only print what would be submitted"},
	{PARSABLE, "parsable", NULL, "print only the job's number, like sbatch"},
	{CHAIN, "chain", "STATE", NULL},
	JS_WORKER_OPTIONS_OF_RUN,
	{JS_WORKER_IDLE_TIMEOUT, "idle-timeout", "D", "end after this time without work (default 60s)"},
	{JS_WORKER_MARGIN, "margin", "D", "start an entry only if it will probably end at least D before the job ends"},
	{JS_WORKER_STRICT, "strict", NULL, "workers end with status 1 if any entry failed"},
	CLI_OPTS_REST};
static const char about[] =
	"Submits a job array of workers for a stack. Every --OPT or --OPT=VALUE that is not listed here is passed to "
	"sbatch\nunchanged: --time=2:00:00 --mem=4G --partition=NAME --account=NAME.";
static const char notes[] =
	"--slots N requests N CPUs from Slurm; with --cpus-per-task=M as well, M CPUs for N commands (M >= N). Options "
	"that both\nsbatch and jobstack-worker have (--chdir, --output, --error) are passed to the worker.\n\n  "
	"jobstack submit -s mystack --workers 20 --slots 4 --time=2:00:00 --until-done -- ./convert.sh {}\n\nTo stop "
	"--until-done: `jobstack pause -s STACK`, or `scancel -n jobstack-STACK`.  See docs/SUBMIT.md.";
static const struct js_opts opts = {
	"jobstack submit", "--workers N [OPTIONS] [--OPT=VALUE for sbatch] -- CMD ARG...", about, table, notes, 0};

/* ------------------------------------------------------------------------------------------------------- options */

/* Not what a mailer would take for several, or for an option. */
static int take_address(struct cli *cli, void *ctx, int key, const char *arg)
{
	const char *p = arg;

	(void)key;
	*(const char **)ctx = arg;
	while ((unsigned char)*p > ' ' && *p != 0x7f)
		p++;
	return *p == '\0' && p != arg && *arg != '-' ? 0 : cli_usage(cli, "--notify takes an address, not \"%s\"", arg);
}

static int take_chain(struct cli *cli, void *ctx, int key, const char *arg)
{
	(void)key;
	return submit_chain_parse(ctx, arg) == 0
		       ? 0
		       : cli_usage(cli, "--chain is only for the scripts that this command writes");
}

/* An option of jobstack-worker. */
static int take_submit_worker_option(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct submit *s = ctx;

	if (key == JS_WORKER_CHDIR)
		s->chdir = arg;
	if (key == JS_WORKER_LOG_DIR)
		s->log_dir = arg;
	cli_worker_pass(&s->worker, cli, key, arg);
	return 0;
}

/* Keeps our own options for the next round, except those that it gets from us, or that only hold for this call. */
static void keep_own_options(struct submit *s, const struct cli_words *mine)
{
	static const char *const anew[] = {"--chain", "--stack", "--defaults-file", "--dry-run"};

	for (size_t i = 1; i < mine->n; i++) {
		const char *word = mine->at[i];
		size_t len = strcspn(word, "=");
		int skip = 0;

		for (size_t k = 0; k < sizeof(anew) / sizeof(anew[0]); k++)
			skip |= strlen(anew[k]) == len && strncmp(word, anew[k], len) == 0;
		if (!skip)
			cli_words_add(&s->again, word);
	}
}

static int parse_submit(struct submit *s, int argc, char **argv)
{
	const struct cli_take takes[] = {
		{WORKERS, CLI_NUMBER(&s->workers, 1, WORKERS_MAX, "a whole number from 1 to " TEXT_OF(WORKERS_MAX))},
		{JS_WORKER_SLOTS, CLI_NUMBER(&s->slots, 1, SLOTS_MAX, "a whole number from 1 to " TEXT_OF(SLOTS_MAX))},
		{UNTIL_DONE, CLI_FLAG(&s->until_done)},
		{DRY_RUN, CLI_FLAG(&s->dry_run)},
		{PARSABLE, CLI_FLAG(&s->parsable)},
		{NOTIFY, CLI_BY(take_address, &s->notify)},
		{SBATCH, CLI_BY(cli_sbatch_take, &s->passed)},
		{FOLLOW, CLI_BY(cli_sbatch_take_later, &s->follow)},
		{CHAIN, CLI_BY(take_chain, &s->chain)},
		{0, CLI_BY(take_submit_worker_option, s)},
		CLI_TAKE_END};
	struct cli_words *mine = &s->mine;
	int status, rest;

	cli_begin(&s->cli, &opts);
	cli_words_add(mine, argv[0]);
	status = cli_sbatch_sort(&s->cli, argc, argv, mine, &s->given, &rest);
	cli_words_all(&s->passed, &s->given);
	JS_THEN(status, cli_parse(&s->cli, &opts, takes, (int)mine->n, mine->at, NULL));
	if (status != CLI_GO_ON)
		return status;
	keep_own_options(s, mine);
	for (int i = rest + 1; i < argc; i++)
		cli_words_add(&s->command, argv[i]);
	if (s->command.n == 0 || s->command.at[0][0] == '\0')
		return cli_usage(&s->cli,
				 "there is no command to run: jobstack submit --workers N [OPTIONS] -- CMD {}");
	if (s->workers == 0)
		return cli_usage(&s->cli, "--workers N is required: the maximal number of workers");
	if (s->follow != NULL && !s->until_done && s->notify == NULL)
		return cli_usage(&s->cli, "--follow can only be used with --until-done or --notify");
	JS_TRY(cli_sbatch_check(&s->cli, s->dry_run, s->parsable));
	JS_TRY(cli_sbatch_refuse(&s->cli, &s->passed));
	return CLI_GO_ON;
}

/* Reads the number that sbatch's option NAME has into *TO, which stays if there is no such option. */
static int read_sbatch_number(struct submit *s, const char *name, char letter, uint64_t high, uint64_t *to)
{
	const char *arg = cli_sbatch_value(&s->passed, name, letter);

	if (arg == NULL || js_num_u64(arg, 1, high, to) == 0)
		return 0;
	return cli_usage(&s->cli, "--%s takes a whole number from 1 to %" PRIu64 ", not \"%s\"", name, high, arg);
}

/* The same of an option that may be a range, which is as good as its lower end; 1 without. */
static uint64_t read_lower_end(const struct submit *s, const char *name, char letter)
{
	const char *arg = cli_sbatch_value(&s->passed, name, letter);
	uint64_t n = arg != NULL ? strtoull(arg, NULL, 10) : 1;

	return n >= 1 && n <= WORKERS_MAX ? n : 1;
}

/* What sbatch's options say about CPUs and tasks. */
static int read_resources(struct submit *s)
{
	if (read_sbatch_number(s, "cpus-per-task", 'c', INT32_MAX, &s->cpus) != 0 ||
	    read_sbatch_number(s, "ntasks", 'n', WORKERS_MAX, &s->tasks) != 0)
		return CLI_USAGE;
	s->slots_said = s->slots > 0 && s->cpus > 0;
	if (s->slots_said && s->slots > s->cpus)
		return cli_usage(&s->cli,
				 "--slots %" PRIu64 " is more than --cpus-per-task=%" PRIu64 ": each slot needs a CPU",
				 s->slots, s->cpus);
	if (s->cpus == 0)
		s->cpus = s->slots;
	if (s->tasks == 0) /* one task per node, which is srun's rule too */
		s->tasks = read_lower_end(s, "nodes", 'N') * read_lower_end(s, "ntasks-per-node", 0);
	if (s->workers < s->tasks)
		return cli_usage(&s->cli,
				 "--workers %" PRIu64 " is less than the %" PRIu64
				 " workers that each job starts (--ntasks, --nodes)",
				 s->workers, s->tasks);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- places */

static int find_places(struct submit *s)
{
	const char *file = cli_option_file(&s->cli), *dir = s->log_dir != NULL ? s->log_dir : "jobstack-logs";
	const char *given = cli_sbatch_value(&s->passed, "chdir", 'D');
	const char *base = dir[0] == '/' ? "" : s->cwd;
	time_t now = time(NULL);
	size_t len;

	if ((given != NULL && *given != '\0' ? cli_absolute(given, s->cwd) != 0
					     : getcwd(s->cwd, sizeof(s->cwd)) == NULL) ||
	    (file != NULL && cli_absolute(file, s->option_file) != 0) ||
	    snprintf(s->logs, sizeof(s->logs), "%s%s%s/%s", base, *base != '\0' ? "/" : "", dir, s->cli.stack) >=
		    (int)sizeof(s->logs)) {
		(void)js_error_set(&s->cli.error, JOBSTACK_EFILE,
				   "can't find the working directory, or a path is too long (working directory, "
				   "--log-dir or option file)");
		return cli_fail(&s->cli);
	}
	len = strftime(s->stamp, sizeof(s->stamp), "%Y%m%d-%H%M%S-", gmtime(&now));
	js_file_random_hex(s->stamp + len, 6);
	(void)snprintf(s->script, sizeof(s->script), "%s/submit-%s.sh", s->logs, s->stamp);
	(void)snprintf(s->next_script, sizeof(s->next_script), "%s/submit-%s-next.sh", s->logs, s->stamp);
	return 0;
}

/* ------------------------------------------------------------------------------------------------------- checks */

/* Is there anything for workers to do?  0, or the exit status, with the reason printed. */
static int check_for_work(struct submit *s)
{
	const struct jobstack_status *t = &s->stack.s;
	const struct js_buf *note = &s->stack.note, *cwd = &s->stack.cwd;
	const char *name = s->cli.stack, *verb = "push", *effect = "adds entries";

	if (t->state != JOBSTACK_OPEN) {
		cli_tell(&s->cli, "not submitted: the stack \"%s\" is %s%s%s; run `jobstack resume -s %s` first", name,
			 view_stack_word(t->state), note->len > 0 ? ": " : "", note->len > 0 ? note->data : "", name);
		return CLI_NO;
	}
	if (t->ready + t->waiting + t->held == 0 && t->pushers == 0) {
		if (t->running > 0) {
			verb = "status";
			effect = "shows its workers";
		} else if (t->dead > 0) {
			verb = "requeue";
			effect = "puts dead entries back in the queue";
		}
		cli_tell(&s->cli,
			 "not submitted: the stack \"%s\" has no work (%" PRIu64 " done, %" PRIu64 " dead, %" PRIu64
			 " running): `jobstack %s -s %s` %s",
			 name, t->done, t->dead, t->running, verb, name, effect);
		return CLI_NO;
	}
	if (cwd->len > 0 && s->chdir == NULL && strcmp(cwd->data, s->cwd) != 0) {
		cli_tell(&s->cli,
			 "not submitted: the stack has relative names, which were pushed from the directory %s: submit "
			 "from there, or give it with --chdir",
			 cwd->data);
		return CLI_USAGE;
	}
	return 0;
}

/* Is NODE, by the address that Slurm has of it, this host? */
static int node_is_here(const char *node)
{
	char address[INET6_ADDRSTRLEN], name[256] = "";
	int loopback;

	(void)gethostname(name, sizeof(name) - 1);
	return strcmp(node, name) == 0 || (cli_host_resolve(node, address, &loopback) == 0 && loopback);
}

/* Are all nodes this host, as a small lab has it? */
static int nodes_are_here(void)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *names = cli_slurm_answer("sinfo -h -N -o %o", SUBMIT_SLURM_LIMIT_US, &error), *rest = names, *node;
	int here = names != NULL;

	while (here && (node = strsep(&rest, " \n")) != NULL)
		here = *node == '\0' || node_is_here(node);
	free(names);
	return here;
}

/* Warns if only this host can reach the database, and nodes are elsewhere.  That is no error: a tunnel may end at each
 * node. */
static void doubt_database(struct submit *s)
{
	char where[600], host[CLI_HOST], address[INET6_ADDRSTRLEN];
	int loopback = 1;

	jobstack_describe(s->cli.handle, where, sizeof(where));
	cli_host_of(where, host);
	if ((host[0] != '\0' && (cli_host_resolve(host, address, &loopback) != 0 || !loopback)) || nodes_are_here())
		return;
	where[strcspn(where, ",")] = '\0';
	cli_tell(&s->cli,
		 "warning: only this host can reach the database at %s, so workers on compute nodes will not start: "
		 "run the server in a job (`jobstack server submit`), let other hosts connect (`jobstack server start "
		 "--bind HOST`), or set a host name that the nodes can reach (host= in %s)",
		 where, s->option_file[0] != '\0' ? s->option_file : "~/.my.cnf");
}

/* -------------------------------------------------------------------------------------------------------- sizing */

/* MaxArraySize, which is one more than the largest index, and KillWait ("30 sec"). */
static void ask_site(struct submit *s)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *config = cli_slurm_answer("scontrol show config", SUBMIT_SLURM_LIMIT_US, &error);
	char array_size[CLI_SLURM_VALUE] = "", kill_wait[CLI_SLURM_VALUE] = "";
	uint64_t size;

	(void)cli_slurm_config(config, "MaxArraySize", array_size);
	(void)cli_slurm_config(config, "KillWait", kill_wait);
	free(config);
	s->kill_wait_s = strtol(kill_wait, NULL, 10);
	if (s->kill_wait_s <= 0)
		s->kill_wait_s = KILL_WAIT_S;
	if (js_num_u64(array_size, 0, UINT32_MAX, &size) != 0) {
		size = ARRAY_MAX;
		if (s->cli.verbose)
			cli_say(&s->cli, "scontrol does not print MaxArraySize: assuming %d", ARRAY_MAX);
	}
	s->most = size > 2 ? size - 1 : 1;
}

static void size_arrays(struct submit *s)
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
	if (s->elements * s->tasks > s->workers) /* never more than was said; at least one job, by read_resources() */
		s->elements = s->workers / s->tasks;
	most = s->most * SUBMIT_JOBS_MAX;
	if (s->elements > most) {
		s->elements = most;
		s->starts = most * s->tasks;
		cli_say(&s->cli,
			"starting only %" PRIu64 " workers: job arrays are limited to %" PRIu64
			" tasks here (MaxArraySize), and submit starts at most %d arrays",
			s->starts, s->most, SUBMIT_JOBS_MAX);
	}
	s->starts = s->elements * s->tasks;
}

/* ------------------------------------------------------------------------------------------------------ the call */

static int print_submitted(struct submit *s)
{
	char copy[sizeof(s->answered)], *rest = copy, *job;
	json_t *jobs = json_array();

	(void)snprintf(copy, sizeof(copy), "%s", s->answered);
	while ((job = strsep(&rest, ":")) != NULL) {
		if (s->parsable)
			(void)printf("%s\n", job);
		view_append(jobs, json_integer(strtoll(job, NULL, 10)));
	}
	if (s->cli.json)
		return CLI_PRINT(KEY_TEXT("stack", s->cli.stack), KEY_JSON("job", json_incref(json_array_get(jobs, 0))),
				 KEY_JSON("jobs", jobs), KEY_COUNT("workers", s->starts),
				 KEY_INT("slots", s->slots, s->slots > 0),
				 KEY_COUNT("left", insight_stack_left(&s->stack.s)), KEY_TEXT("script", s->script),
				 KEY_INT("next", s->next, s->next > 0));
	json_decref(jobs);
	if (s->parsable || s->cli.quiet)
		return CLI_YES;
	(void)printf("job%s %s: %" PRIu64 " worker%s for %" PRIu64 " %s of \"%s\"\n",
		     strchr(s->answered, ':') != NULL ? "s" : "", s->answered, s->starts, view_plural(s->starts),
		     CLI_ENTRIES(insight_stack_left(&s->stack.s)), s->cli.stack);
	if (s->next > 0)
		(void)printf("job %" PRIu64 " follows: %s\n", s->next,
			     s->until_done ? "it starts new workers until nothing is left" : "it mails the result");
	(void)printf("script: %s\n", s->script);
	return CLI_YES;
}

/* Arrays of the size that the site takes, and what comes after them. */
static int submit_all(struct submit *s)
{
	int status = 0, after = 0;
	uint64_t left = s->elements;

	while (left > 0 && status == 0) {
		uint64_t n = left < s->most ? left : s->most;

		if (s->dry_run && left < s->elements)
			(void)putchar('\n');
		status = submit_array(s, n);
		if (status == 0)
			left -= n;
	}
	if (status == 1)
		cli_say(&s->cli, "%s: sbatch rejected the job (see above)",
			s->answered[0] == '\0' ? "nothing was submitted" : "no more jobs were submitted");
	if (s->answered[0] == '\0' && !s->dry_run)
		return status;
	s->starts -= left * s->tasks;
	if (s->until_done || s->notify != NULL) {
		if (s->dry_run)
			(void)putchar('\n');
		after = submit_next(s, s->dry_run ? "JOB" : s->answered, NULL);
		if (after != 0)
			cli_say(&s->cli, "job %s is submitted, but not its follow-up", s->answered);
	}
	JS_THEN(status, after);
	if (!s->dry_run) {
		after = print_submitted(s);
		JS_THEN(status, after);
	}
	return status;
}

/* CLI_GO_ON, or the exit status. */
static int first_round(struct submit *s)
{
	JS_TRY(cli_connect(&s->cli, 10 * JS_SECOND_US));
	if (insight_stack_read(s->cli.handle, s->cli.stack, &s->stack, &s->cli.error) != 0)
		return cli_fail(&s->cli);
	JS_TRY(check_for_work(s));
	doubt_database(s);
	JS_TRY(cli_worker_try(&s->cli, s->option_file, &s->worker, s->command.at, "nothing was submitted"));
	return CLI_GO_ON;
}

static int submit_jobs(struct cli *cli)
{
	static struct submit s;
	int status = parse_submit(&s, cli->argc, cli->argv);

	if (status != CLI_GO_ON)
		return status;
	status = read_resources(&s);
	JS_THEN(status, find_places(&s));
	if (status == 0 && !s.dry_run)
		status = cli_sbatch_find(&s.cli, "`jobstack run` works without Slurm on this machine");
	if (status != 0)
		return status;
	cli_catch_signals();
	status = s.chain.round > 0 ? submit_later_round(&s) : first_round(&s);
	if (status == CLI_GO_ON) {
		size_arrays(&s);
		jobstack_disconnect(s.cli.handle);
		status = submit_all(&s);
		if (status != CLI_YES && s.chain.round > 0)
			submit_broke(&s);
	}
	insight_stack_free(&s.stack);
	return cli_end(&s.cli, status);
}

const struct cli_frame cli_submit = {.flags = CLI_SORTS, .run = submit_jobs};

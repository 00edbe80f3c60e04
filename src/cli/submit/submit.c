/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack submit: writes the batch script of the workers and hands it to sbatch.  Promises: sbatch itself makes the
 * job, so that a site's filters and defaults hold; what it says is shown as it is; no more workers than there is work,
 * and no larger arrays than the site takes; options that the worker would refuse are refused here, before anything
 * waits in a queue.
 */
#include "cli/submit/submit.h"

#include "base/file.h"
#include "base/home.h"
#include "base/num.h"
#include "show/json.h"
#include "show/words.h"
#include "cli/last_start.h"
#include "frame/host.h"
#include "cli/why.h"
#include "cli/worker.h"
#include "exec/worker_options.h"
#include "proc/net.h"

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

/* ------------------------------------------------------------------------------------------------------- options */

static struct submit submit;

/* Reads --notify.  An address with blanks could be several for a mailer, and one that begins with - an option. */
static int take_address(struct cli *cli, void *ctx, int key, const char *arg)
{
	const char *p = arg;

	(void)key;
	*(const char **)ctx = arg;
	while ((unsigned char)*p > ' ' && *p != 0x7f)
		p++;
	return *p == '\0' && p != arg && *arg != '-' ? 0 : cli_usage(cli, "--notify takes an address, not \"%s\"", arg);
}

/* Reads the hidden --chain, which submit_followup writes: "ROUND,DONE,DEAD,IDLE,LATER,JOBS".  Nothing else is accepted,
 * since the jobs become words of scontrol's and sacct's command lines. */
static int take_chain(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct submit_chain *c = ctx;
	int end = 0;

	(void)key;
	if (strspn(arg, "0123456789:,") == strlen(arg) &&
	    sscanf(arg, "%18" SCNu64 ",%18" SCNu64 ",%18" SCNu64 ",%18" SCNu64 ",%18" SCNu64 ",%n", &c->round, &c->done,
		   &c->dead, &c->idle, &c->later, &end) == 5 &&
	    end > 0 && c->round > 0 && strchr(arg + end, ',') == NULL &&
	    snprintf(c->jobs, sizeof(c->jobs), "%s", arg + end) < (int)sizeof(c->jobs))
		return 0;
	return cli_usage(cli, "--chain is only for the scripts that this command writes");
}

/* Passes an option on to jobstack-worker, but --slots, for which Slurm must be asked for CPUs. */
static int take_submit_worker_option(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct submit *s = ctx;

	if (key == JS_WORKER_SLOTS)
		return cli_take(cli,
				CLI_NUMBER(&s->slots, 1, SLOTS_MAX, "a whole number from 1 to " TEXT_OF(SLOTS_MAX)),
				key, arg);
	s->commands |= key == JS_WORKER_COMMANDS;
	s->waits |= key == JS_WORKER_WAIT_FOR_STACK;
	if (key == JS_WORKER_CHDIR)
		s->chdir = arg;
	if (key == JS_WORKER_LOG_DIR)
		s->log_dir = arg;
	cli_pass(&s->worker, cli, key, arg);
	return 0;
}

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{0, "workers", "N", "start N workers, or fewer if the stack has less to do",
	 CLI_NUMBER(&submit.workers, 1, WORKERS_MAX, "a whole number from 1 to " TEXT_OF(WORKERS_MAX))},
	{0, "until-done", NULL, "when they have ended, start new workers until nothing is left,\nor only dead entries",
	 CLI_FLAG(&submit.until_done)},
	{0, "notify", "ADDRESS", "~at the end, mail what `jobstack report` prints",
	 CLI_BY(take_address, &submit.notify)},
	{0, "sbatch", "OPTIONS",
	 "~more options for sbatch: needed for short options, and for sbatch options that have the same name as one of "
	 "jobstack-worker",
	 CLI_BY(cli_sbatch_take, &submit.passed)},
	{0, "follow", "OPTIONS", "~sbatch options of the small follow-up job that --until-done and\n--notify need",
	 CLI_BY(cli_sbatch_take_later, &submit.follow)},
	{0, "force", NULL, "~submit although the database's address is one that only this host can reach",
	 CLI_FLAG(&submit.force)},
	{CLI_CALL, "dry-run", NULL, "only print what would be submitted", CLI_FLAG(&submit.dry_run)},
	{CLI_CALL + 1, "parsable", NULL, "~print only the job's number, like sbatch", CLI_FLAG(&submit.parsable)},
	{CLI_CALL + 2, "watch", NULL, "then show the live status; Ctrl-C leaves it, and the jobs continue",
	 CLI_FLAG(&submit.watch)},
	{CLI_CALL + 3, "again", NULL, "repeat the last submit of this stack, with its options and those given now",
	 CLI_FLAG(&submit.repeat)},
	{CLI_CALL + 4, "chain", "STATE", NULL, CLI_BY(take_chain, &submit.chain)},
	JS_WORKER_OPTIONS_OF_RUN(CLI_BY(take_submit_worker_option, &submit)),
	{JS_WORKER_IDLE_TIMEOUT, "idle-timeout", "D", "~end after this time without work (default 60s)",
	 CLI_BY(take_submit_worker_option, &submit)},
	{JS_WORKER_WAIT_FOR_STACK, "wait-for-stack", NULL,
	 "~if the stack does not exist yet, workers wait for it, for up to --idle-timeout",
	 CLI_BY(take_submit_worker_option, &submit)},
	{JS_WORKER_MARGIN, "margin", "D", "~start an entry only if it will probably end at least D before the job ends",
	 CLI_BY(take_submit_worker_option, &submit)},
	{JS_WORKER_STRICT, "strict", NULL, "~workers end with status 1 if any entry failed",
	 CLI_BY(take_submit_worker_option, &submit)},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_SBATCH(&submit.passed),
	CLI_OPTS_END};
static const char about[] =
	"Submits a job array of workers for a stack. Every --OPT or --OPT=VALUE that is not listed here is passed to "
	"sbatch\nunchanged: --time=2:00:00 --mem=4G --partition=NAME --account=NAME.";
static const char notes[] =
	"--slots N requests N CPUs from Slurm; with --cpus-per-task=M as well, M CPUs for N commands (M >= N). Options "
	"that both\nsbatch and jobstack-worker have (--chdir, --output, --error) are passed to the worker.\n\n  "
	"jobstack submit mystack --workers 20 --slots 4 --time=2:00:00 --until-done -- ./convert.sh {}\n\nTo stop "
	"--until-done: `jobstack pause -s STACK`, or `scancel -n jobstack-STACK`. See docs/GUIDE.md.";
static const struct js_opts opts = {"jobstack submit",
				    "[STACK] --workers N [OPTIONS] [--OPT=VALUE for sbatch] -- CMD ARG...",
				    about,
				    table,
				    notes,
				    1};

/* Reads the number of sbatch's option NAME into *TO, which stays as it is if the option was not given.  0, or
 * CLI_USAGE. */
static int read_sbatch_number(struct submit *s, const char *name, char letter, uint64_t high, uint64_t *to)
{
	const char *arg = cli_sbatch_value(&s->passed, name, letter);

	if (arg == NULL || js_num_u64(arg, 1, high, to) == 0)
		return 0;
	return cli_usage(s->cli, "--%s takes a whole number from 1 to %" PRIu64 ", not \"%s\"", name, high, arg);
}

/* Returns the number of an option that may be a range (--nodes=2-4): its lower end, since the job may get no more; 1 if
 * it was not given, or can't be read. */
static uint64_t read_lower_end(const struct submit *s, const char *name, char letter)
{
	const char *arg = cli_sbatch_value(&s->passed, name, letter);
	char *end;
	uint64_t n = arg != NULL ? strtoull(arg, &end, 10) : 1;

	return n >= 1 && n <= WORKERS_MAX && (arg == NULL || *end == '\0' || *end == '-') ? n : 1;
}

/* Reads what sbatch's options say about CPUs and tasks.  Each task becomes a worker, so --workers must be enough for
 * one job. */
static int read_resources(struct submit *s)
{
	if (read_sbatch_number(s, "cpus-per-task", 'c', INT32_MAX, &s->cpus) != 0 ||
	    read_sbatch_number(s, "ntasks", 'n', WORKERS_MAX, &s->tasks) != 0)
		return CLI_USAGE;
	s->slots_said = s->slots > 0 && s->cpus > 0;
	if (s->slots_said && s->slots > s->cpus)
		return cli_usage(s->cli,
				 "--slots %" PRIu64 " is more than --cpus-per-task=%" PRIu64 ": each slot needs a CPU",
				 s->slots, s->cpus);
	if (s->cpus == 0)
		s->cpus = s->slots;
	if (s->tasks == 0) /* one task per node, which is srun's rule too */
		s->tasks = read_lower_end(s, "nodes", 'N') * read_lower_end(s, "ntasks-per-node", 0);
	if (s->workers < s->tasks)
		return cli_usage(s->cli,
				 "--workers %" PRIu64 " is less than the %" PRIu64
				 " workers that each job starts (--ntasks, --nodes)",
				 s->workers, s->tasks);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- places */

/* Sets the paths of this call's files.  Everything becomes absolute: the jobs run elsewhere, and --chdir may change the
 * directory for them.  The time and random digits in STAMP keep the scripts of two calls apart. */
static int set_paths(struct submit *s)
{
	const char *file = cli_option_file(s->cli), *dir = s->log_dir != NULL ? s->log_dir : "jobstack-logs";
	const char *given = cli_sbatch_value(&s->passed, "chdir", 'D');
	const char *base = dir[0] == '/' ? "" : s->cwd;
	time_t now = time(NULL);
	size_t len;

	if ((given != NULL && *given != '\0' ? cli_absolute(given, s->cwd) != 0
					     : getcwd(s->cwd, sizeof(s->cwd)) == NULL) ||
	    (file != NULL && cli_absolute(file, s->option_file) != 0) ||
	    snprintf(s->logs, sizeof(s->logs), "%s%s%s/%s", base, *base != '\0' ? "/" : "", dir, s->cli->stack) >=
		    (int)sizeof(s->logs)) {
		(void)js_error_set(&s->cli->error, JOBSTACK_EFILE,
				   "can't find the working directory, or a path is too long (working directory, "
				   "--log-dir or option file)");
		return cli_fail(s->cli);
	}
	len = strftime(s->stamp, sizeof(s->stamp), "%Y%m%d-%H%M%S-", gmtime(&now));
	js_file_random_hex(s->stamp + len, 6);
	(void)snprintf(s->script, sizeof(s->script), "%s/submit-%s.sh", s->logs, s->stamp);
	(void)snprintf(s->followup_script, sizeof(s->followup_script), "%s/submit-%s-next.sh", s->logs, s->stamp);
	return 0;
}

/* ------------------------------------------------------------------------------------------------------- checks */

/* Checks that there is something for workers to do.  CLI_GO_ON, or the exit status, with the reason printed: for a line
 * that is called every night, a stack with nothing left is no failure. */
static int check_for_work(struct submit *s)
{
	const struct jobstack_status *t = &s->stack.s;
	const struct js_buf *cwd = &s->stack.cwd;

	if (t->state != JOBSTACK_OPEN) {
		cli_why_say(s->cli, "not submitted: ");
		return CLI_NO;
	}
	/* running entries are no work for new workers; a push that is still running will bring some */
	if (t->ready + t->waiting + t->held + t->pushers == 0) {
		if (s->cli->json)
			return CLI_PRINT(KEY_TEXT("stack", s->cli->stack), KEY_JSON("jobs", json_array()),
					 KEY_COUNT("workers", 0), KEY_COUNT("left", t->running));
		if (!s->cli->quiet)
			cli_why_say(s->cli, "nothing to submit: ");
		return CLI_YES;
	}
	if (cwd->len > 0 && s->chdir == NULL && strcmp(cwd->data, s->cwd) != 0) {
		cli_tell(s->cli,
			 "not submitted: the stack has relative names, which were pushed from the directory %s: submit "
			 "from there, or give it with --chdir",
			 cwd->data);
		return CLI_USAGE;
	}
	return CLI_GO_ON;
}

/* Looks for a node that the job may get, by its partition and node list, and that is not this host: one with another
 * name, whose address is none of ours.  Slurm without an answer counts as no such node. */
static int find_other_host(const struct submit *s, const char *own, char node[CLI_HOST])
{
	const char *partition = submit_partition(s);
	const char *list = cli_sbatch_value(&s->passed, "nodelist", 'w');
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char line[1000], *text, *rest, *one;
	int found = 0, marked;
	struct js_net net;

	(void)snprintf(line, sizeof(line), "sinfo -h -N -o '%%P %%o'%s%s%s%s", partition != NULL ? " -p " : "",
		       partition != NULL ? partition : "", list != NULL ? " -n " : "", list != NULL ? list : "");
	rest = text = cli_slurm_answer(line, SUBMIT_SLURM_LIMIT_US, &error);
	marked = partition == NULL && text != NULL && strstr(text, "* ") != NULL; /* the default partition */
	while (!found && (one = strsep(&rest, "\n")) != NULL)
		if (sscanf(one, "%*s %255s", node) == 1 && (!marked || strstr(one, "* ") != NULL))
			found = strcmp(node, own) != 0 && js_net_resolve(node, &net, &error) != 0;
	free(text);
	return found;
}

/* Refuses if only this host can reach the database and the job may run elsewhere.  With --force it may: a tunnel may
 * end at each node.  0, or the exit status. */
static int check_database(struct submit *s)
{
	char where[600], host[CLI_HOST], own[256] = "", node[CLI_HOST];
	const char *file = s->option_file;
	struct js_buf remedy = {0}, option = {0};

	jobstack_describe(s->cli->handle, where, sizeof(where));
	cli_host_of(where, host);
	(void)gethostname(own, sizeof(own) - 1);
	if ((host[0] != '\0' && !js_net_loopback(host)) || !find_other_host(s, own, node))
		return 0;
	/* without what follows the address: ", TLS" and so on */
	where[strcspn(where, ",")] = '\0';
	if (s->cli->defaults_file != NULL)
		js_buf_printf(&option, " --client-file %s", file);
	if (js_home_is_servers(file))
		js_buf_printf(&remedy, "run `jobstack server stop%s`, then `jobstack server start --bind %s%s`",
			      option.len > 0 ? option.data : "", own, option.len > 0 ? option.data : "");
	else
		js_buf_printf(&remedy, "write host=NAME into %s, with the name by which other hosts reach the server",
			      file[0] != '\0' ? file : "~/.my.cnf");
	cli_tell(s->cli,
		 "%sonly this host can reach the database at %s, and the job may run on other hosts (%s): %s, and "
		 "submit again; --force submits it anyway",
		 s->force || s->dry_run ? "warning: " : "not submitted: ", where, node,
		 remedy.data != NULL ? remedy.data : "");
	js_buf_free(&option);
	js_buf_free(&remedy);
	return s->force || s->dry_run ? 0 : CLI_NO;
}

/* -------------------------------------------------------------------------------------------------------- sizing */

/* Asks the controller for the site's limits: MaxArraySize, which is one more than the largest index; KillWait ("30
 * sec"); its release, and the cluster's name.  Where it does not answer, Slurm's own defaults are assumed. */
static void read_site_limits(struct submit *s)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *config = cli_slurm_answer("scontrol show config", SUBMIT_SLURM_LIMIT_US, &error);
	char array_size[CLI_SLURM_VALUE] = "", kill_wait[CLI_SLURM_VALUE] = "", version[CLI_SLURM_VALUE] = "";
	uint64_t size;

	(void)cli_slurm_config(config, "MaxArraySize", array_size);
	(void)cli_slurm_config(config, "KillWait", kill_wait);
	(void)cli_slurm_config(config, "SLURM_VERSION", version);
	(void)cli_slurm_config(config, "ClusterName", s->cluster);
	free(config);
	s->overlap = strverscmp(version, "22.05") >= 0;
	s->kill_wait_s = strtol(kill_wait, NULL, 10);
	if (s->kill_wait_s <= 0)
		s->kill_wait_s = KILL_WAIT_S;
	if (js_num_u64(array_size, 0, UINT32_MAX, &size) != 0) {
		size = ARRAY_MAX;
		if (s->cli->verbose)
			cli_say(s->cli, "scontrol does not print MaxArraySize: assuming %d", ARRAY_MAX);
	}
	s->most = size > 2 ? size - 1 : 1;
}

/* Decides how many workers are started (STARTS), in how many jobs or array tasks (ELEMENTS) of TASKS workers each.  The
 * number that was asked for is lowered to max-running, and to what the entries can keep busy.  While a push runs,
 * nobody knows how many entries there will be. */
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
	read_site_limits(s);
	s->elements = (s->starts + s->tasks - 1) / s->tasks;
	if (s->elements * s->tasks > s->workers) /* never more than was said; at least one job, by read_resources() */
		s->elements = s->workers / s->tasks;
	most = s->most * SUBMIT_JOBS_MAX;
	if (s->elements > most) {
		s->elements = most;
		s->starts = most * s->tasks;
		cli_say(s->cli,
			"starting only %" PRIu64 " workers: job arrays are limited to %" PRIu64
			" tasks here (MaxArraySize), and submit starts at most %d arrays",
			s->starts, s->most, SUBMIT_JOBS_MAX);
	}
	s->starts = s->elements * s->tasks;
}

/* ------------------------------------------------------------------------------------------------------ the call */

/* Prints WHAT and the numbers of all jobs that were submitted. */
static void print_jobs(const struct submit *s, const char *what, char separator)
{
	(void)fputs(what, stdout);
	for (const char *p = s->answered; *p != '\0'; p++)
		(void)putchar(*p == ':' ? separator : *p);
	if (s->followup > 0)
		(void)printf("%c%" PRIu64, separator, s->followup);
	(void)putchar('\n');
}

/* Prints the jobs.  A later round prints less: its output is a log that nobody types commands from. */
static int print_submitted(struct submit *s)
{
	char copy[sizeof(s->answered)], *rest = copy, *job;
	json_t *jobs = json_array();

	(void)snprintf(copy, sizeof(copy), "%s", s->answered);
	while ((job = strsep(&rest, ":")) != NULL) {
		if (s->parsable)
			(void)printf("%s\n", job);
		show_append(jobs, json_integer(strtoll(job, NULL, 10)));
	}
	if (s->cli->json)
		return CLI_PRINT(KEY_TEXT("stack", s->cli->stack),
				 KEY_JSON("job", json_incref(json_array_get(jobs, 0))), KEY_JSON("jobs", jobs),
				 KEY_COUNT("workers", s->starts), KEY_INT("slots", s->slots, s->slots > 0),
				 KEY_COUNT("left", figures_stack_left(&s->stack.s)), KEY_TEXT("script", s->script),
				 KEY_INT("next", s->followup, s->followup > 0));
	json_decref(jobs);
	if (s->parsable || s->cli->quiet)
		return CLI_YES;
	(void)printf("job%s %s: %" PRIu64 " worker%s for %" PRIu64 " %s of \"%s\"\n",
		     strchr(s->answered, ':') != NULL ? "s" : "", s->answered, s->starts, show_plural(s->starts),
		     SHOW_ENTRIES(figures_stack_left(&s->stack.s)), s->cli->stack);
	if (s->followup > 0)
		(void)printf("job %" PRIu64 " follows: %s\n", s->followup,
			     s->until_done ? "it starts new workers until nothing is left" : "it mails the result");
	(void)printf("script: %s\n", s->script);
	if (s->chain.round == 0) {
		(void)printf("progress: jobstack status %s -w\n", s->cli->stack);
		print_jobs(s, "queue: squeue -j ", ',');
		print_jobs(s, "cancel: scancel ", ' ');
	}
	return CLI_YES;
}

/* Does --watch: becomes `jobstack status -w`. */
static int watch_jobs(struct submit *s)
{
	struct cli_words line = {0};

	cli_own_line(&line, s->cli, "status -w", s->option_file);
	cli_say(s->cli, "Ctrl-C leaves the display, and the jobs continue");
	(void)fflush(stdout);
	jobstack_disconnect(s->cli->handle);
	if (!line.failed)
		(void)execv(line.at[0], line.at);
	(void)js_error_file(&s->cli->error, "can't run %s/jobstack", js_child_program_dir());
	return cli_fail(s->cli);
}

/* Submits arrays of the size that the site takes, and the job that comes after them.  If sbatch rejects one, those
 * before it run all the same: they are printed, and get their follow-up, but the exit status says that something is
 * missing. */
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
		cli_say(s->cli, "%s: sbatch rejected the job (see above)",
			s->answered[0] == '\0' ? "nothing was submitted" : "no more jobs were submitted");
	if (s->answered[0] == '\0' && !s->dry_run)
		return status;
	s->starts -= left * s->tasks;
	if (s->until_done || s->notify != NULL) {
		if (s->dry_run)
			(void)putchar('\n');
		after = submit_followup(s, s->dry_run ? "JOB" : s->answered, NULL);
		if (after != 0)
			cli_say(s->cli, "job %s is submitted, but not its follow-up", s->answered);
	}
	JS_THEN(status, after);
	if (!s->dry_run) {
		after = print_submitted(s);
		JS_THEN(status, after);
	}
	return status;
}

/* Checks what only a person's call has to: a later round was checked by the first one.  CLI_GO_ON, or the exit status.
 */
static int first_round(struct submit *s)
{
	int status = figures_stack_read(s->cli->handle, s->cli->stack, &s->stack, &s->cli->error);

	if (status == JOBSTACK_EMISSING && s->waits && s->cli->error.server_errno == JOBSTACK_WHY_NO_STACK)
		js_error_clear(&s->cli->error);
	else if (status != 0)
		return cli_fail(s->cli);
	else {
		status = check_for_work(s);
		if (status != CLI_GO_ON)
			return status;
	}
	JS_TRY(check_database(s));
	JS_TRY(cli_worker_try(s->cli, s->option_file, &s->worker, s->cli->words, "nothing was submitted"));
	return CLI_GO_ON;
}

/* With --again the options of the last call are read first, so what was read of this call's is dropped, and read again
 * behind them. */
static int check_submit(struct cli *cli)
{
	struct submit *s = &submit;

	s->cli = cli;
	if (s->repeat) {
		cli_words_free(&s->passed);
		cli_words_free(&s->worker);
		JS_TRY(cli_last_start_repeat(cli, JOBSTACK_BY_SUBMIT, NULL));
	}
	JS_TRY(cli_sbatch_check(cli, &s->passed, s->dry_run, s->parsable));
	s->command = (struct cli_words){.at = cli->words, .n = cli->words_n};
	for (size_t i = 0; i < cli->words_n; i++)
		if (strcmp(cli->words[i], ":::") == 0)
			return cli_usage(cli, "submit takes no files: `jobstack push -s NAME FILE...` first, then "
					      "`jobstack submit NAME --workers N -- CMD {}`");
	if (!s->commands && (cli->words_n == 0 || cli->words[0][0] == '\0'))
		return cli_usage(cli, "there is no command to run: jobstack submit --workers N [OPTIONS] -- CMD {}");
	if (s->workers == 0)
		return cli_usage(cli, "--workers N is required: the maximal number of workers");
	if (s->follow != NULL && !s->until_done && s->notify == NULL)
		return cli_usage(cli, "--follow can only be used with --until-done or --notify");
	if (s->watch && (s->dry_run || s->parsable || cli->json))
		return cli_usage(cli, "--watch can't be used with --dry-run, --parsable or --json");
	return read_resources(s);
}

/* The connection is closed before sbatch is called, which may wait for a busy controller for minutes. */
static int submit_jobs(struct cli *cli)
{
	struct submit *s = &submit;
	int status;

	if (!s->dry_run)
		JS_TRY(cli_sbatch_find(cli, "`jobstack run` works without Slurm on this machine"));
	if (s->chain.round == 0 && cli->handle == NULL)
		JS_TRY(cli_connect(cli, 10 * JS_SECOND_US));
	JS_TRY(set_paths(s));
	status = s->chain.round > 0 ? submit_later_round(s) : first_round(s);
	if (status == CLI_GO_ON) {
		size_arrays(s);
		jobstack_disconnect(cli->handle);
		status = submit_all(s);
		if (status == CLI_YES && s->watch)
			status = watch_jobs(s);
		if (status != CLI_YES && s->chain.round > 0)
			submit_broke(s);
	}
	figures_stack_free(&s->stack);
	return status;
}

const struct cli_frame cli_submit = {&opts, NULL, CLI_CATCHES | CLI_OFFLINE, 0, check_submit, submit_jobs};

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack: finds the subcommand and runs it.  One row a subcommand.
 */
#include "cli/cli.h"

#include "base/file.h"
#include "base/near.h"
#include "cli/spec.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *does;
} command[] = {
	{"init", cli_init_main, "create or upgrade the schema in the database"},
	{"server", cli_server_main, "a private MariaDB for whoever has none"},
	{"push", cli_push_main, "put datapaths onto a stack"},
	{"run", cli_run_main, "push, work and summary in one, on this machine"},
	{"status", cli_status_main, "what is ready, running, done and dead"},
	{"wait", cli_wait_main, "wait until nothing is left to do"},
	{"list", cli_list_main, "the entries in given states"},
	{"show", cli_show_main, "one entry with all its attempts"},
	{"logs", cli_logs_main, "what an entry's command printed"},
	{"requeue", cli_requeue_main, "push dead, lost or done entries back"},
	{"recover", cli_recover_main, "take back what dead workers hold"},
	{"pause", cli_pause_main, "hand nothing out any more"},
	{"resume", cli_resume_main, "go on after a pause, or take a cancel back"},
	{"cancel", cli_cancel_main, "give up what has not started"},
	{"set", cli_set_main, "a stack's policy: attempts, limits, priority"},
	{"drop", cli_drop_main, "remove a stack with its history"},
	{"prune", cli_prune_main, "take away what was done long ago, into an archive"},
	{"pop", cli_pop_main, "claim one entry, for a script"},
	{"close", cli_close_main, "close what pop gave"},
	{"renew", cli_renew_main, "more time for what pop gave"},
	{"export", cli_export_main, "a stack's history as CSV or JSON"},
	{"report", cli_report_main, "what happened, and what the next run needs"},
	{"submit", cli_submit_main, "hand workers for a stack to Slurm"},
	{"doctor", cli_doctor_main, "try everything a run needs, and say what to mend"},
	{"check", cli_check_main, "prove that the ledger balances"},
};
#define COMMANDS (sizeof(command) / sizeof(command[0]))

/* What other programs call it. */
static const char *const foreign[][2] = {
	{"add", "jobstack push"},	{"enqueue", "jobstack push"},	   {"ls", "jobstack list"},
	{"queue", "jobstack status"},	{"stat", "jobstack status"},	   {"squeue", "jobstack status"},
	{"top", "jobstack status -w"},	{"watch", "jobstack status -w"},   {"info", "jobstack show"},
	{"cat", "jobstack logs"},	{"output", "jobstack logs"},	   {"retry", "jobstack requeue"},
	{"rerun", "jobstack requeue"},	{"hold", "jobstack pause"},	   {"stop", "jobstack pause"},
	{"suspend", "jobstack pause"},	{"start", "jobstack submit"},	   {"continue", "jobstack resume"},
	{"release", "jobstack resume"}, {"rm", "jobstack drop"},	   {"remove", "jobstack drop"},
	{"delete", "jobstack drop"},	{"sbatch", "jobstack submit"},	   {"test", "jobstack doctor"},
	{"config", "jobstack set"},	{"version", "jobstack --version"}, {"worker", "jobstack-worker"},
};

/* What may mean to end some workers, or to give up a whole stack. */
static const char *const ends[] = {"kill", "abort", "terminate", "scancel"};

static int unknown(struct cli *cli, const char *word)
{
	struct js_near near = JS_NEAR_INIT(word);
	const char *best = NULL;

	if (word[0] == '-')
		return cli_usage(cli, "there is no option %s before the command: write jobstack COMMAND %s ...", word,
				 word);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(ends[i], word) == 0)
			return cli_usage(cli,
					 "there is no command \"%s\": end workers with Slurm's scancel or with kill; "
					 "their entries go back to the "
					 "queue.  `jobstack pause -s NAME` stops the stack from starting more entries, "
					 "and `jobstack cancel -s NAME` "
					 "gives up all of its entries that have not started",
					 word);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]) && best == NULL; i++)
		if (strcmp(foreign[i][0], word) == 0)
			best = foreign[i][1];
	for (size_t i = 0; i < COMMANDS; i++)
		js_near_try(&near, command[i].name);
	if (best != NULL)
		return cli_usage(cli, "there is no command \"%s\" (is `%s` meant?)", word, best);
	if (near.best != NULL)
		return cli_usage(cli, "there is no command \"%s\" (is `jobstack %s` meant?)", word, near.best);
	return cli_usage(cli, "there is no command \"%s\"", word);
}

static int run(struct cli *cli, const char *name, int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, command[i].name) == 0)
			return command[i].run(argc, argv);
	return unknown(cli, name);
}

static void help(FILE *to)
{
	(void)fputs("usage: jobstack COMMAND [OPTIONS]\n\nSpreads a list of files over workers; the list lives in "
		    "MySQL or MariaDB.\n\n",
		    to);
	for (size_t i = 0; i < COMMANDS; i++)
		(void)fprintf(to, "  %-10s %s\n", command[i].name, command[i].does);
	(void)fputs("\n`jobstack COMMAND --help` tells more; workers are started with jobstack-worker.\n\n"
		    "    jobstack server start && jobstack init                      once, if you have no database\n"
		    "    find . -name '*.nc' -print0 |                               on this machine\n"
		    "        jobstack run -0 --slots 8 -- ./convert.sh {}\n"
		    "    find . -name '*.nc' -print0 | jobstack push -0 -s mystack   or on a cluster, with\n"
		    "    srun jobstack-worker -s mystack -- ./convert.sh {}          in a batch script\n",
		    to);
}

/* For the build: see spec.c. */
static int spec(void)
{
	int status = CLI_YES;

	(void)printf("version\t%s\n", jobstack_version());
	for (size_t i = 0; i < COMMANDS && status == CLI_YES; i++)
		status = cli_spec_command(command[i].name, command[i].does, command[i].run);
	return status == CLI_YES ? cli_spec_worker() : status;
}

int main(int argc, char **argv)
{
	static const struct js_opts opts = {.command = "jobstack"};
	struct cli cli = {.opts = &opts};

	js_file_hold_streams();
	/* a closed pipe is an error of write, told like any other */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "help") == 0 && argc > 2) {
		char *words[] = {argv[2], (char[]){"--help"}, NULL};

		return run(&cli, argv[2], 2, words);
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "-h") == 0) {
		help(stdout);
		return cli_end(&cli, CLI_YES);
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("jobstack %s (schema %u)\n", jobstack_version(), jobstack_schema_version());
		return cli_end(&cli, CLI_YES);
	}
	if (strcmp(argv[1], "--spec") == 0)
		return spec();
	return run(&cli, argv[1], argc - 1, argv + 1);
}

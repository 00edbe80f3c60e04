/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack: finds the subcommand and runs it.  One row per subcommand.
 */
#include "cli/cli.h"

#include "base/file.h"
#include "base/near.h"
#include "frame/spec.h"
#include "proc/child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The groups of the help, in the order in which a new user needs them. */
enum { START, RUN, LOOK, REPAIR, SCRIPTS, ADMINISTER, FIRST = 16 };
static const char *const heading[] = {
	[START] = "start with a database and a list of files",
	[RUN] = "run a command on each file",
	[LOOK] = "look at progress and results",
	[REPAIR] = "repair what has failed",
	[SCRIPTS] = "use in scripts",
	[ADMINISTER] = "administer stacks",
};

/* Becomes jobstack-server, the program beside this one. */
static int run_server(struct cli *cli, char **argv)
{
	static const struct js_opts opts = {.command = "jobstack server"};
	char program[PATH_MAX + 20];

	(void)snprintf(program, sizeof(program), "%s/" CLI_SERVER_PROGRAM, js_child_program_dir());
	cli->opts = &opts;
	argv[0] = program;
	(void)execv(program, argv);
	cli_tell(cli, "%s can't be run (%s): install it beside jobstack", program, strerror(errno));
	return CLI_USAGE;
}

static const struct {
	const char *name;
	const struct cli_frame *frame; /* NULL: it is a program of its own, jobstack-server */
	int group;		       /* commands of one group stand together; FIRST: also in the short help */
	const char *does;
} command[] = {
	{"server", NULL, START | FIRST, "run a private MariaDB server"},
	{"init", &cli_init, START, "create or upgrade the schema in the database"},
	{"doctor", &cli_doctor, START | FIRST, "check everything that a run needs"},
	{"push", &cli_push, START | FIRST, "add files to a stack"},
	{"run", &cli_run, RUN | FIRST, "push, run and summarise in one command, on this machine"},
	{"submit", &cli_submit, RUN | FIRST, "start workers for a stack as Slurm jobs"},
	{"pause", &cli_pause, RUN, "start no more entries until resume"},
	{"resume", &cli_resume, RUN, "continue after pause, or undo cancel --all"},
	{"cancel", &cli_cancel, RUN | FIRST, "give up entries that have not started, or are dead"},
	{"kill", &cli_kill, RUN | FIRST, "end the commands of entries that run"},
	{"set", &cli_set, RUN, "change a stack's policy: attempts, limits, priority"},
	{"status", &cli_status, LOOK | FIRST, "show what is ready, running, done and dead"},
	{"top", &cli_top, LOOK | FIRST, "watch stacks and entries on the full screen, and act on them"},
	{"list", &cli_list, LOOK | FIRST, "list entries by state, outcome or name"},
	{"show", &cli_show, LOOK, "show one entry with all its attempts"},
	{"logs", &cli_logs, LOOK | FIRST, "print what an entry's command printed"},
	{"history", &cli_history, LOOK, "show what ever happened to a file, over all stacks"},
	{"report", &cli_report, LOOK, "show how a run went, and what to request for the next"},
	{"requeue", &cli_requeue, REPAIR | FIRST, "put dead, lost, cancelled or done entries back in the queue"},
	{"recover", &cli_recover, REPAIR, "requeue the entries of dead workers now"},
	{"wait", &cli_wait, SCRIPTS, "wait until nothing is left to do"},
	{"export", &cli_export, SCRIPTS, "print a stack's history as CSV or JSON"},
	{"pop", &cli_pop, SCRIPTS, "claim one entry, for a script"},
	{"renew", &cli_renew, SCRIPTS, "extend the lease of an entry that pop claimed"},
	{"close", &cli_close, SCRIPTS, "record how an entry that pop claimed has ended"},
	{"check", &cli_check, ADMINISTER, "verify that every entry is accounted for"},
	{"prune", &cli_prune, ADMINISTER, "remove old finished entries, into an archive"},
	{"drop", &cli_drop, ADMINISTER, "remove a stack with its history"},
};
#define COMMANDS (sizeof(command) / sizeof(command[0]))

/* What other programs call our commands, for those who type what they are used to. */
static const char *const foreign[][2] = {
	{"add", "jobstack push"},	   {"enqueue", "jobstack push"},    {"ls", "jobstack list"},
	{"queue", "jobstack status"},	   {"stat", "jobstack status"},	    {"squeue", "jobstack status"},
	{"htop", "jobstack top"},	   {"watch", "jobstack status -w"}, {"info", "jobstack show"},
	{"cat", "jobstack logs"},	   {"output", "jobstack logs"},	    {"retry", "jobstack requeue"},
	{"rerun", "jobstack requeue"},	   {"hold", "jobstack pause"},	    {"suspend", "jobstack pause"},
	{"start", "jobstack submit"},	   {"continue", "jobstack resume"}, {"release", "jobstack resume"},
	{"rm", "jobstack drop"},	   {"remove", "jobstack drop"},	    {"delete", "jobstack drop"},
	{"sbatch", "jobstack submit"},	   {"test", "jobstack doctor"},	    {"config", "jobstack set"},
	{"version", "jobstack --version"}, {"worker", "jobstack-worker"},
};

/* Words that may mean ending some workers, or giving up a whole stack. */
static const char *const ends[] = {"abort", "stop", "terminate", "scancel"};

/* Says what was probably meant: a word of another program, or a command of ours that looks like it. */
static int fail_unknown(struct cli *cli, const char *word)
{
	struct js_near near = JS_NEAR_INIT(word);
	const char *best = NULL;

	if (word[0] == '-')
		return cli_usage(cli,
				 "options go after the command, not before it: %s (write: jobstack COMMAND %s ...)",
				 word, word);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(ends[i], word) == 0)
			return cli_usage(
				cli,
				"there is no command \"%s\": `jobstack kill NAME ENTRY` ends one entry.  `jobstack "
				"pause NAME` keeps others from starting.  `jobstack cancel NAME --all` gives up "
				"all that have not started.  scancel or kill ends workers",
				word);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]) && best == NULL; i++)
		if (strcmp(foreign[i][0], word) == 0)
			best = foreign[i][1];
	for (size_t i = 0; i < COMMANDS; i++)
		js_near_try(&near, command[i].name);
	if (best != NULL)
		return cli_usage(cli, "there is no command \"%s\" (did you mean `%s`?)", word, best);
	if (near.best != NULL)
		return cli_usage(cli, "there is no command \"%s\" (did you mean `jobstack %s`?)", word, near.best);
	return cli_usage(cli, "there is no command \"%s\"", word);
}

static int run_command(struct cli *cli, const char *name, int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, command[i].name) == 0)
			return command[i].frame == NULL ? run_server(cli, argv)
							: cli_main(command[i].frame, argc, argv);
	return fail_unknown(cli, name);
}

/* Returns the heading above command[I], or NULL if the one before it is of the same group. */
static const char *heading_above(size_t i)
{
	const int group = command[i].group & ~FIRST;

	return i == 0 || group != (command[i - 1].group & ~FIRST) ? heading[group] : NULL;
}

/* The short help fits on a terminal of 24 lines, with a prompt below it. */
static void print_help(FILE *to, int all)
{
	(void)fprintf(
		to,
		"usage: jobstack COMMAND [OPTIONS]\n\nRuns a command on each file of a list that is kept in MySQL "
		"or MariaDB.\n%s",
		all ? "" : "\n");
	for (size_t i = 0; i < COMMANDS; i++) {
		if (all && heading_above(i) != NULL)
			(void)fprintf(to, "\n%s\n", heading_above(i));
		if (all || (command[i].group & FIRST) != 0)
			(void)fprintf(to, "  %-10s %s\n", command[i].name, command[i].does);
	}
	(void)fprintf(to,
		      "\nThe first word is the stack if one has that name; numbers and words with a / are\n"
		      "entries: `jobstack logs mystack 17`. For push and run, name the stack with -s.\n\n"
		      "    jobstack server start && jobstack init\n"
		      "    find . -name '*.nc' -print0 | jobstack run -0 -j 8 -- ./convert.sh {}\n%s",
		      all ? "\non a cluster, where the compute nodes reach this host as login3:\n"
			    "    jobstack server start --bind login3 && jobstack init\n"
			    "    find /data -name '*.nc' -print0 | jobstack push -0 -s mystack\n"
			    "    jobstack submit mystack --workers 20 --slots 4 --time=2:00:00 -- ./convert.sh {}\n"
			    "    jobstack status mystack\n    jobstack requeue mystack\n\n"
			    "`jobstack COMMAND --help` explains a command, `man jobstack-COMMAND` explains more.\n"
			    "`run` and `submit` start jobstack-worker, which can also be started directly.\n"
			  : "`jobstack help --all` lists all commands, `jobstack COMMAND --help` explains one\n");
}

/* Prints all option tables, for the build: see spec.c. */
static int print_spec(int with_server)
{
	int status = CLI_YES;

	(void)printf("version\t%s\n", jobstack_version());
	for (size_t i = 0; i < COMMANDS && status == CLI_YES; i++) {
		if (heading_above(i) != NULL)
			(void)printf("group\t%s\n", heading_above(i));
		status = cli_spec_command(command[i].name, command[i].does, command[i].frame, with_server);
	}
	if (status != CLI_YES)
		return status;
	(void)printf("group\t%s\n", heading[RUN]);
	return cli_spec_worker();
}

int main(int argc, char **argv)
{
	static const struct js_opts opts = {.command = "jobstack"};
	struct cli cli = {.opts = &opts};
	int all;

	js_file_hold_streams();
	/* writing to a closed pipe then fails like any other write, and is reported like one */
	(void)signal(SIGPIPE, SIG_IGN);
	/* whoever called may have it ignored; then no child's end could be known */
	(void)signal(SIGCHLD, SIG_DFL);
	if (argc < 2) {
		print_help(stderr, 0);
		return CLI_USAGE;
	}
	all = strcmp(argv[1], "--help-all") == 0 ||
	      (argc > 2 && (strcmp(argv[2], "--all") == 0 || strcmp(argv[2], "-a") == 0));
	if (strcmp(argv[1], "help") == 0 && argc > 2 && !all) {
		char *words[] = {argv[2], (char[]){"--help"}, NULL};

		return run_command(&cli, argv[2], 2, words);
	}
	if (strncmp(argv[1], "--help", 6) == 0 || strcmp(argv[1], "help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout, all);
		return cli_end(&cli, CLI_YES);
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("jobstack %s (schema %u)\n", jobstack_version(), jobstack_schema_version());
		return cli_end(&cli, CLI_YES);
	}
	if (strcmp(argv[1], "--spec") == 0)
		return print_spec(argc < 3 || strcmp(argv[2], "--no-server") != 0);
	return run_command(&cli, argv[1], argc - 1, argv + 1);
}

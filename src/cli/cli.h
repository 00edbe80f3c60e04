/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the subcommands share: how a command is called, the common options, how an error becomes words and an exit
 * status. One subcommand, one file, one option table, one row in the command table (main.c).
 */
#ifndef JS_CLI_CLI_H
#define JS_CLI_CLI_H

#include "base/opt.h"
#include "jobstack/jobstack.h"

#include <stdint.h>

/* Exit statuses. */
enum { CLI_YES = 0, CLI_NO = 1, CLI_USAGE = 2, CLI_NODB = 69, CLI_BUG = 70, CLI_NOPERM = 77, CLI_TIMEOUT = 124 };

/* The keys of the common options; a command's own start at CLI_OWN or are letters. */
enum { CLI_DEFAULTS_FILE = 256, CLI_JSON, CLI_HELP, CLI_VERSION, CLI_OWN };

/* The rows for a command's table: those of every command, and those of a command that talks to a stack. */
/* clang-format off */
#define CLI_OPTS_ALWAYS                                                                                                \
	{'q', "quiet", NULL, "say only what went wrong"}, {'v', "verbose", NULL, "say more"},                          \
		{CLI_HELP, "help", NULL, "this text"}, {CLI_VERSION, "version", NULL, "the version"}
#define CLI_OPTS_DATABASE {CLI_DEFAULTS_FILE, "defaults-file", "FILE", "the option file with the database's address"}
#define CLI_OPTS_STACK {'s', "stack", "NAME", "the stack (default: $JOBSTACK_STACK, else \"default\")"}
#define CLI_OPTS_STACK_TYPED {'s', "stack", "NAME", "the stack; it has to be given"} /* for what destroys */
#define CLI_OPTS_JSON {CLI_JSON, "json", NULL, "print JSON"}
#define CLI_OPTS_END {0, NULL, NULL, NULL}
/* clang-format on */

/* What one call of a command carries. */
struct cli {
	const struct js_opts *opts;
	const char *stack; /* given or default; never NULL */
	int stack_given;   /* by -s or $JOBSTACK_STACK */
	int stack_typed;   /* by -s */
	const char *defaults_file;
	int json, quiet, verbose;
	struct jobstack *handle;
	struct jobstack_error error;
};

/* Starts a call: sets the defaults from the environment, and optind to 0. */
void cli_begin(struct cli *cli, const struct js_opts *opts);

/* js_opt_next, with the common options taken care of: gives only the command's own keys, -1 at the end, or -2 if the
 * command must end now with *STATUS (help was printed, or the usage was wrong and has been told). */
int cli_next(struct cli *cli, int argc, char *const argv[], const char **arg, int *status);

/* For an option whose value can't be empty, though what an unset variable leaves of "$DIR" is: 0 if ARG, the value of
 * the option KEY of the command's own table, is not, or if it takes none; else tells so, and gives CLI_USAGE. */
int cli_not_empty(struct cli *cli, int key, const char *arg);

/* js_opt_once: 0, or the exit status, having told. */
int cli_once(struct cli *cli, const char *option, const char *before, const char *arg);

/* Connects.  Returns 0, or the exit status, having told why.  PATIENCE_US as in jobstack_options. */
int cli_connect(struct cli *cli, int64_t patience_us);

/* getenv, as base/home.h asks for it. */
const char *cli_get(const char *name);

/* The option file to use, as CLI.md orders it, in a static buffer; NULL if there is none.  cli_server_file is where
 * `jobstack server` writes it. */
const char *cli_option_file(const struct cli *cli);
const char *cli_server_file(void);

/* Tells "jobstack CMD: WHAT: REMEDY" on standard error and gives the exit status of the error in cli->error. */
int cli_fail(struct cli *cli);

/* What to do about the error in cli->error, or NULL. */
const char *cli_remedy(const struct cli *cli);

/* Tells a usage error in the same form, and gives CLI_USAGE. */
int cli_usage(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells something on standard error in one line, as view_safe_words makes it; cli_say not if quiet. */
void cli_tell(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_say(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Closes the connection and flushes standard output; STATUS, or CLI_BUG if the output could not be written. */
int cli_end(struct cli *cli, int status);

/* Set by SIGINT, SIGTERM and SIGHUP after cli_catch_signals; the number of the signal.  One that was ignored when the
 * tool was started (nohup, a shell's `&`) stays ignored. */
extern volatile int cli_stop;
void cli_catch_signals(void);

/* Ends the process by the signal that came, so that a shell loop around it ends too; returns if none came. */
void cli_die_by_signal(void);

/* The subcommands: argv[0] is the subcommand's name. */
int cli_init_main(int argc, char **argv);
int cli_server_main(int argc, char **argv);
int cli_push_main(int argc, char **argv);
int cli_pop_main(int argc, char **argv);
int cli_close_main(int argc, char **argv);
int cli_renew_main(int argc, char **argv);
int cli_status_main(int argc, char **argv);
int cli_list_main(int argc, char **argv);
int cli_show_main(int argc, char **argv);
int cli_logs_main(int argc, char **argv);
int cli_requeue_main(int argc, char **argv);
int cli_recover_main(int argc, char **argv);
int cli_pause_main(int argc, char **argv);
int cli_resume_main(int argc, char **argv);
int cli_cancel_main(int argc, char **argv);
int cli_set_main(int argc, char **argv);
int cli_drop_main(int argc, char **argv);
int cli_prune_main(int argc, char **argv);
int cli_run_main(int argc, char **argv);
int cli_export_main(int argc, char **argv);
int cli_report_main(int argc, char **argv);
int cli_check_main(int argc, char **argv);
int cli_submit_main(int argc, char **argv);
int cli_doctor_main(int argc, char **argv);
int cli_wait_main(int argc, char **argv);

#endif

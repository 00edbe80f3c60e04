/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the subcommands share.  Promises: errors go to standard error as "jobstack CMD: what happened: what to do"; the
 * remedy is added here and nowhere else; output that could not be written is never a success.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/error.h"
#include "base/home.h"
#include "base/signal.h"
#include "cli/spec.h"
#include "view/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int cli_stop;

void cli_begin(struct cli *cli, const struct js_opts *opts)
{
	const char *stack = getenv("JOBSTACK_STACK");

	memset(cli, 0, sizeof(*cli));
	cli->opts = opts;
	cli->stack_given = stack != NULL && *stack != '\0';
	cli->stack = cli->stack_given ? stack : "default";
	optind = 0;
}

int cli_next(struct cli *cli, int argc, char *const argv[], const char **arg, int *status)
{
	struct js_buf help = {0};
	int key;

	if (cli_spec_on()) {
		*status = cli_end(cli, cli_spec_tell(cli->opts));
		return -2;
	}
	while ((key = js_opt_next(cli->opts, argc, argv, arg, &cli->error)) != -1) {
		switch (key) {
		case '?': *status = cli_fail(cli); return -2;
		case CLI_HELP:
			js_opt_help(cli->opts, &help);
			(void)fputs(help.data != NULL ? help.data : "", stdout);
			js_buf_free(&help);
			*status = cli_end(cli, CLI_YES);
			return -2;
		case CLI_VERSION:
			(void)printf("jobstack %s (schema %u)\n", jobstack_version(), jobstack_schema_version());
			*status = cli_end(cli, CLI_YES);
			return -2;
		case CLI_DEFAULTS_FILE:
			*status = cli_once(cli, "--defaults-file", cli->defaults_file, *arg);
			if (*status == 0)
				*status = cli_not_empty(cli, key, *arg);
			cli->defaults_file = *arg;
			if (*status != 0)
				return -2;
			break;
		case CLI_JSON: cli->json = 1; break;
		case 's':
			*status = cli_once(cli, "-s", cli->stack_typed ? cli->stack : NULL, *arg);
			if (*status != 0)
				return -2;
			cli->stack = *arg;
			cli->stack_given = cli->stack_typed = 1;
			break;
		case 'q': cli->quiet = 1; break;
		case 'v': cli->verbose = 1; break;
		default: return key;
		}
	}
	return -1;
}

int cli_once(struct cli *cli, const char *option, const char *before, const char *arg)
{
	return js_opt_once(option, before, arg, &cli->error) == 0 ? 0 : cli_fail(cli);
}

int cli_not_empty(struct cli *cli, int key, const char *arg)
{
	const struct js_opt *o = cli->opts->table;

	while (o->key != key)
		o++;
	if (*arg != '\0' || o->arg == NULL)
		return 0;
	return cli_usage(cli, "--%s takes a %s, not an empty text", o->name, o->arg);
}

const char *cli_get(const char *name)
{
	return getenv(name);
}

const char *cli_server_file(void)
{
	static char path[PATH_MAX];

	js_home_server_file(cli_get, path, sizeof(path));
	return path;
}

const char *cli_option_file(const struct cli *cli)
{
	static char path[PATH_MAX];

	return js_home_option_file(cli->defaults_file, cli_get, path, sizeof(path));
}

static void print_log(void *ctx, enum jobstack_level level, const char *text)
{
	const struct cli *cli = ctx;

	if (level == JOBSTACK_LOG_PROGRESS ? isatty(STDERR_FILENO) : level <= JOBSTACK_LOG_WARNING || cli->verbose)
		(void)fprintf(stderr, "%s: %s\n", cli->opts->command, text);
}

int cli_connect(struct cli *cli, int64_t patience_us)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	char where[600];

	options.defaults_file = cli_option_file(cli);
	options.patience_us = patience_us;
	options.log = cli->quiet ? NULL : print_log;
	options.log_ctx = cli;
	options.stop = &cli_stop;
	if (jobstack_open(&cli->handle, &options, &cli->error) != 0)
		return cli_fail(cli);
	if (cli->verbose) {
		jobstack_describe(cli->handle, where, sizeof(where));
		cli_say(cli, "connected to %s, by %s", where,
			options.defaults_file == NULL ? "no option file" : options.defaults_file);
	}
	return 0;
}

/* A remedy with a name in it, in a static buffer. */
static const char *with(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *with(const char *format, ...)
{
	static char text[PATH_MAX + 300];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return text;
}

static const char *remedy_nodb(unsigned why, const char *file)
{
	if (js_error_setting(why) != NULL)
		return js_error_setting(why);
	if (js_error_is_disk(why))
		return "free space on the server's disk, then do it again: nothing was half done";
	if (file == NULL)
		return "start a private one with `jobstack server start`, or put the address of your centre's into "
		       "~/.my.cnf";
	if (why == JOBSTACK_WHY_TLS)
		return with("look at ssl-ca and the other ssl- lines in %s", file);
	if (strcmp(file, cli_server_file()) == 0)
		return "is it running? `jobstack server status` tells, `jobstack server start` starts it (--data DIR, "
		       "if it is not in the usual place)";
	return with("see whether it runs, and that %s names the right host and port", file);
}

static const char *remedy_missing(const struct cli *cli)
{
	unsigned why = cli->error.server_errno;

	if (why == JOBSTACK_WHY_NO_STACK)
		return cli->stack_given
			       ? "`jobstack status` lists the stacks, `jobstack push` makes one"
			       : "name one with -s; `jobstack status` lists the stacks, `jobstack push` makes one";
	if (why != JOBSTACK_WHY_NO_ENTRY)
		return NULL;
	if (!cli->stack_given)
		return "its stack is named with -s; `jobstack status` lists them";
	return with("`jobstack list -s %s -t all` shows the entries, and -t, not a word by itself, says which states",
		    cli->stack);
}

static const char *remedy_noperm(unsigned why, const char *file)
{
	switch (why) {
	case 0: return NULL;
	case 1045: /* the server refuses the user or the password */
	case 1698:
		return file == NULL
			       ? "put user and password into ~/.my.cnf (mode 600), or start a database of your own "
				 "with `jobstack server start`"
			       : with("look at user and password in %s", file);
	case 2061: /* the server wants the password itself, and nothing has proved that it is the right server */
		return with("set ssl-ca=FILE (the certificate of the server's CA) in %s, and remove ssl=1 and any "
			    "ssl-mode weaker than VERIFY_CA",
			    file != NULL ? file : "the option file");
	default: return "ask the database's admin for the GRANTs in docs/ADMIN.md";
	}
}

static const char *remedy_conflict(unsigned why)
{
	switch (why) {
	case JOBSTACK_WHY_DROPPING: return "wait until it is gone; if nobody is at it, `jobstack drop` goes on";
	case JOBSTACK_WHY_CANCELLED: return "`jobstack resume` takes that back";
	case JOBSTACK_WHY_PUSHING: return "wait for its end; a push that died counts no more after a minute";
	case JOBSTACK_WHY_RUNNING:
		return "`jobstack cancel` lets no more begin, `jobstack recover` takes back what dead workers hold";
	case JOBSTACK_WHY_MAX_FAILURES:
		return "`jobstack requeue` takes them back into line, `jobstack set max-failures=N` allows more";
	default: return NULL;
	}
}

/* The one place that knows. */
const char *cli_remedy(const struct cli *cli)
{
	const char *file = cli_option_file(cli);
	unsigned why = cli->error.server_errno;

	switch (cli->error.code) {
	case JOBSTACK_ENODB: return remedy_nodb(why, file);
	case JOBSTACK_EPERM: return remedy_noperm(why, file);
	case JOBSTACK_ESCHEMA: return why == JOBSTACK_WHY_SCHEMA_NEWER ? "update jobstack here" : "run `jobstack init`";
	case JOBSTACK_EMISSING: return remedy_missing(cli);
	case JOBSTACK_ECONFLICT: return remedy_conflict(why);
	case JOBSTACK_EUSAGE: return why == JOBSTACK_WHY_OPTION ? "see --help" : NULL;
	case JOBSTACK_EBUG:
		if (js_error_is_memory(why))
			return "this machine has none left, or a limit (ulimit -v, the job's --mem) is too small";
		return "this is a bug of jobstack: please report it with this line";
	default: return NULL;
	}
}

int cli_fail(struct cli *cli)
{
	const char *what = cli_remedy(cli);

	if (cli->error.code == JOBSTACK_ESTOPPED)
		cli_die_by_signal();
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s: %s%s%s\n", cli->opts->command, cli->error.text, what == NULL ? "" : ": ",
		      what == NULL ? "" : what);
	return cli->error.code == 0 ? CLI_BUG : js_error_exit_status(cli->error.code); /* what failed is never a yes */
}

/* One line on standard error: the command, the words, and END. */
static void tell(const struct cli *cli, const char *format, va_list args, const char *end)
	__attribute__((format(printf, 2, 0)));
static void tell(const struct cli *cli, const char *format, va_list args, const char *end)
{
	struct js_buf line = {0};
	char *words = NULL;

	if (vasprintf(&words, format, args) < 0)
		words = NULL;
	js_buf_printf(&line, "%s: ", cli->opts->command);
	view_safe_words(&line, words != NULL ? words : format);
	(void)fprintf(stderr, "%s%s\n", line.data != NULL ? line.data : format, end);
	js_buf_free(&line);
	free(words);
}

int cli_usage(struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(cli, format, args, ": see --help");
	va_end(args);
	return CLI_USAGE;
}

void cli_tell(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(cli, format, args, "");
	va_end(args);
}

void cli_say(const struct cli *cli, const char *format, ...)
{
	va_list args;

	if (cli->quiet)
		return;
	va_start(args, format);
	tell(cli, format, args, "");
	va_end(args);
}

int cli_end(struct cli *cli, int status)
{
	static int told;

	jobstack_free(cli->handle);
	cli->handle = NULL;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (errno != EPIPE && !told)
			cli_tell(cli, "the output could not be written: %s", strerror(errno));
		told = 1;
		return status == CLI_YES ? CLI_BUG : status;
	}
	return status;
}

static void on_signal(int number)
{
	cli_stop = number;
}

void cli_catch_signals(void)
{
	js_signal_catch(SIGINT, on_signal);
	js_signal_catch(SIGTERM, on_signal);
	js_signal_catch(SIGHUP, on_signal);
}

void cli_die_by_signal(void)
{
	int number = cli_stop;

	if (number == 0)
		return;
	(void)fflush(NULL);
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

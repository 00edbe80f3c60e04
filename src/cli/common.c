/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the subcommands share.  Promises: errors go to standard error as "jobstack CMD: what happened: what to do"; the
 * remedy is added here and nowhere else; output that could not be written is never a success.
 */
#include "cli/cli.h"

#include "base/home.h"
#include "base/num.h"
#include "base/signal.h"
#include "cli/spec.h"
#include "insight/stack.h"
#include "view/json.h"
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

const struct js_opt *cli_option(const struct cli *cli, int key)
{
	const struct js_opt *o = cli->opts->table;

	while (o->key != key)
		o++;
	return o;
}

/* For an option whose value can't be empty. */
static int check_not_empty(struct cli *cli, int key, const char *arg)
{
	const struct js_opt *o = cli_option(cli, key);

	return *arg != '\0' ? 0 : cli_usage(cli, "--%s needs a %s, but got an empty string", o->name, o->arg);
}

static int check_once(struct cli *cli, const char *option, const char *before, const char *arg)
{
	return js_opt_once(option, before, arg, &cli->error) == 0 ? 0 : cli_fail(cli);
}

/* The options that every command has.  Gives only the command's own keys, -1 at the end, or -2 if the command must end
 * now with *STATUS. */
static int next_own_option(struct cli *cli, int argc, char *const argv[], const char **arg, int *status)
{
	struct js_buf help = {0};
	int key;

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
			*status = check_once(cli, "--defaults-file", cli->defaults_file, *arg);
			if (*status == 0)
				*status = check_not_empty(cli, key, *arg);
			cli->defaults_file = *arg;
			break;
		case CLI_JSON: cli->json = 1; break;
		case 's':
			*status = check_once(cli, "-s", cli->stack_typed ? cli->stack : NULL, *arg);
			cli->stack = *arg;
			cli->stack_given = cli->stack_typed = 1;
			break;
		case 'q': cli->quiet = 1; break;
		case 'v': cli->verbose = 1; break;
		default: return key;
		}
		if (*status != 0)
			return -2;
	}
	return -1;
}

/* "-n takes a number from 1 on, not "x"". */
static int refuse_value(struct cli *cli, const struct cli_take *t, int key, const char *arg)
{
	if (key < 256)
		return cli_usage(cli, "-%c takes %s, not \"%s\"", key, t->wants, arg);
	return cli_usage(cli, "--%s takes %s, not \"%s\"", cli_option(cli, key)->name, t->wants, arg);
}

/* The place of ARG in "one, two or three"; -1: it is not there. */
static int find_choice(const char *words, const char *arg)
{
	for (int i = 0; *words != '\0'; i++) {
		size_t len = strcspn(words, " ,");

		if (strlen(arg) == len && strncmp(words, arg, len) == 0)
			return i;
		words += len;
		words += strspn(words, " ,");
		words += strncmp(words, "or ", 3) == 0 ? 3 : 0;
	}
	return -1;
}

int cli_take(struct cli *cli, const struct cli_take *t, int key, const char *arg)
{
	const char **word;
	char name[64];
	int64_t us;
	int status = 0;

	while (t->key != key && t->key != 0)
		t++;
	word = t->to;
	switch (t->is) {
	case CLI_TAKE_NOTHING:
		(void)js_error_set(&cli->error, JOBSTACK_EBUG, "the option --%s is not handled",
				   cli_option(cli, key)->name);
		return cli_fail(cli);
	case CLI_TAKE_BY: return t->by(cli, t->to, key, arg);
	case CLI_TAKE_FLAG: *(int *)t->to = 1; break;
	case CLI_TAKE_NUMBER: return js_num_u64(arg, t->low, t->high, t->to) == 0 ? 0 : refuse_value(cli, t, key, arg);
	case CLI_TAKE_TIME:
		if (js_num_duration(arg, &us) != 0 || us < (int64_t)t->low)
			return refuse_value(cli, t, key, arg);
		*(int64_t *)t->to = us;
		break;
	case CLI_TAKE_CHOICE:
		*(int *)t->to = find_choice(t->wants, arg);
		return *(int *)t->to >= 0 ? 0 : refuse_value(cli, t, key, arg);
	case CLI_TAKE_ONCE:
		(void)snprintf(name, sizeof(name), "--%s", cli_option(cli, key)->name);
		status = check_once(cli, name, *word, arg);
		*word = arg;
		break;
	case CLI_TAKE_NAME:
		status = check_not_empty(cli, key, arg);
		*word = arg;
		break;
	case CLI_TAKE_WORD: *word = arg;
	}
	return status;
}

int cli_parse(struct cli *cli, const struct js_opts *opts, const struct cli_take *takes, int argc, char *argv[],
	      const char *too_many)
{
	const char *arg;
	int key = -1, status = 0;

	cli_begin(cli, opts);
	if (cli_spec_on())
		return cli_end(cli, cli_spec_tell(cli->opts));
	while (status == 0 && (key = next_own_option(cli, argc, argv, &arg, &status)) >= 0)
		status = cli_take(cli, takes, key, arg);
	if (status != 0 || key == -2)
		return status;
	cli->argc = argc;
	cli->argv = argv;
	cli->words = argv + optind;
	cli->words_n = (size_t)(argc - optind);
	if (too_many != NULL && cli->words_n > 0)
		return cli_usage(cli, "unexpected argument \"%s\"%s%s", cli->words[0], *too_many != '\0' ? ": " : "",
				 too_many);
	return CLI_GO_ON;
}

int cli_main(const struct cli_frame *frame, int argc, char **argv)
{
	static struct cli cli;
	int status;

	cli.argc = argc;
	cli.argv = argv;
	if ((frame->flags & CLI_SORTS) != 0)
		return frame->run(&cli);
	status = cli_parse(&cli, frame->opts, frame->takes, argc, argv, frame->too_many);
	if (status != CLI_GO_ON)
		return status;
	status = frame->check != NULL ? frame->check(&cli) : 0;
	if (status == 0 && (frame->flags & (CLI_CATCHES | CLI_DIES)) != 0)
		cli_catch_signals();
	if (status == 0 && (frame->flags & CLI_OFFLINE) == 0)
		status = cli_connect(&cli, frame->patience_us);
	if (status == 0)
		status = frame->run(&cli);
	status = cli_end(&cli, status);
	if ((frame->flags & CLI_DIES) != 0)
		cli_die_by_signal();
	return status;
}

int cli_read_status(struct cli *cli, struct jobstack_status *s)
{
	struct insight_stack stack = {.cwd = {0}};
	int status = insight_stack_read(cli->handle, cli->stack, &stack, &cli->error);

	*s = stack.s;
	insight_stack_free(&stack);
	return status;
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
	if (jobstack_open(&cli->handle, &options, &cli->error) != 0)
		return cli_fail(cli);
	if (cli->verbose) {
		jobstack_describe(cli->handle, where, sizeof(where));
		cli_say(cli, "connected to %s, using %s", where,
			options.defaults_file == NULL ? "no option file" : options.defaults_file);
	}
	return 0;
}

/* A remedy with a name in it, in a static buffer. */
__attribute__((format(printf, 1, 2))) static const char *format_remedy(const char *format, ...)
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
		return "free space on the server's disk, then repeat the command: each change was made completely or "
		       "not at all";
	if (file == NULL)
		return "start a private server with `jobstack server start`, or put the address of your centre's "
		       "server into ~/.my.cnf";
	if (why == JOBSTACK_WHY_TLS)
		return format_remedy("check ssl-ca and the other ssl- lines in %s", file);
	if (strcmp(file, cli_server_file()) == 0)
		return "check with `jobstack server status`, start it with `jobstack server start` (add --data DIR if "
		       "its data is not in the default directory)";
	return format_remedy("check that it is running, and that %s names the right host and port", file);
}

static const char *remedy_missing(const struct cli *cli)
{
	unsigned why = cli->error.server_errno;

	if (why == JOBSTACK_WHY_NO_STACK)
		return cli->stack_given ? "`jobstack status` lists the stacks, `jobstack push` creates one"
					: "name a stack with -s; `jobstack status` lists the stacks, `jobstack push` "
					  "creates one";
	if (why != JOBSTACK_WHY_NO_ENTRY)
		return NULL;
	if (!cli->stack_given)
		return "name its stack with -s; `jobstack status` lists the stacks";
	return format_remedy("`jobstack list -s %s -t all` lists the entries (states are given with -t)", cli->stack);
}

static const char *remedy_noperm(unsigned why, const char *file)
{
	switch (why) {
	case 0: return NULL;
	case 1045: /* the server refuses the user or the password */
	case 1698:
		return file == NULL ? "put user and password into ~/.my.cnf (mode 600), or start a private server with "
				      "`jobstack server start`"
				    : format_remedy("check user and password in %s", file);
	case 2061: /* the server wants the password itself, and nothing has proved that it is the right server */
		return format_remedy("set ssl-ca=FILE (the certificate of the server's CA) in %s, and remove ssl=1 and "
				     "any ssl-mode weaker than VERIFY_CA",
				     file != NULL ? file : "the option file");
	default: return "ask the database's admin for the GRANTs in docs/ADMIN.md";
	}
}

static const char *remedy_conflict(unsigned why, const char *stack)
{
	switch (why) {
	case JOBSTACK_WHY_DROPPING:
		return format_remedy(
			"wait until it is gone; if that drop was interrupted, `jobstack drop -s %s` continues it",
			stack);
	case JOBSTACK_WHY_CANCELLED: return format_remedy("`jobstack resume -s %s` undoes the cancel", stack);
	case JOBSTACK_WHY_PUSHING:
		return "wait until it has ended; a push that was killed no longer counts after a minute";
	case JOBSTACK_WHY_RUNNING:
		return format_remedy("`jobstack cancel -s %s` lets no more entries start, `jobstack recover -s %s` "
				     "requeues those of dead workers",
				     stack, stack);
	case JOBSTACK_WHY_OLD_WORKERS: return "let them end (SIGTERM drains a worker), then run `jobstack init` again";
	case JOBSTACK_WHY_MAX_FAILURES:
		return format_remedy("`jobstack requeue -s %s` puts the dead entries back in the queue, `jobstack set "
				     "-s %s max-failures=N` raises the limit",
				     stack, stack);
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
	case JOBSTACK_ESCHEMA:
		return why == JOBSTACK_WHY_SCHEMA_NEWER ? "install the newer jobstack on this machine"
							: "run `jobstack init`";
	case JOBSTACK_EMISSING: return remedy_missing(cli);
	case JOBSTACK_ECONFLICT: return remedy_conflict(why, cli->stack);
	case JOBSTACK_EUSAGE: return why == JOBSTACK_WHY_OPTION ? "see --help" : NULL;
	case JOBSTACK_EBUG:
		if (js_error_is_memory(why))
			return "this machine is out of memory, or a limit (ulimit -v, the job's --mem) is too small";
		return "this is a bug in jobstack: please report it with this line";
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

int cli_no_memory(struct cli *cli)
{
	(void)js_error_memory(&cli->error);
	return cli_fail(cli);
}

int cli_print_json(json_t *object)
{
	struct js_buf line = {0};
	int bad = view_json_line(object, &line);

	if (bad == 0)
		(void)fputs(line.data, stdout);
	js_buf_free(&line);
	return bad == 0 ? CLI_YES : CLI_BUG;
}

/* One line on standard error: the command, the words, and END. */
__attribute__((format(printf, 2, 0))) static void print_message(const struct cli *cli, const char *format, va_list args,
								const char *end)
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
	print_message(cli, format, args, ": see --help");
	va_end(args);
	return CLI_USAGE;
}

void cli_tell(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_message(cli, format, args, "");
	va_end(args);
}

void cli_say(const struct cli *cli, const char *format, ...)
{
	va_list args;

	if (cli->quiet)
		return;
	va_start(args, format);
	print_message(cli, format, args, "");
	va_end(args);
}

int cli_end(struct cli *cli, int status)
{
	static int reported;

	jobstack_free(cli->handle);
	cli->handle = NULL;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (errno != EPIPE && !reported)
			cli_tell(cli, "can't write the output: %s", strerror(errno));
		reported = 1;
		return status == CLI_YES ? CLI_BUG : status;
	}
	return status;
}

static void on_signal(int number)
{
	cli_stop = number;
	jobstack_stop(NULL);
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

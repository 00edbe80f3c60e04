/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the subcommands share.  Promises: errors go to standard error as "jobstack CMD: what happened: what to do"; what
 * to do is chosen here, and in frame/remedy.c what the worker says, too; output that could not be written is never a
 * success.
 */
#include "frame/frame.h"

#include "proc/child.h"

#include "base/home.h"
#include "base/signal.h"
#include "figures/stack.h"
#include "frame/remedy.h"
#include "show/json.h"
#include "show/term.h"
#include "show/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The stack is never NULL: without -s and $JOBSTACK_STACK it is "default", or what name_newest() finds. */
static void begin_call(struct cli *cli, const struct js_opts *opts)
{
	const char *stack = getenv("JOBSTACK_STACK");

	memset(cli, 0, sizeof(*cli));
	cli->opts = opts;
	cli->stack_given = stack != NULL && *stack != '\0';
	cli->stack = cli->stack_given ? stack : "default";
	optind = 0;
}

static int check_once(struct cli *cli, const char *option, const char *before, const char *arg)
{
	return js_opt_once(option, before, arg, &cli->error) == 0 ? 0 : cli_fail(cli);
}

/* Adds a stack that was named, by OPTION ("-s") or as a word.  A repeated name is ignored.  Only a usage with
 * "STACK..." takes several. */
static int add_stack(struct cli *cli, const char *option, const char *name)
{
	for (size_t i = 0; i < cli->stacks_n; i++)
		if (strcmp(cli->stacks[i], name) == 0)
			return 0;
	if (strstr(cli->opts->usage, "STACK...") == NULL)
		JS_TRY(check_once(cli, option, cli->stack_typed ? cli->stack : NULL, name));
	if (cli->stacks_n == CLI_STACKS_MAX)
		return cli_usage(cli, "more than %d stacks are given", CLI_STACKS_MAX);
	if (!cli->stack_typed)
		cli->stack = name;
	cli->stacks[cli->stacks_n++] = name;
	cli->stack_given = cli->stack_typed = 1;
	return 0;
}

/* Returns whether --all is given, which stands for all entries: then no word names one. */
static int names_all(const struct cli *cli)
{
	size_t i = 0;

	while (i < cli->options.n && strcmp(cli->options.at[i], "--all") != 0)
		i++;
	return i < cli->options.n;
}

/* Takes the leading words that are names of stacks, as many as the usage says.  Where words can be entries as well, a
 * word is taken here only if it must be the stack ("@" is); else cli_connect does it, which asks the database. */
static int take_stack_words(struct cli *cli)
{
	const char *usage = cli->opts->usage + (cli->opts->usage[0] == '['), *word = cli->words[0];
	size_t most = strncmp(usage, "STACK...", 8) == 0 ? SIZE_MAX : strncmp(usage, "STACK", 5) == 0;

	if (word != NULL && (strstr(usage, "ENTRY") != NULL || strstr(usage, "KEY=VALUE") != NULL) &&
	    (cli->stack_typed || cli_is_entry(cli, word) ||
	     (cli_doubtful_word(cli) != NULL && strcmp(word, "@") != 0 && !names_all(cli))))
		return 0;
	for (; most > 0 && cli->words_n > 0; most--, cli->words++, cli->words_n--)
		JS_TRY(add_stack(cli, "the stack", cli->words[0]));
	return 0;
}

/* Handles the options that every command has.  Returns only the command's own keys; -1 at the end; -2 if the command
 * must end now with *STATUS. */
static int next_own_option(struct cli *cli, int argc, char *const argv[], const char **arg, int *status)
{
	struct js_buf help = {0};
	int key;

	while ((key = js_opt_next(cli->opts, argc, argv, arg, &cli->error)) != -1) {
		switch (key) {
		case '?': *status = cli_fail(cli); return -2;
		case CLI_HELP:
		case CLI_HELP_ALL:
			js_opt_help(cli->opts, show_columns(stdout), key == CLI_HELP_ALL, &help);
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
			JS_THEN(*status, cli_take(cli, CLI_NAME(&cli->defaults_file), key, *arg));
			break;
		case CLI_CONNECT_TIMEOUT:
			*status =
				cli_take(cli, CLI_TIME(&cli->connect_us, 0, "a duration, such as 30 or 5m"), key, *arg);
			break;
		case CLI_JSON: cli->json = 1; break;
		case 's': *status = add_stack(cli, "-s", *arg); break;
		case 'q': cli->quiet = 1; break;
		case 'v': cli->verbose = 1; break;
		case 'y': cli->yes = 1; break;
		default: return key;
		}
		if (*status != 0)
			return -2;
	}
	return -1;
}

int cli_take(struct cli *cli, const struct cli_take *t, int key, const char *arg)
{
	if (t->by != NULL)
		return t->by(cli, t->take.to, key, arg);
	return js_opt_take(cli_option(cli, key), &t->take, arg, &cli->error) == 0 ? 0 : cli_fail(cli);
}

void cli_pass(struct cli_words *line, const struct cli *cli, int key, const char *arg)
{
	const struct js_opt *o = cli_option(cli, key);

	if (key == JS_OPT_OTHER)
		cli_words_add(line, arg);
	else
		cli_words_format(line, o->arg == NULL || (o->arg[0] == '[' && *arg == '\0') ? "--%s" : "--%s=%s",
				 o->name, arg);
}

/* Reads the options, and notes those of the command in cli->options, so that --again and the job after a chain's round
 * can give them once more.  CLI_GO_ON, or the exit status. */
static int parse_options(struct cli *cli, int argc, char *argv[])
{
	const char *arg;
	int key = -1, status = 0;

	optind = 0;
	while (status == 0 && (key = next_own_option(cli, argc, argv, &arg, &status)) >= 0) {
		if (key < CLI_CALL || key >= CLI_OWN)
			cli_pass(&cli->options, cli, key, arg);
		status = cli_take(cli, cli_option(cli, key)->take, key, arg);
	}
	return status != 0 || key == -2 ? status : CLI_GO_ON;
}

int cli_parse_more(struct cli *cli, int n, char *argv[])
{
	int status = parse_options(cli, n + 1, argv);

	return status == CLI_GO_ON ? 0 : status;
}

/* Where the first word ends the options (a command line follows), the stack can only stand before them: it is taken
 * first. */
int cli_parse(struct cli *cli, const struct js_opts *opts, int argc, char *argv[], const char *too_many)
{
	int status;

	begin_call(cli, opts);
	if (opts->first_word_ends && argc > 1 && argv[1][0] != '-' && strncmp(opts->usage, "[STACK]", 7) == 0) {
		JS_TRY(add_stack(cli, "the stack", argv[1]));
		argv++;
		argc--;
	}
	status = parse_options(cli, argc, argv);
	if (status != CLI_GO_ON)
		return status;
	cli->argc = argc;
	cli->argv = argv;
	cli->words = argv + optind;
	cli->words_n = (size_t)(argc - optind);
	if (!opts->first_word_ends)
		JS_TRY(take_stack_words(cli));
	if (too_many != NULL && cli->words_n > 0)
		return cli_usage(cli, "unexpected argument \"%s\"%s%s", cli->words[0], *too_many != '\0' ? ": " : "",
				 too_many);
	return CLI_GO_ON;
}

/* An error of one stack does not keep the others from being handled. */
static int run_each(const struct cli_frame *frame, struct cli *cli)
{
	int status = 0, one;
	size_t i = 0;

	do {
		if (cli->stacks_n > 0)
			cli->stack = cli->stacks[i];
		one = frame->run(cli);
		status = one > status ? one : status;
		js_error_clear(&cli->error);
	} while (++i < cli->stacks_n && cli_stop == 0);
	return status;
}

/* The life of a command: options, its own check, signals, connection, its work, and the end of the output.  The check
 * comes before the connection if it can, so a mistyped line is refused at once, and without a database. */
int cli_main(const struct cli_frame *frame, int argc, char **argv)
{
	static struct cli cli;
	int status, late;

	status = cli_parse(&cli, frame->opts, argc, argv, frame->too_many);
	if (status != CLI_GO_ON)
		return status;
	cli.flags = frame->flags;
	late = (frame->flags & CLI_OFFLINE) == 0 && cli_doubtful_word(&cli) != NULL;
	status = frame->check != NULL && !late ? frame->check(&cli) : 0;
	if (status == 0 && (frame->flags & (CLI_CATCHES | CLI_DIES)) != 0)
		cli_catch_signals();
	if (status == 0 && (frame->flags & CLI_OFFLINE) == 0)
		status = cli_connect(&cli, frame->patience_us);
	if (status == 0 && frame->check != NULL && late)
		status = frame->check(&cli);
	if (status == 0 && (frame->flags & CLI_EACH) != 0)
		status = run_each(frame, &cli);
	else
		JS_THEN(status, frame->run(&cli));
	status = cli_end(&cli, status);
	if ((frame->flags & CLI_DIES) != 0)
		cli_die_by_signal();
	return status;
}

const char *cli_schema_dir(void)
{
	return js_child_data_dir("schema", JS_SCHEMA_DIR, JS_SCHEMA_SOURCE_DIR);
}

int cli_read_status(struct cli *cli, struct jobstack_status *s)
{
	struct figures_stack stack = {.cwd = {0}};
	int status = figures_stack_read(cli->handle, cli->stack, &stack, &cli->error);

	*s = stack.s;
	figures_stack_free(&stack);
	return status;
}

const char *cli_server_file(void)
{
	static char path[PATH_MAX];

	js_home_server_file(path, sizeof(path));
	return path;
}

const char *cli_option_file(const struct cli *cli)
{
	static char path[PATH_MAX];

	return js_home_option_file(cli->defaults_file, path, sizeof(path));
}

static void print_log(void *ctx, enum jobstack_level level, const char *text)
{
	const struct cli *cli = ctx;

	if (level == JOBSTACK_LOG_PROGRESS ? isatty(STDERR_FILENO) : level <= JOBSTACK_LOG_WARNING || cli->verbose)
		(void)fprintf(stderr, "%s: %s\n", cli->opts->command, text);
}

static int count_stacks(void *n, const struct jobstack_status *s)
{
	(void)s;
	return ++*(int *)n > 1;
}

/* Returns 1 if the call means the newest stack: no stack is named, and none is called "default".  A command that
 * changes something means the only stack; -1: there are several.  Else 0.  If there is a "default" and others, a person
 * is told which one is meant. */
static int means_newest(struct cli *cli)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct jobstack_status s;
	int stacks = 0, status;

	if (cli->stack_given || (cli->flags & (CLI_LOOKS | CLI_CHANGES)) == 0)
		return 0;
	status = cli_read_status(cli, &s);
	if (status != JOBSTACK_EMISSING) {
		if (status == 0 && isatty(STDERR_FILENO))
			(void)jobstack_status(cli->handle, NULL, count_stacks, &stacks, &ignored);
		if (stacks > 1)
			cli_say(cli, "the stack is \"%s\" (-s selects another)", cli->stack);
		return 0;
	}
	js_error_clear(&cli->error);
	if ((cli->flags & CLI_LOOKS) != 0)
		return 1;
	(void)jobstack_status(cli->handle, NULL, count_stacks, &stacks, &ignored);
	return stacks < 2 ? stacks : -1;
}

/* Puts the name of the newest stack in the place of "@", or where it is meant. */
static int name_newest(struct cli *cli)
{
	static char name[JOBSTACK_STACK_MAX + 1];
	int is_typed = strcmp(cli->stack, "@") == 0, is_meant = means_newest(cli), status;

	for (size_t i = 0; i < cli->stacks_n; i++)
		is_typed |= strcmp(cli->stacks[i], "@") == 0;
	/* of a word that names neither a stack nor an entry, the command says that */
	if ((!is_typed && is_meant == 0) || (is_meant < 0 && cli_doubtful_word(cli) != NULL))
		return 0;
	if (is_meant < 0) {
		(void)js_error_why(&cli->error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_STACK,
				   "no stack is named, and there are several");
		return cli_fail(cli);
	}
	status = jobstack_newest(cli->handle, name, &cli->error);
	if (status == JOBSTACK_NOTHING && is_meant)
		return 0; /* the command says that there is no "default" */
	if (status == JOBSTACK_NOTHING)
		status = js_error_why(&cli->error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_STACK,
				      "@ means your newest stack, and you have none here");
	if (status != 0)
		return cli_fail(cli);
	if (is_typed && (cli->flags & CLI_NAMED) != 0 && strcmp(name, "@") != 0)
		return cli_usage(cli, "@ is not accepted here: name the stack (your newest one is \"%s\")", name);
	if (is_meant && isatty(STDERR_FILENO))
		cli_say(cli, "the stack is \"%s\" (-s selects another)", name);
	if (is_meant || strcmp(cli->stack, "@") == 0)
		cli->stack = name;
	cli->stack_given = 1;
	for (size_t i = 0; i < cli->stacks_n; i++)
		cli->stacks[i] = strcmp(cli->stacks[i], "@") == 0 ? name : cli->stacks[i];
	return 0;
}

static int has_stack(const struct cli *cli, const char *name)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	int found = 0;

	return jobstack_status(cli->handle, name, count_stacks, &found, &ignored) == 0;
}

/* Prints this call as it would have to be typed with -s STACK, and without the word LESS, which may be NULL. */
static void print_line(const struct cli *cli, const char *stack, const char *less)
{
	struct js_buf line = {0};

	js_buf_printf(&line, "    %s -s %s", cli->opts->command, stack);
	for (char **word = cli->argv + 1; *word != NULL; word++)
		if (*word != less) {
			js_buf_char(&line, ' ');
			show_quote_line(&line, *word, strlen(*word));
		}
	(void)fprintf(stderr, "%s\n", line.failed ? "" : line.data);
	js_buf_free(&line);
}

/* Decides what the first word is, if a stack has this name: the stack, unless it also names an entry of the stack that
 * is meant otherwise.  Then nothing is done, and both lines are printed; but if the command takes one entry, the number
 * of words says which of them it is. */
static int name_by_word(struct cli *cli, const char *word)
{
	const char *usage = cli->opts->usage;
	const int one = strstr(usage, "ENTRY...") == NULL;
	uint64_t entry;
	int status = one && cli->words_n > 1 ? JOBSTACK_NOTHING : cli_find_entry(cli, word, &entry);

	if (status == JOBSTACK_EMISSING && cli->error.server_errno == JOBSTACK_WHY_NO_STACK)
		status = JOBSTACK_NOTHING;
	if (status < 0 && status != JOBSTACK_EMISSING) /* EMISSING: several entries end with it */
		return cli_fail(cli);
	js_error_clear(&cli->error);
	if (status == 0 && one && strstr(usage, "[ENTRY") == NULL)
		return 0;
	if (status == JOBSTACK_NOTHING) {
		cli->words++;
		cli->words_n--;
		return add_stack(cli, "the stack", word);
	}
	cli_tell(cli, "\"%s\" is a stack, and also an entry of the stack \"%s\"; type one of these lines:", word,
		 cli->stack);
	print_line(cli, word, word);
	print_line(cli, cli->stack, NULL);
	return CLI_USAGE;
}

int cli_refuse_stack(struct cli *cli, char *const *words, size_t n)
{
	struct stat st;

	for (size_t i = 0; i < n && i < CLI_DOUBT_WORDS && !cli->stack_typed; i++) {
		if (cli_is_entry(cli, words[i]) || lstat(words[i], &st) == 0 || !has_stack(cli, words[i]))
			continue;
		cli_tell(cli,
			 "\"%s\" is a stack, and there is no such file, so nothing was pushed; for the stack, type:",
			 words[i]);
		print_line(cli, words[i], words[i]);
		return CLI_USAGE;
	}
	return 0;
}

/* A name that stands for a stack, "@" or none, needs the database, so it is resolved here; and whether the first word
 * is a stack or an entry. */
int cli_connect(struct cli *cli, int64_t patience_us)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	const char *word = cli_doubtful_word(cli);
	const int quiet = cli->quiet;
	int is_stack, status;
	char where[600];

	options.defaults_file = cli_option_file(cli);
	options.patience_us = patience_us;
	options.first_us = cli->connect_us;
	options.log = cli->quiet ? NULL : print_log;
	options.log_ctx = cli;
	options.os_user = js_home_user();
	if (jobstack_open(&cli->handle, &options, &cli->error) != 0)
		return cli_fail(cli);
	if (cli->verbose) {
		jobstack_describe(cli->handle, where, sizeof(where));
		cli_say(cli, "connected to %s, using %s", where,
			options.defaults_file == NULL ? "no option file" : options.defaults_file);
	}
	is_stack = word != NULL && has_stack(cli, word);
	cli->quiet |= is_stack; /* then name_newest does not say which stack it takes */
	status = name_newest(cli);
	cli->quiet = quiet;
	return status == 0 && is_stack ? name_by_word(cli, word) : status;
}

const char *cli_remedy(const struct cli *cli)
{
	const char *file = cli_option_file(cli), *near = cli_near(cli);
	struct js_remedy about = {cli->stack_given ? JS_REMEDY_STACK_GIVEN : 0, file, cli->stack};

	if (file != NULL && strcmp(file, cli_server_file()) == 0)
		about.known |= JS_REMEDY_OWN_SERVER;
	return near != NULL ? near : js_remedy(&cli->error, &about);
}

/* A command that was stopped by a signal dies by it, without a message: the person knows. */
int cli_fail(struct cli *cli)
{
	const char *what = cli_remedy(cli);

	if (cli->error.code == JOBSTACK_ESTOPPED || cli->error.code == 0) /* 0: our callback stopped the call */
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
	int bad = show_json_line(object, &line);

	if (bad == 0)
		(void)fputs(line.data, stdout);
	js_buf_free(&line);
	return bad == 0 ? CLI_YES : CLI_BUG;
}

/* The whole line is written at once, so that lines of several processes do not mix. */
void cli_message(const struct cli *cli, const char *end, const char *format, ...)
{
	struct js_buf line = {0};
	char *words = NULL;
	va_list args;

	if (end == NULL && cli->quiet)
		return;
	va_start(args, format);
	if (vasprintf(&words, format, args) < 0)
		words = NULL;
	va_end(args);
	js_buf_printf(&line, "%s: ", cli->opts->command);
	show_safe_words(&line, words != NULL ? words : format);
	(void)fprintf(stderr, "%s%s", line.data != NULL ? line.data : format, end != NULL ? end : "\n");
	js_buf_free(&line);
	free(words);
}

int cli_asks(const struct cli *cli)
{
	return !cli->yes && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int cli_answer(const struct cli *cli)
{
	char answer[16] = "";

	if (fgets(answer, sizeof(answer), stdin) == NULL) /* Ctrl-C or Ctrl-D ends no line */
		(void)fputs("\n", stderr);
	if (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0)
		return 0;
	cli_say(cli, "nothing was changed");
	return CLI_NO;
}

/* Only the first error is kept: what fails after it follows from it. */
int cli_write(struct cli *cli, const struct js_buf *text)
{
	const size_t len = text == NULL ? 0 : text->len;

	if (cli->write_errno == 0 && (fwrite(len > 0 ? text->data : "", 1, len, stdout) != len ||
				      (text == NULL && (fflush(stdout) != 0 || ferror(stdout)))))
		cli->write_errno = errno != 0 ? errno : EIO;
	return cli->write_errno == 0 ? 0 : -1;
}

/* A full disk or a closed pipe often shows only when the output is flushed.  That a pipe's reader has left is told by
 * the status alone. */
int cli_end(struct cli *cli, int status)
{
	static int reported;

	jobstack_free(cli->handle);
	cli->handle = NULL;
	if (cli_write(cli, NULL) != 0) {
		cli_die_by_signal(); /* a signal ends a write that waits */
		if (cli->write_errno != EPIPE && !reported)
			cli_tell(cli, "can't write the output: %s", strerror(cli->write_errno));
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

/* The default action of the same signal tells a shell more than an exit status: it stops the loop in which this command
 * stands. */
void cli_die_by_signal(void)
{
	int number = cli_stop;

	if (number == 0)
		return;
	if (!ferror(stdout)) /* else it may wait again */
		(void)fflush(NULL);
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

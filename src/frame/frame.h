/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The frame of a command: how it is called, the common options, how an error becomes words and an exit status.  The
 * subcommands of `jobstack` and of `jobstack-server` share it.
 */
#pragma once

#include "base/error.h"
#include "base/opt.h"
#include "frame/command.h"
#include "jobstack/jobstack.h"
#include "show/picture.h"

#include <jansson.h>
#include <stdint.h>

/* Exit statuses; and what cli_parse returns while the command is to continue. */
enum {
	CLI_GO_ON = -1,
	CLI_YES = JS_EXIT_OK,
	CLI_NO = JS_EXIT_NO,
	CLI_USAGE = JS_EXIT_USAGE,
	CLI_NODB = JS_EXIT_NODB,
	CLI_BUG = JS_EXIT_BUG,
	CLI_NOPERM = JS_EXIT_NOPERM,
	CLI_IDLE = 3, /* of `wait`: nobody works there, and nobody will */
	CLI_TIMEOUT = 124
};

#define CLI_STACKS_MAX 100 /* in one call */

/* The keys of the common options; a command's own start at CLI_OWN or are letters.  Those from CLI_CALL on are about
 * one call, and not repeated by --again. */
enum {
	CLI_DEFAULTS_FILE = 256,
	CLI_CONNECT_TIMEOUT,
	CLI_JSON,
	CLI_HELP,
	CLI_HELP_ALL,
	CLI_VERSION,
	CLI_CALL,
	CLI_OWN = CLI_CALL + 8
};

/* The rows for a command's table: those of every command, and those of a command that talks to a stack. */
/* clang-format off */
#define CLI_OPTS_ALWAYS                                                                                                \
	{'q', "quiet", NULL, "~print only errors and results that were asked for", NULL}, {'v', "verbose", NULL, "~print more", NULL},                          \
		{CLI_HELP, "help", NULL, "~print this help", NULL}, {CLI_HELP_ALL, "help-all", NULL, NULL, NULL}, {CLI_VERSION, "version", NULL, "~print the version", NULL}
#define CLI_OPTS_DATABASE                                                                                              \
	{CLI_DEFAULTS_FILE, "defaults-file", "FILE", "~the option file with the database's address", NULL},                          \
		{CLI_CONNECT_TIMEOUT, "connect-timeout", "D", "~wait up to D for a database that can't be reached or takes no writes\n(default: do not wait)", NULL}
#define CLI_OPTS_STACK {'s', "stack", "NAME", "the stack (default: $JOBSTACK_STACK, else \"default\")", NULL}
#define CLI_OPTS_STACKS {'s', "stack", "NAME", "the stack; may be repeated (default: $JOBSTACK_STACK, else \"default\")", NULL}
#define CLI_OPTS_STACK_TYPED {'s', "stack", "NAME", "the stack (required)", NULL} /* for commands that delete data */
#define CLI_OPTS_YES {'y', "yes", NULL, "do not ask", NULL} /* for cli_confirm */
#define CLI_OPTS_JSON {CLI_JSON, "json", NULL, "~print JSON", NULL}
#define CLI_OPTS_END {0, NULL, NULL, NULL, NULL}
/* The end of most tables; the same without --json, or with another row for it. */
#define CLI_OPTS_REST CLI_OPTS_JSON, CLI_OPTS_TEXT
#define CLI_OPTS_TEXT CLI_OPTS_DATABASE, CLI_OPTS_ALWAYS, CLI_OPTS_END
/* clang-format on */

/* What one call of a command carries. */
struct cli {
	const struct js_opts *opts;
	const char *stack;		    /* given or default; never NULL */
	int stack_given;		    /* by -s or $JOBSTACK_STACK */
	int stack_typed;		    /* by -s, or as the first word */
	const char *missing;		    /* a doubtful word that names nothing (cli_entry), or NULL */
	const char *stacks[CLI_STACKS_MAX]; /* all that are given, in this order, where there may be several */
	size_t stacks_n;
	const char *defaults_file;
	int64_t connect_us; /* --connect-timeout */
	unsigned flags;	    /* the frame's */
	int json, quiet, verbose, yes;
	int argc;
	char **argv;  /* all words, from the name of the command on */
	char **words; /* behind the options, and behind the stack; a NULL ends them */
	size_t words_n;
	struct cli_words options; /* the command's own options, as cli_pass makes them, but not those of CLI_CALL */
	struct jobstack *handle;
	struct jobstack_error error;
	int write_errno; /* why standard output could not be written, at first; 0: it could */
};

/* What one of a command's own options does: the last member of its row in the table, made by one of the macros below.
 * BY not NULL: that function does it, with take.to as CTX. */
struct cli_take {
	struct js_take take;
	int (*by)(struct cli *cli, void *ctx, int key, const char *arg);
};
/* clang-format off */
/* As JS_FLAG and so on (base/opt.h). */
#define CLI_FLAG(flag) &(const struct cli_take){{JS_FLAG, (flag), 0, 0, NULL}, NULL}
#define CLI_WORD(word) &(const struct cli_take){{JS_WORD, (word), 0, 0, NULL}, NULL}
#define CLI_NAME(word) &(const struct cli_take){{JS_NAME, (word), 0, 0, NULL}, NULL}
#define CLI_WORD_ONCE(word) &(const struct cli_take){{JS_ONCE, (word), 0, 0, NULL}, NULL}
#define CLI_NUMBER(number, min, max, words) &(const struct cli_take){{JS_NUMBER, (number), (min), (max), (words)}, NULL}
#define CLI_TIME(us, min_us, words) &(const struct cli_take){{JS_TIME, (us), (min_us), 0, (words)}, NULL}
#define CLI_SIZE(bytes, min, words) &(const struct cli_take){{JS_SIZE, (bytes), (min), INT64_MAX, (words)}, NULL}
#define CLI_CHOICE(place, words) &(const struct cli_take){{JS_CHOICE, (place), 0, 0, (words)}, NULL}
/* Calls a function with CTX; it returns 0, or the exit status, with the reason printed. */
#define CLI_BY(function, ctx) &(const struct cli_take){{JS_WORD, (ctx), 0, 0, NULL}, (function)}
/* clang-format on */

/* A command: its options, and what it does.  cli_main reads the options, calls CHECK (may be NULL; it returns 0, or the
 * exit status after printing why), connects with PATIENCE_US, and ends with the exit status that RUN returns.  If only
 * the database knows whether the first word is the stack, CHECK comes after the connection. */
enum {
	CLI_CATCHES = 1, /* cli_stop is set by signals; else they end the process */
	CLI_DIES = 2,	 /* the same, and in the end the process dies by the signal that came */
	CLI_OFFLINE = 4, /* RUN connects itself, if at all */
	CLI_NAMED = 32,	 /* the stack may not be "@", the newest one: what is lost must be named */
	CLI_LOOKS = 64,	 /* where no stack is named and none is called "default", it looks at the newest of this user */
	CLI_CHANGES = 128, /* the same, but it changes the only one, and refuses if there are several */
	CLI_EACH = 16	   /* RUN is called for each stack, and the highest exit status counts */
};
struct cli_frame {
	const struct js_opts *opts;
	const char *too_many; /* as for cli_parse */
	unsigned flags;
	int64_t patience_us;
	int (*check)(struct cli *cli);
	int (*run)(struct cli *cli);
};
int cli_main(const struct cli_frame *frame, int argc, char **argv);

/* Starts a call: sets the defaults from the environment, and reads the options; cli->words are what stands behind them.
 * If the usage begins with "STACK" or "[STACK]", the first word is the stack, unless it is an entry
 * (cli_doubtful_word); with "[STACK...]", all words are, and -s may be repeated.  TOO_MANY not NULL: other words are
 * refused, with that as the remedy ("name a stack with -s", or ""). Returns CLI_GO_ON; or the exit status of a command
 * that must end now (help was printed, or what is wrong). */
int cli_parse(struct cli *cli, const struct js_opts *opts, int argc, char *argv[], const char *too_many);

/* Reads the options alone, after cli_parse: of N words behind ARGV[0], which may be another command line.  0, or the
 * exit status, with the reason printed. */
int cli_parse_more(struct cli *cli, int n, char *argv[]);

/* Appends to LINE the option KEY with its value ARG, as one word: --NAME=VALUE. */
void cli_pass(struct cli_words *line, const struct cli *cli, int key, const char *arg);

/* Does what cli_parse does with one option.  Returns 0, or the exit status, with the reason printed. */
int cli_take(struct cli *cli, const struct cli_take *take, int key, const char *arg);

/* The row of the command's table with KEY, which is there. */
#define cli_option(cli, key) js_opt_row((cli)->opts, (key))

/* Connects, and finds the stack that "@" means.  Returns 0, or the exit status, with the reason printed.  PATIENCE_US
 * as in jobstack_options. */
int cli_connect(struct cli *cli, int64_t patience_us);

/* What a word of the command line names.  The first word of a command whose usage begins with "[STACK]" and has "ENTRY"
 * is the stack if one has that name, and none was typed with -s; cli_connect finds that out, and takes it from
 * cli->words.  cli_doubtful_word returns it until then, and while it is no stack; else NULL.  cli_is_entry returns
 * whether WORD is never taken for a stack: a number, what has a /, in a usage with "KEY=VALUE" what has a =. */
const char *cli_doubtful_word(const struct cli *cli);
int cli_is_entry(const struct cli *cli, const char *word);

/* For commands whose words are never stacks: refuses the first of N words that is the name of a stack and of no file,
 * unless -s was typed, and prints the line to type.  0, or CLI_USAGE. */
#define CLI_DOUBT_WORDS                                                                                                \
	8 /* each costs a call into a file system that may be slow; a mistake mostly shows in the first */
int cli_refuse_stack(struct cli *cli, char *const *words, size_t n);

/* Finds the entry that WORD names: its number or, if there is no entry with that, its datapath, or the end of its
 * datapath behind a slash, if only one has it.  Returns 0, JOBSTACK_NOTHING, or a JOBSTACK_E code with cli->error
 * filled.  cli_entry also has an error for what is not there: EMISSING. */
int cli_find_entry(struct cli *cli, const char *word, uint64_t *entry);
int cli_entry(struct cli *cli, const char *word, uint64_t *entry);

/* Returns what was perhaps meant, if the error in cli->error is that no stack or entry has a name: a remedy in a static
 * buffer; else NULL. */
const char *cli_near(const struct cli *cli);

/* Reads the numbers of cli->stack: 0, or a JOBSTACK_E code with cli->error filled. */
int cli_read_status(struct cli *cli, struct jobstack_status *status);

/* Return the option file to use (base/home.h), in a static buffer, NULL if there is none; and the one that `jobstack
 * server` writes. */
const char *cli_option_file(const struct cli *cli);
const char *cli_server_file(void);

/* Prints "jobstack CMD: WHAT: REMEDY" on standard error and returns the exit status of the error in cli->error. */
int cli_fail(struct cli *cli);

/* Returns what to do about the error in cli->error, or NULL. */
const char *cli_remedy(const struct cli *cli);

/* Print a line on standard error, as show_safe_words makes it; cli_say does not if quiet, cli_usage is CLI_USAGE. */
void cli_message(const struct cli *cli, const char *end, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define cli_tell(cli, ...) cli_message(cli, "\n", __VA_ARGS__)
#define cli_say(cli, ...) cli_message(cli, NULL, __VA_ARGS__)
#define cli_usage(cli, ...) (cli_message(cli, ": see --help\n", __VA_ARGS__), CLI_USAGE)

/* For commands that delete data, give up work or undo it, unless each entry is named: says what will be done, and asks.
 * Returns 0 to do it, or CLI_NO.  It asks only on a terminal and without --yes; else it returns 0 and prints nothing.
 * cli_asks returns whether it would ask: only then what the question says need be counted before. */
#define cli_confirm(cli, ...) (cli_asks(cli) ? cli_message(cli, "? [y/N] ", __VA_ARGS__), cli_answer(cli) : 0)
int cli_asks(const struct cli *cli);
int cli_answer(const struct cli *cli);

/* Prints OBJECT (NULL: there was no memory for it) on a line of standard output, and frees it: CLI_YES, or CLI_BUG. */
int cli_print_json(json_t *object);

/* The same for an object with these members (show/json.h). */
#define CLI_PRINT(...) cli_print_json(SHOW_OBJECT(__VA_ARGS__))

/* Writes TEXT to standard output, or flushes that if TEXT is NULL.  Returns 0, or -1 if that failed, now or before;
 * cli_end reports it. */
int cli_write(struct cli *cli, const struct js_buf *text);

/* Does what cli_fail does, for memory that ran out. */
int cli_no_memory(struct cli *cli);

/* Closes the connection and flushes standard output; STATUS, or CLI_BUG if the output could not be written. */
int cli_end(struct cli *cli, int status);

/* Lets SIGINT, SIGTERM and SIGHUP set cli_stop, to the number of the signal.  One that was ignored when the
 * tool was started (nohup, a shell's `&`) stays ignored. */
void cli_catch_signals(void);

/* Ends the process by the signal that came, so that a shell loop around it ends too; returns if none came. */
void cli_die_by_signal(void);

/* A line on standard error that is written over again and again; nothing at all where that is no terminal, or with -q.
 * Start it as {0} and cli. */
struct cli_progress {
	const struct cli *cli;
	int64_t next_us;
	int begun, on;
	struct show_picture line;
};

/* Returns whether it is time for a new line: at most eight a second, and none in the first half second. */
int cli_progress_due(struct cli_progress *progress);

/* Shows the line, if it is time. */
void cli_progress(struct cli_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Erases the line, before anything else is printed. */
void cli_progress_end(struct cli_progress *progress);

/* Returns the directory of the schema's .sql files. */
const char *cli_schema_dir(void);

/* The program that `jobstack server` becomes, and where the archive of a database server is unpacked; both as seen from
 * the directory of this program. */
#define CLI_SERVER_PROGRAM "jobstack-server"
#define CLI_SERVER_ARCHIVE "../libexec/jobstack-server"

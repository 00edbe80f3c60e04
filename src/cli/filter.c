/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The options that choose entries.  Promise: what no entry can be is refused here, with words, and not answered with
 * "none".
 */
#include "cli/filter.h"

#include "base/glob.h"
#include "base/num.h"
#include "cli/item.h"
#include "insight/facts.h"
#include "run/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "3" or "3-7". */
static int take_exit(struct cli *cli, struct cli_filter *f, const char *word)
{
	const char *dash = strchr(word, '-');
	struct jobstack_range range;
	uint64_t low, high;
	char first[8] = "";

	if (dash != NULL && (size_t)(dash - word) < sizeof(first))
		memcpy(first, word, (size_t)(dash - word));
	if (js_num_u64(dash == NULL ? word : first, 0, 255, &low) != 0 ||
	    js_num_u64(dash == NULL ? word : dash + 1, low, 255, &high) != 0)
		return cli_usage(cli, "--exit takes exit codes from 0 to 255 or ranges of them (1,3-7), not \"%s\"",
				 word);
	range = (struct jobstack_range){(int32_t)low, (int32_t)high};
	js_buf_add(&f->exits, &range, sizeof(range));
	return 0;
}

static const struct {
	const char *name;
	int number;
} signals[] = {{"HUP", SIGHUP},	  {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"ILL", SIGILL},   {"TRAP", SIGTRAP},
	       {"ABRT", SIGABRT}, {"BUS", SIGBUS},     {"FPE", SIGFPE},	  {"KILL", SIGKILL}, {"USR1", SIGUSR1},
	       {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},   {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
	       {"CHLD", SIGCHLD}, {"CONT", SIGCONT},   {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
	       {"TTOU", SIGTTOU}, {"URG", SIGURG},     {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM},
	       {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},	  {"PWR", SIGPWR},   {"SYS", SIGSYS}};

/* "KILL", "SIGKILL", "kill" or "9". */
static int take_signal(struct cli *cli, struct cli_filter *f, const char *word)
{
	const char *name = strncasecmp(word, "SIG", 3) == 0 ? word + 3 : word;
	int32_t number = 0;
	uint64_t n;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcasecmp(name, signals[i].name) == 0)
			number = signals[i].number;
	if (number == 0 && js_num_u64(word, 1, 64, &n) == 0)
		number = (int32_t)n;
	if (number == 0)
		return cli_usage(cli, "--signal takes names or numbers of signals (KILL, SIGSEGV, 9), not \"%s\"",
				 word);
	js_buf_add(&f->signals, &number, sizeof(number));
	return 0;
}

static int take_node(struct cli *cli, struct cli_filter *f, const char *word)
{
	char *name;

	if (*word == '\0' || strpbrk(word, "[]*? \t") != NULL)
		return cli_usage(cli, "--node takes names of nodes separated by commas (n1,n2), not \"%s\"", word);
	name = strdup(word);
	if (name == NULL)
		return cli_no_memory(cli);
	js_buf_add(&f->nodes, &name, sizeof(name));
	return 0;
}

/* Hands each of the words between commas to TAKE. */
static int take_each(struct cli *cli, struct cli_filter *f, const char *arg,
		     int (*take)(struct cli *, struct cli_filter *, const char *))
{
	int status = 0, last = 0;

	while (status == 0 && !last) {
		size_t len = strcspn(arg, ",");
		char *word = strndup(arg, len);

		if (word == NULL)
			return cli_no_memory(cli);
		status = take(cli, f, word);
		free(word);
		last = arg[len] == '\0';
		arg += len + 1;
	}
	return status;
}

static int take_age(struct cli *cli, const char *option, const char *arg, int64_t *us)
{
	if (js_num_duration(arg, us) == 0 && *us > 0)
		return 0;
	return cli_usage(cli, "--%s takes a time like 90s, 15m, 2h or 7d, at most 366d, not \"%s\"", option, arg);
}

int cli_filter_take(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct cli_filter *f = ctx;
	const char *why;

	f->given = 1;
	switch (key) {
	case CLI_MATCH:
		why = js_glob_fault(arg, strlen(arg));
		if (why != NULL)
			return cli_usage(cli, "--match: \"%s\" is an invalid glob: %s", arg, why);
		f->f.match = arg;
		return 0;
	case CLI_EXIT: return take_each(cli, f, arg, take_exit);
	case CLI_SIGNAL: return take_each(cli, f, arg, take_signal);
	case CLI_NODE: return take_each(cli, f, arg, take_node);
	case CLI_REASON:
		f->f.reason = arg;
		return *arg != '\0' ? 0 : cli_usage(cli, "--reason takes a part of a reason, not an empty string");
	case CLI_PROGRAM:
		f->program = arg;
		return *arg != '\0' && strspn(arg, "0123456789abcdef") == strlen(arg)
			       ? 0
			       : cli_usage(cli,
					   "--program takes the first digits of a version that `jobstack list -o "
					   "program` prints, not \"%s\"",
					   arg);
	case CLI_PROGRAM_CHANGED: f->changed = 1; return 0;
	case CLI_OLDER: return take_age(cli, "older-than", arg, &f->f.older_us);
	default: return take_age(cli, "newer-than", arg, &f->f.newer_us);
	}
}

/* Gives the filter its lists. */
static int point_lists(struct cli *cli, struct cli_filter *f)
{
	f->f.exit_codes = (const struct jobstack_range *)(const void *)f->exits.data;
	f->f.exit_codes_n = f->exits.len / sizeof(*f->f.exit_codes);
	f->f.signals = (const int32_t *)(const void *)f->signals.data;
	f->f.signals_n = f->signals.len / sizeof(*f->f.signals);
	f->f.nodes = (const char *const *)(const void *)f->nodes.data;
	f->f.nodes_n = f->nodes.len / sizeof(*f->f.nodes);
	return f->exits.failed || f->signals.failed || f->nodes.failed ? cli_no_memory(cli) : 0;
}

int cli_filter_end(struct cli *cli, struct cli_filter *f)
{
	const char *ended = f->exits.len > 0	  ? "--exit"
			    : f->signals.len > 0  ? "--signal"
			    : f->f.reason != NULL ? "--reason"
			    : f->f.older_us > 0	  ? "--older-than"
			    : f->f.newer_us > 0	  ? "--newer-than"
			    : f->program != NULL  ? "--program"
			    : f->changed	  ? "--program-changed"
						  : NULL;
	unsigned states = f->f.states;

	if (f->exits.len > 0 && f->signals.len > 0)
		return cli_usage(
			cli,
			"--exit and --signal can't be used together: an attempt ends with an exit code or by a signal");
	if (f->f.older_us > 0 && f->f.newer_us > 0 && f->f.older_us >= f->f.newer_us)
		return cli_usage(cli, "--older-than must be shorter than --newer-than, or nothing can match both");
	if (ended != NULL && states != 0 && (states & ~(JOBSTACK_IS_RUNNING | JOBSTACK_IS_HELD)) == 0)
		return cli_usage(
			cli, "%s selects by how the last attempt ended, but %s entries have no attempt that has ended",
			ended, (states & JOBSTACK_IS_RUNNING) != 0 ? "running" : "held");
	if (f->exits.len + f->signals.len > 0 && states == JOBSTACK_IS_LOST)
		return cli_usage(cli, "%s can't be used with -t lost: a lost attempt has no exit status", ended);
	if (f->nodes.len > 0 && states == JOBSTACK_IS_HELD)
		return cli_usage(cli, "--node can't be used with -t held: held entries have no attempts yet");
	return point_lists(cli, f);
}

/* The versions of the program that were asked for. */
static int find_programs(struct cli *cli, struct cli_filter *f)
{
	static const int64_t none = -1;
	struct insight_facts facts = {.n = 0};
	int status = insight_facts_read(&facts, cli->handle, cli->stack, &cli->error);

	for (size_t i = 0; status == 0 && i < facts.n; i++) {
		const struct jobstack_stack_fact *v = &facts.at[i].f;
		struct js_buf elsewhere = {0};
		char digits[17];

		(void)snprintf(digits, sizeof(digits), VIEW_FACT_FORMAT, (uint64_t)v->number);
		if (v->kind == JOBSTACK_FACT_PROGRAM &&
		    (f->program == NULL || strncmp(digits, f->program, strlen(f->program)) == 0) &&
		    (!f->changed || js_program_today(v->text, &elsewhere) != v->number) && elsewhere.len == 0)
			js_buf_add(&f->programs, &v->number, sizeof(v->number));
		if (elsewhere.len > 0)
			cli_tell(cli,
				 "left out version %s, because git runs only in the current directory, if it is yours: "
				 "repeat this in %s",
				 digits, elsewhere.data);
		js_buf_free(&elsewhere);
	}
	insight_facts_free(&facts);
	if (status == 0 && f->programs.failed)
		status = js_error_memory(&cli->error);
	f->f.programs_n = f->programs.len / sizeof(none);
	f->f.programs = f->programs.len > 0 ? (const int64_t *)(const void *)f->programs.data : &none;
	return status;
}

int cli_filter_entries(struct cli *cli, struct cli_filter *f, uint64_t *missing)
{
	int status = cli->words_n > 0 ? cli_entries(cli, &f->entries, &f->f.entries_n, missing) : 0;

	if (f->program != NULL || f->changed)
		JS_THEN(status, find_programs(cli, f));

	f->f.entries = f->f.entries_n > 0 ? f->entries : NULL;
	return status;
}

void cli_filter_free(struct cli_filter *f)
{
	char **names = (char **)(void *)f->nodes.data;

	for (size_t i = 0; i < f->nodes.len / sizeof(*names); i++)
		free(names[i]);
	js_buf_free(&f->exits);
	js_buf_free(&f->signals);
	js_buf_free(&f->nodes);
	js_buf_free(&f->programs);
	free(f->entries);
}

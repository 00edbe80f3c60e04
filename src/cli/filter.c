/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choosing entries.  Promise: what no entry can be is refused here, with words, and not answered with "none".
 */
#include "cli/filter.h"

#include "base/glob.h"
#include "base/num.h"
#include "cli/item.h"
#include "figures/facts.h"
#include "exec/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Reads "3" or "3-7". */
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

/* Reads "KILL", "SIGKILL", "kill" or "9". */
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

/* Slurm's n[1-3] and globs are refused, since as names they would match nothing. */
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

int cli_filter_take(struct cli *cli, void *ctx, int key, const char *arg)
{
	struct cli_filter *f = ctx;

	if (key == 't') {
		f->states_arg = arg;
		return cli_states(cli, arg, &f->f.states);
	}
	return take_each(cli, f, arg, key == CLI_EXIT ? take_exit : key == CLI_SIGNAL ? take_signal : take_node);
}

/* Returns whether the filter asks how the last attempt ended. */
static int asks_for_end(const struct cli_filter *f)
{
	return f->exits.len + f->signals.len > 0 || f->f.reason != NULL || f->f.older_us + f->f.newer_us > 0 ||
	       f->program != NULL || f->changed;
}

int cli_filter_given(const struct cli_filter *f)
{
	return asks_for_end(f) || f->f.match != NULL || f->nodes.len > 0;
}

/* Refuses invalid values.  0, or CLI_USAGE. */
static int check_values(struct cli *cli, const struct cli_filter *f)
{
	const char *why = f->f.match != NULL ? js_glob_fault(f->f.match, strlen(f->f.match)) : NULL;

	if (why != NULL)
		return cli_usage(cli, "--match: \"%s\" is an invalid glob: %s", f->f.match, why);
	if (f->program != NULL && (*f->program == '\0' || strspn(f->program, "0123456789abcdef") != strlen(f->program)))
		return cli_usage(cli,
				 "--program takes the first digits of a version that `jobstack list -o program` "
				 "prints, not \"%s\"",
				 f->program);
	return 0;
}

/* The lists were gathered in buffers, whose memory may have moved with each word, so the pointers to them are set here.
 */
int cli_filter_end(struct cli *cli, struct cli_filter *f)
{
	const unsigned states = f->f.states;

	JS_TRY(check_values(cli, f));
	if (f->exits.len > 0 && f->signals.len > 0)
		return cli_usage(
			cli,
			"--exit and --signal can't be used together: an attempt ends with an exit code or by a signal");
	if (f->f.older_us > 0 && f->f.newer_us > 0 && f->f.older_us >= f->f.newer_us)
		return cli_usage(cli, "--older-than must be shorter than --newer-than, or nothing can match both");
	if (asks_for_end(f) && states != 0 && (states & ~(JOBSTACK_IS_RUNNING | JOBSTACK_IS_HELD)) == 0)
		return cli_usage(
			cli,
			"these options select by how the last attempt ended, but %s entries have no attempt that "
			"has ended",
			(states & JOBSTACK_IS_RUNNING) != 0 ? "running" : "held");
	if (f->exits.len + f->signals.len > 0 && states == JOBSTACK_IS_LOST)
		return cli_usage(cli, "--%s can't be used with -t lost: a lost attempt has no exit status",
				 f->exits.len > 0 ? "exit" : "signal");
	if (f->nodes.len > 0 && states == JOBSTACK_IS_HELD)
		return cli_usage(cli, "--node can't be used with -t held: held entries have no attempts yet");
	f->f.exit_codes = (const struct jobstack_range *)(const void *)f->exits.data;
	f->f.exit_codes_n = f->exits.len / sizeof(*f->f.exit_codes);
	f->f.signals = (const int32_t *)(const void *)f->signals.data;
	f->f.signals_n = f->signals.len / sizeof(*f->f.signals);
	f->f.nodes = (const char *const *)(const void *)f->nodes.data;
	f->f.nodes_n = f->nodes.len / sizeof(*f->f.nodes);
	return f->exits.failed || f->signals.failed || f->nodes.failed ? cli_no_memory(cli) : 0;
}

/* Finds the versions of the program that --program and --program-changed ask for.  If there are none, no entry may
 * match: a list that is there (not NULL) with no number in it says that. */
static int find_programs(struct cli *cli, struct cli_filter *f)
{
	static const int64_t none = -1;
	struct figures_facts facts = {.n = 0};
	int status = figures_facts_read(&facts, cli->handle, cli->stack, &cli->error);

	for (size_t i = 0; status == 0 && i < facts.n; i++) {
		const struct jobstack_stack_fact *v = &facts.at[i].f;
		struct js_buf elsewhere = {0};
		char digits[17];

		(void)snprintf(digits, sizeof(digits), SHOW_FACT_FORMAT, (uint64_t)v->number);
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
	figures_facts_free(&facts);
	if (status == 0 && f->programs.failed)
		status = js_error_memory(&cli->error);
	f->f.programs_n = f->programs.len / sizeof(none);
	f->f.programs = f->programs.len > 0 ? (const int64_t *)(const void *)f->programs.data : &none;
	return status;
}

/* Reports a word that names no entry, and returns 0; any other error is returned. */
static int report_missing(struct cli *cli, struct cli_filter *f, int status)
{
	const char *what;

	if (status != JOBSTACK_EMISSING || cli->error.server_errno != JOBSTACK_WHY_NO_ENTRY)
		return status;
	what = cli_remedy(cli);
	cli_tell(cli, "%s%s%s", cli->error.text, what == NULL ? "" : ": ", what == NULL ? "" : what);
	js_error_clear(&cli->error);
	f->missing++;
	return 0;
}

/* The library wants the numbers in order, each once. */
int cli_filter_entries(struct cli *cli, struct cli_filter *f, int some)
{
	struct cli_numbers named = {0};
	size_t once = 0;
	uint64_t entry;
	int status;

	for (size_t i = 0; i < cli->words_n; i++) {
		status = cli_entry(cli, cli->words[i], &entry);
		if (status == 0 && cli_numbers_add(&named, entry) != 0)
			status = js_error_memory(&cli->error);
		if (status != 0 && (!some || report_missing(cli, f, status) != 0)) {
			free(named.at);
			return status;
		}
	}
	if (named.n > 0)
		qsort(named.at, named.n, sizeof(*named.at), js_num_order);
	for (size_t i = 0; i < named.n; i++)
		if (once == 0 || named.at[once - 1] != named.at[i])
			named.at[once++] = named.at[i];
	f->f.entries = named.at;
	f->f.entries_n = once;
	return f->program != NULL || f->changed ? find_programs(cli, f) : 0;
}

int cli_filter_names(const struct cli_filter *f)
{
	return f->f.entries_n > 0 || f->missing > 0;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack --spec: all option tables for a program to read.  The build makes the manual pages and the completions from
 * it (cmake/Documents.cmake), so they always have the options that --help has.  The help does not list it, because
 * users do not need it.
 *
 * For each command it prints "command NAME DOES" and what js_opt_spec prints; jobstack-worker is the last one.  main.c
 * prints "group HEADING" before the commands of a group.  The tables of server and submit are private, so these are
 * called, and cli_parse ends the call after printing the table.
 */
#include "cli/spec.h"

#include "cli/cli.h"
#include "run/worker_options.h"

#include <stdio.h>
#include <string.h>

#define VERB_LETTERS "abcdefghijklmnopqrstuvwxyz-"

static const struct js_opts *first_table, *last_table; /* that the present command has printed; NULL: none yet */

static int print_table(const struct js_opts *opts)
{
	struct js_buf text = {0};
	int status;

	js_opt_spec(opts, &text);
	status = text.data != NULL && fputs(text.data, stdout) >= 0 ? CLI_YES : CLI_BUG;
	js_buf_free(&text);
	return status;
}

/* Prints OPTS, unless that was printed last or first: the verbs of a command may share a table. */
static int tell_table(const struct js_opts *opts)
{
	if (opts == last_table || opts == first_table)
		return CLI_YES;
	last_table = opts;
	if (first_table == NULL)
		first_table = opts;
	return print_table(opts);
}

int cli_spec_command(const char *name, const char *does, const struct cli_frame *frame)
{
	char command[32], verb[32], *argv[] = {command, NULL, NULL};
	const char *at;
	int status;

	(void)printf("command\t%s\t%s\n", name, does);
	if ((frame->flags & CLI_SORTS) == 0)
		return print_table(frame->opts);
	cli_read_tables(tell_table);
	(void)snprintf(command, sizeof(command), "%s", name);
	first_table = last_table = NULL;
	status = cli_main(frame, 1, argv);
	/* verbs, as in "start|stop|status [OPTION...]", may have tables of their own */
	at = first_table != NULL ? first_table->usage : "";
	if (at[strspn(at, VERB_LETTERS)] != '|')
		return status;
	for (size_t n; status == CLI_YES && (n = strspn(at, VERB_LETTERS)) > 0; at += n + (at[n] == '|')) {
		(void)snprintf(verb, sizeof(verb), "%.*s", (int)n, at);
		argv[1] = verb;
		status = cli_main(frame, 2, argv);
	}
	return status;
}

int cli_spec_worker(void)
{
	(void)printf("command\tjobstack-worker\trun a command on each entry of a stack\n");
	return print_table(&js_worker_opts) == CLI_YES && fflush(stdout) == 0 ? CLI_YES : CLI_BUG;
}

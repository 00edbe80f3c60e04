/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker as a program that a command starts.  Promise: what it refuses is refused before a name is pushed for
 * it, or a job submitted; only the worker knows its options and templates.
 */
#include "cli/worker.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define TRY_LIMIT_US (30 * JS_SECOND_US)
#define LIST_LIMIT_US (600 * JS_SECOND_US) /* to look through the names as well */

/* Appends "--stack=NAME --defaults-file=FILE".  Without a file there is no second word, and the program looks for one
 * by itself, as we did. */
static void add_stack_and_file(struct cli_words *line, const struct cli *cli, const char *option_file)
{
	cli_words_format(line, "--stack=%s", cli->stack);
	if (option_file != NULL && *option_file != '\0')
		cli_words_format(line, "--defaults-file=%s", option_file);
}

void cli_own_line(struct cli_words *line, const struct cli *cli, const char *words, const char *option_file)
{
	cli_words_format(line, "%s/jobstack", js_child_program_dir());
	(void)cli_words_split(line, words);
	add_stack_and_file(line, cli, option_file);
}

void cli_worker_line(struct cli_words *line, const struct cli *cli, const char *first, const char *option_file,
		     const struct cli_words *options, char *const command[])
{
	cli_words_format(line, "%s/jobstack-worker", js_child_program_dir());
	if (first != NULL)
		cli_words_add(line, first);
	add_stack_and_file(line, cli, option_file);
	cli_words_all(line, options);
	cli_words_add(line, "--");
	for (; command != NULL && *command != NULL; command++)
		cli_words_add(line, *command);
}

/* A file name with {} or {#} in it differs for each entry, and so does one with both {/} and {//} (1).  Any other may
 * be the same for two entries (2).  With -I or --colsep placeholders are written otherwise, so then even a name that
 * seems to differ must be looked at. */
int cli_worker_may_clash(const struct cli_words *options)
{
	int may = 0, own_syntax = 0; /* with -I or --colsep only the worker knows */

	for (size_t i = 0; i < options->n; i++) {
		const char *word = options->at[i];
		int separates = strstr(word, "{}") != NULL || strstr(word, "{#}") != NULL ||
				(strstr(word, "{/}") != NULL && strstr(word, "{//}") != NULL);

		own_syntax |= strncmp(word, "--replace=", 10) == 0 || strncmp(word, "--colsep=", 9) == 0;
		if ((strncmp(word, "--output=", 9) == 0 && strcmp(word, "--output=-") != 0) ||
		    strncmp(word, "--error=", 8) == 0 || strncmp(word, "--creates=", 10) == 0)
			may |= separates ? 1 : 2;
	}
	return may > 1 || (may && own_syntax);
}

/* Only status 2 counts, by which the worker refuses its command line.  It may also find the database away, but that is
 * no reason not to submit: the job may begin hours later. */
int cli_worker_try(struct cli *cli, const char *option_file, const struct cli_words *options, char *const command[],
		   const char *undone)
{
	struct cli_words line = {0};
	struct js_buf out = {0}, said = {0};
	const struct cli_command try = {.words = &line,
					.out = &out,
					.err = &said,
					.limit_us = cli_worker_may_clash(options) ? LIST_LIMIT_US : TRY_LIMIT_US};
	int status;

	/* the stack may not exist yet: a push will create it */
	cli_worker_line(&line, cli, "--new-stack", option_file, options, command);
	status = cli_command(&try, &cli->error);
	if (status == CLI_USAGE) { /* in its own words */
		(void)fprintf(stderr, "%s", said.data != NULL ? said.data : "");
		cli_say(cli, "%s (see above)", undone);
	} else if (status < 0)
		status = cli_fail(cli);
	else
		status = 0; /* what else it may say is not about how it was called */
	cli_words_free(&line);
	js_buf_free(&out);
	js_buf_free(&said);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which of the words of `jobstack run` are its command, and which are files.  Promise: where both readings are
 * possible, nothing is run: the message shows how to write each of them.
 */
#include "cli/run_words.h"

#include "proc/child.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Returns whether the words before a -- may be the beginning of a command that has a -- among its arguments, and not
 * files. */
static int is_command_before(char *const *files, const char *command)
{
	struct stat st;

	if (lstat(files[0], &st) != 0)
		return command[0] == '-' || js_child_is_in_path(files[0]);
	return command[0] == '-' || strstr(command, "{}") != NULL;
}

/* Returns whether WORD is one of GNU parallel's marks before a list of arguments: ::: and its relatives. */
static int begins_list(const char *word)
{
	return strncmp(word, ":::", 3) == 0 && word[3 + strspn(word + 3, ":+")] == '\0';
}

/* Refuses a second list behind the N words of CMD, and shows the line that runs all combinations of two. */
static int check_lists(struct cli *cli, size_t n)
{
	char **second = cli->words + n + 1, **last = cli->words + cli->words_n - 1;
	struct js_buf line = {0};
	size_t options = (size_t)(cli->words - cli->argv) - (strcmp(cli->words[-1], "--") == 0);
	int plain = cli->words[n][3] == '\0', fields;

	while (second <= last && !begins_list(*second))
		second++;
	if (second > last && plain)
		return 0;
	if (second > last && strcmp(cli->words[n], "::::") == 0)
		return cli_usage(cli, "a file of names is given with -a: `jobstack run -a FILE -- CMD {}`");
	for (char **w = cli->words; w <= last; w++)
		plain &= w == second ? (*w)[3] == '\0' : w < second ? strstr(*w, "{}") == NULL : !begins_list(*w);
	if (!plain || n == 0 || second > last)
		return cli_usage(cli, "only one list (:::) can be given: write the names to a file, one per line, with "
				      "a tab between their fields (as paste(1) does), and use -a FILE --colsep '\\t'");
	js_buf_str(&line, "for a in ");
	cli_words_quote(&line,
			&(struct cli_words){.at = cli->words + n + 1, .n = (size_t)(second - cli->words) - n - 1});
	js_buf_str(&line, "; do for b in ");
	cli_words_quote(&line, &(struct cli_words){.at = second + 1, .n = (size_t)(last - second)});
	js_buf_str(&line, "; do printf '%s\\t%s\\n' \"$a\" \"$b\"; done; done | jobstack ");
	cli_words_quote(&line, &(struct cli_words){.at = cli->argv, .n = options});
	js_buf_str(&line, " --colsep '\\t' -- ");
	cli_words_quote(&line, &(struct cli_words){.at = cli->words, .n = n});
	if (line.failed)
		return cli_no_memory(cli);
	fields = strstr(line.data, "{1") != NULL || strstr(line.data, "{2") != NULL;
	cli_tell(cli, "only one list (:::) can be given; for all combinations, type:");
	(void)fprintf(stderr, "    %s%s\n", line.data, fields ? "" : " {1} {2}");
	js_buf_free(&line);
	return CLI_USAGE;
}

/* A ::: decides; else a -- among the words, if the options were not ended by one (which is cli->words[-1] then).  The
 * command is copied, because with files before the -- it is not where the words begin. */
int cli_run_words(struct cli *cli, struct cli_input *input, struct cli_words *command)
{
	size_t n = cli->words_n, at = 0, first = 0;
	struct stat st;

	while (at < n && !begins_list(cli->words[at]))
		at++;
	if (at < n) {
		input->words = cli->words + at + 1;
		input->words_n = n - at - 1;
		JS_TRY(check_lists(cli, at));
		n = at;
	} else if (strcmp(cli->words[-1], "--") != 0) {
		for (at = 0; at < n && strcmp(cli->words[at], "--") != 0; at++)
			;
		first = at < n ? at + 1 : 0;
	}
	if (first < n && input->commands)
		return cli_usage(cli,
				 "with --commands there is no CMD: name the file of command lines with -a, as in -a %s",
				 cli->words[first]);
	if (first == n && !input->commands)
		return cli_usage(cli, "there is no command to run: jobstack run [OPTIONS] -- CMD {}");
	if (first > 0) {
		input->words = cli->words;
		input->words_n = at;
		if (at > 0 && first < n && is_command_before(cli->words, cli->words[first]))
			return cli_usage(
				cli,
				"is \"%s\" the command, or a file? Write `jobstack run [OPTIONS] -- CMD ...`, or "
				"`jobstack run [OPTIONS] CMD ... ::: FILE...`",
				cli->words[0]);
		for (size_t i = 0; i < at; i++)
			if (cli->words[i][0] == '-' && lstat(cli->words[i], &st) != 0)
				return cli_usage(cli, "options go before the files: %s", cli->words[i]);
	}
	while (first < n)
		cli_words_add(command, cli->words[first++]);
	cli->words = command->at;
	cli->words_n = command->n;
	return command->failed ? cli_no_memory(cli) : 0;
}

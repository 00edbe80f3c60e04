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
#include <unistd.h>

#define LISTS_MAX 9

/* Returns whether the words before a -- may be the beginning of a command that has a -- among its arguments, and not
 * files. */
static int is_command_before(char *const *files, const char *command)
{
	struct stat st;

	if (lstat(files[0], &st) != 0)
		return command[0] == '-' || js_child_is_in_path(files[0]);
	return command[0] == '-' || strstr(command, "{}") != NULL;
}

/* Says WHAT, and prints the line to type, which is freed. */
static int type_line(const struct cli *cli, const char *what, struct js_buf *line)
{
	cli_tell(cli, "%s, type:", what);
	(void)fprintf(stderr, "    %s\n", line->failed ? "" : line->data);
	js_buf_free(line);
	return CLI_USAGE;
}

/* Appends this call, with MORE behind its options, and then only the words from number FROM on. */
static void add_call(struct js_buf *line, const struct cli *cli, const char *more, size_t from)
{
	const size_t options = (size_t)(cli->words - cli->argv) - (strcmp(cli->words[-1], "--") == 0);

	js_buf_str(line, "jobstack ");
	cli_words_quote(line, &(struct cli_words){.at = cli->argv, .n = options});
	js_buf_str(line, more);
	cli_words_quote(line, &(struct cli_words){.at = cli->words + from, .n = cli->words_n - from});
}

/* Returns whether CMD is written for a shell: one word with blanks that is no program, or with a pipe or redirection
 * among its words. */
static int is_for_shell(const struct cli_words *command)
{
	char word[8];

	if (command->n == 1)
		return strpbrk(command->at[0], " \t") != NULL && access(command->at[0], F_OK) != 0;
	for (size_t i = 1; i < command->n && strcmp(command->at[0], "test") != 0; i++) {
		(void)snprintf(word, sizeof(word), " %.4s ", command->at[i]);
		if (strstr(" | || && > >> < 2> ", word) != NULL)
			return 1;
	}
	return 0;
}

/* Returns whether WORD is one of GNU parallel's marks before a list of arguments: ::: and its relatives. */
static int begins_list(const char *word)
{
	return strncmp(word, ":::", 3) == 0 && word[3 + strspn(word + 3, ":+")] == '\0';
}

/* The lists behind CMD: the mark of list I is the word at AT[I], and AT[N] is behind the last word.  ROWS: so many
 * words of each list belong together; 0: all combinations. */
struct lists {
	size_t n, at[LISTS_MAX + 2], rows;
};

/* Appends CMD for lines with one field per list: {} becomes {1} {2}, which stand at its end if there is no placeholder.
 */
static void add_command(struct js_buf *line, const struct cli *cli, const struct lists *l)
{
	struct js_buf words = {0};
	int placed = 0;

	cli_words_quote(&words, &(struct cli_words){.at = cli->words, .n = l->at[0]});
	for (const char *p = words.failed ? "" : words.data; *p != '\0'; p++) {
		const int whole = strncmp(p, "{}", 2) == 0;

		placed |= *p == '{' && p[1] != '\0' && strchr("}123456789#%", p[1]) != NULL;
		for (size_t i = 1; i <= l->n && whole; i++)
			js_buf_printf(line, i > 1 ? " {%zu}" : "{%zu}", i);
		if (!whole)
			js_buf_char(line, *p);
		p += whole;
	}
	for (size_t i = 1; i <= l->n && !placed; i++)
		js_buf_printf(line, " {%zu}", i);
	js_buf_free(&words);
}

/* Refuses several lists, and shows the line that does the same. */
static int refuse_lists(const struct cli *cli, const struct lists *l)
{
	const size_t loops = l->rows > 0 ? 0 : l->n;
	struct js_buf line = {0};

	for (size_t i = 0; i < loops; i++) {
		js_buf_printf(&line, "for %c in ", 'a' + (int)i);
		cli_words_quote(&line,
				&(struct cli_words){.at = cli->words + l->at[i] + 1, .n = l->at[i + 1] - l->at[i] - 1});
		js_buf_str(&line, "; do ");
	}
	for (size_t i = 0; i < l->n; i++)
		js_buf_str(&line, i > 0 ? "\\t%s" : "printf '%s");
	js_buf_str(&line, "\\n'");
	for (size_t i = 0; i < l->rows * l->n; i++) {
		const size_t *at = &l->at[i % l->n];

		js_buf_char(&line, ' ');
		cli_words_quote(&line,
				&(struct cli_words){.at = cli->words + *at + 1 + i / l->n % (at[1] - *at - 1), .n = 1});
	}
	for (size_t i = 0; i < loops; i++)
		js_buf_printf(&line, " \"$%c\"", 'a' + (int)i);
	for (size_t i = 0; i < loops; i++)
		js_buf_str(&line, "; done");
	js_buf_str(&line, " | ");
	add_call(&line, cli, " --colsep '\\t' -- ", cli->words_n);
	add_command(&line, cli, l);
	return type_line(cli,
			 loops > 0 ? "only one list (:::) can be given; for all combinations"
				   : "only one list (:::) can be given; for these pairs",
			 &line);
}

/* Looks at the lists that begin with the word number AT[0]. */
static int check_lists(struct cli *cli, struct cli_run_how *how, struct cli_input *input, struct lists *l)
{
	size_t shortest = SIZE_MAX, longest = 0, linked = 0;
	int plain = l->at[0] > 0;

	for (size_t i = l->at[0] + 1; i <= cli->words_n; i++)
		if ((i == cli->words_n || begins_list(cli->words[i])) && l->n <= LISTS_MAX)
			l->at[++l->n] = i;
	for (size_t i = 0; i < l->n; i++) {
		const size_t len = l->at[i + 1] - l->at[i] - 1;
		const char *mark = cli->words[l->at[i]];

		linked += strcmp(mark, ":::+") == 0;
		plain &= len > 0 && (mark[3] == '\0' || (strcmp(mark, ":::+") == 0 && i > 0));
		shortest = len < shortest ? len : shortest;
		longest = len > longest ? len : longest;
	}
	if (l->n == 1 && cli->words[l->at[0]][3] == '\0')
		return 0;
	if (l->n == 1 && strcmp(cli->words[l->at[0]], "::::") == 0 && cli->words_n == l->at[0] + 2 &&
	    how->file == NULL) {
		how->file = input->words[0];
		input->words = NULL;
		return 0;
	}
	if (!plain || l->n > LISTS_MAX || l->n < 2 || (linked > 0 && linked < l->n - 1))
		return cli_usage(cli, "only one list (:::) can be given: write the names to a file, one per line, with "
				      "a tab between their fields (as paste(1) does), and use -a FILE --colsep '\\t'");
	l->rows = how->link ? longest : linked > 0 ? shortest : 0;
	return refuse_lists(cli, l);
}

/* A ::: decides; else a -- among the words, if the options were not ended by one (which is cli->words[-1] then).  The
 * command is copied, because with files before the -- it is not where the words begin. */
int cli_run_words(struct cli *cli, struct cli_run_how *how, struct cli_input *input, struct cli_words *command)
{
	struct js_buf line = {0};
	size_t n = cli->words_n, at = 0, first = 0;
	struct stat st;

	while (at < n && !begins_list(cli->words[at]))
		at++;
	if (at < n) {
		input->words = cli->words + at + 1;
		input->words_n = n - at - 1;
		JS_TRY(check_lists(cli, how, input, &(struct lists){.at = {at}}));
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
	if (n == 0 && !input->commands && (input->words != NULL || !isatty(STDIN_FILENO))) {
		add_call(&line, cli, " --commands ", 0);
		return type_line(cli, "there is no command to run: if each line is a command", &line);
	}
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
	if (!how->as_is && is_for_shell(command)) {
		add_call(&line, cli, strcmp(cli->words[-1], "--") == 0 ? " --shell -- " : " --shell ", 0);
		return type_line(cli, "CMD is written for a shell: to run it as a script of bash", &line);
	}
	cli->words = command->at;
	cli->words_n = command->n;
	return command->failed ? cli_no_memory(cli) : 0;
}

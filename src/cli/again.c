/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Remembered command lines, one file each in the user's own state directory.  Promises: only the user can read them; a
 * file is whole or not there; a directory that can't be written to costs only the memory.
 *
 *     DIRECTORY \0 NUMBER OF OPTIONS \0 WORD \0 WORD \0 ...
 */
#include "cli/again.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/home.h"
#include "base/num.h"
#include "cli/cli.h"
#include "view/amount.h"
#include "view/text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file: STATE/jobstack/submit-STACK, STATE/jobstack/run-HASH; "" if there is no home directory. */
static void find_file(const char *command, const char *key, char path[PATH_MAX])
{
	char name[JOBSTACK_STACK_MAX + 64], hash[20];

	(void)snprintf(hash, sizeof(hash), "%016" PRIx64, js_num_hash(JS_NUM_HASH, key, strlen(key)));
	(void)snprintf(name, sizeof(name), ".local/state/jobstack/%s-%.*s", strrchr(command, ' ') + 1,
		       JOBSTACK_STACK_MAX, key[0] == '/' ? hash : key);
	js_home_xdg(js_home_getenv, "XDG_STATE_HOME", name, path, PATH_MAX);
}

int cli_again_keep(const struct cli *cli, const char *key, char *const words[], size_t options)
{
	char path[PATH_MAX], dir[PATH_MAX];
	struct js_buf text = {0};
	int failed;

	find_file(cli->opts->command, key, path);
	if (path[0] == '\0' || getcwd(dir, sizeof(dir)) == NULL)
		return -1;
	js_buf_add(&text, dir, strlen(dir) + 1);
	js_buf_printf(&text, "%zu%c", options, '\0');
	for (; *words != NULL; words++)
		js_buf_add(&text, *words, strlen(*words) + 1);
	failed = text.failed || js_file_make_parent(path, 0700) != 0 ||
		 js_file_replace(path, 0600, text.data, text.len) != 0;
	if (failed)
		cli_say(cli, "warning: this command line is not remembered for --again: %s: %s", path, strerror(errno));
	js_buf_free(&text);
	return -failed;
}

void cli_again_forget(const char *stack)
{
	static const char *const command[] = {"jobstack run", "jobstack submit"};
	char path[PATH_MAX];

	for (int i = 0; i < 2; i++) {
		find_file(command[i], stack, path);
		(void)unlink(path);
	}
}

/* Reads such a file into TEXT, which begins with the directory.  Returns the first of the words, with the number of
 * those that are options; NULL: the file is not there, or not whole. */
static const char *read_kept(const char *path, struct js_buf *text, size_t *options)
{
	const char *at;

	if (js_file_read(path, text) != 0 || text->len == 0 || text->data[text->len - 1] != '\0')
		return NULL;
	at = text->data + strlen(text->data) + 1;
	if (at == text->data + text->len)
		return NULL;
	*options = strtoul(at, NULL, 10);
	return at + strlen(at) + 1;
}

static int has_word(const struct cli_words *line, const char *word)
{
	for (size_t i = 0; i < line->n; i++)
		if (strcmp(line->at[i], word) == 0)
			return 1;
	return 0;
}

/* -s NAME is not given twice. */
static void add_more(char *const *more, struct cli_words *line)
{
	for (; *more != NULL; more++)
		if (strcmp(*more, "-s") == 0 && more[1] != NULL && has_word(line, "-s"))
			more++;
		else if (strcmp(*more, "--again") != 0 && strcmp(*more, "--") != 0)
			cli_words_add(line, *more);
}

/* Appends "jobstack COMMAND ..." as it could be typed, but of many files that are named only the first.  FIRST: the
 * word behind the options. */
static void show_line(const struct cli_words *line, size_t first, struct js_buf *out)
{
	struct cli_words shown = {0};
	size_t i = 0, command = first;

	while (command < line->n && strcmp(line->at[command], "--") != 0)
		command++;
	cli_words_add(&shown, "jobstack");
	if (command < line->n && command > first + 3) { /* FILE... -- CMD */
		while (i <= first)
			cli_words_add(&shown, line->at[i++]);
		i = command;
		cli_words_quote(out, &shown);
		js_buf_printf(out, " ... (%zu names) ", command - first);
		cli_words_free(&shown);
		shown = (struct cli_words){0};
	}
	for (; i < line->n && strcmp(line->at[i], ":::") != 0; i++)
		cli_words_add(&shown, line->at[i]);
	cli_words_quote(out, &shown);
	if (i < line->n)
		js_buf_str(out, " ::: ...");
	cli_words_free(&shown);
}

int cli_again_line(struct cli *cli, const char *key, char *const more[], struct cli_words *line)
{
	const char *name = strrchr(cli->opts->command, ' ') + 1, *at;
	struct js_buf text = {0}, shown = {0};
	char path[PATH_MAX];
	size_t options = 0, first = 0;
	int status = CLI_USAGE;

	find_file(cli->opts->command, key, path);
	at = read_kept(path, &text, &options);
	if (at == NULL)
		cli_tell(cli,
			 "there is no earlier `%s` %s %s to repeat%s%s: give the whole command line once; `jobstack "
			 "status` lists the stacks, `jobstack %s` with the name of one repeats its line",
			 cli->opts->command, key[0] == '/' ? "in" : "of the stack", key, errno == ENOENT ? "" : ": ",
			 errno == ENOENT ? "" : strerror(errno),
			 strcmp(name, "run") == 0 ? "run -s" : "submit --again");
	else if (chdir(text.data) != 0)
		cli_tell(cli, "can't change to %s, from where this was called: %s", text.data, strerror(errno));
	else {
		cli_words_add(line, name);
		for (; at < text.data + text.len; at += strlen(at) + 1) {
			if (line->n == options + 1) {
				add_more(more, line);
				first = line->n;
			}
			cli_words_add(line, at);
		}
		show_line(line, first, &shown);
		cli_say(cli, "repeating, in %s: %s", text.data, shown.failed ? name : shown.data);
		status = line->failed || shown.failed ? cli_no_memory(cli) : 0;
	}
	js_buf_free(&shown);
	js_buf_free(&text);
	return status;
}

int cli_again_next(const char *stack, struct js_buf *next, struct js_buf *last)
{
	static const char *const command[] = {"jobstack run", "jobstack submit"};
	char path[PATH_MAX], newest[PATH_MAX];
	struct js_buf text = {0};
	struct cli_words line = {0};
	struct stat st;
	time_t when = 0;
	size_t options = 0;
	int which = -1;

	for (int i = 0; i < 2; i++) {
		find_file(command[i], stack, path);
		if (path[0] == '\0' || stat(path, &st) != 0 || st.st_mtime <= when)
			continue;
		when = st.st_mtime;
		which = i;
		(void)snprintf(newest, sizeof(newest), "%s", path);
	}
	if (which >= 0)
		js_buf_printf(next, which == 0 ? "`jobstack run -s %s`" : "`jobstack submit %s --again`", stack);
	if (which >= 0 && last != NULL) {
		const char *at = read_kept(newest, &text, &options);

		cli_words_add(&line, strrchr(command[which], ' ') + 1);
		if (which == 1) /* run keeps it with its options */
			cli_words_format(&line, "--stack=%s", stack);
		for (; at != NULL && at < text.data + text.len; at += strlen(at) + 1)
			cli_words_add(&line, at);
		js_buf_printf(last, "%s ago in ", view_duration(js_clock_wall_us() - when * JS_SECOND_US).text);
		view_safe(last, at != NULL ? text.data : "?", at != NULL ? strlen(text.data) : 1);
		js_buf_str(last, ": ");
		show_line(&line, options + 1 + (size_t)which, last);
	}
	cli_words_free(&line);
	js_buf_free(&text);
	return which >= 0;
}

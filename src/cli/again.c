/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Remembered command lines, one file each in the user's own state directory.  Promises: only the user can read them; a
 * file is whole or not there; a directory that can't be written to costs only the memory.
 *
 *     DIRECTORY \0 NUMBER OF OPTIONS \0 WORD \0 WORD \0 ...
 */
#include "cli/again.h"

#include "base/file.h"
#include "base/home.h"
#include "base/num.h"
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file: STATE/jobstack/submit-STACK, STATE/jobstack/run-HASH; "" if there is no home directory. */
static void find_file(const char *command, const char *key, char path[PATH_MAX])
{
	char name[JOBSTACK_STACK_MAX + 64], hash[20];

	(void)snprintf(hash, sizeof(hash), "%016" PRIx64, js_num_hash(JS_NUM_HASH, key, strlen(key)));
	(void)snprintf(name, sizeof(name), ".local/state/jobstack/%s-%.*s", strrchr(command, ' ') + 1,
		       JOBSTACK_STACK_MAX, key[0] == '/' ? hash : key);
	js_home_xdg(cli_get, "XDG_STATE_HOME", name, path, PATH_MAX);
}

void cli_again_keep(const struct cli *cli, const char *key, char *const words[], size_t options)
{
	char path[PATH_MAX], dir[PATH_MAX];
	struct js_buf text = {0};

	find_file(cli->opts->command, key, path);
	if (path[0] == '\0' || getcwd(dir, sizeof(dir)) == NULL)
		return;
	js_buf_add(&text, dir, strlen(dir) + 1);
	js_buf_printf(&text, "%zu%c", options, '\0');
	for (; *words != NULL; words++)
		js_buf_add(&text, *words, strlen(*words) + 1);
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (text.failed || js_file_mkdirs(dir, 0700) != 0 || js_file_replace(path, 0600, text.data, text.len) != 0)
		cli_say(cli, "warning: this command line is not remembered for --again: %s: %s", path, strerror(errno));
	js_buf_free(&text);
}

static void add_more(char *const *more, struct cli_words *line)
{
	for (; *more != NULL; more++)
		if (strcmp(*more, "--again") != 0 && strcmp(*more, "--") != 0)
			cli_words_add(line, *more);
}

int cli_again_line(struct cli *cli, const char *key, char *const more[], struct cli_words *line)
{
	const char *name = strrchr(cli->opts->command, ' ') + 1, *at, *end, *dir;
	struct js_buf text = {0}, shown = {0};
	char path[PATH_MAX];
	size_t options;
	int status = 0;

	find_file(cli->opts->command, key, path);
	if (js_file_read(path, &text) != 0 || text.len == 0 || text.data[text.len - 1] != '\0') {
		cli_tell(cli, "there is no earlier `%s` %s %s to repeat: give the whole command line once (%s: %s)",
			 cli->opts->command, key[0] == '/' ? "in" : "of the stack", key, path, strerror(errno));
		status = CLI_USAGE;
	} else if (chdir(text.data) != 0) {
		cli_tell(cli, "can't change to %s, from where this was called: %s", text.data, strerror(errno));
		status = CLI_USAGE;
	} else {
		end = text.data + text.len;
		dir = text.data;
		at = dir + strlen(dir) + 1;
		options = at < end ? strtoul(at, NULL, 10) + 1 : 0;
		cli_words_add(line, name);
		for (at += at < end ? strlen(at) + 1 : 0; at < end; at += strlen(at) + 1) {
			if (line->n == options)
				add_more(more, line);
			cli_words_add(line, at);
		}
		cli_words_quote(&shown, line);
		cli_say(cli, "in %s: jobstack %s", dir, shown.failed ? name : shown.data);
		status = line->failed || shown.failed ? cli_no_memory(cli) : 0;
	}
	js_buf_free(&shown);
	js_buf_free(&text);
	return status;
}

int cli_again_is_kept(const char *command, const char *key)
{
	char path[PATH_MAX];

	find_file(command, key, path);
	return path[0] != '\0' && access(path, R_OK) == 0;
}

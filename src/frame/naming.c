/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a word names: a stack or an entry.  Promise: a number is an entry's number wherever there is such an entry; only
 * else is it taken for a datapath.
 */
#include "frame/frame.h"

#include "base/near.h"
#include "base/num.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NEAR_MOST 10000 /* entries whose names are compared with a mistyped one */

int cli_is_entry(const struct cli *cli, const char *word)
{
	return word[strspn(word, "0123456789")] == '\0' || strchr(word, '/') != NULL ||
	       (strchr(word, '=') != NULL && strstr(cli->opts->usage, "KEY=VALUE") != NULL);
}

const char *cli_doubtful_word(const struct cli *cli)
{
	const char *usage = cli->opts->usage;

	return cli->words_n == 0 || cli->stack_typed || strncmp(usage, "[STACK]", 7) != 0 ||
			       strstr(usage, "ENTRY") == NULL || cli_is_entry(cli, cli->words[0])
		       ? NULL
		       : cli->words[0];
}

/* ---------------------------------------------------------------------------------------------------- an entry */

/* Notes the first two entries of a list. */
static int note_two(void *ctx, const struct jobstack_item *item)
{
	uint64_t *found = ctx;

	found[found[0] != 0] = item->entry;
	return 0;
}

/* Returns WORD without what leads to the working directory: names are often pushed as relative ones. */
static const char *skip_here(const char *word)
{
	static char cwd[PATH_MAX];
	size_t n;

	if (cwd[0] == '\0' && getcwd(cwd, sizeof(cwd)) == NULL)
		cwd[0] = '\0';
	n = strlen(cwd);
	if (n > 1 && strncmp(word, cwd, n) == 0 && word[n] == '/')
		word += n + 1;
	while (word[0] == '.' && word[1] == '/')
		word += 2;
	return word;
}

/* Finds the entry whose datapath ends with "/WORD".  Returns 0, JOBSTACK_NOTHING, or an error, also if several do.  A
 * word of digits only is not looked for in this way: it is a mistyped number. */
static int find_by_end(struct cli *cli, const char *word, uint64_t *entry)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	uint64_t found[2] = {0, 0};
	struct js_buf glob = {0};
	int status;

	if (word[strspn(word, "0123456789")] == '\0' || word[0] == '/')
		return JOBSTACK_NOTHING;
	js_buf_str(&glob, "*/");
	for (const char *p = word; *p != '\0'; p++) {
		js_buf_str(&glob, strchr("*?[\\", *p) != NULL ? "\\" : "");
		js_buf_char(&glob, *p);
	}
	f.match = glob.data;
	f.limit = 2;
	status = glob.failed ? js_error_memory(&cli->error)
			     : jobstack_list(cli->handle, cli->stack, &f, note_two, found, &cli->error);
	js_buf_free(&glob);
	*entry = found[0];
	if (found[1] != 0 && found[1] != found[0])
		return js_error_why(&cli->error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_ENTRY,
				    "several entries of the stack \"%s\" have a name that ends with \"/%.600s\"",
				    cli->stack, word);
	return status == 0 && found[0] == 0 ? JOBSTACK_NOTHING : status;
}

static int find_name(struct cli *cli, const char *word, uint64_t *entry)
{
	const struct jobstack_bytes name = {word, strlen(word)};

	return jobstack_find(cli->handle, cli->stack, name, entry, &cli->error);
}

/* Tries in this order: the number, by its attempts, of which an entry that has not run yet gets one, too; the whole
 * datapath; the datapath without the working directory; the end of a datapath. */
int cli_find_entry(struct cli *cli, const char *word, uint64_t *entry)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	const char *here = skip_here(word);
	uint64_t unused[2] = {0, 0};
	int status;

	if (js_num_u64(word, 1, UINT64_MAX, entry) == 0) {
		status = jobstack_attempts(cli->handle, cli->stack, *entry, note_two, unused, &error);
		if (status != JOBSTACK_EMISSING || error.server_errno != JOBSTACK_WHY_NO_ENTRY) {
			cli->error = error;
			return status;
		}
	}
	status = find_name(cli, word, entry);
	if (status == JOBSTACK_NOTHING && here != word)
		status = find_name(cli, here, entry);
	return status == JOBSTACK_NOTHING ? find_by_end(cli, here, entry) : status;
}

/* If nothing is there of which a doubtful word could be an entry, it was meant as a stack. */
int cli_entry(struct cli *cli, const char *word, uint64_t *entry)
{
	const int doubtful = word == cli_doubtful_word(cli);
	int status = cli_find_entry(cli, word, entry);

	if (doubtful && !cli->stack_given && cli->error.server_errno == JOBSTACK_WHY_NO_STACK) {
		js_error_clear(&cli->error);
		cli->stack = word;
		cli->stack_given = 1;
		status = cli_find_entry(cli, word, entry);
	}
	cli->missing = doubtful ? word : NULL;
	return status != JOBSTACK_NOTHING ? status
					  : js_error_why(&cli->error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_ENTRY,
							 "there is no entry \"%.600s\" in the stack \"%s\"%s", word,
							 cli->stack, doubtful ? ", and no stack has this name" : "");
}

/* ----------------------------------------------------------------------------------------------- a mistyped name */

struct near_name {
	struct js_near near;
	char name[256];
};

/* Keeps a copy of the name that is nearest: what a callback gets is valid only during the call. */
static void try_name(struct near_name *n, const char *name)
{
	js_near_try(&n->near, name);
	if (n->near.best == name) {
		(void)snprintf(n->name, sizeof(n->name), "%s", name);
		n->near.best = n->name;
	}
}

static int try_stack(void *ctx, const struct jobstack_status *s)
{
	try_name(ctx, s->stack);
	return 0;
}

/* Of a datapath the part behind the last slash is compared: the word has none. */
static int try_entry(void *ctx, const struct jobstack_item *item)
{
	static char path[JOBSTACK_DATAPATH_MAX + 1];

	(void)snprintf(path, sizeof(path), "%.*s", (int)item->datapath.len, (const char *)item->datapath.data);
	try_name(ctx, basename(path));
	return 0;
}

const char *cli_near(const struct cli *cli)
{
	static char text[500];
	const int64_t why = cli->error.server_errno;
	const char *word = why == JOBSTACK_WHY_NO_ENTRY			      ? cli->missing
			   : why == JOBSTACK_WHY_NO_STACK && cli->stack_given ? cli->stack
									      : NULL;
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct near_name like = {.near = JS_NEAR_INIT(word)};

	if (word == NULL || cli->handle == NULL)
		return NULL;
	(void)jobstack_status(cli->handle, NULL, try_stack, &like, &ignored);
	f.limit = NEAR_MOST;
	if (why == JOBSTACK_WHY_NO_ENTRY && like.near.best == NULL)
		(void)jobstack_list(cli->handle, cli->stack, &f, try_entry, &like, &ignored);
	if (like.near.best == NULL)
		return NULL;
	(void)snprintf(text, sizeof(text), "did you mean \"%s\"?%s", like.name,
		       why == JOBSTACK_WHY_NO_STACK ? " `jobstack status` lists the stacks" : "");
	return text;
}

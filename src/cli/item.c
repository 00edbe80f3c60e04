/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entries as people name them.  Promise: a number is an entry's number wherever there is such an entry; only else is it
 * taken for a datapath.
 */
#include "cli/item.h"

#include "base/clock.h"
#include "base/num.h"
#include "view/words.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int stop_at_first(void *ctx, const struct jobstack_item *item)
{
	(void)ctx;
	(void)item;
	return 1;
}

/* Is there an entry of this number?  0, JOBSTACK_EMISSING, or another error. */
static int find_number(struct cli *cli, uint64_t entry, struct jobstack_error *error)
{
	int status = jobstack_attempts(cli->handle, cli->stack, entry, stop_at_first, NULL, error);

	return status == JOBSTACK_ESTOPPED && cli_stop == 0 ? 0 : status;
}

/* The word without what leads to the working directory. */
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

/* Entries whose name ends with "/WORD". */
struct ends {
	uint64_t entry;
	int several;
};

static int note_end(void *ctx, const struct jobstack_item *item)
{
	struct ends *e = ctx;

	e->several = e->entry != 0 && e->entry != item->entry;
	e->entry = item->entry;
	return e->several;
}

/* A name without its directory, or without the first of them: 0, JOBSTACK_NOTHING, or an error. */
static int find_by_end(struct cli *cli, const char *word, uint64_t *entry)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct js_buf glob = {0};
	struct ends ends = {0, 0};
	int status = JOBSTACK_NOTHING;

	if (word[strspn(word, "0123456789")] == '\0' || word[0] == '/')
		return status;
	js_buf_str(&glob, "*/");
	for (const char *p = word; *p != '\0'; p++) {
		js_buf_str(&glob, strchr("*?[\\", *p) != NULL ? "\\" : "");
		js_buf_char(&glob, *p);
	}
	f.match = glob.data;
	status = glob.failed ? js_error_memory(&cli->error)
			     : jobstack_list(cli->handle, cli->stack, &f, note_end, &ends, &cli->error);
	js_buf_free(&glob);
	if (ends.several)
		return js_error_why(&cli->error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_ENTRY,
				    "several entries of the stack \"%s\" have a name that ends with \"/%.600s\"",
				    cli->stack, word);
	*entry = ends.entry;
	return status == 0 && ends.entry == 0 ? JOBSTACK_NOTHING : status;
}

int cli_entry(struct cli *cli, const char *word, uint64_t *entry)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	const char *here = skip_here(word);
	int status;

	if (js_num_u64(word, 1, UINT64_MAX, entry) == 0) {
		status = find_number(cli, *entry, &error);
		if (status != JOBSTACK_EMISSING || error.server_errno != JOBSTACK_WHY_NO_ENTRY) {
			cli->error = error;
			return status;
		}
	}
	status =
		jobstack_find(cli->handle, cli->stack, (struct jobstack_bytes){word, strlen(word)}, entry, &cli->error);
	if (status == JOBSTACK_NOTHING && here != word)
		status = jobstack_find(cli->handle, cli->stack, (struct jobstack_bytes){here, strlen(here)}, entry,
				       &cli->error);
	if (status == JOBSTACK_NOTHING)
		status = find_by_end(cli, here, entry);
	if (status == JOBSTACK_NOTHING)
		return js_error_why(&cli->error, JOBSTACK_EMISSING, JOBSTACK_WHY_NO_ENTRY,
				    "there is no entry \"%.600s\" in the stack \"%s\"", word, cli->stack);
	return status;
}

int cli_check_entry(struct cli *cli)
{
	if (cli->words_n == 1)
		return 0;
	return cli_usage(cli, cli->words_n == 0 ? "name an entry by its number or datapath"
						: "only one entry can be given; name a stack with -s");
}

int cli_entries(struct cli *cli, uint64_t **entries, size_t *entries_n, uint64_t *missing)
{
	size_t n = cli->words_n, found = 0, once = 0;
	int status = 0;

	*entries_n = 0;
	*entries = calloc(n + 1, sizeof(**entries));
	if (*entries == NULL)
		return js_error_memory(&cli->error);
	for (size_t i = 0; i < n && status == 0; i++) {
		status = cli_entry(cli, cli->words[i], &(*entries)[found]);
		if (status == 0)
			found++;
		else if (status == JOBSTACK_EMISSING && missing != NULL &&
			 cli->error.server_errno == JOBSTACK_WHY_NO_ENTRY) {
			const char *what = cli_remedy(cli);

			cli_tell(cli, "%s%s%s", cli->error.text, what == NULL ? "" : ": ", what == NULL ? "" : what);
			js_error_clear(&cli->error);
			++*missing;
			status = 0;
		}
	}
	if (status != 0) {
		free(*entries);
		*entries = NULL;
		return status;
	}
	qsort(*entries, found, sizeof(**entries), js_num_order);
	for (size_t i = 0; i < found; i++)
		if (once == 0 || (*entries)[once - 1] != (*entries)[i])
			(*entries)[once++] = (*entries)[i];
	*entries_n = once;
	return 0;
}

/* -------------------------------------------------------------------------------- what close and renew are about */

struct current {
	uint32_t running, last; /* attempts; 0: none */
	int outcome;		/* of the last */
};

static int note_current(void *ctx, const struct jobstack_item *item)
{
	struct current *c = ctx;

	if (item->outcome < 0 && item->attempt > 0)
		c->running = item->attempt;
	else if (item->attempt > 0) {
		c->last = item->attempt;
		c->outcome = item->outcome;
	}
	return 0;
}

/* The attempt that runs now.  0, or the exit status. */
static int running_attempt(struct cli *cli, uint64_t entry, uint32_t *attempt)
{
	struct current c = {0, 0, -1};

	if (jobstack_attempts(cli->handle, cli->stack, entry, note_current, &c, &cli->error) != 0)
		return cli_fail(cli);
	*attempt = c.running;
	if (c.running > 0)
		return 0;
	if (c.last == 0)
		(void)js_error_set(&cli->error, JOBSTACK_EMISSING, "entry %" PRIu64 " was never popped", entry);
	else
		(void)js_error_set(&cli->error, JOBSTACK_NOTHING,
				   "entry %" PRIu64 " is not claimed; its last attempt, %" PRIu32
				   ", was closed as %s (--attempt names another attempt)",
				   entry, c.last, view_outcome_word(c.outcome));
	return cli_fail(cli);
}

/* The number in an environment variable; 0 if it is not set.  Not 0: it is set, but is not a number. */
static int env_number(struct cli *cli, const char *name, uint64_t high, uint64_t *n)
{
	const char *text = getenv(name);

	*n = 0;
	if (text == NULL || *text == '\0' || js_num_u64(text, 1, high, n) == 0)
		return 0;
	return cli_usage(cli, "$%s is not a number", name);
}

int cli_which(struct cli *cli, const char *attempt_arg, uint64_t *entry, uint32_t *attempt)
{
	const char *env_stack = getenv("JOBSTACK_STACK");
	uint64_t env_entry = 0, env_attempt, given = 0;
	size_t n = cli->words_n;
	int same_stack = env_stack == NULL || *env_stack == '\0' || strcmp(env_stack, cli->stack) == 0, status;

	if (n > 1)
		return cli_usage(cli, "unexpected argument \"%s\"", cli->words[1]);
	if (attempt_arg != NULL && js_num_u64(attempt_arg, 1, UINT32_MAX, &given) != 0)
		return cli_usage(cli, "--attempt takes a number from 1 on, not \"%s\"", attempt_arg);
	status = n == 0 || same_stack ? env_number(cli, "JOBSTACK_ENTRY", UINT64_MAX, &env_entry) : 0;
	JS_TRY(status);
	JS_TRY(env_number(cli, "JOBSTACK_ATTEMPT", UINT32_MAX, &env_attempt));
	if (n == 0 && env_entry == 0)
		return cli_usage(cli, "name an entry, or set $JOBSTACK_ENTRY as `jobstack pop` does");
	JS_TRY(cli_connect(cli, 60 * JS_SECOND_US));
	if (n == 0)
		*entry = env_entry;
	else if (cli_entry(cli, cli->words[0], entry) != 0)
		return cli_fail(cli);
	if (attempt_arg != NULL)
		*attempt = (uint32_t)given;
	else if (env_attempt != 0 && same_stack && *entry == env_entry)
		*attempt = (uint32_t)env_attempt;
	else
		return running_attempt(cli, *entry, attempt);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- options */

int cli_states(struct cli *cli, const char *list, unsigned *bits)
{
	int all = 0;

	*bits = 0;
	do {
		size_t len = strcspn(list, ",");
		const int is_all = len == 3 && strncmp(list, "all", 3) == 0;

		if (view_state_bit(list, len) == 0 && !is_all)
			return cli_usage(cli,
					 "-t: \"%.*s\" is not a state: use ready, waiting, held, running, done, "
					 "failed, lost, dead, cancelled, moved or all (--exit=N selects by exit "
					 "status)",
					 (int)len, list);
		all |= is_all;
		*bits |= view_state_bit(list, len);
		list += len;
	} while (*list++ == ',');
	if (all)
		*bits = 0;
	return 0;
}

int cli_fields(struct cli *cli, const char *list, struct view_fields *fields)
{
	struct js_buf fault = {0};
	int status = 0;

	if (view_fields_parse(list, fields, &fault) != 0)
		status = cli_usage(cli, "-o: %s", fault.data != NULL ? fault.data : list);
	js_buf_free(&fault);
	return status;
}

int cli_since(struct cli *cli, const char *arg, int64_t *since_us, int64_t *within_us)
{
	*within_us = -1;
	*since_us = js_clock_read(arg);
	if (*since_us >= 0 || js_num_duration(arg, within_us) == 0)
		return 0;
	return cli_usage(cli,
			 "--since takes a duration such as 2h or 7d, or a time in UTC such as 2026-11-21 or "
			 "2026-11-21T06:20:00, not \"%s\"",
			 arg);
}

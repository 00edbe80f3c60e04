/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Files of command lines.  Promises: a list of names is not executed by mistake; a line that has come back runs again.
 */
#include "cli/run_list.h"

#include "base/num.h"
#include "cli/item.h"
#include "cli/recover.h"
#include "frame/command.h"
#include "show/words.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE "its line is gone from the list"
#define DOUBT_LINES 10 /* most of these are names of files: so are perhaps all */

void cli_run_list_find(struct cli_run_list *list, const char *file)
{
	const char *path = file == NULL || strcmp(file, "-") == 0 ? "/proc/self/fd/0" : file;
	struct stat st;

	_Static_assert(sizeof(list->path) >= PATH_MAX, "realpath writes that much");
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || realpath(path, list->path) == NULL)
		list->path[0] = '\0';
}

/* Says how to run a command on names, or to run them. */
static int refuse_names(struct cli *cli, const struct cli_run_list *list, int is_stdin)
{
	struct js_buf options = {0};

	cli_words_quote(&options, &(const struct cli_words){.at = cli->argv + 1, .n = (size_t)cli->argc - 1});
	if (is_stdin) {
		js_buf_str(&options, options.len > 0 ? " <" : "<");
		js_buf_shell_word(&options, list->path, strlen(list->path));
	}
	if (options.failed)
		return cli_no_memory(cli);
	cli_tell(cli,
		 "there is no command, and the lines of %s are names of files.  To run a command on each of them, "
		 "or each of them as a command, type one of these:",
		 list->path);
	(void)fprintf(stderr, "    jobstack run %s -- CMD {}\n    jobstack run --commands %s\n", options.data,
		      options.data);
	js_buf_free(&options);
	return CLI_USAGE;
}

int cli_run_list_check(struct cli *cli, struct cli_run_list *list, const struct cli_input *input, int is_stdin)
{
	const off_t start = lseek(input->fd, 0, SEEK_CUR);
	static struct cli_input in;
	unsigned lines = 0, files = 0;
	struct jobstack_bytes line;
	struct stat st;
	int got;

	in = *input;
	in.refused = UINT32_MAX; /* what is wrong with a line is told when it is read again */
	while ((got = cli_input_next(&in, &line)) == 0 || got == 2)
		if (got == 0 && lines++ < DOUBT_LINES)
			files += lstat(line.data, &st) == 0;
	list->lines.pass++;
	(void)lseek(input->fd, start, SEEK_SET);
	if (got < 0) {
		if (cli_input_refused(cli, &in, 0) == 0)
			cli_tell(cli, "can't read %s: %s", list->path, strerror(in.read_errno));
		return CLI_USAGE;
	}
	if (list->is_typed)
		return 0;
	if (2 * files > (lines < DOUBT_LINES ? lines : DOUBT_LINES))
		return refuse_names(cli, list, is_stdin);
	cli_say(cli, "there is no command, so the lines of %s are the commands", list->path);
	return 0;
}

struct following {
	struct cli_lines *lines;
	struct cli_numbers gone, back;
	int running; /* one that is gone runs, or was lost with its worker */
};

static int sort_out(void *ctx, const struct jobstack_item *item)
{
	struct following *f = ctx;
	const int is_there = cli_lines_find(f->lines, item->datapath.data, item->datapath.len, 0) != NULL;

	f->running |= !is_there && item->state == JOBSTACK_IS_RUNNING;
	if (item->state == JOBSTACK_IS_CANCELLED)
		return is_there && item->note != NULL && strcmp(item->note, NOTE) == 0 &&
		       cli_numbers_add(&f->back, item->entry);
	return !is_there && item->state != JOBSTACK_IS_RUNNING && cli_numbers_add(&f->gone, item->entry);
}

/* Lists what is not done. */
static int look_at_entries(struct cli *cli, struct following *f)
{
	struct jobstack_filter all = JOBSTACK_FILTER_INIT;

	all.states = JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_RUNNING | JOBSTACK_IS_DEAD |
		     JOBSTACK_IS_CANCELLED;
	f->gone.n = f->back.n = 0;
	f->running = 0;
	return jobstack_list(cli->handle, cli->stack, &all, sort_out, f, &cli->error);
}

static void choose(struct jobstack_filter *filter, const struct cli_numbers *numbers)
{
	qsort(numbers->at, numbers->n, sizeof(*numbers->at), js_num_order);
	filter->entries = numbers->at;
	filter->entries_n = numbers->n;
}

/* An entry that changes its state meanwhile may be listed twice, or missed; the next look finds it. */
int cli_run_list_follow(struct cli *cli, struct cli_run_list *list, int back)
{
	struct following f = {.lines = &list->lines};
	struct jobstack_filter filter = JOBSTACK_FILTER_INIT;
	struct jobstack_cancel_options options = JOBSTACK_CANCEL_OPTIONS_INIT;
	struct jobstack_requeue_result result = JOBSTACK_REQUEUE_RESULT_INIT;
	struct cli_recovery lost = {.wait = 0};
	int status = look_at_entries(cli, &f);

	if (status == 0 && f.running && back) {
		status = cli_recover_dead(cli, &lost);
		JS_THEN(status, look_at_entries(cli, &f));
	}
	options.note = NOTE;
	if (status == 0 && f.gone.n > 0) {
		choose(&filter, &f.gone);
		status = jobstack_cancel(cli->handle, cli->stack, &filter, &options, &result, &cli->error);
	}
	if (result.requeued > 0)
		cli_say(cli, "cancelled %" PRIu64 " %s of earlier runs: not in %s any more", result.requeued,
			result.requeued == 1 ? "line" : "lines", list->path);
	if (status == 0 && back && f.back.n > 0) {
		choose(&filter, &f.back);
		filter.states = JOBSTACK_IS_CANCELLED;
		status = jobstack_requeue(cli->handle, cli->stack, &filter, 0, &result, &cli->error);
	}
	free(f.gone.at);
	free(f.back.at);
	return status == 0 ? 0 : cli_fail(cli);
}

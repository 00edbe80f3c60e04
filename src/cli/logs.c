/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack logs: what an entry's command printed, from the files where its worker kept it; of a failed attempt whose
 * files can't be read from here, the end of stderr that the database has; of a running one, from its open files.
 * Promise: the bytes as they came, and no more than the attempt's own.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "cli/filter.h"
#include "cli/item.h"
#include "cli/worker.h"
#include "proc/child.h"
#include "proc/proc.h"
#include "exec/excerpt.h"
#include "exec/tree.h"
#include "figures/stack.h"
#include "show/term.h"
#include "show/text.h"
#include "show/words.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLLOW_US (JS_SECOND_US / 5)
#define FOLLOWED "JOBSTACK_FOLLOWED" /* set in the environment of the one that srun starts */

/* What is looked for, and what was found. */
struct search {
	uint64_t attempt; /* 0: the last one with output */
	uint32_t last;	  /* attempt that there is; 0: none */
	uint32_t chosen;  /* 0: none */
	uint64_t running; /* the worker of the one that runs; 0: none does */
	int silent;	  /* the wanted one (or the last) printed nothing */
	int peeked;	  /* what the one that runs has printed was printed */
	const char *bad;  /* with --all: what is wrong with the result, or NULL */
	struct stream {
		struct js_buf path;
		int64_t at, len;
	} out, err;
	struct js_buf name, node, tail, head; /* which entry it is; head: and how it ended, for a person */
};

static uint64_t attempt;
static int only_out, only_err, follow, all;
static int only_dead; /* no entries were named or selected */

/* Notes where a stream is: in which file, from where on, and how long.  A relative path is relative to the worker's
 * directory. */
static void note_stream(struct stream *to, const struct jobstack_item *i, const char *log, int64_t at, int64_t len)
{
	js_buf_reset(&to->path);
	to->at = at;
	to->len = log != NULL && at >= 0 && len > 0 ? len : 0;
	if (to->len == 0)
		return;
	if (log[0] != '/' && i->cwd != NULL)
		js_buf_printf(&to->path, "%s/", i->cwd);
	js_buf_str(&to->path, log);
}

/* Called for each attempt in order; keeps the one that was asked for, with --all the last one that was done, else the
 * last one that has output.  In a worker's packed log stdout comes first, and stderr follows it, unless that has a file
 * of its own.  What was printed elsewhere (--output=-) has left only the end of stderr in the database. */
static int note_output(void *ctx, const struct jobstack_item *i)
{
	struct search *s = ctx;
	int64_t n_out = i->log_out > 0 ? i->log_out : 0, n_err = i->log_err > 0 ? i->log_err : 0;
	int wanted = all ? 0 : s->attempt == 0 || i->attempt == s->attempt;

	if (s->name.len == 0) {
		js_buf_printf(&s->name, "entry %" PRIu64 " (", i->entry);
		show_safe(&s->name, i->datapath.data, i->datapath.len);
		js_buf_char(&s->name, ')');
	}
	if (all &&
	    i->outcome == JOBSTACK_DONE) { /* an earlier result is none any more, even if this one was not kept */
		s->chosen = 0;
		s->silent = 0;
		wanted = only_err || i->log_out == 0 || (i->log != NULL && i->log_at >= 0);
	}
	if (all)
		s->bad = wanted			  ? NULL
			 : s->chosen || s->silent ? "was requeued after this result"
						  : "has no result: it is not done, or what it printed was not kept";
	if (i->attempt == 0)
		return 0;
	if (i->outcome < 0)
		s->running = i->worker;
	s->last = i->attempt;
	if (!wanted || i->outcome < 0)
		return 0;
	s->silent = i->log_out == 0 && i->log_err <= 0;
	if (((i->log == NULL || i->log_at < 0) && (i->err_log == NULL || i->err_at < 0)) || n_out + n_err == 0) {
		if (i->err_tail.len == 0)
			return 0;
		n_out = n_err = 0; /* it was printed elsewhere (--output -): this is all that is left of it */
	}
	s->chosen = i->attempt;
	note_stream(&s->out, i, i->log, i->log_at, n_out);
	if (i->err_at >= 0)
		note_stream(&s->err, i, i->err_log, i->err_at, n_err);
	else
		note_stream(&s->err, i, i->log, i->log_at + n_out, n_err);
	js_buf_reset(&s->node);
	show_safe(&s->node, i->node != NULL ? i->node : "?", i->node != NULL ? strlen(i->node) : 1);
	js_buf_reset(&s->head);
	js_buf_printf(&s->head, "==> entry %" PRIu64 " attempt %" PRIu32 ": %s on %s at %s: ", i->entry, i->attempt,
		      show_item_how(i).text, s->node.data != NULL ? s->node.data : "?", show_second(i->ended_us).text);
	show_safe(&s->head, i->datapath.data, i->datapath.len);
	js_buf_reset(&s->tail);
	js_buf_add(&s->tail, i->err_tail.data, i->err_tail.len);
	return 0;
}

/* Returns whether a stream is there to its end, without the line that stands for a middle that was left out.  The
 * blocks overlap, so that this line is whole in one of them. */
static int is_whole(const struct js_kept *k)
{
	static const char mark[] = " bytes left out]\n";
	static char block[65536 + sizeof(mark)];
	ssize_t want, n = 0;

	for (int64_t left = k->head; left > 0 && n >= 0; left -= 65536) {
		want = left < (int64_t)sizeof(block) ? (ssize_t)left : (ssize_t)sizeof(block);
		n = pread(k->fd, block, (size_t)want, (off_t)(k->head_at + k->head - left));
		n = n < want || memmem(block, (size_t)n, mark, sizeof(mark) - 1) != NULL ? -1 : n;
	}
	return n >= 0;
}

/* Prints one stream, with --all only if it is complete.  0; 1 with cli->error: it can't be read; 2: it can't be
 * written. */
static int print_stream(struct cli *cli, const struct search *s, const struct stream *from, int to)
{
	struct js_kept kept = {.head_at = from->at, .head = from->len};
	struct stat st;
	int got;

	if (from->len == 0)
		return 0;
	/* the path comes from the database: opening a FIFO may block, and opening a device may have side effects */
	kept.fd = stat(from->path.data, &st) == 0 && !S_ISREG(st.st_mode)
			  ? (errno = EINVAL, -1)
			  : open(from->path.data, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (kept.fd < 0) {
		(void)js_error_file(&cli->error,
				    "can't read the output of attempt %" PRIu32 " of %s in %s, written on %s",
				    s->chosen, s->name.data, from->path.data, s->node.data);
		return 1;
	}
	got = all && !is_whole(&kept) ? 1 : js_kept_copy(&kept, to, NULL);
	if (got == 1)
		(void)js_error_set(&cli->error, JOBSTACK_EFILE,
				   "%s, written on %s, has only a part of what attempt %" PRIu32 " of %s printed",
				   from->path.data, s->node.data, s->chosen, s->name.data);
	else if (got < 0 && errno != EPIPE)
		cli_tell(cli, "can't write the output: %s", strerror(errno));
	(void)close(kept.fd);
	return got < 0 ? 2 : got;
}

/* What is printed, and where. */
static struct shown {
	int terminal; /* standard output is one, maybe behind a pager */
	int err;      /* where standard error goes */
	int colours, heads;
	uint64_t n;
	FILE *pager;
} shown;

/* Prints the end of standard error that the database has; on a terminal without control characters. */
static int print_tail(struct cli *cli, const struct search *s, int to)
{
	struct js_buf safe = {0};
	int status;

	if (cli->error.code != 0)
		cli_tell(cli, "%s; this is the end of its standard error, from the database:", cli->error.text);
	else
		cli_say(cli, "only the end of its standard error was kept:");
	js_error_clear(&cli->error);
	if (!shown.terminal && !isatty(to))
		js_buf_add(&safe, s->tail.data, s->tail.len);
	else
		show_safe_lines(&safe, "", s->tail.data, s->tail.len);
	status = js_file_write_all(to, safe.data, safe.len) == 0 || errno == EPIPE ? CLI_NO : CLI_BUG;
	js_buf_free(&safe);
	return status;
}

/* Prints the line above an entry's output, where several are printed or a person reads. */
static int print_head(struct cli *cli, const struct search *s)
{
	struct js_buf line = {0};
	int status;

	if (!shown.heads)
		return 0;
	js_buf_str(&line, shown.n++ > 0 ? "\n" : "");
	show_paint(&line, shown.colours, SHOW_YELLOW, s->head.data != NULL ? s->head.data : "");
	js_buf_char(&line, '\n');
	status = line.failed						      ? cli_no_memory(cli)
		 : js_file_write_all(STDOUT_FILENO, line.data, line.len) == 0 ? 0
									      : CLI_BUG;
	js_buf_free(&line);
	return status;
}

/* Prints both streams.  If they can't be read here, the end of stderr that the database has is better than nothing; but
 * the exit status says that it is not all. */
static int print_output(struct cli *cli, const struct search *s)
{
	int got = 0;

	if (!only_err)
		got = print_stream(cli, s, &s->out, STDOUT_FILENO);
	if (got == 0 && !only_out)
		got = print_stream(cli, s, &s->err, shown.err);
	if (s->tail.len > 0 && !only_out && (got == 1 || s->out.len + s->err.len == 0))
		return print_tail(cli, s, shown.err);
	return got == 0 ? CLI_YES : got == 2 ? CLI_BUG : cli_fail(cli);
}

/* Says why there is nothing to print.  Returns the exit status. */
static int explain_no_output(struct cli *cli, const struct search *s, uint64_t entry)
{
	if (s->attempt > s->last) {
		(void)js_error_set(&cli->error, JOBSTACK_EMISSING, "entry %" PRIu64 " has no attempt %" PRIu64, entry,
				   s->attempt);
		return cli_fail(cli);
	}
	if (s->running && !s->silent)
		cli_say(cli, "entry %" PRIu64 " is running: `jobstack logs -s %s -f %" PRIu64 "` follows its output",
			entry, cli->stack, entry);
	else
		cli_say(cli, "%s %s", s->name.data,
			s->silent      ? "printed nothing"
			: s->last == 0 ? "has not run yet"
				       : "has no output that was kept");
	return s->silent || s->peeked ? CLI_YES : CLI_NO;
}

static struct cli_filter filter = CLI_FILTER_INIT;
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	CLI_OPTS_FILTER(&filter, "all entries in these states: dead, done, failed, lost, ... or all"),
	{0, "all", NULL,
	 "of every entry the last attempt that was done, by number; an entry without its whole output is named",
	 CLI_FLAG(&all)},
	{0, "attempt", "N", "the attempt (default: the last one that has output)",
	 CLI_NUMBER(&attempt, 1, UINT32_MAX, "a number from 1 on")},
	{'f', "follow", NULL, "of an entry that is running: print its output as it comes, until it ends",
	 CLI_FLAG(&follow)},
	{0, "stdout", NULL, "only its standard output", CLI_FLAG(&only_out)},
	{0, "stderr", NULL, "only its standard error, printed to standard output", CLI_FLAG(&only_err)},
	CLI_OPTS_TEXT};

/* Returns whether entries are selected, and not only named. */
static int has_selection(void)
{
	return filter.states_arg != NULL || cli_filter_given(&filter);
}

static int check_logs(struct cli *cli)
{
	if (only_out && only_err)
		return cli_usage(cli, "--stdout and --stderr can't be used together: without them both are printed");
	if (follow && (cli->words_n != 1 || has_selection() || attempt != 0))
		return cli_usage(cli, "--follow takes one entry, by its number or datapath");
	only_dead = !all && cli->words_n == 0 && !has_selection();
	if (all || only_dead)
		JS_TRY(cli_filter_take(cli, &filter, 't', all ? "all" : "dead"));
	return cli_filter_end(cli, &filter);
}

/* ------------------------------------------------------------------------------------------------------ --follow */

/* The command of an attempt that runs. */
struct command {
	struct cli *cli;
	uint64_t worker, entry;
	uint32_t attempt;
	pid_t parent, pid; /* 0: the worker, the command was not seen yet */
	int64_t start;
	int fd[2]; /* its standard output and error; -1: not wanted, or not readable */
	int64_t at[2];
};

/* Becomes this command on the worker's node, by srun into the worker's job.  If that is not possible, it says where to
 * type what.  The variable FOLLOWED keeps the one that srun starts from doing the same, if the worker is not found
 * there either. */
static void follow_elsewhere(const struct command *c, const struct jobstack_worker_row *w)
{
	const char *node = w->node != NULL ? w->node : "?";
	struct cli_words line = {0};

	(void)cli_words_split(&line, "srun --quiet --disable-status --overlap --nodes=1 --ntasks=1");
	cli_words_format(&line, "--jobid=%s", w->job != NULL ? w->job : "");
	cli_words_format(&line, "--nodelist=%s", node);
	cli_own_line(&line, c->cli, "logs", cli_option_file(c->cli));
	if (follow)
		cli_words_format(&line, "-f");
	if (only_out || only_err)
		cli_words_format(&line, only_out ? "--stdout" : "--stderr");
	cli_words_format(&line, "%" PRIu64, c->entry);
	if (w->job != NULL && shown.pager == NULL && getenv(FOLLOWED) == NULL && setenv(FOLLOWED, "1", 1) == 0 &&
	    !line.failed)
		(void)execvp(line.at[0], line.at);
	cli_words_free(&line);
	cli_tell(c->cli, "entry %" PRIu64 " runs on %s: `jobstack logs -s %s -f %" PRIu64 "` follows its output there",
		 c->entry, node, c->cli->stack, c->entry);
}

/* Stops the list at the worker, if that is on another host. */
static int find_worker(void *ctx, const struct jobstack_worker_row *w)
{
	struct command *c = ctx;

	if (w->worker == c->worker && cli_is_here(w))
		c->parent = (pid_t)w->pid;
	else if (w->worker == c->worker)
		follow_elsewhere(c, w);
	return w->worker == c->worker && c->parent == 0;
}

/* Looks for the process that the worker has started for the attempt: a child of the worker whose environment names
 * entry and attempt.  Opens the files that it writes to, through /proc, since these have no names. */
static void find_process(struct command *c)
{
	uint64_t worker, entry;
	struct js_proc_walk walk;
	struct js_proc proc;
	uint32_t attempt_n;
	char path[64];
	pid_t pid;

	if (js_proc_walk_begin(&walk, 0) != 0)
		return;
	while (c->pid == 0 && (pid = js_proc_walk_next(&walk)) != 0)
		if (js_proc_read(pid, &proc) == 0 && proc.parent == c->parent &&
		    js_tree_entry(pid, &worker, &entry, &attempt_n) == 0 && entry == c->entry &&
		    attempt_n == c->attempt)
			c->pid = pid;
	js_proc_walk_end(&walk);
	c->start = js_proc_start(c->pid);
	for (int i = 0; i < 2 && c->pid != 0; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)c->pid, i + 1);
		if (!(i == 0 ? only_err : only_out))
			c->fd[i] = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
}

/* Prints what came since the last time.  Returns 1 if the process has ended, 2 if it can't be printed, or 0.  The end
 * is looked at first, so that what is read afterwards is all. */
static int print_news(struct command *c)
{
	int ended = js_proc_start(c->pid) != c->start;

	for (int i = 0; i < 2; i++) {
		off_t end = lseek(c->fd[i], 0, SEEK_END), at = lseek(c->fd[i], (off_t)c->at[i], SEEK_DATA);
		struct js_kept news = {.fd = c->fd[i], .head_at = at, .head = end - at}; /* behind a hole */

		/* a file that was empty when the process ended may be the next command's */
		if (at < 0 || at >= end || (c->at[i] == 0 && js_proc_start(c->pid) != c->start))
			continue;
		if (js_kept_copy(&news, i == 0 ? STDOUT_FILENO : shown.err, NULL) < 0)
			return 2;
		c->at[i] = end;
	}
	return ended;
}

/* Prints what the attempt that runs has printed and, with --follow, what it prints until its end is recorded; S then
 * has that end.  The output in the log is the same as what was followed, so a stream of which something was printed is
 * not printed again.  0, or the exit status. */
static int follow_attempt(struct cli *cli, uint64_t entry, struct search *s)
{
	struct command c = {cli, .worker = s->running, .entry = entry, .attempt = s->last, .fd = {-1, -1}};
	int status = jobstack_workers(cli->handle, cli->stack, find_worker, &c, &cli->error), printed, waits = 0;

	if (status == JOBSTACK_ESTOPPED)
		return CLI_NO;
	if (getenv(FOLLOWED) != NULL)
		(void)signal(SIGTERM, SIG_IGN); /* it comes when the job ends, before all is printed */
	/* once the process is gone, the attempt counts as running only until its end is recorded, which is asked for
	 * each time */
	for (s->attempt = s->last; status == 0 && s->running; js_clock_nap(FOLLOW_US, NULL)) {
		if (c.pid == 0)
			find_process(&c);
		if (c.pid == 0 && !waits++)
			cli_say(cli, "entry %" PRIu64 " has no output yet that can be read here%s", entry,
				follow ? ": waiting" : "");
		printed = c.pid != 0 ? print_news(&c) : 1;
		if (printed == 2)
			return CLI_BUG;
		if (!follow)
			break;
		if (printed == 0)
			continue;
		s->running = 0;
		status = jobstack_attempts(cli->handle, cli->stack, entry, note_output, s, &cli->error);
	}
	s->peeked = c.pid != 0;
	only_err |= follow && c.at[0] > 0; /* what was printed already is not printed again */
	only_out |= follow && c.at[1] > 0;
	js_file_close(&c.fd[0]);
	js_file_close(&c.fd[1]);
	return status == 0 ? 0 : cli_fail(cli);
}

/* Prints the output of one entry: of the attempt that was chosen, or, if none has output yet and only this entry was
 * asked for, of the one that runs. */
static int print_entry(struct cli *cli, uint64_t entry)
{
	struct search found = {.attempt = attempt}, *s = &found;
	struct js_buf *const text[] = {&s->out.path, &s->err.path, &s->name, &s->node, &s->tail, &s->head};
	const int one_word = cli->words_n == 1 && !has_selection();
	int failed = 0, status = jobstack_attempts(cli->handle, cli->stack, entry, note_output, s, &cli->error);

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		failed |= text[i]->failed;
	if (status == 0 && failed)
		status = js_error_memory(&cli->error);
	if (status != 0)
		status = cli_fail(cli);
	else if (s->running && (follow || (s->chosen == 0 && attempt == 0 && one_word)))
		status = follow_attempt(cli, entry, s);
	if (status == 0 && s->bad != NULL)
		cli_tell(cli, "%s %s", s->name.data, s->bad);
	else if (status == 0 && !all && s->chosen == 0)
		status = explain_no_output(cli, s, entry);
	if (status == 0 && s->chosen != 0) {
		if (s->attempt == 0 && s->chosen != s->last && !all)
			cli_say(cli, "this is attempt %" PRIu32 " of %" PRIu32, s->chosen, s->last);
		status = print_head(cli, s);
		JS_THEN(status, print_output(cli, s));
		if (follow)
			cli_say(cli, "%s", s->head.data + 4); /* without the arrow */
	}
	js_error_clear(&cli->error);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		js_buf_free(text[i]);
	return status == 0 && s->bad != NULL ? CLI_NO : status;
}

/* Starts a pager as git does: $JOBSTACK_PAGER, $PAGER, or less, which ends by itself if all fits the screen.  Standard
 * output becomes the pipe to it. */
static void begin_pager(void)
{
	const char *pager = getenv("JOBSTACK_PAGER");

	shown.terminal = isatty(STDOUT_FILENO);
	shown.colours = show_colours(stdout);
	pager = pager != NULL ? pager : getenv("PAGER");
	if (pager == NULL)
		pager = js_child_is_in_path("less") ? "less" : "";
	if (!shown.terminal || show_is_dumb() || *pager == '\0' || strcmp(pager, "cat") == 0)
		return;
	(void)setenv("LESS", "FRX", 0);
	shown.pager = popen(pager, "w");
	if (shown.pager == NULL)
		return;
	(void)signal(SIGINT, SIG_IGN); /* it is the pager's */
	(void)dup2(fileno(shown.pager), STDOUT_FILENO);
	if (isatty(STDERR_FILENO))
		(void)dup2(fileno(shown.pager), STDERR_FILENO);
}

/* Closes the pipe, and waits until the reader has left the pager. */
static void end_pager(void)
{
	if (shown.pager == NULL)
		return;
	(void)close(STDOUT_FILENO);
	(void)close(STDERR_FILENO);
	(void)pclose(shown.pager);
}

/* The entries are gathered before anything is printed: whether there are several decides about the lines above their
 * output. */
static int print_logs(struct cli *cli)
{
	struct cli_numbers c = {0};
	struct jobstack_status s;
	int status = cli_read_status(cli, &s), one;

	JS_THEN(status, cli_filter_entries(cli, &filter, 0));
	if (status == 0 && (has_selection() || filter.f.limit > 0)) /* in the order of the list */
		status = cli_numbers_list(cli, &filter.f, &c);
	else
		c = (struct cli_numbers){(uint64_t *)(uintptr_t)filter.f.entries, filter.f.entries_n, 0};
	if (all && c.n > 0)
		qsort(c.at, c.n, sizeof(c.at[0]), js_num_order);
	if (status != 0)
		status = cli_fail(cli);
	if (status == 0 && c.n == 0) {
		cli_say(cli, "no entry of the stack \"%s\" %s", cli->stack,
			only_dead ? "is dead; --all prints the output of those that are done"
				  : "matches these options");
		status = CLI_NO;
	} else if (status == 0 && !follow)
		begin_pager();
	shown.heads = !follow && !cli->quiet && (c.n > 1 || shown.terminal);
	shown.err =
		only_err || shown.terminal ? STDOUT_FILENO : STDERR_FILENO; /* with a pager, or where both are read */
	for (size_t i = 0; i < c.n && (i == 0 || status < CLI_NODB); i++) {
		one = all && i > 0 && c.at[i] == c.at[i - 1] ? 0 : print_entry(cli, c.at[i]);
		one = all && one == CLI_USAGE ? CLI_NO : one; /* a log that is not there */
		status = one > status ? one : status;
	}
	if (all && status < CLI_NODB && figures_stack_left(&s) + s.pruned > 0) { /* for these no entry was named */
		cli_tell(cli, "results are missing: not finished %" PRIu64 ", pruned %" PRIu64 " of the stack \"%s\"",
			 figures_stack_left(&s), s.pruned, cli->stack);
		status = CLI_NO;
	}
	end_pager();
	if (shown.pager != NULL && status == CLI_BUG)
		status = CLI_YES; /* the reader has left */
	free(c.at);
	return status;
}

static const char about[] =
	"Prints the output of entries, which are named (by number or datapath) or selected as by `jobstack list`, else "
	"of all\ndead ones: standard output to standard output, then standard error to standard error. If the log "
	"files can't be read\non this host, it prints the end of a failed attempt's standard error from the database, "
	"and ends with 1. Of an entry\nthat is running it prints what there is. On a terminal it uses "
	"$JOBSTACK_PAGER, $PAGER or less.";
static const char notes[] =
	"  jobstack logs mystack 17\n  jobstack logs mystack -f 17\n  jobstack logs mystack -t dead --stderr\n"
	"  jobstack logs mystack 'day 1.nc' --attempt 1\n  jobstack logs mystack --stdout --all -q >results.txt";
static const struct js_opts opts = {"jobstack logs", "[STACK] [OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_logs = {&opts, NULL, CLI_LOOKS, 60 * JS_SECOND_US, check_logs, print_logs};

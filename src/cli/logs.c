/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack logs: what an entry's command printed, from the files where its worker kept it; of a failed attempt whose
 * files can't be read from here, the end of stderr that the database has.  Promise: the bytes as they came, and no more
 * than the attempt's own.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "cli/item.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPT = CLI_OWN, ONLY_OUT, ONLY_ERR };

static const struct js_opt table[] = {CLI_OPTS_STACK,
				      {ATTEMPT, "attempt", "N", "the attempt (default: the last one that has output)"},
				      {ONLY_OUT, "stdout", NULL, "only its standard output"},
				      {ONLY_ERR, "stderr", NULL, "only its standard error, printed to standard output"},
				      CLI_OPTS_DATABASE,
				      CLI_OPTS_ALWAYS,
				      CLI_OPTS_END};

/* What is looked for, and what was found. */
struct search {
	uint64_t attempt;    /* 0: the last one with output */
	uint32_t last;	     /* attempt that there is; 0: none */
	uint32_t chosen;     /* 0: none */
	int running, silent; /* one runs; the wanted one (or the last) printed nothing */
	struct stream {
		struct js_buf path;
		int64_t at, len;
	} out, err;
	struct js_buf node, tail;
};

/* Notes where a stream is. */
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

static int note_output(void *ctx, const struct jobstack_item *i)
{
	struct search *s = ctx;
	int64_t n_out = i->log_out > 0 ? i->log_out : 0, n_err = i->log_err > 0 ? i->log_err : 0;
	int wanted = s->attempt == 0 || i->attempt == s->attempt;

	if (i->attempt == 0)
		return 0;
	s->running |= i->outcome < 0;
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
	js_buf_str(&s->node, i->node != NULL ? i->node : "?");
	js_buf_reset(&s->tail);
	js_buf_add(&s->tail, i->err_tail.data, i->err_tail.len);
	return 0;
}

/* Copies LEN bytes at AT.  0, 1 if the file ends before, negative: reading failed, 2: writing failed; errno tells. */
static int copy_bytes(int from, int64_t at, int64_t len, int to)
{
	static char block[1 << 16];

	while (len > 0) {
		ssize_t n = pread(from, block, (size_t)(len < (int64_t)sizeof(block) ? len : (int64_t)sizeof(block)),
				  (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : 1;
		if (js_file_write_all(to, block, (size_t)n) != 0)
			return 2;
		at += n;
		len -= n;
	}
	return 0;
}

/* Prints one stream.  0, 1 with cli->error, or 2: the output could not be written. */
static int print_stream(struct cli *cli, const struct search *s, const struct stream *from, int to)
{
	int fd, got;

	if (from->len == 0)
		return 0;
	fd = open(from->path.data, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : copy_bytes(fd, from->at, from->len, to);
	if (got < 0)
		(void)js_error_set(&cli->error, JOBSTACK_EFILE,
				   "can't read the output of attempt %" PRIu32 " in %s, written on %s: %s", s->chosen,
				   from->path.data, s->node.data, strerror(errno));
	else if (got == 1)
		(void)js_error_set(&cli->error, JOBSTACK_EFILE,
				   "%s, written on %s, is shorter than it was when attempt %" PRIu32 " ended",
				   from->path.data, s->node.data, s->chosen);
	else if (got == 2 && errno != EPIPE)
		cli_tell(cli, "can't write the output: %s", strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return got == 0 ? 0 : got == 2 ? 2 : 1;
}

/* What the database has of it. */
static int print_tail(struct cli *cli, const struct search *s, int to)
{
	if (cli->error.code != 0)
		cli_tell(cli, "%s; this is the end of its standard error, from the database:", cli->error.text);
	else
		cli_say(cli, "only the end of its standard error was kept:");
	js_error_clear(&cli->error);
	return js_file_write_all(to, s->tail.data, s->tail.len) == 0 || errno == EPIPE ? CLI_NO : CLI_BUG;
}

static int print_output(struct cli *cli, const struct search *s, int only_out, int only_err)
{
	int err = only_err ? STDOUT_FILENO : STDERR_FILENO, got = 0;

	if (!only_err)
		got = print_stream(cli, s, &s->out, STDOUT_FILENO);
	if (got == 0 && !only_out)
		got = print_stream(cli, s, &s->err, err);
	if (s->tail.len > 0 && !only_out && (got == 1 || s->out.len + s->err.len == 0))
		return print_tail(cli, s, err);
	return got == 0 ? CLI_YES : got == 2 ? CLI_BUG : cli_fail(cli);
}

/* There is nothing to print: why? */
static int explain_no_output(struct cli *cli, const struct search *s, uint64_t entry)
{
	if (s->attempt > s->last) {
		(void)js_error_set(&cli->error, JOBSTACK_EMISSING, "entry %" PRIu64 " has no attempt %" PRIu64, entry,
				   s->attempt);
		return cli_fail(cli);
	}
	if (s->silent) {
		cli_say(cli, "entry %" PRIu64 " printed nothing", entry);
		return CLI_YES;
	}
	cli_say(cli,
		s->last == 0 ? "entry %" PRIu64 " has not run yet"
		: s->running ? "entry %" PRIu64 " is running: its output can be shown when it has ended"
			     : "no output of entry %" PRIu64 " was kept",
		entry);
	return CLI_NO;
}

static struct search search;
static int only_out, only_err;
static const struct cli_take takes[] = {{ATTEMPT, CLI_NUMBER(&search.attempt, 1, UINT32_MAX, "a number from 1 on")},
					{ONLY_OUT, CLI_FLAG(&only_out)},
					{ONLY_ERR, CLI_FLAG(&only_err)},
					CLI_TAKE_END};

static int check_logs(struct cli *cli)
{
	if (only_out && only_err)
		return cli_usage(cli, "--stdout and --stderr can't be used together: without them both are printed");
	return cli_check_entry(cli);
}

static int print_logs(struct cli *cli)
{
	struct search *s = &search;
	uint64_t entry;
	int status = cli_entry(cli, cli->words[0], &entry);

	JS_THEN(status, jobstack_attempts(cli->handle, cli->stack, entry, note_output, s, &cli->error));
	if (status == 0 && (s->out.path.failed || s->err.path.failed || s->node.failed || s->tail.failed))
		status = js_error_memory(&cli->error);
	if (status != 0)
		status = cli_fail(cli);
	else if (s->chosen == 0)
		status = explain_no_output(cli, s, entry);
	else {
		if (s->attempt == 0 && s->chosen != s->last)
			cli_say(cli, "this is attempt %" PRIu32 " of %" PRIu32, s->chosen, s->last);
		status = print_output(cli, s, only_out, only_err);
	}
	js_buf_free(&s->out.path);
	js_buf_free(&s->err.path);
	js_buf_free(&s->node);
	js_buf_free(&s->tail);
	return status;
}

static const char about[] =
	"Prints what the command of an entry (given by its number or datapath) printed: its standard output to "
	"standard output,\nthen its standard error to standard error. If the log files can't be read on this host, it "
	"prints the end of a failed\nattempt's standard error from the database, and ends with 1.";
static const char notes[] =
	"  jobstack logs -s mystack 17\n  jobstack logs -s mystack '/data/day 1.nc' --attempt 1 --stderr";
static const struct js_opts opts = {"jobstack logs", "ENTRY [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_logs = {&opts, takes, NULL, 0, 10 * JS_SECOND_US, check_logs, print_logs};

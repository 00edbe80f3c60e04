/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What was started last.  Promises: only what the same user started is repeated, or suggested to be.  The database is
 * not trusted with that: each line is signed by a key in the user's home directory.
 */
#include "cli/last_start.h"

#include "base/file.h"
#include "base/home.h"
#include "frame/sbatch.h"
#include "show/amount.h"
#include "show/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECT_US INT64_C(10000000)
#define KEY_LEN 32
#define SIGNATURE_LEN 64 /* hexadecimal digits, the first word of what is recorded */

static const char *const verb[] = {[JOBSTACK_BY_RUN] = "run", [JOBSTACK_BY_SUBMIT] = "submit"};

/* The search: what is looked for, and what was found; nothing, if LINE is empty. */
struct started {
	int way, found;	 /* -1: any; none yet */
	const char *dir; /* NULL: any */
	int64_t ago_us;
	char stack[JOBSTACK_STACK_MAX + 1];
	struct js_buf cwd;
	struct cli_words line; /* a verb, options, "--", the command */
	int unsigned_n;	       /* so many lines of this user were passed over, since our key has not signed them */
};

/* ------------------------------------------------------------------------------------------------ the signature */

/* Reads the key with which this user's lines are signed; MAKE: makes one if there is none.  A file that belongs to
 * someone else, or that others can read, is not accepted, since others could sign with it.  0, or -1. */
static int read_key(unsigned char key[KEY_LEN], int make)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, ok;

	js_home_xdg(js_home_getenv, "XDG_STATE_HOME", ".local/state/jobstack/key", path, sizeof(path));
	if (path[0] == '\0')
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT && make) {
		js_file_random(key, KEY_LEN);
		if (js_file_make_parent(path, 0700) != 0 || js_file_replace(path, 0600, key, KEY_LEN) != 0)
			return -1;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW); /* another call may have been faster */
	}
	ok = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0 &&
	     read(fd, key, KEY_LEN) == KEY_LEN;
	js_file_close(&fd);
	return ok ? 0 : -1;
}

/* Signs what would be repeated: WORDS, in the directory CWD, for STACK.  All that decides what runs is in the signed
 * text, so nobody can move a line to another stack or directory.  0, or -1. */
static int sign_line(char signature[SIGNATURE_LEN + 1], int make, enum jobstack_way way, const char *stack,
		     const char *cwd, const void *words, size_t len)
{
	unsigned char key[KEY_LEN], digest[SIGNATURE_LEN / 2];
	struct js_buf text = {0};
	int failed;

	js_buf_printf(&text, "%s%c%s%c%s%c", verb[way], 0, stack, 0, cwd, 0);
	js_buf_add(&text, words, len);
	failed = text.failed || read_key(key, make) != 0 ||
		 HMAC(EVP_sha256(), key, KEY_LEN, (const unsigned char *)text.data, text.len, digest, NULL) == NULL;
	for (size_t i = 0; i < sizeof(digest) && !failed; i++)
		(void)snprintf(signature + 2 * i, 3, "%02x", digest[i]);
	js_buf_free(&text);
	return failed ? -1 : 0;
}

/* Returns whether LAST was signed by this user; then *WORDS is what was signed. */
static int is_signed(const struct jobstack_last *last, struct jobstack_bytes *words)
{
	char own[SIGNATURE_LEN + 1];

	if (last->words.len <= SIGNATURE_LEN)
		return 0;
	*words = (struct jobstack_bytes){(const char *)last->words.data + SIGNATURE_LEN + 1,
					 last->words.len - SIGNATURE_LEN - 1};
	return sign_line(own, 0, last->way, last->stack, last->cwd, words->data, words->len) == 0 &&
	       CRYPTO_memcmp(own, last->words.data, SIGNATURE_LEN + 1) == 0;
}

/* ------------------------------------------------------------------------------------------------------ the line */

/* What can't be signed (there is no home directory, for example) is recorded without its words: then `status` knows of
 * the job, but --again has nothing to repeat.  A call that sbatch has rejected has no words either. */
void cli_last_start_record(struct cli *cli, const struct jobstack_last *start, const struct cli_words *command)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct jobstack_last note = *start;
	struct cli_words line = {0};
	struct js_buf words = {0}, record = {0};
	char dir[PATH_MAX], signature[SIGNATURE_LEN + 1];

	cli_words_all(&line, &cli->options);
	cli_words_add(&line, "--");
	cli_words_all(&line, command);
	for (size_t i = 0; i < line.n && note.way != JOBSTACK_REJECTED; i++)
		js_buf_add(&words, line.at[i], strlen(line.at[i]) + 1);
	note.user = geteuid();
	note.cwd = getcwd(dir, sizeof(dir));
	if (words.len > 0 && note.cwd != NULL &&
	    sign_line(signature, 1, note.way, cli->stack, note.cwd, words.data, words.len) == 0) {
		js_buf_add(&record, signature, sizeof(signature));
		js_buf_add(&record, words.data, words.len);
	}
	note.words = (struct jobstack_bytes){record.data, record.len};
	if (note.cwd != NULL && !line.failed && !words.failed && !record.failed)
		(void)jobstack_note_start(cli->handle, cli->stack, &note, &ignored);
	cli_words_free(&line);
	js_buf_free(&words);
	js_buf_free(&record);
}

/* Keeps the newest start that fits.  Starts come in no order, and all of them once more if the connection was lost.
 * One that our key has not signed may be anybody's, and is only counted. */
static void note_started(void *ctx, const struct jobstack_last *last)
{
	struct started *s = ctx;
	struct jobstack_bytes words;
	const char *word;

	if ((s->line.n > 0 && last->job_us >= s->ago_us) || last->words.len == 0 || last->user != geteuid() ||
	    last->way > JOBSTACK_BY_SUBMIT || (s->way >= 0 && s->way != (int)last->way) ||
	    (s->dir != NULL && strcmp(s->dir, last->cwd) != 0))
		return;
	if (!is_signed(last, &words)) {
		s->unsigned_n++;
		return;
	}
	word = words.data;
	cli_words_free(&s->line);
	js_buf_reset(&s->cwd);
	s->found = (int)last->way;
	s->ago_us = last->job_us;
	(void)snprintf(s->stack, sizeof(s->stack), "%s", last->stack);
	js_buf_str(&s->cwd, last->cwd);
	cli_words_add(&s->line, verb[last->way]);
	for (size_t at = 0; at < words.len; at += strlen(word + at) + 1)
		cli_words_add(&s->line, word + at);
}

/* Appends the line as it could be typed: with OPTIONS, and the words of S from number FROM on. */
static void show_line(const struct started *s, const struct cli_words *options, size_t from, struct js_buf *out)
{
	js_buf_printf(out, "jobstack %s --stack=%s ", s->line.at[0], s->stack);
	cli_words_quote(out, options);
	js_buf_str(out, options->n > 0 ? " " : "");
	cli_words_quote(out, &(struct cli_words){.at = s->line.at + from, .n = s->line.n - from});
}

/* Reads the options of S, and after them those of this call, so that these count where both have one. */
static int parse_both(struct cli *cli, const struct started *s)
{
	const struct cli_words *line = &s->line;
	struct js_buf shown = {0};
	size_t n = 1;

	while (n < line->n && strcmp(line->at[n], "--") != 0)
		n++;
	cli_words_free(&cli->options);
	cli->stack_typed = 0; /* by the second reading it is not given twice */
	cli->stacks_n = 0;
	JS_TRY(cli_parse_more(cli, (int)n - 1, line->at));
	JS_TRY(cli_parse_more(cli, cli->argc - 1, cli->argv));
	show_line(s, &cli->options, n, &shown);
	cli_say(cli, "repeating, in %s: %s", s->cwd.data, shown.failed ? "" : shown.data);
	js_buf_free(&shown);
	n += n < line->n;
	cli->words = line->at + n;
	cli->words_n = line->n - n;
	return 0;
}

/* The option file is made absolute before the directory changes: its name is relative to where this call was typed. */
int cli_last_start_repeat(struct cli *cli, enum jobstack_way way, const char *dir)
{
	static struct started s; /* its words are used from now on */
	static char path[CLI_PATH];
	const char *file = cli_option_file(cli);
	int is_relative = file != NULL && file[0] != '/' && cli_absolute(file, path) == 0, status;

	if (cli->words_n > 0)
		return cli_usage(cli, "--again repeats the command, too: \"%s\" can't be given", cli->words[0]);
	JS_TRY(cli_connect(cli, CONNECT_US));
	s = (struct started){.way = (int)way, .found = -1, .dir = dir};
	status = jobstack_last(cli->handle, dir != NULL ? NULL : cli->stack, note_started, &s, &cli->error);
	if (status != 0 && status != JOBSTACK_EMISSING)
		return cli_fail(cli);
	if (s.line.failed || s.cwd.failed)
		return cli_no_memory(cli);
	if (s.line.n == 0 && s.unsigned_n > 0)
		cli_tell(cli,
			 "the last `jobstack %s` %s %s is not repeated, because it is not signed by the key in this "
			 "home "
			 "directory: give the whole command line once",
			 verb[way], dir != NULL ? "in" : "of the stack", dir != NULL ? dir : cli->stack);
	else if (s.line.n == 0)
		cli_tell(cli, "you have no earlier `jobstack %s` %s %s to repeat: give the whole command line once",
			 verb[way], dir != NULL ? "in" : "of the stack", dir != NULL ? dir : cli->stack);
	else if (chdir(s.cwd.data) != 0)
		cli_tell(cli, "can't change to %s, from where this was called: %s", s.cwd.data, strerror(errno));
	else {
		JS_TRY(parse_both(cli, &s));
		cli->defaults_file = is_relative ? path : cli->defaults_file; /* from where we were called */
		cli->stack = s.stack;
		cli->stack_given = cli->stack_typed = 1;
		return 0;
	}
	return CLI_USAGE;
}

int cli_last_start_way(struct jobstack *handle, const char *stack, struct js_buf *last)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct started s = {.way = -1, .found = -1};

	(void)jobstack_last(handle, stack, note_started, &s, &ignored);
	if (s.line.n > 0 && last != NULL) {
		js_buf_printf(last, "%s ago in ", show_duration(s.ago_us).text);
		show_safe(last, s.cwd.data, s.cwd.len);
		js_buf_str(last, ": ");
		show_line(&s, &(struct cli_words){.n = 0}, 1, last);
	}
	js_buf_free(&s.cwd);
	cli_words_free(&s.line);
	return s.found;
}

void cli_last_start_command(int way, const char *stack, struct js_buf *next)
{
	if (way >= 0)
		js_buf_printf(next, way == JOBSTACK_BY_RUN ? "`jobstack run -s %s`" : "`jobstack submit %s --again`",
			      stack);
}

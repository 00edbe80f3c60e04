/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names from the command line or a stream.  Promises: flat memory; when the writer pauses, what is complete is given
 * out; a line that is too long is given as it is as far as it fits, so that the push refuses it with its number; lines
 * are not taken for one name that ends with NUL; what looks like a list from Windows is refused before the first of it
 * is given.
 */
#include "cli/input.h"

#include "view/words.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_MS 100

/* Refuses a word that the shell has left as it is, since it matched no file.  0, or the exit status. */
static int check_words(const struct cli *cli, const struct cli_input *in)
{
	char *const *words = in->words;
	struct stat st;

	for (size_t i = 0; i < in->words_n; i++) {
		/* what has a ? may well be a URL */
		if ((strchr(words[i], '*') == NULL &&
		     (strchr(words[i], '?') == NULL || strstr(words[i], "://") != NULL)) ||
		    lstat(words[i], &st) == 0)
			continue;
		cli_tell(cli,
			 "\"%s\" matches no file, so nothing was pushed; if the name really contains * or ?, push it "
			 "through standard input",
			 words[i]);
		return CLI_NO;
	}
	return 0;
}

int cli_input_open(struct cli *cli, struct cli_input *in, const char *file)
{
	if (in->nul && in->crlf)
		return cli_usage(
			cli,
			"--crlf and -0 can't be used together: --crlf is for lines, -0 for names that end with NUL");
	if (in->words != NULL && (file != NULL || in->nul || in->crlf))
		return cli_usage(
			cli, "names come either from the arguments or from a stream (-0, -a, --crlf), not from both");
	if (in->words != NULL)
		return in->commands ? 0 : check_words(cli, in);
	if (file == NULL || strcmp(file, "-") == 0)
		return 0;
	in->fd = open(file, O_RDONLY | O_CLOEXEC);
	if (in->fd >= 0)
		return 0;
	cli_tell(cli, "can't read --arg-file \"%s\": %s", file, strerror(errno));
	return CLI_USAGE;
}

const char *cli_input_unit(const struct cli_input *in)
{
	return in->words != NULL ? "argument" : in->nul ? "name" : "line";
}

void cli_input_say_empty(const struct cli *cli, const struct cli_input *in)
{
	if (in->empty > 0)
		cli_say(cli, "skipped %" PRIu64 " empty line%s", in->empty, view_plural(in->empty));
}

/* Reads some more: 0, 1 at the end, 2 when nothing came for a while, -1 to stop. */
static int fill_input(struct cli_input *in)
{
	struct pollfd wait = {.fd = in->fd, .events = POLLIN};
	ssize_t n;
	int ready;

	if (in->begin > 0) {
		memmove(in->buffer, in->buffer + in->begin, in->end - in->begin);
		in->end -= in->begin;
		in->begin = 0;
	}
	ready = poll(&wait, 1, PAUSE_MS);
	if (cli_stop != 0)
		return -1;
	if (ready == 0 || (ready < 0 && errno == EINTR))
		return 2;
	n = read(in->fd, in->buffer + in->end, sizeof(in->buffer) - in->end);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 2;
	if (n < 0) {
		in->read_errno = errno;
		return -1;
	}
	in->end += (size_t)n;
	in->at_end = n == 0;
	return 0;
}

/* Do all whole lines that have come end with a carriage return?  A last one that has no end counts if it is the only
 * one. */
static int is_all_cr(const struct cli_input *in)
{
	const char *line = in->buffer + in->begin, *end = in->buffer + in->end, *stop;
	int lines = 0;

	for (; (stop = memchr(line, '\n', (size_t)(end - line))) != NULL; line = stop + 1, lines++)
		if (stop == line || stop[-1] != '\r')
			return 0;
	return lines > 0 || (in->at_end && line < end && end[-1] == '\r');
}

int cli_input_refused(const struct cli *cli, const struct cli_input *input, uint64_t pushed)
{
	if (input->no_nul)
		cli_tell(cli,
			 "the input ends with a newline, not with a NUL as find -print0 writes it: leave out -0 "
			 "(%" PRIu64 " %s had been pushed)",
			 VIEW_NAMES(pushed));
	else if (input->all_cr)
		cli_tell(cli,
			 "every line of the input ends with a carriage return, as in files from Windows, so nothing "
			 "was pushed: --crlf strips the carriage returns, -0 keeps them as part of the names");
	else if (input->directive > 0)
		cli_tell(cli,
			 "line %" PRIu64
			 " is a #DISBATCH line, which jobstack does not support (pushed before it: %" PRIu64
			 "): write the whole command on each line, and push what comes after a barrier onto another "
			 "stack",
			 input->directive, pushed);
	return input->no_nul || input->all_cr || input->directive > 0;
}

/* As in a task file of disBatch. */
static int is_comment(const struct jobstack_bytes *line)
{
	const char *text = line->data;
	size_t at = 0;

	while (at < line->len && isspace((unsigned char)text[at]))
		at++;
	return at == line->len || text[at] == '#';
}

int cli_input_next(void *ctx, struct jobstack_bytes *datapath)
{
	struct cli_input *in = ctx;
	int delimiter = in->nul ? '\0' : '\n', got;

	if (in->words != NULL) {
		if (in->lines == in->words_n || cli_stop != 0)
			return cli_stop != 0 ? -1 : 1;
		*datapath = (struct jobstack_bytes){in->words[in->lines], strlen(in->words[in->lines])};
		in->lines++;
		return 0;
	}
	for (;;) {
		char *start = in->buffer + in->begin;
		size_t len = in->end - in->begin;
		char *stop = memchr(start, delimiter, len);

		if (stop == NULL && in->at_end && len == 0)
			return 1;
		if (stop == NULL && in->at_end && in->nul && start[len - 1] == '\n') {
			in->no_nul = 1;
			return -1;
		}
		if (stop == NULL && (in->at_end || len > JOBSTACK_DATAPATH_MAX + (size_t)in->crlf))
			stop = start + len; /* the last, without its end; or one that is too long already */
		if (stop != NULL && in->lines == 0 && !in->nul && !in->crlf && is_all_cr(in)) {
			in->all_cr = 1;
			return -1;
		}
		if (stop != NULL) {
			*datapath = (struct jobstack_bytes){start, (size_t)(stop - start)};
			in->begin += datapath->len + (size_t)(stop < start + len);
			datapath->len -= (size_t)(in->crlf && datapath->len > 0 && stop[-1] == '\r');
			in->lines++;
			if (datapath->len == 0 && !in->nul) {
				in->empty++;
				continue;
			}
			if (in->commands && is_comment(datapath)) {
				if (datapath->len >= 9 && strncasecmp(datapath->data, "#DISBATCH", 9) == 0) {
					in->directive = in->lines;
					return -1;
				}
				continue;
			}
			if (datapath->len > JOBSTACK_DATAPATH_MAX)
				in->long_line = in->lines;
			if (!in->nul && in->nul_line == 0 && memchr(start, '\0', datapath->len) != NULL)
				in->nul_line = in->lines;
			in->names++;
			return 0;
		}
		got = fill_input(in);
		if (got != 0)
			return got;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names from the command line or a stream.  Promises: flat memory; when the writer pauses, what is complete is given
 * out; a bad name is told with its number, and left out; lines are not taken for one name that ends with NUL; what
 * looks like a list from Windows is refused before the first of it is given.
 */
#include "cli/input.h"

#include "base/num.h"
#include "show/words.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_MS 100
#define TOLD 10				      /* bad names that are told one by one */
#define LINE_MOST (JOBSTACK_DATAPATH_MAX + 4) /* with a byte-order mark and a carriage return */
#define MARK "\xef\xbb\xbf"
#define DISBATCH "#DISBATCH"

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
	in->cli = cli;
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

void cli_input_say_skipped(const struct cli *cli, const struct cli_input *in)
{
	if (in->mark)
		cli_say(cli, "line 1 begins with a byte-order mark, which was dropped");
	if (in->empty > 0)
		cli_say(cli, "skipped %" PRIu64 " empty line%s", in->empty, show_plural(in->empty));
	if (in->refused > TOLD)
		cli_tell(cli, "%" PRIu64 " more were refused", in->refused - TOLD);
}

/* Reads some more into the buffer.  Returns 0; 2 when nothing came for a while, so that the caller can use the names
 * that it has; -1 to stop, after a signal or with read_errno set.  The poll is bounded, since a signal that comes just
 * before it would not end it. */
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

/* Returns the number of the first line, in what has come so far, that ends with a carriage return; 0: none does. */
static uint64_t find_cr(const struct cli_input *in)
{
	const char *line = in->buffer + in->begin, *end = in->buffer + in->end, *stop;
	uint64_t number = 1;

	for (; (stop = memchr(line, '\n', (size_t)(end - line))) != NULL; line = stop + 1, number++)
		if (stop > line && stop[-1] == '\r')
			return number;
	return in->at_end && line < end && end[-1] == '\r' ? number : 0;
}

/* Each of these but the last is a mistake in the whole list, not in a name. */
int cli_input_refused(const struct cli *cli, const struct cli_input *input, uint64_t pushed)
{
	if (input->no_nul)
		cli_tell(cli,
			 "the input ends with a newline, not with a NUL as find -print0 writes it: leave out -0 "
			 "(%" PRIu64 " %s had been pushed)",
			 SHOW_NAMES(pushed));
	else if (input->cr_line > 0)
		cli_tell(cli,
			 "line %" PRIu64
			 " ends with a carriage return, as in files from Windows, so nothing was pushed: "
			 "--crlf strips the carriage returns, -0 keeps them as part of the names",
			 input->cr_line);
	else if (input->directive > 0)
		cli_tell(cli,
			 "line %" PRIu64 ", #DISBATCH%s, is not supported (pushed before it: %" PRIu64
			 "): write the lines of a REPEAT out, as in `seq -f 'CMD %%g' 5 >>LIST`; put those after a "
			 "BARRIER into a second list, and type `jobstack run -a LIST && jobstack run -a SECOND`",
			 input->directive, input->line.data + strlen(DISBATCH), pushed);
	else if (input->atomic && input->refused > 0 && input->read_errno == 0 && cli_stop == 0) {
		cli_tell(cli, "nothing was pushed: correct what was refused, and push again");
		return CLI_NO;
	} else
		return 0;
	return CLI_USAGE;
}

struct counted_line {
	uint64_t hash;
	uint32_t pass, count;
};

static int compare_lines(const void *a, const void *b)
{
	const struct counted_line *one = a, *other = b;

	return one->hash < other->hash ? -1 : one->hash > other->hash;
}

uint32_t *cli_lines_find(struct cli_lines *lines, const void *text, size_t len, int add)
{
	const struct counted_line key = {js_num_hash(JS_NUM_HASH, text, len), lines->pass, 0};
	struct counted_line **found = tfind(&key, &lines->tree, compare_lines), *new = NULL;

	if (found == NULL && add && (new = malloc(sizeof(key))) != NULL) {
		*new = key;
		found = tsearch(new, &lines->tree, compare_lines);
	}
	if (found == NULL) {
		free(new);
		return NULL;
	}
	if ((*found)->pass != lines->pass)
		**found = key;
	return &(*found)->count;
}

/* Follows a line of disBatch, which begins with #DISBATCH, or notes that it can't. */
static void follow_directive(struct cli_input *in, const char *text, size_t len)
{
	const int known = len > 17 && text[9] == ' ', prefix = known && strncasecmp(text + 10, "PREFIX ", 7) == 0;
	struct js_buf *to = prefix						 ? &in->prefix
			    : known && strncasecmp(text + 10, "SUFFIX ", 7) == 0 ? &in->suffix
										 : &in->line;

	js_buf_reset(to);
	js_buf_add(to, text + (to == &in->line ? 0 : 17), len - (to == &in->line ? 0 : 17));
	in->directive = to == &in->line ? in->lines : 0;
}

/* Returns whether a line of --commands is blank or a comment, as task files of disBatch have them. */
static int is_comment(struct cli_input *in, const struct jobstack_bytes *line)
{
	const char *text = line->data;
	size_t at = 0;

	while (at < line->len && isspace((unsigned char)text[at]))
		at++;
	if (line->len - at >= strlen(DISBATCH) && strncasecmp(text + at, DISBATCH, strlen(DISBATCH)) == 0)
		follow_directive(in, text + at, line->len - at);
	return at == line->len || text[at] == '#';
}

/* Returns what is wrong with the end of a name; NULL: nothing. */
static const char *judge_end(const struct cli_input *in, const struct jobstack_bytes *name)
{
	const char *end = (const char *)name->data + name->len, *slash = end;

	while (in->commands && slash > (const char *)name->data && slash[-1] == '\\')
		slash--;
	if ((end - slash) % 2 != 0)
		return "it ends with a backslash: write the whole command on one line";
	return in->words == NULL && !in->nul && !in->crlf && name->len > 0 && end[-1] == '\r'
		       ? "it ends with a carriage return (--crlf strips it)"
		       : NULL;
}

/* Makes the command of a line: puts it between PREFIX and SUFFIX, and adds a comment if it has come before.  The line
 * with the comment may have come, too, as somebody has written it. */
static void make_command(struct cli_input *in, struct jobstack_bytes *name)
{
	uint32_t *count = NULL;

	js_buf_reset(&in->line);
	js_buf_add(&in->line, in->prefix.data, in->prefix.len);
	js_buf_add(&in->line, name->data, name->len);
	js_buf_add(&in->line, in->suffix.data, in->suffix.len);
	do {
		if (count != NULL)
			js_buf_printf(&in->line, " #%" PRIu32, *count);
		*name = (struct jobstack_bytes){in->line.data, in->line.len};
		if (in->known == NULL || judge_end(in, name) != NULL)
			return;
		count = cli_lines_find(in->known, name->data, name->len, 1);
	} while (count != NULL && ++*count > 1);
	if (count == NULL || in->line.failed)
		in->read_errno = ENOMEM;
}

/* Returns what is wrong with a name, perhaps in TEXT; NULL: nothing. */
static const char *judge_name(const struct cli_input *in, const struct jobstack_bytes *name, char text[80])
{
	const char *bytes = name->data;

	if (in->cut_nul || memchr(bytes, '\0', name->len) != NULL)
		return "it has a NUL byte (was -0 meant?)";
	if (in->cut + name->len > JOBSTACK_DATAPATH_MAX) {
		(void)snprintf(text, 80, "it is %zu bytes long, and %d is the limit", in->cut + name->len,
			       JOBSTACK_DATAPATH_MAX);
		return text;
	}
	if (name->len == 0)
		return "it is empty";
	return judge_end(in, name);
}

/* Returns whether the name may be given to the caller.  A bad one is counted, and the first TOLD of them are printed
 * with their reasons. */
static int accept_name(struct cli_input *in, struct jobstack_bytes *name)
{
	const char *why;
	char text[80];

	if (in->commands && in->cut == 0)
		make_command(in, name);
	why = judge_name(in, name, text);
	if (why != NULL && in->refused++ < TOLD)
		cli_tell(in->cli, "%s %" PRIu64 " was refused: %s",
			 in->words != NULL ? "argument"
			 : in->nul	   ? "name"
					   : "line",
			 in->lines, why);
	in->cut = 0;
	in->cut_nul = 0;
	return why == NULL && in->read_errno == 0 && !(in->atomic && in->refused > 0);
}

/* Cuts off what is not part of the name: with --crlf the carriage return at its end, and a byte-order mark at the
 * beginning of the input. */
static void strip_line(struct cli_input *in, struct jobstack_bytes *line)
{
	const char *text = line->data;

	line->len -= (size_t)(in->crlf && line->len > 0 && text[line->len - 1] == '\r');
	if (in->lines == 1 && in->cut == 0 && line->len >= strlen(MARK) && memcmp(text, MARK, strlen(MARK)) == 0) {
		in->mark = 1;
		*line = (struct jobstack_bytes){text + strlen(MARK), line->len - strlen(MARK)};
	}
}

/* Returns whether a line is no name: it is empty, a comment, or a #DISBATCH directive. */
static int skip_line(struct cli_input *in, const struct jobstack_bytes *line)
{
	if (in->commands)
		return is_comment(in, line);
	in->empty += line->len == 0;
	return line->len == 0;
}

/* Gives the next name from the command line.  (LINES counts these words, as it counts lines elsewhere.) */
static int next_word(struct cli_input *in, struct jobstack_bytes *datapath)
{
	while (in->lines < in->words_n && cli_stop == 0) {
		*datapath = (struct jobstack_bytes){in->words[in->lines], strlen(in->words[in->lines])};
		in->lines++;
		if (accept_name(in, datapath))
			return 0;
	}
	return cli_stop != 0 || (in->atomic && in->refused > 0) ? -1 : 1;
}

/* Reads until the buffer has a whole line.  If a line is longer than any name may be, what has come of it is dropped
 * while it is read, and only its length is counted in CUT.  So memory stays flat, and the line is refused with its
 * number when its end has come. */
int cli_input_next(struct cli_input *in, struct jobstack_bytes *datapath)
{
	int delimiter = in->nul ? '\0' : '\n', got;

	if (in->words != NULL)
		return next_word(in, datapath);
	for (;;) {
		if (in->read_errno != 0)
			return -1;
		char *start = in->buffer + in->begin;
		size_t len = in->end - in->begin;
		char *stop = memchr(start, delimiter, len);

		if (stop == NULL && in->at_end && in->cut + len == 0)
			return in->atomic && in->refused > 0 ? -1 : 1;
		if (stop == NULL && in->at_end && in->nul && len > 0 && start[len - 1] == '\n') {
			in->no_nul = 1;
			return -1;
		}
		if (stop == NULL && in->at_end)
			stop = start + len; /* the last, without its end */
		/* before the first name is given, all that has come so far is searched for carriage returns: nothing is
		 * pushed yet, so the whole list can be refused */
		if ((stop != NULL || len > LINE_MOST) && in->lines == 0 && in->cut == 0 && !in->nul && !in->crlf &&
		    (in->cr_line = find_cr(in)) > 0)
			return -1;
		if (stop == NULL && len > LINE_MOST) {
			/* the name is refused anyway, but its end must still be found */
			in->cut += len;
			in->cut_nul |= memchr(start, '\0', len) != NULL;
			in->begin = in->end;
		}
		if (stop == NULL && (got = fill_input(in)) != 0)
			return got;
		if (stop == NULL)
			continue;
		*datapath = (struct jobstack_bytes){start, (size_t)(stop - start)};
		in->begin += datapath->len + (size_t)(stop < start + len);
		in->lines++;
		if (!in->nul)
			strip_line(in, datapath);
		if (!in->nul && in->cut == 0 && skip_line(in, datapath)) {
			if (in->directive > 0)
				return -1;
		} else if (accept_name(in, datapath))
			return 0;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Persistent commands.  Promises: a line is an answer only if it is one from its first byte to its last; what is output
 * stays as it was, byte for byte and in its order; a line without an end takes no more memory than any other; an answer
 * counts only for a request that the process has read.
 */
#include "exec/persist.h"

#include "base/file.h"
#include "base/num.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* -------------------------------------------------------------------------------------------------- the protocol */

size_t js_persist_encode(char *to, uint64_t entry, uint32_t attempt, const char *datapath, size_t len)
{
	size_t n = js_num_text(entry, to);

	if (len > JOBSTACK_DATAPATH_MAX)
		return 0;
	to[n++] = ' ';
	n += js_num_text(attempt, to + n);
	to[n++] = ' ';
	for (size_t i = 0; i < len; i++) {
		char c = datapath[i];

		if (c == '\\' || c == '\n' || c == '\r') {
			to[n++] = '\\';
			c = c == '\n' ? 'n' : c == '\r' ? 'r' : c;
		}
		to[n++] = c;
	}
	to[n++] = '\n';
	return n;
}

/* Makes one line of UTF-8 out of any bytes, cut to the size of a message.  It goes into the database and onto
 * terminals, so control characters and invalid bytes become '?'. */
static void make_message(char message[JS_PERSIST_MESSAGE], const char *text, size_t len)
{
	size_t n = 0, at = 0;

	while (at < len) {
		unsigned char first = (unsigned char)text[at];
		size_t c = js_utf8_len(text + at, len - at);
		int shown = c > 0 && first >= 0x20 && first != 0x7f &&
			    !(c == 2 && first == 0xc2 && (unsigned char)text[at + 1] < 0xa0); /* C1 controls */

		if (n + (shown ? c : 1) >= JS_PERSIST_MESSAGE)
			break;
		if (shown)
			memcpy(message + n, text + at, c);
		else
			message[n] = first == '\t' ? ' ' : '?';
		n += shown ? c : 1;
		at += c > 0 ? c : 1;
	}
	message[n] = '\0';
}

/* Parses what follows "failed".  Returns 1, and fills ANSWER, if the line is an answer:
 *
 *   "" or " "            failed without a code: code 1, and a message that says so
 *   " CODE"              the code, no message
 *   " CODE MESSAGE"      both; a code that is not 1 to 255 becomes 1, with a message that says so
 *   anything else        output, such as "failed to open the file": returns 0
 */
static int parse_failed(const char *rest, size_t len, struct js_persist_answer *answer)
{
	size_t digits = 0;
	int code = 0;

	if (len > 0 && rest[0] == ' ')
		while (digits + 1 < len && rest[digits + 1] >= '0' && rest[digits + 1] <= '9') {
			if (code < 256)
				code = 10 * code + (rest[digits + 1] - '0');
			digits++;
		}
	if (digits == 0 && !(len == 0 || (len == 1 && rest[0] == ' ')))
		return 0; /* "failed to open ..." is what people print */
	if (digits > 0 && len > digits + 1 && rest[digits + 1] != ' ')
		return 0;
	answer->message[0] = '\0';
	if (digits > 0 && len > digits + 2)
		make_message(answer->message, rest + digits + 2, len - digits - 2);
	if (digits == 0 || code < 1 || code > 255) {
		char text[JS_PERSIST_MESSAGE + 80];
		int n = snprintf(text, sizeof(text), "it answered \"failed\" %s%s%s",
				 digits == 0 ? "without a code from 1 to 255" : "with a code that is not 1 to 255",
				 answer->message[0] != '\0' ? ": " : "", answer->message);

		make_message(answer->message, text, (size_t)n);
		code = 1;
	}
	answer->code = code;
	return 1;
}

int js_persist_parse(const char *line, size_t len, struct js_persist_answer *answer)
{
	if (len == 4 && memcmp(line, "done", 4) == 0) {
		answer->code = 0;
		answer->message[0] = '\0';
		return 1;
	}
	return len >= 6 && memcmp(line, "failed", 6) == 0 && parse_failed(line + 6, len - 6, answer);
}

/* Moves what is left to the beginning of the buffer.  After MORE that is at most the beginning of a line,
 * JS_PERSIST_LINE bytes, since longer lines are passed on in pieces. */
char *js_persist_room(struct js_persist_reader *r, size_t *room)
{
	if (r->at > 0) {
		memmove(r->data, r->data + r->at, r->end - r->at);
		r->end -= r->at;
		r->at = 0;
	}
	*room = sizeof(r->data) - r->end;
	return r->data + r->end;
}

/* Passes on the rest of a line whose kind is known: LEN bytes of it are here, up to its newline if HAS_END.  An answer
 * is reported when its newline has come. */
static enum js_persist_piece continue_line(struct js_persist_reader *r, int has_end, size_t *len)
{
	enum js_persist_piece piece = r->state == JS_PERSIST_IN_OUTPUT ? JS_PERSIST_OUTPUT
				      : has_end			       ? JS_PERSIST_ANSWER
								       : JS_PERSIST_MORE;

	r->at += *len;
	if (has_end)
		r->state = JS_PERSIST_AT_LINE;
	return piece;
}

/* The kind of a line is decided as soon as its newline has come, or when it is longer than any answer but one with a
 * long message.  At the end of the stream, a line without a newline is no answer: the process may have died while
 * writing it. */
enum js_persist_piece js_persist_next(struct js_persist_reader *r, int at_end, const char **text, size_t *len)
{
	const char *newline;
	int answer;

	if (r->at == r->end)
		return JS_PERSIST_MORE;
	*text = r->data + r->at;
	newline = memchr(*text, '\n', r->end - r->at);
	*len = newline != NULL ? (size_t)(newline - *text) + 1 : r->end - r->at;
	if (r->state == JS_PERSIST_AT_LINE && newline == NULL && *len <= JS_PERSIST_LINE && !at_end)
		return JS_PERSIST_MORE;
	if (r->state == JS_PERSIST_AT_LINE) {
		size_t whole = newline != NULL ? *len - 1 : *len;

		answer = (newline != NULL || !at_end || whole > JS_PERSIST_LINE) &&
			 js_persist_parse(*text, whole < JS_PERSIST_LINE ? whole : JS_PERSIST_LINE, &r->answer);
		r->state = answer ? JS_PERSIST_IN_ANSWER : JS_PERSIST_IN_OUTPUT;
	}
	return continue_line(r, newline != NULL, len);
}

/* --------------------------------------------------------------------------------------------------- the process */

struct js_persist *js_persist_new(void)
{
	struct js_persist *p = calloc(1, sizeof(*p));

	if (p != NULL)
		p->in = p->out = p->to = -1;
	return p;
}

void js_persist_free(struct js_persist *p)
{
	int saved = errno;

	if (p == NULL)
		return;
	js_file_close(&p->in);
	js_file_close(&p->out);
	free(p);
	errno = saved;
}

/* Makes our end of a pipe non-blocking.  The process's end still blocks, as any program expects. */
static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* The pipes' ends that the process gets are closed here at once, so that its end is seen as the end of the pipe. */
pid_t js_persist_start(struct js_persist *p, struct js_spawn *spawn, const char *path, char *const argv[],
		       char *const envp[], int out, int err)
{
	int in[2] = {-1, -1}, from[2] = {-1, -1};
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 || set_nonblocking(in[1]) != 0 ||
	    set_nonblocking(from[0]) != 0)
		pid = -errno;
	else
		pid = js_spawn_start_fed(spawn, path, argv, envp, in[0], from[1], err);
	js_file_close(&in[0]);
	js_file_close(&from[1]);
	if (pid < 0) {
		js_file_close(&in[1]);
		js_file_close(&from[0]);
		return pid;
	}
	p->pid = pid;
	p->in = in[1];
	p->out = from[0];
	p->to = out;
	p->asked = p->failed = 0;
	p->answers = 0;
	p->request_len = p->sent = 0;
	p->reader.at = p->reader.end = 0;
	p->reader.state = JS_PERSIST_AT_LINE;
	return pid;
}

int js_persist_ask(struct js_persist *p, uint64_t entry, uint32_t attempt, const char *datapath, size_t len)
{
	p->request_len = js_persist_encode(p->request, entry, attempt, datapath, len);
	p->sent = 0;
	p->asked = 0;
	if (p->request_len == 0) {
		errno = E2BIG;
		return -1;
	}
	if (js_persist_send(p) != 0)
		return -1;
	p->asked = 1;
	return 0;
}

/* EAGAIN is no error: the pipe is full, and the rest is sent when it can be written to again. */
int js_persist_send(struct js_persist *p)
{
	while (p->in >= 0 && p->sent < p->request_len) {
		ssize_t n = write(p->in, p->request + p->sent, p->request_len - p->sent);

		if (n > 0)
			p->sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			return 0;
		else if (n < 0 && errno != EINTR)
			return -1;
	}
	return 0;
}

/* The bytes in the pipe are those that the process has not read.  If the pipe is closed here, they can't be counted,
 * and count as read. */
int js_persist_is_unread(const struct js_persist *p, int all)
{
	int in_pipe = 0;

	if (p->in < 0 || ioctl(p->in, FIONREAD, &in_pipe) != 0) /* FIONREAD works at the writing end, too */
		in_pipe = 0;
	return all ? (size_t)in_pipe == p->sent : in_pipe > 0 || p->sent < p->request_len;
}

/* Returns at the first answer, so that the caller makes the outcome of the entry before any later output is read: what
 * is printed after an answer belongs to the next entry. */
enum js_persist_event js_persist_take(struct js_persist *p, int from_pipe)
{
	size_t room, len;
	const char *text;
	int at_end = 0;
	ssize_t n;
	char *to;

	if (from_pipe && p->out >= 0) {
		to = js_persist_room(&p->reader, &room);
		do
			n = read(p->out, to, room);
		while (n < 0 && errno == EINTR);
		at_end = n == 0 || (n < 0 && errno != EAGAIN);
		p->reader.end += n > 0 ? (size_t)n : 0;
	}
	for (;;) {
		enum js_persist_piece piece = js_persist_next(&p->reader, at_end, &text, &len);

		if (piece == JS_PERSIST_MORE)
			break;
		if (piece == JS_PERSIST_ANSWER) {
			if (!p->asked || js_persist_is_unread(p, 0))
				return JS_PERSIST_UNASKED;
			p->asked = 0;
			p->answers++;
			return JS_PERSIST_ANSWERED;
		}
		if (p->failed == 0 && js_file_write_all(p->to, text, len) != 0)
			p->failed = errno;
	}
	if (!at_end)
		return JS_PERSIST_NOTHING;
	js_file_close(&p->out);
	return JS_PERSIST_CLOSED;
}

int js_persist_has_more(const struct js_persist *p)
{
	int in_pipe = 0;

	return p->out >= 0 && ioctl(p->out, FIONREAD, &in_pipe) == 0 && in_pipe > 0;
}

void js_persist_ended(struct js_persist *p)
{
	js_file_close(&p->in);
	js_file_close(&p->out);
	p->pid = 0;
	p->asked = 0;
}

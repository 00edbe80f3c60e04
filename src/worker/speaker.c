/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The speaker.  Promises: lines are written whole, in the order in which they were said; while there is the thread,
 * saying a line waits for no file.
 */
#include "worker/speaker.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "show/picture.h"
#include "show/term.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PENDING (1 << 16) /* the pipe's capacity: lines beyond it are lost while standard error takes none */
#define PATIENCE_S 5	  /* how long the last lines may take */
#define LAST '\0'	  /* in the pipe: there are no more lines */
#define DRAW_US (JS_SECOND_US / 5)
#define FIRST_US                                                                                                       \
	(10 * JS_SECOND_US) /* where nothing can be replaced, lines come after this time, then ever less often */
#define RARELY_US (300 * JS_SECOND_US)

/* Lines go to the thread through a pipe: a write of at most PIPE_BUF bytes is whole, takes no lock, and fails at once
 * if the pipe is full, so whoever says a line never waits. */
static int pending[2];
static pthread_t thread;
static _Atomic int begun;
static const char *name = "jobstack-worker";

static struct {
	pthread_mutex_t lock; /* held while something is written to the terminal */
	speaker_draw_fn *draw;
	void *ctx;
	int terminal, hidden;	   /* standard error is a terminal; something else writes to it just now */
	struct show_picture shown; /* below the last line */
	int64_t next_us, gap_us;   /* when to draw next, and after which time again */
} picture = {.lock = PTHREAD_MUTEX_INITIALIZER, .shown = {.fd = STDERR_FILENO}, .gap_us = FIRST_US};

/* ---------------------------------------------------------------------------------------------------- the picture */

/* Draws the picture.  DRAW is called without the lock, since it takes the mailbox's. */
static void draw_picture(void)
{
	struct js_buf text = {0};
	unsigned columns, unused;
	int ours;

	show_picture_size(STDERR_FILENO, &columns, &unused);
	ours = picture.draw(picture.ctx, columns, &text);
	(void)pthread_mutex_lock(&picture.lock);
	if (!ours)
		picture.shown.up = 0;
	else if (!picture.hidden && !text.failed)
		(void)show_picture_draw(&picture.shown, text.data != NULL ? text.data : "");
	(void)pthread_mutex_unlock(&picture.lock);
	js_buf_free(&text);
}

/* Draws the picture, or says its line where standard error is no terminal, if it is time.  Returns how many
 * milliseconds to wait until the next time; -1: for ever. */
static int draw_in_time(void)
{
	int64_t now = js_clock_mono_us();
	struct js_buf text = {0};

	if (picture.draw == NULL)
		return -1;
	if (now < picture.next_us)
		return (int)((picture.next_us - now + 999) / 1000);
	if (picture.terminal)
		draw_picture();
	else if (picture.next_us != 0 && picture.draw(picture.ctx, 0, &text) && text.len > 0)
		speaker_say("%s", text.data);
	js_buf_free(&text);
	picture.next_us = now + (picture.terminal ? DRAW_US : picture.gap_us);
	picture.gap_us = 2 * picture.gap_us < RARELY_US ? 2 * picture.gap_us : RARELY_US;
	return (int)((picture.next_us - now) / 1000);
}

/* Whoever writes to the terminal itself hides the picture first, or the picture would be drawn into its text. */
int speaker_hide(int hide)
{
	(void)pthread_mutex_lock(&picture.lock);
	if (hide)
		(void)show_picture_erase(&picture.shown);
	picture.hidden = hide;
	(void)pthread_mutex_unlock(&picture.lock);
	return picture.terminal && picture.draw != NULL;
}

/* ------------------------------------------------------------------------------------------------------ the lines */

/* Writes the lines in the N bytes at LINE.  Returns 0 if LAST was among them: then there are no more. */
static int write_whole_lines(const char *line, size_t n)
{
	const char *end = line + n;

	while (line < end && *line != LAST) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		if (newline ==
		    NULL) /* the kernel rounds the pipe up to whole pages, so it may hold more than was read */
			newline = end - 1;
		/* one write per line: many workers may share the stream */
		(void)js_file_write_all(STDERR_FILENO, line, (size_t)(newline + 1 - line));
		line = newline + 1;
	}
	return line == end;
}

/* The thread: writes lines as they come, above the picture, which it draws by the clock. */
static void *write_lines(void *unused)
{
	static char text[PENDING]; /* as large as the pipe: it gets whole lines */
	struct pollfd said = {.fd = pending[0], .events = POLLIN};
	int more = 1;
	ssize_t n;

	while (more) {
		if (poll(&said, 1, draw_in_time()) <= 0)
			continue;
		n = read(pending[0], text, sizeof(text));
		(void)pthread_mutex_lock(&picture.lock);
		(void)show_picture_erase(&picture.shown);
		more = n > 0 ? write_whole_lines(text, (size_t)n) : n < 0 && errno == EINTR;
		if (more && !picture.hidden)
			(void)show_picture_show(&picture.shown);
		(void)pthread_mutex_unlock(&picture.lock);
	}
	return unused;
}

/* Without a pipe or a thread, lines are written by whoever says them. */
void speaker_begin(const char *who, speaker_draw_fn *draw, void *ctx)
{
	name = who;
	picture.draw = draw;
	picture.ctx = ctx;
	picture.terminal = speaker_on_terminal();
	begun = pipe2(pending, O_CLOEXEC) == 0 && fcntl(pending[1], F_SETFL, O_NONBLOCK) == 0 &&
		pthread_create(&thread, NULL, write_lines, NULL) == 0;
	if (begun)
		(void)fcntl(pending[1], F_SETPIPE_SZ, PENDING); /* it is larger where pages are */
}

int speaker_on_terminal(void)
{
	return isatty(STDERR_FILENO) && !show_is_dumb();
}

/* LINE has at most PIPE_BUF bytes, so it is written whole, or, while the pipe is full, not at all: it is lost then. */
static void put_line(const char *line, size_t len)
{
	if (!begun || (write(pending[1], line, len) < 0 && errno != EAGAIN))
		(void)js_file_write_all(STDERR_FILENO, line, len);
}

void speaker_put(struct js_buf *line)
{
	js_buf_char(line, '\n');
	if (!line->failed && line->len <= PIPE_BUF)
		put_line(line->data, line->len);
}

void speaker_say(const char *format, ...)
{
	char text[2400], line[2500];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	js_utf8_clean(text);
	put_line(line, (size_t)snprintf(line, sizeof(line), "%s: %s\n", name, text));
}

void speaker_log(void *ctx, enum jobstack_level level, const char *text)
{
	const struct config *config = ctx;

	if (level <= (config->verbose ? JOBSTACK_LOG_INFO : JOBSTACK_LOG_WARNING))
		speaker_say("%s", text);
}

/* LAST goes through the pipe like a line, so all lines before it are written first. */
int speaker_end(void)
{
	struct pollfd room = {.fd = pending[1], .events = POLLOUT};
	struct timespec until;

	if (!begun)
		return 0;
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	(void)poll(&room, 1, PATIENCE_S * 1000);
	if (write(pending[1], &(char){LAST}, 1) != 1 || pthread_timedjoin_np(thread, NULL, &until) != 0)
		return 1;
	begun = 0; /* from now on, whoever says a line writes it */
	return 0;
}

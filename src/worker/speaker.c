/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The speaker.  Promises: lines are written whole, in the order in which they were said; while there is the thread,
 * saying a line waits for no file.
 */
#include "worker/speaker.h"

#include "base/file.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PENDING (1 << 16) /* the pipe's capacity: lines beyond it are lost while standard error takes none */
#define PATIENCE_S 5	  /* how long the last lines may take */
#define LAST '\0'	  /* in the pipe: there are no more lines */

static int pending[2]; /* a pipe from whoever says a line to the thread */
static pthread_t thread;
static _Atomic int begun;

static void *write_lines(void *unused)
{
	static char text[PENDING]; /* as large as the pipe: it always gets whole lines */
	ssize_t n;

	while ((n = read(pending[0], text, sizeof(text))) > 0 || (n < 0 && errno == EINTR)) {
		char *line = text, *newline;

		for (; n > 0 && *line != LAST; n -= newline + 1 - line, line = newline + 1) {
			newline = memchr(line, '\n', (size_t)n);
			/* one write per line: many workers may share the stream */
			(void)js_file_write_all(STDERR_FILENO, line, (size_t)(newline + 1 - line));
		}
		if (n > 0)
			break;
	}
	return unused;
}

void speaker_begin(void)
{
	begun = pipe2(pending, O_CLOEXEC) == 0 && fcntl(pending[1], F_SETFL, O_NONBLOCK) == 0 &&
		pthread_create(&thread, NULL, write_lines, NULL) == 0;
	if (begun)
		(void)fcntl(pending[1], F_SETPIPE_SZ, PENDING); /* it is larger where pages are */
}

void speaker_say(const char *format, ...)
{
	char text[2400], line[2500]; /* shorter than PIPE_BUF: written whole, or not at all */
	va_list args;
	int len;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	js_utf8_clean(text);
	len = snprintf(line, sizeof(line), "jobstack-worker: %s\n", text);
	if (!begun || (write(pending[1], line, (size_t)len) < 0 && errno != EAGAIN))
		(void)js_file_write_all(STDERR_FILENO, line, (size_t)len);
}

void speaker_log(void *ctx, enum jobstack_level level, const char *text)
{
	const struct config *config = ctx;

	if (level <= (config->verbose ? JOBSTACK_LOG_INFO : JOBSTACK_LOG_WARNING))
		speaker_say("%s", text);
}

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

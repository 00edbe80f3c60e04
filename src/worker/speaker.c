/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The speaker.  Promises: lines are written in the order in which they were said, whole; saying one waits for no file
 * while there is the thread.
 */
#define _GNU_SOURCE
#include "worker/speaker.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX 1000		       /* what is said beyond that, while nothing can be written, is left out */
#define PATIENCE_US (5 * JS_SECOND_US) /* for standard error to take the last lines */

struct line {
	struct line *next;
	char text[];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t said, written;
	pthread_t thread;
	struct line *first, **last;
	size_t lines;
	int begun, stop, ended;
} speaker = {.lock = PTHREAD_MUTEX_INITIALIZER, .said = PTHREAD_COND_INITIALIZER};

/* One write a line: many workers may share the stream.  It may hang, and nobody else may need the stream's lock. */
static void write_line(const char *text)
{
	char line[2500];
	int len = snprintf(line, sizeof(line), "jobstack-worker: %s\n", text);

	(void)js_file_write_all(STDERR_FILENO, line, (size_t)len);
}

static void *write_lines(void *unused)
{
	(void)pthread_mutex_lock(&speaker.lock);
	for (;;) {
		struct line *line = speaker.first;

		if (line == NULL && speaker.stop)
			break;
		if (line == NULL) {
			(void)pthread_cond_wait(&speaker.said, &speaker.lock);
			continue;
		}
		(void)pthread_mutex_unlock(&speaker.lock);
		write_line(line->text);
		(void)pthread_mutex_lock(&speaker.lock);
		speaker.first = line->next;
		if (speaker.first == NULL)
			speaker.last = &speaker.first;
		speaker.lines--;
		free(line);
	}
	speaker.ended = 1;
	(void)pthread_cond_signal(&speaker.written);
	(void)pthread_mutex_unlock(&speaker.lock);
	return unused;
}

void speaker_begin(void)
{
	speaker.last = &speaker.first;
	speaker.begun = js_clock_cond_init(&speaker.written) == 0 &&
			pthread_create(&speaker.thread, NULL, write_lines, NULL) == 0;
}

/* Hands a line to the thread.  -1: there is none, or no memory. */
static int queue_line(const char *text)
{
	size_t len = strlen(text) + 1;
	struct line *line = speaker.begun ? malloc(sizeof(*line) + len) : NULL;

	if (line == NULL)
		return -1;
	line->next = NULL;
	memcpy(line->text, text, len);
	(void)pthread_mutex_lock(&speaker.lock);
	if (speaker.lines < LINES_MAX) {
		*speaker.last = line;
		speaker.last = &line->next;
		speaker.lines++;
		line = NULL;
		(void)pthread_cond_signal(&speaker.said);
	}
	(void)pthread_mutex_unlock(&speaker.lock);
	free(line);
	return 0;
}

void speaker_say(const char *format, ...)
{
	va_list args;
	char text[2400];

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	js_utf8_clean(text);
	if (queue_line(text) != 0)
		write_line(text);
}

void speaker_log(void *ctx, enum jobstack_level level, const char *text)
{
	const struct config *config = ctx;

	if (level <= (config->verbose ? JOBSTACK_LOG_INFO : JOBSTACK_LOG_WARNING))
		speaker_say("%s", text);
}

int speaker_end(void)
{
	struct timespec until = js_clock_deadline(js_clock_mono_us() + PATIENCE_US);
	int ended;

	if (!speaker.begun)
		return 0;
	(void)pthread_mutex_lock(&speaker.lock);
	speaker.stop = 1;
	(void)pthread_cond_signal(&speaker.said);
	while (!speaker.ended && pthread_cond_timedwait(&speaker.written, &speaker.lock, &until) != ETIMEDOUT)
		;
	ended = speaker.ended;
	(void)pthread_mutex_unlock(&speaker.lock);
	if (!ended)
		return 1;
	(void)pthread_join(speaker.thread, NULL);
	speaker.begun = 0; /* what is said from now on is written by who says it */
	return 0;
}

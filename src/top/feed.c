/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading for top.  Promises: a few queries per picture, none of which takes longer for a stack with more entries; the
 * thread has a connection of its own.  What is to be done or shown in full, the commands of jobstack do.
 */
#include "top/feed.h"

#include "base/clock.h"
#include "base/error.h"
#include "proc/child.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define EVERY_US (2 * JS_SECOND_US)
#define SHARE 50		   /* reading takes at most this part of the time */
#define SLOW_US (2 * JS_SECOND_US) /* an answer that takes longer is reported as missing */
#define COMMAND_US (60 * JS_SECOND_US)
#define SAMPLE 200 /* entries are looked up to draw the progress */
#define OUTPUT_MAX 65536

static struct {
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	struct feed_want want;
	volatile int hurry; /* it is new */
	struct feed_picture *picture;
	struct jobstack_error error;
	int64_t answered_us, asked_us; /* the last answer; the question that has none yet, or 0 */
} feed = {.lock = PTHREAD_MUTEX_INITIALIZER};

void feed_free(struct feed_picture *p)
{
	if (p == NULL)
		return;
	figures_snapshot_free(&p->shot);
	js_buf_free(&p->text);
	free(p);
}

int feed_command(const char *stack, const char *const words[], struct js_buf *out, const volatile int *stop,
		 struct jobstack_error *error)
{
	char program[PATH_MAX + 16], option[JOBSTACK_STACK_MAX + 16];
	const char *argv[8] = {program, words[0], option};
	struct js_child child = {.argv = argv, .shut_others = 1, .stop = stop};
	int status = 0;

	(void)snprintf(program, sizeof(program), "%s/jobstack", js_child_program_dir());
	(void)snprintf(option, sizeof(option), "--stack=%s", stack);
	for (size_t n = 1; n < 5 && words[n] != NULL; n++)
		argv[n + 2] = words[n];
	child.group = out == NULL ? JS_CHILD_OURS : JS_CHILD_GROUP; /* Ctrl-C is for what has the terminal */
	JS_TRY(js_child_run(&child, out, out, out == NULL ? 0 : COMMAND_US, &status, error));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Reads what `jobstack show` prints, and the end of what `jobstack logs` prints.  Control characters become question
 * marks, or blanks: the commands print for a pipe. */
static int read_entry(struct feed_picture *p, struct jobstack_error *error)
{
	char number[24];
	struct js_buf logs = {0};
	int status;

	(void)snprintf(number, sizeof(number), "%" PRIu64, p->of.entry);
	status = feed_command(p->of.stack, (const char *[]){"show", number, NULL}, &p->text, &feed.hurry, error);
	if (status > 0)
		return js_error_set(error, status == JS_EXIT_NODB ? JOBSTACK_ENODB : JOBSTACK_EMISSING, "%s",
				    p->text.data != NULL ? p->text.data : "");
	JS_THEN(status, feed_command(p->of.stack, (const char *[]){"logs", number, NULL}, &logs, &feed.hurry, error));
	js_buf_str(&p->text, "\noutput (l shows all of it):\n");
	if (logs.data != NULL)
		js_buf_str(&p->text, logs.data + (logs.len > OUTPUT_MAX ? logs.len - OUTPUT_MAX : 0));
	js_buf_char(&p->text, '\n');
	for (char *c = p->text.data; c < p->text.data + p->text.len; c++)
		if ((unsigned char)*c < ' ' && *c != '\n')
			*c = *c == '\t' || *c == '\r' ? ' ' : '?';
	js_buf_free(&logs);
	return status < 0 ? status : 0;
}

static int note_end(void *ctx, const struct jobstack_item *item)
{
	if (item->ended_us >= 0)
		js_timeline_add(ctx, item->ended_us, 0);
	return 0;
}

/* Looks up when entries ended, for the drawing: for at most SAMPLE of those that have begun, assuming that they began
 * in the order of their numbers.  EACH says how many entries one of these stands for. */
static int read_history(struct jobstack *handle, struct feed_picture *p, struct jobstack_error *error)
{
	const struct jobstack_status *s = &p->shot.seen[0].stack.s;
	const uint64_t begun = s->pushed - s->ready, n = begun < SAMPLE ? begun : SAMPLE;
	struct jobstack_filter filter = JOBSTACK_FILTER_INIT;
	uint64_t entries[SAMPLE];

	if (n == 0)
		return 0;
	for (uint64_t i = 0; i < n; i++)
		entries[i] = 1 + i * begun / n;
	filter.states = JOBSTACK_IS_DONE | JOBSTACK_IS_DEAD;
	filter.entries = entries;
	filter.entries_n = n;
	p->each = (double)begun / (double)n;
	return jobstack_list(handle, p->of.stack, &filter, note_end, &p->ended, error);
}

static int read_picture(struct jobstack **handle, struct feed_picture *p, struct jobstack_error *error)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;

	if (p->of.view == FEED_ENTRY)
		return read_entry(p, error);
	options.defaults_file = getenv("JOBSTACK_DEFAULTS_FILE");
	if (*handle == NULL)
		JS_TRY(jobstack_open(handle, &options, error));
	if (p->of.view == FEED_STACKS) {
		JS_TRY(figures_snapshot_read(*handle, NULL, &p->shot, error));
		figures_snapshot_sort(&p->shot);
		return 0;
	}
	JS_TRY(figures_snapshot_read(*handle, p->of.stack, &p->shot, error));
	return read_history(*handle, p, error);
}

/* Reads until the process ends.  The lock is never held while it reads, so the terminal's thread never waits for the
 * database.
 *
 *    want is new (hurry) or it is time -> copy the want -> read -> leave the picture, or the error -> pause
 *
 * A picture that nobody has taken yet is replaced by a newer one.  The pause is SHARE times as long as the reading
 * took, and two seconds at least, so a slow server spends little of its time on this. */
static void *feed_thread(void *arg)
{
	struct jobstack *handle = NULL;

	for (int64_t due = 0, began, took;;) {
		struct feed_picture *p = calloc(1, sizeof(*p)), *unused = p;
		struct jobstack_error error = JOBSTACK_ERROR_INIT;
		int status;

		(void)pthread_mutex_lock(&feed.lock);
		while (!feed.hurry && js_clock_mono_us() < due) {
			const struct timespec until = js_clock_deadline(due);

			(void)pthread_cond_timedwait(&feed.changed, &feed.lock, &until);
		}
		feed.hurry = 0;
		if (p != NULL)
			p->of = feed.want;
		feed.asked_us = began = js_clock_mono_us();
		(void)pthread_mutex_unlock(&feed.lock);
		status = p == NULL ? js_error_memory(&error) : read_picture(&handle, p, &error);
		took = js_clock_mono_us() - began;
		due = began + took + (status == 0 && took * SHARE > EVERY_US ? took * SHARE : EVERY_US);
		(void)pthread_mutex_lock(&feed.lock);
		if (status == 0) {
			unused = feed.picture;
			feed.picture = p;
		}
		feed.error = error;
		feed.answered_us = status == JOBSTACK_ENODB ? feed.answered_us : began + took;
		feed.asked_us = 0;
		(void)pthread_mutex_unlock(&feed.lock);
		feed_free(unused);
	}
	return arg;
}

/* The new thread inherits a mask that blocks all signals, so they interrupt the terminal's thread. */
int feed_begin(const struct feed_want *want)
{
	sigset_t all, old;
	pthread_t thread;
	int err = js_clock_cond_init(&feed.changed);

	feed.want = *want;
	feed.answered_us = js_clock_mono_us();
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the terminal's thread */
	err = err == 0 ? pthread_create(&thread, NULL, feed_thread, NULL) : err;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

void feed_want(const struct feed_want *want)
{
	(void)pthread_mutex_lock(&feed.lock);
	feed.want = *want;
	feed.hurry = 1;
	(void)pthread_cond_signal(&feed.changed);
	(void)pthread_mutex_unlock(&feed.lock);
}

/* A question that has no answer yet counts as silence, too: a hanging connection reports no error. */
struct feed_picture *feed_take(struct jobstack_error *trouble, int64_t *silent_us)
{
	const int64_t now = js_clock_mono_us();
	struct feed_picture *p;
	int late;

	(void)pthread_mutex_lock(&feed.lock);
	p = feed.picture;
	feed.picture = NULL;
	*trouble = feed.error;
	late = feed.error.code == JOBSTACK_ENODB || (feed.asked_us != 0 && now - feed.asked_us > SLOW_US);
	*silent_us = late ? now - feed.answered_us : 0;
	(void)pthread_mutex_unlock(&feed.lock);
	return p;
}

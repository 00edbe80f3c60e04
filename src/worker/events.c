/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Events.  Promises: whoever makes them never waits for a file or a socket; a line is whole or missing, and one after a
 * broken one is whole.
 */
#include "worker/events.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "view/json.h"
#include "worker/speaker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_MAX ((size_t)1 << 20) /* bytes that wait; what comes then is dropped */
#define PATIENCE_US (JS_SECOND_US)    /* for a receiver that is full */
#define END_US (2 * JS_SECOND_US)
#define SETTLE_US (JS_SECOND_US / 5) /* for packages that were imported, but not yet read from the FIFO */
#define PACKAGES_MAX 4096	     /* bytes of an event's packages: syslog's lines are short */
#define INFO_OF_USER 14		     /* syslog's facility and severity */

struct events {
	struct events_source source;
	const char *target;
	int syslog;
	uint64_t made; /* the number of the last event; only the thread that makes them uses it */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, idle;
	struct js_buf waiting; /* lines; with packages, "ENTRY ATTEMPT " is in front of each */
	int stop, busy;
	int fd, torn, told; /* the writer's: -1; the last line was not written to its end; that it fails was said */
};

/* ----------------------------------------------------------------------------------------------- making the lines */

static const char *outcome_word(enum jobstack_verdict verdict)
{
	switch (verdict) {
	case JOBSTACK_DONE: return "done";
	case JOBSTACK_FAILED: return "failed";
	case JOBSTACK_LOST: return "lost";
	default: return "interrupted";
	}
}

static void add_event(struct events *e, const struct jobstack_outcome *o, struct js_buf *line)
{
	const struct events_source *s = &e->source;
	const int64_t took_us = o->started_us > 0 && o->ended_us >= o->started_us ? o->ended_us - o->started_us : -1;

	(void)view_json_line(
		VIEW_OBJECT(KEY_TEXT("event", "attempt"), KEY_COUNT("version", 1), KEY_COUNT("number", ++e->made),
			    KEY_COUNT("worker", s->worker), KEY_TEXT("node", s->node), KEY_TEXT("cluster", s->cluster),
			    KEY_TEXT("job", s->job), KEY_TEXT("array_job", s->array_job),
			    KEY_TEXT("array_task", s->array_task), KEY_TEXT("stack", s->stack),
			    KEY_COUNT("entry", o->entry), KEY_COUNT("attempt", o->attempt),
			    KEY_TEXT("program", s->program == NULL ? NULL : basename(s->program)),
			    KEY_INT("program_version", o->program, o->program >= 0),
			    KEY_TEXT("outcome", outcome_word(o->verdict)),
			    KEY_INT("exit_code", o->exit_code, o->exit_code >= 0),
			    KEY_INT("signal", o->signal, o->signal > 0),
			    KEY_TIME("started", o->started_us > 0 ? o->started_us + s->wall_us : -1),
			    KEY_TIME("ended", o->ended_us > 0 ? o->ended_us + s->wall_us : -1),
			    KEY_SPAN("seconds", took_us), KEY_SPAN("user_seconds", o->user_us),
			    KEY_SPAN("system_seconds", o->system_us), KEY_SPAN("io_wait_seconds", o->io_wait_us),
			    KEY_INT("maxrss_kib", o->maxrss_kib, o->maxrss_kib >= 0),
			    KEY_INT("peak_kib", o->peak_kib, o->peak_kib >= 0),
			    KEY_INT("read_bytes", o->read_bytes, o->read_bytes >= 0),
			    KEY_INT("write_bytes", o->write_bytes, o->write_bytes >= 0),
			    KEY_INT("storage_read_bytes", o->storage_read_bytes, o->storage_read_bytes >= 0),
			    KEY_INT("storage_write_bytes", o->storage_write_bytes, o->storage_write_bytes >= 0)),
		line);
}

void events_tell(struct events *e, const struct jobstack_outcome *o, size_t n)
{
	struct js_buf line = {0};

	for (size_t i = 0; e != NULL && i < n; i++) {
		if (o[i].verdict == JOBSTACK_UNSTARTED)
			continue;
		js_buf_reset(&line);
		if (e->source.packages != NULL)
			js_buf_printf(&line, "%" PRIu64 " %" PRIu32 " ", o[i].entry, o[i].attempt);
		add_event(e, &o[i], &line);
		(void)pthread_mutex_lock(&e->lock);
		if (!line.failed && e->waiting.len + line.len <= WAITING_MAX)
			js_buf_add(&e->waiting, line.data, line.len);
		(void)pthread_cond_signal(&e->wake);
		(void)pthread_mutex_unlock(&e->lock);
	}
	js_buf_free(&line);
}

/* The packages of an attempt, as they are gathered; OBJECT NULL: they are not known. */
struct naming {
	const struct js_site *site;
	json_t *object;
};

static void add_package_name(void *ctx, const char *name, const char *version)
{
	struct naming *n = ctx;

	if (n->object == NULL || (n->site != NULL && !js_site_is_public(n->site, name)))
		return;
	if (json_object_set_new(n->object, name, json_string(version)) != 0) { /* out of memory, or not UTF-8 */
		json_decref(n->object);
		n->object = NULL;
	}
}

/* Appends them as JSON; "null" if they are not known or too many for a line. */
static void add_packages(const struct events_source *s, uint64_t entry, uint32_t attempt, struct js_buf *line)
{
	struct naming n = {s->site, json_object()};
	int known = js_packages_of(s->packages, entry, attempt, add_package_name, &n) == 0;
	char *text = known && n.object != NULL ? json_dumps(n.object, JSON_COMPACT) : NULL;

	js_buf_str(line, text != NULL && strlen(text) <= PACKAGES_MAX ? text : "null");
	free(text);
	json_decref(n.object);
}

/* Adds to LINES the packages of their attempts.  They are known only now: what a command wrote into the FIFO at its end
 * is read a moment later, and neither the command nor its outcome waits for that. */
static struct js_buf complete_lines(const struct events_source *s, const char *lines)
{
	struct js_buf out = {0};
	uint64_t entry;
	uint32_t attempt;
	int at;

	js_packages_settle(s->packages, SETTLE_US);
	while (sscanf(lines, "%" SCNu64 " %" SCNu32 " %n", &entry, &attempt, &at) == 2) {
		size_t len = strcspn(lines, "\n");

		js_buf_add(&out, lines + at, len - (size_t)at - 1);
		js_buf_str(&out, ",\"packages\":");
		add_packages(s, entry, attempt, &out);
		js_buf_str(&out, "}\n");
		lines += len + 1;
	}
	return out;
}

/* ---------------------------------------------------------------------------------------------- writing the lines */

/* Whether the file's last line is not whole: the disk was full, or its writer was killed. */
static int ends_inside_line(const struct events *e)
{
	char last = '\n';
	struct stat st;
	int fd;

	if (fstat(e->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return 0;
	fd = open(e->target, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		last = '\n';
	if (fd >= 0)
		(void)close(fd);
	return last != '\n';
}

/* Opens the target anew: it may have been rotated, or its receiver started again.  0, or -1 with errno. */
static int open_target(struct events *e)
{
	const struct sockaddr_un at = {AF_UNIX, "/dev/log"};

	if (!e->syslog)
		e->fd = open(e->target, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	else if ((e->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) >= 0 &&
		 connect(e->fd, (const struct sockaddr *)&at, sizeof(at)) != 0) {
		(void)close(e->fd);
		e->fd = -1;
	}
	if (e->fd < 0)
		return -1;
	e->torn = !e->syslog && ends_inside_line(e);
	return 0;
}

/* Writes LEN bytes at TEXT, in one piece.  0, or -1 with errno. */
static int write_piece(struct events *e, const char *text, size_t len)
{
	struct pollfd p = {e->fd, POLLOUT, 0};
	ssize_t got = 0;

	for (int tries = 0; tries < 2; tries++) {
		got = e->syslog ? send(e->fd, text, len, MSG_NOSIGNAL) : write(e->fd, text, len);
		if (got >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
		(void)poll(&p, 1, (int)(PATIENCE_US / 1000));
	}
	if (got < 0)
		return -1;
	errno = ENOSPC;
	return (size_t)got == len ? 0 : -1;
}

static int write_line(struct events *e, const char *line, size_t len)
{
	char text[8192];
	size_t n;

	if (!e->syslog) {
		if (e->torn && write_piece(e, "\n", 1) != 0)
			return -1;
		e->torn = write_piece(e, line, len + 1) != 0;
		return e->torn ? -1 : 0;
	}
	n = (size_t)snprintf(text, sizeof(text), "<%d>jobstack-worker[%ld]: %.*s", INFO_OF_USER, (long)getpid(),
			     (int)len, line);
	n = n < sizeof(text) ? n : sizeof(text) - 1;
	if (write_piece(e, text, n) == 0)
		return 0;
	(void)close(e->fd); /* the receiver was started again */
	return open_target(e) != 0 ? -1 : write_piece(e, text, n);
}

static void write_lines(struct events *e, const char *text)
{
	int failed = open_target(e) != 0;

	for (const char *line = text; *line != '\0' && !failed;) {
		size_t len = strcspn(line, "\n");

		failed = write_line(e, line, len) != 0;
		line += len + 1;
	}
	if (failed && e->told++ == 0)
		speaker_say("can't write to --events %s: %s: events are missing there; the work continues", e->target,
			    strerror(errno));
	if (e->fd >= 0)
		(void)close(e->fd);
	e->fd = -1;
}

static void *write_events(void *ctx)
{
	struct events *e = ctx;

	(void)pthread_mutex_lock(&e->lock);
	for (;;) {
		struct js_buf lines = e->waiting, complete;
		const struct events_source source = e->source;

		e->waiting = (struct js_buf){0};
		e->busy = lines.len > 0;
		if (lines.len == 0 && e->stop)
			break;
		if (lines.len == 0) {
			(void)pthread_cond_wait(&e->wake, &e->lock);
			continue;
		}
		(void)pthread_mutex_unlock(&e->lock);
		if (source.packages != NULL) {
			complete = complete_lines(&source, lines.data);
			js_buf_free(&lines);
			lines = complete;
		}
		if (lines.data != NULL && !lines.failed)
			write_lines(e, lines.data);
		js_buf_free(&lines);
		(void)pthread_mutex_lock(&e->lock);
	}
	(void)pthread_cond_signal(&e->idle);
	(void)pthread_mutex_unlock(&e->lock);
	return NULL;
}

/* ------------------------------------------------------------------------------------------------------ its life */

struct events *events_begin(const char *target, const struct events_source *source, struct jobstack_error *error)
{
	struct events *e = calloc(1, sizeof(*e));
	pthread_condattr_t attr;
	int failed;

	if (e == NULL) {
		(void)js_error_memory(error);
		return NULL;
	}
	e->source = *source;
	e->target = target;
	e->syslog = strcmp(target, "syslog") == 0;
	e->fd = -1;
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&e->lock, NULL);
	(void)pthread_cond_init(&e->wake, NULL);
	(void)pthread_cond_init(&e->idle, &attr);
	(void)pthread_condattr_destroy(&attr);
	failed = pthread_create(&e->thread, NULL, write_events, e);
	if (failed == 0)
		return e;
	(void)js_error_set(error, JOBSTACK_EBUG, "can't start a thread: %s", js_error_process_words(failed));
	free(e);
	return NULL;
}

void events_end(struct events *e)
{
	struct timespec until;
	int late = 0;

	if (e == NULL)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_US / JS_SECOND_US;
	(void)pthread_mutex_lock(&e->lock);
	e->stop = 1;
	(void)pthread_cond_signal(&e->wake);
	while (late == 0 && (e->busy || e->waiting.len > 0))
		late = pthread_cond_timedwait(&e->idle, &e->lock, &until);
	e->source.packages = NULL; /* they end now */
	if (late != 0)
		js_buf_free(&e->waiting);
	(void)pthread_mutex_unlock(&e->lock);
	if (late != 0)
		return; /* its file system hangs: the thread keeps what it uses */
	(void)pthread_join(e->thread, NULL);
	js_buf_free(&e->waiting);
	free(e);
}

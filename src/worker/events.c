/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Events.  Promises: whoever makes them never waits for a file or a socket; a line is whole or missing, and one after a
 * broken one is whole.
 */
#include "worker/events.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "show/record.h"
#include "worker/speaker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_MAX 2048	     /* events; what comes when so many wait is dropped */
#define PATIENCE_US (JS_SECOND_US)   /* how long a receiver that is full is waited for */
#define END_US (2 * JS_SECOND_US)    /* how long the writing may take at the end */
#define SETTLE_US (JS_SECOND_US / 5) /* for packages that were imported, but not yet read from the FIFO */
#define PACKAGES_MAX 4096	     /* bytes of an event's packages: syslog's lines are short */
#define INFO_OF_USER 14		     /* syslog's facility and severity */
/* The fields of a record that say nothing of datapaths, arguments and people. */
#define FIELDS                                                                                                         \
	"worker,node,cluster,job,array_job,array_task,entry,attempt,program,outcome,cause,exit_code,signal,started,"   \
	"ended,seconds,user_seconds,system_seconds,io_wait_seconds,maxrss_kib,peak_kib,read_bytes,write_bytes,"        \
	"storage_read_bytes,storage_write_bytes"

/* An outcome that waits for its line.  Its texts are no longer valid: no event contains them. */
struct event {
	uint64_t number;
	struct jobstack_outcome outcome;
};

struct events {
	struct events_source source;
	struct show_fields fields; /* FIELDS */
	const char *target;
	int syslog;
	uint64_t made; /* the number of the last event; only the thread that makes them uses it */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, idle;
	/* with the lock: */
	struct event *waiting;
	size_t n, room;
	int stop, busy; /* the thread has to end; it is writing */
	/* the thread's own: the target while lines are written, else -1; whether its last line is not whole; whether
	 * it was said that writing fails */
	int fd, torn, told;
};

/* An event that is dropped has a number all the same, so that its readers notice the gap. */
void events_send(struct events *e, const struct jobstack_outcome *o, size_t n)
{
	for (size_t i = 0; e != NULL && i < n; i++) {
		if (o[i].verdict == JOBSTACK_UNSTARTED)
			continue;
		e->made++;
		(void)pthread_mutex_lock(&e->lock);
		if (e->n < WAITING_MAX && js_array_grow(&e->waiting, &e->room, e->n + 1, sizeof(*e->waiting)) == 0)
			e->waiting[e->n++] = (struct event){e->made, o[i]};
		(void)pthread_cond_signal(&e->wake);
		(void)pthread_mutex_unlock(&e->lock);
	}
}

/* ----------------------------------------------------------------------------------------------- making the lines */

/* Makes an item of an outcome.  The columns of an attempt have the same names in both. */
static struct jobstack_item item_of(const struct events_source *s, const struct jobstack_outcome *o)
{
#define COPY_COLUMN(member, ...) .member = o->member,
	struct jobstack_item item = {.entry = o->entry,
				     .attempt = o->attempt,
				     .outcome = (int)o->verdict,
				     .worker = s->worker,
				     .node = s->node,
				     .cluster = s->cluster,
				     .job = s->job,
				     .array_job = s->array_job,
				     .array_task = s->array_task,
				     JS_ATTEMPT(COPY_COLUMN)};

	item.started_us = o->started_us > 0 ? o->started_us + s->wall_us : -1;
	item.ended_us = o->ended_us > 0 ? o->ended_us + s->wall_us : -1;
	return item;
}

/* The packages of an attempt while they are gathered; OBJECT NULL: they are not known. */
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

/* Appends the packages as a member; null if they are not known, or too long for a line. */
static void add_packages(const struct events_source *s, const struct jobstack_outcome *o, struct js_buf *line)
{
	struct naming n = {s->site, json_object()};
	int known = js_packages_of(s->packages, o->entry, o->attempt, add_package_name, &n) == 0;
	char *text = known && n.object != NULL ? json_dumps(n.object, JSON_COMPACT) : NULL;

	js_buf_printf(line, ",\"packages\":%s", text != NULL && strlen(text) <= PACKAGES_MAX ? text : "null");
	free(text);
	json_decref(n.object);
}

/* Appends the line of an event, without its newline, to LINE. */
static void make_line(const struct events *e, const struct events_source *s, const struct event *event,
		      struct js_buf *line)
{
	const struct jobstack_item item = item_of(s, &event->outcome);
	const char *program = s->program == NULL ? NULL : basename(s->program);

	js_buf_printf(line, "{\"event\":\"attempt\",\"version\":2,\"number\":%" PRIu64 ",", event->number);
	show_json_member(line, "stack", s->stack, strlen(s->stack));
	js_buf_char(line, ',');
	show_json_member(line, "command", program, program == NULL ? 0 : strlen(program));
	js_buf_char(line, ',');
	show_json_members(&e->fields, &item, line);
	if (s->packages != NULL)
		add_packages(s, &event->outcome, line);
	js_buf_char(line, '}');
}

/* ---------------------------------------------------------------------------------------------- writing the lines */

/* Returns whether the file's last line has no end: the disk was full, or its writer was killed.  Then the next line
 * begins with a newline. */
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

/* Writes LINE, which has no newline yet.  Returns 0, or -1 with errno. */
static int write_line(struct events *e, struct js_buf *line)
{
	char text[8192];
	size_t n;

	if (!e->syslog) {
		if (e->torn && write_piece(e, "\n", 1) != 0)
			return -1;
		js_buf_char(line, '\n');
		e->torn = write_piece(e, line->data, line->len) != 0;
		return e->torn ? -1 : 0;
	}
	n = (size_t)snprintf(text, sizeof(text), "<%d>jobstack-worker[%ld]: %.*s", INFO_OF_USER, (long)getpid(),
			     (int)line->len, line->data);
	n = n < sizeof(text) ? n : sizeof(text) - 1;
	if (write_piece(e, text, n) == 0)
		return 0;
	(void)close(e->fd); /* the receiver was started again */
	return open_target(e) != 0 ? -1 : write_piece(e, text, n);
}

/* Writes N events.  All lines are made before the target is opened: the open may hang until after events_end, when what
 * a line is made of is gone. */
static void write_events(struct events *e, const struct events_source *source, const struct event *event, size_t n)
{
	struct js_buf *lines = calloc(n, sizeof(*lines));
	int failed = lines == NULL;

	/* packages are known only now: what a command wrote into the FIFO at its end is read a moment later, and
	 * neither the command nor its outcome waits for that */
	if (source->packages != NULL)
		js_packages_settle(source->packages, SETTLE_US);
	for (size_t i = 0; i < n && !failed; i++) {
		make_line(e, source, &event[i], &lines[i]);
		failed = lines[i].failed;
	}
	errno = ENOMEM;
	failed = failed || open_target(e) != 0;
	for (size_t i = 0; i < n && !failed; i++)
		failed = write_line(e, &lines[i]) != 0;
	if (failed && e->told++ == 0)
		speaker_say("can't write to --events %s: %s: events are missing there; the work continues", e->target,
			    strerror(errno));
	if (e->fd >= 0)
		(void)close(e->fd);
	e->fd = -1;
	for (size_t i = 0; lines != NULL && i < n; i++)
		js_buf_free(&lines[i]);
	free(lines);
}

/* The thread: takes all events that wait, and writes them without the lock. */
static void *events_main(void *ctx)
{
	struct events *e = ctx;

	(void)pthread_mutex_lock(&e->lock);
	while (e->n > 0 || !e->stop) {
		const struct events_source source = e->source;
		struct event *list = e->waiting;
		size_t n = e->n;

		if (n == 0) {
			(void)pthread_cond_wait(&e->wake, &e->lock);
			continue;
		}
		e->waiting = NULL;
		e->n = e->room = 0;
		e->busy = 1;
		(void)pthread_mutex_unlock(&e->lock);
		write_events(e, &source, list, n);
		free(list);
		(void)pthread_mutex_lock(&e->lock);
		e->busy = 0;
	}
	(void)pthread_cond_signal(&e->idle);
	(void)pthread_mutex_unlock(&e->lock);
	return NULL;
}

/* ------------------------------------------------------------------------------------------------------ its life */

/* SOURCE is copied; its texts belong to the caller, who must keep them until events_end. */
struct events *events_begin(const char *target, const struct events_source *source, struct jobstack_error *error)
{
	struct events *e = calloc(1, sizeof(*e));
	int failed;

	if (e == NULL) {
		(void)js_error_memory(error);
		return NULL;
	}
	e->source = *source;
	(void)show_fields_parse(FIELDS, &e->fields, NULL);
	e->target = target;
	e->syslog = strcmp(target, "syslog") == 0;
	e->fd = -1;
	(void)pthread_mutex_init(&e->lock, NULL);
	(void)js_clock_cond_init(&e->wake);
	(void)js_clock_cond_init(&e->idle);
	failed = pthread_create(&e->thread, NULL, events_main, e);
	if (failed == 0)
		return e;
	(void)js_error_set(error, JOBSTACK_EBUG, "can't start a thread: %s", js_error_process_words(failed));
	free(e);
	return NULL;
}

/* If the file system hangs, the thread stays, and so does what it uses. */
void events_end(struct events *e)
{
	struct timespec until = js_clock_deadline(jobstack_now_us() + END_US);
	int late = 0;

	if (e == NULL)
		return;
	(void)pthread_mutex_lock(&e->lock);
	e->stop = 1;
	(void)pthread_cond_signal(&e->wake);
	while (late == 0 && (e->busy || e->n > 0))
		late = pthread_cond_timedwait(&e->idle, &e->lock, &until);
	e->source.packages = NULL; /* they end now */
	e->n = 0;
	(void)pthread_mutex_unlock(&e->lock);
	if (late != 0)
		return; /* its file system hangs: the thread keeps what it uses */
	(void)pthread_join(e->thread, NULL);
	free(e->waiting);
	free(e);
}

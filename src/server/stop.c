/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stopping a server, and waiting for its end.  Promises: a process gets a signal only if its start time is the recorded
 * one; a server on another host is not touched.
 */
#include "server/server.h"

#include "base/clock.h"
#include "base/error.h"
#include "server/logfile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_LIMIT_US (120 * JS_SECOND_US)
#define SAY_US (10 * JS_SECOND_US)

/* Looks at the process itself, which need not be our child, and says now and then why nothing happens. */
int server_await_end(const struct server *s, int64_t limit_us, int patient)
{
	int64_t start = js_clock_mono_us(), said = start;

	while (js_owner_lives(&s->owner)) {
		int64_t now = js_clock_mono_us();

		if (now - start > limit_us || (!patient && cli_stop != 0))
			return -1;
		if (now - said > SAY_US) {
			said = now;
			cli_say(&s->cli, "waiting for the server (pid %ld) to write its data and end",
				(long)s->owner.pid);
		}
		js_clock_nap(50 * 1000, patient ? NULL : &cli_stop);
	}
	return 0;
}

/* Fills in that the server has not stopped in time.  Returns CODE. */
static int fail_to_stop(struct server *s, int code)
{
	return js_error_set(&s->cli.error, code, "the server (pid %ld) has not stopped within 2 minutes; its log is %s",
			    (long)s->owner.pid, s->layout.log);
}

/* Sends TERM and waits.  A server that has served is never killed: it may be writing its data for minutes. */
static int stop_process(struct server *s)
{
	if (kill(s->owner.pid, SIGTERM) != 0 && errno != ESRCH)
		return js_error_errno(&s->cli.error, JOBSTACK_EPERM, "can't send a signal to the server (pid %ld)",
				      (long)s->owner.pid);
	if (server_await_end(s, STOP_LIMIT_US, 0) == 0) {
		js_owner_remove(&s->layout, &s->owner);
		return 0;
	}
	if (cli_stop == 0)
		return fail_to_stop(s, JOBSTACK_ECONFLICT);
	return js_error_set(&s->cli.error, JOBSTACK_ESTOPPED,
			    "no longer waiting; the server (pid %ld) is still stopping", (long)s->owner.pid);
}

int server_end(struct server *s)
{
	int status = js_owner_read(&s->layout, &s->owner, &s->state, &s->cli.error);

	if (status == 0 && s->state == JS_OWNER_ELSEWHERE)
		status = server_elsewhere(s);
	else if (status == 0) /* a record that is left stays, so that the next start knows of the crash */
		status = s->state == JS_OWNER_ALIVE ? stop_process(s) : 1;
	s->state = JS_OWNER_STOPPED;
	return status;
}

int server_stop(struct server *s)
{
	int status, lock;

	s->state = JS_OWNER_STOPPED;
	if (js_layout_exists(&s->layout) == 0)
		return 1;
	lock = js_layout_lock(&s->layout, &s->cli);
	if (lock < 0)
		return lock;
	status = server_end(s);
	(void)close(lock);
	return status;
}

/* Removes the record of the server that has just ended cleanly, unless another server has started since. */
static void remove_ended_record(struct server *s)
{
	int signal_number = cli_stop, lock;
	enum js_owner_state owns;
	struct js_owner owner;

	cli_stop = 0; /* it would end the wait for the lock */
	lock = js_layout_lock(&s->layout, &s->cli);
	cli_stop = signal_number;
	if (lock < 0)
		js_error_clear(&s->cli.error);
	else if (js_owner_read(&s->layout, &owner, &owns, NULL) == 0 && owns == JS_OWNER_CRASHED &&
		 owner.pid == s->owner.pid && owner.start == s->owner.start)
		js_owner_remove(&s->layout, &owner);
	if (lock >= 0)
		(void)close(lock);
}

/* The log's part of this start is all that says why; a full disk is told apart, because it has its own remedy. */
int server_failed(struct server *s, const char *what)
{
	struct js_buf text = {0};
	int status, full;

	js_logfile_read(s->layout.log, s->owner.log_offset, &text);
	full = js_logfile_full(s->layout.dir, text.data);
	cli_tell(&s->cli, "the last lines of %s:", s->layout.log);
	js_logfile_tell(&s->cli, text.data, 12);
	status = js_error_why(&s->cli.error, JOBSTACK_ENODB, full ? JS_LOGFILE_FULL : 0,
			      "the server %s%s; its log is %s", what,
			      full ? ": the disk under its directory or your quota is full" : "", s->layout.log);
	js_buf_free(&text);
	return status;
}

int server_ended(struct server *s, int end)
{
	char what[80];

	s->child = 0;
	if (WIFSIGNALED(end))
		(void)snprintf(what, sizeof(what), "was killed by signal %d", WTERMSIG(end));
	else
		(void)snprintf(what, sizeof(what), "ended with status %d", WEXITSTATUS(end));
	return server_failed(s, what);
}

/* A second signal changes nothing: the server is already writing its data. */
int server_wait(struct server *s, int now, int *status)
{
	int64_t since = 0;
	int end = 0;
	pid_t pid;

	while ((pid = waitpid(s->owner.pid, &end, WNOHANG)) == 0 || (pid < 0 && errno == EINTR)) {
		if (since == 0 && (now || cli_stop != 0)) {
			(void)kill(s->owner.pid, SIGTERM);
			since = js_clock_mono_us();
		}
		if (since != 0 && js_clock_mono_us() - since > STOP_LIMIT_US)
			return fail_to_stop(s, JOBSTACK_ENODB);
		js_clock_nap(100 * 1000, since != 0 ? NULL : &cli_stop);
	}
	if (pid < 0)
		return js_error_set(&s->cli.error, JOBSTACK_EBUG, "waiting for the server: %s", strerror(errno));
	*status = WIFSIGNALED(end) ? 128 + WTERMSIG(end) : WEXITSTATUS(end);
	if (*status != 0)
		return server_ended(s, end);
	remove_ended_record(s);
	return 0;
}

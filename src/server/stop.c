/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stop, status, and waiting for a server.  Promises: a process gets a signal only if its start time is the recorded
 * one; a server on another host is not touched.
 */
#include "server/server.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "server/internal.h"
#include "server/logfile.h"
#include "process/net.h"
#include "server/owner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_LIMIT_US (120 * JS_SECOND_US)
#define GREET_US (2 * JS_SECOND_US)

int js_server_elsewhere(const struct js_layout *layout, const struct js_owner *owner, struct jobstack_error *error)
{
	return js_error_set(
		error, JOBSTACK_ECONFLICT,
		"%s belongs to the server on the host %s (pid %ld%s%s), and this host can't see whether it still runs",
		layout->dir, owner->host, (long)owner->pid, owner->job[0] != '\0' ? ", Slurm job " : "", owner->job);
}

static int64_t server_uptime(const struct js_owner *owner)
{
	struct timespec now;
	long hz = sysconf(_SC_CLK_TCK);

	if (hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return -1;
	return (int64_t)now.tv_sec * JS_SECOND_US + now.tv_nsec / 1000 - owner->start * (JS_SECOND_US / hz);
}

void js_server_fill(const struct js_layout *layout, const struct js_owner *owner, enum js_server_state state,
		    struct js_server_info *info)
{
	struct stat st;
	struct js_who who;

	*info = (struct js_server_info){.state = state, .owner = *owner, .uptime_us = -1};
	memcpy(info->data, layout->dir, sizeof(info->data));
	memcpy(info->log, layout->log, sizeof(info->log));
	if (state == JS_SERVER_RUNNING || state == JS_SERVER_STARTING)
		info->uptime_us = server_uptime(owner);
	if (stat(layout->data, &st) == 0 && js_who_numbered(st.st_uid, &who, NULL) == 0)
		memcpy(info->user, who.name, sizeof(info->user));
}

int js_server_status(const struct js_server_options *options, struct js_server_info *info, struct jobstack_error *error)
{
	enum js_server_state state = JS_SERVER_STOPPED;
	struct js_net_greeting hello;
	enum js_owner_state owns;
	struct js_layout layout;
	struct js_owner owner;

	JS_TRY(js_layout_set(&layout, options->data, error));
	JS_TRY(js_owner_read(&layout, &owner, &owns, error));
	memset(&hello, 0, sizeof(hello));
	if (owns == JS_OWNER_GONE)
		state = JS_SERVER_CRASHED;
	else if (owns == JS_OWNER_ALIVE)
		state = js_net_greet(owner.listen, owner.port, GREET_US, &hello) == 0 ? JS_SERVER_RUNNING
										      : JS_SERVER_STARTING;
	else if (owns == JS_OWNER_ELSEWHERE)
		state = !js_net_loopback(owner.bind) && js_net_greet(owner.bind, owner.port, GREET_US, &hello) == 0
				? JS_SERVER_RUNNING
				: JS_SERVER_ELSEWHERE;
	js_server_fill(&layout, &owner, state, info);
	if (owns == JS_OWNER_ELSEWHERE)
		info->uptime_us = -1;
	if (hello.version[0] != '\0')
		memcpy(info->owner.version, hello.version, sizeof(info->owner.version));
	info->bytes = js_layout_size(layout.dir);
	return 0;
}

int js_server_await_end(const struct js_owner *owner, const struct js_log *log, const volatile int *stop,
			int64_t limit_us)
{
	int64_t start = js_clock_mono_us(), said = start;

	while (js_owner_lives(owner)) {
		int64_t now = js_clock_mono_us();

		if (now - start > limit_us || (stop != NULL && *stop != 0))
			return -1;
		if (now - said > 10 * JS_SECOND_US) {
			said = now;
			js_log(log, JOBSTACK_LOG_INFO, "waiting for the server (pid %ld) to write its data and end",
			       (long)owner->pid);
		}
		js_clock_nap(50 * 1000, stop);
	}
	return 0;
}

/* ENODB or ECONFLICT. */
static int fail_to_stop(int code, pid_t pid, const struct js_layout *layout, struct jobstack_error *error)
{
	return js_error_set(error, code, "the server (pid %ld) has not stopped within 2 minutes; its log is %s",
			    (long)pid, layout->log);
}

static int stop_process(const struct js_server_options *options, const struct js_layout *layout,
			const struct js_owner *owner, struct jobstack_error *error)
{
	if (kill(owner->pid, SIGTERM) != 0 && errno != ESRCH)
		return js_error_errno(error, JOBSTACK_EPERM, "can't send a signal to the server (pid %ld)",
				      (long)owner->pid);
	if (js_server_await_end(owner, &options->log, options->stop, STOP_LIMIT_US) != 0) {
		if (options->stop != NULL && *options->stop != 0)
			return js_error_set(error, JOBSTACK_ESTOPPED,
					    "no longer waiting; the server (pid %ld) is still stopping",
					    (long)owner->pid);
		return fail_to_stop(JOBSTACK_ECONFLICT, owner->pid, layout, error);
	}
	js_owner_remove(layout, owner);
	return 0;
}

int js_server_stop(const struct js_server_options *options, struct js_server_info *info, struct jobstack_error *error)
{
	enum js_owner_state owns;
	struct js_layout layout;
	struct js_owner owner;
	int status, lock;

	JS_TRY(js_layout_set(&layout, options->data, error));
	memset(&owner, 0, sizeof(owner));
	if (js_layout_exists(&layout) == 0) {
		js_server_fill(&layout, &owner, JS_SERVER_STOPPED, info);
		return 1;
	}
	lock = js_layout_lock(&layout, &options->log, options->stop, error);
	if (lock < 0)
		return lock;
	status = js_owner_read(&layout, &owner, &owns, error);
	if (status != 0)
		goto out;
	js_server_fill(&layout, &owner, JS_SERVER_STOPPED, info);
	if (owns == JS_OWNER_ELSEWHERE)
		status = js_server_elsewhere(&layout, &owner, error);
	else if (owns == JS_OWNER_ALIVE)
		status = stop_process(options, &layout, &owner, error);
	else
		status = 1; /* a record that is left stays, so that the next start knows of the crash */
out:
	(void)close(lock);
	return status;
}

/* Removes the record of the server that has just ended cleanly, unless another server has started since. */
static void remove_ended_record(const struct js_server_options *options, const struct js_layout *layout,
				const struct js_server_info *info)
{
	enum js_owner_state owns;
	struct js_owner owner;
	int lock = js_layout_lock(layout, &options->log, NULL, NULL);

	if (lock < 0)
		return;
	if (js_owner_read(layout, &owner, &owns, NULL) == 0 && owns == JS_OWNER_GONE && owner.pid == info->owner.pid &&
	    owner.start == info->owner.start)
		js_owner_remove(layout, &owner);
	(void)close(lock);
}

int js_server_failed(const struct js_server_options *options, const struct js_layout *layout, int64_t offset,
		     const char *what, struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status, full;

	js_logfile_read(layout->log, offset, &text);
	full = js_logfile_full(layout->dir, text.data);
	js_log(&options->log, JOBSTACK_LOG_ERROR, "the last lines of %s:", layout->log);
	js_logfile_tell(&options->log, text.data, 12);
	status = js_error_why(error, JOBSTACK_ENODB, full ? JS_LOGFILE_FULL : 0, "the server %s%s; its log is %s", what,
			      full ? ": the disk under its directory or your quota is full" : "", layout->log);
	js_buf_free(&text);
	return status;
}

int js_server_ended(const struct js_server_options *options, const struct js_layout *layout, int64_t offset, int end,
		    struct jobstack_error *error)
{
	char what[80];

	if (WIFSIGNALED(end))
		(void)snprintf(what, sizeof(what), "was killed by signal %d", WTERMSIG(end));
	else
		(void)snprintf(what, sizeof(what), "ended with status %d", WEXITSTATUS(end));
	return js_server_failed(options, layout, offset, what, error);
}

int js_server_wait(const struct js_server_options *options, const struct js_server_info *info, int *status,
		   struct jobstack_error *error)
{
	int end = 0, told = 0;
	struct js_layout layout;
	enum js_owner_state owns;
	struct js_owner owner;
	pid_t pid;
	int64_t since = 0;

	if (js_layout_set(&layout, info->data, error) != 0)
		return error->code;
	if (js_owner_read(&layout, &owner, &owns, NULL) != 0)
		memset(&owner, 0, sizeof(owner));
	while ((pid = waitpid(info->owner.pid, &end, WNOHANG)) == 0 || (pid < 0 && errno == EINTR)) {
		if (!told && options->stop != NULL && *options->stop != 0) {
			(void)kill(info->owner.pid, SIGTERM);
			told = 1;
			since = js_clock_mono_us();
		}
		if (told && js_clock_mono_us() - since > STOP_LIMIT_US)
			return fail_to_stop(JOBSTACK_ENODB, info->owner.pid, &layout, error);
		js_clock_nap(100 * 1000, told ? NULL : options->stop);
	}
	if (pid < 0)
		return js_error_set(error, JOBSTACK_EBUG, "waiting for the server: %s", strerror(errno));
	*status = WIFSIGNALED(end) ? 128 + WTERMSIG(end) : WEXITSTATUS(end);
	if (*status == 0) {
		remove_ended_record(options, &layout, info);
		return 0;
	}
	return js_server_ended(options, &layout, owner.log_offset, end, error);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Collects commands that have ended.  Promise: a process group is only signalled while its number still belongs to the
 * child that is being collected.
 */
#include "exec/reap.h"

#include "base/buf.h"
#include "base/clock.h"
#include "proc/cgroup.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPARE_US (2 * JS_SECOND_US) /* commands that were killed together are collected within this time */
#define WATCHED_MAX 1024

/* The commands that run, and the files that count their input and output (-1: it could not be opened).  The kernel's
 * list of children is one per process, too.  There are more elements than a worker has slots. */
static struct watched {
	pid_t pid;
	int fd;
} watched[WATCHED_MAX];
static size_t watched_n;
/* commands may be started by one thread and collected by another */
static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;

/* Removes PID from the table, with the lock held.  Returns whether it is a command, and its descriptor or -1. */
static int remove_watched(pid_t pid, int *fd)
{
	*fd = -1;
	for (size_t i = 0; i < watched_n; i++) {
		if (watched[i].pid != pid)
			continue;
		*fd = watched[i].fd;
		watched[i] = watched[--watched_n];
		return 1;
	}
	return 0;
}

/* Opens the file that counts the input and output of PID; -1: that is not allowed, or PID is gone. */
static int open_io(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/io", (long)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads a small file without allocating, and closes it.  Returns its length, or -1; TEXT is terminated. */
static ssize_t read_small_file(int fd, char *text, size_t size)
{
	ssize_t n;

	text[0] = '\0';
	if (fd < 0)
		return -1;
	do
		n = read(fd, text, size - 1);
	while (n < 0 && errno == EINTR);
	(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

void js_reap_watch(pid_t pid)
{
	int fd = open_io(pid), old;

	(void)pthread_mutex_lock(&watched_lock);
	(void)remove_watched(pid, &old);
	if (watched_n < WATCHED_MAX) {
		watched[watched_n++] = (struct watched){pid, fd};
		fd = -1;
	}
	(void)pthread_mutex_unlock(&watched_lock);
	if (old >= 0) /* of an earlier child with this number, which was collected elsewhere */
		(void)close(old);
	if (fd >= 0)
		(void)close(fd);
}

void js_reap_unmeasured(struct js_reaped *reaped)
{
#define UNMEASURED(member, ...) reaped->member = -1;
	JS_ATTEMPT_USAGE(UNMEASURED)
}

/* Reads the counters of PID: they lie in /proc as long as the zombie does, and hold those of the children it waited
 * for.  Returns whether it is a command. */
static int read_io(pid_t pid, char *io, size_t size)
{
	int fd, is_command;

	(void)pthread_mutex_lock(&watched_lock);
	is_command = remove_watched(pid, &fd);
	(void)pthread_mutex_unlock(&watched_lock);
	if (fd < 0)
		fd = open_io(pid);
	(void)read_small_file(fd, io, size);
	return is_command;
}

/* Where usage is found: see base/attempt.h. */
#define RUSAGE(field) usage.field
#define RUSAGE_US(field) (JS_SECOND_US * usage.field.tv_sec + usage.field.tv_usec)
#define IO(word) js_proc_number(io, word ": ")
#define SAMPLED -1
#define GIVEN -1
#define MEASURE(member, column, field, kind, found, ...) reaped->member = found;

/* Collects a child; WHICH and ID choose it, as in waitid.  First it only looks (WNOWAIT): as long as the child is a
 * zombie, its number belongs to it, and so does the number of its group.  So the rest of the group is killed, and the
 * counters in /proc are read, before the zombie is collected; afterwards another process could have the number. */
static int collect_child(idtype_t which, id_t id, struct js_reaped *reaped)
{
	struct rusage usage;
	siginfo_t info;
	char io[512];
	int status;
	pid_t pid;

	for (;;) {
		memset(&info, 0, sizeof(info));
		while (waitid(which, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
			if (errno != EINTR)
				return 1;
		if (info.si_pid == 0)
			return 1;
		*reaped = (struct js_reaped){.pid = info.si_pid, .exit_code = -1, .ended_us = js_clock_mono_us()};
		/* before wait4: the zombie holds the group's number.  The group of an orphan may be a daemon of a
		 * command that runs */
		if (read_io(reaped->pid, io, sizeof(io)))
			(void)kill(-reaped->pid, SIGKILL);
		do
			pid = wait4(reaped->pid, &status, WNOHANG, &usage);
		while (pid < 0 && errno == EINTR);
		if (pid == reaped->pid)
			break;
		/* it was collected elsewhere meanwhile: see what else there is */
	}
	if (WIFEXITED(status))
		reaped->exit_code = WEXITSTATUS(status);
	else
		reaped->signal = WTERMSIG(status);
	JS_ATTEMPT_USAGE(MEASURE)
	return 0;
}

int js_reap_next(struct js_reaped *reaped)
{
	return collect_child(P_ALL, 0, reaped);
}

int js_reap_one(pid_t pid, struct js_reaped *reaped)
{
	return collect_child(P_PID, (id_t)pid, reaped);
}

/* ------------------------------------------------------------------------------------------------- out of memory */

/* How many processes the kernel has killed in a cgroup for lack of memory; -1: FILE does not say. */
static int64_t read_counter(const char *file)
{
	char text[1024];

	(void)read_small_file(open(file, O_RDONLY | O_CLOEXEC), text, sizeof(text));
	return js_proc_number(text, "oom_kill ");
}

/* A js_cgroup_fn: chooses the counter of the innermost cgroup that has one. */
static int find_counter(void *ctx, const char *dir, int version)
{
	struct js_reap_oom *oom = ctx;
	struct js_buf file = {0};

	js_buf_printf(&file, "%s/%s", dir, version == 2 ? "memory.events" : "memory.oom_control");
	if (file.failed || read_counter(file.data) < 0) {
		js_buf_free(&file);
		return 0;
	}
	oom->file = file.data;
	return 1;
}

void js_reap_oom_begin(struct js_reap_oom *oom, const char *proc)
{
	*oom = (struct js_reap_oom){0};
	js_cgroup_walk(proc, "memory", find_counter, oom);
	if (oom->file != NULL)
		oom->seen = (uint64_t)read_counter(oom->file);
}

void js_reap_oom_end(struct js_reap_oom *oom)
{
	int saved = errno;

	free(oom->file);
	*oom = (struct js_reap_oom){0};
	errno = saved;
}

void js_reap_oom_look(struct js_reap_oom *oom)
{
	int64_t count = oom->file == NULL ? -1 : read_counter(oom->file);

	if (count >= 0)
		oom->seen = (uint64_t)count;
	oom->spare = 0;
}

/* The kernel only counts kills in the whole cgroup.  So a rise of the counter explains as many commands that were
 * killed as it has risen by, if they are collected at about the same time. */
int js_reap_was_oom(struct js_reap_oom *oom, const struct js_reaped *reaped)
{
	int64_t count;

	if (oom->file == NULL || (reaped->signal != SIGKILL && reaped->exit_code != 128 + SIGKILL))
		return 0;
	count = read_counter(oom->file);
	if (count >= 0 && (uint64_t)count > oom->seen) {
		/* several commands killed together are collected one after the other: the rest of the rise is theirs */
		oom->spare = (uint64_t)count - oom->seen - 1;
		oom->spare_us = reaped->ended_us;
		oom->seen = (uint64_t)count;
		return 1;
	}
	if (oom->spare == 0 || reaped->ended_us - oom->spare_us > SPARE_US)
		return 0;
	oom->spare--;
	return 1;
}

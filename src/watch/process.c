/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is dead by what the process table of this host tells.  Promises: what it hides from us, lives; only what a worker
 * that is gone has started is ended.
 *
 * A worker leads a session of its own, and its commands begin in it.  The kernel does not give the number of a session
 * away while one process of it is left, and tells everybody who is in which session.  So a command is found whatever
 * user it runs as (sudo, setpriv), and whatever became of its parents.  What has left the session (a daemon, the child
 * of su) is known by its environment, where we may read that.
 */
#define _GNU_SOURCE
#include "watch/suspect.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENDING_US (2 * JS_SECOND_US) /* for the killed to go */

/* ------------------------------------------------------------------------------------------------- the processes */

/* All numbers of processes, one after the other. */
struct numbers {
	DIR *proc; /* NULL: others' processes don't show in /proc (hidepid), and each number is tried */
	pid_t at, last;
};

static int begin_numbers(struct numbers *n)
{
	struct js_buf max = {0};
	uint64_t last;

	*n = (struct numbers){opendir("/proc"), 0, 0};
	if (n->proc == NULL)
		return -1;
	if (access("/proc/1", F_OK) == 0)
		return 0;
	(void)closedir(n->proc);
	n->proc = NULL;
	if (js_file_read("/proc/sys/kernel/pid_max", &max) == 0 && max.len > 1)
		max.data[max.len - 1] = '\0';
	n->last = max.data != NULL && js_num_u64(max.data, 1, INT32_MAX, &last) == 0 ? (pid_t)last : 4194304;
	js_buf_free(&max);
	return 0;
}

static void end_numbers(struct numbers *n)
{
	if (n->proc != NULL)
		(void)closedir(n->proc);
}

/* Returns the next process, and its session; 0 after the last one.  Threads are left out. */
static pid_t next_number(struct numbers *n, pid_t *session)
{
	const struct dirent *d;
	uint64_t pid;

	while (n->proc != NULL && (d = readdir(n->proc)) != NULL)
		if (js_num_u64(d->d_name, 1, INT32_MAX, &pid) == 0 && (*session = getsid((pid_t)pid)) >= 0)
			return (pid_t)pid;
	while (n->proc == NULL && n->at < n->last)
		if ((*session = getsid(++n->at)) >= 0 && (syscall(SYS_tgkill, n->at, n->at, 0) == 0 || errno == EPERM))
			return n->at;
	return 0;
}

/* Whether the process PID runs: 1 it does, 0 it has ended, -1 that is hidden; its parent (0: hidden), and its NAME. */
static int read_process(pid_t pid, pid_t *parent, char name[32])
{
	struct js_buf stat = {0};
	char path[64], *name_at, *name_end, state = 'X';
	long number = 0, threads = 0;
	int runs;

	*parent = 0;
	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	(void)snprintf(name, 32, "?");
	if (js_file_read(path, &stat) != 0 || stat.data == NULL || (name_end = strrchr(stat.data, ')')) == NULL) {
		js_buf_free(&stat);
		return kill(pid, 0) == 0 || errno == EPERM ? -1 : 0;
	}
	*name_end = '\0';
	name_at = strchr(stat.data, '(');
	if (name_at != NULL)
		(void)snprintf(name, 32, "%s", name_at + 1);
	for (char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	/* proc(5): from pgrp to nice; one whose first thread has ended may have others */
	(void)sscanf(name_end + 1, " %c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld", &state,
		     &number, &threads);
	*parent = (pid_t)number;
	runs = (state != 'Z' && state != 'X') || threads > 1;
	js_buf_free(&stat);
	return runs;
}

/* ---------------------------------------------------------------------------------------------- the workers' own */

/* Which process table we see. */
struct here {
	char host[256], boot[64];
};

static void look_around(struct here *here)
{
	memset(here, 0, sizeof(*here));
	(void)gethostname(here->host, sizeof(here->host) - 1);
	js_file_process_table(here->boot);
}

/* Its process was in the process table that we see: 1 it still is, or may be hidden; 0 it is gone; -1 we can't tell. */
static int is_here(const struct js_suspect *s, const struct here *here)
{
	int64_t start;

	if (s->by_script || s->pid_start < 0 || s->pid == 0 || s->pid > INT32_MAX || here->boot[0] == '\0' ||
	    strcmp(s->host, here->host) != 0 || strcmp(s->boot, here->boot) != 0)
		return -1;
	start = js_file_pid_start((pid_t)s->pid);
	return start == s->pid_start || (start < 0 && kill((pid_t)s->pid, 0) != 0 && errno != ESRCH);
}

/* Whether another process has got the number of its process: then no session has it any more, unless that one's. */
static int number_is_taken(const struct js_suspect *s)
{
	int64_t start = js_file_pid_start((pid_t)s->pid);

	return start >= 0 && start != s->pid_start;
}

static int may_end(const struct js_suspect *s)
{
	return s->ours || geteuid() == 0;
}

/* -------------------------------------------------------------------------------------------------- the commands */

/* What the environment that a process was started with tells of the worker that it comes from. */
struct origin {
	uint64_t pid, start, cgroup, job; /* of the worker; run/env.h; job 0: none */
};

static void read_origin(pid_t pid, struct origin *o)
{
	struct js_buf env = {0};
	char path[64];

	*o = (struct origin){0, 0, 0, 0};
	(void)snprintf(path, sizeof(path), "/proc/%ld/environ", (long)pid);
	if (js_file_read(path, &env) == 0)
		for (const char *p = env.data; p != NULL && p < env.data + env.len; p += strlen(p) + 1) {
			if (strncmp(p, "JOBSTACK_PROCESS=", 17) == 0)
				(void)sscanf(p + 17, "%" SCNu64 " %" SCNu64 " %" SCNx64, &o->pid, &o->start,
					     &o->cgroup);
			else if (strncmp(p, "SLURM_JOB_ID=", 13) == 0 &&
				 js_num_u64(p + 13, 1, UINT32_MAX, &o->job) != 0)
				o->job = 0;
		}
	js_buf_free(&env);
}

enum tie { TIE_NONE, TIE_SEEN, TIE_SURE };

/* Does the process PID come from a command of the worker, whose own process is gone?  SURE: it may be ended, and for
 * that its environment has to say so.  The session alone is not enough: the number of an empty one may have become
 * another's.  Nor is the environment outside of the session, unless it is in the worker's cgroup, too: a job of at(1)
 * has the environment as well.  What is in another Slurm job was submitted. */
static enum tie tie_of(struct js_suspect *s, pid_t pid, pid_t session, const struct origin *o)
{
	int of_worker = o->pid == s->pid && o->start == (uint64_t)s->pid_start;

	if (!s->gone || pid == getpid())
		return TIE_NONE;
	if (s->session && session == (pid_t)s->pid && pid != session)
		return of_worker ? TIE_SURE : TIE_SEEN;
	if (!of_worker || o->job != s->job)
		return TIE_NONE;
	return o->cgroup == js_file_cgroup(pid) ? TIE_SURE : TIE_SEEN;
}

/* Looks at every process: is it a command of somebody whose own process is gone? */
static int find_commands(struct js_suspects *all)
{
	struct numbers numbers;
	pid_t pid, session, parent;
	char name[32];

	if (begin_numbers(&numbers) != 0)
		return -1;
	while ((pid = next_number(&numbers, &session)) != 0) {
		struct origin origin;

		read_origin(pid, &origin);
		for (size_t i = 0; i < all->n; i++) {
			struct js_suspect *s = &all->at[i];
			enum tie tie = tie_of(s, pid, session, &origin);

			if (tie == TIE_NONE || s->sure || read_process(pid, &parent, name) == 0)
				continue;
			s->command = (uint64_t)pid;
			s->sure = tie == TIE_SURE;
			(void)snprintf(s->name, sizeof(s->name), "%s", name);
		}
	}
	end_numbers(&numbers);
	return 0;
}

struct found {
	pid_t pid, parent;
	int tied;
};

/* Ties what is below of what is tied. */
static void mark_below(struct found *all, size_t n)
{
	for (int changed = 1; changed;) {
		changed = 0;
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; !all[i].tied && j < n; j++)
				if (all[j].tied && all[j].pid == all[i].parent)
					all[i].tied = changed = 1;
	}
}

/* Sends KILL to what surely comes from a command of the worker that is gone, and to all that is below.  Returns how
 * many there are, and in *SENT to how many we may. */
static size_t kill_commands(struct js_suspect *s, size_t *sent)
{
	struct found *all = NULL, *grown;
	size_t n = 0, room = 0, left = 0;
	struct numbers numbers;
	struct origin origin;
	pid_t pid, session, parent;
	char name[32];

	*sent = 0;
	s->session = !number_is_taken(s);
	if (begin_numbers(&numbers) != 0)
		return 0;
	while ((pid = next_number(&numbers, &session)) != 0) {
		if (read_process(pid, &parent, name) == 0)
			continue;
		if (n == room) {
			grown = realloc(all, (room = 2 * room + 64) * sizeof(*all));
			if (grown == NULL)
				break; /* what has been seen is ended first: it is called again */
			all = grown;
		}
		read_origin(pid, &origin);
		all[n++] = (struct found){pid, parent, tie_of(s, pid, session, &origin) == TIE_SURE};
	}
	end_numbers(&numbers);
	mark_below(all, n);
	for (size_t i = 0; i < n; i++)
		if (all[i].tied && all[i].pid != getpid()) {
			left++;
			*sent += kill(all[i].pid, SIGKILL) == 0;
		}
	free(all);
	return left;
}

/* Does what the keeper would have done: ends what the commands of a dead worker have left. */
static void end_commands(struct js_suspect *s)
{
	int64_t until = js_clock_mono_us() + ENDING_US;
	size_t left, sent;

	for (int none = 0; none < 2 && js_clock_mono_us() < until;) { /* twice: what forks may pass one look by */
		left = kill_commands(s, &sent);
		if (left > 0 && sent == 0)
			return; /* others' processes */
		none = left == 0 ? none + 1 : 0;
		if (left > 0)
			js_clock_nap(JS_SECOND_US / 500, NULL);
	}
}

/* --------------------------------------------------------------------------------------------------- the verdict */

/* Finds what commands of the dead have left.  Twice: one that is starting a child and ending just then
 * could be missed. */
static int find_twice(struct js_suspects *all)
{
	for (size_t i = 0; i < all->n; i++) {
		all->at[i].command = 0;
		all->at[i].sure = 0;
	}
	return find_commands(all) != 0 || find_commands(all) != 0 ? -1 : 0;
}

/* The same, and ends what may be ended unless this is a DRY run. */
static int find_and_end(struct js_suspects *all, int dry)
{
	int ended = 0;

	if (find_twice(all) != 0)
		return -1;
	for (size_t i = 0; i < all->n && !dry; i++) {
		struct js_suspect *s = &all->at[i];

		if (!s->sure || !may_end(s))
			continue;
		end_commands(s);
		s->ended = ended = 1;
	}
	return ended ? find_twice(all) : 0;
}

void js_watch_by_process(const struct js_round *round, struct js_suspects *all)
{
	int dry = round->options->dry_run, gone = 0, failed;
	struct here here;

	look_around(&here);
	for (size_t i = 0; i < all->n; i++) {
		struct js_suspect *s = &all->at[i];
		int is = is_here(s, &here);

		s->lives = is > 0;
		s->gone = is == 0;
		s->session = s->gone && !number_is_taken(s);
		gone |= s->gone;
	}
	failed = gone && find_and_end(all, dry) != 0;
	for (size_t i = 0; i < all->n; i++) {
		struct js_suspect *s = &all->at[i];

		if (s->command != 0) {
			s->lives = s->runs_here = 1;
			(void)snprintf(s->hint, sizeof(s->hint),
				       "its process is gone, but one of its commands still runs here (process %" PRIu64
				       ", %s): %s",
				       s->command, s->name,
				       s->sure && dry && may_end(s) ? "`jobstack recover` kills it" : "kill it");
		} else if (s->gone && may_end(s) && !failed) /* of others we may not see all that commands have left */
			(void)snprintf(s->reason, sizeof(s->reason), "its process on %.180s is gone%s", here.host,
				       s->ended ? " (processes that its commands left were killed)" : "");
	}
}

int js_watch_runs_here(struct js_suspect *s)
{
	struct numbers numbers;
	pid_t pid, session, parent;
	struct here here;
	int is;

	look_around(&here);
	is = is_here(s, &here);
	if (is < 0)
		return 0;
	if (is == 0 && may_end(s)) {
		s->runs_here = 1;
		(void)snprintf(s->hint, sizeof(s->hint),
			       "its process is gone, but one of its commands may still run here");
		return 1;
	}
	if (number_is_taken(s) || begin_numbers(&numbers) != 0)
		return 0;
	while (!s->runs_here && (pid = next_number(&numbers, &session)) != 0)
		if (session == (pid_t)s->pid && pid != session && read_process(pid, &parent, s->name) != 0) {
			s->command = (uint64_t)pid;
			s->runs_here = 1;
			(void)snprintf(s->hint, sizeof(s->hint),
				       "one of its commands still runs here (process %" PRIu64 ", %s): kill it",
				       s->command, s->name);
		}
	end_numbers(&numbers);
	return s->runs_here;
}

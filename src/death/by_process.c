/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The proof by the process table of this host.  Promises: a process that is hidden from us counts as alive; only what a
 * dead worker has started is killed.
 *
 * A worker leads a session of its own, and its commands begin in it.  The kernel does not reuse the number of a session
 * while any process of it is left, and tells everybody which process is in which session.  So a command is found
 * whatever user it runs as (sudo, setpriv), and whatever became of its parents.  A process that has left the session (a
 * daemon, the child of su) is known by its environment, if we may read that.
 */
#include "death/suspect.h"

#include "base/clock.h"
#include "base/num.h"
#include "proc/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ENDING_US (2 * JS_SECOND_US) /* how long killed processes may take to end */

/* ------------------------------------------------------------------------------------------------- the processes */

/* Returns the next process, and its session; 0 after the last one. */
static pid_t next_process(struct js_proc_walk *walk, pid_t *session)
{
	pid_t pid;

	while ((pid = js_proc_walk_next(walk)) != 0)
		if ((*session = getsid(pid)) >= 0)
			break;
	return pid;
}

/* Returns whether the process PID runs, or may run.  Fills PROC with what can be seen of it. */
static int may_process_run(pid_t pid, struct js_proc *proc)
{
	if (js_proc_read(pid, proc) == 0)
		return !proc->zombie || proc->threads > 1; /* its first thread has ended, but others may run */
	(void)snprintf(proc->name, sizeof(proc->name), "?");
	proc->parent = 0;
	return kill(pid, 0) == 0 || errno == EPERM; /* hidden */
}

/* ---------------------------------------------------------------------------------------------- the workers' own */

/* Identifies the process table that we see: by host, boot and pid namespace (js_proc_space). */
struct here {
	char host[256], boot[64];
};

static void find_process_space(struct here *here)
{
	memset(here, 0, sizeof(*here));
	(void)gethostname(here->host, sizeof(here->host) - 1);
	js_proc_space(here->boot);
}

/* Returns whether the worker's process is in the process table that we see: 1: it is, or may be hidden; 0: it has
 * ended; -1: that can't be seen from here.  A process with its number counts only if it started at the same time, since
 * numbers are reused. */
static int is_process_here(const struct js_suspect *s, const struct here *here)
{
	int64_t start;

	if (s->by_script || s->pid_start < 0 || s->pid == 0 || s->pid > INT32_MAX || here->boot[0] == '\0' ||
	    strcmp(s->host, here->host) != 0 || strcmp(s->boot, here->boot) != 0)
		return -1;
	start = js_proc_start((pid_t)s->pid);
	return start == s->pid_start || (start < 0 && kill((pid_t)s->pid, 0) != 0 && errno != ESRCH);
}

/* Returns whether another process has the number of the worker's process.  Then a session of that number is not the
 * worker's. */
static int number_is_taken(const struct js_suspect *s)
{
	int64_t start = js_proc_start((pid_t)s->pid);

	return start >= 0 && start != s->pid_start;
}

/* Returns whether this user may kill the worker's commands, and sees all of them. */
static int may_end(const struct js_suspect *s)
{
	return s->ours || geteuid() == 0;
}

/* -------------------------------------------------------------------------------------------------- the commands */

/* The worker that a process comes from, by the environment that it was started with. */
struct origin {
	uint64_t pid, start, cgroup, job; /* of the worker (exec/env.h); job 0: none */
};

/* Reads from which worker the process PID comes.  What can't be read is 0, which is no worker. */
static void read_origin(pid_t pid, struct origin *o)
{
	struct js_buf env = {0};
	const char *process, *job;

	*o = (struct origin){0, 0, 0, 0};
	if (js_proc_environ(pid, &env) == 0) {
		process = js_proc_variable(&env, "JOBSTACK_PROCESS");
		job = js_proc_variable(&env, "SLURM_JOB_ID");
		if (process != NULL)
			(void)sscanf(process, "%" SCNu64 " %" SCNu64 " %" SCNx64, &o->pid, &o->start, &o->cgroup);
		if (job != NULL && js_num_u64(job, 1, UINT32_MAX, &o->job) != 0)
			o->job = 0;
	}
	js_buf_free(&env);
}

/* How a process belongs to a worker: not at all; probably, so nothing may be recovered yet; surely, so it may be
 * killed. */
enum tie { TIE_NONE, TIE_SEEN, TIE_SURE };

/* Returns how the process PID belongs to the worker S, whose own process is gone:
 *
 *   session   environment   cgroup      tie
 *   same      same          any         SURE
 *   same      other         any         SEEN: the number of an empty session may have been reused
 *   other     same          same        SURE
 *   other     same          other       SEEN: a job of at(1) inherits the environment, too
 *   other     other         any         NONE
 *
 * A process outside of the session that is in another Slurm job was submitted, so it is no part of the command. */
static enum tie tie_of(struct js_suspect *s, pid_t pid, pid_t session, const struct origin *o)
{
	int of_worker = o->pid == s->pid && o->start == (uint64_t)s->pid_start;

	if (!s->gone || pid == getpid())
		return TIE_NONE;
	if (s->session && session == (pid_t)s->pid && pid != session)
		return of_worker ? TIE_SURE : TIE_SEEN;
	if (!of_worker || o->job != s->job)
		return TIE_NONE;
	return o->cgroup == js_proc_cgroup(pid) ? TIE_SURE : TIE_SEEN;
}

/* Notes for each worker whose own process is gone a process of its commands that still runs, preferably one that may be
 * killed. */
static int find_commands(struct js_suspects *all)
{
	struct js_proc_walk walk;
	struct js_proc proc;
	pid_t pid, session;

	if (js_proc_walk_begin(&walk, 1) != 0)
		return -1;
	while ((pid = next_process(&walk, &session)) != 0) {
		struct origin origin;

		read_origin(pid, &origin);
		for (size_t i = 0; i < all->n; i++) {
			struct js_suspect *s = &all->at[i];
			enum tie tie = tie_of(s, pid, session, &origin);

			if (tie == TIE_NONE || s->sure || !may_process_run(pid, &proc))
				continue;
			s->command = (uint64_t)pid;
			s->sure = tie == TIE_SURE;
			memcpy(s->name, proc.name, sizeof(s->name));
		}
	}
	js_proc_walk_end(&walk);
	return 0;
}

/* Sends KILL to each process that surely comes from a command of the worker, and to all below it.  Returns how many
 * there are, and in *SENT how many could be signalled. */
static size_t kill_commands(struct js_suspect *s, size_t *sent)
{
	struct js_proc_set all = {NULL, 0, 0};
	struct js_proc_walk walk;
	struct origin origin;
	struct js_proc proc;
	pid_t pid, session;
	size_t left = 0;

	*sent = 0;
	s->session = !number_is_taken(s);
	if (js_proc_walk_begin(&walk, 1) != 0)
		return 0;
	while ((pid = next_process(&walk, &session)) != 0) {
		if (!may_process_run(pid, &proc))
			continue;
		read_origin(pid, &origin);
		if (js_proc_set_add(&all, pid, proc.parent, tie_of(s, pid, session, &origin) == TIE_SURE) != 0)
			break; /* no memory: kills what was found; the caller repeats this */
	}
	js_proc_walk_end(&walk);
	js_proc_set_mark_below(&all);
	for (size_t i = 0; i < all.n; i++)
		if (all.at[i].marked && all.at[i].pid != getpid()) {
			left++;
			*sent += kill(all.at[i].pid, SIGKILL) == 0;
		}
	js_proc_set_free(&all);
	return left;
}

/* Does what the keeper would have done: kills what the commands of a dead worker have left. */
static void end_commands(struct js_suspect *s)
{
	int64_t until = js_clock_mono_us() + ENDING_US;
	size_t left, sent;

	for (int none = 0;
	     none < 2 && js_clock_mono_us() < until;) { /* twice: a process that forks may escape one look */
		left = kill_commands(s, &sent);
		if (left > 0 && sent == 0)
			return; /* processes of other users */
		none = left == 0 ? none + 1 : 0;
		if (left > 0)
			js_clock_nap(JS_SECOND_US / 500, NULL);
	}
}

/* --------------------------------------------------------------------------------------------------- the verdict */

/* Finds what commands of dead workers have left.  It looks twice: a single walk through /proc could miss a process that
 * starts a child behind the walk's position and ends before the walk comes to it. */
static int find_commands_twice(struct js_suspects *all)
{
	for (size_t i = 0; i < all->n; i++) {
		all->at[i].command = 0;
		all->at[i].sure = 0;
	}
	return find_commands(all) != 0 || find_commands(all) != 0 ? -1 : 0;
}

/* Finds it, and kills what may be killed, unless this is a DRY run; then looks again. */
static int find_and_end(struct js_suspects *all, int dry)
{
	int ended = 0;

	if (find_commands_twice(all) != 0)
		return -1;
	for (size_t i = 0; i < all->n && !dry; i++) {
		struct js_suspect *s = &all->at[i];

		if (!s->sure || !may_end(s))
			continue;
		end_commands(s);
		s->ended = ended = 1;
	}
	return ended ? find_commands_twice(all) : 0;
}

/* For a worker of another user, whose processes we may not see, a process that is gone is no proof; its commands that
 * can be seen still keep it alive. */
int js_death_by_process(const struct js_round *round, struct js_suspects *all)
{
	int dry = round->options->dry_run, gone = 0, failed;
	struct here here;

	find_process_space(&here);
	for (size_t i = 0; i < all->n; i++) {
		struct js_suspect *s = &all->at[i];
		int is = is_process_here(s, &here);

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
			s->killable = s->sure && dry && may_end(s);
			(void)snprintf(s->hint, sizeof(s->hint),
				       "its process is gone, but one of its commands still runs here (process %" PRIu64
				       ", %s): %s",
				       s->command, s->name, s->killable ? "`jobstack recover` kills it" : "kill it");
		} else if (s->gone && may_end(s) && !failed) /* not of other users: we may not see all their commands */
			(void)snprintf(s->reason, sizeof(s->reason), "its process on %.180s is gone%s", here.host,
				       s->ended ? " (processes left by its commands were killed)" : "");
	}
	return 0;
}

int js_observer_runs_here(struct js_suspect *s)
{
	struct js_proc_walk walk;
	struct js_proc proc;
	pid_t pid, session;
	struct here here;
	int is;

	find_process_space(&here);
	is = is_process_here(s, &here);
	if (is < 0)
		return 0;
	if (is == 0 && may_end(s)) {
		s->runs_here = 1;
		(void)snprintf(s->hint, sizeof(s->hint),
			       "its process is gone, but one of its commands may still run here");
		return 1;
	}
	if (number_is_taken(s) || js_proc_walk_begin(&walk, 1) != 0)
		return 0;
	while (!s->runs_here && (pid = next_process(&walk, &session)) != 0)
		if (session == (pid_t)s->pid && pid != session && may_process_run(pid, &proc)) {
			memcpy(s->name, proc.name, sizeof(s->name));
			s->command = (uint64_t)pid;
			s->runs_here = 1;
			(void)snprintf(s->hint, sizeof(s->hint),
				       "one of its commands still runs here (process %" PRIu64 ", %s): kill it",
				       s->command, s->name);
		}
	js_proc_walk_end(&walk);
	return s->runs_here;
}

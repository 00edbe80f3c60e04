/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is dead?  Promise: nothing is taken from a worker whose death is not proven; where a proof can't be had (Slurm does
 * not answer, a process may be hidden from us), it lives.
 */
#define _GNU_SOURCE
#include "cli/lost.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "slurm/query.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BETWEEN_LOOKS_US (2 * JS_SECOND_US + JS_SECOND_US / 10)
#define SAME_START_US (2 * JS_SECOND_US)
#define CLOCKS_US (60 * JS_SECOND_US) /* how far the clocks of Slurm, the database and this host may lie apart */

/* A worker that holds entries. */
struct suspect {
	uint64_t worker, seq, running, pid;
	int64_t pid_start, job_start_us, silent_us, lease_us, age_us;
	uint32_t job; /* 0: none */
	int by_script;
	char host[256], boot[64], node[256], cluster[128];
	char proof[300]; /* why it is known to be dead; "": it is not */
};

struct suspects {
	struct suspect *at;
	size_t n, room;
	int memory;
};

static void keep(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from == NULL ? "" : from);
}

static int take_worker(void *ctx, const struct jobstack_worker_row *w)
{
	struct suspects *s = ctx;
	struct suspect *to;
	uint64_t job = 0;

	if (w->running == 0)
		return 0;
	if (s->n == s->room) {
		size_t room = s->room == 0 ? 64 : 2 * s->room;
		struct suspect *grown = realloc(s->at, room * sizeof(*grown));

		if (grown == NULL) {
			s->memory = 1;
			return 1;
		}
		s->at = grown;
		s->room = room;
	}
	to = &s->at[s->n++];
	memset(to, 0, sizeof(*to));
	to->worker = w->worker;
	to->seq = w->seq;
	to->running = w->running;
	to->pid = w->pid;
	to->pid_start = w->pid_start;
	to->job_start_us = w->job_start_us;
	to->silent_us = w->silent_us;
	to->lease_us = w->lease_us;
	to->age_us = w->age_us;
	to->by_script = w->by_script;
	to->job = w->job != NULL && js_num_u64(w->job, 1, UINT32_MAX, &job) == 0 ? (uint32_t)job : 0;
	keep(to->host, sizeof(to->host), w->host);
	keep(to->boot, sizeof(to->boot), w->boot);
	keep(to->node, sizeof(to->node), w->node != NULL ? w->node : w->host != NULL ? w->host : "?");
	keep(to->cluster, sizeof(to->cluster), w->cluster);
	return 0;
}

/* Reads the workers of the stack that hold something. */
static int look(struct cli *cli, struct suspects *s)
{
	int status;

	s->n = 0;
	status = jobstack_workers(cli->handle, cli->stack, take_worker, s, &cli->error);
	return s->memory ? js_error_memory(&cli->error) : status;
}

/* Does the environment of process PID carry these two variables? */
static int carries(const char *pid, const char *worker, const char *stack)
{
	struct js_buf env = {0};
	char path[300];
	int found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%.200s/environ", pid);
	if (js_file_read(path, &env) == 0)
		for (const char *p = env.data; p != NULL && p < env.data + env.len; p += strlen(p) + 1)
			found |= strcmp(p, worker) == 0 ? 1 : strcmp(p, stack) == 0 ? 2 : 0;
	js_buf_free(&env);
	return found == 3;
}

/* A command of the worker that has outlived it: its pid as text, or "". */
static void find_command(const struct cli *cli, uint64_t worker, char pid[32])
{
	DIR *proc = opendir("/proc");
	char of_worker[64], of_stack[JOBSTACK_STACK_MAX + 32];
	const struct dirent *d;

	pid[0] = '\0';
	(void)snprintf(of_worker, sizeof(of_worker), "JOBSTACK_WORKER=%" PRIu64, worker);
	(void)snprintf(of_stack, sizeof(of_stack), "JOBSTACK_STACK=%.*s", JOBSTACK_STACK_MAX, cli->stack);
	while (proc != NULL && pid[0] == '\0' && (d = readdir(proc)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && carries(d->d_name, of_worker, of_stack))
			(void)snprintf(pid, 32, "%.31s", d->d_name);
	if (proc != NULL)
		(void)closedir(proc);
}

/* (a) Its process was on this host in this boot, and is not there any more, nor is a command of its.  What /proc hides from
 * us, lives. */
static void prove_by_process(const struct cli *cli, struct suspect *s, const char *host, const char *boot)
{
	char command[32];
	int64_t start;

	if (s->by_script || s->pid_start < 0 || s->pid == 0 || s->pid > INT32_MAX || boot[0] == '\0' || strcmp(s->host, host) != 0 ||
	    strcmp(s->boot, boot) != 0)
		return;
	start = js_file_pid_start((pid_t)s->pid);
	if (start == s->pid_start || (start < 0 && kill((pid_t)s->pid, 0) != 0 && errno != ESRCH))
		return;
	find_command(cli, s->worker, command);
	if (command[0] == '\0')
		(void)snprintf(s->proof, sizeof(s->proof), "its process on %s is gone", host);
	else
		cli_say(cli, "worker %" PRIu64 " on %s is gone, but a command of its runs on (process %s): wait for its end, or kill it, "
			"and requeue again", s->worker, host, command);
}

/* Is JOB, as Slurm has it, the job of this worker? */
static int same_job(const struct suspect *s, const struct js_slurm_job *job, int64_t now_us)
{
	const char *cluster = getenv("SLURM_CLUSTER_NAME");
	int64_t apart = s->job_start_us - job->start_us;

	if (cluster != NULL && *cluster != '\0' && s->cluster[0] != '\0' && strcmp(cluster, s->cluster) != 0)
		return 0;
	if (s->job_start_us >= 0 && job->start_us >= 0 && (apart > SAME_START_US || apart < -SAME_START_US))
		return 0;
	/* numbers come back: a job that began after the worker did, or ended before its last sign of life, is another */
	if (job->start_us >= 0 && job->start_us > now_us - s->age_us + CLOCKS_US)
		return 0;
	return job->end_us < 0 || job->end_us >= now_us - s->silent_us - CLOCKS_US;
}

/* (b) Slurm knows its job, and that it has ended. */
static int prove_by_slurm(struct cli *cli, struct suspects *all)
{
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), 0};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	uint32_t *ids = calloc(all->n + 1, sizeof(*ids));
	struct js_slurm_job *jobs = NULL;
	int64_t now = js_clock_wall_us();
	size_t n = 0, j;

	for (size_t i = 0; ids != NULL && i < all->n; i++) {
		if (all->at[i].job == 0 || all->at[i].proof[0] != '\0')
			continue;
		for (j = 0; j < n && ids[j] != all->at[i].job; j++)
			;
		ids[j] = all->at[i].job;
		n += j == n;
	}
	jobs = calloc(n + 1, sizeof(*jobs));
	if (ids == NULL || jobs == NULL) {
		free(ids);
		free(jobs);
		return js_error_memory(&cli->error);
	}
	if (n > 0 && js_slurm_jobs(&where, ids, n, jobs, &error) != 0 && cli->verbose)
		cli_say(cli, "Slurm could not be asked about %zu jobs: %s", n, error.text);
	for (size_t i = 0; n > 0 && i < all->n; i++) {
		struct suspect *s = &all->at[i];

		for (j = 0; j < n && ids[j] != s->job; j++)
			;
		if (j < n && s->proof[0] == '\0' && jobs[j].found && jobs[j].terminal && same_job(s, &jobs[j], now))
			(void)snprintf(s->proof, sizeof(s->proof), "its Slurm job %" PRIu32 " ended (%s)", s->job, jobs[j].state);
	}
	free(jobs);
	free(ids);
	return 0;
}

/* How long to watch a worker that seems silent: the server's clock alone is no proof, it may have jumped.  One that lives
 * beats its heart within a third of its lease.  (A script's pop never does: its lease is all there is.) */
static int64_t watch_us(const struct suspect *s)
{
	return BETWEEN_LOOKS_US + (s->by_script ? 0 : s->lease_us / 8 * 3);
}

/* (c) It was silent for longer than its lease, and still is: two looks with the same seq. */
static int prove_by_silence(struct cli *cli, struct suspects *all)
{
	struct suspects again = {NULL, 0, 0, 0};
	int64_t until, longest = 0;
	char text[64];
	int status;

	for (size_t i = 0; i < all->n; i++)
		if (all->at[i].proof[0] == '\0' && all->at[i].silent_us > all->at[i].lease_us && watch_us(&all->at[i]) > longest)
			longest = watch_us(&all->at[i]);
	if (longest == 0)
		return 0;
	js_num_duration_text(longest, text, sizeof(text));
	cli_say(cli, "watching workers that have been silent for longer than their lease, for %s, to be sure", text);
	until = jobstack_now_us() + longest;
	while (cli_stop == 0 && jobstack_now_us() < until)
		js_clock_nap(until - jobstack_now_us(), &cli_stop);
	status = cli_stop != 0 ? js_error_set(&cli->error, JOBSTACK_ESTOPPED, "stopped") : look(cli, &again);
	for (size_t i = 0, j = 0; status == 0 && i < all->n; i++) {
		struct suspect *s = &all->at[i];

		while (j < again.n && again.at[j].worker < s->worker) /* both are in the order of their numbers */
			j++;
		if (s->proof[0] == '\0' && s->silent_us > s->lease_us && j < again.n && again.at[j].worker == s->worker &&
		    again.at[j].seq == s->seq && again.at[j].silent_us > again.at[j].lease_us)
			(void)snprintf(s->proof, sizeof(s->proof), "silent for %" PRId64 " s, longer than its lease",
				       again.at[j].silent_us / JS_SECOND_US);
	}
	free(again.at);
	return status;
}

static const char *entries_word(uint64_t n)
{
	return n == 1 ? "entry" : "entries";
}

/* Takes back from one. */
static int recover(struct cli *cli, const struct suspect *s, int dry_run, struct cli_lost *lost)
{
	uint64_t taken = s->running;
	int status = dry_run ? 0
			     : jobstack_recover(cli->handle, cli->stack, s->worker, s->seq, s->proof, &taken, &cli->error);

	if (status == JOBSTACK_NOTHING) { /* it moved, or somebody else was quicker */
		js_error_clear(&cli->error);
		return 0;
	}
	if (status != 0)
		return status;
	lost->taken += taken;
	lost->workers++;
	cli_say(cli, "worker %" PRIu64 " on %s: %s: %" PRIu64 " %s %s back", s->worker, s->node, s->proof, taken, entries_word(taken),
		dry_run ? "would be taken" : "taken");
	return 0;
}

static void tell_silent(struct cli *cli, const struct suspect *s)
{
	char silent[64], lease[64];

	if (s->silent_us <= s->lease_us / 2)
		return;
	js_num_duration_text(s->silent_us, silent, sizeof(silent));
	js_num_duration_text(s->lease_us, lease, sizeof(lease));
	cli_say(cli,
		"worker %" PRIu64 " on %s has been silent for %s of its %s lease%s; its %" PRIu64 " %s come%s back when that ends: requeue "
		"again then",
		s->worker, s->node, silent, lease, s->by_script ? " (a script's pop)" : "", s->running, entries_word(s->running),
		s->running == 1 ? "s" : "");
}

int cli_lost_recover(struct cli *cli, int dry_run, struct cli_lost *lost)
{
	struct suspects all = {NULL, 0, 0, 0};
	char host[256] = "", boot[40];
	int status = look(cli, &all);

	(void)gethostname(host, sizeof(host) - 1);
	js_file_boot_id(boot);
	for (size_t i = 0; status == 0 && i < all.n; i++)
		prove_by_process(cli, &all.at[i], host, boot);
	if (status == 0)
		status = prove_by_slurm(cli, &all);
	if (status == 0)
		status = prove_by_silence(cli, &all);
	for (size_t i = 0; status == 0 && i < all.n; i++) {
		if (all.at[i].proof[0] != '\0')
			status = recover(cli, &all.at[i], dry_run, lost);
		else
			tell_silent(cli, &all.at[i]);
	}
	free(all.at);
	return status;
}

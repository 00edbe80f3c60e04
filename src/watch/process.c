/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who is dead by what /proc tells.  Promise: what /proc hides from us, lives.
 */
#define _GNU_SOURCE
#include "watch/suspect.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/num.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The worker of STACK whose command the process PID is, by its environment; 0: of none. */
static uint64_t worker_of(const char *pid, const char *stack)
{
	struct js_buf env = {0};
	uint64_t worker = 0;
	char path[64];
	int of_stack = 0;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	if (js_file_read(path, &env) == 0)
		for (const char *p = env.data; p != NULL && p < env.data + env.len; p += strlen(p) + 1) {
			if (strncmp(p, "JOBSTACK_STACK=", 15) == 0)
				of_stack = strcmp(p + 15, stack) == 0;
			else if (strncmp(p, "JOBSTACK_WORKER=", 16) == 0 &&
				 js_num_u64(p + 16, 1, UINT64_MAX, &worker) != 0)
				worker = 0;
		}
	js_buf_free(&env);
	return of_stack ? worker : 0;
}

/* Looks at every process: is it a command of somebody whose own process is gone? */
static int find_commands(const char *stack, struct js_suspects *all)
{
	DIR *proc = opendir("/proc");
	const struct dirent *d;
	uint64_t worker, pid;

	if (proc == NULL)
		return -1;
	while ((d = readdir(proc)) != NULL) {
		if (js_num_u64(d->d_name, 1, INT32_MAX, &pid) != 0)
			continue;
		worker = worker_of(d->d_name, stack);
		for (size_t i = 0; worker != 0 && i < all->n; i++)
			if (all->at[i].worker == worker && all->at[i].command == 0)
				all->at[i].command = pid;
	}
	(void)closedir(proc);
	return 0;
}

/* Its process was in the process table that we see: 1 it still is, or may be hidden; 0 it is gone; -1 we can't tell. */
static int is_here(const struct js_suspect *s, const char *host, const char *boot)
{
	int64_t start;

	if (s->by_script || s->pid_start < 0 || s->pid == 0 || s->pid > INT32_MAX || boot[0] == '\0' ||
	    strcmp(s->host, host) != 0 || strcmp(s->boot, boot) != 0)
		return -1;
	start = js_file_pid_start((pid_t)s->pid);
	return start == s->pid_start || (start < 0 && kill((pid_t)s->pid, 0) != 0 && errno != ESRCH);
}

void js_watch_by_process(const char *stack, struct js_suspects *all)
{
	char host[256] = "", boot[64];
	size_t gone = 0;

	(void)gethostname(host, sizeof(host) - 1);
	js_file_process_table(boot);
	for (size_t i = 0; i < all->n; i++) {
		struct js_suspect *s = &all->at[i];
		int here = is_here(s, host, boot);

		s->lives = here > 0;
		if (here != 0 || (!s->ours && geteuid() != 0)) /* of others we may not see the commands */
			continue;
		(void)snprintf(s->reason, sizeof(s->reason), "its process on %.200s is gone", host);
		gone++;
	}
	/* twice: one that is starting a child and ending just then could be missed */
	if (gone > 0 && (find_commands(stack, all) != 0 || find_commands(stack, all) != 0))
		for (size_t i = 0; i < all->n; i++)
			all->at[i].reason[0] = '\0';
	for (size_t i = 0; i < all->n; i++) {
		struct js_suspect *s = &all->at[i];

		if (s->command == 0 || s->lives)
			continue;
		s->lives = 1;
		s->reason[0] = '\0';
		(void)snprintf(s->hint, sizeof(s->hint),
			       "its process is gone, but a command of its runs on here (process %llu): kill that",
			       (unsigned long long)s->command);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Samples of process trees, from /proc.  Promises: a command of less than a second costs nothing; all samples together
 * take at most a hundredth of a core, because the thread rests a hundred times as long as it worked; a read that hangs
 * delays nothing else.
 */
#include "exec/sample.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "proc/proc.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REST 100	     /* the thread rests so many times as long as a look took */
#define TREE_MAX 4096	     /* processes of a command */
#define LAST_US JS_SECOND_US /* how long the end waits for a read that hangs */

/* A thread of a command, and how long it has waited for input and output. */
struct task {
	pid_t tid;
	uint64_t ticks;
};

/* A slot, and what was measured of its command. */
struct watch {
	pid_t pid;			   /* 0: no command */
	uint64_t number;		   /* distinguishes it from earlier commands of the slot */
	int64_t due_us, peak_kib, wait_us; /* when to look next; what was measured, -1: not known */
};

/* What the thread alone knows of a command. */
struct seen {
	uint64_t number;   /* the watch's */
	uint64_t ended;	   /* ticks of threads that have ended */
	struct task *task; /* the threads of the last look, by number */
	size_t n, room;
};

struct js_sampler {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	int stop, ended, delays; /* delays: the kernel counts them */
	size_t slots;
	uint64_t numbers;
	struct watch *watch;
	/* the thread's */
	struct seen *seen;
	struct js_buf text;
	pid_t tree[TREE_MAX];
	size_t tree_n;
};

/* Returns whether the kernel counts how long tasks wait.  Since 5.14 it does so only if it is asked to. */
static int counts_delays(void)
{
	struct js_buf text = {0};
	int counts = js_file_read("/proc/sys/kernel/task_delayacct", &text) == 0;

	if (counts)
		counts = text.len > 0 && text.data[0] == '1';
	else if (js_file_read("/proc/cmdline", &text) == 0)
		counts = strstr(text.data, "nodelayacct") == NULL;
	js_buf_free(&text);
	return counts;
}

/* Reads a file of the process PID, or of its thread TID.  Returns its text, valid until the next call; "" if there is
 * none. */
static const char *read_proc(struct js_sampler *s, pid_t pid, pid_t tid, const char *name)
{
	char path[96];

	if (tid > 0)
		(void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/%s", (long)pid, (long)tid, name);
	else
		(void)snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	js_buf_reset(&s->text);
	return js_file_read(path, &s->text) == 0 && s->text.len > 0 ? s->text.data : "";
}

/* Returns field 42 of stat: how many ticks the thread has waited for block devices, swap among them. */
static uint64_t read_delay(struct js_sampler *s, pid_t pid, pid_t tid)
{
	const char *at = strrchr(read_proc(s, pid, tid, "stat"), ')');

	for (int field = 2; at != NULL && field < 42; field++)
		at = strchr(at + 1, ' ');
	return at != NULL ? strtoull(at, NULL, 10) : 0;
}

static int compare_tasks(const void *a, const void *b)
{
	pid_t x = ((const struct task *)a)->tid, y = ((const struct task *)b)->tid;

	return x < y ? -1 : x > y;
}

/* Adds the children of PID to the tree, and its threads to NOW. */
static void measure_threads(struct js_sampler *s, pid_t pid, struct seen *now)
{
	char path[64];
	DIR *threads;

	(void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
	threads = opendir(path);
	for (struct dirent *d; threads != NULL && (d = readdir(threads)) != NULL;) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);
		const char *at;
		char *end;

		if (tid <= 0)
			continue;
		at = read_proc(s, pid, tid, "children");
		for (long child; s->tree_n < TREE_MAX && (child = strtol(at, &end, 10)) > 0; at = end)
			s->tree[s->tree_n++] = (pid_t)child;
		if (s->delays && js_array_grow(&now->task, &now->room, now->n + 1, sizeof(*now->task)) == 0)
			now->task[now->n++] = (struct task){tid, read_delay(s, pid, tid)};
	}
	if (threads != NULL)
		(void)closedir(threads);
}

/* Returns the anonymous and shared memory of PID with what is swapped out, in KiB, without mapped files.  What
 * processes of a tree share must count once, so each gets its part of it (Pss).  For that the kernel walks through all
 * pages, so a process that is ALONE is asked for the simpler figure (Rss), which is the same then. */
static int64_t memory_of(struct js_sampler *s, pid_t pid, int alone)
{
	static const char *const name[2][3] = {{"Pss_Anon:", "Pss_Shmem:", "SwapPss:"},
					       {"RssAnon:", "RssShmem:", "VmSwap:"}};

	for (int i = alone; i < 2; i++) {
		const char *text = read_proc(s, pid, 0, i == 0 ? "smaps_rollup" : "status");
		int64_t anon = js_proc_number(text, name[i][0]), shared = js_proc_number(text, name[i][1]),
			swap = js_proc_number(text, name[i][2]);

		if (anon >= 0)
			return anon + (shared > 0 ? shared : 0) + (swap > 0 ? swap : 0);
	}
	return 0;
}

/* Measures the tree of PID: how much memory it has, and how long it has waited.  The kernel counts waiting per thread,
 * and forgets it when the thread ends.  So what a thread had waited at the last look stays in ENDED when it is gone. */
static void measure_tree(struct js_sampler *s, struct seen *seen, pid_t pid, int64_t *kib, int64_t *wait_us)
{
	struct seen now = {.number = seen->number, .ended = seen->ended};
	uint64_t ticks = 0;

	s->tree[0] = pid;
	s->tree_n = 1;
	for (size_t i = 0; i < s->tree_n; i++)
		measure_threads(s, s->tree[i], &now);
	*kib = 0;
	for (size_t i = 0; i < s->tree_n; i++)
		*kib += memory_of(s, s->tree[i], s->tree_n == 1);
	if (now.n > 0)
		qsort(now.task, now.n, sizeof(now.task[0]), compare_tasks);
	for (size_t i = 0; i < seen->n; i++)
		if (now.n == 0 || bsearch(&seen->task[i], now.task, now.n, sizeof(now.task[0]), compare_tasks) == NULL)
			now.ended += seen->task[i].ticks;
	for (size_t i = 0; i < now.n; i++)
		ticks += now.task[i].ticks;
	free(seen->task);
	*seen = now;
	*wait_us = s->delays ? (int64_t)(now.ended + ticks) * (JS_SECOND_US / sysconf(_SC_CLK_TCK)) : -1;
}

/* The processor time of this thread.  The rest is measured by it, not by the clock: reading may also wait. */
static int64_t cpu_time_us(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? JS_SECOND_US * t.tv_sec + t.tv_nsec / 1000 : 0;
}

/* Looks at the commands that are due, with the lock held except while it reads /proc, which may hang.  What was read of
 * a command that ended meanwhile is dropped (NUMBER).  Returns when to look next. */
static int64_t measure_due(struct js_sampler *s)
{
	int64_t began = cpu_time_us(), next = js_clock_mono_us() + JS_SECOND_US, rest;
	int looked = 0;

	for (size_t i = 0; i < s->slots && !s->stop; i++) {
		struct watch *w = &s->watch[i], before = *w;
		int64_t kib, wait_us;

		if (w->pid == 0 || w->due_us > js_clock_mono_us())
			continue;
		(void)pthread_mutex_unlock(&s->lock);
		if (s->seen[i].number != before.number) {
			s->seen[i].number = before.number;
			s->seen[i].ended = s->seen[i].n = 0;
		}
		measure_tree(s, &s->seen[i], before.pid, &kib, &wait_us);
		looked = 1;
		(void)pthread_mutex_lock(&s->lock);
		if (w->number != before.number) /* it has ended meanwhile */
			continue;
		w->due_us = js_clock_mono_us() + JS_SECOND_US;
		if (kib == 0) /* it is ending */
			continue;
		w->peak_kib = kib > w->peak_kib ? kib : w->peak_kib;
		w->wait_us = wait_us;
	}
	rest = looked ? js_clock_mono_us() + REST * (cpu_time_us() - began) : 0;
	for (size_t i = 0; i < s->slots; i++)
		if (s->watch[i].pid != 0 && s->watch[i].due_us < next)
			next = s->watch[i].due_us;
	return next > rest ? next : rest;
}

static void *sampler_main(void *sampler)
{
	struct js_sampler *s = sampler;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		int64_t until = measure_due(s);
		const struct timespec t = js_clock_deadline(until);

		while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &t) == 0)
			;
	}
	s->ended = 1;
	(void)pthread_cond_broadcast(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct js_sampler *js_sampler_begin(size_t n)
{
	struct js_sampler *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->slots = n;
	s->watch = calloc(n, sizeof(*s->watch));
	s->seen = calloc(n, sizeof(*s->seen));
	s->delays = counts_delays();
	if (s->watch != NULL && s->seen != NULL && pthread_mutex_init(&s->lock, NULL) == 0 &&
	    js_clock_cond_init(&s->wake) == 0 && pthread_create(&s->thread, NULL, sampler_main, s) == 0)
		return s;
	free(s->watch);
	free(s->seen);
	free(s);
	return NULL;
}

/* If a read of /proc hangs, the thread is left behind with what it uses. */
void js_sampler_end(struct js_sampler *s)
{
	const struct timespec t = js_clock_deadline(js_clock_mono_us() + LAST_US);
	int ended;

	if (s == NULL)
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->stop = 1;
	(void)pthread_cond_broadcast(&s->wake);
	while (!s->ended && pthread_cond_timedwait(&s->wake, &s->lock, &t) == 0)
		;
	ended = s->ended;
	(void)pthread_mutex_unlock(&s->lock);
	if (!ended) { /* it hangs: what it uses may not be freed */
		(void)pthread_detach(s->thread);
		return;
	}
	(void)pthread_join(s->thread, NULL);
	for (size_t i = 0; i < s->slots; i++)
		free(s->seen[i].task);
	js_buf_free(&s->text);
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
	free(s->watch);
	free(s->seen);
	free(s);
}

/* A new number makes the thread forget what it knows of the slot's last command.  The first look comes after a second.
 */
void js_sampler_watch(struct js_sampler *s, size_t slot, pid_t pid)
{
	if (s == NULL)
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->watch[slot] = (struct watch){pid, ++s->numbers, js_clock_mono_us() + JS_SECOND_US, -1, -1};
	(void)pthread_mutex_unlock(&s->lock);
}

void js_sampler_take(struct js_sampler *s, size_t slot, struct jobstack_outcome *o)
{
	if (s == NULL)
		return;
	(void)pthread_mutex_lock(&s->lock);
	o->peak_kib = s->watch[slot].peak_kib;
	o->io_wait_us = s->watch[slot].wait_us;
	s->watch[slot] = (struct watch){.peak_kib = -1, .wait_us = -1};
	(void)pthread_mutex_unlock(&s->lock);
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The process of a slot whose command is persistent.  Promises: it gets one entry at a time; a process that has to end
 * gets no more; for short entries /proc is not read.
 */
#include "worker/persistent.h"

#include "base/error.h"
#include "base/file.h"
#include "proc/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#define LONG_US (JS_SECOND_US / 20) /* the usage of an entry that took longer is measured */

int persistent_new(struct persistent **made, struct jobstack_error *error)
{
	struct persistent *p = calloc(1, sizeof(*p));

	*made = p;
	if (p == NULL || (p->process = js_persist_new()) == NULL)
		return js_error_memory(error);
	p->own[0] = p->own[1] = -1;
	return 0;
}

void persistent_free(struct persistent *p)
{
	if (p == NULL)
		return;
	js_persist_free(p->process);
	free(p);
}

/* Five descriptors per slot, and some for the rest of the worker. */
void persistent_raise_files(unsigned slots)
{
	const rlim_t need = 5 * (rlim_t)slots + 64;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY || files.rlim_cur >= need)
		return;
	files.rlim_cur = files.rlim_max == RLIM_INFINITY || files.rlim_max > need ? need : files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Has the loop watch the pipe FD for WHAT, in addition to errors, which epoll always reports. */
static int watch_pipe(struct commands *c, const struct slot *slot, int how, int fd, uint32_t what)
{
	const uint32_t input = fd == slot->persistent->process->in ? PERSISTENT_INPUT : 0;
	struct epoll_event event = {.events = what, .data.u32 = (slot->number - 1) | input};

	return epoll_ctl(c->epoll, how, fd, &event);
}

/* Starts the process of SLOT.  Returns as slot_start does. */
static enum slot_start begin_process(struct commands *c, struct slot *slot, struct jobstack_error *error)
{
	struct js_template_values none = {NULL, 0, 0, 0, slot->number, c->config->stack, c->worker};
	char *const *argv = js_template_argv_in(c->config->template, &none, &slot->words);
	char *const *envp = js_env_for(slot->env, &none);
	struct persistent *p = slot->persistent;
	int out, err;
	pid_t pid;

	if (argv == NULL || envp == NULL) {
		(void)js_error_memory(error);
		return SLOT_LATER;
	}
	/* an earlier process may have used these files; its last output is then kept with the next entry */
	js_capture_files(slot->capture, &out, &err);
	if ((out < 0 || err < 0) && js_capture_begin(slot->capture, &out, &err, error) != 0)
		return SLOT_BROKEN;
	slot->program = js_program_look(c->version);
	pid = js_persist_start(p->process, c->spawn, c->program.len > 0 ? c->program.data : NULL, argv, envp, out, err);
	if (pid == -ETIME)
		return SLOT_GONE;
	if (pid < 0) {
		js_spawn_error(argv[0], -pid, error);
		return js_spawn_is_command(-pid) || pid == -E2BIG ? SLOT_BROKEN : SLOT_LATER;
	}
	p->user_us = p->system_us = p->since_us = 0;
	if (watch_pipe(c, slot, EPOLL_CTL_ADD, p->process->out, EPOLLIN) == 0 &&
	    watch_pipe(c, slot, EPOLL_CTL_ADD, p->process->in, 0) == 0)
		return SLOT_RUNS; /* the input is watched for EPOLLERR only: it was closed */
	(void)js_error_set(error, JOBSTACK_EBUG, "epoll: %s", strerror(errno));
	persistent_leave(p, 0); /* it ends at once, since its answers would not be noticed */
	return SLOT_LATER;
}

int64_t persistent_patience_us(const struct config *config)
{
	return later(config->grace_us, JS_SECOND_US);
}

/* The pipe is watched for room only while something waits to be sent, since a pipe with room is reported all the time.
 */
void persistent_send(struct commands *c, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	int waits;

	if (js_persist_send(p->process) != 0 || p->process->in < 0)
		return; /* the process no longer reads: EPOLLERR says so */
	waits = p->process->sent < p->process->request_len;
	if (waits != p->waits && watch_pipe(c, slot, EPOLL_CTL_MOD, p->process->in, waits ? EPOLLOUT : 0) == 0)
		p->waits = waits;
}

/* A process may close its standard input after it has read the last request, and still answer.  Only if it can't have
 * read all of it, it gets TERM after a while. */
void persistent_deaf(struct commands *c, struct slot *slot)
{
	int64_t until = jobstack_now_us() + persistent_patience_us(c->config);
	struct persistent *p = slot->persistent;

	(void)epoll_ctl(c->epoll, EPOLL_CTL_DEL, p->process->in, NULL);
	if (slot->pid == 0 && !p->leaving)
		persistent_leave(p, until);
	else if (slot->pid != 0 && (!p->process->asked || js_persist_is_unread(p->process, 0)))
		p->mute_at_us = until;
}

/* If a process that has answered before takes no request, it is just ending, and the entry waits for the next process.
 * A new process that takes none is left with the entry: its end, or its silence, is the command's failure. */
enum slot_start persistent_ask(struct commands *c, struct slot *slot, const struct js_template_values *values,
			       const int own[2], struct jobstack_error *error)
{
	struct persistent *p = slot->persistent;
	enum slot_start how = SLOT_RUNS;

	if (p->process->pid == 0)
		how = begin_process(c, slot, error);
	if (how != SLOT_RUNS)
		return how;
	if (!js_clock_holds(&c->bound) || js_spawn_is_late(&slot->stop)) /* as before an exec */
		return SLOT_GONE;
	if (js_persist_ask(p->process, values->entry, values->attempt, values->datapath, values->datapath_len) != 0 &&
	    p->process->answers > 0) {
		persistent_leave(p, jobstack_now_us() + c->config->grace_us);
		return SLOT_GONE;
	}
	if (p->process->sent < p->process->request_len) /* a process that never reads: see persistent_deaf */
		persistent_send(c, slot);
	p->own[0] = own[0];
	p->own[1] = own[1];
	slot->pid = p->process->pid;
	return SLOT_RUNS;
}

void persistent_drop_own(struct slot *slot)
{
	for (int i = 0; i < 2; i++)
		js_file_close(&slot->persistent->own[i]);
}

/* The entry's own files are closed in any case.  A write to the captured file that failed while the process was
 * printing is reported here, since the output is only now said to be kept. */
int persistent_keep_own(struct slot *slot, struct jobstack_error *error)
{
	struct persistent *p = slot->persistent;
	int status = 0;

	for (int i = 0; i < 2 && status == 0; i++)
		if (p->own[i] >= 0)
			status = js_capture_move(slot->capture, i, p->own[i], error);
	persistent_drop_own(slot);
	if (status == 0 && p->process->failed != 0)
		status = js_error_set(error, JOBSTACK_EFILE, "can't write to a temporary file: %s",
				      strerror(p->process->failed));
	p->process->failed = 0;
	return status;
}

void persistent_leave(struct persistent *p, int64_t term_at_us)
{
	js_file_close(&p->process->in);
	p->leaving = 1;
	p->term_at_us = term_at_us;
}

/* The usage of a long entry is what the process has used since it was last measured, less what the short entries in
 * between can have used: at most their time (SINCE_US).  Of this, processor time in user mode is taken off first. */
void persistent_usage(struct slot *slot, struct js_reaped *r)
{
	struct persistent *p = slot->persistent;
	int64_t took = r->ended_us - slot->started_us, before;
	struct js_proc now;

	js_reap_unmeasured(r);
	r->user_us = r->system_us = 0;
	if (took < LONG_US || js_proc_read(r->pid, &now) != 0) {
		p->since_us += took;
		return;
	}
	r->user_us = later(now.user_us - p->user_us, 0);
	r->system_us = later(now.system_us - p->system_us, 0);
	before = earlier(p->since_us, r->user_us); /* the short entries before this one used at most their time */
	r->user_us -= before;
	r->system_us -= earlier(p->since_us - before, r->system_us);
	p->user_us = now.user_us;
	p->system_us = now.system_us;
	p->since_us = 0;
}

/* The kernel only gives the usage of the process's whole life.  If it has answered before, earlier entries have a part
 * in that: times are reduced by what was measured, and what can't be divided becomes "not known". */
void persistent_usage_of_end(const struct slot *slot, struct js_reaped *r)
{
	const struct persistent *p = slot->persistent;
	const struct js_reaped life = *r;

	if (p->process->answers == 0) /* its whole life was this entry */
		return;
	js_reap_unmeasured(r);
	r->user_us = later(life.user_us - p->user_us - p->since_us, 0);
	r->system_us = later(life.system_us - p->system_us, 0);
	r->maxrss_kib = life.maxrss_kib;
}

void persistent_ended(struct persistent *p)
{
	js_persist_ended(p->process);
	p->leaving = p->waits = 0;
	p->term_at_us = p->kill_at_us = p->mute_at_us = 0;
}

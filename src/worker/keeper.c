/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The keeper.  Promises: when keeper_watch returns, no process that the worker started runs any more, or it says how
 * many do; a command outlives its worker's lease by no more than the walk through /proc takes.  Children that the
 * process had before are neither signalled nor adopted from; if it is killed, the keeper is killed too, which ends the
 * worker.
 */
#include "worker/keeper.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/signal.h"
#include "exec/reap.h"
#include "exec/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNBORN_US JS_SECOND_US	      /* how often the keeper checks whether the worker has a lease by now */
#define REFUSED_US JS_SECOND_US	      /* the pause after no process could be created for a look */
#define LATEST_US (10 * JS_SECOND_US) /* the longest pause between two checks */
#define AGAIN_US (JS_SECOND_US / 10)  /* between two rounds of killing commands of a worker that hangs */
#define ENDING_US (10 * JS_SECOND_US) /* how long killed processes may take to end, perhaps within the kernel */
#define LEFT_US (10 * JS_SECOND_US)   /* the same for a worker that has finished: a thread of it may still write */
#define LOOK_US (60 * JS_SECOND_US)   /* the longest look */

void keeper_signals(void *signals)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
	sigset_t *set = signals;

	(void)sigemptyset(set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		/* nohup, a shell's `&`: a signal that is blocked would be read here although it is ignored.  A worker
		 * always obeys TERM and USR1, since Slurm sends KILL next */
		if ((numbers[i] != SIGHUP && numbers[i] != SIGINT) || !js_signal_is_ignored(numbers[i]))
			(void)sigaddset(set, numbers[i]);
}

static sigset_t normal; /* the signal mask as it was, for the worker and for looks */

/* The keeper also waits for SIGCHLD, so that it notices the worker's end at once. */
static void fill_keeper_signals(sigset_t *set)
{
	keeper_signals(set);
	(void)sigaddset(set, SIGCHLD);
}

/* Returns whether this process has children, or may get some that are not the worker's: a process that was made a
 * subreaper stays one after exec, and adopts orphans.  Collects children that have ended. */
static int has_children(void)
{
	int adopts = 0;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		;
	(void)prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0);
	return pid == 0 || adopts;
}

/* Passes signals on to the keeper until it ends, and returns its exit status.  Collects other children that end. */
static int forward_until_exit(pid_t keeper, const sigset_t *set)
{
	int status, number;
	pid_t pid;

	for (;;) {
		while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
			if (pid == keeper)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (sigwait(set, &number) == 0 && number != SIGCHLD)
			(void)kill(keeper, number);
	}
}

/* If this process has children, starts another process to become the keeper, since the keeper kills all that is below
 * it.  If this process is killed, so is the keeper, and with it the worker.  Returns as keeper_split does. */
static int leave_children(const sigset_t *set, int *status, struct jobstack_error *error)
{
	pid_t parent = getpid(), keeper;

	if (!has_children())
		return 0;
	keeper = fork();
	if (keeper < 0)
		return js_error_set(error, JOBSTACK_EBUG, "can't start the process that watches over the worker: %s",
				    strerror(errno));
	if (keeper > 0) {
		*status = forward_until_exit(keeper, set);
		return 1;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before prctl, which then has no effect */
		_exit(128 + SIGKILL);
	(void)setsid(); /* a terminal's signals come through the parent, and must not come twice */
	return 0;
}

/* Forks the worker.  Both processes share the page.  The worker has the reading end of a pipe whose writing end only
 * the keeper holds: when the keeper ends, however it does, the kernel closes it, and the worker reads the end of file.
 * Returns 0 in both processes. */
static int make_worker(struct keeper *k, struct jobstack_error *error)
{
	void *page = mmap(NULL, sizeof(*k->page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int life[2] = {-1, -1};

	if (page == MAP_FAILED || pipe2(life, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    (k->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		return js_error_set(error, JOBSTACK_EBUG, "can't set up the process that watches over the worker: %s",
				    strerror(errno));
	k->page = page;
	k->page->deadline_us = INT64_MAX;
	k->pid = fork();
	if (k->pid < 0)
		return js_error_set(error, JOBSTACK_EBUG, "can't start a process for the worker: %s",
				    js_error_process_words(errno));
	/* life[0] is the reading end: the worker closes the writing end, the keeper the reading end */
	(void)close(life[k->pid == 0]);
	k->life = life[k->pid != 0];
	if (k->pid == 0) {
		(void)setsid();
		return 0;
	}
	(void)js_tree_adopt();
	(void)prctl(PR_SET_NAME, "jobstack-keeper", 0, 0, 0);
	return 0;
}

/* Signals are blocked before the first fork and stay so in the keeper, which reads them from a descriptor.  So a signal
 * that comes between the forks waits, instead of ending one of the processes. */
int keeper_split(struct keeper *k, int *status, struct jobstack_error *error)
{
	sigset_t set;
	int rc;

	/* no signal may be lost between the processes, and the kernel must not collect children itself */
	fill_keeper_signals(&set);
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, &set, &normal);
	k->pid = 0;
	rc = leave_children(&set, status, error);
	JS_THEN(rc, make_worker(k, error));
	if (rc < 0 || (rc == 0 && k->pid == 0))
		(void)sigprocmask(SIG_SETMASK, &normal, NULL);
	return rc;
}

void keeper_ask(const struct keeper *k)
{
	uint64_t one = 1;

	if (write(k->event, &one, sizeof(one)) < 0)
		return; /* the counter is full: there are requests enough */
}

/* The look: a child of the keeper that seeks proofs of other workers' deaths, or asks Slurm when the job ends. */
struct look {
	pid_t pid;	  /* 0: there is none */
	int64_t until_us; /* the moment at which it is killed; without a look: none begins before */
};

/* Begins a look if the worker has asked for one and none is under way.  It is a process of its own, since it may wait
 * for Slurm or the database for long, and the keeper must never wait.  Requests that come while a look runs are added
 * up in the eventfd, and are answered by one further look. */
static void begin_look(const struct keeper *k, struct look *look)
{
	uint64_t count;
	pid_t pid;

	if (look->pid != 0 || js_clock_mono_us() < look->until_us || read(k->event, &count, sizeof(count)) < 0)
		return;
	pid = fork();
	if (pid > 0)
		*look = (struct look){pid, js_clock_mono_us() + LOOK_US};
	else if (pid < 0) { /* the machine has no process: the request stays */
		look->until_us = js_clock_mono_us() + REFUSED_US;
		keeper_ask(k);
	}
	if (pid != 0)
		return;
	(void)close(k->life); /* else the worker would not notice that the keeper is gone */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigprocmask(SIG_SETMASK, &normal, NULL);
	_exit(k->look(k->look_ctx));
}

/* Collects children that have ended: the worker, a look, and orphans of commands.  Returns whether the worker was among
 * them; then END says how it ended. */
static int collect_worker(const struct keeper *k, struct look *look, struct keeper_end *end)
{
	int status, ended = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == look->pid)
			*look = (struct look){0, 0};
		if (pid != k->pid)
			continue;
		ended = 1;
		end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
	return ended;
}

/* Passes the signals that ask the worker to end on to it. */
static void forward_signals(const struct keeper *k, int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			(void)kill(k->pid, (int)info.ssi_signo);
}

/* For js_tree_kill: checked before each kill, since the worker may renew its lease while /proc is being read. */
static int is_lease_over(const void *ctx)
{
	const struct keeper_page *page = ctx;

	return page->deadline_us <= js_clock_mono_us();
}

/* Kills the commands of a worker whose lease has ended.  Returns when to check again.
 *
 * KILLING is set before the kills, and KILLED_US after them.  A worker that wakes meanwhile sees commands end by
 * SIGKILL: it waits while KILLING is set, and then knows by KILLED_US that this was no fault of the entries. */
static int64_t keep_lease(const struct keeper *k, int64_t now)
{
	int64_t deadline = k->page->deadline_us;
	size_t killed;

	if (deadline == INT64_MAX)
		return now + (k->page->worker == 0 ? UNBORN_US : LATEST_US);
	if (deadline > now) /* the worker moves it on */
		return deadline < now + LATEST_US ? deadline : now + LATEST_US;
	k->page->killing = 1; /* a worker that wakes now must know that it was the keeper who killed */
	killed = js_tree_kill(k->pid, is_lease_over, k->page);
	if (killed > 0)
		k->page->killed_us = js_clock_mono_us();
	k->page->killing = 0;
	return now + (killed > 0 ? AGAIN_US : UNBORN_US);
}

/* Kills everything below this process, now that the worker has ended: what commands started has become its child, or
 * the child of such a child.  It repeats until nothing is left, since a process may fork while /proc is being read. */
static void kill_what_is_left(struct keeper_end *end)
{
	int64_t until = js_clock_mono_us() + ENDING_US;
	int collected;

	/* usually there is nothing: orphans would be our children */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
		return;
	do {
		end->left = js_tree_kill(getpid(), NULL, NULL);
		collected = 0;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			collected = 1;
		if (end->left > 0 && !collected)
			js_clock_nap(JS_SECOND_US / 500, NULL);
	} while (end->left > 0 && js_clock_mono_us() < until);
}

/* The keeper never waits for anything but events: not for files, a lock, the database, or the worker itself. */
void keeper_watch(struct keeper *k, struct keeper_end *end)
{
	struct look look = {0, 0};
	struct js_reap_oom oom;
	struct pollfd polls[3];
	sigset_t set;

	*end = (struct keeper_end){-1, 0, 0, 0, 0};
	js_reap_oom_begin(&oom, "/proc/self");
	fill_keeper_signals(&set);
	polls[0] = (struct pollfd){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN};
	polls[2] = (struct pollfd){.fd = js_clock_leap_open(), .events = POLLIN};
	polls[1] = (struct pollfd){.events = POLLIN};
	/* In each round: the lease, the look's time limit, events, signals, ended children, and a new look.  The
	 * eventfd is polled only while a look could begin, or poll would return at once again and again. */
	for (;;) {
		int64_t now = js_clock_mono_us(), next = keep_lease(k, now);

		if (look.pid != 0 && now > look.until_us)
			(void)kill(look.pid, SIGKILL);
		if (look.until_us > now && look.until_us < next)
			next = look.until_us;
		polls[1].fd = look.pid == 0 && now >= look.until_us ? k->event : -1;
		if (poll(polls, 3, (int)((next - now + 999) / 1000)) < 0 && errno != EINTR)
			js_clock_nap(AGAIN_US, NULL);  /* then it checks by the clock */
		(void)js_clock_leap_read(polls[2].fd); /* perhaps suspended: the lease is checked now */
		forward_signals(k, polls[0].fd);
		if (collect_worker(k, &look, end))
			break;
		if (k->page->left_us != 0 && js_clock_mono_us() > k->page->left_us + LEFT_US) {
			end->exit_code = k->page->status;
			end->hangs = 1;
			break;
		}
		if (k->look != NULL)
			begin_look(k, &look);
		js_reap_oom_look(&oom); /* a kill that was counted by now did not hit the worker, which still runs */
	}
	if (end->hangs) /* the worker itself can't be waited for; usually it has no commands left */
		(void)js_tree_kill(k->pid, NULL, NULL);
	else
		kill_what_is_left(end);
	if (end->signal != 0) {
		struct js_reaped reaped = {.signal = end->signal, .exit_code = -1, .ended_us = js_clock_mono_us()};

		end->oom = js_reap_was_oom(&oom, &reaped);
	}
	js_reap_oom_end(&oom);
	(void)close(polls[0].fd);
	if (polls[2].fd >= 0)
		(void)close(polls[2].fd);
}

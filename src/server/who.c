/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Running programs.  Promises: whoever could not be executed says why, through a close-on-exec pipe; no descriptor of
 * ours or of our caller (a lock, a pipe that somebody reads to its end) lives on in the server.
 */
#define _GNU_SOURCE
#include "server/child.h"

#include "base/clock.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (256 * 1024)

/* What a child that could not be executed says. */
struct failure {
	int number;
	char what[60];
};

static void set_who(struct js_who *who, uid_t uid, gid_t gid, const char *name)
{
	who->change = uid != geteuid();
	who->uid = uid;
	who->gid = gid;
	(void)snprintf(who->name, sizeof(who->name), "%s", name);
}

void js_child_self(struct js_who *who)
{
	struct passwd *pw = getpwuid(geteuid());

	set_who(who, geteuid(), getegid(), pw != NULL ? pw->pw_name : "");
}

int js_child_user(const char *name, struct js_who *who, struct jobstack_error *error)
{
	struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		return js_error_set(error, JOBSTACK_EUSAGE, "there is no user %s", name);
	if (pw->pw_uid == 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "the server must not run as root");
	set_who(who, pw->pw_uid, pw->pw_gid, pw->pw_name);
	return 0;
}

int js_child_uid(uid_t uid, struct js_who *who, struct jobstack_error *error)
{
	struct passwd *pw = getpwuid(uid);

	if (pw == NULL)
		return js_error_set(error, JOBSTACK_EUSAGE, "there is no user with the number %lu", (unsigned long)uid);
	set_who(who, pw->pw_uid, pw->pw_gid, pw->pw_name);
	return 0;
}

/* Becomes WHO for good.  In the child. */
static int become(const struct js_who *who)
{
	if (who == NULL || !who->change)
		return 0;
	if (initgroups(who->name, who->gid) != 0 || setgid(who->gid) != 0 || setuid(who->uid) != 0)
		return -1;
	return setuid(0) == 0 ? -1 : 0; /* there must be no way back */
}

int js_child_call(const struct js_who *who, int (*fn)(const void *arg), const void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(become(who) == 0 ? fn(arg) : 255);
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int try_access(const void *dir)
{
	return access(dir, X_OK | W_OK) == 0 ? 0 : 1;
}

int js_child_access(const struct js_who *who, const char *dir)
{
	return js_child_call(who, try_access, dir);
}

char **js_child_env(char *const *env, const char *extra)
{
	static const char *const drop[] = {
		"MYSQL",	 "MARIADB", "NOTIFY_SOCKET=", "LISTEN_FDS=", "LISTEN_PID=", "USER=",
		"OPENSSL_CONF=", "TMPDIR=", "TMP=",	      "TEMP=" /* ours may be closed to the server's user */};
	size_t n = 0, k = 0;
	char **copy;

	while (env != NULL && env[n] != NULL)
		n++;
	copy = calloc(n + 2, sizeof(*copy));
	if (copy == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		int keep = 1;

		for (size_t d = 0; d < sizeof(drop) / sizeof(drop[0]); d++)
			keep = keep && strncmp(env[i], drop[d], strlen(drop[d])) != 0;
		if (keep)
			copy[k++] = env[i];
	}
	if (extra != NULL) {
		union {
			const char *in;
			char *out;
		} drop_const = {.in = extra}; /* execve promises not to write */

		copy[k] = drop_const.out;
	}
	return copy;
}

/* Default signals, nothing blocked: whatever our caller ignored is not the server's business. */
static void reset_signals(void)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		if (s != SIGKILL && s != SIGSTOP)
			(void)signal(s, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Every descriptor above 2 closes at the exec. */
static void close_on_exec(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		int fd = atoi(e->d_name);

		if (fd > 2)
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

static void raise_files(rlim_t want)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return;
	if (r.rlim_max < want && geteuid() == 0) {
		struct rlimit more = {.rlim_cur = want, .rlim_max = want};

		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			return;
	}
	if (r.rlim_cur < want) {
		r.rlim_cur = r.rlim_max < want ? r.rlim_max : want;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	if (getrlimit(RLIMIT_NPROC, &r) == 0 && r.rlim_cur < r.rlim_max) { /* a thread a connection */
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NPROC, &r);
	}
}

/* The child's side, up to the exec; returns only what failed. */
static const char *enter(const struct js_child *child, int out, int gate, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);
	char byte;

	reset_signals();
	(void)setsid();
	(void)umask(077);
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		return "its input and output";
	close_on_exec();
	if (child->raise_files > 0)
		raise_files((rlim_t)child->raise_files);
	if (become(child->who) != 0)
		return "becoming another user";
	if (chdir(child->dir != NULL ? child->dir : "/") != 0)
		return "its working directory";
	if (child->die_with_us && (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent))
		return "being tied to its parent";
	if (gate >= 0 && read(gate, &byte, 1) != 1)
		_exit(127); /* nobody is left who wants it */
	(void)execve(child->argv[0], (char *const *)(uintptr_t)child->argv, child->env);
	return "executing it";
}

/* Makes the process.  FAILED gets the pipe on which it tells why it could not go on. */
static pid_t make(const struct js_child *child, int out, int gate, int other_end, int *failed)
{
	struct failure why;
	const char *what;
	int pipe_fd[2];
	pid_t pid, parent = getpid();

	if (pipe2(pipe_fd, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (other_end >= 0)
			(void)close(other_end); /* else our own gate would never read as closed */
		what = enter(child, out, gate, parent);
		memset(&why, 0, sizeof(why));
		why.number = errno;
		(void)snprintf(why.what, sizeof(why.what), "%s", what);
		if (write(pipe_fd[1], &why, sizeof(why)) < 0)
			_exit(126);
		_exit(127);
	}
	(void)close(pipe_fd[1]);
	if (pid < 0)
		(void)close(pipe_fd[0]);
	else
		*failed = pipe_fd[0];
	return pid;
}

/* Reads what the child says instead of executing; 0 if it did execute.  Closes FAILED; reaps the child that failed. */
static int exec_result(pid_t pid, int failed, const char *program, struct jobstack_error *error)
{
	struct failure why;
	ssize_t n;

	do
		n = read(failed, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	(void)close(failed);
	if (n == 0)
		return 0;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return js_error_set(error, JOBSTACK_EFILE, "%s can't be run: %s: %s", program,
			    n == sizeof(why) ? why.what : "starting", n == sizeof(why) ? strerror(why.number) : "?");
}

/* Reads the output to its end.  Returns 0, or -1 if the time is up or *STOP is set. */
static int collect(int fd, int64_t until_us, const volatile int *stop, struct js_buf *output)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char block[4096];
	ssize_t n;

	for (;;) {
		if ((stop != NULL && *stop != 0) || js_clock_mono_us() > until_us)
			return -1;
		if (poll(&p, 1, 100) <= 0)
			continue;
		n = read(fd, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (output->len < OUTPUT_MAX)
			js_buf_add(output, block, (size_t)n);
	}
}

int js_child_run(const struct js_child *child, int64_t limit_us, const volatile int *stop, struct js_buf *output,
		 int *status, struct jobstack_error *error)
{
	int out[2], failed, late;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) != 0)
		return js_error_set(error, JOBSTACK_EFILE, "a pipe: %s", strerror(errno));
	pid = make(child, out[1], -1, -1, &failed);
	(void)close(out[1]);
	if (pid < 0) {
		(void)close(out[0]);
		return js_error_why(error, js_error_process_code(errno), js_error_process_why(errno),
				    "%s can't be run: %s", child->argv[0], js_error_process_words(errno));
	}
	if (exec_result(pid, failed, child->argv[0], error) != 0) {
		(void)close(out[0]);
		return JOBSTACK_EFILE;
	}
	late = collect(out[0], js_clock_mono_us() + limit_us, stop, output);
	(void)close(out[0]);
	if (late)
		(void)kill(-pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	if (late && stop != NULL && *stop != 0)
		return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while %s ran", child->argv[0]);
	if (late)
		return js_error_why(error, JOBSTACK_EFILE, JS_WHY_LATE, "%s did not end and was killed",
				    child->argv[0]);
	return 0;
}

int js_child_prepare(const struct js_child *child, int out, struct js_child_gate *gate, struct jobstack_error *error)
{
	int go[2];

	if (pipe2(go, O_CLOEXEC) != 0)
		return js_error_set(error, JOBSTACK_EFILE, "a pipe: %s", strerror(errno));
	gate->pid = make(child, out, go[0], go[1], &gate->failed);
	(void)close(go[0]);
	gate->go = go[1];
	if (gate->pid < 0) {
		(void)close(go[1]);
		return js_error_why(error, js_error_process_code(errno), js_error_process_why(errno),
				    "%s can't be run: %s", child->argv[0], js_error_process_words(errno));
	}
	return 0;
}

int js_child_go(struct js_child_gate *gate, const char *program, struct jobstack_error *error)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;

	/* a child that failed before its gate must not end us with SIGPIPE; what it says is read below */
	(void)sigaction(SIGPIPE, &ignore, &before);
	if (write(gate->go, "", 1) < 0)
		errno = 0;
	(void)sigaction(SIGPIPE, &before, NULL);
	(void)close(gate->go);
	return exec_result(gate->pid, gate->failed, program, error);
}

void js_child_turn_away(struct js_child_gate *gate)
{
	(void)close(gate->go);
	(void)close(gate->failed);
	while (waitpid(gate->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

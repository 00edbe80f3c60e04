/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Children.  Promises: no shell is between; a child that could not execute its program says why through a close-on-exec
 * pipe; whatever a program does, its time limit ends it with what it has started.
 */
#include "proc/child.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "base/signal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 20		     /* how often js_child_run checks for the end */
#define KILL_US (2 * JS_SECOND_US)   /* from TERM to KILL */
#define RETRY_US (JS_SECOND_US / 4)  /* the pause after no process could be created */
#define KEPT_MAX (UINT64_C(4) << 20) /* bytes of output that are kept of each stream */

/* What a child that could not execute its program writes into the pipe: errno, and what failed; "": the exec itself. */
struct failure {
	int number;
	char what[60];
};

/* ----------------------------------------------------------------------------------------------------- the child */

/* Returns whether the child keeps ignoring the signal. */
static int stays_ignored(enum js_child_ignored ignored, int number)
{
	if (ignored == JS_CHILD_IGNORED_NONE || !js_signal_is_ignored(number))
		return 0;
	if (ignored == JS_CHILD_IGNORED_NOHUP)
		return number == SIGHUP || number == SIGINT;
	return number != SIGPIPE && number != SIGCHLD;
}

/* Sets all other signals to their defaults.  A function of ours (no ARGV) keeps our signal mask. */
static void reset_signals(const struct js_child *child)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		if (s != SIGKILL && s != SIGSTOP && !stays_ignored(child->ignored, s))
			(void)signal(s, SIG_DFL);
	(void)sigemptyset(&none);
	if (child->argv != NULL)
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Makes the given descriptors 0 to 3.  They are first copied to numbers from 10 on, since one of them may have a number
 * that another is to get. */
static int place_descriptors(const struct js_child *child, int input)
{
	int from[4] = {input, child->out, child->err, child->extra};

	for (int i = 0; i < 4; i++) /* first to numbers that will not be overwritten */
		if ((i == 0 || from[i] > 0) && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 10)) < 0)
			return -1;
	for (int i = 0; i < 4; i++)
		if (from[i] > 0 && dup2(from[i], i) < 0)
			return -1;
	return 0;
}

/* KEPT ascends and ends with INT_MAX, so the loop ends. */
static void shut_unless_kept(int fd, const int *kept, int at_exec)
{
	while (*kept < fd)
		kept++;
	if (*kept != fd)
		(void)(at_exec ? fcntl(fd, F_SETFD, FD_CLOEXEC) : close(fd));
}

/* Does what js_child_shut does, on a kernel before 5.11.  The C library's readdir would allocate memory, which is not
 * allowed between vfork and exec, so this reads the kernel's own records. */
static void shut_one_by_one(int first, const int *kept, int at_exec)
{
	int walked = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	unsigned short size; /* struct linux_dirent64: two numbers of 8 bytes, the size, the type, the name */
	char block[2048];
	long n;

	while (walked >= 0 && (n = syscall(SYS_getdents64, walked, block, sizeof(block))) > 0)
		for (long at = 0; at < n; at += size) {
			memcpy(&size, block + at + 16, sizeof(size));
			fd = 0;
			for (const char *digit = block + at + 19; *digit >= '0' && *digit <= '9'; digit++)
				fd = 10 * fd + (*digit - '0');
			if (fd >= first && fd != walked)
				shut_unless_kept(fd, kept, at_exec);
		}
	for (fd = first; walked < 0 && fd < 65536; fd++)
		shut_unless_kept(fd, kept, at_exec);
	js_file_close(&walked);
}

void js_child_shut(int first, const int *kept, int at_exec)
{
	static const int none = INT_MAX;
	const int *next = kept == NULL ? &none : kept;

#ifdef SYS_close_range /* by its number: the C library's function came years later than the kernel's */
	for (int from = first;; from = *next++ + 1)
		if (*next > from &&
		    syscall(SYS_close_range, from, *next - 1, at_exec ? 1U << 2 /* CLOEXEC */ : 0U) != 0)
			break;
		else if (*next == INT_MAX)
			return;
#endif
	shut_one_by_one(first, kept == NULL ? &none : kept, at_exec);
}

/* Has the kernel send us the signal NUMBER when our parent dies. */
static int tie_to_parent(int number, pid_t parent)
{
	if (number == 0)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, number) != 0)
		return -1;
	if (getppid() != parent) /* it died before prctl, which then has no effect */
		_exit(128 + number);
	return 0;
}

/* Does what the child has to do, up to its exec.  Returns only if something failed: its name ("" for the exec), with
 * errno. */
static const char *enter_child(const struct js_child *child, int input, pid_t parent)
{
	const char *failed;

	if (tie_to_parent(child->death_signal, parent) != 0)
		return "arranging that it ends with its parent";
	reset_signals(child);
	if (child->group == JS_CHILD_SESSION)
		(void)setsid();
	else if (child->group == JS_CHILD_GROUP)
		(void)setpgid(0, 0);
	if (place_descriptors(child, input) != 0)
		return "connecting its input and output";
	if (child->shut_others)
		js_child_shut(child->extra > 0 ? 4 : 3, NULL, child->argv != NULL);
	failed = child->enter != NULL ? child->enter(child->arg) : NULL;
	if (failed != NULL)
		return failed;
	if (tie_to_parent(child->death_signal, parent) != 0) /* again: a change of the user undoes it */
		return "arranging that it ends with its parent";
	if (child->argv != NULL)
		(void)execvpe(child->argv[0], (char *const *)(uintptr_t)child->argv,
			      child->env != NULL ? child->env : environ);
	return "";
}

/* The child.  The writing end of the pipe RESULT is close-on-exec: if the parent reads its end and no failure, the
 * program was executed. */
static _Noreturn void be_child(const struct js_child *child, int input, pid_t parent, int result)
{
	const char *what = enter_child(child, input, parent);
	struct failure why = {.number = errno};

	(void)snprintf(why.what, sizeof(why.what), "%s", what);
	if (write(result, &why, sizeof(why)) < 0)
		_exit(126);
	_exit(127);
}

/* ---------------------------------------------------------------------------------------------------- the parent */

/* Fills ERROR, and sets errno to ERR. */
static int report_failure(const struct js_child *child, int err, const char *what, struct jobstack_error *error)
{
	const char *name = child->argv != NULL ? child->argv[0] : "a process", *why = js_error_process_words(err);
	unsigned number = js_error_process_why(err);
	int code = js_error_process_code(err);

	if (err == ENOENT && *what == '\0') {
		code = JOBSTACK_EMISSING;
		why = strchr(name, '/') == NULL ? "it is not in $PATH" : why;
	}
	code = js_error_why(error, code, number, "%s can't be run: %s%s%s", name, what, *what != '\0' ? ": " : "", why);
	errno = err;
	return code;
}

/* Opens the child's input.  A text is put into a file in memory, so that nobody has to write it to a pipe meanwhile. */
static int open_input(const struct js_buf *input)
{
	int fd;

	if (input == NULL)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("jobstack", MFD_CLOEXEC);
	if (fd >= 0 && (js_file_write_all(fd, input->data, input->len) != 0 || lseek(fd, 0, SEEK_SET) != 0))
		js_file_close(&fd);
	return fd;
}

/* Makes the process.  Returns its number, or a negative errno. */
static pid_t make_child(const struct js_child *child, int *result)
{
	pid_t pid = -1, parent = getpid();
	int input = open_input(child->input), tell[2] = {-1, -1}, err = 0;

	if (input >= 0 && pipe2(tell, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		be_child(child, input, parent, tell[1]);
	if (pid < 0)
		err = errno;
	js_file_close(&input);
	js_file_close(&tell[1]);
	if (pid < 0 || child->argv == NULL) /* a child that only runs a function reports nothing */
		js_file_close(&tell[0]);
	*result = tell[0];
	return pid < 0 ? -err : pid;
}

/* Waits until the program was executed, or could not be, and then reads why.  Returns 0, or an errno, and then the
 * child was collected. */
static int read_result(pid_t pid, int result, struct failure *why)
{
	ssize_t n;

	if (result < 0)
		return 0;
	do
		n = read(result, why, sizeof(*why));
	while (n < 0 && errno == EINTR);
	(void)close(result);
	if (n == 0)
		return 0;
	(void)js_child_wait(pid);
	if (n != sizeof(*why))
		*why = (struct failure){EIO, "starting"};
	return why->number != 0 ? why->number : EIO;
}

/* A machine that has no process or memory for us just now may have some in a moment, so that is tried again. */
pid_t js_child_start(const struct js_child *child, struct jobstack_error *error)
{
	int64_t until = js_clock_mono_us() + child->patience_us;

	for (;;) {
		struct failure why = {0};
		int result, err;
		pid_t pid = make_child(child, &result);

		err = pid < 0 ? -pid : read_result(pid, result, &why);
		if (err == 0)
			return pid;
		if ((err != EAGAIN && err != ENOMEM) || js_clock_mono_us() >= until ||
		    (child->stop != NULL && *child->stop != 0))
			return report_failure(child, err, why.what, error);
		js_clock_nap(RETRY_US, child->stop);
	}
}

int js_child_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* ------------------------------------------------------------------------------------------------- to its end */

/* A child that is run to its end: the pipes of its output (-1: none), and where that goes. */
struct running {
	struct js_child child;
	pid_t pid;
	int fd[2];
	struct js_buf *to[2];
};

/* Makes a pipe for one of its outputs, if that is wanted.  *GIVEN gets the child's end. */
static int open_output(struct running *r, int which, int *given)
{
	int made[2];

	if (r->to[which] == NULL)
		return 0;
	if (pipe2(made, O_CLOEXEC) != 0)
		return -1;
	r->fd[which] = made[0];
	*given = made[1];
	return 0;
}

/* Reads what is there, and closes the pipe at its end.  What exceeds KEPT_MAX is read, so that the child can go on, but
 * dropped. */
static void read_output(struct running *r, int which)
{
	char block[4096];
	ssize_t n = read(r->fd[which], block, sizeof(block));

	if (n > 0 && r->to[which]->len < KEPT_MAX)
		js_buf_add(r->to[which], block, (size_t)n);
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		js_file_close(&r->fd[which]);
}

/* Waits for a short while, or until something was printed.  Returns 0 if nothing was. */
static int read_outputs(struct running *r, int wait_ms)
{
	struct pollfd p[2] = {{r->fd[0], POLLIN, 0}, {r->fd[1], POLLIN, 0}};
	int heard = 0;

	if (r->fd[0] < 0 && r->fd[1] < 0)
		js_clock_nap(INT64_C(1000) * wait_ms / 4, NULL);
	else if (poll(p, 2, wait_ms) > 0)
		for (int i = 0; i < 2; i++)
			if (p[i].revents != 0) {
				read_output(r, i);
				heard = 1;
			}
	return heard;
}

/* Waits for the child's end, which it brings about after LIMIT_US or at STOP.  Returns whether it has done so. */
static int await_end(struct running *r, int64_t limit_us, int *status)
{
	int64_t began = js_clock_mono_us(), told = 0;
	int killed = 0;

	while (waitpid(r->pid, status, WNOHANG) == 0) {
		int64_t now = js_clock_mono_us();
		int stopped = r->child.stop != NULL && *r->child.stop != 0;

		if (told == 0 && (stopped || (limit_us > 0 && now - began > limit_us))) {
			(void)kill(-r->pid, SIGTERM);
			(void)kill(-r->pid, SIGCONT);
			told = now;
		} else if (told != 0 && !killed && now - told > KILL_US) {
			(void)kill(-r->pid, SIGKILL);
			killed = 1;
		}
		(void)read_outputs(r, LOOK_MS);
	}
	if (told != 0)
		(void)kill(-r->pid, SIGKILL); /* what it has left */
	/* what is still in the pipes; processes that inherited them may write for long */
	for (int n = 0; n < 1024 && read_outputs(r, 0); n++)
		;
	return told != 0;
}

/* OUT and ERR may be one buffer: then both streams share a pipe, and what is printed keeps its order. */
int js_child_run(const struct js_child *child, struct js_buf *out, struct js_buf *err, int64_t limit_us, int *status,
		 struct jobstack_error *error)
{
	struct running r = {*child, 0, {-1, -1}, {out, err == out ? NULL : err}};
	int given[2] = {-1, -1}, late = 0, failed;
	char limit[64];

	failed = open_output(&r, 0, &given[0]) != 0 || open_output(&r, 1, &given[1]) != 0 ? errno : 0;
	r.child.out = out != NULL ? given[0] : child->out;
	r.child.err = err == NULL ? child->err : err == out ? given[0] : given[1];
	r.pid = failed != 0 ? report_failure(child, failed, "a pipe", error) : js_child_start(&r.child, error);
	js_file_close(&given[0]);
	js_file_close(&given[1]);
	if (r.pid > 0)
		late = await_end(&r, limit_us, status);
	js_file_close(&r.fd[0]);
	js_file_close(&r.fd[1]);
	if (r.pid < 0)
		return r.pid;
	if (late && child->stop != NULL && *child->stop != 0)
		return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while %s ran", child->argv[0]);
	js_num_duration_text(limit_us, limit, sizeof(limit));
	return late ? js_error_why(error, JOBSTACK_EFILE, JS_WHY_LATE, "%s did not end within %s", child->argv[0],
				   limit)
		    : 0;
}

/* ------------------------------------------------------------------------------------------- finding programs */

int js_child_next_path(const char **search, const char *name, struct js_buf *file)
{
	const char *from = *search, *end;

	if (from == NULL)
		return 0;
	end = strchrnul(from, ':');
	js_buf_reset(file);
	js_buf_add(file, from, (size_t)(end - from));
	js_buf_str(file, end == from ? "./" : "/"); /* nothing between two colons is the working directory */
	js_buf_str(file, name);
	*search = *end == ':' ? end + 1 : NULL;
	return file->failed ? -1 : 1;
}

int js_child_is_in_path(const char *name)
{
	const char *search = getenv("PATH");
	struct js_buf file = {0};
	int found = 0;

	while (!found && js_child_next_path(&search, name, &file) > 0)
		found = access(file.data, X_OK) == 0;
	js_buf_free(&file);
	return found;
}

const char *js_child_program_dir(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	return dirname(path);
}

/* An installed tree may be moved as a whole, so the directory beside this program comes first; a build tree has only
 * its source. */
const char *js_child_data_dir(const char *name, const char *installed, const char *source)
{
	static char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/../share/jobstack/%s", js_child_program_dir(), name);
	if (access(path, R_OK) == 0)
		return path;
	return access(installed, R_OK) == 0 ? installed : source;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Starts commands.  Promise: either a command runs, or nothing of it is left; this process is never copied: the child
 * shares its memory until the exec (vfork), so that exec's own errno is told by a variable.
 *
 * It is posix_spawn by hand, because that can't have the kernel kill the command when we are killed (PR_SET_PDEATHSIG).
 */
#include "exec/spawn.h"

#include "base/error.h"
#include "base/file.h"
#include "base/signal.h"
#include "proc/child.h"
#include "exec/reap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct js_spawn {
	int null;		     /* /dev/null */
	char *search;		     /* where programs are looked for, or NULL */
	unsigned char changed[NSIG]; /* the signals that this process has changed */
	size_t changed_n;
	unsigned char inherited[NSIG]; /* 1: was ignored when this was made, by the will of whoever started us */
	int *given;		       /* the descriptors above 2 that we were started with, for js_child_shut */
};

#ifdef __SANITIZE_THREAD__ /* it turns vfork into fork, and what the child notes in our memory would be lost */
pid_t __vfork(void);
#define vfork __vfork
#define OF_CHILD __attribute__((no_sanitize_thread)) /* its notes of calls would grow by one that never returns */
#else
#define OF_CHILD
#endif

static _Thread_local struct js_spawn_stop *my_stop;
static _Thread_local const struct js_clock_bound *my_bound; /* NULL: no bound */

/* A command to start, as the child sees it. */
struct start {
	const struct js_spawn *spawn;
	const char *path;
	char *const *argv, *const *envp;
	int fd[3];			    /* each above 2, so that none is overwritten before it is copied */
	struct js_spawn_stop *stop;	    /* or NULL */
	const struct js_clock_bound *bound; /* or NULL */
};

/* Returns 0 if PATH can be executed, else the errno that says why not. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* Does what js_spawn_resolve does, without the words.  Returns 0 or an errno. */
static int resolve_path(const char *program, const char *search, struct js_buf *found)
{
	int err, more, best = ENOENT;

	js_buf_reset(found);
	if (program[0] == '\0')
		return ENOENT;
	if (strchr(program, '/') != NULL) {
		js_buf_str(found, program);
		return found->failed ? ENOMEM : check_executable(program);
	}
	if (search == NULL)
		search = "/bin:/usr/bin";
	while ((more = js_child_next_path(&search, program, found)) > 0) {
		err = check_executable(found->data);
		if (err == 0)
			return 0;
		/* execvp looks further, and reports this if it finds nothing better; unlike execvp, we don't say "not
		 * executable" of a file that we can't see, in another user's directory */
		if (best == ENOENT && access(found->data, F_OK) == 0)
			best = err;
	}
	return more < 0 ? ENOMEM : best == EISDIR ? ENOENT : best;
}

int js_spawn_resolve(const char *program, const char *search, struct js_buf *found, struct jobstack_error *error)
{
	int err = resolve_path(program, search, found);

	if (err == 0)
		return 0;
	if (err == ENOENT && strchr(program, '/') == NULL)
		(void)js_error_why(error, JOBSTACK_EFILE, JS_WHY_NO_PROGRAM, "can't run %s: not found in %.120s%s",
				   program, search != NULL ? search : "/bin:/usr/bin",
				   search != NULL && strlen(search) > 120 ? "..." : "");
	else
		(void)js_spawn_error(program, err, error);
	errno = err;
	return JOBSTACK_EFILE;
}

/* Notes the descriptors that commands inherit: those that whoever started us has left open for them.  Our own are all
 * close-on-exec, so they are not among them. */
static int note_given(struct js_spawn *s, struct jobstack_error *error)
{
	struct dirent **names = NULL;
	int n = scandir("/proc/self/fd", &names, NULL, versionsort), flags;
	size_t given = 0;

	if (n < 0)
		return js_error_file(error, "can't read /proc/self/fd");
	s->given = calloc((size_t)n + 1, sizeof(*s->given));
	for (int i = 0; i < n; i++) {
		int fd = atoi(names[i]->d_name);

		if (s->given != NULL && fd > 2 && (flags = fcntl(fd, F_GETFD)) >= 0 && !(flags & FD_CLOEXEC))
			s->given[given++] = fd;
		free(names[i]);
	}
	free(names);
	if (s->given == NULL)
		return js_error_memory(error);
	s->given[given] = INT_MAX;
	return 0;
}

/* What commands inherit is decided here, once for all of them. */
int js_spawn_new(struct js_spawn **made, const char *search, struct jobstack_error *error)
{
	struct js_spawn *s = calloc(1, sizeof(*s));
	int rc;

	*made = NULL;
	if (s == NULL)
		return js_error_memory(error);
	rc = note_given(s, error);
	if (rc != 0)
		goto err0;
	if (search != NULL && (s->search = strdup(search)) == NULL) {
		rc = js_error_memory(error);
		goto err0;
	}
	do
		s->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (s->null < 0 && errno == EINTR);
	if (s->null < 0) {
		rc = js_error_file(error, "can't open /dev/null");
		goto err1;
	}
	for (int number = 1; number < NSIG; number++)
		/* TERM aside: it asks a command to end, and a shell can't trap what it inherits as ignored */
		s->inherited[number] = number != SIGTERM && js_signal_is_ignored(number);
	js_spawn_look_signals(s);
	*made = s;
	return 0;

err1:
	free(s->search);
err0:
	free(s->given);
	free(s);
	return rc;
}

void js_spawn_free(struct js_spawn *spawn)
{
	int saved = errno;

	if (spawn == NULL)
		return;
	(void)close(spawn->null);
	free(spawn->search);
	free(spawn->given);
	free(spawn);
	errno = saved;
}

void js_spawn_look_signals(struct js_spawn *spawn)
{
	struct sigaction now;

	spawn->changed_n = 0;
	for (int number = 1; number < NSIG; number++)
		if (!spawn->inherited[number] && sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL)
			spawn->changed[spawn->changed_n++] = (unsigned char)number;
}

void js_spawn_bind(const struct js_clock_bound *bound)
{
	my_bound = bound;
}

int js_spawn_is_late(const struct js_spawn_stop *stop)
{
	return stop->by_us != 0 && js_clock_mono_us() >= stop->by_us;
}

/* Everything between vfork and exec.  It runs in our memory and on our stack, while the thread that called vfork stands
 * still.  So it makes nothing but system calls: memory that it allocated, or a lock that another thread holds just now,
 * would stay as it is after the exec.  Returns the errno of what failed.
 *
 * The order: first it makes itself known, so that it can be cancelled; then its death signal, before anything can hang;
 * then signals and descriptors; its group before the exec, so that the parent can signal the group as soon as vfork
 * returns; and last, after all that may take time, it checks that the command may still start. */
OF_CHILD static int enter_command(const struct start *s, pid_t parent)
{
	struct sigaction standard;
	sigset_t none;

	if (s->stop != NULL) { /* js_spawn_cancel does this in the opposite order: at least one sees the other's note */
		atomic_store(&s->stop->born, getpid());
		if (atomic_load(&s->stop->stopped))
			return ECANCELED;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before prctl, which then has no effect */
		_exit(128 + SIGKILL);
	memset(&standard, 0, sizeof(standard));
	standard.sa_handler = SIG_DFL;
	for (size_t i = 0; i < s->spawn->changed_n; i++)
		(void)sigaction(s->spawn->changed[i], &standard, NULL);
	for (int i = 0; i < 3; i++)
		if (dup2(s->fd[i], i) < 0)
			return errno;
	/* another thread may have opened one a moment ago that it could not mark yet: a connection to the database */
	js_child_shut(3, s->spawn->given, 1);
	if (setpgid(0, 0) != 0)
		return errno;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if ((s->bound != NULL && !js_clock_holds(s->bound)) || (s->stop != NULL && js_spawn_is_late(s->stop)))
		return ETIME;
	(void)execve(s->path, s->argv, s->envp);
	return errno;
}

/* Starts the command, once.  Returns 0 with *PID, or an errno.  FAILED lies in memory that the child shares.  When
 * vfork returns, the child has executed its program or has ended, so what it has noted is final. */
static int start_once(const struct start *s, pid_t *pid)
{
	pid_t parent = getpid(), child;
	volatile int failed = 0;
	sigset_t all, old;

	/* no handler of ours may run in the child, which shares our memory */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	child = vfork();
	if (child == 0) {
		failed = enter_command(s, parent);
		_exit(127);
	}
	if (child < 0)
		failed = errno;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (s->stop != NULL && failed != 0)
		atomic_store(&s->stop->born, 0); /* before it is collected: its number could go to another process */
	if (child > 0 && failed != 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	*pid = child;
	return failed;
}

/* Returns whether a file that can't be executed has nothing for a shell either: it is empty, or a program for other
 * machines.
 */
static int is_no_script(const char *path)
{
	char first[4] = "#";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, first, sizeof(first));

	js_file_close(&fd);
	return n == 0 || memcmp(first, "\177ELF", sizeof(first)) == 0;
}

/* Starts a script without #! by the shell, as execvp does. */
static int start_script(const struct start *s, pid_t *pid)
{
	static char shell[] = "/bin/sh";
	struct start by_shell = *s;
	size_t n = 0;
	char **with_shell, *file;
	int err = ENOMEM;

	while (s->argv[n] != NULL)
		n++;
	with_shell = calloc(n + 2, sizeof(*with_shell));
	file = strdup(s->path);
	if (with_shell != NULL && file != NULL) {
		with_shell[0] = shell;
		with_shell[1] = file;
		for (size_t i = 1; i < n; i++)
			with_shell[i + 1] = s->argv[i];
		by_shell.path = shell;
		by_shell.argv = with_shell;
		err = start_once(&by_shell, pid);
	}
	free(with_shell);
	free(file);
	return err;
}

void js_spawn_use_stop(struct js_spawn_stop *stop)
{
	if (stop != NULL)
		atomic_store_explicit(&stop->born, 0, memory_order_relaxed);
	my_stop = stop;
}

/* STOPPED is set before BORN is read; the child does it the other way round (enter_command).  So either the child sees
 * STOPPED, or its number is seen here, and it is killed. */
void js_spawn_cancel(struct js_spawn_stop *stop)
{
	pid_t born;

	atomic_store(&stop->stopped, 1);
	born = atomic_load(&stop->born);
	if (born <= 1)
		return;
	(void)kill(born, SIGKILL); /* it may not have a group of its own yet */
	(void)js_spawn_kill(born, SIGKILL);
}

pid_t js_spawn_start(struct js_spawn *spawn, const char *path, char *const argv[], char *const envp[], int out, int err)
{
	return js_spawn_start_fed(spawn, path, argv, envp, spawn->null, out, err);
}

/* The three files are first copied above 2 if need be, or one could be overwritten before it is copied. */
pid_t js_spawn_start_fed(struct js_spawn *spawn, const char *path, char *const argv[], char *const envp[], int in,
			 int out, int err)
{
	struct start s = {spawn, path, argv, envp, {-1, -1, -1}, my_stop, my_bound};
	const int given[3] = {in, out, err};
	struct js_buf found = {0}; /* more than one thread may be at it */
	int failed = 0;
	pid_t pid = -1;

	if (path == NULL) {
		failed = resolve_path(argv[0], spawn->search, &found);
		s.path = found.data;
	}
	for (int i = 0; i < 3 && failed == 0; i++) {
		s.fd[i] = given[i] > 2 ? given[i] : fcntl(given[i], F_DUPFD_CLOEXEC, 3);
		failed = s.fd[i] < 0 ? errno : 0;
	}
	if (failed == 0)
		failed = start_once(&s, &pid);
	if (failed == ENOEXEC && !is_no_script(s.path))
		failed = start_script(&s, &pid);
	for (int i = 0; i < 3; i++)
		if (s.fd[i] >= 0 && s.fd[i] != given[i])
			(void)close(s.fd[i]);
	js_buf_free(&found);
	if (failed != 0)
		return -failed;
	js_reap_watch(pid);
	return pid;
}

/* All other errors but E2BIG are the machine's, and may pass: too many processes or files, or no memory. */
int js_spawn_is_command(int err)
{
	static const int command[] = {ENOENT, ENOTDIR, EACCES, EPERM,	EISDIR,	     ENOEXEC,
				      ELOOP,  ELIBBAD, EINVAL, ETXTBSY, ENAMETOOLONG};

	for (size_t i = 0; i < sizeof(command) / sizeof(command[0]); i++)
		if (err == command[i])
			return 1;
	return 0;
}

/* ENOENT of a file that is there means that something else is missing: its interpreter or its loader. */
int js_spawn_error(const char *program, int err, struct jobstack_error *error)
{
	const char *why = strerror(err);
	char cwd[PATH_MAX];
	unsigned number = err == EACCES ? JS_WHY_NOT_EXECUTABLE : js_error_process_why(err);

	if (err == ENOENT && strchr(program, '/') != NULL && access(program, F_OK) == 0)
		why = "the interpreter named in its first line, or its loader, is not there";
	else if (err == ENOENT) {
		number = JS_WHY_NO_PROGRAM;
		if (program[0] != '/' && getcwd(cwd, sizeof(cwd)) != NULL)
			return js_error_why(error, JOBSTACK_EFILE, number, "can't run %s: not found in %s", program,
					    cwd);
		why = "not found";
	} else if (err == EACCES)
		why = "not executable (Permission denied)";
	else if (err == EISDIR)
		why = "it is a directory";
	else if (err == ENOEXEC)
		why = "neither a program for this machine nor a script (Exec format error)";
	else if (err == EAGAIN)
		why = js_error_process_words(err);
	else if (err == E2BIG)
		why = "its arguments and environment are too long (Argument list too long)";
	return js_error_why(error, JOBSTACK_EFILE, number, "can't run %s: %s", program, why);
}

int js_spawn_kill(pid_t pid, int signal)
{
	if (pid <= 1) /* -1 and 0 would mean everybody, and ourselves */
		return -EINVAL;
	if (kill(-pid, signal) == 0 || errno == ESRCH)
		return 0;
	return -errno;
}

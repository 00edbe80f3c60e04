/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asks Slurm, in a child.  Promise: whatever the module and libslurm do there (wait, exit, crash), this process
 * goes on, with an answer or an error, once the time limit is over at the latest.
 */
#define _GNU_SOURCE
#include "slurm/query.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "jobstack_slurm.so"
#define LIMIT_US (15 * JS_SECOND_US)

/* What the child tells of one job, through a pipe. */
struct answer {
	int32_t code; /* 0, or a JOBSTACK_E code */
	char text[600];
	struct js_slurm_job job;
};

/* One question and its child. */
struct asking {
	pid_t pid;
	int answers, said;  /* the pipes with its answers, and with what libslurm prints */
	char last[300];	    /* of what libslurm printed: the last line */
	size_t last_len;
	int line_ended;
};

/* ------------------------------------------------------------ finding the module */

/* The directory of this program's file, without a slash at the end; "" if it is not known. */
static void program_dir(char *dir, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", dir, size - 1);
	char *slash;

	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	if (slash != NULL)
		*slash = '\0';
}

/* Looks at the Ith place where the module may be.  Returns 0 if there is no such place. */
static int place(const struct js_slurm_where *where, const char *program, size_t i, struct js_buf *dir)
{
	static const char *const beside[] = {"/../lib/jobstack", "/../lib64/jobstack", ""};
	const size_t n = sizeof(beside) / sizeof(beside[0]);

	js_buf_reset(dir);
	if (where != NULL && where->module_dir != NULL && where->module_dir[0] != '\0') {
		js_buf_str(dir, where->module_dir);
		return i == 0;
	}
	if (i < n) {
		js_buf_printf(dir, "%s%s", program, beside[i]);
		return 1;
	}
#ifdef JS_SLURM_MODULE_DIR
	if (i == n) {
		/* lib/x86_64-linux-gnu of a tree that was moved: what follows the installed prefix, beside the
		 * program */
		const char *lib = strstr(JS_SLURM_MODULE_DIR, "/lib");

		js_buf_printf(dir, "%s/..%s", program, lib != NULL ? lib : "/lib/jobstack");
		return 1;
	}
	if (i == n + 1) {
		js_buf_str(dir, JS_SLURM_MODULE_DIR);
		return 1;
	}
#endif
	return 0;
}

int js_slurm_find(const struct js_slurm_where *where, struct js_buf *found, struct jobstack_error *error)
{
	struct js_buf dir = {0}, looked = {0};
	char program[PATH_MAX];
	int rc;

	program_dir(program, sizeof(program));
	for (size_t i = 0; place(where, program, i, &dir); i++) {
		js_buf_reset(found);
		js_buf_printf(found, "%s/" MODULE, dir.failed ? "" : dir.data);
		if (found->failed || dir.failed) {
			rc = js_error_memory(error);
			goto done;
		}
		if (access(found->data, R_OK) == 0) {
			rc = 0;
			goto done;
		}
		js_buf_printf(&looked, "%s%s", looked.len > 0 ? ", " : "", dir.data);
	}
	rc = js_error_set(error, JOBSTACK_EMISSING, "the Slurm module is not there (looked in %s): no %s",
			  looked.data != NULL ? looked.data : "", MODULE);
done:
	js_buf_free(&dir);
	js_buf_free(&looked);
	return rc;
}

/* ------------------------------------------------------------ the child */

static void leave(void)
{
	_exit(1);
}

/* In the child: whatever libslurm does to end the process must not run this program's exit handlers, nor flush its
 * stdio, nor talk over its connections. */
static void cut_off(int answers, int said)
{
	int null = open("/dev/null", O_RDWR);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, SIG_DFL);
	(void)dup2(null, 0);
	(void)dup2(null, 1);
	(void)dup2(said, 2);
	(void)dup2(answers, 3);
#ifdef CLOSE_RANGE_UNSHARE
	if (close_range(4, ~0u, 0) != 0)
#endif
		for (int fd = 4; fd < 65536; fd++)
			(void)close(fd);
	(void)atexit(leave);
}

static void tell(const struct answer *answer)
{
	const char *p = (const char *)answer;
	size_t len = sizeof(*answer);

	while (len > 0) {
		ssize_t n = write(3, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		p += n;
		len -= (size_t)n;
	}
}

static _Noreturn void refuse(struct answer *answer, int code, const char *what, const char *why)
{
	answer->code = code;
	(void)snprintf(answer->text, sizeof(answer->text), "%s: %s", what, why);
	tell(answer);
	_exit(1);
}

/* The child's life.  ANSWER is memory that was there before the fork. */
static _Noreturn void child(const char *path, const uint32_t *job_ids, size_t n, struct answer *answer)
{
	const struct js_slurm_ops *ops;
	void *module;
	int rc;

	/* RTLD_GLOBAL: libslurm's plugins look for its symbols in the program */
	module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (module == NULL)
		refuse(answer, JOBSTACK_ECONFLICT, "the Slurm module can't be opened", dlerror());
	ops = dlsym(module, JS_SLURM_SYMBOL);
	if (ops == NULL || ops->abi != JS_SLURM_ABI || ops->job_size != sizeof(struct js_slurm_job))
		refuse(answer, JOBSTACK_ECONFLICT, "the Slurm module is of another version of jobstack", path);
	for (size_t i = 0; i < n; i++) {
		answer->text[0] = '\0';
		rc = ops->job(job_ids[i], &answer->job, answer->text, sizeof(answer->text));
		answer->code = rc == 0 ? 0 : JOBSTACK_EFILE;
		tell(answer);
		if (rc != 0) /* the next would wait for as long */
			break;
	}
	_exit(0);
}

/* ------------------------------------------------------------ the parent */

static int begin(struct asking *a, const char *path, const uint32_t *job_ids, size_t n, struct answer *answer,
		 struct jobstack_error *error)
{
	int answers[2], said[2], saved;

	if (pipe2(answers, O_CLOEXEC) != 0)
		goto err0;
	if (pipe2(said, O_CLOEXEC) != 0)
		goto err1;
	a->pid = fork();
	if (a->pid < 0)
		goto err2;
	if (a->pid == 0) {
		/* above the numbers that cut_off gives out anew */
		cut_off(fcntl(answers[1], F_DUPFD, 10), fcntl(said[1], F_DUPFD, 10));
		child(path, job_ids, n, answer);
	}
	(void)close(answers[1]);
	(void)close(said[1]);
	a->answers = answers[0];
	a->said = said[0];
	return 0;

err2:
	saved = errno;
	(void)close(said[0]);
	(void)close(said[1]);
	errno = saved;
err1:
	saved = errno;
	(void)close(answers[0]);
	(void)close(answers[1]);
	errno = saved;
err0:
	return js_error_set(error, JOBSTACK_EFILE, "can't start a process to ask Slurm: %s", strerror(errno));
}

/* Keeps the last line that is not empty. */
static void listen_to(struct asking *a)
{
	char text[512];
	ssize_t n = read(a->said, text, sizeof(text));

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		(void)close(a->said);
		a->said = -1;
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == '\n') {
			a->line_ended = 1;
			continue;
		}
		if (a->line_ended)
			a->last_len = 0;
		a->line_ended = 0;
		if (a->last_len + 1 < sizeof(a->last))
			a->last[a->last_len++] = text[i];
	}
	a->last[a->last_len] = '\0';
}

/* Waits for the next answer.  Returns 1 if it is there, 0 if the child has ended without, -1 at the time limit. */
static int next_answer(struct asking *a, int64_t until, struct answer *answer)
{
	size_t have = 0;

	while (have < sizeof(*answer)) {
		struct pollfd p[2] = {{a->answers, POLLIN, 0}, {a->said, POLLIN, 0}};
		int64_t left = until - js_clock_mono_us();
		ssize_t n;

		if (left <= 0)
			return -1;
		if (poll(p, 2, (int)(left / 1000) + 1) <= 0)
			continue;
		if (p[1].revents != 0)
			listen_to(a);
		if (p[0].revents == 0)
			continue;
		n = read(a->answers, (char *)answer + have, sizeof(*answer) - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		have += (size_t)n;
	}
	return 1;
}

/* Ends the child, if it has not ended (GONE), and collects it.  Returns how it ended as wait tells, or -1 if that
 * is not known. */
static int finish(struct asking *a, int gone)
{
	int status = -1;
	pid_t pid;

	if (!gone)
		(void)kill(a->pid, SIGKILL);
	while (gone && a->said >= 0) /* what it had to say in the end */
		listen_to(a);
	do
		pid = waitpid(a->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	(void)close(a->answers);
	if (a->said >= 0)
		(void)close(a->said);
	return pid == a->pid ? status : -1;
}

static int64_t limit_of(const struct js_slurm_where *where)
{
	return where != NULL && where->limit_us > 0 ? where->limit_us : LIMIT_US;
}

static int no_answer(int64_t limit_us, const struct asking *a, struct jobstack_error *error)
{
	char limit[64];

	js_num_duration_text(limit_us, limit, sizeof(limit));
	return js_error_set(error, JOBSTACK_EFILE, "Slurm did not answer within %s%s%s", limit,
			    a->last_len > 0 ? ": " : "", a->last);
}

int js_slurm_jobs(const struct js_slurm_where *where, const uint32_t *job_ids, size_t n, struct js_slurm_job *out,
		  struct jobstack_error *error)
{
	struct asking a = {.pid = -1, .answers = -1, .said = -1};
	struct answer *answer = NULL;
	struct js_buf path = {0};
	size_t i = 0;
	int rc, got = 1, status;

	memset(out, 0, n * sizeof(*out));
	rc = js_slurm_find(where, &path, error);
	if (rc != 0 || n == 0)
		goto done;
	answer = calloc(1, sizeof(*answer));
	rc = answer == NULL ? js_error_memory(error) : begin(&a, path.data, job_ids, n, answer, error);
	if (rc != 0)
		goto done;
	for (; i < n && rc == 0; i++) {
		got = next_answer(&a, js_clock_mono_us() + limit_of(where), answer);
		if (got <= 0)
			break;
		answer->text[sizeof(answer->text) - 1] = '\0';
		if (answer->code != 0)
			rc = js_error_set(error, answer->code, "%s%s", answer->code == JOBSTACK_EFILE ? "Slurm: " : "",
					  answer->text);
		else
			out[i] = answer->job;
	}
	status = finish(&a, got == 0);
	if (got < 0)
		rc = no_answer(limit_of(where), &a, error);
	else if (got == 0 && status >= 0 && WIFSIGNALED(status))
		rc = js_error_set(error, JOBSTACK_EFILE, "libslurm was ended by signal %d%s%s", WTERMSIG(status),
				  a.last_len > 0 ? ": " : "", a.last);
	else if (got == 0)
		rc = js_error_set(error, JOBSTACK_EFILE, "libslurm gave up%s%s", a.last_len > 0 ? ": " : "", a.last);
done:
	free(answer);
	js_buf_free(&path);
	return rc;
}

int js_slurm_job(const struct js_slurm_where *where, uint32_t job_id, struct js_slurm_job *out,
		 struct jobstack_error *error)
{
	int rc = js_slurm_jobs(where, &job_id, 1, out, error);

	return rc != 0 ? rc : out->found ? 0 : 1;
}

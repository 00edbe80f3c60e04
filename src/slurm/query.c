/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asks Slurm, in a child process.  Promise: whatever the module, libslurm and Slurm's commands do there (wait, exit,
 * crash), this process continues, with an answer or an error, once the time limit is over at the latest.  Nothing that
 * the child does changes anything here but the memory that both share, and no child is left.
 *
 * The child writes its answers to shared memory, and a byte to a pipe for each.  The pipe's end says that it has ended,
 * each byte that it makes progress.  Answers that came before it was killed count.  Its standard error is a second
 * pipe: libslurm's last line there often is the only explanation that it gives.
 */
#include "slurm/query.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "proc/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "jobstack_slurm.so"
#define LIMIT_US (15 * JS_SECOND_US)
#define PATIENCE_US (2 * JS_SECOND_US) /* to get a process: without one, a worker would have no time limit */
#define PROGRESS 3		       /* the child's descriptor: a byte for each answer */

/* -------------------------------------------------------------------------------------------- finding the module */

/* Looks at the Ith place where the module may be.  Returns 0 if there is no such place. */
static int module_place(const struct js_slurm_where *where, const char *program, size_t i, struct js_buf *dir)
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
	const char *program = js_child_program_dir();
	int rc;

	for (size_t i = 0; module_place(where, program, i, &dir); i++) {
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
	rc = js_error_set(error, JOBSTACK_EMISSING, "can't find jobstack's Slurm plugin %s (looked in %s)", MODULE,
			  looked.data != NULL ? looked.data : "");
done:
	js_buf_free(&dir);
	js_buf_free(&looked);
	return rc;
}

/* ------------------------------------------------------------------------------------------------- one question */

/* Memory that the child writes and this process reads, when the child has ended. */
struct shared {
	pid_t command; /* the process group of one of Slurm's commands that is running, or 0 */
	int code;      /* 0, or the JOBSTACK_E code of an error, which TEXT explains */
	char text[600];
	int finished;  /* there are no more answers */
	size_t filled; /* how many elements of OUT are valid */
	size_t found;  /* js_slurm_queued: how many jobs there are */
	_Alignas(max_align_t) char out[];
};

/* What is asked, and how; each kind of question uses some of the first members. */
struct question {
	/* Runs in the child; its answers go to shared->out.  0, or -1 with shared->text filled. */
	int (*ask)(const struct js_slurm_ops *ops, const struct question *q);
	uint32_t uid;		 /* whose jobs are meant */
	const uint32_t *job_ids; /* N of them */
	const char *stack;
	void *out; /* N elements of SIZE bytes */
	size_t size, n;
	size_t enough; /* with this many elements the question has succeeded, even if the child does not finish */
	int rest;      /* all answers after the first may take this many time limits together; 0: each may take one */
	const char *cluster;   /* that must answer; NULL: any */
	const char *module;    /* NULL: no module may be used, and NO_MODULE says why */
	const char *no_module; /* "": the commands were chosen */
	int only_module;
	int64_t limit_us;
	struct shared *shared;
};

/* ----------------------------------------------------------------------------------------------------- the child */

/* Registered last, it runs before the exit handlers of this program, so that none of those runs in the child. */
static void exit_at_once(void)
{
	_exit(1);
}

/* N more elements are valid.  The byte tells the parent that the child makes progress. */
static void report_progress(const struct question *q, size_t n)
{
	q->shared->filled += n;
	if (write(PROGRESS, "", 1) != 1)
		_exit(1);
}

static int ask_jobs(const struct js_slurm_ops *ops, const struct question *q)
{
	struct js_slurm_job *jobs = (void *)q->shared->out;
	char *text = q->shared->text;
	int rc = 0;

	/* of one user: one question; and with the commands always (they have no `job`), as sites limit how often they
	 * may be called */
	if (ops->job == NULL || (q->n > 1 && q->uid != JS_SLURM_ANYBODY)) {
		rc = ops->user_jobs(q->uid, q->job_ids, q->n, jobs, text, sizeof(q->shared->text));
		if (rc == 0)
			report_progress(q, q->n);
		return rc;
	}
	for (size_t i = 0; i < q->n && rc == 0; i++) {
		rc = ops->job(q->job_ids[i], &jobs[i], text, sizeof(q->shared->text));
		if (rc == 0)
			report_progress(q, 1);
	}
	return rc; /* after an error, the next one would wait for as long */
}

/* The controller first; then each node whose step it does not list, and which it does not call down. */
static int ask_steps(const struct js_slurm_ops *ops, const struct question *q)
{
	struct js_slurm_step *steps = (void *)q->shared->out;

	memcpy(steps, q->out, q->n * sizeof(*steps));
	if (ops->steps(steps, q->n, q->shared->text, sizeof(q->shared->text)) != 0)
		return -1;
	report_progress(q, q->n); /* before the nodes are asked, which may take long */
	for (size_t i = 0; i < q->n; i++)
		if (steps[i].listed == 0 && steps[i].down == 0)
			(void)ops->at_node(&steps[i], q->shared->text, sizeof(q->shared->text));
	return 0;
}

/* Place 0 is for the newest job that has ended; the others are counted, and kept as far as there are places. */
static void add_queued(void *ctx, const struct js_slurm_queued *job)
{
	const struct question *q = ctx;
	struct js_slurm_queued *out = (void *)q->shared->out;

	if (job->ended && job->job > out[0].job)
		out[0] = *job;
	else if (!job->ended && ++q->shared->found < q->n)
		out[q->shared->filled++] = *job;
}

static int ask_queued(const struct js_slurm_ops *ops, const struct question *q)
{
	q->shared->filled = 1;
	return ops->queued(q->uid, q->stack, add_queued, (void *)(uintptr_t)q, q->shared->text,
			   sizeof(q->shared->text));
}

static int ask_conf(const struct js_slurm_ops *ops, const struct question *q)
{
	int rc = ops->conf((void *)q->shared->out, q->shared->text, sizeof(q->shared->text));

	if (rc == 0 && ops == &js_slurm_commands) {
		struct js_slurm_conf *conf = (void *)q->shared->out;

		conf->by_commands = 1;
		(void)snprintf(conf->no_module, sizeof(conf->no_module), "%s", q->no_module);
	}
	q->shared->filled = rc == 0;
	return rc;
}

/* Returns whether the cluster that answers is the one whose jobs are meant: another one has jobs with the same numbers.
 */
static int is_meant(const struct js_slurm_ops *ops, const struct question *q)
{
	const char *named = getenv("SLURM_CONF");
	static struct js_slurm_conf conf;

	if (q->cluster == NULL || q->cluster[0] == '\0')
		return 1;
	q->shared->code = JOBSTACK_EFILE;
	if (ops->conf(&conf, q->shared->text, sizeof(q->shared->text)) != 0)
		return 0;
	q->shared->code = strcmp(conf.cluster, q->cluster) == 0 ? 0 : JOBSTACK_ECONFLICT;
	if (q->shared->code != 0)
		(void)snprintf(
			q->shared->text, sizeof(q->shared->text),
			named != NULL && *named != '\0'
				? "the cluster that answers is \"%s\", not \"%.127s\": type `unset SLURM_CONF`, or "
				  "set it to the slurm.conf of \"%.127s\""
				: "the cluster that answers is \"%s\", not \"%.127s\": set SLURM_CONF to the "
				  "slurm.conf of \"%.127s\", or use a host of that cluster",
			conf.cluster, q->cluster, q->cluster);
	return q->shared->code == 0;
}

/* The module's table; NULL, and WHY, if it can't be used. */
static const struct js_slurm_ops *open_module(const char *file, char *why, size_t size)
{
	/* RTLD_GLOBAL: libslurm's plugins look for its symbols in the program */
	void *module = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
	const struct js_slurm_ops *ops = module != NULL ? dlsym(module, JS_SLURM_SYMBOL) : NULL;

	if (module == NULL)
		(void)snprintf(why, size, "jobstack's Slurm plugin can't be opened: %s", dlerror());
	else if (ops == NULL || ops->abi != JS_SLURM_ABI || ops->job_size != sizeof(struct js_slurm_job) ||
		 ops->step_size != sizeof(struct js_slurm_step) || ops->conf_size != sizeof(struct js_slurm_conf) ||
		 ops->queued_size != sizeof(struct js_slurm_queued))
		(void)snprintf(why, size, "jobstack's Slurm plugin belongs to another version of jobstack: %s", file);
	else
		return ops;
	return NULL;
}

/* What the child does.  If libslurm ends the process, that must not run this program's exit handlers, nor flush its
 * stdio. */
static const char *answer_question(const void *arg)
{
	const struct question *q = arg;
	const struct js_slurm_ops *ops = NULL;
	struct question mine = *q;
	char why[400];

	(void)dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	(void)atexit(exit_at_once);
	if (q->module != NULL) {
		ops = open_module(q->module, why, sizeof(why));
		mine.no_module = why;
	}
	if (ops == NULL && q->module != NULL && (q->only_module || !js_child_is_in_path("squeue"))) {
		q->shared->code = JOBSTACK_ECONFLICT;
		(void)snprintf(q->shared->text, sizeof(q->shared->text), "%s", why);
		_exit(1);
	}
	if (ops == NULL) {
		js_slurm_commands_begin(q->limit_us, &q->shared->command);
		ops = &js_slurm_commands;
	}
	if (!is_meant(ops, &mine))
		_exit(1);
	if (q->ask(ops, &mine) != 0)
		q->shared->code = JOBSTACK_EFILE;
	q->shared->finished = q->shared->code == 0;
	_exit(0);
}

/* ---------------------------------------------------------------------------------------------------- the parent */

/* The child, and what it says. */
struct asking {
	pid_t pid;
	int progress[2], said[2]; /* pipes: PROGRESS, and what libslurm prints */
	char last[300];		  /* of what libslurm printed: the last line that is not empty */
	size_t last_len;
	int line_ended, late;
};

/* Starts the child with two pipes, of which it gets the writing ends. */
static int start_child(struct asking *a, const struct question *q, struct jobstack_error *error)
{
	struct js_child child = {.shut_others = 1,
				 .death_signal = SIGKILL,
				 .patience_us = PATIENCE_US,
				 .group = JS_CHILD_OURS,
				 .ignored = JS_CHILD_IGNORED_NOHUP,
				 .enter = answer_question,
				 .arg = q};
	int err;

	if (pipe2(a->progress, O_CLOEXEC) == 0 && pipe2(a->said, O_CLOEXEC) == 0) {
		child.extra = a->progress[1];
		child.err = a->said[1];
		a->pid = js_child_start(&child, NULL);
	}
	err = errno;
	js_file_close(&a->progress[1]);
	js_file_close(&a->said[1]);
	return a->pid >= 0 ? 0
			   : js_error_set(error, JOBSTACK_EFILE, "can't start a process to ask Slurm: %s",
					  js_error_process_words(err));
}

/* Keeps the last line that is not empty, however much comes. */
static void read_libslurm_words(struct asking *a)
{
	char text[512];
	ssize_t n = read(a->said[0], text, sizeof(text));

	if (n == 0 || (n < 0 && errno != EINTR))
		js_file_close(&a->said[0]);
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] != '\n' && a->line_ended)
			a->last_len = 0;
		a->line_ended = text[i] == '\n';
		if (text[i] != '\n' && a->last_len + 1 < sizeof(a->last))
			a->last[a->last_len++] = text[i];
	}
	a->last[a->last_len] = '\0';
}

/* Waits until the child has ended, or is late, and collects it.  Returns its wait status, or -1.  Each answer gets the
 * whole limit; with REST, all after the first have so many limits together. */
static int await_child(struct asking *a, int64_t limit_us, int rest)
{
	int64_t until = js_clock_mono_us() + limit_us;
	int ended = 0;
	char byte;

	while (!ended && !a->late) {
		struct pollfd p[2] = {{a->progress[0], POLLIN, 0}, {a->said[0], POLLIN, 0}};
		int64_t left = until - js_clock_mono_us();
		ssize_t n;

		a->late = left <= 0;
		if (a->late || poll(p, 2, (int)(left / 1000) + 1) <= 0)
			continue;
		if (p[1].revents != 0)
			read_libslurm_words(a);
		n = p[0].revents == 0 ? -1 : read(a->progress[0], &byte, 1);
		ended = n == 0;
		if (n > 0)
			until = js_clock_mono_us() + (rest == 0 ? limit_us : rest * limit_us);
	}
	if (a->late)
		(void)kill(a->pid, SIGKILL);
	while (ended && a->said[0] >= 0) /* its last words */
		read_libslurm_words(a);
	return js_child_wait(a->pid);
}

/* Finds the reason in libslurm's last words: without a configuration it ends the process, and has no number for that.
 */
static unsigned number_of_words(const char *words)
{
	return strstr(words, "configuration source") != NULL ? JS_WHY_NO_SLURM_CONFIG : 0;
}

/* Fills ERROR with why there is no further answer. */
static int explain_silence(int64_t limit_us, const struct asking *a, int status, struct jobstack_error *error)
{
	const char *colon = a->last_len > 0 ? ": " : "";
	char limit[64];

	js_num_duration_text(limit_us, limit, sizeof(limit));
	if (a->late)
		return js_error_set(error, JOBSTACK_EFILE, "Slurm did not answer within %s%s%s", limit, colon, a->last);
	if (status >= 0 && WIFSIGNALED(status))
		return js_error_set(error, JOBSTACK_EFILE, "libslurm was ended by signal %d%s%s", WTERMSIG(status),
				    colon, a->last);
	return js_error_why(error, JOBSTACK_EFILE, number_of_words(a->last), "libslurm gave no answer%s%s", colon,
			    a->last);
}

/* Refuses a configuration that is named but not there: libslurm would look for it for a minute. */
static int check_configuration(struct jobstack_error *error)
{
	const char *conf = getenv("SLURM_CONF");

	if (conf == NULL || *conf == '\0' || access(conf, R_OK) == 0)
		return 0;
	return js_error_file(error, "Slurm can't be asked: $SLURM_CONF, %s", conf);
}

/* What had been answered is copied out in any case: after an error the caller sees which elements are filled. */
static int ask_in_child(const struct question *q, int64_t limit_us, struct jobstack_error *error)
{
	struct asking a = {.pid = -1, .progress = {-1, -1}, .said = {-1, -1}};
	const struct shared *shared = q->shared;
	int rc = start_child(&a, q, error), status;

	if (rc == 0) {
		status = await_child(&a, limit_us, q->rest);
		if (shared->command > 1) /* the child was ended before its command */
			(void)kill(-shared->command, SIGKILL);
		memcpy(q->out, shared->out, (shared->filled < q->n ? shared->filled : q->n) * q->size);
		if (shared->code != 0)
			rc = js_error_why(error, shared->code, number_of_words(shared->text), "%s%.*s",
					  shared->code == JOBSTACK_EFILE ? "Slurm: " : "",
					  (int)sizeof(shared->text) - 1, shared->text);
		else if (!shared->finished && shared->filled < q->enough)
			rc = explain_silence(limit_us, &a, status, error);
	}
	js_file_close(&a.progress[0]);
	js_file_close(&a.said[0]);
	return rc;
}

/* Asks, by the module or by Slurm's commands (js_slurm_where says how that is chosen).  FOUND (may be NULL) gets
 * shared->found.  Without elements only the module and the configuration are checked. */
static int ask_question(const struct js_slurm_where *where, struct question *q, size_t *found,
			struct jobstack_error *error)
{
	const size_t size = sizeof(*q->shared) + q->n * q->size;
	int64_t limit_us = where != NULL && where->limit_us > 0 ? where->limit_us : LIMIT_US;
	struct jobstack_error missing = JOBSTACK_ERROR_INIT;
	const char *choice = getenv("JOBSTACK_SLURM");
	struct js_buf path = {0};
	int rc = 0, commands = choice != NULL && strcmp(choice, "commands") == 0;

	q->only_module = choice != NULL && strcmp(choice, "module") == 0;
	q->limit_us = limit_us;
	q->cluster = where != NULL ? where->cluster : NULL;
	if (!commands)
		rc = js_slurm_find(where, &path, &missing);
	q->module = rc == 0 && !commands ? path.data : NULL;
	q->no_module = missing.text;
	/* no module: Slurm's commands take its place, if they are there */
	if (rc == JOBSTACK_EMISSING && !q->only_module && js_child_is_in_path("squeue"))
		rc = 0;
	if (rc != 0 && error != NULL)
		*error = missing;
	JS_THEN(rc, check_configuration(error));
	if (rc == 0 && q->enough > 0) {
		q->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		rc = q->shared == MAP_FAILED ? js_error_memory(error) : ask_in_child(q, limit_us, error);
	}
	if (rc == 0 && found != NULL)
		*found = q->shared->found;
	if (q->shared != NULL && q->shared != MAP_FAILED)
		(void)munmap(q->shared, size);
	js_buf_free(&path);
	return rc;
}

int js_slurm_has_module(const struct js_slurm_where *where)
{
	const char *choice = getenv("JOBSTACK_SLURM");
	struct js_buf path = {0};
	int has = (choice == NULL || strcmp(choice, "commands") != 0) && js_slurm_find(where, &path, NULL) == 0;

	js_buf_free(&path);
	return has;
}

int js_slurm_jobs(const struct js_slurm_where *where, uint32_t uid, const uint32_t *job_ids, size_t n,
		  struct js_slurm_job *out, struct jobstack_error *error)
{
	struct question q = {
		.ask = ask_jobs, .uid = uid, .job_ids = job_ids, .out = out, .size = sizeof(*out), .n = n, .enough = n};

	memset(out, 0, n * sizeof(*out));
	return ask_question(where, &q, NULL, error);
}

int js_slurm_job(const struct js_slurm_where *where, uint32_t job_id, struct js_slurm_job *out,
		 struct jobstack_error *error)
{
	int rc = js_slurm_jobs(where, JS_SLURM_ANYBODY, &job_id, 1, out, error);

	return rc != 0 ? rc : out->found ? 0 : 1;
}

int js_slurm_steps(const struct js_slurm_where *where, struct js_slurm_step *steps, size_t n,
		   struct jobstack_error *error)
{
	struct question q = {.ask = ask_steps, .out = steps, .size = sizeof(*steps), .n = n, .enough = n, .rest = 2};

	for (size_t i = 0; i < n; i++)
		steps[i].listed = steps[i].at_node = steps[i].down = -1;
	return ask_question(where, &q, NULL, error);
}

int js_slurm_queued(const struct js_slurm_where *where, uint32_t uid, const char *stack, struct js_slurm_queued *out,
		    size_t max, size_t *n, struct jobstack_error *error)
{
	struct question q = {.ask = ask_queued,
			     .uid = uid,
			     .stack = stack,
			     .out = out,
			     .size = sizeof(*out),
			     .n = max,
			     .enough = SIZE_MAX};

	*n = 0;
	memset(out, 0, sizeof(*out));
	return ask_question(where, &q, n, error);
}

void js_slurm_queued_words(const struct js_slurm_queued *job, char *words, size_t size)
{
	int one = strspn(job->tasks, "0123456789") == strlen(job->tasks),
	    array = job->array_job != 0 && *job->tasks != '\0';

	(void)snprintf(words, size, "its Slurm job %" PRIu32 "%s%s%s%s%s is %s%s%s", array ? job->array_job : job->job,
		       array ? (one ? "_" : "_[") : "", array ? job->tasks : "", array && !one ? "]" : "",
		       job->pending ? " in the partition " : "", job->pending ? job->partition : "", job->state,
		       job->pending ? ": " : "", job->pending ? job->reason : "");
}

int js_slurm_conf(const struct js_slurm_where *where, struct js_slurm_conf *out, struct jobstack_error *error)
{
	struct question q = {.ask = ask_conf, .out = out, .size = sizeof(*out), .n = 1, .enough = 1};

	memset(out, 0, sizeof(*out));
	return ask_question(where, &q, NULL, error);
}

int js_slurm_is_here(void)
{
	static const char *const usual[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
					    "/run/slurm/conf/slurm.conf", "/var/run/slurm/conf/slurm.conf",
					    "/usr/local/etc/slurm.conf"};
	const char *conf = getenv("SLURM_CONF");

	if (conf != NULL && *conf != '\0')
		return access(conf, R_OK) == 0;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (access(usual[i], R_OK) == 0)
			return 1;
	return 0;
}

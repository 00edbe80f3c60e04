/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asks Slurm, in a child.  Promise: whatever the module and libslurm do there (wait, exit, crash), this process
 * goes on, with an answer or an error, once the time limit is over at the latest.
 */
#define _GNU_SOURCE
#include "slurm/asking.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "process/child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "jobstack_slurm.so"
#define LIMIT_US (15 * JS_SECOND_US)

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
	rc = js_error_set(error, JOBSTACK_EMISSING, "can't find the Slurm module %s (looked in %s)", MODULE,
			  looked.data != NULL ? looked.data : "");
done:
	js_buf_free(&dir);
	js_buf_free(&looked);
	return rc;
}

/* libslurm ends its caller for that, and has no number for it: only its last words say so. */
static int has_no_config(const struct js_slurm_asking *a)
{
	return a->last_len > 0 && strstr(a->last, "configuration source") != NULL;
}

/* Why there is no further answer: GOT and STATUS are what asking_next and asking_end gave. */
static int explain_silence(int64_t limit_us, const struct js_slurm_asking *a, int got, int status,
			   struct jobstack_error *error)
{
	const char *colon = a->last_len > 0 ? ": " : "";
	char limit[64];

	js_num_duration_text(limit_us, limit, sizeof(limit));
	if (got < 0)
		return js_error_set(error, JOBSTACK_EFILE, "Slurm did not answer within %s%s%s", limit, colon, a->last);
	if (status >= 0 && WIFSIGNALED(status))
		return js_error_set(error, JOBSTACK_EFILE, "libslurm was ended by signal %d%s%s", WTERMSIG(status),
				    colon, a->last);
	return js_error_why(error, JOBSTACK_EFILE, has_no_config(a) ? JS_WHY_NO_SLURM_CONFIG : 0,
			    "libslurm gave no answer%s%s", colon, a->last);
}

static int check_answer(const struct js_slurm_answer *answer, struct jobstack_error *error)
{
	if (answer->code == 0)
		return 0;
	return js_error_set(error, answer->code, "%s%.*s", answer->code == JOBSTACK_EFILE ? "Slurm: " : "",
			    (int)sizeof(answer->text) - 1, answer->text);
}

/* A configuration that is named but not there: libslurm would look for it for a minute. */
static int check_configuration(struct jobstack_error *error)
{
	const char *conf = getenv("SLURM_CONF");

	if (conf == NULL || *conf == '\0' || access(conf, R_OK) == 0)
		return 0;
	return js_error_file(error, "Slurm can't be asked: $SLURM_CONF, %s", conf);
}

/* What the answers to one question come to. */
struct gathered {
	struct js_slurm_question question;
	void *out;
	size_t room;	      /* of OUT */
	size_t n, needed;     /* answers so far; so many, or the question has failed */
	int64_t limit, until; /* for an answer; when the next has to be there */
	/* Keeps an answer.  Whether there are more. */
	int (*keep)(struct gathered *g, const struct js_slurm_answer *answer);
};

static int ask_question(const struct js_slurm_where *where, struct gathered *g, struct jobstack_error *error)
{
	struct js_slurm_asking a = {.pid = -1};
	struct js_slurm_answer *answer = calloc(1, sizeof(*answer));
	struct js_buf path = {0};
	int got = 1, more = 1, status,
	    rc = answer == NULL ? js_error_memory(error) : js_slurm_find(where, &path, error);

	if (rc == 0)
		rc = check_configuration(error);
	if (rc != 0 || g->needed == 0)
		goto done;
	g->question.module = path.data;
	g->question.answer = answer;
	rc = js_slurm_asking_begin(&a, &g->question, error);
	if (rc != 0)
		goto done;
	g->limit = where != NULL && where->limit_us > 0 ? where->limit_us : LIMIT_US;
	g->until = js_clock_mono_us() + g->limit;
	while (rc == 0 && more && (got = js_slurm_asking_next(&a, g->until, answer)) > 0) {
		rc = check_answer(answer, error);
		more = rc == 0 && g->keep(g, answer);
		g->n += rc == 0;
	}
	status = js_slurm_asking_end(&a, got == 0);
	if (got <= 0 && g->n < g->needed)
		rc = explain_silence(g->limit, &a, got, status, error);
done:
	free(answer);
	js_buf_free(&path);
	return rc;
}

static int keep_job(struct gathered *g, const struct js_slurm_answer *answer)
{
	((struct js_slurm_job *)g->out)[g->n] = answer->job;
	g->until = js_clock_mono_us() + g->limit;
	return g->n + 1 < g->needed;
}

int js_slurm_jobs(const struct js_slurm_where *where, uint32_t uid, const uint32_t *job_ids, size_t n,
		  struct js_slurm_job *out, struct jobstack_error *error)
{
	struct gathered g = {.question = {.uid = uid, .job_ids = job_ids, .jobs = out, .n = n},
			     .out = out,
			     .needed = n,
			     .keep = keep_job};

	memset(out, 0, n * sizeof(*out));
	return ask_question(where, &g, error);
}

int js_slurm_job(const struct js_slurm_where *where, uint32_t job_id, struct js_slurm_job *out,
		 struct jobstack_error *error)
{
	int rc = js_slurm_jobs(where, JS_SLURM_ANYBODY, &job_id, 1, out, error);

	return rc != 0 ? rc : out->found ? 0 : 1;
}

static int keep_step(struct gathered *g, const struct js_slurm_answer *answer)
{
	if (answer->i < g->needed)
		((struct js_slurm_step *)g->out)[answer->i] = answer->step;
	if (g->n == 0)
		g->until += 2 * g->limit;
	return 1;
}

int js_slurm_steps(const struct js_slurm_where *where, struct js_slurm_step *steps, size_t n,
		   struct jobstack_error *error)
{
	struct gathered g = {.question = {.steps = steps, .n = n}, .out = steps, .needed = n, .keep = keep_step};

	for (size_t i = 0; i < n; i++)
		steps[i].listed = steps[i].at_node = steps[i].down = -1;
	return ask_question(where, &g, error);
}

static int keep_queued(struct gathered *g, const struct js_slurm_answer *answer)
{
	if (answer->queued.job != 0 && g->n < g->room)
		((struct js_slurm_queued *)g->out)[g->n] = answer->queued;
	return answer->queued.job != 0;
}

int js_slurm_queued(const struct js_slurm_where *where, uint32_t uid, const char *stack, struct js_slurm_queued *out,
		    size_t max, size_t *n, struct jobstack_error *error)
{
	struct gathered g = {.question = {.uid = uid, .stack = stack},
			     .out = out,
			     .room = max,
			     .needed = SIZE_MAX, /* the last says that it is the last */
			     .keep = keep_queued};
	int rc = ask_question(where, &g, error);

	*n = rc == 0 ? g.n - 1 : g.n;
	return rc;
}

static int keep_conf(struct gathered *g, const struct js_slurm_answer *answer)
{
	*(struct js_slurm_conf *)g->out = answer->conf;
	return 0;
}

int js_slurm_conf(const struct js_slurm_where *where, struct js_slurm_conf *out, struct jobstack_error *error)
{
	struct gathered g = {.out = out, .needed = 1, .keep = keep_conf};

	memset(out, 0, sizeof(*out));
	return ask_question(where, &g, error);
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

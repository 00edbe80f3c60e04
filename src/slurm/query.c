/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Asks Slurm, in a child.  Promise: whatever the module and libslurm do there (wait, exit, crash), this process
 * goes on, with an answer or an error, once the time limit is over at the latest.
 */
#define _GNU_SOURCE
#include "slurm/asking.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "jobstack_slurm.so"
#define LIMIT_US (15 * JS_SECOND_US)

/* -------------------------------------------------------------------------------------------- finding the module */

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

static int64_t limit_of(const struct js_slurm_where *where)
{
	return where != NULL && where->limit_us > 0 ? where->limit_us : LIMIT_US;
}

static int no_answer(int64_t limit_us, const struct js_slurm_asking *a, struct jobstack_error *error)
{
	char limit[64];

	js_num_duration_text(limit_us, limit, sizeof(limit));
	return js_error_set(error, JOBSTACK_EFILE, "Slurm did not answer within %s%s%s", limit,
			    a->last_len > 0 ? ": " : "", a->last);
}

/* libslurm ends its caller for that, and has no number for it: only its last words say so. */
static int has_no_config(const struct js_slurm_asking *a)
{
	return a->last_len > 0 && strstr(a->last, "configuration source") != NULL;
}

/* Why there is no further answer: GOT and STATUS are what asking_next and asking_end gave. */
static int explain(int64_t limit_us, const struct js_slurm_asking *a, int got, int status, struct jobstack_error *error)
{
	const char *colon = a->last_len > 0 ? ": " : "";

	if (got < 0)
		return no_answer(limit_us, a, error);
	if (status >= 0 && WIFSIGNALED(status))
		return js_error_set(error, JOBSTACK_EFILE, "libslurm was ended by signal %d%s%s", WTERMSIG(status),
				    colon, a->last);
	return js_error_why(error, JOBSTACK_EFILE, has_no_config(a) ? JS_WHY_NO_SLURM_CONFIG : 0,
			    "libslurm gave up%s%s", colon, a->last);
}

/* Ends the asking, after the last answer (GOT > 0) or with why there is none.  RC: what the answers came to. */
static int finish(const struct js_slurm_where *where, struct js_slurm_asking *a, int got, int rc,
		  struct jobstack_error *error)
{
	int status = js_slurm_asking_end(a, got == 0);

	return got > 0 ? rc : explain(limit_of(where), a, got, status, error);
}

static int refused(const struct js_slurm_answer *answer, struct jobstack_error *error)
{
	if (answer->code == 0)
		return 0;
	return js_error_set(error, answer->code, "%s%.*s", answer->code == JOBSTACK_EFILE ? "Slurm: " : "",
			    (int)sizeof(answer->text) - 1, answer->text);
}

/* A configuration that is named but not there: libslurm would look for it for a minute. */
static int configured(struct jobstack_error *error)
{
	const char *conf = getenv("SLURM_CONF");

	if (conf == NULL || *conf == '\0' || access(conf, R_OK) == 0)
		return 0;
	return js_error_set(error, JOBSTACK_EFILE, "Slurm can't be asked: $SLURM_CONF, %s: %s", conf, strerror(errno));
}

/* Gets the module's path and memory for an answer. */
static int prepare(const struct js_slurm_where *where, struct js_buf *path, struct js_slurm_answer **answer,
		   struct jobstack_error *error)
{
	int rc = js_slurm_find(where, path, error);

	if (rc == 0)
		rc = configured(error);
	*answer = rc == 0 ? calloc(1, sizeof(**answer)) : NULL;
	return rc == 0 && *answer == NULL ? js_error_memory(error) : rc;
}

int js_slurm_jobs(const struct js_slurm_where *where, uint32_t uid, const uint32_t *job_ids, size_t n,
		  struct js_slurm_job *out, struct jobstack_error *error)
{
	struct js_slurm_asking a = {.pid = -1};
	struct js_slurm_answer *answer = NULL;
	struct js_buf path = {0};
	int rc, got = 1;

	memset(out, 0, n * sizeof(*out));
	rc = prepare(where, &path, &answer, error);
	if (rc == 0 && n > 0) {
		const struct js_slurm_question question = {path.data, uid, job_ids, out, NULL, n, NULL};

		rc = js_slurm_asking_begin(&a, &question, answer, error);
	}
	if (rc != 0 || n == 0)
		goto done;
	for (size_t i = 0; i < n && rc == 0; i++) {
		got = js_slurm_asking_next(&a, js_clock_mono_us() + limit_of(where), answer);
		if (got <= 0)
			break;
		rc = refused(answer, error);
		if (rc == 0)
			out[i] = answer->job;
	}
	rc = finish(where, &a, got, rc, error);
done:
	free(answer);
	js_buf_free(&path);
	return rc;
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
	struct js_slurm_asking a = {.pid = -1};
	struct js_slurm_answer *answer = NULL;
	struct js_buf path = {0};
	size_t had = 0;
	int64_t until;
	int rc, got = 1, status;

	for (size_t i = 0; i < n; i++)
		steps[i].listed = steps[i].at_node = steps[i].down = -1;
	rc = prepare(where, &path, &answer, error);
	if (rc == 0 && n > 0) {
		const struct js_slurm_question question = {path.data, 0, NULL, NULL, steps, n, NULL};

		rc = js_slurm_asking_begin(&a, &question, answer, error);
	}
	if (rc != 0 || n == 0)
		goto done;
	for (until = js_clock_mono_us() + limit_of(where);; had++) {
		got = js_slurm_asking_next(&a, until, answer);
		if (got <= 0)
			break;
		rc = refused(answer, error);
		if (rc != 0)
			break;
		if (answer->i < n)
			steps[answer->i] = answer->step;
		if (had == 0)
			until += 2 * limit_of(where);
	}
	status = js_slurm_asking_end(&a, got == 0);
	if (rc == 0 && had < n) /* it did not even get as far as the nodes */
		rc = explain(limit_of(where), &a, got, status, error);
done:
	free(answer);
	js_buf_free(&path);
	return rc;
}

int js_slurm_queued(const struct js_slurm_where *where, uint32_t uid, const char *stack, struct js_slurm_queued *out,
		    size_t max, size_t *n, struct jobstack_error *error)
{
	struct js_slurm_asking a = {.pid = -1};
	struct js_slurm_answer *answer = NULL;
	struct js_buf path = {0};
	int64_t until = js_clock_mono_us() + limit_of(where);
	int rc, got = 1, more = 1;

	*n = 0;
	rc = prepare(where, &path, &answer, error);
	if (rc == 0) {
		const struct js_slurm_question question = {path.data, uid, NULL, NULL, NULL, 0, stack};

		rc = js_slurm_asking_begin(&a, &question, answer, error);
	}
	if (rc != 0)
		goto done;
	while (rc == 0 && more) {
		got = js_slurm_asking_next(&a, until, answer);
		if (got <= 0)
			break;
		rc = refused(answer, error);
		more = answer->queued.job != 0;
		if (rc == 0 && more && *n < max)
			out[*n] = answer->queued;
		*n += (size_t)(rc == 0 && more);
	}
	rc = finish(where, &a, got, rc, error);
done:
	free(answer);
	js_buf_free(&path);
	return rc;
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

int js_slurm_conf(const struct js_slurm_where *where, struct js_slurm_conf *out, struct jobstack_error *error)
{
	struct js_slurm_asking a = {.pid = -1};
	struct js_slurm_answer *answer = NULL;
	struct js_buf path = {0};
	int rc, got, status;

	memset(out, 0, sizeof(*out));
	rc = prepare(where, &path, &answer, error);
	if (rc == 0) {
		const struct js_slurm_question question = {path.data, 0, NULL, NULL, NULL, 0, NULL};

		rc = js_slurm_asking_begin(&a, &question, answer, error);
	}
	if (rc != 0)
		goto done;
	got = js_slurm_asking_next(&a, js_clock_mono_us() + limit_of(where), answer);
	status = js_slurm_asking_end(&a, got == 0);
	rc = got <= 0 ? explain(limit_of(where), &a, got, status, error) : refused(answer, error);
	if (rc == 0)
		*out = answer->conf;
done:
	free(answer);
	js_buf_free(&path);
	return rc;
}

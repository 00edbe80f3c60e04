/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Telling facts.  Promise: a database that is away costs one try per call.
 */
#include "worker/worker_facts.h"

#include "base/clock.h"
#include "base/num.h"

#define PACKAGES_LEN 60000	     /* bytes of a list of packages; those that don't fit are left out */
#define SETTLE_US (JS_SECOND_US / 5) /* how long a step waits for what commands have told of their imports */

static void add_package(void *ctx, const char *name, const char *version)
{
	struct js_buf *text = ctx;

	if (text->len < PACKAGES_LEN)
		js_buf_printf(text, "%s %s\n", name, version);
}

/* The packages that the attempt imported; empty: none, or they are not known. */
static struct js_buf packages_text(const struct facts *f, const struct jobstack_outcome *o)
{
	struct js_buf text = {0};

	(void)js_packages_of(f->packages, o->entry, o->attempt, add_package, &text);
	if (text.failed)
		js_buf_free(&text);
	return text;
}

void facts_of_packages(struct facts *f, struct jobstack_outcome *o, size_t n)
{
	if (f->packages == NULL || n == 0)
		return;
	js_packages_settle(f->packages, SETTLE_US);
	for (size_t i = 0; i < n; i++) {
		struct js_buf text = packages_text(f, &o[i]);

		if (text.len > 0)
			o[i].packages = (int64_t)(js_num_hash(JS_NUM_HASH, text.data, text.len) >> 1);
		js_buf_free(&text);
	}
}

/* Stores the fact that the outcome refers to by NUMBER, -1: none.  0; or a negative code: the others need not be tried
 * now. */
static int tell_fact(struct facts *f, struct jobstack_worker *worker, enum jobstack_fact_kind kind, int64_t number,
		     const struct jobstack_outcome *o)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf text = {0};
	int status = 0;

	for (unsigned i = 0; i < FACTS_TOLD && i < f->told[kind].n; i++)
		if (f->told[kind].number[i] == number)
			return 0;
	if (number < 0)
		return 0;
	if (kind == JOBSTACK_FACT_PLATFORM)
		js_buf_str(&text, f->platform);
	else if (kind == JOBSTACK_FACT_PROGRAM)
		(void)js_program_text(f->version, number, &text);
	else if (kind == JOBSTACK_FACT_PACKAGES)
		text = packages_text(f, o);
	else
		for (size_t i = 0; i < f->mounts->n && text.len == 0; i++)
			if (f->mounts->at[i].number == number)
				js_buf_printf(&text, "%s %s", f->mounts->at[i].type, f->mounts->at[i].point);
	if (!text.failed && text.len > 0 &&
	    (status = jobstack_worker_fact(worker, kind, number, text.data, &ignored)) == 0)
		f->told[kind].number[f->told[kind].n++ % FACTS_TOLD] = number;
	js_buf_free(&text);
	return status;
}

void facts_tell(struct facts *f, struct jobstack_worker *worker, const struct jobstack_outcome *o, size_t n)
{
	int status = tell_fact(f, worker, JOBSTACK_FACT_PLATFORM, f->platform_number, NULL);

	for (size_t i = 0; i < n && status == 0; i++) {
		status = tell_fact(f, worker, JOBSTACK_FACT_PROGRAM, o[i].program, &o[i]);
		if (status == 0)
			status = tell_fact(f, worker, JOBSTACK_FACT_MOUNT, o[i].mount, &o[i]);
		if (status == 0)
			status = tell_fact(f, worker, JOBSTACK_FACT_PACKAGES, o[i].packages, &o[i]);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Telling facts.  Promise: a database that is away costs one try per call.
 */
#include "worker/facts.h"

#include "base/clock.h"

#define PACKAGES_US INT64_C(5000000)
#define PACKAGES_STEP 128 /* in one transaction */

/* 0; or a negative code: the others need not be tried now. */
static int tell_fact(struct facts *f, struct jobstack_worker *worker, enum jobstack_fact_kind kind, int64_t number)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf text = {0};
	int status = 0;

	for (unsigned i = 0; i < FACTS_TOLD && i < f->told[kind].n; i++)
		if (f->told[kind].number[i] == number)
			return 0;
	if (kind == JOBSTACK_FACT_PLATFORM)
		js_buf_str(&text, f->platform);
	else if (kind == JOBSTACK_FACT_PROGRAM)
		(void)js_program_text(f->version, number, &text);
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
	int status = f->platform_number < 0 ? 0 : tell_fact(f, worker, JOBSTACK_FACT_PLATFORM, f->platform_number);

	for (size_t i = 0; i < n && status == 0; i++) {
		if (o[i].program >= 0 && (i == 0 || o[i].program != o[i - 1].program))
			status = tell_fact(f, worker, JOBSTACK_FACT_PROGRAM, o[i].program);
		if (status == 0 && o[i].mount >= 0 && (i == 0 || o[i].mount != o[i - 1].mount))
			status = tell_fact(f, worker, JOBSTACK_FACT_MOUNT, o[i].mount);
	}
}

void facts_tell_packages(struct facts *f, struct jobstack_worker *worker, int last)
{
	struct jobstack_worker_package p[PACKAGES_STEP];
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	size_t n;
	int status;

	if (f->packages == NULL || (!last && jobstack_now_us() - f->packages_us < PACKAGES_US))
		return;
	if (last)
		js_packages_settle(f->packages, 2 * JS_SECOND_US);
	do {
		for (n = 0; n < PACKAGES_STEP && js_packages_changed(f->packages, &p[n]);)
			n++;
		status = n == 0 ? 0 : jobstack_worker_packages(worker, p, n, &ignored);
		for (size_t i = 0; status != 0 && i < n; i++)
			js_packages_again(f->packages, p[i].name, p[i].version);
	} while (last && n == PACKAGES_STEP && status == 0);
	f->packages_us = jobstack_now_us();
}

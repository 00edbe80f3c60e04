/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Telling facts.  Promise: a database that is away costs one try per call.
 */
#include "worker/worker_facts.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <stdlib.h>

#define PACKAGES_LEN 60000 /* bytes of a list of packages; those that don't fit are left out */
#define FORGET_US                                                                                                      \
	(24 * 3600 * JS_SECOND_US)   /* how often lists of packages are stored again, so that prune keeps them */
#define SETTLE_US (JS_SECOND_US / 5) /* how long a step waits for what commands have told of their imports */

static void add_package(void *ctx, const char *name, const char *version)
{
	struct js_buf *text = ctx;

	if (text->len < PACKAGES_LEN)
		js_buf_printf(text, "%s %s\n", name, version);
}

/* Returns whether the database has this fact by this worker. */
static int is_stored(const struct facts *f, enum jobstack_fact_kind kind, int64_t number)
{
	for (unsigned i = 0; i < FACTS_TOLD && i < f->told[kind].n; i++)
		if (f->told[kind].number[i] == number)
			return 1;
	return 0;
}

/* Returns the list of packages with this NUMBER that is still to be stored, or NULL. */
static struct facts_list *find_untold(const struct facts *f, int64_t number)
{
	for (size_t i = 0; i < f->untold_n; i++)
		if (f->untold[i].number == number)
			return &f->untold[i];
	return NULL;
}

/* Sets which packages the attempt of O imported: by the hash of their list, which is remembered until it is stored. */
static void note_packages(struct facts *f, struct jobstack_outcome *o)
{
	struct js_buf text = {0};
	int64_t number;

	(void)js_packages_of(f->packages, o->entry, o->attempt, add_package, &text);
	number = (int64_t)(js_num_hash(JS_NUM_HASH, text.data, text.len) >> 1);
	if (text.failed || text.len == 0) {
		js_buf_free(&text);
		return;
	}
	if (is_stored(f, JOBSTACK_FACT_PACKAGES, number) || find_untold(f, number) != NULL) {
		o->packages = number;
		js_buf_free(&text);
	} else if (js_array_grow(&f->untold, &f->untold_room, f->untold_n + 1, sizeof(*f->untold)) == 0) {
		o->packages = number;
		f->untold[f->untold_n++] = (struct facts_list){number, text.data};
	} else
		js_buf_free(&text);
}

void facts_of_packages(struct facts *f, struct jobstack_outcome *o, size_t n)
{
	if (f->packages == NULL || n == 0)
		return;
	js_packages_settle(f->packages, SETTLE_US);
	if (jobstack_now_us() - f->forgot_us > FORGET_US) {
		f->forgot_us = jobstack_now_us();
		f->told[JOBSTACK_FACT_PACKAGES].n = 0;
	}
	for (size_t i = 0; i < n; i++)
		if (o[i].verdict != JOBSTACK_UNSTARTED && o[i].packages < 0)
			note_packages(f, &o[i]);
}

/* Stores the fact with this NUMBER, unless it is -1 or stored already.  Returns 0, or a negative code: then the
 * database is away, and the other facts need not be tried now. */
static int store_fact(struct facts *f, struct jobstack_worker *worker, enum jobstack_fact_kind kind, int64_t number)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf text = {0};
	int status = 0;

	if (number < 0 || is_stored(f, kind, number))
		return 0;
	if (kind == JOBSTACK_FACT_PLATFORM)
		js_buf_str(&text, f->platform);
	else if (kind == JOBSTACK_FACT_PROGRAM)
		(void)js_program_text(f->version, number, &text);
	else if (kind == JOBSTACK_FACT_PACKAGES)
		js_buf_str(&text, find_untold(f, number)->text);
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

/* Lists of packages come last: there may be many, and each is freed when it is stored. */
int facts_store(struct facts *f, struct jobstack_worker *worker, const struct jobstack_outcome *o, size_t n)
{
	int status = store_fact(f, worker, JOBSTACK_FACT_PLATFORM, f->platform_number);

	for (size_t i = 0; i < n && status == 0; i++) {
		status = store_fact(f, worker, JOBSTACK_FACT_PROGRAM, o[i].program);
		JS_THEN(status, store_fact(f, worker, JOBSTACK_FACT_MOUNT, o[i].mount));
	}
	while (status == 0 && f->untold_n > 0) {
		status = store_fact(f, worker, JOBSTACK_FACT_PACKAGES, f->untold[f->untold_n - 1].number);
		if (status == 0)
			free(f->untold[--f->untold_n].text);
	}
	return status;
}

void facts_free(struct facts *f)
{
	while (f->untold_n > 0)
		free(f->untold[--f->untold_n].text);
	free(f->untold);
	f->untold = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that end as they should, or the test fails with their words: OK(call), GIVES(code, call), REFUSES(code, why,
 * call).  Each test program has its own last error, e.
 */
#ifndef TESTS_INTEGRATION_SAYS_H
#define TESTS_INTEGRATION_SAYS_H

#include "jobstack/jobstack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jobstack_error e;

/* A step that closes N outcomes and claims up to K entries. */
static inline int take_step(struct jobstack_worker *worker, const struct jobstack_outcome *outcomes, size_t n, size_t k,
			    struct jobstack_batch *batch, struct jobstack_step_report *report,
			    struct jobstack_error *error)
{
	struct jobstack_step step = JOBSTACK_STEP_INIT;

	step.outcomes = outcomes;
	step.outcomes_n = n;
	step.claim = k;
	return jobstack_step(worker, &step, batch, report, error);
}

#define GIVES(code, call)                                                                                              \
	do {                                                                                                           \
		int gives_status;                                                                                      \
		memset(&e, 0, sizeof(e));                                                                              \
		gives_status = (call);                                                                                 \
		if (gives_status != (code))                                                                            \
			fail_msg("%s: %d, not %d: %s", #call, gives_status, (int)(code), e.text);                      \
	} while (0)
#define OK(call) GIVES(0, call)
/* The same, with the number of the reason that a remedy is chosen by. */
#define REFUSES(code, why, call)                                                                                       \
	do {                                                                                                           \
		GIVES(code, call);                                                                                     \
		assert_int_equal(e.server_errno, why);                                                                 \
	} while (0)

/* The options of the test's own database. */
static inline struct jobstack_options test_options(void)
{
	struct jobstack_options o = JOBSTACK_OPTIONS_INIT;

	o.defaults_file = getenv("JOBSTACK_TEST_CNF");
	o.patience_us = 10000000;
	return o;
}

static inline struct jobstack *open_one(void)
{
	struct jobstack_options o = test_options();
	struct jobstack *one = NULL;

	OK(jobstack_open(&one, &o, &e));
	return one;
}

static inline const char *schema(void)
{
	static char dir[4096];

	(void)snprintf(dir, sizeof(dir), "%s/schema", getenv("JOBSTACK_SOURCE"));
	return dir;
}

#endif

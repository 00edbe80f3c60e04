/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The largest groups of failures.
 */
#include "figures/failures.h"

#include "base/error.h"
#include "figures/facts.h"

#include <stdio.h>

/* Points *TEXT to a copy of itself in COPY. */
static void own_text(const char **text, char *copy, size_t size)
{
	(void)snprintf(copy, size, "%s", *text != NULL ? *text : "");
	*text = *text != NULL ? copy : NULL;
}

static int copy_failure_group(void *ctx, const struct jobstack_failure *f)
{
	struct figures_failures *failures = ctx;
	struct figures_failure *to = &failures->group[failures->n++];

	to->f = *f;
	own_text(&to->f.reason, to->reason, sizeof(to->reason));
	own_text(&to->f.pattern, to->pattern, sizeof(to->pattern));
	own_text(&to->f.example, to->example, sizeof(to->example));
	own_text(&to->f.node, to->node, sizeof(to->node));
	to->program[0] = '\0';
	return failures->n == FIGURES_FAILURES;
}

/* Notes the version of the program in each group whose failures all ran the same one.  Where the stack has only one
 * version, that says nothing, so the names stay empty. */
static int name_versions(struct figures_failures *failures, struct jobstack *handle, const char *stack,
			 struct jobstack_error *error)
{
	struct figures_facts facts = {.n = 0};
	int known = 0, status = 0;

	for (size_t i = 0; i < failures->n; i++)
		known |= failures->group[i].f.program >= 0;
	if (known)
		status = figures_facts_read(&facts, handle, stack, error);
	for (size_t i = 0; figures_facts_count(&facts, JOBSTACK_FACT_PROGRAM) > 1 && i < failures->n; i++) {
		struct figures_failure *one = &failures->group[i];
		const char *text = figures_facts_text(&facts, JOBSTACK_FACT_PROGRAM, one->f.program);

		(void)snprintf(one->program, sizeof(one->program), "%s", text == NULL ? "" : text);
	}
	figures_facts_free(&facts);
	return status;
}

int figures_failures_read(struct jobstack *handle, const char *stack, const struct jobstack_failures_options *options,
			  struct figures_failures *failures, struct jobstack_error *error)
{
	int status;

	failures->report = (struct jobstack_failures_report)JOBSTACK_FAILURES_REPORT_INIT;
	status = jobstack_failures(handle, stack, options, copy_failure_group, failures, &failures->report, error);
	status = figures_enough(status, failures->n == FIGURES_FAILURES, error);
	return status == 0 ? name_versions(failures, handle, stack, error) : status;
}

int figures_enough(int status, int enough, struct jobstack_error *error)
{
	if (status != JOBSTACK_ESTOPPED || !enough)
		return status;
	js_error_clear(error);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker in C: pop an entry of the stack airs-2012, work on it, close it, until nothing is ready.
 *
 *     cc -o pop-loop pop-loop.c process.c $(pkg-config --cflags --libs jobstack)
 *     ./pop-loop ~/.config/jobstack/client.cnf
 *
 * process.c is yours.  See pop-loop.sh for what to know about such loops; worker-steps.c is a worker with a lease
 * that it renews.
 */
#include <jobstack/jobstack.h>

#include <stdio.h>

#define STACK "airs-2012"

int process(const char *datapath); /* an exit code: 0 done, else failed */

static int give_up(struct jobstack *handle, const struct jobstack_error *error)
{
	(void)fprintf(stderr, "%s\n", error->text);
	jobstack_free(handle);
	return 1;
}

int main(int argc, char **argv)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack *handle;
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	int status;

	options.defaults_file = argc > 1 ? argv[1] : NULL; /* the library looks at no environment, and for no file */
	options.patience_us = 60 * INT64_C(1000000);
	if (jobstack_open(&handle, &options, &error) != 0)
		return give_up(NULL, &error);
	while ((status = jobstack_pop(handle, STACK, NULL, 1, &batch, &error)) == 0) {
		const struct jobstack_entry *entry = jobstack_batch_entry(&batch, 0);
		struct jobstack_outcome outcome = JOBSTACK_OUTCOME_INIT;

		outcome.entry = entry->entry;
		outcome.attempt = entry->attempt;
		outcome.exit_code = process(entry->datapath);
		outcome.verdict = outcome.exit_code == 0 ? JOBSTACK_DONE : JOBSTACK_FAILED;
		jobstack_batch_free(&batch);
		status = jobstack_close(handle, STACK, &outcome, 1, NULL, &error);
		if (status < 0)
			return give_up(handle, &error);
		if (status == JOBSTACK_NOTHING) { /* the lease was lost: somebody else has the entry */
			(void)fprintf(stderr, "%s\n", error.text);
			error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
		}
	}
	if (status < 0)
		return give_up(handle, &error);
	jobstack_free(handle);
	return 0;
}

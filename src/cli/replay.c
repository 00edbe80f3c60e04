/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack close --replay.  Promises: nothing is sent before every file was found whole; a worker that may live
 * delivers its outcomes itself; a file is never changed, and again is harmless.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "show/amount.h"
#include "show/json.h"
#include "exec/spool.h"
#include "cli/recover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_MAX_MIB 1024 /* more than any worker can hold outcomes */

/* One file. */
struct replay {
	const char *file;
	struct js_spool spool;
	enum jobstack_cause cause; /* of its death */
	char proof[300];	   /* why its worker is known to be gone, if it has not said so itself */
	uint64_t delivered, before, late;
};

/* A -s that was typed must be the stack of the file; $JOBSTACK_STACK need not. */
static int read_file(struct cli *cli, struct replay *r)
{
	struct stat st;

	if (stat(r->file, &st) != 0)
		return js_error_file(&cli->error, "can't read %s", r->file);
	if (!S_ISREG(st.st_mode) || st.st_size > INT64_C(1048576) * SIZE_MAX_MIB)
		return js_error_set(&cli->error, JOBSTACK_EFILE, "%s is not a spool of jobstack-worker", r->file);
	JS_TRY(js_spool_load(r->file, &r->spool, &cli->error));
	if (cli->stack_given && cli->stack != getenv("JOBSTACK_STACK") && strcmp(cli->stack, r->spool.head.stack) != 0)
		return js_error_set(&cli->error, JOBSTACK_EUSAGE,
				    "the outcomes in %s belong to the stack \"%s\", not to \"%s\": leave out -s",
				    r->file, r->spool.head.stack, cli->stack);
	if (r->spool.torn)
		cli_say(cli, "ignored the last line of %s: it is incomplete, because its worker was killed", r->file);
	return 0;
}

static int is_same_worker(void *ctx, const struct jobstack_worker_row *w)
{
	const struct replay *r = ctx;

	return w->worker == r->spool.head.worker;
}

/* Returns 0 if the file may be delivered: its worker has ended, or is known to be dead by its process, by Slurm or by
 * its silence, for which it is watched.  A worker that lives would deliver the same outcomes itself.  Nothing is
 * recovered here: an entry that went back to the queue would make its outcome come too late. */
static int check_worker_is_gone(struct cli *cli, struct replay *r)
{
	struct cli_recovery look = {.dry_run = 1, .wait = 1, .only = r->spool.head.worker};
	int status;

	cli->stack = r->spool.head.stack;
	status = jobstack_workers(cli->handle, cli->stack, is_same_worker, r, &cli->error);
	if (status != JOBSTACK_ESTOPPED || cli->error.code != 0)
		return status; /* 0: its row has ended */
	if (r->spool.left)
		return 0;
	JS_TRY(cli_recover_dead(cli, &look));
	r->cause = look.cause;
	(void)snprintf(r->proof, sizeof(r->proof), "%s", look.proof);
	if (r->proof[0] != '\0')
		return 0;
	return js_error_set(
		&cli->error, JOBSTACK_ECONFLICT,
		"worker %" PRIu64
		" may be alive and deliver the outcomes in %s itself: wait, or run `jobstack recover -s %s` first",
		r->spool.head.worker, r->file, r->spool.head.stack);
}

/* A spool says which of its outcomes its worker has delivered itself.  The library tells of the others what became of
 * them, so to deliver a file twice changes nothing. */
static int deliver_outcomes(struct cli *cli, struct replay *r)
{
	const struct js_spool *s = &r->spool;
	size_t n = s->n - s->delivered;
	enum jobstack_replayed *results = calloc(n + 1, sizeof(*results));
	int status = results == NULL ? js_error_memory(&cli->error)
				     : jobstack_replay(cli->handle, s->head.stack, s->head.worker, s->head.token,
						       s->outcomes + s->delivered, n, r->cause,
						       r->proof[0] == '\0' ? NULL : r->proof, results, &cli->error);

	r->before = s->delivered;
	for (size_t i = 0; status >= 0 && i < n; i++) {
		r->delivered += results[i] == JOBSTACK_REPLAYED;
		r->before += results[i] == JOBSTACK_REPLAYED_BEFORE;
		r->late += results[i] == JOBSTACK_TOO_LATE;
	}
	free(results);
	return status < 0 ? status : 0;
}

static int print_replayed(const struct cli *cli, const struct replay *r, int several)
{
	if (cli->json)
		return CLI_PRINT(KEY_TEXT("file", r->file), KEY_TEXT("stack", r->spool.head.stack),
				 KEY_COUNT("worker", r->spool.head.worker), KEY_COUNT("delivered", r->delivered),
				 KEY_COUNT("delivered_before", r->before), KEY_COUNT("too_late", r->late));
	if (!cli->quiet)
		(void)printf("%s%s%" PRIu64 " delivered, %" PRIu64 " delivered before, %" PRIu64
			     " too late (their entries were requeued meanwhile)\n",
			     several ? r->file : "", several ? ": " : "", r->delivered, r->before, r->late);
	(void)fflush(stdout);
	cli_say(cli, "%s can be removed now", r->file);
	return CLI_YES;
}

/* All files are read before the first is delivered, and all workers are checked.  After that one failing delivery does
 * not stop the others, unless the database is away. */
int cli_replay(struct cli *cli, char *const files[], size_t n)
{
	struct replay *all = calloc(n, sizeof(*all));
	int status = all == NULL ? js_error_memory(&cli->error) : 0, connected = 0, failed = 0;
	uint64_t late = 0;

	for (size_t i = 0; status == 0 && i < n; i++) {
		all[i].file = files[i];
		status = read_file(cli, &all[i]);
	}
	if (status == 0)
		status = connected = cli_connect(cli, 60 * JS_SECOND_US);
	for (size_t i = 0; status == 0 && i < n; i++)
		status = check_worker_is_gone(cli, &all[i]);
	for (size_t i = 0; status == 0 && i < n; i++) {
		status = deliver_outcomes(cli, &all[i]);
		if (status == 0 && print_replayed(cli, &all[i], n > 1) != 0)
			failed = CLI_BUG;
		else if (status != 0 && status != JOBSTACK_ENODB &&
			 status != JOBSTACK_ESTOPPED) { /* the other files can be */
			failed = cli_fail(cli);
			js_error_clear(&cli->error);
			status = 0;
		}
		late += all[i].late;
	}
	for (size_t i = 0; all != NULL && i < n; i++)
		js_spool_free(&all[i].spool);
	free(all);
	if (connected != 0)
		return connected;
	if (status != 0)
		return cli_fail(cli);
	return failed != 0 ? failed : late > 0 ? CLI_NO : CLI_YES;
}

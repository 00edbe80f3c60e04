/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What to do where nobody works on a stack.  Promise: Slurm is asked seldom, however many ask.
 */
#include "cli/why.h"

#include "cli/last_start.h"
#include "exec/site.h"
#include "death/budget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Asks only about a job of the same user, and through the budget that all programs of this user share.  A log directory
 * that is missing here explains why a log can't be read: the job may have had another file system. */
void cli_idle_ask(const struct cli *cli, const char *stack, struct figures_idle *i)
{
	struct js_budget_stack jobs = {stack, i->last.user, i->last.job, -1, i->queued, i->state};
	struct js_budget budget = {cli->handle, {getenv("JOBSTACK_MODULE_DIR"), 0, NULL}, i->cluster, 0};
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_site site = {0};

	/* of other users' jobs Slurm may show nothing */
	if (!i->alone || i->last.job == 0 || i->last.user != geteuid() || !js_slurm_is_here())
		return;
	(void)js_site_read(&site, getenv("JOBSTACK_SITE_FILE"), &ignored);
	budget.every_us = site.slurm_us;
	js_site_free(&site);
	js_error_clear(&ignored);
	if (js_budget_stack(&budget, &jobs, &ignored) == 0)
		i->live = jobs.live;
	if (i->log[0] == '/' && !i->last.came && strchr(i->log, '%') == NULL) { /* else sbatch has replaced it */
		char dir[sizeof(i->log)];

		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(i->log, '/') - i->log), i->log);
		i->lost = access(dir, F_OK) != 0 && errno == ENOENT;
	}
}

/* The first condition that holds decides: a pause; a job that sbatch rejected; workers that ended in a way that would
 * only repeat itself; jobs that wait in Slurm; a wall time in which no entry ended.  Only then the command that starts
 * workers again is of use. */
void cli_idle_next(const char *stack, const struct figures_idle *i, struct js_buf *out)
{
	struct js_buf again = {0};
	const char *start;

	cli_last_start_command(i->last_way, stack, &again);
	start = again.data != NULL ? again.data : "start workers again";
	if (i->paused)
		js_buf_printf(out, "remove the cause of the pause; then `jobstack resume -s %s`%s%s", stack,
			      i->live > 0 ? "" : ", and ", i->live > 0 ? "" : start);
	else if (i->alone && i->last.job == 0 && i->last.job_us >= 0 && !i->last.came)
		js_buf_str(out, "correct what it rejected, and submit again");
	else if (figures_idle_useless(i))
		js_buf_printf(out, "correct that first, then %s (else it would end in the same way)", start);
	else if (i->live > 0)
		js_buf_str(out, "nothing has to be submitted again; `squeue --me` shows the jobs");
	else if (i->last.closed == 0 && i->last.cause == JOBSTACK_CAUSE_WALL_TIME)
		js_buf_printf(out, "no entry ended in that time: use `jobstack submit %s --again --time=LONGER`",
			      stack);
	else if (again.len > 0)
		js_buf_printf(out, "%s continues", start);
	else
		js_buf_printf(out,
			      "`jobstack run -s %s COMMAND {}` starts one here, `jobstack submit %s --workers N -- "
			      "COMMAND {}` starts many as Slurm jobs",
			      stack, stack);
	js_buf_free(&again);
}

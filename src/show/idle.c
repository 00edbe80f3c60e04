/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Why nobody works on a stack, in words.
 */
#include "show/amount.h"
#include "show/status.h"
#include "show/text.h"

#include <inttypes.h>
#include <string.h>

/* NONE: something was started, and no worker has begun since.  WORKER: the last worker is what can be told about.  A
 * log is named only where it can explain something: that of a job without a worker, or of the last worker's job. */
void show_idle(struct js_buf *out, const struct figures_idle *i)
{
	const struct jobstack_last *l = &i->last;
	int none = i->alone && l->job_us >= 0 && !l->came, worker = i->alone && l->ended_us >= 0 && !none;

	js_buf_printf(out, "no worker is running%s%s%s", i->live > 0 ? " yet" : "", i->live > 0 ? ": " : "", i->queued);
	if (none && l->job == 0) { /* then the log is what sbatch said */
		js_buf_printf(out, ": sbatch rejected the last job %s ago: ", show_rough(l->job_us).text);
		show_safe_words(out, i->log);
		return;
	}
	if (none && i->live == 0)
		js_buf_printf(out, ": job %" PRIu64 " ended%s%s before a worker began", l->job,
			      i->state[0] != '\0' ? " as " : "", i->state);
	else if (none && i->live < 0)
		js_buf_printf(out, ": none has begun since job %" PRIu64 " was submitted %s ago", l->job,
			      show_rough(l->job_us).text);
	if (worker) {
		js_buf_printf(out, "%s the last one ended %s ago on ", i->live > 0 ? ";" : ":",
			      show_rough(l->ended_us).text);
		show_safe(out, i->node, strlen(i->node));
		js_buf_str(out, i->reason[0] != '\0' ? ": " : "");
		show_safe_words(out, i->reason);
	}
	if (i->log[0] != '\0' && (none ? i->live <= 0 : worker && l->in_job)) {
		js_buf_str(out, i->lost ? " (its log's directory is not on this host: " : " (log: ");
		show_safe(out, i->log, strlen(i->log));
		js_buf_char(out, ')');
	}
}

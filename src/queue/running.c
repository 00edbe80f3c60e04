/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The column `running` of a worker.  Promise: what does not fit is left out as a whole, never cut within a number;
 * the costs of a step are always there, since they come last, behind a limit that leaves space for them.
 */
#include "queue/running.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEN_MOST 15800 /* the column has 16000 bytes */

void js_running_write(const struct js_db *db, const struct jobstack_step *step, int64_t commit_us, struct js_buf *text)
{
	const struct jobstack_running *running = step->running;

	js_buf_str(text, "");
	for (size_t i = 0; i < step->running_n && text->len < LEN_MOST; i++)
		js_buf_printf(text, "%s%" PRIu64 ":%" PRIu32 ":%" PRId64, i == 0 ? "" : ",", running[i].entry,
			      running[i].attempt, js_db_wall_us(db, running[i].started_us));
	if (step->step_us > 0)
		js_buf_printf(text, "%s0:%" PRIu64 ":%" PRId64 ":%" PRIu64, text->len == 0 ? "" : ",", step->step_us,
			      commit_us > 0 ? commit_us : 0, step->waiting);
}

int js_running_next(const char **running, uint64_t *entry, int64_t *started_us)
{
	const char *at = *running;
	char *end;

	if (at == NULL || *at == '\0')
		return 0;
	*entry = strtoull(at, &end, 10);
	*started_us = *end == ':' && (end = strchr(end + 1, ':')) != NULL ? strtoll(end + 1, NULL, 10) : -1;
	at = strchr(at, ',');
	*running = at == NULL ? NULL : at + 1;
	return 1;
}

int64_t js_running_since(const char *running, uint64_t entry)
{
	uint64_t id;
	int64_t started_us;

	while (js_running_next(&running, &id, &started_us))
		if (id == entry)
			return started_us;
	return -1;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An item out of rows.
 */
#include "core/item.h"

#include <stdlib.h>
#include <string.h>

void js_item_attempt(struct jobstack_item *i, const struct js_row *row, unsigned *column)
{
	unsigned c = *column;

	i->attempt = (uint32_t)js_row_u64(row, c++);
	i->outcome = (int)js_row_opt(row, c++);
	i->exit_code = (int32_t)js_row_opt(row, c++);
	i->signal = (int32_t)js_row_i64(row, c++);
	i->reason = row->col[c++];
	i->started_us = js_row_time(row, c++);
	i->ended_us = js_row_time(row, c++);
	i->user_us = js_row_opt(row, c++);
	i->system_us = js_row_opt(row, c++);
	i->maxrss_kib = js_row_opt(row, c++);
	i->read_bytes = js_row_opt(row, c++);
	i->write_bytes = js_row_opt(row, c++);
	i->log = row->col[c++];
	i->log_at = js_row_opt(row, c++);
	i->log_out = js_row_opt(row, c++);
	i->log_err = js_row_opt(row, c++);
	i->err_at = -1; /* unless js_item_stderr tells */
	*column = c;
}

void js_item_stderr(struct jobstack_item *i, const struct js_row *row, unsigned *column)
{
	unsigned c = *column;

	i->err_log = row->col[c++];
	i->err_at = js_row_opt(row, c++);
	i->err_tail = (struct jobstack_bytes){row->col[c], row->len[c]};
	*column = c + 1;
}

void js_item_worker(struct jobstack_item *i, const struct js_row *row, unsigned *column)
{
	unsigned c = *column;

	i->worker = js_row_u64(row, c++);
	i->node = row->col[c++];
	i->host = row->col[c++];
	i->cluster = row->col[c++];
	i->job = row->col[c++];
	i->array_job = row->col[c++];
	i->array_task = row->col[c++];
	i->step = row->col[c++];
	i->account = row->col[c++];
	i->qos = row->col[c++];
	i->partition = row->col[c++];
	i->user = row->col[c++];
	i->cwd = row->col[c++];
	i->argv = (struct jobstack_bytes){row->col[c], row->len[c]};
	c++;
	i->slots = (uint32_t)js_row_u64(row, c++);
	*column = c;
}

int64_t js_item_since(const char *running, uint64_t entry)
{
	while (running != NULL && *running != '\0') {
		char *end;
		uint64_t id = strtoull(running, &end, 10);

		if (id == entry && *end == ':' && (end = strchr(end + 1, ':')) != NULL)
			return strtoll(end + 1, NULL, 10);
		running = strchr(running, ',');
		running = running == NULL ? NULL : running + 1;
	}
	return -1;
}

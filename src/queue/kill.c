/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests to kill an entry's command: texts ",ENTRY:ATTEMPT:killed by USER" in the worker's column `kills`.  Promises:
 * a request is stored only with the worker that holds the attempt, and applies to no other attempt; nothing else
 * changes, so no step fails because of it.
 */
#include "queue/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY ",%" PRIu64 ":%" PRIu32 ":"
#define BY_MAX 64 /* of who asks, this much is kept */

/* A key begins with a comma and ends with a colon, so it can't be a part of another request. */
int jobstack_kill_wanted(const char *kills, uint64_t entry, uint32_t attempt, char reason[JOBSTACK_KILL_REASON])
{
	const char *at;
	char key[48];
	int n;

	if (kills == NULL)
		return 0;
	n = snprintf(key, sizeof(key), KEY, entry, attempt);
	at = strstr(kills, key);
	if (at != NULL)
		(void)snprintf(reason, JOBSTACK_KILL_REASON, "%.*s", (int)strcspn(at + n, ","), at + n);
	return at != NULL;
}

/* Finds the claim of LIST that holds the entry of the request at AT, if that is still open.  NULL if none does; *REASON
 * is in the text, and ends at the next comma. */
static struct js_claim *find_open(const char *at, struct js_claim *list, uint64_t *entry, size_t *place,
				  const char **reason)
{
	struct js_claim *claim;
	uint32_t attempt = 0;
	int n = 0;

	if (sscanf(at, ",%19" SCNu64 ":%9" SCNu32 ":%n", entry, &attempt, &n) < 2)
		return NULL;
	*reason = at + n;
	claim = js_claim_find(list, *entry, attempt, place);
	return claim != NULL && claim->mark[*place] == JS_OPEN ? claim : NULL;
}

int js_kill_is_open(const char *kills, struct js_claim *list)
{
	const char *reason;
	uint64_t entry;
	size_t place;

	for (const char *at = kills; (at = strchr(at, ',')) != NULL; at++)
		if (find_open(at, list, &entry, &place, &reason) != NULL)
			return 1;
	return 0;
}

/* Goes through the requests from the last to the first, and cuts each off when it has been read.  So the reason of the
 * one before it, which the outcome points to, ends with a NUL. */
size_t js_kill_close(char *kills, struct js_claim *list, struct jobstack_outcome *outcomes, struct js_claim_sums *sums)
{
	size_t n = 0, place;

	for (char *at; (at = strrchr(kills, ',')) != NULL;
	     *at = '\0') { /* what followed is cut off: a reason ends here */
		struct jobstack_outcome *o = &outcomes[n];
		struct js_claim *claim;

		*o = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
		claim = find_open(at, list, &o->entry, &place, &o->reason);
		if (claim == NULL)
			continue;
		claim->mark[place] = JS_CLOSING;
		o->attempt = claim->attempt;
		o->verdict = JOBSTACK_FAILED;
		o->cause = JOBSTACK_CAUSE_KILLED;
		o->fatal = 1;
		sums->dead++;
		n++;
	}
	return n;
}

/* One UPDATE with all its conditions: the worker lives and holds the attempt, which has not ended, and the column has
 * space for one more.  A second request for the same attempt changes nothing.  What is left of the name of who asks
 * can't be taken for a part of the list: it has no comma and no control character. */
int jobstack_kill(struct jobstack *handle, const char *stack, struct jobstack_held held, struct jobstack_error *error)
{
	char key[48], name[BY_MAX + 1], id[JS_IDS_WIDTH];
	struct js_stack s;
	int status;

	(void)snprintf(name, sizeof(name), "%s", handle->os_user == NULL ? "?" : handle->os_user);
	for (char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c <= ' ' || *c == ',' || *c == 127)
			*c = '?';
	(void)snprintf(key, sizeof(key), KEY, held.entry, held.attempt);
	js_span_write_ids(id, &held.entry, 1);
	JS_TRY(js_stack_find(handle, stack, &s, error));
	status = js_handle_change(
		handle, 1, NULL, error,
		"UPDATE worker SET kills=IF(LOCATE(%s,kills)>0,kills,CONCAT(COALESCE(kills,''),%s,'killed by ',%s)) "
		"WHERE "
		"worker_id=%u AND stack_id=%u AND kind=0 AND ended IS NULL AND COALESCE(LENGTH(kills),0)<%u AND "
		"EXISTS(SELECT 1 FROM claim c WHERE c.stack_id=%u AND c.worker_id=%u AND c.attempt=%u AND "
		"IF(c.ids IS NULL,%u BETWEEN c.lo AND c.hi,LOCATE(%x,c.ids)>0)) AND NOT EXISTS(SELECT 1 FROM attempt "
		"WHERE stack_id=%u AND entry_id=%u AND attempt=%u)",
		(const char *)key, (const char *)key, (const char *)name, held.worker, s.id,
		(uint64_t)(JS_KILLS_MAX - sizeof(key) - JOBSTACK_KILL_REASON), s.id, held.worker,
		(uint64_t)held.attempt, held.entry, (const void *)id, sizeof(id), s.id, held.entry,
		(uint64_t)held.attempt);
	return status == JS_DB_GUARD ? JOBSTACK_NOTHING : status;
}

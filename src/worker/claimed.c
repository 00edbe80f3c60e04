/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Claimed entries on their way to the supervisor.
 */
#include "worker/claimed.h"

#include "base/clock.h"
#include "base/error.h"
#include "worker/speaker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The two paths may be different names of one directory, so it is the inodes that are compared. */
void claimed_check_directory(struct database *db, struct claimed_directory *dir, const char *stack)
{
	struct stat a, b;
	char why[1000];

	if (stack == NULL || db->config->chdir != NULL || strcmp(stack, dir->run) == 0 ||
	    strcmp(stack, dir->known) == 0)
		return;
	if (stat(stack, &a) == 0 && stat(".", &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
		/* remembered: the file system may hang later, and heartbeats must not wait for it */
		(void)snprintf(dir->known, sizeof(dir->known), "%s", stack);
		return;
	}
	(void)snprintf(
		why, sizeof(why),
		"the names in the stack \"%s\" are relative to %.400s, but this worker runs in %.300s: start the "
		"worker in the directory of the names, or give that directory with --chdir",
		db->config->stack, stack, dir->run);
	mailbox_stop(db->box, LEAVE_ELSEWHERE, why, 0);
}

/* Returns whether lines of the database account ACCOUNT, "bob@%", may run. */
static int is_allowed(const struct config *config, const char *account)
{
	const char *host = strrchr(account, '@');
	size_t len = host != NULL ? (size_t)(host - account) : strlen(account);

	for (size_t i = 0; i < config->allowed_n; i++)
		if (strcmp(config->allowed[i], account) == 0 ||
		    (strlen(config->allowed[i]) == len && strncmp(config->allowed[i], account, len) == 0))
			return 1;
	return 0;
}

/* --commands: notes in P which lines of its batch must not run, because another account pushed them.  Returns 0, or
 * negative. */
static int refuse_lines_of_others(struct database *db, struct parcel *p)
{
	char account[256] = "";
	uint64_t first = 0, last = 0; /* ACCOUNT has pushed at least these entries; "": this worker's account has */
	int64_t since = jobstack_now_us();
	size_t refused = 0;
	int status;

	p->refused = calloc(p->batch.count, sizeof(*p->refused));
	if (p->refused == NULL)
		return js_error_memory(&db->error);
	for (size_t i = 0; i < p->batch.count; i++) {
		uint64_t entry = jobstack_batch_entry(&p->batch, i)->entry;

		if (entry < first || entry > last) {
			do
				status = jobstack_pushed_by(db->handle, db->config->stack, entry, account, &last,
							    &db->error);
			while (database_repeats(db, status, since));
			first = entry;
			if (status < 0)
				return status;
			if (status == JOBSTACK_NOTHING)
				(void)snprintf(account, sizeof(account), "unknown");
		}
		if (account[0] == '\0' || is_allowed(db->config, account))
			continue;
		(void)snprintf(p->refused[i], REASON_MAX, "not run: pushed by %.90s; --allow-user %.*s runs it",
			       account, (int)strcspn(account, "@"), account);
		for (char *c = p->refused[i]; *c != '\0'; c++)
			*c = (char)((unsigned char)*c < ' ' || *c == 127 ? '?' : *c);
		if (refused++ == 0)
			speaker_say("entry %" PRIu64 ": %s", entry, p->refused[i]);
	}
	return 0;
}

/* --creates: reads when the last attempts of the batch's entries ended, since a file may be left of them. */
static int learn_last_ends(struct database *db, const struct jobstack_batch *batch)
{
	int64_t since = jobstack_now_us();
	int status;

	do
		status = jobstack_worker_last_ends(db->worker, batch, &db->error);
	while (database_repeats(db, status, since));
	return status;
}

/* What the database has to say of the entries is read before they are in the mailbox, where the supervisor may start
 * them at once. */
void claimed_hand_over(struct database *db, struct jobstack_batch *batch, int far)
{
	struct parcel *p = calloc(1, sizeof(*p));
	struct mailbox *box = db->box;

	if (p == NULL) {
		jobstack_batch_free(batch); /* the end of the worker's row returns the entries */
		return;
	}
	p->batch = *batch;
	p->left = batch->count;
	if ((db->config->commands && refuse_lines_of_others(db, p) != 0) ||
	    (db->config->creates != NULL && learn_last_ends(db, &p->batch) != 0))
		mailbox_stop(box, LEAVE_MACHINE, db->error.text, 0); /* so that they are returned below */
	(void)pthread_mutex_lock(&box->lock);
	STAILQ_INSERT_TAIL(&box->parcels, p, next);
	if (box->leaps != box->leaps_settled) /* the machine may have stood still since the claim was sent */
		p->batch.start_by_us = batch->start_by_us != 0;
	box->queued += batch->count;
	box->progress_us = jobstack_now_us();
	if (box->leaving != STAY)
		mailbox_give_back(box);
	else if (far)
		mailbox_keep_farthest(box, p);
	mailbox_wake_supervisor(box);
	(void)pthread_mutex_unlock(&box->lock);
}

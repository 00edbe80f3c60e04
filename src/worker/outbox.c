/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The outbox.  Promises: an outcome with which the ledger has waited for the database for two seconds is on the disk,
 * in the order in which it will be delivered; the file goes when everything in it has been taken; only the outbox's own
 * thread waits for the disk, and it holds no lock meanwhile: heartbeats go on while a file system hangs.
 */
#include "worker/outbox.h"

#include "base/clock.h"
#include "base/error.h"
#include "worker/speaker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US (2 * JS_SECOND_US) /* if the database takes longer to answer, outcomes are written to the disk */
#define LOOK_US (JS_SECOND_US / 4)     /* how often new outcomes in the mailbox are written then */
#define RETRY_US (10 * JS_SECOND_US)   /* the pause after nothing could be written in any of the places */
#define END_US (10 * JS_SECOND_US)     /* how long to wait for the disk at the end */

void outbox_places(struct outbox *o, const char *dir, const char *name, const char *tmp)
{
	(void)snprintf(o->path[0], sizeof(o->path[0]), "%.4200s/%s.spool", dir, name);
	o->path[1][0] = '\0';
	if (tmp != NULL && *tmp != '\0')
		(void)snprintf(o->path[1], sizeof(o->path[1]), "%.4200s/jobstack-%s.spool", tmp, name);
	(void)snprintf(o->path[2], sizeof(o->path[2]), "/tmp/jobstack-%s.spool", name);
}

/* Copies of the outcomes that wait, in order: the ledger frees its own when the database has answered, and a write may
 * hang for longer. */
struct waiting {
	struct result *results;
	struct jobstack_outcome *outcomes;
	size_t n;
};

static void waiting_free(struct waiting *w)
{
	if (w->results != NULL)
		result_free(w->results, w->n);
	free(w->outcomes);
}

/* Copies what waits: first the outcomes that the ledger's step carries, then those in the mailbox.  That is the order
 * of delivery, so the numbers of outcomes that were written and taken say which ones they are.  Returns 0, or -1
 * without memory. */
static int gather_waiting(struct outbox *o, struct waiting *w)
{
	struct mailbox *box = o->box;

	(void)pthread_mutex_lock(&box->lock);
	*w = (struct waiting){NULL, NULL, o->asked_n + box->results_n};
	w->results = calloc(w->n + 1, sizeof(*w->results));
	for (size_t i = 0; w->results != NULL && i < w->n; i++) {
		struct jobstack_outcome waits =
			i < o->asked_n ? o->asked[i] : result_outcome(&box->results[i - o->asked_n]);

		result_copy(&w->results[i], &waits);
	}
	(void)pthread_mutex_unlock(&box->lock);
	w->outcomes = calloc(w->n + 1, sizeof(*w->outcomes));
	if (w->results == NULL || w->outcomes == NULL) {
		waiting_free(w);
		return -1;
	}
	for (size_t i = 0; i < w->n; i++)
		w->outcomes[i] = result_outcome(&w->results[i]);
	return 0;
}

/* Notes for the keeper where the spool is; NULL: there is no spool.  SPOOLS is 0 while the path is being written, so
 * that the keeper never reads half a path. */
static void note_path(struct outbox *o, const char *path)
{
	o->page->spools = 0;
	if (path == NULL)
		return;
	(void)snprintf(o->page->spool, sizeof(o->page->spool), "%s", path);
	o->page->spools = 1;
}

/* Writes all that waits into a new file, in the first place where that succeeds, and removes the old file.  Returns 0,
 * or -1: nothing could be written anywhere, and the old file is as it was. */
static int move_to_new_file(struct outbox *o, const struct waiting *w, int64_t wall_us, struct jobstack_error *error)
{
	for (size_t place = 0; place < OUTBOX_PLACES; place++) {
		struct js_spool_file *file;

		if (o->path[place][0] == '\0' ||
		    (o->file != NULL && strcmp(o->path[place], js_spool_path(o->file)) == 0) ||
		    js_spool_create(&file, o->path[place], &o->head, error) != 0)
			continue;
		note_path(o, o->path[place]);
		if (js_spool_append(file, w->outcomes, w->n, wall_us, error) != 0) {
			js_spool_close(file, 1);
			note_path(o, o->file == NULL ? NULL : js_spool_path(o->file));
			continue;
		}
		js_spool_close(o->file, 1);
		o->file = file;
		if (place > 0)
			speaker_say("%s: outcomes wait in %s instead, which may be removed when the job ends",
				    error->text, o->path[place]);
		else
			speaker_say("the database does not answer: outcomes wait in %s", o->path[place]);
		return 0;
	}
	if (!o->told)
		speaker_say("%s: outcomes wait only in memory until the database answers", error->text);
	o->told = 1;
	return -1;
}

/* Notes that the database has taken the first N of what waits.  Those of them that are in the file have to be marked
 * there as delivered (TIDY). */
static void count_taken(struct outbox *o, size_t n)
{
	size_t known = n < o->spooled ? n : o->spooled;

	o->spooled -= known;
	o->delivered += known;
	o->tidy |= known > 0;
}

/* Writes what waits to the disk.  With the lock held, which is released during the write.
 *
 * Meanwhile the database may answer.  Then TAKEN counts what it has taken (BUSY), and that is subtracted afterwards:
 * the numbers in this function are those of the moment when it began.  A file that exists is only appended to; if that
 * fails, everything is written anew in another place. */
static void save_waiting(struct outbox *o)
{
	int64_t wall_us = js_clock_wall_us() - js_clock_mono_us();
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct waiting w;
	size_t n, from = o->spooled;
	int added, moved;

	(void)pthread_mutex_lock(&o->box->lock);
	n = o->asked_n + o->box->results_n;
	(void)pthread_mutex_unlock(&o->box->lock);
	if (n <= from || jobstack_now_us() < o->retry_us || gather_waiting(o, &w) != 0)
		return;
	o->busy = 1;
	(void)pthread_mutex_unlock(&o->lock);
	added = o->file != NULL && js_spool_append(o->file, w.outcomes + from, w.n - from, wall_us, &error) == 0;
	moved = !added && move_to_new_file(o, &w, wall_us, &error) == 0;
	(void)pthread_mutex_lock(&o->lock);
	if (added)
		o->written += w.n - from;
	if (moved) {
		o->written = w.n;
		o->delivered = 0;
	}
	if (added || moved)
		o->spooled = w.n;
	else
		o->retry_us = jobstack_now_us() + RETRY_US;
	o->busy = 0;
	count_taken(o, o->taken);
	o->taken = 0;
	waiting_free(&w);
}

/* Removes the file, when everything in it has been delivered or is obsolete. */
static void discard_file(struct outbox *o)
{
	note_path(o, NULL);
	js_spool_close(o->file, 1);
	o->file = NULL;
}

/* Records in the file how much of it the database has taken; if that is all, removes the file.  With the lock held,
 * which is released during the write.  What was delivered but could not be noted is delivered again later, which
 * changes nothing. */
static void note_taken(struct outbox *o)
{
	int all = o->spooled == 0 && o->delivered == o->written;
	uint64_t delivered = o->delivered;

	o->tidy = 0;
	if (o->file == NULL)
		return;
	if (all)
		o->written = o->delivered = 0; /* no other thread increments them */
	(void)pthread_mutex_unlock(&o->lock);
	if (all) {
		speaker_say("the outcomes in %s have been delivered", js_spool_path(o->file));
		discard_file(o);
	} else /* if it fails, they are delivered again, which is harmless */
		(void)js_spool_note_delivered(o->file, delivered, NULL);
	(void)pthread_mutex_lock(&o->lock);
}

/* At the end: writes what still waits to the disk, and notes that the worker has left, so that others may deliver the
 * spool at once.  With the lock held, which is released during the writes. */
static void conclude_file(struct outbox *o)
{
	size_t waiting = o->box->results_n; /* the ledger has ended */

	if (o->tidy)
		note_taken(o);
	o->retry_us = 0;
	if (waiting > 0)
		save_waiting(o);
	(void)pthread_mutex_unlock(&o->lock);
	if (o->file != NULL && waiting == 0)
		discard_file(o);
	/* LEAVE_KEEPER: some outcomes are lost, and not in the file.  If the note can't be written, the spool is
	 * delivered when the process is gone. */
	else if (o->file != NULL && o->box->leaving != LEAVE_KEEPER)
		(void)js_spool_note_left(o->file, NULL);
	(void)pthread_mutex_lock(&o->lock);
}

/* Waits until somebody wakes this thread, or until UNTIL_US if that is not 0. */
static void doze_until(struct outbox *o, int64_t until_us)
{
	struct timespec t = js_clock_deadline(until_us);

	o->dozing = until_us == 0;
	if (o->dozing)
		(void)pthread_cond_wait(&o->wake, &o->lock);
	else
		(void)pthread_cond_timedwait(&o->wake, &o->lock, &t);
	o->dozing = 0;
}

/* The thread.  What it does in each round:
 *
 *   the database has taken some of the file   notes that in the file, or removes it
 *   no question to the database is open       sleeps until there is one
 *   a question is open for less than 2 s,     sleeps until then: usually the answer comes, and nothing is ever written
 *   and nothing is in the file
 *   else                                      writes what waits, and looks again for more after a quarter of a second
 */
static void *outbox_main(void *arg)
{
	struct outbox *o = arg;

	(void)pthread_mutex_lock(&o->lock);
	while (!o->stop) {
		int64_t now = jobstack_now_us();

		if (o->tidy)
			note_taken(o);
		else if (o->since_us == 0)
			doze_until(o, 0);
		else if (now - o->since_us < PATIENCE_US && o->spooled == 0)
			doze_until(o, o->since_us + PATIENCE_US);
		else {
			save_waiting(o);
			if (!o->tidy && !o->stop)
				doze_until(o, jobstack_now_us() + LOOK_US);
		}
	}
	conclude_file(o);
	o->ended = 1;
	(void)pthread_cond_signal(&o->done);
	(void)pthread_mutex_unlock(&o->lock);
	return NULL;
}

int outbox_begin(struct outbox *o, struct jobstack_error *error)
{
	int failed;

	if (pthread_mutex_init(&o->lock, NULL) != 0 || js_clock_cond_init(&o->wake) != 0 ||
	    js_clock_cond_init(&o->done) != 0)
		return js_error_memory(error);
	failed = pthread_create(&o->thread, NULL, outbox_main, o);
	if (failed != 0)
		return js_error_set(error, JOBSTACK_EBUG, "can't start a thread: %s", js_error_process_words(failed));
	o->begun = 1;
	return 0;
}

void outbox_ask(struct outbox *o, const struct jobstack_outcome *outcomes, size_t n)
{
	(void)pthread_mutex_lock(&o->lock);
	o->asked = outcomes;
	o->asked_n = n;
	o->since_us = jobstack_now_us();
	if (o->dozing) /* else it wakes at the right time anyway */
		(void)pthread_cond_signal(&o->wake);
	(void)pthread_mutex_unlock(&o->lock);
}

/* During a write the numbers that the write has begun with must stay, so what was taken is counted separately until
 * then. */
void outbox_answered(struct outbox *o, size_t n)
{
	(void)pthread_mutex_lock(&o->lock);
	o->asked = NULL;
	o->asked_n = 0;
	o->since_us = 0;
	if (o->busy)
		o->taken += n;
	else
		count_taken(o, n);
	if (o->tidy)
		(void)pthread_cond_signal(&o->wake);
	(void)pthread_mutex_unlock(&o->lock);
}

void outbox_gave_up(struct outbox *o)
{
	(void)pthread_mutex_lock(&o->lock);
	o->asked = NULL;
	o->asked_n = 0;
	o->since_us = 1; /* long ago: so what waits is written at once */
	(void)pthread_cond_signal(&o->wake);
	(void)pthread_mutex_unlock(&o->lock);
}

/* The thread may hang in a file system.  Then it is left behind, and with it all that it uses. */
size_t outbox_end(struct outbox *o)
{
	struct timespec until = js_clock_deadline(jobstack_now_us() + END_US);
	size_t waiting = o->box->results_n;

	if (!o->begun)
		return 0;
	(void)pthread_mutex_lock(&o->lock);
	o->stop = 1;
	(void)pthread_cond_signal(&o->wake);
	while (!o->ended && !o->stuck)
		o->stuck = pthread_cond_timedwait(&o->done, &o->lock, &until) == ETIMEDOUT && !o->ended;
	(void)pthread_mutex_unlock(&o->lock);
	if (!o->stuck)
		(void)pthread_join(o->thread, NULL);
	o->begun = 0;
	return waiting;
}

const char *outbox_path(const struct outbox *o)
{
	return o->stuck || o->file == NULL ? NULL : js_spool_path(o->file);
}

/* Delivers all outcomes of SPOOL; BECAME counts them by result. */
static int deliver_outcomes(struct jobstack *handle, const struct js_spool *spool, enum jobstack_cause cause,
			    const char *reason, size_t became[JOBSTACK_TOO_LATE + 1], struct jobstack_error *error)
{
	const struct js_spool_head *head = &spool->head;
	enum jobstack_replayed *results = calloc(spool->n + 1, sizeof(*results));
	int status = results == NULL ? js_error_memory(error)
				     : jobstack_replay(handle, head->stack, head->worker, head->token, spool->outcomes,
						       spool->n, cause, reason, results, error);

	for (size_t i = 0; status >= 0 && i < spool->n; i++)
		became[results[i]]++;
	free(results);
	return status;
}

/* A worker whose lease was lost may still have been the first to finish an entry: the database takes the outcomes of
 * entries that nobody has recovered yet. */
int outbox_settle(struct outbox *o, struct jobstack *handle, size_t *late, struct jobstack_error *error)
{
	size_t became[JOBSTACK_TOO_LATE + 1] = {0};
	struct js_spool spool = {.head = o->head};
	struct waiting w;
	int status;

	*late = 0;
	if (gather_waiting(o, &w) != 0)
		return js_error_memory(error);
	spool.outcomes = w.outcomes;
	spool.n = w.n;
	status = deliver_outcomes(handle, &spool, JOBSTACK_CAUSE_NONE, NULL, became, error);
	/* a conflict: the database, which was set back, does not know this worker, and only the spool has these
	 * outcomes */
	*late = status == JOBSTACK_ECONFLICT ? w.n : became[JOBSTACK_TOO_LATE];
	if (status >= 0 && o->file != NULL)
		discard_file(o);
	waiting_free(&w);
	return status < 0 ? status : 0;
}

void outbox_free(struct outbox *o)
{
	js_spool_close(o->file, 0);
	o->file = NULL;
}

int outbox_deliver(struct jobstack *handle, const char *path, enum jobstack_cause cause, const char *reason,
		   uint64_t *n, struct jobstack_error *error)
{
	size_t became[JOBSTACK_TOO_LATE + 1] = {0};
	struct js_spool spool;
	int status = js_spool_load(path, &spool, error);

	JS_THEN(status, deliver_outcomes(handle, &spool, cause, reason, became, error));
	*n += became[JOBSTACK_REPLAYED];
	if (status >= 0)
		(void)unlink(path);
	js_spool_free(&spool);
	return status;
}

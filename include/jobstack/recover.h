/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Recovering the entries of workers that are gone, and requests between processes: one asks Slurm for all, one lets a
 * worker kill a command.
 * Programs include jobstack.h.  It explains the words, and the rules for results, structs, threads and ownership.
 */
#ifndef JOBSTACK_RECOVER_H
#define JOBSTACK_RECOVER_H

#include "jobstack/work.h"

JOBSTACK_BEGIN

/* ------------------------------------------------------------------------------------------------------ recovery */

/* A worker as it was seen: its number, and the seq that its row had (struct jobstack_worker_row).  Numbers of different
 * kinds stand in structs, so that no caller can swap them.  This struct never changes. */
struct jobstack_seen {
	uint64_t worker, seq;
};

/* Takes back what the worker that was SEEN in STACK holds, if its seq is still the same.  Each entry without an outcome
 * gets LOST with CAUSE and REASON, and is ready again, or dead after the stack's max_losses. Call it only if the worker
 * is known to be dead.  Returns 1 if the seq is another one, or the worker has ended. *TAKEN (may be NULL) gets the
 * number of entries taken back. */
int jobstack_recover(struct jobstack *handle, const char *stack, struct jobstack_seen seen, enum jobstack_cause cause,
		     const char *reason, uint64_t *taken, struct jobstack_error *error);

/* The same for a caller who has the worker's TOKEN and knows that it is dead: its parent, or the worker itself.  It
 * works at any seq, also while a last step of the worker is still under way.  Returns 1 if the worker has ended, or the
 * number now belongs to another worker. */
int jobstack_recover_own(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
			 enum jobstack_cause cause, const char *reason, uint64_t *taken, struct jobstack_error *error);

/* The same for a worker that has ended and has left a claim all the same, which is damage: no worker does that.  What
 * has an outcome or another place already stays there.  Start with *WORKER 0: it gets the next worker of STACK above
 * it, also if the recovery of that one fails.  Returns 1 if no such worker is above.  With DRY_RUN nothing is changed.
 */
int jobstack_recover_left(struct jobstack *handle, const char *stack, int dry_run, uint64_t *worker, uint64_t *taken,
			  struct jobstack_error *error);

/* Records what is known of the worker that was SEEN but is no proof of its death ("node failed (n3)").
 * jobstack_workers reports it until the worker moves.  At most some 230 bytes are kept.  Returns 1 if the seq
 * is another one, or the worker has ended. */
int jobstack_suspect(struct jobstack *handle, const char *stack, struct jobstack_seen seen, enum jobstack_cause cause,
		     const char *suspicion, struct jobstack_error *error);

/* Lets many programs share a question to somebody else (Slurm): one of them asks it, and all use its answer.  QUESTION
 * is a line of at most 200 bytes that says all that the answer depends on.
 *
 * jobstack_ask returns 0 if the caller is to ask now: nobody did in the last EVERY_US, by the server's clock; TOKEN is
 * for jobstack_answer.  It returns 1 if somebody did *AGE_US ago; if the clock was set back, that moment may lie in the
 * future, by less than EVERY_US (*AGE_US is negative then).  ANSWER (SIZE bytes, or cut) is what was stored last, or
 * "" if there is no answer (yet).  If the reply of the server is lost, the call finds out who is to ask.  With TOKEN
 * NULL it only looks whether the caller could ask now; *AGE_US is INT64_MAX if nobody ever did.
 *
 * jobstack_answer stores the ANSWER, at most 4000 bytes.  jobstack_unanswered says that nobody answered, so that others
 * may ask EARLY_US sooner than otherwise.  Both return 1, and store nothing, if somebody else has asked since (or if
 * the reply to the first try was lost).  jobstack_answer also forgets some of the questions that nobody has asked for
 * two days. */
int jobstack_ask(struct jobstack *handle, const char *question, int64_t every_us, char token[33], char *answer,
		 size_t size, int64_t *age_us, struct jobstack_error *error);
int jobstack_answer(struct jobstack *handle, const char *question, const char *token, const char *answer,
		    struct jobstack_error *error);
int jobstack_unanswered(struct jobstack *handle, const char *question, const char *token, int64_t early_us,
			struct jobstack_error *error);

#define JOBSTACK_KILL_REASON 96 /* size of "killed by NAME", with the NUL */

/* An attempt that a worker holds.  This struct never changes. */
struct jobstack_held {
	uint64_t worker, entry;
	uint32_t attempt;
};

/* Asks the worker of HELD, a jobstack-worker, to kill the command of that attempt.  The worker learns of it
 * with its next heartbeat, or within half a second while its steps follow each other quickly.  It then closes the entry
 * as FAILED and fatal, with the reason "killed by USER" (the handle's os_user).  If the worker dies before, recovery
 * does the same.  It can be repeated.  Returns 1, and nothing is stored, if that worker does not hold the attempt (any
 * more), is a script's pop, or has too many such requests.  Errors: EMISSING (there is no such stack), ENODB. */
int jobstack_kill(struct jobstack *handle, const char *stack, struct jobstack_held held, struct jobstack_error *error);

/* Whether KILLS, of a step's report, asks for the end of this attempt: 1, and REASON is what to close it with; or 0. */
int jobstack_kill_wanted(const char *kills, uint64_t entry, uint32_t attempt, char reason[JOBSTACK_KILL_REASON]);

/* What became of an outcome that was delivered later. */
enum jobstack_replayed {
	JOBSTACK_REPLAYED,	  /* it counts now */
	JOBSTACK_REPLAYED_BEFORE, /* it counted already */
	JOBSTACK_TOO_LATE	  /* its entry was taken back meanwhile: nothing was changed */
};

/* Delivers N outcomes of the worker number WORKER of STACK, which could not deliver them itself, and ends that worker.
 * TOKEN proves that they are its own.  Call it only if the worker and its commands are known to be gone.  What it held
 * beyond these outcomes is lost, for CAUSE and the reason LOST, as by jobstack_recover; if LOST is NULL, it had not
 * started, and is ready again.  If the worker was ended or recovered before, nothing changes.  It can be repeated, also
 * after an error.  RESULTS (may be NULL) gets N values.  Returns 0; 1 if some outcomes came too late;
 * JOBSTACK_ECONFLICT, with nothing changed, if the database does not know that worker, or gave its number to another
 * one (a failover that lost transactions). */
int jobstack_replay(struct jobstack *handle, const char *stack, uint64_t worker, const unsigned char token[16],
		    const struct jobstack_outcome *outcomes, size_t n, enum jobstack_cause cause, const char *lost,
		    enum jobstack_replayed *results, struct jobstack_error *error);

JOBSTACK_END
#endif

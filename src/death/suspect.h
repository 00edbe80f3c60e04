/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The workers of one round, as the database has them, and what was found out about each.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "death/budget.h"
#include "death/death.h"

#define JS_OBSERVER_REASON 256 /* as much of a reason as the database keeps, with the NUL */

#define JS_OBSERVER_SILENT_US                                                                                          \
	2000000 /* a worker with a later heartbeat is not missed, and Slurm is not asked about it                      \
		 */

struct js_suspect {
	char stack[JOBSTACK_STACK_MAX + 1];
	uint64_t worker, seq, running, pid;
	int64_t pid_start, job_start_us, silent_us, lease_us, age_us;
	uint32_t job, step; /* job 0: not in a job; step JS_SLURM_BATCH: in no step */
	int by_script;
	int connected; /* to the server, as far as that can be seen; -1: not known */
	int asked;     /* it is a reason for the question of by_slurm.c */
	unsigned
		unclear; /* Slurm may soon say more: 1: its job or step is just ending; 2: Slurm still lists its step */
	int settled;	 /* it was recovered or reported */
	int ours;	 /* the worker's user is ours */
	int lives;	 /* its process, or one of its commands, runs here: no further proof is sought */
	int gone;	 /* its process was in the process table that we see, and has ended */
	int session;	 /* and no other process has its number: so the processes in its session are its commands */
	uint64_t command; /* a process of one of its commands that still runs here; 0: there is none */
	char name[32];	  /* of that process */
	int sure;	  /* that process may be killed */
	int killable;	  /* in a dry run: otherwise that process would be killed, and the worker recovered */
	int ended;	  /* processes left by its commands were killed */
	int runs_here;	  /* nothing may be recovered on this host now, whatever proves its death */
	char host[256], boot[64], node[256], cluster[128];
	char noted[JS_OBSERVER_REASON]; /* what an earlier round stored */
	enum jobstack_cause noted_cause;
	char reason[JS_OBSERVER_REASON]; /* why it is known to be dead; "": it is not */
	enum jobstack_cause cause;	 /* of the death, or of what the hint says; NONE: no more is known */
	char hint[JS_OBSERVER_REASON];	 /* what else is known */
};

struct js_suspects {
	struct js_suspect *at; /* by ascending number; those of other stacks behind them */
	size_t n, room;
	const char *stack; /* the round's */
	uint64_t self;	   /* left out */
	int others;	   /* those of other stacks are being read */
	int memory;	   /* ran out */
	char user[64];	   /* ours */
	int64_t read_us;   /* when they were read, by the wall clock */
	/* of by_slurm.c */
	char cluster[128];		   /* whose jobs are asked about */
	int compared;			   /* the Slurm that answers has said that this is its name */
	struct js_reservation reservation; /* of the question that this program asks */
	int proves;			   /* the Slurm plugin is there, without which no answer proves a death */
	int unanswered;			   /* Slurm did not answer */
	unsigned times;			   /* how often Slurm was asked in this round */
	int64_t again_us;		   /* not 0: the proof is to be sought again after this time */
};

/* One round, and its caller's. */
struct js_round {
	struct jobstack *handle;
	const char *stack;
	const struct js_observer_options *options;
	struct js_observer_result *result;
	struct jobstack_error *error;
};

/* Reads all workers of the stack that have not ended.  Free them with js_suspects_free. */
int js_suspects_read(const struct js_round *round, struct js_suspects *suspects);

/* Adds those of other stacks that are in jobs of our user.  After an error SUSPECTS is as before. */
int js_suspects_add_others(const struct js_round *round, struct js_suspects *suspects);
void js_suspects_free(struct js_suspects *suspects);

/* Returns whether it has been silent for longer than a live worker would be. */
int js_suspect_is(const struct js_suspect *suspect);

/* Returns whether a proof of its death should be sought: it may be gone, since it is silent and not connected, or a
 * suspect. */
int js_suspect_is_missed(const struct js_suspect *suspect);

/* A proof of death that js_observer_confirm seeks.  It passes over suspects that have a REASON already, or that are
 * known to be alive (LIVES).  For a suspect that is dead it writes REASON; for others it may write HINT. Returns 0 also
 * if it could find out nothing; negative with round->error: the round is over.  With suspects->again_us it is called
 * again after that time, and the dead are recovered before. */
typedef int js_death_proof_fn(const struct js_round *round, struct js_suspects *suspects);

js_death_proof_fn js_death_by_process; /* what /proc says; also kills what commands of the dead have left */
js_death_proof_fn js_death_by_slurm;   /* what Slurm says */

/* Returns whether a command of the silent SUSPECT still runs in the process table that we see.  If it does, RUNS_HERE
 * and HINT say so.  Returns 0 also if that can't be seen, and 1 also if js_death_by_process can say more: the worker's
 * process is gone, and this user may end its commands.  Reads the process table once, and waits for nothing. */
int js_observer_runs_here(struct js_suspect *suspect);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of `jobstack submit` share.
 *
 *     submit.c  what was asked for; sizing; handing over
 *     local.c   a database that nodes can't reach
 *     script.c  the words for sbatch and the scripts
 *     next.c    what comes after: another round, or the end and its mail
 */
#pragma once

#include "cli/sbatch.h"
#include "insight/stack.h"

#define SUBMIT_JOBS_MAX 100			    /* calls of sbatch in one go */
#define SUBMIT_JOBS_TEXT (SUBMIT_JOBS_MAX * 11 + 1) /* their numbers, of up to ten digits each */

/* What a round knows of those before it: what --chain carries. */
struct submit_chain {
	uint64_t round;		     /* 0: a person's call */
	uint64_t done, dead;	     /* as the last round saw them */
	uint64_t idle;		     /* rounds in a row that changed nothing */
	uint64_t later;		     /* looks in a row that had to wait for something else */
	char jobs[SUBMIT_JOBS_TEXT]; /* of the last round, separated by colons */
};

struct submit {
	struct cli cli;
	struct insight_stack stack;
	struct cli_words mine;	  /* our options, as they were typed */
	struct cli_words given;	  /* sbatch's options that stood among ours */
	struct cli_words passed;  /* all for sbatch: those, and what --sbatch says */
	struct cli_words worker;  /* options of jobstack-worker */
	struct cli_words again;	  /* our own options, for the next round */
	struct cli_words command; /* CMD */
	struct submit_chain chain;
	const char *notify, *name_arg;
	uint64_t workers, slots, cpus; /* asked for; 0: not said */
	int until_done, dry_run, parsable, slots_said;
	const char *follow; /* sbatch's options for what comes after, or NULL */
	const char *chdir, *log_dir;
	char cwd[CLI_PATH], logs[CLI_PATH + JOBSTACK_STACK_MAX + 8], option_file[CLI_PATH];
	char stamp[64];			 /* tells this call's files apart */
	uint64_t tasks;			 /* workers in one job, by sbatch's options */
	uint64_t starts;		 /* workers that are started */
	uint64_t elements;		 /* jobs or array elements that takes */
	uint64_t most;			 /* elements of one array; 1: no arrays here */
	int64_t kill_wait_s;		 /* between Slurm's TERM and its KILL */
	char answered[SUBMIT_JOBS_TEXT]; /* the jobs that sbatch made, separated by colons */
	uint64_t next;			 /* the job that comes after; 0: none */
	char script[CLI_PATH + JOBSTACK_STACK_MAX + 300], next_script[CLI_PATH + JOBSTACK_STACK_MAX + 300];
};

/* Warns if only this host can reach the database that we are connected to, and nodes are elsewhere. */
void submit_doubt_database(struct submit *s);

/* The number of the first job and of all, in words for sbatch: the options of an array of N elements. */
void submit_array_words(const struct submit *s, uint64_t n, struct cli_words *words);

/* The script of the workers. */
void submit_worker_script(const struct submit *s, const struct cli_words *sbatch, struct js_buf *script);

/* The words and the script of the job that comes after those in s->answered, with what it is to know. */
void submit_next_words(const struct submit *s, const char *after, struct cli_words *words);
void submit_next_script(const struct submit *s, const struct submit_chain *chain, const struct cli_words *sbatch,
			struct js_buf *script);

/* Reads --chain's value; -1: it makes no sense. */
int submit_chain_parse(struct submit_chain *chain, const char *text);

/* What a round after the first makes of the stack: 1 to go on with a new round, 0 to look again later, -1 at the end,
 * with *STATUS: then all has been said and mailed. */
int submit_judge(struct submit *s, int *status);

/* Connects, in a later round; the database may be away for a while.  0; 1 to look again later; -1 with *STATUS. */
int submit_reach(struct submit *s, int *status);

/* Submits the job that comes after.  BEGIN (may be NULL) is when it may start at the earliest, as sbatch says it; AFTER
 * the jobs it waits for, or "".  0, or the exit status. */
int submit_next(struct submit *s, const char *after, const char *begin);

/* cli_sbatch; in a round after the first nobody is there to try again, so it does, for a minute. */
int submit_sbatch(struct submit *s, const struct cli_words *call, uint64_t *job);

/* The chain ends since sbatch did not take what was to come: mails that. */
void submit_broke(struct submit *s);

/* Mails TEXT as the end of the chain. */
void submit_mail(struct submit *s, const char *text);

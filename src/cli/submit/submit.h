/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of `jobstack submit` share.
 *
 *     submit.c    the options; what the first round checks; sizing
 *     script.c    the scripts, and how sbatch gets them
 *     followup.c  later rounds: whether the chain goes on, and the mail at its end
 */
#pragma once

#include "base/clock.h"
#include "cli/cli.h"
#include "frame/command.h"
#include "frame/sbatch.h"
#include "figures/stack.h"

#include <stdint.h>

#define SUBMIT_SLURM_LIMIT_US (30 * JS_SECOND_US)
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
	struct cli *cli;
	struct figures_stack stack;
	struct cli_words passed;  /* options of sbatch: those that stood among ours, and what --sbatch says */
	struct cli_words worker;  /* options of jobstack-worker */
	struct cli_words command; /* CMD: cli->words */
	struct submit_chain chain;
	const char *notify;
	uint64_t workers, slots, cpus; /* asked for; 0: not said */
	int until_done, force, commands, waits, repeat, watch, dry_run, parsable, slots_said;
	const char *follow; /* sbatch's options for what comes after, or NULL */
	const char *chdir, *log_dir;
	char cwd[CLI_PATH], logs[CLI_PATH + JOBSTACK_STACK_MAX + 8], option_file[CLI_PATH];
	char stamp[64];	     /* tells this call's files apart */
	uint64_t tasks;	     /* workers in one job, by sbatch's options */
	uint64_t starts;     /* workers that are started */
	uint64_t elements;   /* jobs or array elements that takes */
	uint64_t most;	     /* elements of one array; 1: no arrays here */
	int64_t kill_wait_s; /* between Slurm's TERM and its KILL */
	int overlap;	     /* the workers' steps leave the CPUs to the steps of commands (js_slurm_share) */
	char cluster[64];    /* its name, or "" */
	char answered[SUBMIT_JOBS_TEXT]; /* the jobs that sbatch made, separated by colons */
	uint64_t followup;		 /* the job that comes after; 0: none */
	char script[CLI_PATH + JOBSTACK_STACK_MAX + 300], followup_script[CLI_PATH + JOBSTACK_STACK_MAX + 300];
};

/* Submits an array of N elements (1: a job) of workers, and adds its number to s->answered.  0, or the exit status. */
int submit_array(struct submit *s, uint64_t n);

/* Submits the job that comes after.  AFTER are the jobs that it waits for, or "".  BEGIN is the earliest time at which
 * it may start, in sbatch's words; or NULL: it follows a round that has just been submitted.  0, or the exit status. */
int submit_followup(struct submit *s, const char *after, const char *begin);

/* Submits a job that does nothing, at the end of which Slurm mails its name, SUBJECT.  0, or the exit status. */
int submit_mail_job(struct submit *s, const char *subject);

/* The partition that was asked for, or NULL. */
const char *submit_partition(const struct submit *s);

/* A round after the first: connects, and looks at the stack.  CLI_GO_ON: the next jobs must be submitted.  Else the
 * exit status: another look was scheduled, or the chain has ended, which was told and mailed. */
int submit_later_round(struct submit *s);

/* The chain ends because sbatch rejected a job: tells and mails that. */
void submit_broke(struct submit *s);

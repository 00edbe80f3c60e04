/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What Slurm says of a job.  libslurm's ABI changes with every release, so the one file that uses it (module.c) is
 * a module opened at run time, behind the small table of functions below.  And libslurm waits for a minute, or
 * ends the process, where it finds no configuration: so each question is asked in a child process with a time
 * limit, and whatever libslurm does there, this process gets an answer or an error.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* One job as Slurm has it.  Times are microseconds since 1970, or -1: not known (yet). */
struct js_slurm_job {
	/* 0: Slurm does not know the job, or not any more; nothing else is filled then. */
	int32_t found;
	/* It ended for good, and no part of it is still being ended.  NODE_FAIL is not terminal: on a node that was cut
	 * off the tasks run on. */
	int32_t terminal;
	int32_t exit_code, signal; /* of the job, -1 and 0 before its end */
	int32_t restarts;	   /* how often it was requeued: the same number, another job */
	uint32_t array_job;	   /* of an array's element, else 0 */
	int64_t start_us, end_us;  /* the end of a running job is its time limit */
	char state[64];		   /* "RUNNING", "NODE_FAIL"; "CANCELLED+COMPLETING" while it is being ended */
	char nodes[4096];	   /* "n[1-4,7]", cut at this length; "" if it has none */
	char batch_host[256];	   /* the node of its batch script; "" if it has none */
};

/* A step, to ask about: of whom JOB, STEP and NODE are filled in before, and the rest is the answer. */
struct js_slurm_step {
	uint32_t job, step; /* JS_SLURM_BATCH: the batch script */
	char node[256];	    /* Slurm's name of the node where it ran; "": the node is not asked */
	int32_t look;	    /* 1: DOWN is wanted also of a step that the controller has */
	int32_t listed;	    /* the controller has it: 1 yes, 0 no, -1 not known */
	int32_t at_node;    /* asked if it is not listed: the node's slurmd answers, and has it: 1; answers, and does
			     * not: 0; does not answer, or says something else: -1 */
	int32_t down;	    /* the controller says that the node is down or does not respond: 1; then it is not asked */
};
#define JS_SLURM_BATCH 0xfffffffbu

/* A job that belongs to a stack, by its name or comment.  Of an array: a task that runs, or all that have not begun. */
struct js_slurm_queued {
	uint32_t job, array_job; /* array_job: 0 if it is of no array */
	int32_t pending, ended;
	int64_t start_us;	     /* since 1970; of a job that waits: the scheduler's guess, or -1 */
	char tasks[128];	     /* of an array: which of it, "5" or "7-20%4", cut at this length; else "" */
	char state[64], reason[128]; /* "PENDING"; "Priority", or a number that this Slurm has no word for */
	char partition[128];
};

/* Returns whether a job with this NAME and COMMENT (may be NULL) belongs to STACK: "jobstack-STACK", "jobstack:STACK".
 */
static inline int js_slurm_is_of_stack(const char *name, const char *comment, const char *stack)
{
	return (name != NULL && strncmp(name, "jobstack-", 9) == 0 && strcmp(name + 9, stack) == 0) ||
	       (comment != NULL && strncmp(comment, "jobstack:", 9) == 0 && strcmp(comment + 9, stack) == 0);
}

/* How the cluster is set up. */
struct js_slurm_conf {
	int64_t kill_wait_us; /* between TERM and KILL */
	char cluster[128];
	/* query.c's: Slurm's own commands were asked, since there is no module that can be used (why: NO_MODULE; "" if
	 * they were chosen) */
	int32_t by_commands;
	char no_module[400];
};

/* The module's table, its one exported symbol.  Each asks libslurm, and returns 0, or -1 with ERROR filled; 0 as well
 * for a job that is not known.  A table of another ABI number is not used. */
#define JS_SLURM_ABI 6u
#define JS_SLURM_SYMBOL "jobstack_slurm_ops"
struct js_slurm_ops {
	unsigned abi;
	unsigned job_size, step_size, conf_size, queued_size; /* sizeof the structs above */
	uint32_t slurm_version; /* SLURM_VERSION_NUMBER of what it was built with: 0x180b05 is 24.11.5 */
	/* one job; NULL of the commands, which are asked for several in one question */
	int (*job)(uint32_t job_id, struct js_slurm_job *out, char *error, size_t error_size);
	/* those of N jobs that are the user's, in one question; UID is JS_SLURM_ANYBODY for the commands alone */
	int (*user_jobs)(uint32_t uid, const uint32_t *job_ids, size_t n, struct js_slurm_job *out, char *error,
			 size_t error_size);
	/* what the controller says: LISTED and DOWN, in one question and one a node */
	int (*steps)(struct js_slurm_step *steps, size_t n, char *error, size_t error_size);
	/* what the node says: AT_NODE */
	int (*at_node)(struct js_slurm_step *step, char *error, size_t error_size);
	int (*conf)(struct js_slurm_conf *out, char *error, size_t error_size);
	/* the user's jobs called "jobstack-STACK", or with the comment "jobstack:STACK": calls TELL for each */
	int (*queued)(uint32_t uid, const char *stack, void (*tell)(void *ctx, const struct js_slurm_queued *job),
		      void *ctx, char *error, size_t error_size);
};

/* The same table for Slurm's own commands (commands.c), which are used if there is no module.  Called in the child
 * before: changes its environment; one answer may take ANSWER_US; *GROUP is the process group of the command that is
 * running, or 0. */
extern const struct js_slurm_ops js_slurm_commands;
void js_slurm_commands_begin(int64_t answer_us, pid_t *group);

/* $JOBSTACK_SLURM chooses: "module" or "commands" (else: the module, or if that can't be used the commands).
 *
 * Where the module is looked for, how long an answer may take, and which cluster may give it. */
struct js_slurm_where {
	const char *module_dir; /* only here, if not NULL or "" ($JOBSTACK_MODULE_DIR) */
	int64_t limit_us;	/* for one answer; 0: 15 seconds */
	const char *cluster;	/* job numbers are this cluster's.  If $SLURM_CONF leads to another one, there is no
				 * answer, but JOBSTACK_ECONFLICT.  NULL or "": whichever cluster it is */
};

/* Finds the module's file: in where->module_dir; else in lib, lib64 or lib/TRIPLET/jobstack beside the directory
 * of this program, in that directory itself (a build tree), and where it was to be installed.  WHERE may be NULL.
 * Puts the path into FOUND.  Returns 0, or JOBSTACK_EMISSING with the places in words. */
int js_slurm_find(const struct js_slurm_where *where, struct js_buf *found, struct jobstack_error *error);

/* Returns whether the module would be asked, which alone can ask nodes; by its file, so it may still turn out not to
 * fit. */
int js_slurm_has_module(const struct js_slurm_where *where);

/* Asks for one job.  Returns 0 with *OUT filled; 1 if Slurm does not know it (never did, or it is too long ago);
 * or a negative code: JOBSTACK_EMISSING no module and no squeue, JOBSTACK_ECONFLICT a module that does not fit and no
 * squeue, JOBSTACK_EFILE no answer (no configuration, controller down, time limit).  No answer means that nothing is
 * known.  Takes some 20 ms, up to the limit.
 *
 * It forks, and collects its child by its pid: not to be called where another thread collects whatever child ends. */
int js_slurm_job(const struct js_slurm_where *where, uint32_t job_id, struct js_slurm_job *out,
		 struct jobstack_error *error);

/* The same for N jobs, with one child for all; OUT[i].found tells which are known.  UID: they are all this user's, so
 * that one question does; JS_SLURM_ANYBODY: one question each.  Returns 0 if all were asked for; or a negative code as
 * above, with what had not been answered marked as not found. */
#define JS_SLURM_ANYBODY 0xffffffffu
int js_slurm_jobs(const struct js_slurm_where *where, uint32_t uid, const uint32_t *job_ids, size_t n,
		  struct js_slurm_job *out, struct jobstack_error *error);

/* Asks the controller, and then the nodes, about N steps.  Returns 0, or a negative code as above; what was not
 * answered is -1. All nodes together may take twice the limit: what they have not said by then is -1, and no error. */
int js_slurm_steps(const struct js_slurm_where *where, struct js_slurm_step *steps, size_t n,
		   struct jobstack_error *error);

/* Finds the jobs of user UID that are of STACK.  OUT[0] is the newest of those that have ended (its number is 0 if
 * Slurm has none).  The first MAX - 1 of the others follow; *N is how many others there are.  (So many parameters: whom
 * to ask, what for, and a list with its size.) */
int js_slurm_queued(const struct js_slurm_where *where, uint32_t uid, const char *stack, struct js_slurm_queued *out,
		    size_t max, size_t *n, struct jobstack_error *error);

/* In words: "its Slurm job 120_[7-20] in the partition long is PENDING: Priority". */
void js_slurm_queued_words(const struct js_slurm_queued *job, char *words, size_t size);

/* Returns whether Slurm is set up on this host, as far as a look at the usual places for its configuration can tell.
 * Where it is not, libslurm waits for long. */
int js_slurm_is_here(void);

/* Asks how the cluster is set up. */
int js_slurm_conf(const struct js_slurm_where *where, struct js_slurm_conf *out, struct jobstack_error *error);

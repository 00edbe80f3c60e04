/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What Slurm says of a job.  libslurm's ABI changes with every release, so the one file that uses it (module.c) is
 * a module opened at run time, behind the small table of functions below.  And libslurm waits for a minute, or
 * ends the process, where it finds no configuration: so each question is asked in a child process with a time
 * limit, and whatever libslurm does there, this process gets an answer or an error.
 */
#ifndef JS_SLURM_QUERY_H
#define JS_SLURM_QUERY_H

#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stddef.h>
#include <stdint.h>

/* One job as Slurm has it.  Times are microseconds since 1970, -1 where there is none (yet). */
struct js_slurm_job {
	/* 0: Slurm does not know the job, or not any more; nothing else is filled then. */
	int32_t found;
	/* It ended for good, and no part of it is still being ended.  NODE_FAIL is not terminal: on a node that was cut
	 * off the tasks run on. */
	int32_t terminal;
	int32_t exit_code, signal; /* of the job, -1 and 0 before its end */
	int32_t restarts;	   /* how often it was requeued: the same number, another job */
	uint32_t array_job;	   /* of an array's element, else 0 */
	int64_t submit_us, start_us, end_us; /* the end of a running job is its time limit */
	char state[64];	  /* "RUNNING", "NODE_FAIL"; "CANCELLED+COMPLETING" while it is being ended */
	char nodes[4096]; /* "n[1-4,7]", cut at this length; "" if it has none */
};

/* The module's table, its one exported symbol.  JOB is called with the errors' text going to ERROR; it returns 0
 * (also for a job that is not known) or -1.  A table of another ABI number is not used. */
#define JS_SLURM_ABI 1u
#define JS_SLURM_SYMBOL "jobstack_slurm_ops"
struct js_slurm_ops {
	unsigned abi;
	unsigned job_size;   /* sizeof(struct js_slurm_job) */
	uint32_t slurm_version; /* SLURM_VERSION_NUMBER of what it was built with: 0x180b05 is 24.11.5 */
	int (*job)(uint32_t job_id, struct js_slurm_job *out, char *error, size_t error_size);
};

/* Where the module is looked for, and how long an answer may take. */
struct js_slurm_where {
	const char *module_dir; /* only here, if not NULL or "" ($JOBSTACK_MODULE_DIR) */
	int64_t limit_us;	/* for one job; 0: 15 seconds */
};

/* Finds the module's file: in where->module_dir; else in lib, lib64 or lib/TRIPLET/jobstack beside the directory
 * of this program, in that directory itself (a build tree), and where it was to be installed.  WHERE may be NULL.
 * Puts the path into FOUND.  Returns 0, or JOBSTACK_EMISSING with the places in words. */
int js_slurm_find(const struct js_slurm_where *where, struct js_buf *found, struct jobstack_error *error);

/* Asks for one job.  Returns 0 with *OUT filled; 1 if Slurm does not know it (never did, or it is too long ago);
 * or a negative code: JOBSTACK_EMISSING no module, JOBSTACK_ECONFLICT a module that does not fit, JOBSTACK_EFILE
 * no answer (no configuration, controller down, time limit).  No answer means that nothing is known.  Takes some
 * 20 ms, up to the limit.
 *
 * It forks, and collects its child by its pid: not to be called where another thread collects whatever child ends. */
int js_slurm_job(const struct js_slurm_where *where, uint32_t job_id, struct js_slurm_job *out,
		 struct jobstack_error *error);

/* The same for N jobs, with one child for all; OUT[i].found tells which are known.  Returns 0 if all were asked
 * for; or a negative code as above, with what had not been answered marked as not found. */
int js_slurm_jobs(const struct js_slurm_where *where, const uint32_t *job_ids, size_t n, struct js_slurm_job *out,
		  struct jobstack_error *error);

#endif

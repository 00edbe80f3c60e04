/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The environment of a command: what was inherited, with this entry's JOBSTACK_STACK, JOBSTACK_ENTRY, JOBSTACK_ATTEMPT,
 * JOBSTACK_DATAPATH, JOBSTACK_SLOT and JOBSTACK_WORKER in place of inherited variables of these names.  A persistent
 * command (values without a datapath) has no entry's variables, but JOBSTACK_PERSISTENT, which says what protocol it is
 * to speak.
 *
 * JOBSTACK_PROCESS is for src/death, which looks for what commands have left: "PID START CGROUP" of this process, as
 * js_proc_start and js_proc_cgroup give them.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "exec/template.h"

struct js_env;

/* In a Slurm job this variable is the worker's.  A command that took its file by it would take the same for each entry.
 * So it sees a text instead that neither a shell, nor sed, nor a program takes for a number. */
#define JS_ENV_ARRAY_TASK "SLURM_ARRAY_TASK_ID"

/* Makes an environment over BASE (environ, as a rule), whose strings are pointed to, not copied: they must stay as they
 * are.  Free with js_env_free.  Returns 0, or JOBSTACK_EBUG: no memory. */
int js_env_new(struct js_env **made, char *const base[], struct jobstack_error *error);
void js_env_free(struct js_env *env);

/* Makes that variable the entry's datapath from now on (--as-array). */
void js_env_as_array(struct js_env *env);

/* Puts DIR in front of PYTHONPATH.  Once per environment.  0, or -1: no memory. */
int js_env_python(struct js_env *env, const char *dir);

/* Returns the environment for these values: NULL-terminated, belongs to ENV, valid until the next call.  Allocates only
 * while its buffer still grows.  NULL: no memory. */
char *const *js_env_for(struct js_env *env, const struct js_template_values *values);

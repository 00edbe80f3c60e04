/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The environment of a command.  Promise: each of our variables is there once, and nothing else of it is changed.
 */
#include "exec/env.h"

#include "base/error.h"
#include "proc/proc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OURS 9	   /* our variables; no command gets all of them */
#define PROTOCOL 1 /* of persistent commands: docs/LANGUAGES.md */

/* The environment of a slot's commands.  LIST has three parts:
 *
 *   inherited variables (KEPT)   those of the entry, which point into TEXT   JOBSTACK_PROCESS   NULL
 */
struct js_env {
	char **list;	      /* the inherited variables, then ours, then NULL */
	size_t kept;	      /* how many of the inherited variables are in it */
	struct js_buf text;   /* ours, NUL-separated */
	char process[80];     /* the last of our variables */
	struct js_buf python; /* PYTHONPATH, if it is ours */
	int in_job, as_array; /* the task's number is hidden; it is the datapath (JS_ENV_ARRAY_TASK) */
};

/* Returns whether an inherited variable has the name of one of ours. */
static int is_reserved_variable(const char *variable)
{
	static const char *const names[OURS] = {
		"JOBSTACK_STACK=",  "JOBSTACK_ENTRY=",	    "JOBSTACK_ATTEMPT=", "JOBSTACK_DATAPATH=", "JOBSTACK_SLOT=",
		"JOBSTACK_WORKER=", "JOBSTACK_PERSISTENT=", "JOBSTACK_PROCESS=", JS_ENV_ARRAY_TASK "="};

	for (int i = 0; i < OURS; i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

/* JOBSTACK_PROCESS is the same for all entries of this worker, so it is written once. */
int js_env_new(struct js_env **made, char *const base[], struct jobstack_error *error)
{
	size_t n = 0;

	while (base != NULL && base[n] != NULL)
		n++;
	*made = calloc(1, sizeof(**made));
	if (*made == NULL)
		return js_error_memory(error);
	(*made)->list = calloc(n + OURS + 2, sizeof(char *));
	if ((*made)->list == NULL) {
		free(*made);
		*made = NULL;
		return js_error_memory(error);
	}
	(void)snprintf((*made)->process, sizeof((*made)->process), "JOBSTACK_PROCESS=%ld %" PRId64 " %" PRIx64,
		       (long)getpid(), js_proc_start(getpid()), js_proc_cgroup(getpid()));
	for (size_t i = 0; i < n; i++)
		(*made)->in_job |= strncmp(base[i], "SLURM_JOB_ID=", strlen("SLURM_JOB_ID=")) == 0 ||
				   strncmp(base[i], JS_ENV_ARRAY_TASK "=", sizeof(JS_ENV_ARRAY_TASK)) == 0;
	for (size_t i = 0; i < n; i++)
		if (!is_reserved_variable(base[i]))
			(*made)->list[(*made)->kept++] = base[i];
	return 0;
}

void js_env_free(struct js_env *env)
{
	if (env == NULL)
		return;
	js_buf_free(&env->text);
	js_buf_free(&env->python);
	free(env->list);
	free(env);
}

void js_env_as_array(struct js_env *env)
{
	env->as_array = 1;
}

/* PYTHONPATH stays at its place in the list if there is one, or goes behind the inherited variables. */
int js_env_python(struct js_env *env, const char *dir)
{
	static const char name[] = "PYTHONPATH=";
	size_t i = 0;

	while (i < env->kept && strncmp(env->list[i], name, sizeof(name) - 1) != 0)
		i++;
	js_buf_reset(&env->python);
	js_buf_printf(&env->python, "%s%s", name, dir);
	/* an empty element would mean the working directory */
	if (i < env->kept && env->list[i][sizeof(name) - 1] != '\0')
		js_buf_printf(&env->python, ":%s", env->list[i] + sizeof(name) - 1);
	if (env->python.failed)
		return -1;
	env->list[i] = env->python.data;
	env->kept += i == env->kept;
	return 0;
}

/* Our variables lie one behind the other in one buffer, and the list points into it.  So the list is filled after the
 * buffer has grown for the last time, and nothing is allocated per entry once it is large enough. */
char *const *js_env_for(struct js_env *env, const struct js_template_values *values)
{
	struct js_buf *text = &env->text;
	char *variable, *end;
	size_t n = env->kept;

	js_buf_reset(text);
	js_buf_printf(text, "JOBSTACK_STACK=%s%c", values->stack, 0);
	if (values->datapath != NULL)
		js_buf_printf(text, "JOBSTACK_ENTRY=%" PRIu64 "%cJOBSTACK_ATTEMPT=%" PRIu32 "%c", values->entry, 0,
			      values->attempt, 0);
	js_buf_printf(text, "JOBSTACK_SLOT=%" PRIu32 "%cJOBSTACK_WORKER=%" PRIu64 "%c", values->slot, 0, values->worker,
		      0);
	if (env->as_array && values->datapath != NULL) {
		js_buf_str(text, JS_ENV_ARRAY_TASK "=");
		js_buf_add(text, values->datapath, values->datapath_len);
		js_buf_char(text, '\0');
	} else if (env->in_job)
		js_buf_printf(text, JS_ENV_ARRAY_TASK "=jobstack runs this: use {} or --as-array%c", 0);
	if (values->datapath != NULL) {
		js_buf_str(text, "JOBSTACK_DATAPATH=");
		js_buf_add(text, values->datapath, values->datapath_len);
	} else
		js_buf_printf(text, "JOBSTACK_PERSISTENT=%d", PROTOCOL);
	js_buf_char(text, '\0');
	if (text->failed)
		return NULL;
	end = text->data + text->len;
	for (variable = text->data; variable < end; variable += strlen(variable) + 1)
		env->list[n++] = variable;
	env->list[n++] = env->process;
	env->list[n] = NULL;
	return env->list;
}

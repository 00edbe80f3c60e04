/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who this process is.  Promise: what is not known is left out, never guessed.
 */
#define _GNU_SOURCE
#include "slurm/identity.h"

#include "base/file.h"
#include "process/proc.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLURM_INTERACTIVE 0xfffffffaull /* the step of salloc's shell on a node */

/* In which step this process is, by the slurmstepd above it.  The environment may name one of another job: what sbatch
 * was called from hands its SLURM_STEP_ID on to the batch script.  Returns 0 if none is above. */
static int find_step(int64_t job, char step[32])
{
	static const char title[] = "slurmstepd: [";
	unsigned long long of_job, number;
	char path[64], *end;
	struct js_buf text = {0};
	pid_t pid = getppid();
	struct js_proc proc;
	int found = 0;

	step[0] = '\0';
	for (int up = 0; up < 64 && pid > 1 && !found; up++) {
		js_buf_reset(&text);
		(void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
		if (js_file_read(path, &text) != 0)
			break;
		found = strncmp(text.data, title, sizeof(title) - 1) == 0;
		if (!found)
			pid = js_proc_read(pid, &proc) == 0 ? proc.parent : -1;
	}
	if (found) {
		of_job = strtoull(text.data + sizeof(title) - 1, &end, 10);
		if (*end == '.' && of_job == (unsigned long long)job) {
			number = strtoull(end + 1, &end, 10);
			if (strncmp(end, "interactive", 11) == 0)
				number = SLURM_INTERACTIVE;
			if (strncmp(end, "batch", 5) != 0 && strncmp(end, "extern", 6) != 0)
				(void)snprintf(step, 32, "%llu", number);
		}
	}
	js_buf_free(&text);
	return found;
}

static const char *get_variable(const char *name)
{
	return getenv(name);
}

void js_slurm_identify(struct js_slurm_identity *id, struct jobstack_worker_options *o)
{
	const struct passwd *me = getpwuid(geteuid());

	memset(id, 0, sizeof(*id));
	js_slurm_env_read(&id->env, get_variable);
	if (gethostname(id->host, sizeof(id->host) - 1) == 0)
		o->host = id->host;
	js_proc_space(id->boot);
	o->boot = id->boot[0] == '\0' ? NULL : id->boot;
	if (me != NULL) {
		(void)snprintf(id->user, sizeof(id->user), "%s", me->pw_name);
		o->user = id->user;
	}
	o->cwd = getcwd(id->cwd, sizeof(id->cwd));
	o->pid = (int64_t)getpid();
	o->pid_start = js_proc_start(getpid());
	o->node = id->env.node[0] == '\0' ? NULL : id->env.node;
	o->job_start_us = id->env.start_us;
	o->cluster = id->env.cluster;
	o->job = id->env.job;
	o->array_job = id->env.array_job;
	o->array_task = id->env.array_task;
	o->step = id->env.step;
	if (id->env.in_slurm && find_step(id->env.job_id, id->step))
		o->step = id->step[0] != '\0' ? id->step : NULL;
	o->account = id->env.account;
	o->qos = id->env.qos;
	o->partition = id->env.partition;
}

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who this process is.  Promise: what is not known is left out, never guessed.
 */
#define _GNU_SOURCE
#include "slurm/identity.h"

#include "base/file.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *get(const char *name)
{
	return getenv(name);
}

void js_slurm_identify(struct js_slurm_identity *id, struct jobstack_worker_options *o)
{
	const struct passwd *me = getpwuid(geteuid());

	memset(id, 0, sizeof(*id));
	js_slurm_env_read(&id->env, get);
	if (gethostname(id->host, sizeof(id->host) - 1) == 0)
		o->host = id->host;
	js_file_boot_id(id->boot);
	o->boot = id->boot[0] == '\0' ? NULL : id->boot;
	if (me != NULL) {
		(void)snprintf(id->user, sizeof(id->user), "%s", me->pw_name);
		o->user = id->user;
	}
	o->cwd = getcwd(id->cwd, sizeof(id->cwd));
	o->pid = (int64_t)getpid();
	o->pid_start = js_file_pid_start(getpid());
	o->node = id->env.node[0] == '\0' ? NULL : id->env.node;
	o->job_start_us = id->env.start_us;
	o->cluster = id->env.cluster;
	o->job = id->env.job;
	o->array_job = id->env.array_job;
	o->array_task = id->env.array_task;
	o->step = id->env.step;
	o->account = id->env.account;
	o->qos = id->env.qos;
	o->partition = id->env.partition;
}

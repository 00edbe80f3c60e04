/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack submit: is the database somewhere that compute nodes can't reach?  Promise: it warns and never refuses,
 * since a tunnel may end at each node; where all nodes are this host, it says nothing.
 */
#include "cli/submit/submit.h"

#include "base/clock.h"
#include "cli/host.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLURM_LIMIT_US (30 * JS_SECOND_US)

/* Is NODE, by the address that Slurm has of it, this host? */
static int node_is_here(const char *node)
{
	char address[INET6_ADDRSTRLEN], name[256] = "";
	int loopback;

	(void)gethostname(name, sizeof(name) - 1);
	return strcmp(node, name) == 0 || (cli_host_resolve(node, address, &loopback) == 0 && loopback);
}

/* Are all nodes this host, as a small lab has it? */
static int nodes_are_here(void)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *names = cli_slurm_answer("sinfo -h -N -o %o", SLURM_LIMIT_US, &error), *rest = names, *node;
	int here = names != NULL;

	while (here && (node = strsep(&rest, " \n")) != NULL)
		here = *node == '\0' || node_is_here(node);
	free(names);
	return here;
}

void submit_doubt_database(struct submit *s)
{
	char where[600], host[CLI_HOST], address[INET6_ADDRSTRLEN];
	int loopback = 1;

	jobstack_describe(s->cli.handle, where, sizeof(where));
	cli_host_of(where, host);
	if ((host[0] != '\0' && (cli_host_resolve(host, address, &loopback) != 0 || !loopback)) || nodes_are_here())
		return;
	where[strcspn(where, ",")] = '\0';
	cli_tell(&s->cli,
		 "warning: only this host can reach the database at %s, so workers on compute nodes will not start: "
		 "run the server in a job (`jobstack server submit`), let other hosts connect (`jobstack server start "
		 "--bind HOST`), or set a host name that the nodes can reach (host= in %s)",
		 where, s->option_file[0] != '\0' ? s->option_file : "~/.my.cnf");
}

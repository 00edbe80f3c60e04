/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What is known of the server, by its record and its own answer.
 */
#include "server/server.h"

#include "base/clock.h"
#include "base/error.h"

#include <string.h>

#define GREET_US (2 * JS_SECOND_US)

/* A process that is alive may not take connections yet, or any more, so it is asked for its greeting. */
int server_look(struct server *s)
{
	char version[JS_NET_VERSION] = "";

	JS_TRY(js_owner_read(&s->layout, &s->owner, &s->state, &s->cli.error));
	/* a loopback address of another host would lead to a server of this one */
	if ((s->state == JS_OWNER_ALIVE || (s->state == JS_OWNER_ELSEWHERE && !js_net_loopback(s->owner.bind))) &&
	    js_net_greet(s->owner.bind, s->owner.port, GREET_US, version) == 0)
		s->state = JS_OWNER_ANSWERS;
	if (version[0] != '\0')
		memcpy(s->owner.version, version, sizeof(s->owner.version));
	return 0;
}

int server_elsewhere(struct server *s)
{
	return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT,
			    "%s belongs to the server on the host %s (pid %ld%s%s), and may still run there: type this "
			    "on that host",
			    s->layout.dir, s->owner.host, (long)s->owner.pid,
			    s->owner.job[0] != '\0' ? ", Slurm job " : "", s->owner.job);
}

int server_uptime(const struct server *s, int64_t *us)
{
	char host[256];

	js_owner_host(host);
	*us = -1;
	if ((s->state != JS_OWNER_ANSWERS && s->state != JS_OWNER_ALIVE) || strcmp(host, s->owner.host) != 0)
		return 0;
	*us = js_clock_wall_us() - s->owner.began_us;
	return 1;
}

int server_try_login(struct server *s, const char *file)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack *handle = NULL;
	int status;

	options.defaults_file = file;
	status = jobstack_open(&handle, &options, &s->cli.error);
	jobstack_free(handle);
	return status;
}

/* Prints that the data are an older MariaDB's, and how to upgrade them with the options of this call.  A job's address
 * is its node's, and the upgrade runs elsewhere. */
static int fail_old_data(struct server *s)
{
	struct cli *cli = &s->cli;
	struct cli_words line = {0};
	struct js_buf text = {0};

	(void)cli_words_split(&line, "jobstack server upgrade");
	for (int i = 1; i < cli->argc; i++)
		if (cli->argv[i] != cli->words[0] && strncmp(cli->argv[i], "--again=", 8) != 0 &&
		    (s->successor.n == 0 || strncmp(cli->argv[i], "--bind=", 7) != 0))
			cli_words_add(&line, cli->argv[i]);
	cli_words_quote(&text, &line);
	cli_tell(cli, "%s: `%s` keeps a copy of the data and starts it", cli->error.text,
		 text.failed || line.failed ? "jobstack server upgrade" : text.data);
	if (s->successor.n > 0)
		cli_say(cli, "type that on a login node, then `jobstack server stop`, and `jobstack server submit` "
			     "with its options as before");
	cli_words_free(&line);
	js_buf_free(&text);
	return CLI_NO;
}

/* The usual remedy for an unreachable database is to start a server, which is what has just failed. */
int server_fail(struct server *s)
{
	struct cli *cli = &s->cli;

	if (cli->error.server_errno == JS_WHY_OLD_DATA)
		return fail_old_data(s);
	if (cli->error.code != JOBSTACK_ENODB)
		return cli_fail(cli);
	cli_tell(cli, "%s%s", cli->error.text,
		 js_error_is_disk(cli->error.server_errno) ? "; free space, then repeat the command" : "");
	return CLI_NODB;
}

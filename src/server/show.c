/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The server as text and as JSON.
 */
#include "server/chain.h"
#include "show/amount.h"
#include "show/json.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const state_word[] = {[JS_OWNER_STOPPED] = "stopped",
					 [JS_OWNER_CRASHED] = "crashed",
					 [JS_OWNER_ALIVE] = "starting",
					 [JS_OWNER_ANSWERS] = "running",
					 [JS_OWNER_ELSEWHERE] = "elsewhere"};
_Static_assert(sizeof(state_word) / sizeof(state_word[0]) == JS_OWNER_STATES, "a word for each state");

/* Returns a member with a text that is null if it is empty: what is not known of a server is "". */
static struct show_member text_member(const char *key, const char *text)
{
	return show_text_member(key, *text == '\0' ? NULL : text);
}

int server_print_json(const struct server *s)
{
	const struct js_owner *o = &s->owner;
	struct js_who who = {.name = ""};
	struct stat st;
	struct chain chain;
	int64_t up_us;

	(void)server_uptime(s, &up_us);
	chain_read(s->layout.dir, &chain);
	if (stat(s->layout.data, &st) == 0)
		(void)js_who_numbered(st.st_uid, &who, NULL);
	return CLI_PRINT(KEY_TEXT("state", state_word[s->state]), KEY_FLAG("running", s->state == JS_OWNER_ANSWERS),
			 text_member("host", o->host), KEY_INT("pid", o->pid, o->pid > 0), text_member("bind", o->bind),
			 KEY_INT("port", o->port, o->port > 0), text_member("data", s->layout.dir),
			 text_member("client_file", o->client_file), text_member("log", s->layout.log),
			 text_member("program", o->program), text_member("version", o->version),
			 text_member("user", who.name), KEY_TIME("started", o->began_us > 0 ? o->began_us : -1),
			 KEY_SPAN("uptime_seconds", up_us), text_member("job", o->job), text_member("jobs", chain.jobs),
			 KEY_COUNT("bytes", js_layout_size(s->layout.dir)));
}

static void print_where(const struct server *s, const char *what)
{
	const struct js_owner *o = &s->owner;

	(void)printf("%s: %s:%u (pid %ld on %s, version %s)\ndata: %s\nclients: %s\n", what, o->bind, o->port,
		     (long)o->pid, o->host, o->version, s->layout.dir, o->client_file);
	if (o->job[0] != '\0')
		(void)printf("job: %s\n", o->job);
}

int server_started(struct server *s, const char *what)
{
	if (s->cli.json)
		return server_print_json(s);
	if (!s->cli.quiet)
		print_where(s, what);
	(void)fflush(stdout);
	return CLI_YES;
}

/* Prints the jobs of `server submit`, except the one that runs the server. */
static void print_waiting_jobs(const struct server *s)
{
	struct chain chain;
	char *rest = chain.jobs, *job;

	chain_read(s->layout.dir, &chain);
	while ((job = strsep(&rest, " ")) != NULL)
		if (*job != '\0' && strcmp(job, s->owner.job) != 0)
			(void)printf("waiting: job %s\n", job);
}

void server_print(const struct server *s)
{
	const struct js_owner *o = &s->owner;
	uint64_t bytes = js_layout_size(s->layout.dir);
	const char *job_log =
		s->state == JS_OWNER_STOPPED || s->state == JS_OWNER_CRASHED ? chain_last_log(s->layout.dir) : NULL;
	int64_t up_us;

	if (s->state == JS_OWNER_STOPPED)
		(void)printf("stopped\ndata: %s%s\n", s->layout.dir, bytes == 0 ? " (none yet)" : "");
	else if (s->state == JS_OWNER_CRASHED)
		(void)printf("crashed (pid %ld is gone): the next start recovers the data\ndata: %s\n", (long)o->pid,
			     s->layout.dir);
	else if (s->state == JS_OWNER_ELSEWHERE)
		(void)printf("unknown: the server is on the host %s (pid %ld, %s:%u), and this host can't see it\n"
			     "data: %s\n",
			     o->host, (long)o->pid, o->bind, o->port, s->layout.dir);
	else
		print_where(s, state_word[s->state]);
	if (server_uptime(s, &up_us))
		(void)printf("up: %s, since %s\n", show_duration(up_us).text, show_moment(o->began_us).text);
	print_waiting_jobs(s);
	if (job_log != NULL)
		(void)printf("log of the last job: %s\n", job_log);
	if (bytes > 0)
		(void)printf("on disk: %.1f MB\nlog: %s\n", (double)bytes / 1048576.0, s->layout.log);
}

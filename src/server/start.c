/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting a server.  Promises: at most one process serves a directory, for the record is written before the server's
 * program is executed and under the lock; if it is killed, the next start continues where it stopped.
 *
 *     lock -> record: alive        -> wait until it answers -> client file
 *             gone, or no record   -> install -> certificates -> my.cnf -> process -> record -> execute
 *                                  -> wait until it answers -> remove init.sql -> client file
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "server/config.h"
#include "server/logfile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define GREET_US JS_SECOND_US
#define SOCKET_MAX 104 /* a path of a socket must be shorter */
/* a start fails after so long without an answer and without new lines in the log */
#define SILENT_US (300 * JS_SECOND_US)
#define PORT_TRIES 3
#define END_LIMIT_US (60 * JS_SECOND_US)
#define SAY_US (10 * JS_SECOND_US)

/* ------------------------------------------------------------------------------------------ what a start decides */

/* Makes a socket file at PATH and removes it again.  0 if that works. */
static int try_socket(const void *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), bad;

	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", (const char *)path);
	(void)unlink(path);
	bad = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0;
	js_file_close(&fd);
	(void)unlink(path);
	return bad;
}

/* Chooses where the socket is: in the server's directory; or, if that path is too long or the file system has no
 * sockets, in a new directory in /tmp. */
static int choose_socket(struct server *s)
{
	char path[JS_LAYOUT_PATH];
	struct js_owner *o = &s->owner;

	o->socket_dir[0] = '\0';
	js_layout_join(path, s->layout.run, "sock");
	if (strlen(path) < SOCKET_MAX && strlen(path) < sizeof(o->socket) &&
	    js_who_call(&s->who, try_socket, path) == 0) {
		memcpy(o->socket, path, strlen(path) + 1);
		return 0;
	}
	memcpy(o->socket_dir, "/tmp/jobstack-XXXXXX", 21);
	if (mkdtemp(o->socket_dir) == NULL || (s->who.change && lchown(o->socket_dir, s->who.uid, s->who.gid) != 0))
		return js_error_file(&s->cli.error, "can't make a directory for the server's socket in /tmp");
	(void)snprintf(o->socket, sizeof(o->socket), "%s/sock", o->socket_dir);
	return 0;
}

/* Chooses the requested port, else the last one, else a new one. */
static int choose_port(struct server *s)
{
	unsigned port = (unsigned)(s->port != 0 ? s->port : s->had.port);

	s->owner.port = port;
	if (port == 0 || !js_net_port_free(&s->net, port)) {
		if (s->port != 0)
			return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT, "the port %u on %s can't be used: %s",
					    port, s->net.host, strerror(errno));
		JS_TRY(js_net_port_choose(&s->net, &s->owner.port, &s->cli.error));
		if (port != 0)
			cli_tell(&s->cli, "another program uses the port %u: the server moves to the port %u", port,
				 s->owner.port);
	}
	s->kept.port = s->owner.port;
	return 0;
}

int server_address(struct server *s)
{
	int uses_kept = s->bind == NULL && s->job == NULL && s->had.bind[0] != '\0';

	if (!uses_kept)
		return js_net_resolve(s->bind != NULL ? s->bind : SERVER_BIND, &s->net, &s->cli.error);
	if (js_net_resolve(s->had.bind, &s->net, NULL) == 0)
		return 0;
	return js_error_set(&s->cli.error, JOBSTACK_EUSAGE,
			    "%s, the address of the last start, is not this host's: give --bind HOST, such as --bind "
			    "\"$(hostname)\"",
			    s->had.bind);
}

/* Takes what was not given now from the last start, and keeps what was given.  The jobs of `server submit` do neither,
 * but for the port: each is given all its options, and its address is that of its node. */
static int complete_options(struct server *s)
{
	s->kept = s->had;
	if (s->job == NULL && s->memory != 0)
		s->kept.memory = s->memory;
	else if (s->job == NULL)
		s->memory = s->had.memory;
	if (s->memory == 0)
		s->memory = SERVER_MEMORY;
	if (s->job == NULL && s->bind != NULL)
		(void)snprintf(s->kept.bind, sizeof(s->kept.bind), "%s", s->bind);
	return server_address(s);
}

/* Warns of addresses that are not what the user may expect, and takes care that the program can listen on them. */
static void check_addresses(struct server *s)
{
	char all[JS_NET_LISTEN];

	if (s->net.odd)
		cli_tell(&s->cli,
			 "on this machine %s is a loopback address, so the server listens on all addresses of the "
			 "machine: to avoid that, give --bind an address",
			 s->net.host);
	if (s->net.n < 2 || s->program.mysql || s->program.version >= 1011)
		return;
	memcpy(all, s->net.listen, sizeof(all));
	s->net.n = 1;
	s->net.listen[strcspn(s->net.listen, ",")] = '\0';
	cli_tell(&s->cli, "%s has the addresses %s, but MariaDB before 10.11 can listen on one only: it listens on %s",
		 s->net.host, all, s->net.listen);
}

/* Warns if this user's limits of files or threads are too low for all connections.  Root raises them. */
static void warn_of_low_limits(const struct server *s)
{
	static const struct {
		unsigned resource;
		rlim_t least;
		const char *what;
	} limits[] = {{RLIMIT_NOFILE, CONFIG_FILES_MIN, "open files (ulimit -Hn)"},
		      {RLIMIT_NPROC, CONFIG_CONNECTIONS + 100, "processes (ulimit -Hu)"}};
	struct rlimit r;

	for (size_t i = 0; i < 2 && geteuid() != 0; i++)
		if (getrlimit(limits[i].resource, &r) == 0 && r.rlim_max != RLIM_INFINITY &&
		    r.rlim_max < limits[i].least)
			cli_tell(&s->cli, "the limit of %lu %s is too low for %d connections at once",
				 (unsigned long)r.rlim_max, limits[i].what, CONFIG_CONNECTIONS);
}

/* ------------------------------------------------------------------------------------------------- the process */

/* Raises a limit of this process to WANT, as far as it may.  Root may raise the maximum, too, but a container or the
 * kernel can forbid it. */
static void raise_limit(unsigned resource, rlim_t want)
{
	const struct rlimit more = {.rlim_cur = want, .rlim_max = want};
	struct rlimit r;

	if (getrlimit(resource, &r) != 0 || r.rlim_cur >= want)
		return;
	if (r.rlim_max < want && geteuid() == 0 && setrlimit(resource, &more) == 0)
		return;
	r.rlim_cur = r.rlim_max < want ? r.rlim_max : want;
	(void)setrlimit(resource, &r);
}

/* In the server's process, before its program is executed.  The lock that our parent holds is open here, too: whatever
 * becomes of the parent, nobody else can start a server before the record is written. */
static const char *enter_server(const void *arg)
{
	const struct server *s = arg;
	struct js_owner owner = s->owner;

	js_owner_identify(&owner, getpid());
	if (js_owner_write(&s->layout, &owner, NULL) != 0)
		return "writing the file `owner`";
	raise_limit(RLIMIT_NOFILE, CONFIG_FILES);
	raise_limit(RLIMIT_NPROC, RLIM_INFINITY); /* one thread per connection */
	return js_who_enter(&s->who, NULL);
}

/* The child writes the record itself (enter_server), before it becomes the server: between fork and exec nobody else
 * knows of it. */
static int launch_server(struct server *s)
{
	char defaults[JS_LAYOUT_PATH + 32];
	const char *argv[] = {s->program.path, defaults, NULL};
	int log = js_logfile_open(s->layout.log, &s->owner.log_offset);
	const struct js_child child = {.argv = argv,
				       .out = log,
				       .err = log,
				       .death_signal = s->foreground ? SIGTERM : 0,
				       .enter = enter_server,
				       .arg = s,
				       JS_WHO_CHILD};
	pid_t pid;

	if (log < 0)
		return js_error_file(&s->cli.error, "%s can't be written", s->layout.log);
	(void)snprintf(defaults, sizeof(defaults), "--defaults-file=%s", s->layout.config);
	pid = js_child_start(&child, &s->cli.error);
	(void)close(log);
	if (pid < 0)
		return (int)pid;
	s->child = 1;
	js_owner_identify(&s->owner, pid);
	return 0;
}

/* Returns 1 if the server has ended.  If it was a child of ours, its wait status is in END; the status of another
 * process can't be read, and END is 0. */
static int server_has_ended(const struct server *s, int *end)
{
	if (s->child)
		return waitpid(s->owner.pid, end, WNOHANG) == s->owner.pid;
	*end = 0;
	return !js_owner_lives(&s->owner);
}

/* Checks whether the log grows, and what it says.  Returns 0, or an error if waiting is useless. */
static int watch_log(struct server *s, int64_t *size, int64_t *grown_us)
{
	struct stat st;

	if (stat(s->layout.log, &st) != 0 || (int64_t)st.st_size == *size)
		return 0;
	*size = (int64_t)st.st_size;
	*grown_us = js_clock_mono_us();
	return js_logfile_waits_for_space(s->layout.log, s->owner.log_offset) ? server_failed(s, "can't start") : 0;
}

/* Waits for the server's greeting, which it sends only after it has executed init.sql. */
static int await_greeting(struct server *s)
{
	int64_t start = js_clock_mono_us(), said = start, size = -1, grown = start;
	char version[JS_NET_VERSION];
	int end;

	while (js_net_greet(s->owner.bind, s->owner.port, GREET_US, version) != 0 || version[0] == '\0') {
		int64_t now = js_clock_mono_us();

		if (server_has_ended(s, &end))
			return server_ended(s, end);
		JS_TRY(watch_log(s, &size, &grown));
		if (cli_stop != 0)
			return js_error_set(&s->cli.error, JOBSTACK_ESTOPPED, "stopped while the server was starting");
		if (now - grown > SILENT_US)
			return server_failed(s, "runs, but accepts no connections");
		if (now - said > SAY_US) {
			said = now;
			cli_say(&s->cli, "the server (pid %ld) is still starting; its log is %s", (long)s->owner.pid,
				s->layout.log);
		}
		js_clock_nap(50 * 1000, &cli_stop);
	}
	if (server_has_ended(s, &end)) /* the greeting came from another server */
		return server_ended(s, end);
	memcpy(s->owner.version, version, sizeof(s->owner.version));
	return 0;
}

/* Stops our child, which never accepted a connection.  If it does not end (it may wait for space on the disk) it is
 * killed: nothing was committed, and what it recovered can be recovered again. */
static void stop_child(struct server *s)
{
	(void)kill(s->owner.pid, SIGTERM);
	if (server_await_end(s, END_LIMIT_US, 1) != 0)
		(void)kill(s->owner.pid, SIGKILL);
	(void)js_child_wait(s->owner.pid);
	s->child = 0;
}

/* Cleans up after a failed start: the process, the file with the password, the record, and what was not to be kept. */
static void clean_up_start(struct server *s)
{
	struct jobstack_error why = s->cli.error;
	enum js_owner_state state;
	struct js_owner left;

	if (s->child)
		stop_child(s);
	(void)unlink(s->layout.init);
	if (js_owner_read(&s->layout, &left, &state, NULL) == 0 && state == JS_OWNER_CRASHED)
		(void)unlink(s->layout.owner);
	/* what was typed for a start that failed must not become the default of the next one */
	(void)config_write(s, &s->had);
	js_owner_sweep(&s->owner);
	s->cli.error = why;
}

/* ---------------------------------------------------------------------------------------------------- the start */

/* After the first answer: removes the file with the password, and writes the client's option file. */
static int finish_start(struct server *s)
{
	char other[300];

	(void)unlink(s->layout.init);
	if (config_names_other(s, other, sizeof(other)))
		cli_tell(&s->cli, "%s now names this server, not %s: to use both, give each its own --client-file",
			 s->client_file, other);
	return config_write_client(s, s->client_file, "jobstack", s->password);
}

/* Fills in what the record will say of the server that is to be started. */
static void fill_record(struct server *s)
{
	struct js_owner *o = &s->owner;

	memcpy(o->bind, s->net.host, sizeof(o->bind));
	memcpy(o->program, s->program.path, sizeof(o->program));
	memcpy(o->version, s->program.text, sizeof(o->version));
	(void)snprintf(o->client_file, sizeof(o->client_file), "%s", s->client_file);
	(void)snprintf(o->job, sizeof(o->job), "%s", s->job != NULL ? s->job : "");
	(void)snprintf(o->cluster, sizeof(o->cluster), "%s", s->job != NULL && s->cluster != NULL ? s->cluster : "");
}

/* Starts the server on a port, and waits for its greeting.  Returns 0, a negative code, or 1 if another program took
 * the port after it was chosen, and so another one may do. */
static int try_port(struct server *s)
{
	int status, lost;

	JS_TRY(choose_port(s));
	JS_TRY(choose_socket(s));
	fill_record(s);
	status = config_write(s, &s->kept);
	JS_THEN(status, config_write_init(s));
	JS_THEN(status, launch_server(s));
	JS_THEN(status, await_greeting(s));
	if (status == 0)
		return 0;
	/* asked before the clean-up, and only if our server has ended: it would hold the port itself */
	lost = status == JOBSTACK_ENODB && !s->child && s->port == 0 && !js_net_port_free(&s->net, s->owner.port);
	clean_up_start(s);
	return lost ? 1 : status;
}

/* Starts the server, which does not run. */
static int start_new_server(struct server *s)
{
	int status, tries = PORT_TRIES;

	if (s->state == JS_OWNER_CRASHED) {
		cli_tell(&s->cli, "the last server (pid %ld) did not stop cleanly: this start recovers its data",
			 (long)s->owner.pid);
		js_owner_remove(&s->layout, &s->owner); /* and its socket directory */
	}
	memset(&s->owner, 0, sizeof(s->owner));
	JS_TRY(complete_options(s));
	check_addresses(s);
	warn_of_low_limits(s);
	JS_TRY(server_data_check(s));
	JS_TRY(server_install(s));
	JS_TRY(server_certificates(s));
	while ((status = try_port(s)) == 1 && --tries > 0)
		js_error_clear(&s->cli.error);
	if (status == 0)
		return finish_start(s);
	return status < 0 ? status : s->cli.error.code;
}

/* Handles a server that runs, or is starting because the command that started it was killed: waits until it answers,
 * and writes the client's file again. */
static int join_running_server(struct server *s)
{
	const struct js_owner *o = &s->owner;

	if (s->foreground)
		return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT, "the server is already running (pid %ld, %s:%u)",
				    (long)o->pid, o->bind, o->port);
	if ((s->bind != NULL && strcmp(s->bind, o->bind) != 0 &&
	     (strcmp(s->bind, "localhost") != 0 || strcmp(o->bind, SERVER_BIND) != 0)) ||
	    (s->port != 0 && s->port != o->port))
		return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT,
				    "the server is already running on %s:%u: to change its address, stop it first",
				    o->bind, o->port);
	JS_TRY(await_greeting(s));
	return finish_start(s);
}

/* Decides about a record of another host.  Returns 0 if its directory is to be taken over. */
static int take_over(struct server *s)
{
	const struct js_owner *o = &s->owner;
	char version[JS_NET_VERSION];

	if (!s->takeover && (s->ended_job == NULL || strcmp(o->job, s->ended_job) != 0))
		return server_elsewhere(s);
	if (!js_net_loopback(o->bind) && js_net_greet(o->bind, o->port, 3 * GREET_US, version) == 0)
		return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT,
				    "can't take over: the server on the host %s still answers at %s:%u", o->host,
				    o->bind, o->port);
	if (cli_stop != 0)
		return js_error_set(&s->cli.error, JOBSTACK_ESTOPPED, "stopped before taking over");
	cli_tell(&s->cli, "taking %s over from the host %s (pid %ld)", s->layout.dir, o->host, (long)o->pid);
	return 0;
}

int server_prepare(struct server *s)
{
	struct jobstack_error *error = &s->cli.error;

	config_read_kept(&s->layout, &s->had);
	JS_TRY(js_layout_who(&s->layout, s->user, &s->who, error));
	if (s->bind != NULL)
		JS_TRY(js_net_resolve(s->bind, &s->net, error));
	JS_TRY(js_program_find(s->program_file, &s->who, &s->program, error));
	return config_check_client(s->client_file, error);
}

/* Without the lock two calls could both find no server, and start one each. */
int server_serve(struct server *s)
{
	int was_alive, status = config_password(s);

	JS_THEN(status, js_owner_read(&s->layout, &s->owner, &s->state, &s->cli.error));
	was_alive = s->state == JS_OWNER_ALIVE;
	if (status == 0 && s->state == JS_OWNER_ELSEWHERE)
		status = take_over(s);
	if (status == 0)
		status = was_alive ? join_running_server(s) : start_new_server(s);
	explicit_bzero(s->password, sizeof(s->password));
	if (status != 0)
		return status;
	s->state = JS_OWNER_ANSWERS;
	(void)snprintf(s->owner.client_file, sizeof(s->owner.client_file), "%s", s->client_file);
	return was_alive;
}

int server_start(struct server *s)
{
	int lock = -1, status = server_prepare(s);

	JS_THEN(status, js_layout_prepare(&s->layout, &s->who, &s->cli.error));
	JS_THEN(status, lock = js_layout_lock(&s->layout, &s->cli));
	if (status < 0)
		return status;
	status = server_serve(s);
	(void)close(lock);
	return status;
}

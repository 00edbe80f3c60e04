/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting a server.  Promises: at most one process serves a directory, for the record is written before the server's
 * program is executed and under the lock; if it is killed, the next start continues where it stopped.
 *
 *     lock -> record: alive        -> wait until it answers -> client file
 *             gone, or no record   -> install -> certificates -> my.cnf -> process -> record -> execute
 *                                  -> wait until it answers -> remove init.sql -> client file
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "server/config.h"
#include "server/internal.h"
#include "server/logfile.h"
#include "process/net.h"
#include "server/program.h"

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
#define END_LIMIT_US (60 * JS_SECOND_US)
#define SAY_US (10 * JS_SECOND_US)

/* One start. */
struct start {
	const struct js_server_options *options;
	struct jobstack_error *error;
	struct js_work work;
	struct js_program program;
	struct js_net net;
	struct js_owner owner;		 /* of the server that runs or is being started */
	struct js_config_kept had, kept; /* what the last start kept, and what this one does */
	uint64_t memory;
	char client_file[JS_LAYOUT_PATH];
	char password[JS_CONFIG_PASSWORD];
	int child; /* the server is our own child, not known to have ended */
};

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

/* The socket is in the server's directory.  If its path is too long, or the file system has no sockets, it is in a new
 * directory in /tmp. */
static int choose_socket(struct start *s)
{
	char path[JS_LAYOUT_PATH];

	s->owner.socket_dir[0] = '\0';
	js_layout_join(path, s->work.layout.run, "sock");
	if (strlen(path) < SOCKET_MAX && strlen(path) < sizeof(s->owner.socket) &&
	    js_who_call(&s->work.who, try_socket, path) == 0) {
		memcpy(s->owner.socket, path, strlen(path) + 1);
		return 0;
	}
	memcpy(s->owner.socket_dir, "/tmp/jobstack-XXXXXX", 21);
	if (mkdtemp(s->owner.socket_dir) == NULL ||
	    (s->work.who.change && lchown(s->owner.socket_dir, s->work.who.uid, s->work.who.gid) != 0))
		return js_error_file(s->error, "can't make a directory for the server's socket in /tmp");
	(void)snprintf(s->owner.socket, sizeof(s->owner.socket), "%s/sock", s->owner.socket_dir);
	return 0;
}

/* The port of the last start, or 0. */
static unsigned read_kept_port(const struct start *s)
{
	struct js_buf kept = {0};
	uint64_t port = 0;

	if (js_file_read(s->work.layout.port, &kept) == 0 && kept.data != NULL) {
		kept.data[strcspn(kept.data, "\n")] = '\0';
		(void)js_num_u64(kept.data, 1, 65535, &port);
	}
	js_buf_free(&kept);
	return (unsigned)port;
}

/* Chooses the requested port, else the last one, else a new one, and stores it. */
static int choose_port(struct start *s, unsigned avoid)
{
	unsigned kept = read_kept_port(s), port = s->options->port != 0 ? s->options->port : kept;
	char text[16];

	s->owner.port = port;
	if (port == 0 || port == avoid || !js_net_port_free(&s->net, port)) {
		if (s->options->port != 0)
			return js_error_set(s->error, JOBSTACK_ECONFLICT, "the port %u on %s can't be used: %s", port,
					    s->net.host, strerror(errno));
		if (js_net_port_choose(&s->net, &s->owner.port, s->error) != 0)
			return s->error->code;
		if (port != 0)
			js_log(s->work.log, JOBSTACK_LOG_WARNING,
			       "another program uses the port %u: the server moves to the port %u", port,
			       s->owner.port);
	}
	(void)snprintf(text, sizeof(text), "%u\n", s->owner.port);
	if (s->owner.port != kept && js_file_replace(s->work.layout.port, 0600, text, strlen(text)) != 0)
		return js_error_file(s->error, "%s can't be written", s->work.layout.port);
	return 0;
}

/* Warns if this user's limits of files or threads are too low for all connections. */
static void warn_of_low_limits(const struct start *s)
{
	static const struct {
		unsigned resource;
		rlim_t least;
		const char *what;
	} limits[] = {{RLIMIT_NOFILE, JS_CONFIG_FILES_MIN, "open files (ulimit -Hn)"},
		      {RLIMIT_NPROC, JS_CONFIG_CONNECTIONS + 100, "processes (ulimit -Hu)"}};
	struct rlimit r;

	for (size_t i = 0; i < 2 && geteuid() != 0; i++)
		if (getrlimit(limits[i].resource, &r) == 0 && r.rlim_max != RLIM_INFINITY &&
		    r.rlim_max < limits[i].least)
			js_log(s->work.log, JOBSTACK_LOG_WARNING,
			       "the limit of %lu %s is too low for %d connections at once", (unsigned long)r.rlim_max,
			       limits[i].what, JS_CONFIG_CONNECTIONS);
}

static struct js_config fill_configuration(const struct start *s, const struct js_config_kept *kept)
{
	return (struct js_config){.listen = s->net.listen,
				  .socket = s->owner.socket,
				  .port = s->owner.port,
				  .memory = s->memory,
				  .kept = *kept};
}

/* Writes my.cnf and init.sql. */
static int write_configuration(struct start *s)
{
	struct js_config config = fill_configuration(s, &s->kept);

	JS_TRY(js_config_server(&s->work.layout, &s->program, &config, s->error));
	return js_config_init(&s->work.layout, &s->program, &config, &s->work.who, s->password, s->error);
}

/* In the server's process, before its program is executed.  The lock that our parent holds is open here, too: whatever
 * becomes of the parent, nobody else can start a server before the record is written. */
static int write_record(const void *arg)
{
	const struct start *s = arg;
	struct js_owner owner = s->owner;

	js_owner_identify(&owner, getpid());
	return js_owner_write(&s->work.layout, &owner, NULL);
}

static int launch_server(struct start *s)
{
	char defaults[JS_LAYOUT_PATH + 32];
	const char *argv[] = {s->program.path, defaults, NULL};
	const struct js_task task = {.argv = argv,
				     .env = s->work.env,
				     .who = &s->work.who,
				     .raise_files = JS_CONFIG_FILES,
				     .die_with_us = s->options->foreground,
				     .before = write_record,
				     .arg = s};
	int log = js_logfile_open(s->work.layout.log, &s->owner.log_offset);
	pid_t pid;

	if (log < 0)
		return js_error_file(s->error, "%s can't be written", s->work.layout.log);
	(void)snprintf(defaults, sizeof(defaults), "--defaults-file=%s", s->work.layout.config);
	pid = js_task_start(&task, log, s->error);
	(void)close(log);
	if (pid < 0)
		return (int)pid;
	s->child = 1;
	js_owner_identify(&s->owner, pid);
	return 0;
}

/* Fails, and shows the end of the log. */
static int fail_with_log(const struct start *s, const char *what)
{
	return js_server_failed(s->options, &s->work.layout, s->owner.log_offset, what, s->error);
}

/* 1 if the server has ended, and then how in END. */
static int server_has_ended(const struct start *s, int *end)
{
	if (s->child)
		return waitpid(s->owner.pid, end, WNOHANG) == s->owner.pid;
	*end = 0;
	return !js_owner_lives(&s->owner);
}

static int fail_server_ended(struct start *s, int end)
{
	s->child = 0;
	return js_server_ended(s->options, &s->work.layout, s->owner.log_offset, end, s->error);
}

/* Stops our child, which never accepted a connection.  If it does not end (it may wait for space on the disk) it is
 * killed: nothing was committed, and what it recovered can be recovered again. */
static void stop_child(const struct start *s)
{
	int end;

	(void)kill(s->owner.pid, SIGTERM);
	if (js_server_await_end(&s->owner, s->work.log, NULL, END_LIMIT_US) != 0)
		(void)kill(s->owner.pid, SIGKILL);
	while (waitpid(s->owner.pid, &end, 0) < 0 && errno == EINTR)
		;
}

/* Checks whether the log grows, and what it says.  Returns 0, or an error if waiting is useless. */
static int watch_log(const struct start *s, int64_t *size, int64_t *grown_us)
{
	struct stat st;

	if (stat(s->work.layout.log, &st) != 0 || (int64_t)st.st_size == *size)
		return 0;
	*size = (int64_t)st.st_size;
	*grown_us = js_clock_mono_us();
	if (js_logfile_waits_for_space(s->work.layout.log, s->owner.log_offset))
		return fail_with_log(s, "can't start");
	return 0;
}

/* Waits for the server's greeting, which it sends only after it has executed init.sql. */
static int await_greeting(struct start *s)
{
	int64_t start = js_clock_mono_us(), said = start, size = -1, grown = start;
	struct js_net_greeting hello;
	int end;

	while (js_net_greet(s->owner.listen, s->owner.port, GREET_US, &hello) != 0 || hello.full) {
		int64_t now = js_clock_mono_us();

		if (server_has_ended(s, &end))
			return fail_server_ended(s, end);
		JS_TRY(watch_log(s, &size, &grown));
		if (s->options->stop != NULL && *s->options->stop != 0)
			return js_error_set(s->error, JOBSTACK_ESTOPPED, "stopped while the server was starting");
		if (now - grown > SILENT_US)
			return fail_with_log(s, "runs, but accepts no connections");
		if (now - said > SAY_US) {
			said = now;
			js_log(s->work.log, JOBSTACK_LOG_INFO, "the server (pid %ld) is still starting; its log is %s",
			       (long)s->owner.pid, s->work.layout.log);
		}
		js_clock_nap(50 * 1000, s->options->stop);
	}
	if (server_has_ended(s, &end)) /* the greeting came from another server */
		return fail_server_ended(s, end);
	if (!hello.tls)
		return fail_with_log(s, "started without TLS");
	if (hello.version[0] != '\0')
		memcpy(s->owner.version, hello.version, sizeof(s->owner.version));
	return 0;
}

/* Cleans up after a failed start: the process, the file with the password, and the record. */
static void clean_up_start(struct start *s)
{
	enum js_owner_state state;
	struct js_owner left;

	if (s->child)
		stop_child(s);
	s->child = 0;
	(void)unlink(s->work.layout.init);
	if (js_owner_read(&s->work.layout, &left, &state, NULL) == 0 && state == JS_OWNER_GONE)
		(void)unlink(s->work.layout.owner);
}

/* After the first answer: removes the file with the password, and writes the client's option file. */
static int finish_start(struct start *s)
{
	struct js_config_address address = {s->owner.bind, s->owner.port, "jobstack", s->password, s->program.mysql};
	char other[300];

	(void)unlink(s->work.layout.init);
	if (js_config_client_other(s->client_file, s->password, other, sizeof(other)))
		js_log(s->work.log, JOBSTACK_LOG_WARNING,
		       "%s named another server (%s) until now: from now on it names the server that was just started "
		       "(to use both, give one of them its own --client-file)",
		       s->client_file, other);
	return js_config_client(s->client_file, &s->work.layout, &address, s->error);
}

/* Tries to start the server on the chosen port.  Returns 1 if another program took the port meanwhile. */
static int try_port(struct start *s)
{
	int status = write_configuration(s);

	JS_THEN(status, launch_server(s));
	JS_THEN(status, await_greeting(s));
	if (status != 0) {
		int lost = status == JOBSTACK_ENODB && !s->child && s->options->port == 0 &&
			   !js_net_port_free(&s->net, s->owner.port);

		clean_up_start(s);
		return lost ? 1 : status;
	}
	return 0;
}

int js_server_address(const struct js_layout *layout, const char *bind, struct js_net *net,
		      struct jobstack_error *error)
{
	struct js_config_kept kept;

	js_config_kept(layout, &kept);
	if (bind != NULL || kept.bind[0] == '\0')
		return js_net_resolve(bind != NULL ? bind : JS_SERVER_BIND, net, error);
	if (js_net_resolve(kept.bind, net, NULL) == 0)
		return 0;
	return js_error_set(error, JOBSTACK_EUSAGE,
			    "%s, the address of the last start, is not this host's: give --bind HOST, such as --bind "
			    "\"$(hostname)\"",
			    kept.bind);
}

/* Takes what was not given now from the last start, and keeps what was given.  The jobs of `server submit` do neither:
 * each is given all its options, and its address is that of its node. */
static int complete_options(struct start *s)
{
	const struct js_server_options *o = s->options;

	js_config_kept(&s->work.layout, &s->had);
	s->kept = s->had;
	s->memory = o->memory != 0 ? o->memory : JS_SERVER_MEMORY;
	if (o->job != NULL)
		return js_net_resolve(o->bind != NULL ? o->bind : JS_SERVER_BIND, &s->net, s->error);
	if (o->memory != 0)
		s->kept.memory = o->memory;
	else if (s->had.memory != 0)
		s->memory = s->had.memory;
	if (o->bind != NULL)
		(void)snprintf(s->kept.bind, sizeof(s->kept.bind), "%s", o->bind);
	return js_server_address(&s->work.layout, o->bind, &s->net, s->error);
}

/* Starts the server, which does not run. */
static int start_new_server(struct start *s)
{
	unsigned avoid = 0;
	int status = 0;

	JS_TRY(complete_options(s));
	if (s->net.odd)
		js_log(s->work.log, JOBSTACK_LOG_WARNING,
		       "on this machine %s is a loopback address, so the server listens on all addresses of the "
		       "machine: to avoid that, give --bind an address",
		       s->net.host);
	if (s->net.n > 1 && !s->program.mysql && s->program.version < 1011) {
		char all[JS_NET_LISTEN];

		memcpy(all, s->net.listen, sizeof(all));
		s->net.n = 1;
		s->net.listen[strcspn(s->net.listen, ",")] = '\0';
		js_log(s->work.log, JOBSTACK_LOG_WARNING,
		       "%s has the addresses %s, but MariaDB before 10.11 can listen on one only: it listens on %s",
		       s->net.host, all, s->net.listen);
	}
	warn_of_low_limits(s);
	JS_TRY(js_upgrade_check(&s->work.layout, &s->program, s->error));
	JS_TRY(js_install(&s->work, &s->program, s->error));
	JS_TRY(js_tls_prepare(&s->work, &s->net, s->error));
	JS_TRY(js_upgrade_begin(&s->work, &s->program, s->error));
	JS_TRY(choose_socket(s));
	memcpy(s->owner.bind, s->net.host, sizeof(s->owner.bind));
	memcpy(s->owner.listen, s->net.listen, sizeof(s->owner.listen));
	memcpy(s->owner.client_file, s->client_file, sizeof(s->owner.client_file));
	memcpy(s->owner.program, s->program.path, sizeof(s->owner.program));
	memcpy(s->owner.version, s->program.text, sizeof(s->owner.version));
	if (s->options->job != NULL)
		(void)snprintf(s->owner.job, sizeof(s->owner.job), "%s", s->options->job);
	if (s->options->job != NULL && s->options->cluster != NULL)
		(void)snprintf(s->owner.cluster, sizeof(s->owner.cluster), "%s", s->options->cluster);
	for (int i = 0; i < 3; i++) {
		status = choose_port(s, avoid);
		JS_THEN(status, try_port(s));
		if (status != 1)
			break;
		avoid = s->owner.port;
		js_error_clear(s->error);
	}
	if (status == 1)
		status = js_error_set(s->error, JOBSTACK_ENODB,
				      "no free port: other programs took each chosen port first");
	if (status != 0) { /* what did not work is not kept */
		struct js_config config = fill_configuration(s, &s->had);

		(void)js_config_server(&s->work.layout, &s->program, &config, NULL);
		js_owner_sweep(&s->owner);
		return status;
	}
	if (js_logfile_recovered(s->work.layout.log, s->owner.log_offset))
		js_log(s->work.log, JOBSTACK_LOG_WARNING,
		       "the server had crashed or been killed; all committed data is recovered");
	return finish_start(s);
}

/* The server runs, or is starting because the command that started it was killed. */
static int join_running_server(struct start *s)
{
	const struct js_server_options *o = s->options;

	if (o->foreground)
		return js_error_set(s->error, JOBSTACK_ECONFLICT, "the server is already running (pid %ld, %s:%u)",
				    (long)s->owner.pid, s->owner.bind, s->owner.port);
	if ((o->bind != NULL && strcmp(o->bind, s->owner.bind) != 0 &&
	     (strcmp(o->bind, "localhost") != 0 || strcmp(s->owner.bind, JS_SERVER_BIND) != 0)) ||
	    (o->port != 0 && o->port != s->owner.port))
		return js_error_set(s->error, JOBSTACK_ECONFLICT,
				    "the server is already running on %s:%u: to change its address, stop it first",
				    s->owner.bind, s->owner.port);
	JS_TRY(await_greeting(s));
	return finish_start(s);
}

/* Returns 1 if the record says that the server runs, 0 if it must be started, or an error. */
static int decide_by_record(struct start *s)
{
	const struct js_server_options *o = s->options;
	struct js_net_greeting hello;
	enum js_owner_state state;
	int ended;

	JS_TRY(js_owner_read(&s->work.layout, &s->owner, &state, s->error));
	if (state == JS_OWNER_ALIVE)
		return 1;
	ended = o->ended_job != NULL && s->owner.job[0] != '\0' && strcmp(s->owner.job, o->ended_job) == 0;
	if (state == JS_OWNER_ELSEWHERE && !o->takeover && !ended)
		return js_server_elsewhere(&s->work.layout, &s->owner, s->error);
	if (state == JS_OWNER_ELSEWHERE) {
		if (!js_net_loopback(s->owner.bind) &&
		    js_net_greet(s->owner.bind, s->owner.port, 3 * GREET_US, &hello) == 0)
			return js_error_set(s->error, JOBSTACK_ECONFLICT,
					    "can't take over: the server on the host %s still answers at %s:%u",
					    s->owner.host, s->owner.bind, s->owner.port);
		if (o->stop != NULL && *o->stop != 0)
			return js_error_set(s->error, JOBSTACK_ESTOPPED, "stopped before taking over");
		js_log(s->work.log, JOBSTACK_LOG_WARNING, "taking %s over from the host %s (pid %ld)",
		       s->work.layout.dir, s->owner.host, (long)s->owner.pid);
	}
	if (state == JS_OWNER_GONE) {
		js_log(s->work.log, JOBSTACK_LOG_WARNING,
		       "the last server (pid %ld) did not stop cleanly: recovering its data", (long)s->owner.pid);
		js_owner_remove(&s->work.layout, &s->owner); /* and its socket directory */
	}
	memset(&s->owner, 0, sizeof(s->owner));
	return 0;
}

/* Checks everything that can be checked before anything is changed. */
static int check_start_options(struct start *s)
{
	const struct js_server_options *o = s->options;

	JS_TRY(js_layout_set(&s->work.layout, o->data, s->error));
	JS_TRY(js_layout_absolute(s->client_file, o->client_file, s->error));
	if (o->memory != 0 && o->memory < JS_SERVER_MEMORY_MIN)
		return js_error_set(s->error, JOBSTACK_EUSAGE, "the server needs at least %d MB of memory",
				    (int)(JS_SERVER_MEMORY_MIN >> 20));
	JS_TRY(js_layout_who(&s->work.layout, o->user, &s->work.who, s->error));
	if (o->bind != NULL)
		JS_TRY(js_net_resolve(o->bind, &s->net, s->error));
	s->work.env = js_task_env(o->environment, NULL);
	if (s->work.env == NULL)
		return js_error_memory(s->error);
	JS_TRY(js_program_find(o->program, o->search_path, s->work.env, &s->work.who, &s->program, s->error));
	return js_config_client_check(s->client_file, s->error);
}

/* Whether the server that runs is of the very version of PROGRAM: the file may have been replaced since. */
static int is_program_running(const struct start *s)
{
	return strcmp(s->owner.program, s->program.path) == 0 &&
	       strncmp(s->owner.version, s->program.text, strcspn(s->program.text, "-")) == 0;
}

int js_server_start(const struct js_server_options *options, struct js_server_info *info, struct jobstack_error *error)
{
	struct jobstack_error own = JOBSTACK_ERROR_INIT;
	struct start *s = calloc(1, sizeof(*s));
	int status, lock = -1, runs = 0;

	if (s == NULL)
		return js_error_memory(error);
	s->options = options;
	s->work.log = &options->log;
	s->work.stop = options->stop;
	s->work.search = options->search_path;
	s->error = error != NULL ? error : &own;
	status = check_start_options(s);
	JS_THEN(status, js_layout_prepare(&s->work.layout, &s->work.who, s->error));
	if (status != 0)
		goto out;
	lock = js_layout_lock(&s->work.layout, s->work.log, options->stop, s->error);
	status = lock < 0 ? lock : js_config_password(&s->work.layout, s->password, s->error);
	if (status == 0)
		status = runs = decide_by_record(s);
	if (status == 1)
		status = join_running_server(s);
	else if (status == 0)
		status = start_new_server(s);
	if (status == 0 && is_program_running(s))
		js_upgrade_finish(&s->work, &s->program);
	if (status == 0) {
		js_server_fill(&s->work.layout, &s->owner, JS_SERVER_RUNNING, info);
		memcpy(info->owner.client_file, s->client_file, sizeof(info->owner.client_file));
	}
out:
	if (lock >= 0)
		(void)close(lock);
	free(s->work.env);
	explicit_bzero(s->password, sizeof(s->password));
	free(s);
	return status == 0 && runs == 1 ? 1 : status;
}

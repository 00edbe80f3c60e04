/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-server, the program that `jobstack server` becomes: a private MariaDB or MySQL server.
 *
 *     main.c      the options and the verbs           layout.c    the server's directory, and its lock
 *     state.c     what is known of the server         owner.c     the record of the process that serves it
 *     show.c      that as text and JSON               paths.c     which directory and option file, if none are given
 *     start.c     starts the server                   program.c   finds programs, and runs them
 *     stop.c      stops it, or waits for its end      who.c       the user that the server runs as
 *     upgrade.c   serves the data by a newer server   install.c   the data: made, copied, their version
 *     share.c     accounts that may only read         config.c    the files that server and clients read
 *     database.c  backup, restore, move, remove       tls.c       CA and certificate
 *     backup.c    a database in one file              logfile.c   the server's log
 *     submit.c    the server in a Slurm job           chain.c     one such job after the other
 *
 * One call works on one directory, and struct server has what it knows of it.  The functions return 0, or a negative
 * code with s->cli.error filled; the verbs return an exit status, with the reason printed.
 */
#pragma once

#include "frame/frame.h"
#include "frame/command.h"
#include "proc/net.h"
#include "server/owner.h"
#include "server/program.h"

#include <stdint.h>

#define SERVER_BIND "127.0.0.1"
#define SERVER_MEMORY (INT64_C(256) << 20)
#define SERVER_MEMORY_MIN (UINT64_C(16) << 20)
#define SERVER_ROOT_DATA "/var/lib/jobstack/server"
#define SERVER_MEMORY_WORDS "a size of at least 16M, such as 512M or 2G"
#define SERVER_PORT_WORDS "a number from 1 to 65535"
#define SERVER_PASSWORD 49 /* the size of a password */

/* Options of a start that hold for later ones. */
struct server_kept {
	char bind[256]; /* "": none */
	int64_t memory; /* in bytes; 0: none */
	uint64_t port;	/* 0: none */
};

struct server {
	struct cli cli;
	int dir_given; /* --data was */
	/* as they were given; NULL or 0: not */
	const char *data, *bind, *program_file, *user;
	const char *client_file; /* where the client's option file goes */
	uint64_t port;
	int64_t memory; /* in bytes */
	int takeover, replace;
	const char *read_only, *removed;
	struct cli_words successor; /* the command that submits the next job of a chain; empty: this is no such job */
	/* the directory, and what serves it */
	struct js_layout layout;
	struct js_who who;
	struct js_program program;
	struct js_owner owner; /* the record of the server that runs, or ran last; all 0: never */
	enum js_owner_state state;
	/* for a start */
	const char *job, *cluster; /* the Slurm job that we are in, for the record; or NULL */
	const char *ended_job;	   /* the server on another host was in this job, which has ended; or NULL */
	int foreground;		   /* the server ends when this process does; server_wait follows */
	int child;		   /* the server is our own child, not known to have ended */
	struct js_net net;
	struct server_kept had, kept; /* what the last start kept, and what this one does */
	char password[SERVER_PASSWORD];
};

/* paths.c: sets the paths of the server, by default where none were given, and makes them absolute: s->layout and
 * s->client_file.  Returns 0, or the exit status, with the reason printed. */
int server_paths(struct server *s);

/* state.c: reads the record, and asks the server, into s->owner and s->state. */
int server_look(struct server *s);

/* Fills in the error that another host has the directory.  Returns ECONFLICT. */
int server_elsewhere(struct server *s);

/* Returns 1 if the server runs on this host, and for how long, in microseconds; else 0. */
int server_uptime(const struct server *s, int64_t *us);

/* Logs in with the option file FILE, to prove that clients can. */
int server_try_login(struct server *s, const char *file);

/* Prints s->cli.error, and returns the exit status.  It is cli_fail without the remedy to start a server. */
int server_fail(struct server *s);

/* show.c: prints the state; the state as JSON. */
void server_print(const struct server *s);
int server_print_json(const struct server *s);

/* Prints what was started, of which the record says that it is WHAT ("running").  Returns the exit status. */
int server_started(struct server *s, const char *what);

/* start.c: checks all that can be checked before anything is changed, and finds the program. */
int server_prepare(struct server *s);

/* Finds out where the server is to listen. */
int server_address(struct server *s);

/* Starts the server and waits until it takes connections; makes the data the first time.  Returns 0, or 1 if it was
 * already running (a missing client file has been written again).  ECONFLICT: another host has it, or it runs at
 * another address, or the data are of an older MariaDB (JS_WHY_OLD_DATA).  ENODB: it does not start.  server_serve is
 * the same for a caller that has called server_prepare and holds the directory's lock. */
int server_start(struct server *s);
int server_serve(struct server *s);

/* stop.c: stops the server and waits until it is gone, at most two minutes.  Returns 0, or 1 if it did not run.
 * server_end is the same for a caller that holds the directory's lock. */
int server_stop(struct server *s);
int server_end(struct server *s);

/* After a start in the foreground: waits for the server's end, and stops it at a signal, or NOW.  *STATUS is its exit
 * status, or 128 and the signal that killed it.  ENODB: it ended without being stopped. */
int server_wait(struct server *s, int now, int *status);

/* Waits until the owner's process is gone.  Returns 0, or -1 if the time is up or, for the PATIENT not, a signal has
 * come. */
int server_await_end(const struct server *s, int64_t limit_us, int patient);

/* Prints the last lines of the log of this start, and fills in the error "the server WHAT", and whether the disk is
 * full; or that it ended with the wait status END, and so is no child of ours any more.  Returns ENODB. */
int server_failed(struct server *s, const char *what);
int server_ended(struct server *s, int end);

/* install.c: makes the data directory with the system tables, unless it is there. */
int server_install(struct server *s);

/* Returns the version of the data, as in js_program, and as TEXT; 0: not known. */
unsigned server_data_version(const struct server *s, char text[64]);

/* Returns 0 if the program may serve the data that are there, or ECONFLICT.  Data that do not say who wrote them are
 * left to the server. */
int server_data_check(struct server *s);

/* Copies the data to the directory TO; notes in the data that they are of the program's version from now on. */
int server_data_copy(struct server *s, const char *to);
int server_data_note(struct server *s);

/* tls.c: makes a server certificate for this host's names and for s->net's, and a CA unless that exists already.  The
 * server's key is its user's, the CA's is ours. */
int server_certificates(struct server *s);

/* The verbs.  The word behind the verb is s->cli.words[1]: the file of a backup, or for `move` the option file of the
 * other server. */
int verb_upgrade(struct server *s);
int verb_share(struct server *s);
int verb_backup(struct server *s);
int verb_restore(struct server *s);
int verb_move(struct server *s);
int verb_remove(struct server *s);

/* submit.c: a subcommand with options of its own; argv[0] is "submit". */
extern const struct js_opts server_submit_opts;
int server_submit_main(int argc, char **argv);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A private MariaDB or MySQL server: start, stop, status, run in the foreground.
 *
 * The command uses this header and net.h; the others are internal to this layer.  Nothing here prints, exits or reads
 * the environment.  Progress, and the last lines of a failed server's log, go to the log sink.
 */
#pragma once

#include "base/log.h"
#include "jobstack/jobstack.h"
#include "server/owner.h"

#include <stdint.h>

#define JS_SERVER_BIND "127.0.0.1"
#define JS_SERVER_MEMORY (UINT64_C(256) << 20)
#define JS_SERVER_MEMORY_MIN (UINT64_C(16) << 20)

struct js_server_options {
	const char *data;	 /* the server's directory */
	const char *client_file; /* where the client's option file goes */
	const char *bind;	 /* what clients connect to; NULL: as the last start, else JS_SERVER_BIND */
	unsigned port;		 /* 0: the last one, if it is free, else any free port */
	const char *program;	 /* the server program; NULL: look for it */
	const char *user;	 /* as root: the user that runs it; NULL: the owner of the data, mysql or nobody */
	uint64_t memory;	 /* InnoDB's buffer pool in bytes; 0: as the last start, else JS_SERVER_MEMORY */
	int takeover;		 /* start although a server on another host has the directory */
	const char *ended_job;	 /* the same, if that server was in this Slurm job, which has ended; or NULL */
	const char *job;	 /* the Slurm job that we are in, for the record; or NULL.  Its options are not kept */
	const char *cluster;	 /* and its Slurm cluster; or NULL */
	int foreground;		 /* the server ends when this process does; js_server_wait follows */
	const char *search_path; /* $PATH, or NULL */
	char *const *environment;
	struct js_log log;
	const volatile int *stop; /* not 0: stop waiting (js_server_start, _stop) or stop the server (js_server_wait) */
};

enum js_server_state {
	JS_SERVER_STOPPED,
	JS_SERVER_CRASHED,  /* ended without a clean stop: the next start recovers */
	JS_SERVER_STARTING, /* its process lives, but does not answer */
	JS_SERVER_RUNNING,
	JS_SERVER_ELSEWHERE, /* on another host, and unknown whether it runs */
	JS_SERVER_STATES
};

struct js_server_info {
	enum js_server_state state;
	struct js_owner owner; /* the server that runs, or ran last; all 0: never */
	char data[JS_LAYOUT_PATH], log[JS_LAYOUT_PATH], user[64];
	int64_t uptime_us; /* -1: does not run here */
	uint64_t bytes;	   /* what the directory takes on disk */
};

/* Starts the server and waits until it takes connections; initialises the data the first time.  INFO is filled on
 * success.  Returns 0, or 1 if it was already running (a missing client file has been written again).  ECONFLICT:
 * another host has it, or it runs at another address, or the data are an older MariaDB's (JS_WHY_OLD_DATA:
 * js_server_upgrade serves them).  ENODB: it does not start. */
int js_server_start(const struct js_server_options *options, struct js_server_info *info, struct jobstack_error *error);

/* After a start in the foreground: waits for the server's end, or stops it when *STOP is set.  *STATUS is its exit
 * status, or 128 and the signal that killed it.  ENODB: it ended without being stopped. */
int js_server_wait(const struct js_server_options *options, const struct js_server_info *info, int *status,
		   struct jobstack_error *error);

/* Stops the server and waits until it is gone, at most two minutes.  Returns 0, or 1 if it did not run. */
int js_server_stop(const struct js_server_options *options, struct js_server_info *info, struct jobstack_error *error);

/* The directory of the server for which `jobstack server` wrote the option file CLIENT_FILE, in *DATA; NULL if the file
 * does not say it.  Valid until the next call.  Returns 1 if this host has that directory, 0 if not, -1 if the file was
 * not written so. */
int js_server_of_client(const char *client_file, const char **data);

/* Fills INFO with the present state. */
int js_server_status(const struct js_server_options *options, struct js_server_info *info,
		     struct jobstack_error *error);

/* Makes the account read-NAME, which may only read, or gives it a new password, and writes its option file FILE; with
 * FILE NULL it removes the account.  INFO is the server's state. */
int js_server_share(const struct js_server_options *options, const char *name, const char *file,
		    struct js_server_info *info, struct jobstack_error *error);

/* Stops the server, keeps a copy of its data in the directory KEPT, and starts it with a newer program.  Returns 0; 1
 * if the data are of that version already.  If the newer one does not start, the data are as they were. */
int js_server_upgrade(const struct js_server_options *options, struct js_server_info *info, char kept[JS_LAYOUT_PATH],
		      struct jobstack_error *error);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A private MariaDB or MySQL server for whoever has none: start, stop, status, stay.
 *
 * This is what the command uses; the other headers of this layer are its own.  Nothing here prints, exits or reads the
 * environment; progress goes to the log sink, and the last lines of a failed server's log too, as errors.
 */
#pragma once

#include "base/log.h"
#include "jobstack/jobstack.h"
#include "server/owner.h"

#include <stdint.h>
#include <sys/types.h>

#define JS_SERVER_BIND "127.0.0.1"
#define JS_SERVER_MEMORY (UINT64_C(256) << 20)
#define JS_SERVER_MEMORY_MIN (UINT64_C(16) << 20)

struct js_server_options {
	const char *data;	 /* the server's directory */
	const char *client_file; /* where the client's option file goes */
	const char *bind;	 /* what clients connect to; NULL: JS_SERVER_BIND */
	unsigned port;		 /* 0: the one of last time, if it is free, else one that is */
	const char *program;	 /* the server program; NULL: look for it */
	const char *user;	 /* as root: whom to run it as; NULL: the owner of the data, mysql or nobody */
	uint64_t memory;	 /* InnoDB's buffer pool in bytes; 0: JS_SERVER_MEMORY */
	int takeover;		 /* serve a directory that another host's server has left for good */
	const char
		*ended_job; /* the same, if that server was in this Slurm job, which is known to have ended; or NULL */
	const char *job;    /* the Slurm job that we are in, for the record; or NULL */
	int foreground;	    /* the server ends when this process does; js_server_wait follows */
	const char *search_path; /* $PATH, or NULL */
	char *const *environment;
	struct js_log log;
	const volatile int *stop; /* not 0: give up (a start) or stop cleanly (js_server_wait) */
};

enum js_server_state {
	JS_SERVER_STOPPED,
	JS_SERVER_CRASHED,  /* stopped, and not by us: the next start recovers */
	JS_SERVER_STARTING, /* its process lives, but does not answer */
	JS_SERVER_RUNNING,
	JS_SERVER_ELSEWHERE, /* another host's, and it can't be told from here whether it runs */
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
 * success.  Returns 0, or 1 if it runs already (its client file has been written anew if it was not there).
 * ECONFLICT: another host has it, or it runs otherwise than asked.  ENODB: it does not come up. */
int js_server_start(const struct js_server_options *options, struct js_server_info *info, struct jobstack_error *error);

/* After a start in the foreground: waits for the server's end, or stops it when *STOP is set.  *STATUS is its exit
 * status, or 128 and the signal that killed it.  ENODB if it ended by itself and badly. */
int js_server_wait(const struct js_server_options *options, const struct js_server_info *info, int *status,
		   struct jobstack_error *error);

/* Stops the server and waits until it is gone, at most two minutes.  Returns 0, or 1 if it did not run. */
int js_server_stop(const struct js_server_options *options, struct js_server_info *info, struct jobstack_error *error);

/* Tells what there is. */
int js_server_status(const struct js_server_options *options, struct js_server_info *info,
		     struct jobstack_error *error);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The owner record: which process on which host, in which boot, serves a directory, and its address.
 *
 * Two servers on one directory would destroy the data.  On the record's own host it is certain whether its process
 * lives.  From another host it is not, so there the record alone is enough to refuse a start.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "server/layout.h"

#include <stdint.h>
#include <sys/types.h>

struct js_owner {
	char host[256], boot[40];
	pid_t pid;
	int64_t start;	  /* the process's start in ticks since boot */
	int64_t began_us; /* wall clock, for people */
	char bind[256];	  /* what clients connect to */
	unsigned port;
	char socket[128];
	char socket_dir[64]; /* the directory of the socket under /tmp, or "" */
	char client_file[JS_LAYOUT_PATH], program[JS_LAYOUT_PATH], version[128];
	int64_t log_offset; /* where its part of the error log begins */
	char job[32];	    /* the Slurm job that it runs in, or "" */
	char cluster[128];  /* that job's Slurm cluster, or "" */
};

enum js_owner_state {
	JS_OWNER_STOPPED,   /* no record: stopped cleanly, or never started */
	JS_OWNER_CRASHED,   /* this host's, but its process is gone: the next start recovers */
	JS_OWNER_ALIVE,	    /* this host's, and its process lives */
	JS_OWNER_ELSEWHERE, /* another host's, and unknown whether it runs */
	JS_OWNER_ANSWERS,   /* it takes connections (only server_look finds that out) */
	JS_OWNER_STATES
};

/* Reads the record, and sets *STATE if it returns 0.  EFILE: the record is damaged. */
int js_owner_read(const struct js_layout *layout, struct js_owner *owner, enum js_owner_state *state,
		  struct jobstack_error *error);

/* Fills in the process PID, which has just started: host, boot, number and times. */
void js_owner_identify(struct js_owner *owner, pid_t pid);

/* Writes the record. */
int js_owner_write(const struct js_layout *layout, const struct js_owner *owner, struct jobstack_error *error);

/* js_owner_sweep removes the server's socket outside of the directory; js_owner_remove the record, too. */
void js_owner_sweep(const struct js_owner *owner);
void js_owner_remove(const struct js_layout *layout, const struct js_owner *owner);

/* Returns 1 if the record's process is alive.  Only valid on its own host. */
int js_owner_lives(const struct js_owner *owner);

/* Copies the value in a line KEY=VALUE of TEXT.  0, or -1 if there is no such line or it does not fit. */
int js_owner_value(const char *text, const char *key, char *out, size_t size);

/* Copies this host's name. */
void js_owner_host(char host[256]);

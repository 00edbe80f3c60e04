/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The owner record: which process, on which host, since which boot, serves a directory, and where it is reached.
 *
 * Two servers on one directory would destroy it.  On one host the record tells surely whether its process lives; from
 * another host it can't be told, so the record itself is respected.
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
	int64_t began_us; /* wall clock, for telling */
	char bind[256];	  /* what clients connect to */
	char listen[64];  /* the address it listens on */
	unsigned port;
	char socket[128];
	char socket_dir[64]; /* a directory under /tmp that goes with it, or "" */
	char client_file[JS_LAYOUT_PATH], program[JS_LAYOUT_PATH], version[128];
	int64_t log_offset; /* where its part of the error log begins */
	char job[32];	    /* the Slurm job that it runs in, or "" */
};

enum js_owner_state {
	JS_OWNER_NONE,	   /* no record: stopped cleanly, or never started */
	JS_OWNER_GONE,	   /* this host's, but its process is gone */
	JS_OWNER_ALIVE,	   /* this host's, and its process lives */
	JS_OWNER_ELSEWHERE /* another host's */
};

/* Reads the record and judges it; *STATE is set whenever 0 is returned.  A record that makes no sense is EFILE. */
int js_owner_read(const struct js_layout *layout, struct js_owner *owner, enum js_owner_state *state,
		  struct jobstack_error *error);

/* Fills in host, boot and the process's start; then writes the record, at once. */
int js_owner_write(const struct js_layout *layout, struct js_owner *owner, struct jobstack_error *error);

/* Removes what the server has outside the directory; that and the record. */
void js_owner_sweep(const struct js_owner *owner);
void js_owner_remove(const struct js_layout *layout, const struct js_owner *owner);

/* 1 if the record's process lives, seen from its host. */
int js_owner_lives(const struct js_owner *owner);

/* The value in a line KEY=VALUE of TEXT.  0, or -1 if there is no such line or it does not fit. */
int js_owner_value(const char *text, const char *key, char *out, size_t size);

/* This host's name. */
void js_owner_host(char host[256]);

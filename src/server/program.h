/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding programs and running them to their end: the server (MariaDB's or MySQL's), what initialises its data, its
 * client programs.
 */
#pragma once

#include "base/buf.h"
#include "frame/frame.h"
#include "server/layout.h"

struct js_program {
	char path[JS_LAYOUT_PATH];
	char installer[JS_LAYOUT_PATH]; /* the program that initialises data; "" for MySQL, which does it itself */
	char basedir[JS_LAYOUT_PATH];	/* where it was unpacked, or "" if it is installed in /usr */
	int mysql;			/* MySQL, not MariaDB */
	unsigned version;		/* 1011 for 10.11, 800 for 8.0 */
	char text[128];			/* the version as text */
};

/* Finds the server program: GIVEN (may be NULL), else in the server's archive, in $PATH, else in the usual places. Runs
 * it as WHO to learn its version.  EFILE: it found no program; the text says what to install. */
int js_program_find(const char *given, const struct js_who *who, struct js_program *program,
		    struct jobstack_error *error);

/* Finds the first of the client programs NAMES (ended by NULL) that is where the package of the server SERVER (a path;
 * may be NULL) has them; else that is in the archive, in $PATH or in the usual places.  0, or -1. */
int js_program_client(const char *server, const char *const names[], char out[JS_LAYOUT_PATH]);

/* A program to run to its end. */
struct js_tool {
	const char *const *argv; /* argv[0] is its path */
	const struct js_who *who;
	const char *dir;      /* its working directory; NULL: the root */
	const char *variable; /* NAME=VALUE for its environment; or NULL */
	int64_t limit_us;
	int patient;	    /* a signal that ends our call does not end it */
	const char *failed; /* "could not initialise the data in ..." */
};

/* Runs it.  If it fails, the last lines that it said are printed, and the error is "ARGV[0] FAILED", with "the disk or
 * your quota is full" if that is so under DIR. */
int js_program_run(struct cli *cli, const struct js_tool *tool, const char *dir);

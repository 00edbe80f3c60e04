/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding the programs: the server (MariaDB's or MySQL's), what initialises its data, openssl.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "server/layout.h"

struct js_program {
	char path[JS_LAYOUT_PATH];
	char installer[JS_LAYOUT_PATH]; /* the program that initialises data; "" for MySQL, which does it itself */
	char basedir[JS_LAYOUT_PATH];	/* where it was unpacked, or "" if it is installed in /usr */
	int mysql;			/* MySQL, not MariaDB */
	unsigned version;		/* 1011 for 10.11, 800 for 8.0 */
	char text[128];			/* the version as text */
};

/* Finds the server program: GIVEN (may be NULL), else in the server's archive, in SEARCH (a list like $PATH; may be
 * NULL), else in the usual places.  Runs it as WHO to learn its version.  EFILE: it found no program; the text says
 * what to install. */
int js_program_find(const char *given, const char *search, char *const *env, const struct js_who *who,
		    struct js_program *program, struct jobstack_error *error);

/* Finds NAME in the server's archive, if that is here, else in SEARCH, else in the usual places for programs.  0, or
 * -1. */
int js_program_search(const char *name, const char *search, char out[JS_LAYOUT_PATH]);

/* Finds NAME where PROGRAM's package has its client programs.  0, or -1. */
int js_program_beside(const char *program, const char *name, char out[JS_LAYOUT_PATH]);

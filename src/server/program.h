/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding the programs: the server (MariaDB's or MySQL's), what initialises its data, openssl.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "server/layout.h"

struct js_program {
	char path[JS_LAYOUT_PATH];
	char installer[JS_LAYOUT_PATH]; /* MariaDB's; "" for MySQL, which does it itself */
	char basedir[JS_LAYOUT_PATH];	/* where it was unpacked, or "" if it belongs to the system */
	int mysql;			/* MySQL, not MariaDB */
	unsigned version;		/* 1011 for 10.11, 800 for 8.0 */
	char text[128];			/* the version as it tells it */
};

/* Finds the server program: GIVEN (may be NULL), else in SEARCH (as $PATH, may be NULL), else in the usual places; and
 * asks it, run as WHO, for its version.  EFILE, with what to install. */
int js_program_find(const char *given, const char *search, char *const *env, const struct js_who *who,
		    struct js_program *program, struct jobstack_error *error);

/* Finds NAME in SEARCH, else in the usual places for programs.  0, or -1. */
int js_program_search(const char *name, const char *search, char out[JS_LAYOUT_PATH]);

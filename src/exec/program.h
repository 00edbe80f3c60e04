/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which version of its program a command runs: the program's file, each argument that is a file (a script behind its
 * interpreter), and what the user names (--code).  A version has a number, made of the paths and the contents; the
 * contents of files over 64 MiB are not read, their size and time stand for them.  So a file that was rebuilt with
 * other contents makes a new version, one that was only touched does not.  An argument that changes four times is taken
 * for data (a log, a table of results), and no longer counts.
 *
 * Any thread may call js_program_look and js_program_text.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stdint.h>

#define JS_PROGRAM_FILES 16

struct js_program;

/* What the user adds: paths of files, or of directories in git work trees, and words. */
struct js_program_code {
	const char *const *paths;
	size_t paths_n;
	const char *words; /* or NULL */
};

/* Makes *PROGRAM of the WORDS of a command (N; SHELL: they are a shell script) that runs in the directory CWD.  Words
 * that are no files are left out.  Reads the files, once.  0, or JOBSTACK_EUSAGE: a path of CODE is not there, or is a
 * directory without git; JOBSTACK_EBUG: no memory.  Free it with js_program_free (NULL is harmless). */
int js_program_begin(struct js_program **program, char *const words[], size_t n, int shell, const char *cwd,
		     const struct js_program_code *code, struct jobstack_error *error);
void js_program_free(struct js_program *program);

/* Looks in the text of SCRIPT for a use of the environment variable NAME, outside of comment lines.  1 if it reads it,
 * with *LINE (from 1); -1 if it first sets or unsets it; 0 if there is neither. */
int js_program_uses(const char *script, const char *name, unsigned *line);

/* Finds a script of PROGRAM that reads the environment variable NAME, and its LINE.  Of files that are arguments only
 * those are scripts that begin with #! and are executable, unless an interpreter is called (INTERPRETED).  NULL: no
 * script reads it. */
const char *js_program_reader(const struct js_program *program, const char *name, int interpreted, unsigned *line);

/* Returns the current version.  Checks the size and time of each file, unless that was done in the last 10 ms, and
 * reads the files that changed.  -1: there is nothing that has a version.  It touches files, so it may hang. */
int64_t js_program_look(struct js_program *program);

/* Appends version VERSION in words, a line each: "sha256 SIZE TIME PATH" (the sum is "-" for a large file), "git COMMIT
 * PATH" with "+" behind the commit if there were changes, "version WORDS".  -1: there was no such version. */
int js_program_text(struct js_program *program, int64_t version, struct js_buf *out);

/* One line of such a text. */
struct js_program_line {
	enum { JS_PROGRAM_FILE, JS_PROGRAM_GIT, JS_PROGRAM_WORDS } kind;
	const char *sum; /* the SHA-256 in hexadecimal, 64 digits, or NULL; or the commit */
	size_t sum_len;
	const char *size, *time; /* of a file, ended by a blank */
	const char *text;	 /* the path, or the words */
	size_t len;
};

/* Reads the line at *AT, and moves *AT behind it.  0 at the end, or where there is no such line. */
int js_program_next(const char **at, struct js_program_line *line);

/* Returns the version that the files named in TEXT would have now, if nothing else of it had changed; -1: without
 * memory, or it has a git work tree in which git may not run, because the user does not work there: its path is put
 * into ELSEWHERE.
 */
int64_t js_program_today(const char *text, struct js_buf *elsewhere);

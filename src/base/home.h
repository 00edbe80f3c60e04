/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where a user's files lie, by the environment.
 */
#pragma once

#include <stddef.h>

/* The path OTHERWISE, with "jobstack/" in it, below the home directory ($HOME, else the password database's) into PATH;
 * or that part of it below the directory that VARIABLE names, if it is an absolute one.  "" if there is none, or if
 * PATH is too small. */
void js_home_xdg(const char *variable, const char *otherwise, char *path, size_t size);

/* Where `jobstack server` writes the clients' option file: $XDG_CONFIG_HOME/jobstack/client.cnf, else in ~/.config. */
void js_home_server_file(char *path, size_t size);

/* The first words of each option file that `jobstack server` writes.  js_home_is_servers returns whether PATH is such a
 * file. */
#define JS_HOME_SERVER_SIGN "# Written by jobstack server"
int js_home_is_servers(const char *path);

/* The option file to use: GIVEN if not NULL, else $JOBSTACK_DEFAULTS_FILE, else that of the private server if it is
 * there, else ~/.my.cnf if that is there.  Returns PATH, or NULL if there is none. */
const char *js_home_option_file(const char *given, char *path, size_t size);

/* The name of the OS user who runs this process, or the number of one without a name; in a static buffer. */
const char *js_home_user(void);

/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Where a user's files lie.  Promise: the tools agree, because they all ask here.
 */
#include "base/home.h"

#include "base/file.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Puts the path of NAME below the home directory into PATH; "" if there is none, or if it does not fit. */
static void home_file(const char *name, char *path, size_t size)
{
	const char *home = getenv("HOME");
	const struct passwd *me = home == NULL || *home == '\0' ? getpwuid(geteuid()) : NULL;

	if (me != NULL)
		home = me->pw_dir;
	if (home == NULL || *home == '\0' || snprintf(path, size, "%s/%s", home, name) >= (int)size)
		path[0] = '\0';
}

void js_home_xdg(const char *variable, const char *otherwise, char *path, size_t size)
{
	const char *base = getenv(variable), *name = strstr(otherwise, "jobstack/");

	if (base == NULL || *base != '/')
		home_file(otherwise, path, size);
	else if (snprintf(path, size, "%s/%s", base, name) >= (int)size)
		path[0] = '\0';
}

void js_home_server_file(char *path, size_t size)
{
	js_home_xdg("XDG_CONFIG_HOME", ".config/jobstack/client.cnf", path, size);
}

int js_home_is_servers(const char *path)
{
	struct js_buf text = {0};
	int is = js_file_read(path, &text) == 0 && text.len > 0 &&
		 strncmp(text.data, JS_HOME_SERVER_SIGN, strlen(JS_HOME_SERVER_SIGN)) == 0;

	js_buf_wipe(&text); /* it has a password in it */
	return is;
}

const char *js_home_option_file(const char *given, char *path, size_t size)
{
	if (given == NULL || *given == '\0')
		given = getenv("JOBSTACK_DEFAULTS_FILE");
	if (given != NULL && *given != '\0') {
		(void)snprintf(path, size, "%s", given);
		return path;
	}
	js_home_server_file(path, size);
	if (path[0] != '\0' && access(path, F_OK) == 0)
		return path;
	home_file(".my.cnf", path, size);
	return path[0] != '\0' && access(path, F_OK) == 0 ? path : NULL;
}

const char *js_home_user(void)
{
	static char user[256];
	const struct passwd *me = getpwuid(geteuid());

	if (me != NULL)
		(void)snprintf(user, sizeof(user), "%s", me->pw_name);
	else
		(void)snprintf(user, sizeof(user), "%lu", (unsigned long)geteuid());
	return user;
}
